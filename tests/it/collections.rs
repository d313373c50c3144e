//! Virtual accounts in a bank's own mails: the narration's digits name account, amount and day, and are believed only
//! where the rows say the same.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;
use tillbell::ops::merchants::accounts::NewAccount;

use crate::counted_once::is_open;
use crate::harness::app::{ACCOUNT, LATER, at, world};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;

const VIRTUAL: &str = "9012345678";

on_both! {
    async fn a_virtual_account_counts_only_where_amount_and_day_equal_the_rows(db: TestDatabase) {
        for (kobo, day, is_paid) in [
            ("500000", "20260310", true),
            ("500001", "20260310", false),
            ("5000000", "20260310", false),
            ("500000", "20260309", false),
            ("500000", "20260311", false),
            ("500000", "20250310", false),
        ] {
            let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
            let other = t.merchant("bolu.example").await;
            let behind_ours = t.new_account("gtbank", (0, 4), VIRTUAL, Some(other.id));
            t.add_account(&NewAccount { via: Some(ACCOUNT.into()), ..behind_ours }).await;
            let meant = t.create(&other, 5_000, "Halima Garba").await;
            let behind = t.create(&shop, 5_000, "Halima Garba").await;
            t.advance(LATER + Span::seconds(20));
            let alert = Alert { session: String::new(), ..Alert::credit(ACCOUNT, 5_000, "HALIMA GARBA", at()) };
            let narration = format!("{VIRTUAL}0198765432{kobo}{day}091000123 FROM HALIMA GARBA TO SQUAD");
            let mail = alert.text().replace("VIA GAPS PAYMENT FROM HALIMA GARBA", &narration);
            assert!(mail.contains(VIRTUAL));
            let taken = t.ingest(&mail).await;
            is_open(&t, &behind).await;
            if is_paid {
                assert_eq!(taken.status, AlertStatus::Matched, "{taken:?}");
                assert_eq!(t.payment(&meant).await.status, Status::Approved);
            } else {
                assert_eq!(taken.status, AlertStatus::Review, "{kobo} {day}: {taken:?}");
                assert!(taken.reason.contains("the amount or the day in the narration"), "{}", taken.reason);
                is_open(&t, &meant).await;
            }
        }
    }
}
