//! A mailbox that is not read: an alarm, once, and expired payments that wait for it.

use tillbell::config::Config;
use tillbell::domain::payment::Status as PaymentStatus;
use tillbell::domain::time::Span;
use tillbell::mail_intake::imap;
use tillbell::mail_intake::ingest::MailIngestor;
use tillbell::ops::mailboxes::{self, MailboxKey};
use tillbell::ops::payments::sweep::sweep;
use tokio_util::sync::CancellationToken;

use super::{fast, mail, until, until_alerts};
use crate::harness::app::{ACCOUNT, START, TestApp};
use crate::harness::databases::TestDatabase;
use crate::harness::imap_server::{FakeServer, Folder};
use crate::harness::tls_receiver::TlsReceiver;

/// A world whose configuration names the server's mailbox.
async fn watching(db: TestDatabase, fake: &FakeServer) -> TestApp {
    let t = TestApp::start_with(
        db,
        &format!("[server]\ndev = true\n{}password = \"secret\"\n", fake.configured()),
    )
    .await;
    t.account(ACCOUNT).await;
    imap::register(&t.app).await.unwrap();
    t
}

on_both! {
    async fn a_silent_mailbox_raises_one_alarm_at_a_time(db: TestDatabase) {
        let refusing = Folder { refuse_login: Some("no".into()), ..Folder::default() };
        let fake = FakeServer::start(refusing).await;
        let t = watching(db, &fake).await;
        let other = t.another_node().await;
        let stop = CancellationToken::new();
        let mut tasks = Vec::new();
        for app in [&t.app, &other] {
            let room = MailIngestor::new(&app.config, t.banks.clone());
            tasks.extend(imap::start_with(app, &room, &stop, fast()));
        }
        let alarmed = || async { t.app.store.mailboxes(1).await.unwrap()[0].alarmed_at };
        until("the refusal", || async { t.app.store.mailboxes(1).await.unwrap()[0].trouble.clone() }).await;
        t.advance(Span::minutes(14));
        // Nothing is to come: every node has looked a few times by then.
        tokio::time::sleep(5 * fast().watch).await;
        assert_eq!(alarmed().await.0, 0, "an alarm before its time");
        t.advance(Span::minutes(2));
        let first = until("the alarm", || async { Some(alarmed().await).filter(|at| at.0 > 0) }).await;
        assert_eq!(first, START + Span::minutes(16));
        t.advance(Span::minutes(10));
        // Nothing is to come here either.
        tokio::time::sleep(5 * fast().watch).await;
        assert_eq!(alarmed().await, first, "a second alarm too early");
        t.advance(Span::minutes(6));
        let second = until("the next alarm", || async { Some(alarmed().await).filter(|at| *at > first) }).await;
        assert_eq!(second, START + Span::minutes(32));
        // Without mails it is not silent.
        fake.folder().refuse_login = None;
        until("it is read", || async {
            let row = &t.app.store.mailboxes(1).await.unwrap()[0];
            (row.last_read_at.0 > 0 && row.trouble.is_none()).then_some(())
        })
        .await;
        stop.cancel();
        for task in tasks {
            task.await.unwrap();
        }
    }

    async fn an_expired_payment_waits_until_the_mailbox_was_read(db: TestDatabase) {
        let fake = FakeServer::start(Folder::default()).await;
        let t = watching(db, &fake).await;
        let merchant = t.merchant("adire.example").await;
        let payment = t.create(&merchant, 5_000, "Halima Garba").await;
        let status = || async { t.payment(&payment).await.status };
        t.advance(Span::hours(49));
        sweep(&t.app).await.unwrap();
        assert_eq!(status().await, PaymentStatus::Pending, "its mail may lie in the mailbox");
        let room = MailIngestor::new(&t.app.config, t.banks.clone());
        let stop = CancellationToken::new();
        fake.folder().add(&mail(1));
        let tasks = imap::start_with(&t.app, &room, &stop, fast());
        until_alerts(&t.app, 1).await;
        super::until_read(&t.app, 1).await;
        sweep(&t.app).await.unwrap();
        assert_eq!(status().await, PaymentStatus::Rejected);
        stop.cancel();
        for task in tasks {
            task.await.unwrap();
        }
    }

    async fn a_mailbox_that_was_never_read_and_is_gone_holds_nothing(db: TestDatabase) {
        let fake = FakeServer::start(Folder::default()).await;
        let t = watching(db, &fake).await;
        let merchant = t.merchant("adire.example").await;
        let payment = t.create(&merchant, 5_000, "Halima Garba").await;
        // Its name had a slip, which was corrected since.
        let slip = MailboxKey { host: "impa.adire.example".into(), port: 993, login: "till".into(), folder: "INBOX".into() };
        let gone = mailboxes::configure(&t.app, &slip, "alerts").await.unwrap();
        t.advance(Span::hours(49));
        let kept = mailboxes::kept_open_by(&t.app, &t.payment(&payment).await).await.unwrap().unwrap();
        assert_ne!(kept.id, gone.id, "the one that the configuration has");
        // The one that the configuration has is read.
        let lease = mailboxes::claim(&t.app, &kept, "node").await.unwrap().unwrap();
        assert!(mailboxes::read_to_its_end(&t.app, lease, t.app.now()).await.unwrap());
        assert_eq!(mailboxes::kept_open_by(&t.app, &t.payment(&payment).await).await.unwrap(), None);
        sweep(&t.app).await.unwrap();
        assert_eq!(t.payment(&payment).await.status, PaymentStatus::Rejected);
        // A node that has it still names it each hour, and then it is waited for.
        let second = t.create(&merchant, 6_000, "Halima Garba").await;
        t.advance(Span::hours(49));
        mailboxes::configure(&t.app, &slip, "alerts").await.unwrap();
        sweep(&t.app).await.unwrap();
        assert_eq!(t.payment(&second).await.status, PaymentStatus::Pending);
        let kept = mailboxes::kept_open_by(&t.app, &t.payment(&second).await).await.unwrap();
        assert_eq!(kept.map(|row| row.id), Some(gone.id));
    }

    async fn a_mailbox_that_is_configured_no_more_holds_nothing_for_ever(db: TestDatabase) {
        let fake = FakeServer::start(Folder::default()).await;
        let t = watching(db, &fake).await;
        let merchant = t.merchant("adire.example").await;
        let first = t.create(&merchant, 5_000, "Halima Garba").await;
        t.advance(Span::hours(49));
        sweep(&t.app).await.unwrap();
        assert_eq!(t.payment(&first).await.status, PaymentStatus::Pending);
        let row = t.app.store.mailboxes(1).await.unwrap().remove(0);
        assert!(mailboxes::forget(&t.app, "ada", row.id).await.unwrap());
        assert!(!mailboxes::forget(&t.app, "ada", row.id + 1).await.unwrap());
        sweep(&t.app).await.unwrap();
        assert_eq!(t.payment(&first).await.status, PaymentStatus::Rejected);
        // A running service says again that it is configured; after a week of silence it counts no more.
        let second = t.create(&merchant, 6_000, "Halima Garba").await;
        imap::register(&t.app).await.unwrap();
        t.advance(Span::hours(49));
        sweep(&t.app).await.unwrap();
        assert_eq!(t.payment(&second).await.status, PaymentStatus::Pending);
        t.advance(Span::days(6));
        sweep(&t.app).await.unwrap();
        assert_eq!(t.payment(&second).await.status, PaymentStatus::Rejected);
    }
}

on_one! {
    async fn a_server_that_is_not_trusted_is_told_with_what_to_do(db: TestDatabase) {
        let server = TlsReceiver::start().await;
        let folder = tempfile::tempdir().unwrap();
        let no_ca = folder.path().join("notes.txt");
        std::fs::write(&no_ca, "not a certificate\n").unwrap();
        let mailbox = |name: &str, more: &str| {
            format!(
                "[[mail.imap]]\nname = \"{name}\"\nhost = \"127.0.0.1\"\nport = {}\nuser = \"{name}\"\n\
                 password = \"secret\"\n{more}\n",
                server.port()
            )
        };
        let (stranger, wrong) = (mailbox("stranger", ""), mailbox("wrong", &format!("ca_file = {no_ca:?}")));
        let t = TestApp::start_with(db, &format!("[server]\ndev = true\n{stranger}{wrong}")).await;
        let room = MailIngestor::new(&t.app.config, t.banks.clone());
        let stop = CancellationToken::new();
        let tasks = imap::start_with(&t.app, &room, &stop, fast());
        let told = until("both troubles", || async {
            let rows = t.app.store.mailboxes(10).await.unwrap();
            let told: Vec<(String, String)> =
                rows.into_iter().filter_map(|row| Some((row.name, row.trouble?))).collect();
            Some(told).filter(|told| told.len() == 2)
        })
        .await;
        for (name, trouble) in told {
            let parts = match name.as_str() {
                "stranger" => ["not trusted here (UnknownIssuer)", "must be listed in ca_file of this mailbox"],
                _ => ["notes.txt", "contains no certificate in PEM format"],
            };
            assert!(parts.iter().all(|part| trouble.contains(part)), "{name}: {trouble}");
        }
        stop.cancel();
        for task in tasks {
            task.await.unwrap();
        }
    }
}

#[test]
fn the_effective_configuration_shows_no_password() {
    let text = "[[mail.imap]]\nhost = \"localhost\"\nuser = \"a\"\npassword = \"hunter2\"\n";
    let config = Config::load(text, std::iter::empty()).unwrap();
    assert!(!format!("{config:?}").contains("hunter2"));
}
