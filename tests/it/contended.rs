//! Many alerts of one amount at once: what is stored is told as stored, and a decision that could not be made
//! in time is left to the service.
//!
//! A decision rests on the version of its amount on its account and is made again when that was raised. Here a
//! trigger keeps the version of one amount from being raised, so that every decision about it is lost, as it
//! is under a flood; and eight real processes decide one amount at the same time.

use std::process::Stdio;

use serde_json::Value;
use tillbell::domain::alert::AlertStatus;
use tillbell::domain::merchant::Mode;
use tillbell::domain::money::Money;
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;
use tillbell::ops::payments::sweep::{SweepReport, sweep};

use crate::crashes::{self, ENOUGH, Installation, Service, now, request};
use crate::harness::app::{ACCOUNT, LATER, TestApp, at, world};
use crate::harness::databases::{Engine, TestDatabase, connect};
use crate::harness::imap_server::{FakeServer, Folder};
use crate::harness::mails::Alert;
use crate::harness::name_server::{NameServer, Say};
use crate::harness::signing::{Signer, record};
use crate::mailbox;
use crate::smtp::{DEV, House, SMTP};

/// The amount whose decisions are lost while [`hold`] holds.
const HELD: i64 = 7_000;
const PROCESSES: usize = 8;
const MAILS_EACH: usize = 15;

async fn run(db: &TestDatabase, sqlite: &str, postgres: &str) {
    match db.engine() {
        Engine::Sqlite => {
            let file = rusqlite::Connection::open(db.url().strip_prefix("sqlite:").unwrap()).unwrap();
            file.busy_timeout(ENOUGH).unwrap();
            file.execute_batch(sqlite).unwrap();
        }
        Engine::Postgres => connect(db.url()).await.batch_execute(postgres).await.unwrap(),
    }
}

/// From now on every decision that would settle an alert of [`HELD`] finds that somebody was faster.
async fn hold(db: &TestDatabase) {
    let kobo = HELD * 100;
    let sqlite = format!(
        "create trigger held before update on amount_clocks when old.amount_kobo = {kobo} \
         begin select raise(ignore); end"
    );
    let postgres = format!(
        "create function held() returns trigger language plpgsql as $$ begin \
         if old.amount_kobo = {kobo} then return null; end if; return new; end $$; \
         create trigger held before update on amount_clocks for each row execute function held()"
    );
    run(db, &sqlite, &postgres).await;
}

async fn release(db: &TestDatabase) {
    run(db, "drop trigger held", "drop trigger held on amount_clocks").await;
}

async fn create(here: &Installation, service: &Service, id: &str, naira: i64, payer: &str) {
    let body = here.body(id, naira, payer);
    let made = request(service.address, "POST /api/v1/payment-request", &here.key, &body).await;
    let (status, answer) = made.unwrap();
    assert_eq!(status, 201, "{answer}");
}

async fn until_approved(here: &Installation, service: &Service, id: &str) {
    let deadline = tokio::time::Instant::now() + ENOUGH;
    loop {
        let head = format!("GET /api/v1/payment/{id}");
        let (_, read) = request(service.address, &head, &here.key, "").await.unwrap();
        if read["data"]["status"] == "approved" {
            return;
        }
        assert!(tokio::time::Instant::now() < deadline, "{id} was never approved: {read}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

fn told(results: &Value) -> Vec<&str> {
    let rows = results["results"].as_array().unwrap();
    rows.iter().map(|row| row["outcome"].as_str().unwrap()).collect()
}

/// Names of which no two could be taken for one another: any two words differ in two syllables at least.
fn payer(n: usize) -> String {
    const SYLLABLES: [&str; 17] = [
        "ba", "de", "fi", "go", "hu", "ja", "ke", "li", "mo", "nu", "pa", "re", "si", "to", "vu", "wa", "ze",
    ];
    let word = |n: usize| {
        let (a, b) = (n / 17, n % 17);
        [a, b, (a + b) % 17, (a + 2 * b) % 17].map(|at| SYLLABLES[at]).concat()
    };
    format!("{} {}", word(n), word(150 + n))
}

on_both! {
    async fn an_alert_that_cannot_be_decided_in_time_is_stored_and_the_other_files_go_on(db: TestDatabase) {
        let here = Installation::new(db).await;
        let mut service = here.serve();
        create(&here, &service, "HELD", HELD, "Halima Garba").await;
        create(&here, &service, "FREE", 9_000, "Chinedu Okafor").await;
        service.kill();
        hold(&here.database).await;
        let paid = now() + Span::seconds(1);
        let held = here.mail("held", &Alert::credit(crashes::ACCOUNT, HELD, "Halima Garba", paid));
        let free = here.mail("free", &Alert::credit(crashes::ACCOUNT, 9_000, "Chinedu Okafor", paid));
        let told_all =
            here.json(&["alert", "ingest", held.to_str().unwrap(), free.to_str().unwrap(), "--trusted"]);
        assert_eq!(told(&told_all), ["new", "matched"], "{told_all}");
        let first = &told_all["results"][0];
        assert!(first["alert_id"].is_i64() && first["reason"].as_str().unwrap().contains("service"), "{first}");
        release(&here.database).await;
        let service = here.serve();
        until_approved(&here, &service, "HELD").await;
        here.audit();
    }

    async fn a_file_that_cannot_be_stored_keeps_no_other_from_being_taken(db: TestDatabase) {
        let here = Installation::new(db).await;
        // Whatever is written about this one subject is refused.
        let sqlite = "create trigger never before insert on alerts when new.subject = 'never' \
                      begin select raise(abort, 'never'); end";
        let postgres = "create function never() returns trigger language plpgsql as $$ begin \
                        if new.subject = 'never' then raise exception 'never'; end if; return new; end $$; \
                        create trigger never before insert on alerts for each row execute function never()";
        run(&here.database, sqlite, postgres).await;
        let good = Alert::credit(crashes::ACCOUNT, 3_000, "Halima Garba", now());
        let bad = here.folder.path().join("bad");
        std::fs::write(&bad, good.text().replace("Subject: Transaction Notification", "Subject: never")).unwrap();
        let good = here.mail("good", &good);
        let args = ["alert", "ingest", bad.to_str().unwrap(), good.to_str().unwrap(), "--trusted", "--json"];
        let output = here.command(&args).output().unwrap();
        assert!(!output.status.success(), "not all was stored");
        let results: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(told(&results), ["failed", "unmatched"], "{results}");
        assert_eq!(results["results"][0]["alert_id"], Value::Null);
        let why = String::from_utf8_lossy(&output.stderr);
        assert!(why.contains("bad could not be stored"), "{why}");
    }

    async fn eight_processes_decide_a_hundred_and_twenty_alerts_of_one_amount(db: TestDatabase) {
        let here = Installation::new(db).await;
        let mut service = here.serve();
        for n in 0..PROCESSES * MAILS_EACH {
            create(&here, &service, &format!("EQUAL-{n}"), 5_000, &payer(n)).await;
        }
        service.kill();
        let running: Vec<_> = (0..PROCESSES)
            .map(|process| {
                let mut command = here.command(&["alert", "ingest", "--trusted", "--json"]);
                for n in process * MAILS_EACH..(process + 1) * MAILS_EACH {
                    let alert = Alert::credit(crashes::ACCOUNT, 5_000, &payer(n), now() + Span::seconds(1));
                    command.arg(here.mail(&format!("equal-{n}"), &alert));
                }
                command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        let mut outcomes = std::collections::BTreeMap::new();
        for child in running {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let results: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(told(&results).len(), MAILS_EACH);
            for outcome in told(&results) {
                *outcomes.entry(outcome.to_owned()).or_insert(0) += 1;
            }
        }
        println!("{outcomes:?}");
        // One that was left to the service is decided by it.
        assert!(outcomes.keys().all(|outcome| ["matched", "new"].contains(&outcome.as_str())), "{outcomes:?}");
        let service = here.serve();
        for n in 0..PROCESSES * MAILS_EACH {
            until_approved(&here, &service, &format!("EQUAL-{n}")).await;
        }
        here.audit();
    }

    async fn a_mail_over_smtp_that_cannot_be_decided_in_time_is_answered_as_kept(db: TestDatabase) {
        let house = House::open(db, &format!("{DEV}{SMTP}")).await;
        let shop = house.t.merchant("adire.example").await;
        house.t.account(ACCOUNT).await;
        let payment = house.t.create(&shop, HELD, "Halima Garba").await;
        house.t.advance(LATER + Span::seconds(20));
        hold(house.t.database()).await;
        let mut client = house.greeted().await;
        let answer = client.hand_in(&Alert::credit(ACCOUNT, HELD, "Halima Garba", at()).text()).await;
        assert!(answer.starts_with("250"), "{answer}");
        assert_eq!(house.alerts().await[0].status, AlertStatus::New);
        release(house.t.database()).await;
        // Workers leave it to whoever stored it for a while.
        house.t.advance(Span::seconds(3));
        tillbell::work::run_due(&house.t.app).await.unwrap();
        let alerts = house.alerts().await;
        assert_eq!((alerts.len(), alerts[0].payment_id), (1, Some(payment.id)));
    }

    async fn an_alert_that_is_stored_and_not_decided_keeps_the_payments_of_its_account_open(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let other = t.merchant("bolu.example").await;
        t.account_for("0123459982", Some(other.id), Mode::Live).await;
        let paid = t.create(&shop, HELD, "Halima Garba").await;
        let unpaid = t.create(&shop, 9_000, "Chinedu Okafor").await;
        let elsewhere = t.create(&other, 9_000, "Musa Danladi").await;
        t.advance(Span::hours(47));
        hold(t.database()).await;
        let alert = t.ingest(&Alert::credit(ACCOUNT, HELD, "Halima Garba", t.app.now()).text()).await;
        assert_eq!(alert.status, AlertStatus::New, "{alert:?}");
        // Past the late window of all three.
        t.advance(Span::hours(2));
        assert_eq!(sweep(&t.app).await.unwrap(), SweepReport { rejected: 1, left: 2 });
        assert_eq!(t.payment(&elsewhere).await.status, Status::Rejected);
        release(t.database()).await;
        tillbell::work::run_due(&t.app).await.unwrap();
        assert_eq!(t.payment(&paid).await.status, Status::Approved, "by the alert that came in time");
        assert_eq!(sweep(&t.app).await.unwrap(), SweepReport { rejected: 1, left: 0 });
        assert_eq!(t.payment(&unpaid).await.status, Status::Rejected);
    }

    async fn a_mailbox_goes_on_behind_a_mail_that_cannot_be_decided_in_time(db: TestDatabase) {
        let names = NameServer::start().await;
        names.say("mail._domainkey.gtbank.com", Say::Text(record("rsa2048")));
        let t = TestApp::start_with(db, &format!("{DEV}[mail]\ndns = \"{}\"\n", names.address)).await;
        let shop = t.merchant("adire.example").await;
        t.account(ACCOUNT).await;
        let mail = |naira: i64, payer: &str| Signer::bank().sign(&Alert::credit(ACCOUNT, naira, payer, at()).text());
        let held = t.create(&shop, HELD, "Halima Garba").await;
        let free = t.create(&shop, 9_000, "Chinedu Okafor").await;
        t.advance(LATER + Span::seconds(20));
        hold(t.database()).await;
        let fake = FakeServer::start(Folder::default()).await;
        fake.folder().add(&mail(HELD, "Halima Garba"));
        fake.folder().add(&mail(9_000, "Chinedu Okafor"));
        let reading = mailbox::Reading::start(&t.app, &t, &mailbox::server(&fake.configured()), mailbox::fast());
        // The place behind both is written down, so nobody reads them again.
        mailbox::until_read(&t.app, 2).await;
        let alerts = mailbox::until_alerts(&t.app, 2).await;
        // Mails of one batch are stored side by side.
        let of = |naira: i64| alerts.iter().find(|alert| alert.facts.amount == Some(Money(naira * 100))).unwrap().status;
        assert_eq!([of(HELD), of(9_000)], [AlertStatus::New, AlertStatus::Matched]);
        assert_eq!(t.payment(&free).await.status, Status::Approved);
        reading.end().await;
        release(t.database()).await;
        t.advance(Span::seconds(3));
        tillbell::work::run_due(&t.app).await.unwrap();
        assert_eq!(t.payment(&held).await.status, Status::Approved);
        let reading = mailbox::Reading::start(&t.app, &t, &mailbox::server(&fake.configured()), mailbox::fast());
        fake.folder().add(&mail(4_100, "Musa Danladi"));
        mailbox::until_read(&t.app, 3).await;
        // Neither of the first two was taken again.
        mailbox::assert_once(&mailbox::until_alerts(&t.app, 3).await);
        reading.end().await;
    }
}
