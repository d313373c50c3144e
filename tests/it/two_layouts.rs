//! Banks tell one transfer in two layouts, with two clocks, references and names; people forward a mail with another
//! account in it; a bank tells its own transfer again when its state changed. None of it pays twice or stays untold.

use tillbell::domain::alert::{AlertFacts, AlertStatus, BankTime, OTHER_STATE_ROW, TimePrecision};
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;
use tillbell::ops::alerts::decide::AlertOutcome;
use tillbell::ops::alerts::dismiss::dismiss_alert;
use tillbell::ops::alerts::find::open_alarms;
use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};
use tillbell::ops::alerts::take::take_alert;

use crate::counted_once::{PAYER, approve_on, approved, forwarded, is_open, told, told_again, two_open};
use crate::harness::app::{ACCOUNT, LATER, TestApp, at, world};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;
use crate::taken_back::{debit_of, take_back};

/// Requests that stay open for a month.
const A_MONTH: &str = "[server]\ndev = true\n[payments]\nexpiry = \"720h\"\n";

async fn take(t: &TestApp, mail: &Alert, change: impl FnOnce(&mut AlertFacts)) -> AlertOutcome {
    let mut taken = t.taken(&mail.text(), true);
    taken.facts.balance = None;
    change(&mut taken.facts);
    take_alert(&t.app, &taken).await.unwrap()
}

fn from(begin: Span, width: Span, precision: TimePrecision) -> Option<BankTime> {
    Some(BankTime { begin: at() + begin, end: at() + begin + width, precision })
}

type Change = fn(&mut AlertFacts);

on_both! {
    async fn a_transfer_that_two_layouts_tell_pays_once(db: TestDatabase) {
        let cases: [(&str, Change); 4] = [
            ("clock", |f| f.occurred = from(Span::seconds(2), Span::seconds(1), TimePrecision::Second)),
            ("reference", |f| f.reference = Some("S77008811".into())),
            ("name", |f| f.payer_name = Some("A REMARK OF HIS".into())),
            ("day", |f| f.occurred = from(Span::hours(-11), Span::seconds(11 * 3_600 - 10), TimePrecision::Day)),
        ];
        for (what, change) in cases {
            let (t, _, one, two) = two_open(TestDatabase::migrated(db.engine()).await).await;
            let bank = told(false);
            let first = take(&t, &bank, |f| f.reference = Some("FT0012345".into())).await;
            assert_eq!(first.status, AlertStatus::Matched, "{what}: {first:?}");
            let mail = told_again(&bank);
            let again = take(&t, &mail, |f| {
                f.template = Some("prose".into());
                change(f);
            });
            let again = again.await;
            assert_eq!(again.status, AlertStatus::Review, "{what}: {again:?}");
            let open = [t.payment(&one).await, t.payment(&two).await].iter().filter(|p| p.status == Status::Pending).count();
            assert_eq!(open, 1, "{what}");
        }
    }

    async fn a_placeholder_in_place_of_a_reference_makes_no_second_transfer(db: TestDatabase) {
        let (t, ..) = two_open(db).await;
        let bank = told(false);
        let first = take(&t, &bank, |f| f.reference = Some("NIL".into())).await;
        assert_eq!(first.status, AlertStatus::Matched, "{first:?}");
        let again = take(&t, &told_again(&bank), |f| f.reference = Some("FT0012345".into())).await;
        assert_eq!(again.status, AlertStatus::Review, "{again:?}");
    }

    async fn as_long_as_payments_are_open_a_transfer_is_told_again_or_taken_back(db: TestDatabase) {
        for is_back in [false, true] {
            let t = TestApp::start_with(TestDatabase::migrated(db.engine()).await, A_MONTH).await;
            let shop = t.merchant("aso-oke.example").await;
            t.account(ACCOUNT).await;
            t.create(&shop, 8_400, PAYER).await;
            t.create(&shop, 8_400, PAYER).await;
            t.advance(LATER + Span::seconds(20));
            let bank = told(false);
            if is_back {
                take_back(&t, &Alert { at: at() + Span::seconds(1), ..debit_of(&bank) }, None, None).await;
            } else {
                let first = take(&t, &bank, |f| f.occurred = None).await;
                assert_eq!(first.status, AlertStatus::Matched, "{first:?}");
            }
            t.advance(Span::days(8));
            let late = take(&t, &told_again(&bank), |f| f.occurred = f.occurred.filter(|_| is_back)).await;
            assert_eq!(late.status, AlertStatus::Review, "{is_back}: {late:?}");
            let why = if is_back { "may have taken this money back" } else { "may report the same money" };
            assert!(late.reason.contains(why), "{is_back}: {late:?}");
        }
    }

    async fn a_forward_that_shows_another_account_asks_for_a_reason(db: TestDatabase) {
        const OTHER: &str = "0123459826";
        let t = TestApp::start_with(db, A_MONTH).await;
        let shop = t.merchant("aso-oke.example").await;
        t.account(ACCOUNT).await;
        t.account(OTHER).await;
        let (one, two) = (t.create(&shop, 8_400, PAYER).await, t.create(&shop, 8_400, PAYER).await);
        assert_ne!(one.account_id, two.account_id, "a repeat gets another account");
        t.advance(LATER + Span::seconds(20));
        let accounts = t.app.directory.accounts().await.unwrap();
        let mask = |payment: &tillbell::domain::payment::Payment| {
            let number = &accounts.iter().find(|a| Some(a.id) == payment.account_id).unwrap().number;
            format!("******{}", &number[6..])
        };
        let bank = Alert { account: mask(&one), ..told(true) };
        let paid = t.ingest(&bank.text()).await;
        assert_eq!(paid.status, AlertStatus::Matched, "{paid:?}");
        assert_eq!(t.payment(&one).await.status, Status::Approved);
        for later in [Span(0), Span::days(10)] {
            t.advance(later);
            let edited = Alert {
                account: mask(&two),
                session: String::new(),
                message_id: format!("<edited.{}@gens.example>", later.0),
                ..bank.clone()
            };
            let forward = t.ingest(&forwarded(&edited.text())).await;
            let refused = approve_on(&t.app, forward.alert_id, &two, None).await.unwrap_err();
            assert!(refused.to_string().contains("may report the same money"), "{refused}");
            is_open(&t, &two).await;
        }
    }

    async fn a_reversal_of_the_banks_is_told_of_a_forward_that_shows_another_account(db: TestDatabase) {
        const OTHER: &str = "0123459826";
        let (t, _, one, two) = two_open(db).await;
        t.account(OTHER).await;
        let bank = told(true);
        let edited = Alert { account: format!("******{}", &OTHER[6..]), ..bank.clone() };
        let forward = t.ingest(&forwarded(&edited.text())).await;
        approved(&t, &forward, &one, Some("it is on the statement")).await;
        is_open(&t, &two).await;
        t.advance(Span::seconds(1));
        let back = Alert { at: at() + Span::seconds(9), ..debit_of(&bank) };
        let back = take_back(&t, &back, Some(&bank.session), None).await;
        assert_eq!(t.app.store.alarm_of(forward.alert_id).await.unwrap(), Some(back.alert_id));
    }

    async fn an_alarm_stays_open_when_a_later_one_is_dealt_with(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 5_200, "Halima Garba").await;
        t.advance(LATER);
        let credit = Alert::credit(ACCOUNT, 5_200, "Halima Garba", at());
        let first = t.ingest(&credit.text()).await;
        assert_eq!(first.status, AlertStatus::Matched, "{first:?}");
        let mut debits = Vec::new();
        for n in [3, 400] {
            let debit = Alert {
                at: at() + Span::seconds(n),
                balance: format!("{n}.00"),
                message_id: format!("<back.{n}@gens.example>"),
                ..debit_of(&credit)
            };
            debits.push(take_back(&t, &debit, None, None).await.alert_id);
        }
        let alarm = async || t.app.store.alarm_of(first.alert_id).await.unwrap();
        assert_eq!(alarm().await, Some(debits[0]));
        dismiss_alert(&t.app, debits[1], "ada", "our rent").await.unwrap().unwrap();
        assert_eq!(alarm().await, Some(debits[0]));
        assert_eq!(open_alarms(&t.app).await.unwrap().of_credit(first.alert_id), Some(debits[0]));
        let ask = Reverse {
            business_id: payment.business_id,
            transaction_id: &payment.transaction_id,
            reason: "the bank took it back",
            operator: "ada",
            undoing_alert: Some(debits[0]),
            despite: None,
        };
        reverse_payment(&t.app, &ask).await.unwrap().unwrap();
        assert_eq!(alarm().await, None);
    }

    async fn a_second_mail_that_tells_another_state_raises_the_alarm(db: TestDatabase) {
        let (t, _, one, two) = two_open(db).await;
        let bank = told(true);
        let first = t.ingest(&bank.text()).await;
        assert_eq!(first.status, AlertStatus::Matched, "{first:?}");
        let turned = take(&t, &told_again(&bank), |f| f.doubts.push(format!("{OTHER_STATE_ROW}: Reversed"))).await;
        assert_eq!(turned.status, AlertStatus::Review, "{turned:?}");
        assert_eq!(t.app.store.alarm_of(first.alert_id).await.unwrap(), Some(turned.alert_id));
        let open = [t.payment(&one).await, t.payment(&two).await];
        assert_eq!(open.iter().filter(|payment| payment.status == Status::Pending).count(), 1);
        dismiss_alert(&t.app, turned.alert_id, "ada", "the bank says it stands").await.unwrap().unwrap();
        assert_eq!(t.app.store.alarm_of(first.alert_id).await.unwrap(), None);
    }

    async fn a_mail_without_a_key_that_tells_another_state_raises_the_alarm_for_its_payer(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.create(&shop, 5_200, "Halima Garba").await;
        t.create(&shop, 5_200, "Musa Danladi").await;
        t.advance(LATER);
        let mut paid = Vec::new();
        for payer in ["Halima Garba", "Musa Danladi"] {
            let mail = Alert { session: String::new(), ..Alert::credit(ACCOUNT, 5_200, payer, at()) };
            let taken = take(&t, &mail, |_| ()).await;
            assert_eq!(taken.status, AlertStatus::Matched, "{taken:?}");
            paid.push((mail, taken.alert_id));
        }
        let later = Alert { at: at() + Span::seconds(240), ..told_again(&paid[0].0) };
        let turned = take(&t, &later, |f| f.doubts.push(format!("{OTHER_STATE_ROW}: Reversed"))).await;
        assert_eq!(turned.status, AlertStatus::Review, "{turned:?}");
        assert_eq!(t.app.store.alarm_of(paid[0].1).await.unwrap(), Some(turned.alert_id));
        assert_eq!(t.app.store.alarm_of(paid[1].1).await.unwrap(), None);
    }

    async fn one_reversal_that_is_told_twice_asks_before_it_undoes_a_second_payment(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let first = t.create(&shop, 5_200, "Halima Garba").await;
        let second = t.create(&shop, 5_200, "Musa Danladi").await;
        t.advance(LATER);
        let credits = ["Halima Garba", "Musa Danladi"].map(|payer| Alert::credit(ACCOUNT, 5_200, payer, at()));
        for credit in &credits {
            let taken = t.ingest(&credit.text()).await;
            assert_eq!(taken.status, AlertStatus::Matched, "{taken:?}");
        }
        let debit = |n: i64| Alert {
            at: at() + Span::seconds(20 + n),
            payer: "A SETTLEMENT".into(),
            message_id: format!("<back.{n}@gens.example>"),
            ..debit_of(&credits[0])
        };
        let mut told = Vec::new();
        for n in [0, 2] {
            let mut taken = t.taken(&debit(n).text(), true);
            taken.facts.balance = None;
            told.push(take_alert(&t.app, &taken).await.unwrap().alert_id);
        }
        let ask = |payment: &tillbell::domain::payment::Payment, alert, despite| {
            let (business_id, transaction_id) = (payment.business_id, payment.transaction_id.clone());
            let app = t.app.clone();
            async move {
                let ask = Reverse {
                    business_id,
                    transaction_id: &transaction_id,
                    reason: "the bank took it back",
                    operator: "ada",
                    undoing_alert: Some(alert),
                    despite,
                };
                reverse_payment(&app, &ask).await.unwrap()
            }
        };
        ask(&first, told[0], Some("the statement says so")).await.unwrap();
        let refused = ask(&second, told[1], None).await.unwrap_err();
        assert!(refused.to_string().contains("may report the same debit"), "{refused}");
    }
}

on_both! {
    async fn a_layout_that_nobody_knows_is_unreadable_where_it_tells_of_money(db: TestDatabase) {
        let (t, _) = world(db).await;
        for (n, text) in [
            "Acct: 012****417\nAmt: NGN5,000.00 CR\nDesc: NIP ADA OBI\nBal: NGN9,100.00",
            "NGN 5,000.00 paid by ADA OBI was reversed.",
            "You got NGN 5,000.00 from ADA OBI",
            "Recall: NGN5,000.00 removed from your account.",
            "NGN 5,000.00 from ADA OBI is now in your account 0123454417.",
            "Inflow of NGN 5,000.00 received from ADA OBI.",
            "NGN 5,000.00 paid to you by ADA OBI. Ref 1234567",
            "ADA OBI paid you NGN 5,000.00",
            "NGN 5,000.00 lien placed on your account 0123454417",
        ]
        .into_iter()
        .enumerate()
        {
            for footer in ["", "Never disclose your PIN, password or OTP to anyone."] {
                let mail = format!(
                    "From: GeNS@gtbank.com\r\nTo: alerts@till.example\r\nSubject: Transaction Notification\r\n\
                     Date: Tue, 10 Mar 2026 12:00:00 +0100\r\nMessage-ID: <odd.{n}.{}@gens.example>\r\n\r\n{text}\n{footer}\r\n",
                    footer.len()
                );
                assert_eq!(t.arrived(&mail).await.status, AlertStatus::Unreadable, "{text} {footer}");
            }
        }
        let code = "From: GeNS@gtbank.com\r\nTo: alerts@till.example\r\nSubject: Security\r\n\
                    Date: Tue, 10 Mar 2026 12:00:00 +0100\r\nMessage-ID: <code@gens.example>\r\n\r\n\
                    Your OTP is 447120. It confirms your card payment of NGN 5,000.00.\r\n";
        assert_eq!(t.arrived(code).await.status, AlertStatus::Ignored);
    }
}
