//! Which credit a debit means: keys and names that others typed draw no reversal to themselves and to no innocent
//! one, and a debit that stands for two is not hidden as one.

use tillbell::domain::alert::{AlertFacts, AlertKind, AlertStatus};
use tillbell::domain::money::Money;
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;
use tillbell::ops::alerts::dismiss::dismiss_alert;
use tillbell::ops::alerts::draft::Taken;
use tillbell::ops::alerts::take::take_alert;

use crate::counted_once::{approve_on, forwarded, told, two_open, without_account};
use crate::harness::app::{ACCOUNT, LATER, Merchant, TestApp, at, world};
use crate::harness::databases::TestDatabase;
use crate::harness::logs::Logs;
use crate::harness::mails::Alert;
use crate::taken_back::{alert, debit_of, take_back};
use crate::undoing::undo;

const SESSION: &str = "000013260318091544000000000151";
const VICTIM: &str = "Halima Garba";
const THIEF: &str = "Sani Lawal";
const NAIRA: i64 = 5_250;
/// Races that are run to meet the moment between a reading and its decision.
const ROUNDS: usize = 24;

/// A credit of the amount that has just happened, whose alert shows no session id.
fn nameless(t: &TestApp, payer: &str) -> (Alert, Taken) {
    let at = t.app.now() - Span::seconds(5);
    let credit = Alert { session: String::new(), ..Alert::credit(ACCOUNT, NAIRA, payer, at) };
    let taken = t.taken(&credit.text(), true);
    (credit, taken)
}

/// Asked for, and paid ten minutes later by a credit that `shows` what the test wants.
async fn paid(t: &TestApp, shop: &Merchant, payer: &str, shows: impl Fn(&mut AlertFacts)) -> (Alert, i64) {
    let payment = t.create(shop, NAIRA, payer).await;
    t.advance(LATER);
    let (credit, mut taken) = nameless(t, payer);
    shows(&mut taken.facts);
    let alert = take_alert(&t.app, &taken).await.unwrap();
    assert_eq!((alert.status, t.payment(&payment).await.status), (AlertStatus::Matched, Status::Approved));
    (credit, alert.alert_id)
}

fn nothing(_: &mut AlertFacts) {}

fn typed(facts: &mut AlertFacts) {
    facts.session_id = Some(SESSION.to_owned());
}

on_both! {
    async fn a_typed_session_id_of_the_same_amount_draws_no_reversal_to_itself(db: TestDatabase) {
        for (named, is_reversed, is_told) in [
            (VICTIM, false, true),
            ("RETURN", false, true),
            ("RETURN", true, true),
            (THIEF, false, false),
        ] {
            let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
            let (genuine, first) = paid(&t, &shop, VICTIM, nothing).await;
            let (drawing, drawn) = paid(&t, &shop, THIEF, typed).await;
            if is_reversed {
                let back = take_back(&t, &debit_of(&drawing), Some(SESSION), None).await;
                let payment = alert(&t, drawn).await.payment_id.unwrap();
                let payment = t.app.store.payment(payment).await.unwrap().unwrap();
                undo(&t.app, &payment, back.alert_id, None).await.unwrap();
            }
            let debit = Alert { payer: named.to_uppercase(), at: t.app.now(), ..debit_of(&genuine) };
            let back = take_back(&t, &debit, Some(SESSION), None).await;
            let linked = alert(&t, first).await.linked_alert_id;
            assert_eq!(linked == Some(back.alert_id), is_told, "{named} {is_reversed}");
        }
    }

    async fn a_typed_session_id_of_the_same_amount_lets_no_returned_credit_pass(db: TestDatabase) {
        for (has_its_own, expected) in [(false, AlertStatus::Review), (true, AlertStatus::Matched)] {
            let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
            t.create(&shop, NAIRA, VICTIM).await;
            paid(&t, &shop, THIEF, typed).await;
            t.advance(Span::minutes(1));
            let (later, mut late) = nameless(&t, VICTIM);
            let debit = Alert { payer: "RETURN".into(), at: t.app.now(), ..debit_of(&later) };
            take_back(&t, &debit, Some(SESSION), None).await;
            late.facts.session_id = has_its_own.then(|| SESSION.replace("151", "152"));
            let late = take_alert(&t.app, &late).await.unwrap();
            assert_eq!(late.status, expected, "{late:?}");
        }
    }

    async fn many_typed_session_ids_hide_no_reversal_of_another_amount(db: TestDatabase) {
        for is_first in [true, false] {
            let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
            t.create(&shop, NAIRA, VICTIM).await;
            t.advance(LATER);
            let genuine = Alert::credit(ACCOUNT, NAIRA, VICTIM, t.app.now() - Span::seconds(5));
            let less = Alert { amount: format!("{}.25", NAIRA - 11), payer: "RETURN".into(), ..debit_of(&genuine) };
            let debit = Alert { at: t.app.now(), ..less };
            let (mut back, mut credit) = (None, None);
            for begins in [true, false] {
                if begins == is_first {
                    back = Some(take_back(&t, &debit, Some(&genuine.session), None).await);
                } else {
                    credit = Some(t.ingest(&genuine.text()).await);
                }
                for n in 0..if begins { 55 } else { 0 } {
                    t.advance(Span::seconds(1));
                    let small = Alert::credit(ACCOUNT, 50 + n, THIEF, t.app.now());
                    let mut small = t.taken(&small.text(), true);
                    small.facts.session_id = Some(genuine.session.clone());
                    take_alert(&t.app, &small).await.unwrap();
                }
            }
            let linked = alert(&t, credit.unwrap().alert_id).await.linked_alert_id;
            assert_eq!(linked, back.map(|back| back.alert_id), "{is_first}");
        }
    }

    async fn a_dismissed_credit_with_a_typed_session_id_hides_no_reference(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let mut credits = Vec::new();
        for (n, payer) in [VICTIM, "Boma Dokubo", "Timi Graham", "Preye Cookey", "Tonye Briggs"].iter().enumerate() {
            let shows = |facts: &mut AlertFacts| facts.reference = Some(format!("FT2603{n:03}K7Q"));
            credits.push(paid(&t, &shop, payer, shows).await.1);
        }
        let (drawing, mut taken) = nameless(&t, THIEF);
        typed(&mut taken.facts);
        let drawn = take_alert(&t.app, &taken).await.unwrap();
        dismiss_alert(&t.app, drawn.alert_id, "ada", "nobody asked for it").await.unwrap().unwrap();
        let debit = Alert { payer: "RETURN".into(), at: t.app.now(), ..debit_of(&drawing) };
        let back = take_back(&t, &debit, Some(SESSION), Some("FT2603000K7Q")).await;
        assert_eq!(alert(&t, credits[0]).await.linked_alert_id, Some(back.alert_id));
        for other in &credits[1..] {
            assert_eq!(alert(&t, *other).await.linked_alert_id, None);
        }
    }

    async fn a_remark_with_another_customers_name_points_at_its_own_payer_as_well(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let (_, innocent) = paid(&t, &shop, VICTIM, nothing).await;
        let remark =
            |facts: &mut AlertFacts| facts.narration = Some("NIP TRF SANI LAWAL FOR HALIMA GARBA".into());
        let (stolen, credit) = paid(&t, &shop, THIEF, remark).await;
        let (_, other) = paid(&t, &shop, "Boma Dokubo", nothing).await;
        let debit = Alert { payer: VICTIM.to_uppercase(), at: t.app.now(), ..debit_of(&stolen) };
        let back = take_back(&t, &debit, None, None).await;
        for (id, linked) in [(credit, Some(back.alert_id)), (innocent, Some(back.alert_id)), (other, None)] {
            assert_eq!(alert(&t, id).await.linked_alert_id, linked);
        }
    }

    async fn a_typed_session_id_with_the_name_in_a_remark_draws_no_reversal(db: TestDatabase) {
        for is_first in [false, true] {
            let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
            let other = t.merchant("bolu.example").await;
            let remark = |facts: &mut AlertFacts| facts.narration = Some("FOR HALIMA GARBA FROM LI WU".into());
            // A second transfer of the amount, with the first one's session id typed into it.
            let (drawing, drawn) = paid(&t, &shop, VICTIM, typed).await;
            let mut taken = None;
            if is_first {
                t.create(&other, NAIRA, "Sani Lawal").await;
                t.advance(LATER);
                let (_, mut later) = nameless(&t, THIEF);
                remark(&mut later.facts);
                taken = Some(later);
            }
            let first = if is_first { None } else { Some(paid(&t, &other, THIEF, remark).await.1) };
            let mut back = t.taken(&Alert { at: t.app.now(), ..debit_of(&drawing) }.text(), true);
            back.facts.session_id = Some(SESSION.into());
            back.facts.narration = Some("RVSL FOR HALIMA GARBA FROM".into());
            let back = take_alert(&t.app, &back).await.unwrap();
            let first = match (first, taken) {
                (Some(first), _) => first,
                (None, taken) => {
                    let late = take_alert(&t.app, &taken.unwrap()).await.unwrap();
                    assert_eq!(late.status, AlertStatus::Review, "{late:?}");
                    late.alert_id
                }
            };
            assert_eq!(alert(&t, first).await.linked_alert_id, Some(back.alert_id), "{is_first}");
            let payment = alert(&t, drawn).await.payment_id.unwrap();
            let payment = t.app.store.payment(payment).await.unwrap().unwrap();
            if !is_first {
                let refused = undo(&t.app, &payment, back.alert_id, None).await.unwrap_err();
                assert!(refused.to_string().contains("may as well be about"), "{refused}");
            }
        }
    }

    async fn money_that_came_undoes_nothing_without_a_reason(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let (_, first) = paid(&t, &shop, VICTIM, nothing).await;
        let (_, mut came) = nameless(&t, VICTIM);
        came.facts.kind = Some(AlertKind::Reversal);
        let came = take_alert(&t.app, &came).await.unwrap();
        let payment = alert(&t, first).await.payment_id.unwrap();
        let payment = t.app.store.payment(payment).await.unwrap().unwrap();
        let refused = undo(&t.app, &payment, came.alert_id, None).await.unwrap_err();
        assert!(refused.to_string().contains("reports money that came"), "{refused}");
    }

    async fn a_debit_about_a_credit_that_was_set_aside_accuses_nobody_else(db: TestDatabase) {
        for by_session in [true, false] {
            let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
            let (_, innocent) = paid(&t, &shop, VICTIM, nothing).await;
            let (credit, mut own) = nameless(&t, THIEF);
            own.facts.kind = Some(AlertKind::OwnTransfer);
            own.facts.session_id = by_session.then(|| SESSION.to_owned());
            let own = take_alert(&t.app, &own).await.unwrap();
            assert_eq!(own.status, AlertStatus::Ignored, "{own:?}");
            let debit = Alert { at: t.app.now(), ..debit_of(&credit) };
            take_back(&t, &debit, by_session.then_some(SESSION), None).await;
            assert_eq!(alert(&t, innocent).await.linked_alert_id, None, "{by_session}");
        }
    }

    async fn two_debits_of_the_same_words_are_two_unless_the_balance_tells(db: TestDatabase) {
        for (to_the_second, has_balance, expected) in [
            (false, false, AlertStatus::Ignored),
            // A bank that takes two transfers back in one batch.
            (true, false, AlertStatus::Ignored),
            (false, true, AlertStatus::Duplicate),
        ] {
            let (t, _) = world(TestDatabase::migrated(db.engine()).await).await;
            t.advance(LATER);
            let debit = debit_of(&nameless(&t, VICTIM).0);
            let mut taken = t.taken(&debit.text(), true);
            taken.facts.occurred = taken.facts.occurred.filter(|_| to_the_second);
            taken.facts.balance = taken.facts.balance.filter(|_| has_balance);
            let first = take_alert(&t.app, &taken).await.unwrap();
            assert_eq!(first.status, AlertStatus::Ignored, "{first:?}");
            taken.message_id = Some("another@gens.example".into());
            let second = take_alert(&t.app, &taken).await.unwrap();
            assert_eq!(second.status, expected, "{to_the_second} {has_balance}: {second:?}");
        }
    }

    async fn debits_of_one_message_id_that_say_other_things_are_two(db: TestDatabase) {
        let (t, _) = world(db).await;
        t.advance(LATER);
        let debit = t.taken(&debit_of(&nameless(&t, VICTIM).0).text(), true);
        let mut statuses = Vec::new();
        for narration in ["RVSL HALIMA GARBA", "RVSL BOMA DOKUBO", "RVSL HALIMA GARBA"] {
            let mut taken = debit.clone();
            taken.facts.narration = Some(narration.into());
            taken.facts.payer_name = None;
            taken.content_hash[0] ^= narration.as_bytes()[5];
            statuses.push(take_alert(&t.app, &taken).await.unwrap().status);
        }
        assert_eq!(statuses, [AlertStatus::Ignored, AlertStatus::Ignored, AlertStatus::Duplicate]);
    }

    async fn a_debit_that_comes_while_a_person_approves_is_told(db: TestDatabase) {
        for n in 0..ROUNDS {
            let (t, _, one, _) = two_open(TestDatabase::migrated(db.engine()).await).await;
            let bank = told(false);
            let forward = t.ingest(&without_account(&forwarded(&bank.text()))).await;
            assert_eq!(forward.status, AlertStatus::Review, "{forward:?}");
            // It names no account: its coming makes nobody look again.
            let debit = t.taken(&without_account(&debit_of(&bank).text()), true);
            let other = t.another_node().await;
            let approve = approve_on(&t.app, forward.alert_id, &one, Some("it is on the statement"));
            let (approved, back) = tokio::join!(approve, take_alert(&other, &debit));
            approved.unwrap();
            let linked = alert(&t, forward.alert_id).await.linked_alert_id;
            assert_eq!(linked, Some(back.unwrap().alert_id), "round {n}");
        }
    }

    async fn a_fee_of_more_than_banks_charge_that_fits_nothing_is_told(db: TestDatabase) {
        let (t, _) = world(db).await;
        t.advance(LATER);
        let logs = Logs::keep();
        for (naira, is_told) in [(500, false), (501, true)] {
            let mut fee = t.taken(&debit_of(&Alert::credit(ACCOUNT, naira, VICTIM, at())).text(), true);
            fee.facts.kind = Some(AlertKind::Fee);
            fee.facts.amount = Some(Money(naira * 100));
            take_alert(&t.app, &fee).await.unwrap();
            assert_eq!(logs.text().contains("takes more than banks charge"), is_told, "{naira}");
        }
    }
}
