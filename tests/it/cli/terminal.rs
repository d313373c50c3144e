//! What a stranger's mail says cannot move the cursor, clear the screen or turn the text of a
//! terminal; a pipe gets the mail byte for byte. `script` gives the program a real terminal.

use std::io::Write;
use std::process::{Command, Stdio};

use super::Desk;

/// Escape and control sequences, a bell, DEL, C1 as one byte and as a character, text turned
/// around, nothing where something seems to be.
const SUBJECT: &[u8] =
    "\u{1b}]0;owned\u{7}\u{1b}[2J\u{7f}\u{9b}31m\u{202e}rac\u{2066}\u{200b}\u{feff}".as_bytes();

fn mail() -> Vec<u8> {
    let mut mail = b"From: gens@bank.example\r\nSubject: ".to_vec();
    mail.extend_from_slice(SUBJECT);
    mail.extend_from_slice(
        b"\r\nMessage-ID: <a1@bank.example>\r\n\r\nraw \x9b32m \xff \rover \x1b[1A\x08\ttab\r\nlast\r\n",
    );
    mail
}

/// What a terminal so many columns wide gets of a command, with variables of its own.
pub fn on_terminal_of(desk: &Desk<'_>, columns: usize, with: &[(&str, &str)], args: &[&str]) -> String {
    let mut command = terminal_after(desk, &format!("/usr/bin/stty rows 40 cols {columns}; "), args);
    let shown = command.envs(with.iter().copied()).output().expect("script of util-linux").stdout;
    String::from_utf8(shown).unwrap().replace("\r\n", "\n")
}

/// What a terminal gets of a command, with what a person types.
pub fn typed_on_terminal(desk: &Desk<'_>, args: &[&str], typed: &str) -> String {
    let mut child =
        terminal(desk, args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("script");
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap().replace("\r\n", "\n")
}

/// What a terminal gets of a command.
fn on_terminal(desk: &Desk<'_>, args: &[&str]) -> Vec<u8> {
    terminal(desk, args).output().expect("script of util-linux").stdout
}

/// A command on a terminal of its own, which goes to stdout.
fn terminal(desk: &Desk<'_>, args: &[&str]) -> Command {
    terminal_after(desk, "", args)
}

/// The same after the shell has done something.
fn terminal_after(desk: &Desk<'_>, first: &str, args: &[&str]) -> Command {
    let ours = desk.command(args);
    let mut line = format!("{first}exec '{}'", ours.get_program().to_str().unwrap());
    for arg in args {
        line.push_str(&format!(" '{arg}'"));
    }
    let mut command = Command::new("/usr/bin/script");
    command.args(["-qec", &line, "/dev/null"]).env_clear().current_dir(desk.path()).stdin(Stdio::null());
    for (name, value) in ours.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command.env("SHELL", "/bin/sh");
    command
}

/// Panics at anything that a terminal would act upon; lines may end, and tabs stand.
#[track_caller]
fn is_harmless(shown: &[u8]) -> String {
    let text = std::str::from_utf8(shown).unwrap_or_else(|_| panic!("raw bytes: {}", shown.escape_ascii()));
    let text = text.replace("\r\n", "\n");
    let bad = |c: &char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    assert!(!text.chars().any(|c| bad(&c)), "{text:?}");
    text
}

on_both! {
    async fn a_pipe_gets_the_mail_byte_for_byte(db: TestDatabase) {
        let desk = Desk::new(&db);
        let path = desk.path().join("bad.eml");
        std::fs::write(&path, mail()).unwrap();
        desk.text(&["alert", "ingest", path.to_str().unwrap()]);
        assert_eq!(desk.run(&["alert", "show", "1", "--mail"]).stdout, mail());
    }

    async fn a_terminal_gets_no_control_characters_of_a_mail(db: TestDatabase) {
        let desk = Desk::new(&db);
        let path = desk.path().join("bad.eml");
        std::fs::File::create(&path).unwrap().write_all(&mail()).unwrap();
        let file = path.to_str().unwrap();
        is_harmless(&on_terminal(&desk, &["alert", "ingest", file]));
        let raw = is_harmless(&on_terminal(&desk, &["alert", "show", "1", "--mail"]));
        for part in ["\\u001b]0;owned\\u0007\\u001b[2J\\u007f\\u009b31m\\u202erac\\u2066\\u200b\\ufeff", "raw \\x9b32m \\xff \\u000dover", "\ttab\nlast\n"] {
            assert!(raw.contains(part), "{part:?} in {raw:?}");
        }
        for args in [
            &["alert", "show", "1"][..],
            &["alert", "list"],
            &["--json", "alert", "show", "1"],
            &["--json", "alert", "list"],
            &["--json", "alert", "show", "1", "--mail"],
            &["bank", "try", file],
            &["--json", "bank", "try", file],
            &["alert", "dismiss", "1", "--reason", "\u{1b}[2Jgone\u{202e}"],
            &["alert", "show", "77\u{1b}[2J"],
            &["alert", "ingest", "\u{1b}[2J\u{202e}.eml"],
            &["bank", "try", "\u{1b}[2J\u{202e}.eml"],
        ] {
            let shown = on_terminal(&desk, args);
            assert!(!shown.is_empty(), "{args:?}");
            is_harmless(&shown);
        }
        // The log's own colours are the only thing a terminal acts upon.
        let mut command = terminal(&desk, &["alert", "ingest", file]);
        let logged = command.env("TILLBELL_LOG", "trace").output().unwrap().stdout;
        let colours = regex::bytes::Regex::new("\u{1b}\\[[0-9;]*m").unwrap();
        is_harmless(&colours.replace_all(&logged, &b""[..]));
        let json = is_harmless(&on_terminal(&desk, &["--json", "alert", "show", "1"]));
        let shown: serde_json::Value = serde_json::from_str(json.trim()).unwrap();
        assert_eq!(shown, desk.json(&["alert", "show", "1"]), "still the same JSON");
    }
}
