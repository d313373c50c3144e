//! Real programs at the other end: swaks for the dialogue, Exim with its queue for the relay.

use std::process::{Command, Output};

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::time::Span;
use tokio::time::{Instant, sleep};

use super::dialogue::certificate;
use super::keeping::Hold;
use super::{DEADLINE, DEV, House, MOMENT, SMTP, on_sqlite};
use crate::harness::app::{ACCOUNT, LATER, at};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;
use crate::harness::mta::Exim;

/// Runs swaks against an address with a mail from a file; the dialogue is in its output.
async fn swaks(to: std::net::SocketAddr, arguments: &[&str], mail: Option<&str>) -> (Output, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("swaks");
    let port = to.port().to_string();
    command.args(["--server", "127.0.0.1", "--port", &port, "--helo", "mx.sender.example"]);
    command.args(["--from", "gens@bank.example", "--to", "alerts@till.example"]).args(arguments);
    if let Some(mail) = mail {
        let path = folder.path().join("mail");
        std::fs::write(&path, mail).unwrap();
        command.arg("--data").arg(format!("@{}", path.display()));
    }
    command.args(["--timeout", "60s"]);
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap();
    let output = output.expect("swaks is missing: ./test installs it");
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output, text)
}

async fn until(mut met: impl AsyncFnMut() -> bool, what: &str) {
    let end = Instant::now() + DEADLINE;
    while !met().await {
        assert!(Instant::now() < end, "never: {what}");
        sleep(MOMENT).await;
    }
}

on_both! {
    async fn swaks_hands_in_an_alert_that_approves_a_payment(db: TestDatabase) {
        let house = House::open(db, &format!("{DEV}{SMTP}")).await;
        let shop = house.t.merchant("adire.example").await;
        house.t.account(ACCOUNT).await;
        let payment = house.t.create(&shop, 5_000, "Halima Garba").await;
        house.t.advance(LATER + Span::seconds(20));
        let mail = Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()).text();
        let (output, said) = swaks(house.tcp(), &["--pipeline"], Some(&mail)).await;
        assert!(output.status.success(), "{said}");
        assert!(said.contains("250 2.0.0 kept as alert"), "{said}");
        assert_eq!(house.alerts().await[0].payment_id, Some(payment.id));
    }

    async fn a_relay_keeps_a_mail_until_it_is_stored(db: TestDatabase) {
        for protocol in ["smtp", "lmtp"] {
            let db = TestDatabase::migrated(db.engine()).await;
            let house = House::open(db, &format!("{DEV}{SMTP}protocol = {protocol:?}\n")).await;
            let shop = house.t.merchant("adire.example").await;
            house.t.account(ACCOUNT).await;
            let payment = house.t.create(&shop, 5_000, "Halima Garba").await;
            house.t.advance(LATER + Span::seconds(20));
            let exim = Exim::start(house.tcp(), protocol).await;
            let hold = Hold::take(house.t.database()).await;
            let mail = Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()).text();
            let (output, said) = swaks(exim.address, &[], Some(&mail)).await;
            assert!(output.status.success(), "{said}");
            exim.logged("451 4.3.0").await;
            hold.release().await;
            until(async || !house.alerts().await.is_empty(), "the relayed alert").await;
            exim.logged("250 2.0.0 kept as alert").await;
            let alerts = house.alerts().await;
            // A try whose answer came too late may have been stored all the same; the copy is known.
            let matched: Vec<_> = alerts.iter().filter(|a| a.status == AlertStatus::Matched).collect();
            assert_eq!((matched.len(), matched[0].payment_id), (1, Some(payment.id)), "{alerts:?}");
            assert!(alerts.len() == 1 || alerts.iter().skip(1).all(|a| a.status == AlertStatus::Duplicate));
            house.t.audited().await;
        }
    }
}

#[test]
fn swaks_speaks_tls_and_lmtp_and_is_refused() {
    on_sqlite(|db| async {
        let (_folder, files, _) = certificate();
        let house = House::open(db, &format!("{SMTP}{files}")).await;
        let (output, said) = swaks(house.tcp(), &["--tls"], None).await;
        assert!(output.status.success() && said.contains("TLS started"), "{said}");
        let (output, said) = swaks(house.tcp(), &["--to", "nobody@till.example"], None).await;
        assert!(!output.status.success() && said.contains("550 5.1.1"), "{said}");
        assert_eq!(house.alerts().await.len(), 1);
    });
    on_sqlite(|db| async {
        let house = House::open(db, &format!("{SMTP}protocol = \"lmtp\"\n")).await;
        let (output, said) = swaks(house.tcp(), &["--protocol", "LMTP"], None).await;
        assert!(output.status.success() && said.contains("kept as alert"), "{said}");
        assert_eq!(house.alerts().await[0].source, "lmtp 127.0.0.1");
    });
}

#[test]
fn a_relay_passes_on_a_refusal_and_many_mails() {
    on_sqlite(|db| async {
        let house = House::open(db, &format!("{DEV}{SMTP}")).await;
        let exim = Exim::start(house.tcp(), "smtp").await;
        let relay = exim.address;
        let (output, said) = swaks(exim.address, &["--to", "nobody@till.example"], None).await;
        assert!(output.status.success(), "{said}");
        exim.logged("550 5.1.1").await;
        let sent = 12;
        let sending = (0..sent).map(|n| async move {
            let subject = format!("Subject: mail {n}");
            let (output, said) = swaks(relay, &["--header", &subject], None).await;
            assert!(output.status.success(), "{said}");
        });
        futures_util::future::join_all(sending).await;
        until(async || house.alerts().await.len() >= sent, "all mails").await;
        let mut subjects: Vec<String> = house.alerts().await.into_iter().filter_map(|a| a.subject).collect();
        subjects.sort_unstable();
        subjects.dedup();
        assert_eq!(subjects.len(), sent, "{subjects:?}");
    });
}
