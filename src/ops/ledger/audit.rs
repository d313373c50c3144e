//! Recomputes everything that money rests on, counts every difference and names the first rows of each.
//!
//! The clauses are those of the promises: entries balance, balances equal their postings, each
//! approved payment has exactly one credit and one event that tells of it to the kobo, an alert funds
//! one payment and no key of a transfer two, the chain of seals is whole, and the append-only tables
//! are guarded. All counts come from one snapshot, so that the service may go on meanwhile. Reads only.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::audit_webhooks::bodies_agree;
use super::check::{Check, Found};
use super::seal::seal_hash;
use crate::app::App;
use crate::ops::OpError;
use crate::store::audit::{CHECKS, Clause, arrivals, counted_once, events, figures, payouts};

/// Seals verified per read.
const SEALS_PER_READ: usize = 200;

pub async fn audit(app: &App) -> Result<Vec<Check>, OpError> {
    audit_counting(app, Arc::default()).await
}

fn clauses() -> Vec<Clause> {
    let first = CHECKS.into_iter().chain(counted_once::CHECKS).chain(events::CHECKS);
    first.chain(figures::CHECKS).chain(payouts::CHECKS).chain(arrivals::CHECKS).collect()
}

/// How many clauses there are.
pub fn steps() -> usize {
    clauses().len() + 3
}

/// The same; `done` is raised with every clause that was looked at, up to [`steps`].
pub async fn audit_counting(app: &App, done: Arc<AtomicUsize>) -> Result<Vec<Check>, OpError> {
    let clauses = clauses();
    let answers = app.store.count_in_snapshot(clauses.clone(), done.clone()).await?;
    let mut checks = Vec::with_capacity(answers.len() + 3);
    for ((name, ..), counted) in clauses.into_iter().zip(answers) {
        let mut found = Vec::with_capacity(counted.found.len());
        for (table, id) in counted.found {
            let payment = match id.filter(|_| table == "payments") {
                Some(id) => app.store.payment(id).await?.map(|one| (one.business_id, one.transaction_id)),
                None => None,
            };
            found.push(Found { table, id, payment });
        }
        checks.push(Check { name, rows: counted.rows, violations: counted.violations, found });
    }
    checks.push(bodies_agree(app).await?);
    done.fetch_add(1, Ordering::Relaxed);
    checks.push(chain(app).await?);
    done.fetch_add(1, Ordering::Relaxed);
    let (rows, unguarded) = app.store.append_only_guards().await?;
    let whole = |table: &&str| Found { table: (*table).to_owned(), id: None, payment: None };
    let violations = unguarded.len() as i64;
    let found = unguarded.iter().map(whole).collect();
    checks.push(Check { name: "append_only_is_guarded", rows, violations, found });
    done.fetch_add(1, Ordering::Relaxed);
    Ok(checks)
}

/// Walks the chain of seals from the first; sealed entries never change, so no snapshot is needed.
async fn chain(app: &App) -> Result<Check, OpError> {
    let mut check = Check::new("chain_is_unbroken");
    let mut previous = Vec::new();
    let mut last = 0;
    loop {
        let seals = app.store.seals_after(last, SEALS_PER_READ).await?;
        let full = seals.len() == SEALS_PER_READ;
        for seal in seals {
            let entries = app.store.sealed_entries(seal.id).await?;
            check.look("seals", seal.id, seal_hash(&previous, &entries).as_slice() == seal.hash);
            previous = seal.hash;
            last = seal.id;
        }
        if !full {
            return Ok(check);
        }
    }
}

/// What a violation of a clause means, and what to do about it first.
pub fn what_to_do(check: &str) -> &'static str {
    match check {
        "entries_sum_to_zero" => {
            "These ledger entries do not balance. The program never changes or deletes an entry. Compare them \
             with your last backup."
        }
        "balances_equal_postings" => {
            "These balances are not the sums of their postings. Pay nothing out to these businesses and wallets; \
             the postings, not the balances, are what happened."
        }
        "balances_above_floor" => {
            "These balances are further below zero than their reversals explain. Pay nothing out to them. Compare \
             what was credited and debited since your last backup."
        }
        "approved_has_one_credit" | "credited_is_received_less_charges" | "charges_add_up" => {
            "Compare these payments and settlements with the bank's statement: each approved payment must have one \
             credit, of what was received less the charges."
        }
        "approved_has_one_event" => {
            "Merchants may have missed the webhooks of these payments, or had webhooks of payments that are not approved. \
             Look at each with `payment show`, and tell the merchants yourself."
        }
        "reversed_has_one_event" => {
            "Merchants may have missed the webhooks that the money of these payments went back, or had them of payments \
             that were not reversed. Look at each with `payment show`, and tell the merchants yourself."
        }
        "reversals_mirror" => {
            "These settlements were not reversed exactly. Compare their entries of kind settlement and reversal."
        }
        "alert_funds_one_payment" | "no_key_is_settled_twice" => {
            "One transfer may have been credited twice. Find it on the bank's statement; if it came once, undo the \
             wrong credit with `payment reverse`."
        }
        "only_legal_states" | "intents_end_with_payments" => {
            "These rows are in a state that the program does not write. Look at each with `payment show` and compare \
             it with your last backup."
        }
        "wallet_debits_are_credits" | "credits_are_posted" => {
            "Money left or entered a wallet without its counterpart. Suspend these wallets (`wallet suspend`) until \
             their statements are explained."
        }
        "events_agree_with_entries" => {
            "Merchants received webhooks with figures that differ from the ledger. Compare the webhook bodies of \
             these events with their entries, and tell the merchants."
        }
        "events_have_one_place" => {
            "Programs that read events in their order may miss these, or see others than they were sent. Compare the \
             tables events, event_places and unplaced_events with your last backup."
        }
        "figures_agree_with_facts" => {
            "The figures that these businesses are shown differ from their payments. No money is affected. Tell them \
             which days are wrong, and find out who changed the rows."
        }
        "reserved_is_pending" | "payouts_agree_with_entries" => {
            "What is set aside for payouts differs from the payouts that wait, or a payout from its ledger entries. Pay \
             nothing out until it is explained: compare these payouts with the bank's statement and your last backup."
        }
        "arrivals_agree" => {
            "Pages and tills tell of money that waits for a payment, and these rows differ from their alert or payment. No \
             money is affected. Look at the alert with `alert show`, and find out who changed the rows."
        }
        "entries_are_sealed" | "chain_is_unbroken" => {
            "Sealed entries were changed or deleted. Compare the ledger with your last backup, starting at the \
             first seal named here."
        }
        "append_only_is_guarded" => {
            "The triggers of these tables are missing or changed. Find out who is allowed to change them. Restore \
             them from migrations, and compare the tables with your last backup."
        }
        _ => "Compare these rows with your last backup.",
    }
}
