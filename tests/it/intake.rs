//! The one way in for mails: an alert and what its intake commits with it happen together.
//!
//! What a mail is worth by its origin and its proofs is tested in `forged`; this is about the door.

use tillbell::domain::time::Span;
use tillbell::mail_intake::ingest::{Arrival, MailIngestor, Origin, ingest};
use tillbell::ops::OpError;
use tillbell::ops::mailboxes::{self, MailboxKey, TakenMail};

use crate::harness::app::{ACCOUNT, LATER, at, world};
use crate::harness::mails::Alert;

fn mail_of(mailbox_id: i64, uid: i64) -> TakenMail {
    TakenMail { mailbox_id, generation: 0, uid, arrived_at: at(), digest: [uid as u8; 32] }
}

on_both! {
    async fn a_mail_is_stored_with_its_place_in_the_mailbox_or_not_at_all(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        let key = MailboxKey {
            host: "mail.example".into(),
            port: 993,
            login: "till".into(),
            folder: "INBOX".into(),
        };
        let mailbox = mailboxes::configure(&t.app, &key, "INBOX").await.unwrap().id;
        let room = MailIngestor::new(&t.app.config, t.banks.clone());
        let mut arrival = Arrival {
            raw: Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()).text().into_bytes(),
            source: "imap mail.example/INBOX".into(),
            origin: Origin::File { trusted: true },
            in_mailbox: Some(mail_of(mailbox, 5)),
        };
        mailboxes::note_known(&t.app, &mail_of(mailbox, 5)).await.unwrap();
        // Another reader noted it as taken: nothing may be left of the mail.
        let lost = ingest(&t.app, &room, arrival.clone()).await;
        assert!(matches!(lost, Err(OpError::Contended)), "{lost:?}");
        assert!(t.app.store.list_alerts(None, 10).await.unwrap().is_empty());
        arrival.in_mailbox = None;
        let first = ingest(&t.app, &room, arrival.clone()).await.unwrap().outcome;
        assert!(first.transaction_id.is_some(), "{first:?}");
        // A copy is noted as taken as well: the reader moves on.
        arrival.in_mailbox = Some(mail_of(mailbox, 6));
        let copy = ingest(&t.app, &room, arrival).await.unwrap().outcome;
        let taken = mailboxes::taken_mails(&t.app, mailbox, 0, (1, 9)).await.unwrap();
        assert_eq!(taken.iter().map(|(uid, _)| *uid).collect::<Vec<_>>(), [5, 6]);
        assert!(copy.transaction_id.is_none(), "{copy:?}");
    }
}
