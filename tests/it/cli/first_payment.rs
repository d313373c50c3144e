//! docs/first-payment.md is true: its lines are run, one block after another, in one shell, as a newcomer would.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

const PAGE: &str = include_str!("../../../docs/first-payment.md");
/// What stands between the blocks in what the shell prints.
const BLOCK: &str = "=== block";

/// What stands in the page's fences.
fn blocks() -> Vec<&'static str> {
    let blocks: Vec<&str> =
        PAGE.split("```sh\n").skip(1).map(|rest| rest.split("\n```").next().unwrap()).collect();
    assert!(blocks.len() >= 6, "{}", blocks.len());
    assert_eq!(PAGE.matches("```").count(), blocks.len() * 2, "every fence holds lines that are run");
    blocks
}

on_both! {
    async fn every_line_of_the_first_payments_page_works(db: TestDatabase) {
        let folder = tempfile::tempdir().unwrap();
        // A port that is free: the page's own may be somebody's.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut script = String::from("set -eu -o pipefail\n");
        for block in blocks() {
            script.push_str(&format!("echo '{BLOCK}'\n{block}\n"));
        }
        let script = script
            .replace("127.0.0.1:8080", &format!("127.0.0.1:{port}"))
            .replace("sqlite:tillbell.db", db.url())
            .replace("kill %1", "kill $!");
        std::fs::write(folder.path().join("page.sh"), script).unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_tillbell")).parent().unwrap();
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
        let output = Command::new("timeout")
            .args(["--kill-after=5", "60", "bash", "page.sh"])
            .current_dir(folder.path())
            .env_clear()
            .env("PATH", path)
            .env("HOME", folder.path())
            .env("USER", "ada")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let log = std::fs::read_to_string(folder.path().join("serve.log")).unwrap_or_default();
        assert!(output.status.success(), "{out}\n{err}\n{log}");
        let told: Vec<&str> = out.split(BLOCK).skip(1).collect();
        for (n, part) in [
            (2, "\"account_number\":\"0000000001\""),
            (2, "Tillbell Test Bank"),
            (3, "\"outcome\":\"matched\""),
            (4, "\"status\":\"approved\""),
        ] {
            assert!(told[n].contains(part), "{part} in block {n}: {}", told[n]);
        }
    }
}

on_both! {
    async fn an_event_is_made_to_happen_at_a_running_service(db: TestDatabase) {
        use crate::api::server::Server;
        use tillbell::domain::merchant::Mode;

        let server = Server::start(db).await;
        let shop = server.shop("kola.example").await;
        let (test, live) = (server.key(shop.id, Mode::Test).await, shop.key.clone());
        let base = format!("http://{}", server.running.address);
        let run = async |url: &str, key: &str| {
            let args = ["--json", "trigger", "--url", url, "--key", key, "payment.approved"].map(str::to_owned);
            let run = move || Command::new(env!("CARGO_BIN_EXE_tillbell")).args(args).env_clear().output().unwrap();
            tokio::task::spawn_blocking(run).await.unwrap()
        };
        for url in [base.clone(), format!("{base}/api/v1/")] {
            let output = run(&url, &test).await;
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!((&told["event"], &told["outcome"]), (&"payment.approved".into(), &"matched".into()), "{told}");
        }
        for (url, key, part) in [
            (&base, live.as_str(), "test key"),
            (&base, "tb_test_nobodys", "HTTP 401"),
            (&"http://127.0.0.1:9".to_owned(), test.as_str(), "127.0.0.1:9"),
        ] {
            let output = run(url, key).await;
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(1), "{told}");
            assert!(told.contains(part) && told.lines().count() == 1, "{told}");
            assert!(!told.contains(key), "no key is shown: {told}");
        }
    }
}
