//! Virtual accounts in a bank's own mails: the narration's digits name account, amount and day, and are believed only
//! where the rows say the same.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::payment::Status;
use tillbell::domain::time::{Span, Timestamp};
use tillbell::ops::merchants::accounts::NewAccount;

use crate::counted_once::is_open;
use crate::harness::app::{ACCOUNT, LATER, at, world};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;

const VIRTUAL: &str = "9012345678";

/// At Zenith, whose template knows no form of collections.
const SETTLEMENT: &str = "2381234209";

/// A credit of 5,000 to [`SETTLEMENT`], at [`at`], as Zenith tells it in text.
fn of_zenith(narration: &str) -> String {
    let moment = jiff::Timestamp::from_microsecond(at().0)
        .unwrap()
        .to_zoned(jiff::tz::TimeZone::fixed(jiff::tz::offset(1)));
    format!(
        "From: alerts@zenithbank.com\r\nTo: till@adire.example\r\nSubject: CREDIT TRANSACTION NOTIFICATION\r\n\
         Date: {}\r\nMessage-ID: <1@zenithbank.com>\r\nMIME-Version: 1.0\r\n\
         Content-Type: text/plain; charset=utf-8\r\n\r\n{}\r\nAccount Number\t238****209\r\n\
         Date of Transaction\t{}\r\nAmount\t5,000.00\r\nCurrency\tNGN\r\nDescription\t{narration}\r\n\
         Reference Code\t\r\nBranch\tWUSE\r\nTransaction Type\tCREDIT\r\nAvailable Balance\t156,183.27\r\n",
        moment.strftime("%a, %d %b %Y %H:%M:%S %z"),
        moment.strftime("%A, %B %-d, %Y %I:%M:%S %p"),
        moment.strftime("%d/%m/%Y"),
    )
}

/// A credit of 5,000 to [`VIRTUAL`], at [`at`], as its own bank tells it.
fn of_wema(payer: &str) -> String {
    let zone = jiff::tz::TimeZone::fixed(jiff::tz::offset(1));
    let moment = jiff::Timestamp::from_microsecond(at().0).unwrap().to_zoned(zone);
    let (date, time) = (moment.strftime("%a, %d %b %Y %H:%M:%S %z"), moment.strftime("%d-%m-%Y %H:%M:%S"));
    format!(
        "From: alerts@wemabank.com\r\nTo: till@adire.example\r\nSubject: Transaction Notification\r\nDate: {date}\r\n\
         Message-ID: <1@wemabank.com>\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n\
         | {time} Dear TILL AND BELL LTD We wish to inform you that a Credit transaction recently occurred on your \
         bank account. |\r\n| Transaction Details - Credit |\r\n| Account Number | : | 9012****78 |\r\n\
         | Account Name | : | TILL AND BELL LTD |\r\n| Description | : | NIP:{payer}- seed |\r\n\
         | Reference Number | : | S55667788 |\r\n| Transaction Amount | : | 5,000.00 NGN |\r\n\
         | Transaction Date & Time: | : | {time} |\r\n"
    )
}

/// The same as the bank behind it tells that it was settled, with its own time.
fn settlement_of(payer: &str, moment: Timestamp) -> String {
    let alert = Alert { session: String::new(), ..Alert::credit(ACCOUNT, 5_000, payer, moment) };
    let narration = format!("{VIRTUAL}019876543250000020260310091000123 FROM {payer} TO SQUAD");
    alert.text().replace(&format!("VIA GAPS PAYMENT FROM {payer}"), &narration)
}

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

    async fn where_a_banks_mails_do_not_tell_collections_none_is_believed_to_be_no_collection(db: TestDatabase) {
        for (is_settled_through, status) in [(true, AlertStatus::Review), (false, AlertStatus::Matched)] {
            let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
            let other = t.merchant("bolu.example").await;
            let settlement = t.add_account(&t.new_account("zenith", (3, 3), SETTLEMENT, Some(shop.id))).await;
            let behind = t.new_account("gtbank", (0, 4), VIRTUAL, Some(other.id));
            let via = if is_settled_through { SETTLEMENT } else { ACCOUNT };
            t.add_account(&NewAccount { via: Some(via.into()), ..behind }).await;
            let meant = t.create(&other, 5_000, "Halima Garba").await;
            let bait = t.create(&shop, 5_000, "Garba Halima").await;
            assert_eq!(bait.account_id, Some(settlement));
            t.advance(LATER + Span::seconds(20));
            let taken = t.ingest(&of_zenith("NIP/WEMA/HALIMA GARBA/POS")).await;
            assert_eq!(taken.status, status, "{taken:?}");
            is_open(&t, &meant).await;
            if is_settled_through {
                assert!(taken.reason.contains("virtual accounts settle through this account"), "{}", taken.reason);
                is_open(&t, &bait).await;
            }
        }
    }

    async fn what_both_banks_of_a_virtual_account_tell_hours_apart_pays_once(db: TestDatabase) {
        let (t, _) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let behind_ours = t.new_account("wema", (0, 4), VIRTUAL, Some(other.id));
        t.add_account(&NewAccount { via: Some(ACCOUNT.into()), ..behind_ours }).await;
        let payments = [t.create(&other, 5_000, "Halima Garba").await, t.create(&other, 5_000, "Halima Garba").await];
        t.advance(LATER + Span::seconds(20));
        let first = t.ingest(&of_wema("HALIMA GARBA")).await;
        assert_eq!(first.status, AlertStatus::Matched, "{first:?}");
        t.advance(Span::hours(3));
        let settled = settlement_of("HALIMA GARBA", at() + Span::hours(3));
        let again = t.ingest(&settled).await;
        assert_eq!(again.status, AlertStatus::Review, "{again:?}");
        assert!(again.reason.contains(&format!("alert {}", first.alert_id)), "{again:?}");
        let mut open = 0;
        for payment in &payments {
            open += usize::from(t.payment(payment).await.status == Status::Pending);
        }
        assert_eq!(open, 1);
        // Another payer's money is other money.
        let musa = t.create(&other, 5_000, "Musa Danladi").await;
        t.advance(LATER);
        let taken = t.ingest(&settlement_of("MUSA DANLADI", t.app.now() - Span::seconds(5))).await;
        assert_eq!(taken.status, AlertStatus::Matched, "{taken:?}");
        assert_eq!(t.payment(&musa).await.status, Status::Approved);
    }
}
