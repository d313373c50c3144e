//! The demo: what it prints for programs, and that the mail it keeps ready pays the reader's own payment.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::crashes::request;

fn demo(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tillbell"));
    command.arg("demo").args(args).env_clear().stdin(Stdio::null()).stderr(Stdio::null());
    command
}

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn with_json_it_prints_one_object_and_nothing_else() {
    let output = demo(&["--once", "--json"]).output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    let told: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&told["status"], &told["verified"]), (&"approved".into(), &true.into()), "{told}");
    assert!(told["steps"].as_array().unwrap().len() > 4 && told["serving"].is_null(), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_mail_it_keeps_ready_pays_the_payment_it_invites_to() {
    let mut child = Ended(demo(&["--json"]).stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
    let told: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    let serving = &told["serving"];
    let text = |name: &str| serving[name].as_str().unwrap().to_owned();
    let address = text("url").strip_prefix("http://").unwrap().parse().unwrap();
    let create = text("create");
    // The line is for a shell; what it sends stands between its last quotes.
    let body = create.rsplit('\'').nth(1).unwrap();
    let (status, made) = request(address, "POST /api/v1/payment-request", &text("key"), body).await.unwrap();
    assert_eq!(status, 201, "{made}");
    let output = Command::new("sh").args(["-c", &format!("{} --json", text("ingest"))]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(results["results"][0]["outcome"], "matched", "{results}");
    assert_eq!(results["results"][0]["transaction_id"], made["data"]["transaction_id"]);
    // Told to end, it takes its folder away.
    let told = Command::new("kill").args(["-TERM", &child.0.id().to_string()]).status().unwrap();
    assert!(told.success() && child.0.wait().unwrap().success());
    assert!(!std::path::Path::new(&text("database")).exists());
}
