//! Many at once, on two nodes: no balance goes below zero, and a payout ends once.

use tillbell::domain::payout::PayoutStatus;
use tillbell::domain::user::MemberRole;
use tillbell::ops::payouts::end::{Marked, Outcome, cancel_payout, mark_payout};
use tillbell::ops::payouts::export::export_payouts;
use tillbell::ops::payouts::request::{Actor, PayoutRefusal};

use super::book::marking;
use super::world::{GIVEN, OWNER, ask_for, funded, member, ready_account, standing};
use crate::harness::app::world;

on_both! {
    async fn fifty_at_once_on_two_nodes_take_no_more_than_there_is(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let owner = member(&t, &shop, OWNER, MemberRole::Owner).await;
        let all = funded(&t, &shop, 9_000).await.kobo();
        let account = ready_account(&t, &shop, owner, &GIVEN).await;
        let other = t.another_node().await;
        let (each, fit) = (all / 17, all / (all / 17));
        let mut running = tokio::task::JoinSet::new();
        for n in 0..50 {
            let app = if n % 2 == 0 { t.app.clone() } else { other.clone() };
            let (business, account) = (shop.id, account.id);
            running.spawn(async move { ask_for(&app, business, account, each).await });
        }
        let asked = running.join_all().await;
        let done = asked.iter().filter(|one| one.is_ok()).count() as i64;
        assert_eq!(done, fit, "{asked:?}");
        assert!(asked.iter().flat_map(|one| one.as_ref().err()).all(|why| matches!(why, PayoutRefusal::Insufficient { .. })));
        assert_eq!(standing(&t, &shop).await, (all - fit * each, fit * each));
    }

    async fn of_many_ends_at_once_one_counts(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let owner = member(&t, &shop, OWNER, MemberRole::Owner).await;
        let all = funded(&t, &shop, 9_000).await.kobo();
        let account = ready_account(&t, &shop, owner, &GIVEN).await;
        let other = t.another_node().await;
        for round in 0..5 {
            let id = ask_for(&t.app, shop.id, account.id, 1_000).await.unwrap().payout.id;
            let before = standing(&t, &shop).await;
            let mut running = tokio::task::JoinSet::new();
            for n in 0..12 {
                let app = if (n + round) % 2 == 0 { t.app.clone() } else { other.clone() };
                let business = shop.id;
                running.spawn(async move {
                    match n % 4 {
                        0 => cancel_payout(&app, Actor::Key, business, id, None).await.is_ok_and(|done| matches!(done, Some(Ok(_)))),
                        1 => {
                            drop(export_payouts(&app, "ola", false).await);
                            false
                        }
                        n => {
                            let outcome = if n == 2 { Outcome::Paid } else { Outcome::Refused };
                            mark_payout(&app, &marking(id, outcome, "ola")).await.is_ok_and(|done| matches!(done, Ok(Marked::Ended(_))))
                        }
                    }
                });
            }
            let ended = running.join_all().await.into_iter().filter(|done| *done).count();
            assert_eq!(ended, 1);
            let status = t.app.store.payout(id).await.unwrap().unwrap().payout.status;
            let back = if status == PayoutStatus::Paid { 0 } else { 1_000 };
            assert_eq!(standing(&t, &shop).await, (before.0 + back, before.1 - 1_000), "{status:?}");
        }
        assert!(standing(&t, &shop).await.0 <= all);
    }
}
