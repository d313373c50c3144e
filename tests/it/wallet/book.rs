//! The books of wallets: what a statement says, and that the audit tells of every change made by hand.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::money::Money;
use tillbell::domain::time::Span;
use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};
use tillbell::ops::wallet_payments::confirm::Confirmed;
use tillbell::ops::wallet_payments::topup::{ToppingUp, start_topup};
use tillbell::ops::wallets::desk::statement;
use tillbell::ops::wallets::find::ensure;

use super::world::{PHONE, PIN, WRONG, World, fund, token};
use crate::attacks::the_audit_tells_of_each;
use crate::harness::app::{ACCOUNT, LATER, at};
use crate::harness::databases::{Engine, TestDatabase, run_on};
use crate::harness::mails::Alert;

/// A wallet with a credit of 20,000, a payment of 5,000, one of 1,000 that was reversed, a top-up of 7,500,
/// a payment that waits and one that failed; and the empty wallet of somebody else.
async fn lived_in(db: TestDatabase) -> World {
    let w = World::start(db).await;
    w.t.account(ACCOUNT).await;
    let (_, link) = w.ready(20_000, 5_000).await;
    assert!(matches!(w.confirm(&link, PIN).await, Confirmed::Paid(_)));
    let back = w.begin(1_000, "k-2").await;
    assert!(matches!(w.confirm(&token(&back), PIN).await, Confirmed::Paid(_)));
    let ask = Reverse {
        business_id: w.shop.id,
        transaction_id: &back.transaction_id,
        reason: "goods came back",
        operator: "ada",
        undoing_alert: None,
        despite: None,
    };
    reverse_payment(&w.t.app, &ask).await.unwrap().unwrap();
    let phone = w.phone();
    let asked = start_topup(&w.t.app, &w.shop.caller, &phone, Money(750_000), "Ifeoma Danladi", None);
    assert!(matches!(asked.await.unwrap(), ToppingUp::Waiting(..)));
    w.t.advance(LATER + Span::seconds(20));
    let outcome = w.t.ingest(&Alert::credit(ACCOUNT, 7_500, "Danladi Ifeoma", at()).text()).await;
    assert_eq!(outcome.status, AlertStatus::Matched, "{outcome:?}");
    w.begin(100, "k-3").await;
    let failed = token(&w.begin(100, "k-4").await);
    for _ in 0..5 {
        w.confirm(&failed, WRONG).await;
    }
    ensure(&w.t.app, &tillbell::domain::phone::Phone::parse("08035550177").unwrap()).await.unwrap();
    w
}

on_both! {
    async fn a_statement_is_in_the_order_of_time_whoever_wrote(db: TestDatabase) {
        let w = World::start(db).await;
        // Ids come in blocks, so those of one node's entries all stand before the other's.
        let other = w.t.another_node().await;
        w.funded(1).await;
        for n in 2..=6 {
            w.t.advance(Span::minutes(1));
            let app = if n % 2 == 0 { &other } else { &w.t.app };
            fund(app, n).await;
        }
        let statement = statement(&w.t.app, PHONE).await.unwrap().unwrap();
        let naira: Vec<i64> = statement.lines.iter().map(|line| line.amount.kobo() / 100).collect();
        assert_eq!(naira, [6, 5, 4, 3, 2, 1]);
    }

    async fn a_statement_tells_of_every_movement(db: TestDatabase) {
        let w = lived_in(db).await;
        let statement = statement(&w.t.app, PHONE).await.unwrap().unwrap();
        let lines: Vec<_> = statement
            .lines
            .iter()
            .map(|line| (line.entry_kind.as_str(), line.settlement_kind.as_deref(), line.is_credit, line.amount.kobo()))
            .collect();
        assert_eq!(
            lines,
            [
                ("settlement", Some("topup"), true, 750_000),
                ("reversal", Some("wallet"), true, 100_000),
                ("settlement", Some("wallet"), false, 100_000),
                ("settlement", Some("wallet"), false, 500_000),
                ("adjustment", None, true, 2_000_000),
            ]
        );
        assert_eq!(statement.lines[3].merchant.as_deref(), Some("adire.example Ltd"));
        let sum: i64 = lines.iter().map(|(_, _, is_credit, kobo)| if *is_credit { *kobo } else { -kobo }).sum();
        assert_eq!((statement.wallet.balance, statement.spent_today), (Money(sum), Money(600_000)));
    }
}

/// What somebody may do in the database, and the check that tells of it.
const BY_HAND: [(&str, &str); 15] = [
    ("update wallets set balance_kobo = balance_kobo + 1 where id = 1", "balances_equal_postings"),
    ("update wallets set balance_kobo = 5 where id = 2", "balances_equal_postings"),
    ("update wallets set balance_kobo = -1", "balances_above_floor"),
    ("delete from wallets where id = 1", "balances_equal_postings"),
    (
        "update payment_intents set state = 'failed', end_reason = 'cancelled' where state = 'completed'",
        "wallet_debits_are_credits",
    ),
    (
        "update payment_intents set state = 'failed', end_reason = 'cancelled' where state = 'completed'",
        "intents_end_with_payments",
    ),
    (
        "update payment_intents set amount_kobo = amount_kobo + 1 where state = 'pending_pin'",
        "intents_end_with_payments",
    ),
    (
        "update payments set status = 'rejected', rejected_at = 1 where kind = 'wallet' and status = 'pending'",
        "intents_end_with_payments",
    ),
    ("delete from payment_intents where state = 'failed'", "intents_end_with_payments"),
    ("update payments set wallet_id = null where kind = 'topup'", "intents_end_with_payments"),
    ("update payments set wallet_id = 2 where kind = 'topup'", "wallet_debits_are_credits"),
    (
        "update postings set amount_kobo = amount_kobo + 1 where account = 'wallet:1' and side = 'debit'",
        "wallet_debits_are_credits",
    ),
    (
        "insert into postings select e.id, 90, 'wallet:1', 'debit', 9 from entries e join settlements s \
         on s.id = e.settlement_id where s.kind = 'topup'",
        "wallet_debits_are_credits",
    ),
    ("delete from wallet_credits", "credits_are_posted"),
    ("update wallet_credits set amount_kobo = amount_kobo + 1", "credits_are_posted"),
];

#[test]
fn the_audit_tells_of_every_change_of_a_wallet_by_hand() {
    run_on(Engine::Sqlite, |db| async move {
        let w = lived_in(db).await;
        w.t.audited().await;
        the_audit_tells_of_each(&w.t, &BY_HAND).await;
    });
}
