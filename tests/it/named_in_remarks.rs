//! What a payer types beside his own name: whose customer it names, and what a debit that repeats it says.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::payment::{Payment, Status};
use tillbell::domain::time::Span;
use tillbell::domain::user::MemberRole;
use tillbell::ops::alerts::approve::ApproveRefused;
use tillbell::ops::alerts::decide::AlertOutcome;
use tillbell::ops::alerts::take::take_alert;
use tillbell::ops::payouts::export::export_payouts;

use crate::another_merchant::crowd;
use crate::counted_once::approve_on;
use crate::harness::app::{ACCOUNT, LATER, Merchant, TestApp, world};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;
use crate::payouts::world::{GIVEN, OWNER, ask_for, member, ready_account};
use crate::taken_back::alert;

/// A mail with something before the payer in its narration, and something in its row of remarks.
fn typed(mail: &str, narration: &str, remarks: &str) -> String {
    let mail = match narration {
        "" => mail.to_owned(),
        text => mail.replace("-TRANSFER-", &format!("-{text}-")),
    };
    mail.replace(
        "<td>Remarks</td><td>:</td><td></td>",
        &format!("<td>Remarks</td><td>:</td><td>{remarks}</td>"),
    )
}

fn credit(t: &TestApp, naira: i64, payer: &str) -> Alert {
    Alert::credit(ACCOUNT, naira, payer, t.app.now() - Span::seconds(20))
}

/// The bank's mail of a debit with such a narration.
fn debit(t: &TestApp, naira: i64, narration: &str) -> String {
    Alert { direction: "DEBIT", session: String::new(), ..credit(t, naira, narration) }.text()
}

/// The same credit of a bank that cuts its narration off there.
pub async fn cut_off(t: &TestApp, mail: &str, narration: &str) -> AlertOutcome {
    let mut taken = t.taken(mail, true);
    taken.facts.narration = Some(narration.to_owned());
    taken.facts.narration_cut = true;
    take_alert(&t.app, &taken).await.unwrap()
}

async fn paid(
    t: &TestApp,
    shop: &Merchant,
    naira: i64,
    payer: &str,
    mail: impl Fn(&str) -> String,
) -> (Payment, i64) {
    let payment = t.create(shop, naira, payer).await;
    t.advance(LATER);
    let outcome = t.ingest(&mail(&credit(t, naira, payer).text())).await;
    assert_eq!(outcome.status, AlertStatus::Matched, "{outcome:?}");
    (payment, outcome.alert_id)
}

on_both! {
    async fn money_that_names_anothers_customer_is_nobodys_by_itself(db: TestDatabase) {
        let cases = [
            (0, "Ngozi Umeadi", 7_000, "ORDER OF NGOZI UMEADI", "", true),
            (12, "Ngozi Umeadi", 7_000, "ORDER OF NGOZI UMEADI", "", true),
            (0, "Mrs Ngozi Chidinma Umeadi", 7_000, "FOR NGOZI UMEADI", "", true),
            (12, "Ngozi Umeadi order 12", 7_050, "FOR UMEADI NGOZI", "", true),
            // Between signs, or in another row.
            (12, "Ngozi Umeadi", 7_000, "UMEADI, NGOZI ADA", "", true),
            (0, "Ngozi Umeadi", 7_000, "NGOZI/UMEADI", "", true),
            (12, "Ngozi Umeadi", 7_000, "TRANSFER", "for Ngozi Umeadi", true),
            (0, "Fidelity Okafor", 7_000, "FIDELITY OKAFOR", "", true),
            (12, "Ngozi Umeadi", 7_000, "UMEADI, (NGOZI)", "", true),
            (12, "Ngozi Umeadi", 7_000, "UMEADI//0803/NGOZI", "", true),
            (0, "Ngozi Umeadi", 7_000, "", "INV12NGOZI UMEADI08031234567", true),
            // Words that banks and payers write are names as well.
            (0, "Job Okafor", 7_000, "JOB OKAFOR", "", true),
            (12, "Ada Rice", 7_000, "ORDER OF ADA RICE", "", true),
            (0, "Ngozi Light", 7_000, "LIGHT/NGOZI", "", true),
            (0, "School Fees", 7_000, "SCHOOL FEES", "", false),
            (0, "Yusuf Rent", 7_000, "RENT OF YUSUF", "", false),
            // The shop that is paid pays nobody.
            (0, "Bolu Example", 7_000, "FOR BOLU EXAMPLE", "", false),
            // One word is anybody's, and so are those that banks write, and the account's holder.
            (0, "Ngozi Umeadi", 7_000, "ORDER OF NGOZI", "", false),
            (12, "Ngozi Umeadi", 7_000, "ORDER OF NGOZI", "", false),
            (0, "Transfer Order", 7_000, "TRANSFER ORDER", "", false),
            (0, "Kip Zenith", 7_000, "KIP ZENITH", "", false),
            (12, "Banknip Payref", 7_000, "BANKNIP FROM PAYREF", "", false),
            (0, "Till Bell", 7_000, "TO TILL AND BELL LTD", "", false),
            (0, "Ngozi Umeadi", 9_000, "ORDER OF NGOZI UMEADI", "", false),
        ];
        for (others, name, naira, narration, remarks, is_asked) in cases {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let taker = t.merchant("bolu.example").await;
            let theirs = t.create(&victim, naira, name).await;
            t.create(&taker, 7_000, "Sani Yusuf").await;
            crowd(&t, &taker, 7_000, others, "Zubair").await;
            t.advance(LATER);
            let paid = t.ingest(&typed(&credit(&t, 7_000, "Sani Yusuf").text(), narration, remarks)).await;
            let expected = if is_asked { AlertStatus::Review } else { AlertStatus::Matched };
            assert_eq!(paid.status, expected, "{others} others, {name}, {narration} {remarks}: {paid:?}");
            assert_eq!(paid.reason.contains(&format!("{:?}", theirs.transaction_id)), is_asked, "{paid:?}");
        }
    }

    async fn money_that_names_anothers_customer_on_another_account_is_nobodys_by_itself(db: TestDatabase) {
        // Exactly the amount, and open: what else is asked for elsewhere is not this money.
        for (naira, told, is_asked) in [(7_000, "FOR NGOZI UMEADI", true), (7_050, "FOR NGOZI UMEADI", false), (7_000, "FOR NGOZI", false)] {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let taker = t.merchant("bolu.example").await;
            let own = t.create(&taker, 7_000, "Lagos Remit Ltd").await;
            t.account("0123458801").await;
            let theirs = t.create(&victim, naira, "Ngozi Umeadi").await;
            assert_ne!(own.account_id, theirs.account_id);
            t.advance(LATER);
            let paid = t.ingest(&typed(&credit(&t, 7_000, "Lagos Remit Ltd").text(), told, "")).await;
            assert_eq!(paid.status == AlertStatus::Review, is_asked, "{naira} {told}: {paid:?}");
            assert_eq!(paid.reason.contains(&format!("{:?}", theirs.transaction_id)), is_asked, "{paid:?}");
        }
    }

    async fn a_collectors_money_is_asked_about_whatever_the_shop_is_called(db: TestDatabase) {
        for (payer, expected) in [
            ("Lagos Remit Ltd", AlertStatus::Review),
            ("Flutterwave Payouts", AlertStatus::Review),
            ("Sani Yusuf", AlertStatus::Matched),
        ] {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let taker = t.merchant("ngozi.umeadi.example").await;
            t.create(&victim, 7_000, "Ngozi Umeadi").await;
            t.create(&taker, 7_000, payer).await;
            t.advance(LATER);
            let paid = t.ingest(&typed(&credit(&t, 7_000, payer).text(), "FOR NGOZI UMEADI", "")).await;
            assert_eq!(paid.status, expected, "{payer}: {paid:?}");
        }
    }

    async fn what_the_bank_cuts_off_of_payer_and_holder_names_nobody_else(db: TestDatabase) {
        for (name, narration) in [
            ("Olive Bellama", "NIP TRANSFER TO OLIVE PARK AND BELL"),
            ("Till Belleh", "NIP TRANSFER TO TILL AND BELL"),
            ("Sani Yunusa", "FIP:OPAY/SANI YUSUF/TRANSFER FROM SANI Y"),
        ] {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let taker = t.merchant("bolu.example").await;
            t.create(&victim, 7_000, name).await;
            t.create(&taker, 7_000, "Sani Yusuf").await;
            t.advance(LATER);
            let paid = cut_off(&t, &credit(&t, 7_000, "Sani Yusuf").text(), narration).await;
            assert_eq!(paid.status == AlertStatus::Review, name == "Olive Bellama", "{narration}: {paid:?}");
        }
    }

    async fn a_name_that_the_bank_cuts_off_is_anothers_customer_all_the_same(db: TestDatabase) {
        for (others, narration, is_asked) in
            [(0, "FIP:OPAY/SANI YUSUF/NGOZI UMEA", true), (12, "FIP:OPAY/SANI YUSUF/NGOZI U", true), (0, "FIP:OPAY/SANI YUSUF/NGOZI", false)]
        {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let taker = t.merchant("bolu.example").await;
            t.create(&victim, 7_000, "Ngozi Umeadi").await;
            t.create(&taker, 7_000, "Sani Yusuf").await;
            crowd(&t, &taker, 7_000, others, "Zubair").await;
            t.advance(LATER);
            let paid = cut_off(&t, &credit(&t, 7_000, "Sani Yusuf").text(), narration).await;
            assert_eq!(paid.status == AlertStatus::Review, is_asked, "{others} {narration}: {paid:?}");
        }
    }

    async fn a_narration_that_names_another_customer_of_the_shop_goes_to_a_person(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let theirs = t.create(&shop, 7_000, "Ngozi Umeadi").await;
        t.create(&shop, 7_000, "Sani Yusuf").await;
        t.advance(LATER);
        let paid = t.ingest(&typed(&credit(&t, 7_000, "Sani Yusuf").text(), "FOR NGOZI UMEADI", "")).await;
        assert_eq!(paid.status, AlertStatus::Review, "{paid:?}");
        assert!(paid.reason.contains(&format!("names the payer of payment {:?}", theirs.transaction_id)), "{paid:?}");
    }

    async fn who_approves_is_told_whom_the_narration_names(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let taker = t.merchant("bolu.example").await;
        let theirs = t.create(&victim, 7_000, "Ngozi Umeadi").await;
        // A close name waits for a person, who is told of nothing else.
        let mine = t.create(&taker, 7_000, "Sani").await;
        t.advance(LATER);
        let mail = typed(&credit(&t, 7_000, "Sani Yusuf").text(), "FOR NGOZI UMEADI", "");
        let waits = t.ingest(&mail).await;
        assert_eq!(waits.status, AlertStatus::Review, "{waits:?}");
        let refused = approve_on(&t.app, waits.alert_id, &mine, None).await;
        let Err(ApproveRefused::Obstacles(told)) = refused else { panic!("{refused:?}") };
        let expected = format!("the narration names the payer of another beneficiary's payment {:?}", theirs.transaction_id);
        assert!(told.iter().any(|one| one.starts_with(&expected)), "{told:?}");
        // Onto theirs it is no obstacle.
        let Err(ApproveRefused::Obstacles(told)) = approve_on(&t.app, waits.alert_id, &theirs, None).await else {
            panic!("another payer's name")
        };
        assert!(!told.iter().any(|one| one.contains("narration names")), "{told:?}");
        assert_eq!(t.payment(&theirs).await.status, Status::Pending);
    }

    async fn a_debit_that_repeats_a_remark_holds_whoever_typed_it(db: TestDatabase) {
        // Beside the narration, where the credit's mail shows it, or cut off there.
        for how in ["narration", "remarks", "cut", "stump", "half"] {
            let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
            let thief = t.merchant("bolu.example").await;
            let owner = member(&t, &thief, OWNER, MemberRole::Owner).await;
            let account = ready_account(&t, &thief, owner, &GIVEN).await;
            let (_, honest) = paid(&t, &shop, 8_400, "Ngozi Umeadi", str::to_owned).await;
            let mut own = Vec::new();
            for _ in 0..4 {
                let payment = t.create(&thief, 8_400, "Sani Lawal").await;
                t.advance(LATER);
                let mail = credit(&t, 8_400, "Sani Lawal").text();
                let outcome = match how {
                    "narration" => t.ingest(&typed(&mail, "GIFT OF NGOZI UMEADI", "")).await,
                    "remarks" => t.ingest(&typed(&mail, "", "GIFT OF NGOZI UMEADI")).await,
                    "stump" => cut_off(&t, &mail, "FIP:OPAY/SANI LAWAL/GIFT OF NGOZI UM").await,
                    "half" => cut_off(&t, &mail, "FIP:OPAY/SANI LAWAL/GIFT OF NGOZI").await,
                    _ => cut_off(&t, &mail, "FIP:OPAY/SANI LAWAL/GIFT OF NGOZI UMEA").await,
                };
                assert_eq!(outcome.status, AlertStatus::Matched, "{how}: {outcome:?}");
                own.push((payment, outcome.alert_id));
            }
            ask_for(&t.app, thief.id, account.id, 1_000_000).await.unwrap();
            t.advance(LATER);
            let back = t.ingest(&debit(&t, 8_400, "GIFT OF NGOZI UMEADI")).await;
            assert_eq!(back.status, AlertStatus::Ignored, "{back:?}");
            let exported = export_payouts(&t.app, "ola", false).await.unwrap().unwrap();
            assert!(exported.rows.is_empty(), "{how}: his payout goes out");
            for id in own.iter().map(|(_, id)| *id).chain([honest]) {
                assert_eq!(alert(&t, id).await.linked_alert_id, Some(back.alert_id), "{how}: {id}");
            }
        }
    }

    async fn one_who_typed_anothers_name_is_alarmed_about_with_him(db: TestDatabase) {
        for how in ["remarks", "cut"] {
            let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
            let thief = t.merchant("bolu.example").await;
            let (_, honest) = paid(&t, &shop, 8_400, "Ngozi Umeadi", str::to_owned).await;
            t.create(&thief, 8_400, "Sani Lawal").await;
            t.advance(LATER);
            let mail = credit(&t, 8_400, "Sani Lawal").text();
            let own = match how {
                "remarks" => t.ingest(&typed(&mail, "", "GIFT OF NGOZI UMEADI")).await,
                _ => cut_off(&t, &mail, "FIP:OPAY/SANI LAWAL/GIFT OF NGOZI UMEA").await,
            };
            t.advance(LATER);
            let back = t.ingest(&debit(&t, 8_400, "GIFT OF NGOZI UMEADI")).await;
            for id in [own.alert_id, honest] {
                assert_eq!(alert(&t, id).await.linked_alert_id, Some(back.alert_id), "{how}: {id}");
            }
        }
    }

    async fn a_name_in_a_debit_frees_nobody_whose_own_words_it_may_be(db: TestDatabase) {
        // What the credit shows of what its payer typed, how a debit repeats it, and who else paid as much.
        for (shown, told, honest, is_freed) in [
            ("FIP:GTB/SANI LAWAL/for my shop at ADEOLA road", "RVSL TRF 00001326031011/for my shop at ADE", "Adebayo Musa", false),
            ("FIP:GTB/SANI LAWAL/goods for the shop in the mall", "goods for the shop in the mall NGOZI UMEADI", "Ngozi Umeadi", false),
            ("FIP:GTB/SANI LAWAL/goods for my", "NGOZI UMEADI", "Ngozi Umeadi", false),
            // All of it is shown, and the debit repeats none of it.
            ("FIP:GTB/SANI LAWAL/shoes.", "RVSL TRF/NGOZI UMEADI", "Ngozi Umeadi", true),
        ] {
            let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
            let thief = t.merchant("bolu.example").await;
            let owner = member(&t, &thief, OWNER, MemberRole::Owner).await;
            let account = ready_account(&t, &thief, owner, &GIVEN).await;
            let (_, other) = paid(&t, &shop, 8_400, honest, str::to_owned).await;
            t.create(&thief, 8_400, "Sani Lawal").await;
            t.advance(LATER);
            let mut taken = t.taken(&credit(&t, 8_400, "Sani Lawal").text(), true);
            taken.facts.narration = Some(shown.to_owned());
            taken.facts.narration_cut = !is_freed;
            let own = take_alert(&t.app, &taken).await.unwrap();
            assert_eq!(own.status, AlertStatus::Matched, "{own:?}");
            ask_for(&t.app, thief.id, account.id, 800_000).await.unwrap();
            t.advance(LATER);
            let back = cut_off(&t, &debit(&t, 8_400, "GOODS"), told).await;
            assert_eq!(back.status, AlertStatus::Ignored, "{back:?}");
            for (id, is_held) in [(own.alert_id, !is_freed), (other, true)] {
                let expected = is_held.then_some(back.alert_id);
                assert_eq!(alert(&t, id).await.linked_alert_id, expected, "{told}: {id} of {}, {other}", own.alert_id);
            }
            let exported = export_payouts(&t.app, "ola", false).await.unwrap().unwrap();
            assert_eq!(exported.rows.is_empty(), !is_freed, "{told}");
        }
    }

    async fn whose_payouts_wait_already_is_told_of_one_credit_alone(db: TestDatabase) {
        let (t, school) = world(db).await;
        let mut fees = Vec::new();
        for payer in ["Ngozi Umeadi", "Emeka Duru", "Sani Lawal", "Bola Ajayi", "Kemi Adeola"] {
            let remark = |mail: &str| typed(mail, "", "fees of the third term");
            fees.push(paid(&t, &school, 8_400, payer, remark).await.1);
        }
        let back = t.ingest(&typed(&debit(&t, 8_400, "EMEKA DURU"), "", "fees of the third term")).await;
        assert_eq!(back.status, AlertStatus::Ignored, "{back:?}");
        for (at, id) in fees.into_iter().enumerate() {
            let expected = (at == 1).then_some(back.alert_id);
            assert_eq!(alert(&t, id).await.linked_alert_id, expected, "credit {at}");
        }
    }
}
