//! Against a real dovecot: logins, news, restarts, folders made anew, large mails, bursts.

use std::time::SystemTime;

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;

use super::{Reading, alerts, assert_once, fast, mail, server, until, until_alerts, until_read};
use crate::harness::app::{ACCOUNT, LATER, TestApp, world};
use crate::harness::dovecot::Dovecot;
use crate::harness::name_server::{NameServer, Say};
use crate::harness::signing::{Signer, record};
use crate::harness::until::until_true;

/// The server numbers a folder by the second in which it was made; one that is made anew in the same
/// second would be the same folder.
async fn next_second() {
    let second = || SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let then = second();
    until_true("the next second", || second() > then).await;
}

on_both! {
    async fn a_signed_mail_in_the_mailbox_approves_its_payment(db: TestDatabase) {
        let dovecot = Dovecot::start().await;
        let names = NameServer::start().await;
        names.say("mail._domainkey.gtbank.com", Say::Text(record("rsa2048")));
        let t = TestApp::start_with(db, &format!("[server]\ndev = true\n[mail]\ndns = \"{}\"\n", names.address)).await;
        let merchant = t.merchant("adire.example").await;
        t.account(ACCOUNT).await;
        let payment = t.create(&merchant, 5_000, "Halima Garba").await;
        t.advance(LATER);
        let _reading = Reading::start(&t.app, &t, &server(&dovecot.configured("ada", "tls", "INBOX")), fast());
        // The forged one is kept and moves nothing.
        dovecot.deliver("ada", &mail(5_000));
        let first = until_alerts(&t.app, 1).await;
        assert_eq!(first[0].status, AlertStatus::Quarantined);
        assert_eq!(t.payment(&payment).await.status, Status::Pending);
        dovecot.deliver("ada", &Signer::bank().sign(&mail(5_000)));
        until("the approval", || async {
            (t.payment(&payment).await.status == Status::Approved).then_some(())
        })
        .await;
        until_read(&t.app, 2).await;
    }

    async fn a_mail_is_taken_over_every_kind_of_connection_and_stays_unseen(db: TestDatabase) {
        let dovecot = Dovecot::start().await;
        let (t, _) = world(db).await;
        t.advance(LATER);
        for (n, tls) in ["tls", "starttls", "none"].into_iter().enumerate() {
            let login = format!("user{n}");
            dovecot.deliver(&login, &mail(1_000 + n as i64));
            let reading = Reading::start(&t.app, &t, &server(&dovecot.configured(&login, tls, "INBOX")), fast());
            until_alerts(&t.app, 2 * n + 1).await;
            // News while it waits.
            dovecot.deliver(&login, &mail(2_000 + n as i64));
            until_alerts(&t.app, 2 * n + 2).await;
            reading.end().await;
            let lines = dovecot.client(&login).await;
            let mut client = lines;
            client.ok("EXAMINE INBOX").await;
            let flags = client.ok("FETCH 1:* (FLAGS)").await;
            assert_eq!(flags.iter().filter(|line| line.contains("FETCH")).count(), 2, "{flags:?}");
            assert!(!flags.concat().contains("\\Seen"), "{flags:?}");
        }
        let all = alerts(&t.app).await;
        assert_once(&all);
        assert!(all[0].source.starts_with("imap localhost/INBOX"), "{}", all[0].source);
    }

    async fn after_a_restart_it_goes_on_where_it_ended(db: TestDatabase) {
        let dovecot = Dovecot::start().await;
        let (t, _) = world(db).await;
        t.advance(LATER);
        let server = server(&dovecot.configured("ada", "none", "INBOX"));
        for naira in 1..=5 {
            dovecot.deliver("ada", &mail(naira));
        }
        let reading = Reading::start(&t.app, &t, &server, fast());
        until_alerts(&t.app, 5).await;
        reading.end().await;
        for naira in 6..=8 {
            dovecot.deliver("ada", &mail(naira));
        }
        let node = t.another_node().await;
        let _reading = Reading::start(&node, &t, &server, fast());
        let all = until_alerts(&t.app, 8).await;
        assert_once(&all);
        until_read(&t.app, 8).await;
    }

    async fn a_folder_made_anew_is_read_again_and_known_mails_are_known(db: TestDatabase) {
        let dovecot = Dovecot::start().await;
        let (t, _) = world(db).await;
        t.advance(LATER);
        let mut client = dovecot.client("ada").await;
        let mails: Vec<String> = (1..=4).map(mail).collect();
        client.ok("CREATE Alerts").await;
        for mail in &mails[..3] {
            client.append("Alerts", mail).await;
        }
        let server = server(&dovecot.configured("ada", "starttls", "Alerts"));
        let reading = Reading::start(&t.app, &t, &server, fast());
        until_alerts(&t.app, 3).await;
        let before = until_read(&t.app, 3).await;
        reading.end().await;
        next_second().await;
        client.ok("DELETE Alerts").await;
        client.ok("CREATE Alerts").await;
        // In another order, with a new one in between.
        for mail in [&mails[2], &mails[3], &mails[0], &mails[1]] {
            client.append("Alerts", mail).await;
        }
        let reading = Reading::start(&t.app, &t, &server, fast());
        until("the new numbering is read", || async {
            let row = t.app.store.mailbox(before.id).await.unwrap().unwrap();
            (row.uidvalidity != before.uidvalidity && row.last_uid == 4 && row.since.is_none()).then_some(())
        })
        .await;
        assert_once(&until_alerts(&t.app, 4).await);
        reading.end().await;
        let row = t.app.store.mailbox(before.id).await.unwrap().unwrap();
        assert_eq!(row.generation, before.generation + 1);
        assert_eq!(t.app.store.taken_mails(row.id, row.generation, (1, 100)).await.unwrap().len(), 4);
    }

    async fn a_catch_up_by_date_leaves_older_mails_alone(db: TestDatabase) {
        let dovecot = Dovecot::start().await;
        let (t, _) = world(db).await;
        t.advance(LATER);
        let mut client = dovecot.client("ada").await;
        client.ok("CREATE Alerts").await;
        let append = |date: &str, mail: &str| format!("APPEND Alerts \"{date}\" {{{}+}}\r\n{mail}", mail.len());
        client.ok(&append("09-Mar-2026 10:00:00 +0100", &mail(1))).await;
        let server = server(&dovecot.configured("ada", "none", "Alerts"));
        let reading = Reading::start(&t.app, &t, &server, fast());
        let first = until_read(&t.app, 1).await;
        reading.end().await;
        next_second().await;
        client.ok("DELETE Alerts").await;
        client.ok("CREATE Alerts").await;
        client.ok(&append("01-Feb-2026 10:00:00 +0100", &mail(2))).await;
        client.ok(&append("08-Mar-2026 10:00:00 +0100", &mail(3))).await;
        let _reading = Reading::start(&t.app, &t, &server, fast());
        until_alerts(&t.app, 2).await;
        let row = until("the window is done with", || async {
            let row = t.app.store.mailbox(first.id).await.unwrap().unwrap();
            (row.generation > first.generation && row.last_uid == 2 && row.since.is_none()).then_some(row)
        })
        .await;
        assert_eq!(t.app.store.taken_mails(row.id, row.generation, (1, 9)).await.unwrap().len(), 1);
        assert_eq!(alerts(&t.app).await.len(), 2, "the old mail was before the window");
    }

    async fn a_mail_over_the_limit_is_kept_as_unreadable_and_holds_up_nothing(db: TestDatabase) {
        let dovecot = Dovecot::start().await;
        let (t, _) = world(db).await;
        t.advance(LATER);
        let mut client = dovecot.client("ada").await;
        let large = format!("{}{}", mail(1), "all work and no play\r\n".repeat(60_000));
        assert!(large.len() > tillbell::alert_reader::mime::MAX_MAIL_BYTES);
        client.append("INBOX", &mail(2)).await;
        client.append("INBOX", &large).await;
        client.append("INBOX", &mail(3)).await;
        let server = server(&dovecot.configured("ada", "tls", "INBOX"));
        let _reading = Reading::start(&t.app, &t, &server, fast());
        let all = until_alerts(&t.app, 3).await;
        until_read(&t.app, 3).await;
        let odd: Vec<_> = all.iter().filter(|a| a.status == AlertStatus::Unreadable).collect();
        assert_eq!(odd.len(), 1);
        let size = large.len().to_string();
        assert!(odd[0].reason.contains(&size) && odd[0].reason.contains("mail 2 of INBOX"), "{}", odd[0].reason);
        assert_eq!(odd[0].subject.as_deref(), Some("Transaction Notification"));
    }

    async fn a_burst_is_taken_whole_and_once(db: TestDatabase) {
        let dovecot = Dovecot::start().await;
        let (t, _) = world(db).await;
        t.advance(LATER);
        let server = server(&dovecot.configured("ada", "none", "INBOX"));
        dovecot.deliver("ada", &mail(1));
        let reading = Reading::start(&t.app, &t, &server, fast());
        until_alerts(&t.app, 1).await;
        for naira in 2..=1_000 {
            dovecot.deliver("ada", &mail(naira));
        }
        let all = until_alerts(&t.app, 1_000).await;
        assert_once(&all);
        until_read(&t.app, 1_000).await;
        reading.end().await;
        t.advance(Span::minutes(1));
    }
}
