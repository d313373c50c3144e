//! Several nodes and one mailbox: one of them reads it, another takes over when that one is gone.

use std::time::Duration;

use tillbell::mail_intake::imap::Timings;
use tillbell::ops::mailboxes;

use super::{Reading, assert_once, fast, mail, server, until, until_alerts, until_read};
use crate::harness::app::{LATER, world};
use crate::harness::imap_server::{FakeServer, Folder};

/// Sixty beats of the one that lives: so many are not missed on a busy machine either.
const TAKE_OVER: Duration = Duration::from_secs(3);

on_both! {
    async fn of_two_nodes_one_reads_and_the_other_takes_over(db: TestDatabase) {
        let (t, _) = world(db).await;
        t.advance(LATER);
        let fake = FakeServer::start(Folder::default()).await;
        let server = server(&fake.configured());
        let other = t.another_node().await;
        let first = Reading::start(&t.app, &t, &server, fast());
        until("the first one is connected", || async { (fake.folder().connections == 1).then_some(()) }).await;
        let watching = Timings { take_over: TAKE_OVER, ..fast() };
        let second = Reading::start(&other, &t, &server, watching);
        for naira in 1..=20 {
            fake.folder().add(&mail(naira));
        }
        until_alerts(&t.app, 20).await;
        // For longer than a take-over would need.
        tokio::time::sleep(2 * TAKE_OVER).await;
        assert_eq!(fake.folder().connections, 1, "a second reader came although the first one lives");
        drop(first); // dies without a word
        fake.folder().add(&mail(21));
        assert_once(&until_alerts(&t.app, 21).await);
        let row = until_read(&t.app, 21).await;
        // Given back in order it is free at once, however long a take-over would take.
        second.end().await;
        let patient = Timings { take_over: Duration::from_secs(3_600), ..fast() };
        let third = Reading::start(&t.app, &t, &server, patient);
        fake.folder().add(&mail(22));
        until_alerts(&t.app, 22).await;
        third.end().await;
        assert_eq!(t.app.store.mailbox(row.id).await.unwrap().unwrap().reader, None);
    }

    async fn who_was_fenced_out_changes_nothing_and_stores_nothing_twice(db: TestDatabase) {
        let (t, _) = world(db).await;
        t.advance(LATER);
        let fake = FakeServer::start(Folder::default()).await;
        let key = tillbell::store::tables::mailboxes::MailboxKey {
            host: "127.0.0.1".into(),
            port: fake.address.port(),
            login: "till".into(),
            folder: "INBOX".into(),
        };
        let row = mailboxes::configure(&t.app, &key, "till").await.unwrap();
        let stale = mailboxes::claim(&t.app, &row, "one").await.unwrap().expect("nobody else");
        assert_eq!(mailboxes::claim(&t.app, &row, "two").await.unwrap(), None, "claimed on an old row");
        let row = t.app.store.mailbox(row.id).await.unwrap().unwrap();
        assert!(mailboxes::beat(&t.app, stale).await.unwrap());
        assert_eq!(mailboxes::claim(&t.app, &row, "two").await.unwrap(), None, "claimed past a beat");
        let row = t.app.store.mailbox(row.id).await.unwrap().unwrap();
        let fresh = mailboxes::claim(&t.app, &row, "two").await.unwrap().expect("no beat since");
        let to = mailboxes::Progress { generation: 1, last_uid: 9, behind: 0, last_mail: None };
        assert!(!mailboxes::move_on(&t.app, stale, to).await.unwrap());
        assert!(!mailboxes::beat(&t.app, stale).await.unwrap());
        assert!(!mailboxes::read_to_its_end(&t.app, stale, t.app.now()).await.unwrap());
        assert!(mailboxes::move_on(&t.app, fresh, to).await.unwrap());
        let back = mailboxes::Progress { last_uid: 8, ..to };
        assert!(!mailboxes::move_on(&t.app, fresh, back).await.unwrap(), "the mark went back");
    }

    async fn two_readers_at_the_same_moment_store_each_mail_once(db: TestDatabase) {
        const MAILS: i64 = 20;
        /// Readers that are thrown out before they have stored a mail come no further: so often is enough.
        const TAKE_OVERS: usize = 40;
        let (t, _) = world(db).await;
        t.advance(LATER);
        let fake = FakeServer::start(Folder::default()).await;
        for naira in 1..=MAILS {
            fake.folder().add(&mail(naira));
        }
        let server = server(&fake.configured());
        let other = t.another_node().await;
        // Both believe that the other one is dead, again and again.
        let hasty = Timings { take_over: Duration::from_millis(1), beat: Duration::from_millis(3), ..fast() };
        let readings = [Reading::start(&t.app, &t, &server, hasty), Reading::start(&other, &t, &server, hasty)];
        until("take-overs, or all mails", || async {
            let is_read = super::alerts(&t.app).await.len() >= MAILS as usize;
            (is_read || fake.folder().connections >= TAKE_OVERS).then_some(())
        })
        .await;
        drop(readings);
        let patient = Reading::start(&t.app, &t, &server, fast());
        until_read(&t.app, MAILS).await;
        patient.end().await;
        assert_once(&until_alerts(&t.app, MAILS as usize).await);
    }
}
