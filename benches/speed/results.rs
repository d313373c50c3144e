//! Figures as JSON under `bench/results/`, one file for a date and what was measured, so that those of a later day can be held
//! against them: `--save` writes it.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use tillbell::clock::{Clock, SystemClock};

/// Writes the lines of a report with machine, date, commit and command; where.
pub fn save(command: &[String], lines: Vec<Value>) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let names: Vec<&str> =
        command.iter().map(String::as_str).filter(|word| !word.starts_with("--")).collect();
    let what = if names.is_empty() { "all".to_owned() } else { names.join("-") };
    let now = jiff::Timestamp::from_microsecond(SystemClock.now().0).expect("a time of this age");
    let result = json!({
        "date": now.to_string(),
        "commit": git(&["rev-parse", "--short=12", "HEAD"]),
        // What was measured may be more than the commit has.
        "has_changes": !git(&["status", "--porcelain"]).is_empty(),
        "command": format!("cargo bench --locked --bench speed -- {}", command.join(" ")),
        "machine": machine(),
        "lines": lines,
    });
    let folder = root.join("bench/results");
    std::fs::create_dir_all(&folder).expect("a folder for results");
    let file = folder.join(format!("{}-{what}.json", now.strftime("%Y-%m-%d-%H%M")));
    let text = serde_json::to_string_pretty(&result).expect("figures are numbers");
    std::fs::write(&file, text + "\n").expect("write the results");
    file
}

fn git(args: &[&str]) -> String {
    let said = Command::new("git").args(args).current_dir(env!("CARGO_MANIFEST_DIR")).output();
    said.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned()).unwrap_or_default()
}

fn machine() -> Value {
    let line = |file: &str, name: &str| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let found = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        found.trim_start_matches([' ', '\t', ':']).to_owned()
    };
    json!({
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "processor": line("/proc/cpuinfo", "model name"),
        "memory": line("/proc/meminfo", "MemTotal"),
        "kernel": line("/proc/sys/kernel/osrelease", ""),
    })
}
