//! The one way in for mails: an alert and what its intake commits with it happen together.
//!
//! What a mail is worth by its origin and its proofs is tested in `forged`; this is about the door.

use tillbell::domain::time::Span;
use tillbell::mail_intake::ingest::{Arrival, MailIngestor, Origin, ingest};
use tillbell::ops::OpError;
use tillbell::store::tables::alerts;

use crate::harness::app::{ACCOUNT, LATER, at, world};
use crate::harness::mails::Alert;

on_both! {
    async fn a_mail_is_stored_with_the_steps_of_its_intake_or_not_at_all(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        let room = MailIngestor::new(&t.app.config, t.banks.clone());
        let mut arrival = Arrival {
            raw: Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()).text().into_bytes(),
            source: "imap mail.example/INBOX".into(),
            origin: Origin::File { trusted: true },
            with: vec![alerts::link(77, 76)],
        };
        // There is no alert 77: the step misses its row, and nothing may be left of the mail.
        let lost = ingest(&t.app, &room, arrival.clone()).await;
        assert!(matches!(lost, Err(OpError::Contended)), "{lost:?}");
        assert!(t.app.store.list_alerts(None, 10).await.unwrap().is_empty());
        arrival.with.clear();
        let first = ingest(&t.app, &room, arrival.clone()).await.unwrap().outcome;
        assert!(first.transaction_id.is_some(), "{first:?}");
        // A copy commits its steps as well: the cursor moves on.
        arrival.with = vec![alerts::link(first.alert_id, first.alert_id)];
        let copy = ingest(&t.app, &room, arrival).await.unwrap().outcome;
        let seen = t.app.store.alert(first.alert_id).await.unwrap().unwrap();
        assert!(copy.transaction_id.is_none() && seen.linked_alert_id == Some(first.alert_id));
    }
}
