//! Servers that break their word: nothing is lost, nothing is stored twice, nothing waits for ever.

use std::time::Duration;

use tillbell::domain::alert::AlertStatus;
use tillbell::mail_intake::imap::Timings;

use super::{Reading, alerts, assert_once, fast, mail, server, until, until_alerts, until_read};
use crate::harness::app::{LATER, TestApp, world};
use crate::harness::databases::TestDatabase;
use crate::harness::imap_server::{FakeServer, Folder};

/// A world, and a server with so many mails.
async fn with_mails(db: TestDatabase, count: i64) -> (TestApp, FakeServer) {
    let (t, _) = world(db).await;
    t.advance(LATER);
    let fake = FakeServer::start(Folder::default()).await;
    for naira in 1..=count {
        fake.folder().add(&mail(naira));
    }
    (t, fake)
}

/// The trouble noted for people, once there is one that holds the text.
async fn until_trouble(t: &TestApp, text: &str) -> String {
    until(text, || async {
        let rows = t.app.store.mailboxes(10).await.unwrap();
        rows.into_iter().find_map(|row| row.trouble).filter(|trouble| trouble.contains(text))
    })
    .await
}

on_both! {
    async fn a_server_that_says_good_bye_is_asked_again(db: TestDatabase) {
        let (t, fake) = with_mails(db, 3).await;
        fake.folder().byes = 2;
        let _reading = Reading::start(&t.app, &t, &server(&fake.configured()), fast());
        assert_once(&until_alerts(&t.app, 3).await);
        until_read(&t.app, 3).await;
        assert!(fake.folder().connections >= 3);
    }

    async fn a_literal_that_stalls_ends_the_connection_and_not_the_reading(db: TestDatabase) {
        let (t, fake) = with_mails(db, 2).await;
        fake.folder().stall = true;
        let timings = Timings { silence: Duration::from_millis(100), ..fast() };
        let _reading = Reading::start(&t.app, &t, &server(&fake.configured()), timings);
        until_trouble(&t, "did not respond").await;
        assert!(alerts(&t.app).await.is_empty());
        fake.folder().stall = false;
        assert_once(&until_alerts(&t.app, 2).await);
        until_read(&t.app, 2).await;
    }

    async fn five_gigabytes_are_not_waited_for(db: TestDatabase) {
        let (t, fake) = with_mails(db, 2).await;
        fake.folder().announce = Some(5_368_709_120);
        let _reading = Reading::start(&t.app, &t, &server(&fake.configured()), fast());
        until_trouble(&t, "5368709120").await;
        // If it goes on, the mails are kept as unreadable; if it ends in time, they are read.
        let all = until_alerts(&t.app, 2).await;
        assert!(all.iter().all(|alert| alert.status == AlertStatus::Unreadable));
        assert!(all[0].reason.contains("cannot be fetched"), "{}", all[0].reason);
        fake.folder().announce = None;
        fake.folder().add(&mail(9));
        until_alerts(&t.app, 3).await;
        until_read(&t.app, 3).await;
    }

    async fn a_mail_that_always_fails_holds_up_no_other(db: TestDatabase) {
        let (t, fake) = with_mails(db, 5).await;
        fake.folder().refused.insert(2);
        fake.folder().breaking.insert(4);
        let reading = Reading::start(&t.app, &t, &server(&fake.configured()), fast());
        let all = until_alerts(&t.app, 5).await;
        until_read(&t.app, 5).await;
        let odd: Vec<_> = all.iter().filter(|alert| alert.status == AlertStatus::Unreadable).collect();
        assert_eq!(odd.len(), 2);
        for uid in [2, 4] {
            let text = format!("mail {uid} of INBOX");
            assert!(odd.iter().any(|alert| alert.reason.contains(&text)), "{uid}: {:?}", odd[0].reason);
        }
        reading.end().await;
        // It is done with: another reader does not try again.
        fake.folder().heard.clear();
        let _reading = Reading::start(&t.app, &t, &server(&fake.configured()), fast());
        fake.folder().add(&mail(6));
        until_alerts(&t.app, 6).await;
        assert!(!fake.folder().heard.iter().any(|line| line.contains("UID FETCH 2 ")));
    }

    async fn a_number_that_runs_back_is_noticed(db: TestDatabase) {
        let (t, fake) = with_mails(db, 4).await;
        let reading = Reading::start(&t.app, &t, &server(&fake.configured()), fast());
        until_alerts(&t.app, 4).await;
        let before = until_read(&t.app, 4).await;
        reading.end().await;
        {
            // Restored from a copy of an hour ago: two mails are gone, their numbers are given again.
            let mut folder = fake.folder();
            folder.mails.truncate(2);
            folder.uidnext = Some(3);
            folder.add(&mail(30));
        }
        let reading = Reading::start(&t.app, &t, &server(&fake.configured()), fast());
        assert_once(&until_alerts(&t.app, 5).await);
        reading.end().await;
        {
            // The numbers have caught up before anybody looked: only the times differ.
            let mut folder = fake.folder();
            folder.mails.truncate(1);
            for (uid, naira) in [(2, 40), (3, 41), (4, 42)] {
                folder.add_at(uid, "10-Mar-2026 09:05:00 +0100", &mail(naira));
            }
            folder.uidnext = Some(5);
        }
        let _reading = Reading::start(&t.app, &t, &server(&fake.configured()), fast());
        assert_once(&until_alerts(&t.app, 8).await);
        let row = t.app.store.mailbox(before.id).await.unwrap().unwrap();
        assert!(row.generation >= before.generation + 2, "{row:?}");
    }

    async fn a_mail_that_shows_up_below_the_mark_is_taken(db: TestDatabase) {
        let (t, fake) = with_mails(db, 0).await;
        fake.folder().add_at(1, "10-Mar-2026 09:00:00 +0100", &mail(1));
        fake.folder().add_at(3, "10-Mar-2026 09:02:00 +0100", &mail(3));
        fake.folder().uidnext = Some(4);
        let reading = Reading::start(&t.app, &t, &server(&fake.configured()), fast());
        until_alerts(&t.app, 2).await;
        until_read(&t.app, 3).await;
        reading.end().await;
        fake.folder().add_at(2, "10-Mar-2026 09:01:00 +0100", &mail(2));
        let _reading = Reading::start(&t.app, &t, &server(&fake.configured()), fast());
        assert_once(&until_alerts(&t.app, 3).await);
    }

    async fn without_idle_and_without_uidnext_it_asks_now_and_then(db: TestDatabase) {
        let (t, fake) = with_mails(db, 1).await;
        fake.folder().capabilities = "IMAP4rev1".into();
        fake.folder().uidnext = None;
        let _reading = Reading::start(&t.app, &t, &server(&fake.configured()), fast());
        until_alerts(&t.app, 1).await;
        fake.folder().add(&mail(2));
        assert_once(&until_alerts(&t.app, 2).await);
        let heard = fake.folder().heard.concat();
        assert!(heard.contains("LOGIN \"till\" \"secret\"") && !heard.contains("IDLE"), "{heard}");
    }

    async fn garbage_and_refusals_are_told_and_retried(db: TestDatabase) {
        let (t, fake) = with_mails(db, 1).await;
        fake.folder().greeting = "SSH-2.0-OpenSSH_9.2\u{1b}[2J".into();
        let _reading = Reading::start(&t.app, &t, &server(&fake.configured()), fast());
        let trouble = until_trouble(&t, "is not valid IMAP").await;
        assert!(!trouble.contains('\u{1b}'));
        fake.folder().greeting = "* BYE too many connections".into();
        until_trouble(&t, "ended the session: too many connections").await;
        fake.folder().greeting = "* OK ready".into();
        fake.folder().refuse_login = Some("[AUTHENTICATIONFAILED] Invalid credentials".into());
        let trouble = until_trouble(&t, "the login was refused").await;
        assert!(trouble.contains("Invalid credentials") && !trouble.contains("secret"), "{trouble}");
        fake.folder().refuse_login = None;
        until_alerts(&t.app, 1).await;
        let row = until_read(&t.app, 1).await;
        assert_eq!(row.trouble, None);
    }

    async fn a_missing_password_file_is_told_as_that(db: TestDatabase) {
        let (t, fake) = with_mails(db, 1).await;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("word");
        let text = format!("{}password_file = {file:?}\n", fake.configured());
        let _reading = Reading::start(&t.app, &t, &server(&text), fast());
        let trouble = until_trouble(&t, "password file").await;
        assert!(trouble.contains(file.to_str().unwrap()) && trouble.contains("No such file"), "{trouble}");
        assert!(!trouble.contains("refused"), "no server was asked: {trouble}");
        std::fs::write(&file, "secret\n").unwrap();
        until_alerts(&t.app, 1).await;
    }

    async fn a_token_is_read_anew_and_sent_as_xoauth2(db: TestDatabase) {
        use base64::Engine;
        let (t, fake) = with_mails(db, 1).await;
        fake.folder().capabilities = "IMAP4rev1 IDLE AUTH=XOAUTH2".into();
        fake.folder().refuse_login = Some("expired".into());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, "ya29.old\n").unwrap();
        let text = format!("{}oauth2_token_file = {file:?}\n", fake.configured());
        let _reading = Reading::start(&t.app, &t, &server(&text), fast());
        until_trouble(&t, "the login was refused: expired").await;
        std::fs::write(&file, "ya29.new\n").unwrap();
        fake.folder().refuse_login = None;
        fake.folder().heard.clear();
        until_alerts(&t.app, 1).await;
        let encode = |token: &str| {
            base64::engine::general_purpose::STANDARD.encode(format!("user=till\x01auth=Bearer {token}\x01\x01"))
        };
        assert_eq!(encode("ya29.new"), "dXNlcj10aWxsAWF1dGg9QmVhcmVyIHlhMjkubmV3AQE=");
        let heard = fake.folder().heard.clone();
        assert!(heard.iter().any(|line| line == &encode("ya29.new")), "{heard:?}");
        assert!(heard.iter().any(|line| line.ends_with("AUTHENTICATE XOAUTH2")), "{heard:?}");
    }

    async fn what_comes_with_the_consent_to_starttls_is_refused(db: TestDatabase) {
        let (t, fake) = with_mails(db, 1).await;
        fake.folder().inject = "* PREAUTH you are in\r\n".into();
        let text = fake.configured().replace("\"none\"", "\"starttls\"");
        let _reading = Reading::start(&t.app, &t, &server(&text), fast());
        until_trouble(&t, "STARTTLS").await;
        fake.folder().inject = String::new();
        fake.folder().greeting = "* PREAUTH you are in".into();
        until_trouble(&t, "before STARTTLS").await;
        let heard = fake.folder().heard.concat();
        assert!(!heard.contains("AUTHENTICATE") && !heard.contains("EXAMINE"), "{heard}");
    }
}
