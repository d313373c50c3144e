//! The real program killed while mails come in: what got a 250 is there, what got none comes again.
//!
//! The program listens on a socket in its folder, so a test finds it again after a restart; one test
//! takes a port and reads it from the log, as an operator would.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};

use tillbell::domain::alert::{AlertRow, AlertStatus};
use tillbell::store::{Store, StoreOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

use super::{Client, DEADLINE};
use crate::crashes::{Installation, now};
use crate::harness::app::ACCOUNT;
use crate::harness::mails::Alert;
use crate::harness::until::until_true;

const LISTEN: &str = "TILLBELL_MAIL__SMTP__LISTEN";

/// Where the service's listener is, as the setting that says so.
fn listener(here: &Installation) -> (PathBuf, String) {
    let socket = here.folder.path().join("smtp");
    let setting = format!("unix:{}", socket.display());
    (socket, setting)
}

async fn client(socket: &Path) -> Client {
    // `serve` is ready when it has said where it listens, and the socket is bound before.
    let mut client = Client::over(UnixStream::connect(socket).await.unwrap());
    client.expect("220").await;
    client.say("EHLO mx.sender.example").await;
    client
}

/// All alerts, straight from the database.
async fn alerts(here: &Installation) -> Vec<AlertRow> {
    let store = Store::open(&StoreOptions::command(here.database.url())).await.unwrap();
    store.list_alerts(None, 1_000_000).await.unwrap()
}

/// Hands in mails until the service dies; counts those that got a 250 and answers their subjects.
async fn hand_in_until_dead(socket: &Path, lane: &str, taken: &AtomicUsize) -> Vec<String> {
    let mut kept = Vec::new();
    let mut client = client(socket).await;
    let envelope = "MAIL FROM:<a@b.example>\r\nRCPT TO:<alerts@till.example>\r\nDATA\r\n";
    for n in 0.. {
        let subject = format!("{lane}-{n}");
        if client.try_send(envelope.as_bytes()).await.is_err() {
            break;
        }
        let mut is_open = true;
        for code in ["250", "250", "354"] {
            is_open &= client.answer().await.is_some_and(|answer| answer.starts_with(code));
        }
        let mail = format!("Subject: {subject}\r\n\r\nx\r\n.\r\n");
        if !is_open || client.try_send(mail.as_bytes()).await.is_err() {
            break;
        }
        match client.answer().await {
            Some(answer) if answer.starts_with("250") => {
                taken.fetch_add(1, Ordering::SeqCst);
                kept.push(subject);
            }
            Some(answer) => panic!("{answer}"),
            None => break,
        }
    }
    kept
}

/// One mail over a connection that may break anywhere; the answer to it.
async fn try_hand_in(socket: &Path, mail: &str) -> Option<String> {
    let mut client = Client::over(UnixStream::connect(socket).await.ok()?);
    client.answer().await?;
    for line in ["EHLO mx.sender.example", "MAIL FROM:<a@b.example>", "RCPT TO:<alerts@till.example>", "DATA"]
    {
        client.try_send(format!("{line}\r\n").as_bytes()).await.ok()?;
        client.answer().await?;
    }
    client.try_send(format!("{mail}.\r\n").as_bytes()).await.ok()?;
    client.answer().await
}

/// What the operator's listener tells.
async fn metrics(address: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

on_both! {
    async fn what_got_a_250_survives_a_kill(db: TestDatabase) {
        let here = Installation::new(db).await;
        let (socket, listen) = listener(&here);
        let mut kept = Vec::new();
        for round in 0..3 {
            let mut service = here.serve_with(&[(LISTEN, &listen)]).unwrap();
            let names: Vec<String> = (0..4).map(|lane| format!("r{round}l{lane}")).collect();
            let taken = AtomicUsize::new(0);
            let lanes = names.iter().map(|name| hand_in_until_dead(&socket, name, &taken));
            let killer = async {
                // Any moment under load is as good as another.
                until_true("mails are taken", || taken.load(Ordering::SeqCst) > 15 + 10 * round).await;
                service.kill();
            };
            let (lists, ()) = tokio::join!(futures_util::future::join_all(lanes), killer);
            kept.extend(lists.concat());
        }
        assert!(kept.len() > 20, "only {} were taken", kept.len());
        let there: HashSet<String> = alerts(&here).await.into_iter().filter_map(|a| a.subject).collect();
        let lost: Vec<&String> = kept.iter().filter(|subject| !there.contains(*subject)).collect();
        assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
        here.audit();
    }

    async fn killed_at_any_point_a_mail_is_kept_or_not_acknowledged(db: TestDatabase) {
        let here = Installation::new(db).await;
        let (socket, listen) = listener(&here);
        let points = [
            ("alert.stored:1", true),
            ("alert.before_decision:1", true),
            ("smtp.before_answer:1", true),
            // How often the start passes these is not fixed: the mail may be answered before.
            ("store.before_commit:1", false),
            ("store.before_commit:3", false),
            ("store.between_statements:4", false),
            ("store.after_commit:2", false),
        ];
        for (n, (point, dies)) in points.into_iter().enumerate() {
            let naira = 5_000 + 1_000 * n as i64;
            let mail = Alert::credit(ACCOUNT, naira, "Halima Garba", now()).text();
            let before = alerts(&here).await.len();
            let answer = match here.serve_with(&[(LISTEN, &listen), ("TILLBELL_CRASH_AT", point)]) {
                Some(_service) => try_hand_in(&socket, &mail).await,
                None => None,
            };
            assert!(!dies || answer.is_none(), "{point}: {answer:?}");
            if answer.is_some_and(|answer| answer.starts_with("250")) {
                assert_eq!(alerts(&here).await.len(), before + 1, "{point}: acknowledged and lost");
            }
            // Without an answer the sender must try again; so it does here in any case.
            let _service = here.serve_with(&[(LISTEN, &listen)]).unwrap();
            let answer = try_hand_in(&socket, &mail).await;
            assert!(answer.as_ref().is_some_and(|a| a.starts_with("250")), "{point}: {answer:?}");
            let all = alerts(&here).await;
            let alone = all.iter().filter(|a| a.status != AlertStatus::Duplicate).count();
            assert_eq!(alone, n + 1, "{point}: {all:?}");
        }
        here.audit();
    }

    async fn the_log_names_the_port_and_sigterm_ends_it(db: TestDatabase) {
        let here = Installation::new(db).await;
        let mut child = here
            .command(&["serve"])
            .env(LISTEN, "127.0.0.1:0")
            .env("TILLBELL_SERVER__OPERATOR_LISTEN", "127.0.0.1:0")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let first = BufReader::new(child.stdout.take().unwrap()).lines().next().unwrap().unwrap();
        assert!(first.starts_with("listening on http://"), "{first}");
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = log.find_map(|line| line.ok().filter(|line| line.contains("smtp listening on"))).unwrap();
        let address = line.split("smtp listening on ").nth(1).unwrap().split('"').next().unwrap().to_owned();
        let stream = TcpStream::connect(address).await.unwrap();
        let mut client = Client::over(stream);
        client.expect("220").await;
        client.say("EHLO mx.sender.example").await;
        let answer = client.hand_in("Subject: to a port\r\n\r\nx\r\n").await;
        assert!(answer.starts_with("250"), "{answer}");
        let line = log.find_map(|line| line.ok().filter(|line| line.contains("operator listener"))).unwrap();
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        let metrics = metrics(line["address"].as_str().unwrap()).await;
        for expected in ["tillbell_smtp_mails_total{answer=\"250\"} 1", "tillbell_smtp_connections 1"] {
            assert!(metrics.contains(expected), "{metrics}");
        }
        let told = std::process::Command::new("kill").arg(child.id().to_string()).status().unwrap();
        assert!(told.success());
        client.expect("421").await;
        client.is_closed().await;
        drop(client);
        let ended = tokio::task::spawn_blocking(move || child.wait().unwrap());
        assert!(tokio::time::timeout(DEADLINE, ended).await.unwrap().unwrap().success());
        let subjects: Vec<_> = alerts(&here).await.into_iter().filter_map(|a| a.subject).collect();
        assert_eq!(subjects, ["to a port"]);
    }
}
