//! The guards of a debit and of a top-up, each by itself: what was true when it was decided must be true when
//! it is written.

use tillbell::domain::money::Money;
use tillbell::domain::time::Span;
use tillbell::domain::wallet::Wallet;
use tillbell::ops::wallet_payments::confirm::Confirmed;
use tillbell::ops::wallet_payments::pin_reset::{CodeSent, PinSet, send_code, set_pin};
use tillbell::ops::wallets::desk::{Act, act};
use tillbell::store::Step;
use tillbell::store::tables::wallets::{Spending, lock, spend, take_in};

use super::world::{PHONE, PIN, World, token};

async fn passes(w: &World, step: Step) -> bool {
    let unit = w.t.app.store.unit(1).await.unwrap().step(step);
    w.t.app.store.apply(unit).await.unwrap().is_done()
}

fn spending(w: &World, wallet: &Wallet, naira: i64) -> Spending {
    Spending {
        wallet_id: wallet.id,
        amount: Money(naira * 100),
        pin_version: wallet.pin_version,
        tier: wallet.tier.number(),
        daily: Some(Money(600_000)),
        now: w.t.app.now(),
    }
}

on_both! {
    async fn a_debit_passes_only_as_it_was_decided(db: TestDatabase) {
        let w = World::start(db).await;
        w.ready(5_000, 100).await;
        let wallet = w.wallet().await;
        let good = |naira| spending(&w, &wallet, naira);
        assert!(!passes(&w, spend(&Spending { pin_version: wallet.pin_version - 1, ..good(1) })).await, "an older PIN");
        assert!(!passes(&w, spend(&Spending { tier: 2, ..good(1) })).await, "another tier");
        assert!(!passes(&w, spend(&good(5_001))).await, "more than there is");
        assert!(!passes(&w, spend(&Spending { daily: Some(Money(99)), ..good(1) })).await, "over the day's limit");
        assert!(passes(&w, spend(&good(5_000))).await);
        assert!(passes(&w, spend(&good(1_000))).await, "the day's limit to the kobo");
        assert!(!passes(&w, spend(&good(1))).await, "what went out before counts");
        assert!(passes(&w, spend(&Spending { daily: None, ..good(1) })).await);
        w.t.advance(Span::hours(24));
        assert!(passes(&w, spend(&good(5_000))).await, "a new day");
        let behind = w.t.app.now() - Span::hours(24);
        assert!(!passes(&w, spend(&Spending { now: behind, ..good(1_001) })).await, "not to a clock that is behind");
        assert!(passes(&w, spend(&Spending { now: behind, ..good(500) })).await);
        assert!(!passes(&w, spend(&good(501))).await, "the day was not set back");
        let until = w.t.app.now() + Span::hours(1);
        assert!(passes(&w, lock(wallet.id, until, w.t.app.now())).await);
        assert!(!passes(&w, spend(&good(1))).await, "locked");
        w.t.advance(Span::hours(1));
        assert!(passes(&w, spend(&good(1))).await);
        act(&w.t.app, "ada", PHONE, Act::Suspend, "asked for").await.unwrap().unwrap();
        assert!(!passes(&w, spend(&good(1))).await, "suspended");
    }

    async fn a_top_up_passes_only_as_it_was_decided(db: TestDatabase) {
        let w = World::start(db).await;
        let wallet = w.funded(5_000).await;
        let take = |kobo, tier, most| take_in(wallet.id, Money(kobo), tier, most, w.t.app.now());
        let most = Some(Money(700_000));
        assert!(passes(&w, take(200_000, 1, most)).await);
        assert!(!passes(&w, take(200_001, 1, most)).await, "more than the tier holds");
        assert!(!passes(&w, take(1, 2, most)).await, "another tier");
        assert!(passes(&w, take(i64::MAX / 2, 1, None)).await);
        act(&w.t.app, "ada", PHONE, Act::Suspend, "asked for").await.unwrap().unwrap();
        assert!(!passes(&w, take(1, 1, None)).await, "suspended");
    }

    async fn a_pin_that_is_changed_while_it_is_checked_does_not_pay(db: TestDatabase) {
        let w = World::start(db).await;
        w.ready(40_000, 100).await;
        let (mut old, mut new) = (PIN, "8305");
        let mut changed = 0;
        for n in 0..20 {
            w.t.advance(Span::hours(6));
            let started = w.begin(100, &format!("p-{n}")).await;
            let link = token(&started);
            assert!(matches!(send_code(&w.t.app, &link, None).await.unwrap(), CodeSent::Sent { .. }));
            let code = w.post.last(tillbell::domain::message::MessageKind::Code).code.unwrap();
            let before = w.wallet().await.balance;
            // The new PIN stands in the queue first; the old one takes its place before the new one is set.
            let setting = set_pin(&w.t.app, &link, &code, new, new, None);
            let confirming = async {
                while w.t.app.store.newest_code(1).await.unwrap().unwrap().tries == 0 {
                    tokio::task::yield_now().await;
                }
                w.confirm(&link, old).await
            };
            let (set, confirmed) = tokio::join!(setting, confirming);
            let paid = match confirmed {
                Confirmed::PinChanged => {
                    changed += 1;
                    false
                }
                // The old PIN was read after the change, or was faster than it.
                Confirmed::WrongPin { .. } => false,
                Confirmed::Paid(_) => true,
                other => panic!("{other:?}"),
            };
            assert_eq!(w.wallet().await.balance, Money(before.kobo() - if paid { 10_000 } else { 0 }));
            match set.unwrap() {
                PinSet::Done => std::mem::swap(&mut old, &mut new),
                other => assert!(paid, "{other:?}"),
            }
            if changed == 2 {
                break;
            }
        }
        assert!(changed > 0, "the old PIN was never caught between its check and the debit");
    }
}
