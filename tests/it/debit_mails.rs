//! The bank's debit mail, from its bytes: its narration carries the session id of the credit that it takes back.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::payment::{Payment, Status};
use tillbell::domain::time::Span;
use tillbell::ops::alerts::approve::ApproveRefused;

use crate::counted_once::{approve_on, approved, forwarded, is_open, told, two_open};
use crate::harness::app::{ACCOUNT, LATER, TestApp, world};
use crate::harness::databases::TestDatabase;
use crate::harness::logs::Logs;
use crate::harness::mails::Alert;
use crate::taken_back::alert;

const NAIRA: i64 = 5_650;
const PAYERS: [&str; 6] =
    ["Ebiere Alagoa", "Tonye Briggs", "Preye Cookey", "Boma Dokubo", "Timi Graham", "Dein Horsfall"];

/// The debit that takes a credit back, with its session id and nobody's name.
pub fn back(credit: &Alert) -> Alert {
    Alert {
        direction: "DEBIT",
        message_id: format!("<back.{}", &credit.message_id[1..]),
        payer: "RETURN".into(),
        at: credit.at + Span::minutes(3),
        ..credit.clone()
    }
}

on_both! {
    async fn a_debit_mail_finds_its_one_of_several_credits_by_the_session_id(db: TestDatabase) {
        for prefix in ["", "RVSL "] {
            let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
            let mut paid: Vec<(Alert, i64, Payment)> = Vec::new();
            for payer in PAYERS {
                let payment = t.create(&shop, NAIRA, payer).await;
                t.advance(LATER);
                let credit = Alert::credit(ACCOUNT, NAIRA, payer, t.app.now() - Span::seconds(9));
                let taken = t.ingest(&credit.text()).await;
                assert_eq!(taken.status, AlertStatus::Matched, "{taken:?}");
                paid.push((credit, taken.alert_id, payment));
            }
            t.advance(LATER);
            let (credit, credited, _) = &paid[2];
            let mail = back(credit).text().replace(&credit.session, &format!("{prefix}{}", credit.session));
            let debit = t.ingest(&mail).await;
            assert_eq!(debit.status, AlertStatus::Ignored, "{debit:?}");
            for (_, id, payment) in &paid {
                let expected = (id == credited).then_some(debit.alert_id);
                assert_eq!(alert(&t, *id).await.linked_alert_id, expected, "{prefix}");
                assert_eq!(t.payment(payment).await.status, Status::Approved, "nothing is reversed by itself");
            }
        }
    }

    async fn the_reversal_of_an_approved_forward_raises_the_alarm(db: TestDatabase) {
        let (t, shop, one, _) = two_open(db).await;
        let bank = told(true);
        let forward = t.ingest(&forwarded(&bank.text())).await;
        assert_eq!(forward.status, AlertStatus::Review, "{forward:?}");
        approved(&t, &forward, &one, None).await;
        t.advance(Span::hours(3));
        let logs = Logs::keep();
        let debit = t.ingest(&back(&bank).text()).await;
        let said = logs.text();
        let alarm = said.lines().find(|line| line.contains("ALARM: a debit or reversal")).unwrap();
        for part in [
            format!("credit={} undoing={}", forward.alert_id, debit.alert_id),
            format!("transaction_id=\"{}\" business={}", one.transaction_id, shop.id),
        ] {
            assert!(alarm.contains(&part), "{part}: {alarm}");
        }
        assert_eq!(alert(&t, forward.alert_id).await.linked_alert_id, Some(debit.alert_id));
    }

    async fn a_forward_whose_reversal_came_first_is_not_approved_by_oversight(db: TestDatabase) {
        let (t, _, one, _) = two_open(db).await;
        let bank = told(true);
        t.advance(Span::minutes(5));
        let debit = t.ingest(&back(&bank).text()).await;
        assert_eq!(debit.status, AlertStatus::Ignored, "{debit:?}");
        t.advance(Span::minutes(5));
        let forward = t.ingest(&forwarded(&bank.text())).await;
        assert_eq!(forward.status, AlertStatus::Review, "{forward:?}");
        let Err(ApproveRefused::Obstacles(told)) = approve_on(&t.app, forward.alert_id, &one, None).await else {
            panic!("approved by oversight")
        };
        let expected = format!("alert {} may have taken this money back", debit.alert_id);
        assert!(told.contains(&expected), "{told:?}");
        is_open(&t, &one).await;
        approved(&t, &forward, &one, Some("the bank sent it once more")).await;
    }

    async fn a_debit_that_is_told_to_two_addresses_is_heard_at_its_own(db: TestDatabase) {
        const OWN: &str = "own-7f3k@till.example";
        let settings = format!(
            "[server]\ndev = true\n[mail]\nrecipients = [\"alerts@till.example\", \"{OWN} {ACCOUNT}\"]\n"
        );
        let t = TestApp::start_with(db, &settings).await;
        let shop = t.merchant("adire.example").await;
        t.account(ACCOUNT).await;
        let payment = t.create(&shop, NAIRA, PAYERS[0]).await;
        t.advance(LATER);
        let credit = Alert::credit(ACCOUNT, NAIRA, PAYERS[0], t.app.now() - Span::seconds(9));
        let to_its_own = |mail: String| mail.replace("To: alerts@till.example", &format!("To: {OWN}"));
        let paid = t.ingest(&to_its_own(credit.text())).await;
        assert_eq!(paid.status, AlertStatus::Matched, "{paid:?}");
        t.advance(LATER);
        // One bank's mail to both, as like as two copies are.
        let stray = t.ingest(&back(&credit).text()).await;
        assert_eq!((stray.status, alert(&t, paid.alert_id).await.linked_alert_id), (AlertStatus::Ignored, None), "{stray:?}");
        let heard = t.ingest(&to_its_own(back(&credit).text())).await;
        assert_eq!(heard.status, AlertStatus::Ignored, "{heard:?}");
        assert_eq!(alert(&t, paid.alert_id).await.linked_alert_id, Some(heard.alert_id));
        assert_eq!(t.payment(&payment).await.status, Status::Approved, "nothing is reversed by itself");
    }
}
