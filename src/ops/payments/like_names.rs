//! Payments whose payer's name is like a given one: their rows in the index, and the reads by them.
//!
//! The index finds names by keys (`domain::name::index`); here the name rule judges what is found. So no number
//! of payments under other names stands between. Used where an account is chosen, an amount corrected, an alert
//! decided, suggestions are gathered, and an operator looks for a payment.

use crate::app::App;
use crate::domain::matching::Beneficiary;
use crate::domain::money::Money;
use crate::domain::name::index::{Likeness, sought_keys, stored_keys};
use crate::domain::name::{Folded, NameVerdict, may_match, verdict_folded};
use crate::domain::payment::{Payment, Status};
use crate::domain::time::Timestamp;
use crate::ops::OpError;
use crate::store::Step;
use crate::store::tables::payment_names::{self, Named};
use crate::store::tables::payments::{self, Own};

/// Payments of like names read at once when an account is chosen, whatever their amount. When there are more,
/// those of about the amount are read by themselves.
const LIKE_MAX: usize = 50;
/// Those of about the amount. A collision beyond them costs a review when the alert comes, never money.
const LIKE_OF_AMOUNT_MAX: usize = 500;
/// Names of others' payments of one amount that are read and judged without the index: of the businesses before the
/// asking one, of those after it, and of top-ups, so many each.
const OTHERS_READ: usize = 200;
/// Payments whose names are put into the index in one step; steps in one run.
const KEYED_MAX: usize = 200;
const KEYED_RUNS_MAX: usize = 50;

/// Every amount there is.
pub const ANY_AMOUNT: (Money, Money) = (Money(0), Money(i64::MAX));

/// The steps that bring a new payment into the database with the rows of its name; `bvn` is sealed.
pub fn add_payment(payment: &Payment, payer: &Folded, bvn: Option<Vec<u8>>) -> Vec<Step> {
    let mut steps = vec![payments::add(payment, bvn)];
    steps.extend(payment_names::add(payment, &stored_keys(payer)));
    steps
}

/// The steps that move the rows of a payment's name to its corrected amount.
pub fn move_rows(before: &Payment, after: &Payment) -> Vec<Step> {
    let keys = stored_keys(&Folded::new(&before.payer_name));
    let mut steps = payment_names::remove(before, &keys);
    // A program of before may have left some, which moved none.
    steps.extend(payment_names::remove(after, &keys));
    steps.extend(payment_names::add(after, &keys));
    steps
}

/// Open payments that one received amount could approve together with a new or corrected one, and those of like
/// names whatever their amount.
#[derive(Default)]
pub struct LikeNamed {
    /// One amount could approve both.
    pub colliding: Vec<Payment>,
    /// Accounts on which a payment of another beneficiary bears a like name. Of very many, the newest.
    pub crowded: Vec<i64>,
}

/// Looks for open payments of names that are not different from the payer's, on one account or on all. Payments
/// that the name rule can never approve are ignored, on both sides.
pub async fn like_named(
    app: &App,
    payment: &Payment,
    payer: &Folded,
    account_id: Option<i64>,
) -> Result<LikeNamed, OpError> {
    let mut found = LikeNamed::default();
    if payer.is_too_long() {
        return Ok(found);
    }
    let can_win = may_match(payer);
    let sought = sought_keys(payer, Likeness::NotDifferent);
    let named = |amounts, limit| Named {
        account_id,
        keys: &sought.keys,
        amounts,
        open_after: payment.created_at.min(app.now()),
        limit,
    };
    let mut all = app.store.payments_named(&named(ANY_AMOUNT, LIKE_MAX)).await?;
    if all.len() >= LIKE_MAX {
        let of_amount =
            app.store.payments_named(&named(collision_amounts(payment), LIKE_OF_AMOUNT_MAX)).await?;
        add_unknown(&mut all, of_amount);
    }
    let own = Beneficiary::of(payment);
    for other in all {
        let is_equal = can_win && other.payer_name == payment.payer_name;
        let like = is_equal || collide(payer, can_win, &other.payer_name);
        if other.status != Status::Pending || other.id == payment.id || !like {
            continue;
        }
        if let Some(account) = other.account_id.filter(|_| Beneficiary::of(&other) != own)
            && !found.crowded.contains(&account)
        {
            found.crowded.push(account);
        }
        if payment.shares_amount_with(&other) {
            found.colliding.push(other);
        }
    }
    Ok(found)
}

/// Whether the name of a payment is so like the payer's that one transfer could pay both.
fn collide(payer: &Folded, can_win: bool, other: &str) -> bool {
    let name = Folded::new(other);
    match verdict_folded(payer, &name, &[]) {
        NameVerdict::Different => false,
        // One of them may be both names written as one word.
        NameVerdict::Match => true,
        // "Prince Okafor" is close to every Okafor, as "Okafor" is, and keeps none of them from an account either.
        NameVerdict::Close => {
            can_win && may_match(&name) && !payer.is_one_beside_title() && !name.is_one_beside_title()
        }
    }
}

/// Open payments of others of exactly the payment's amount on an account that it collides with, by the name rule alone:
/// what the index should have found, had it a key for it.
pub async fn colliding_by_rule(
    app: &App,
    payment: &Payment,
    payer: &Folded,
    account_id: i64,
) -> Result<Vec<Payment>, OpError> {
    let can_win = may_match(payer);
    let price = (account_id, payment.amount, Own::of(payment));
    let mut found = of_others(app, price, |name| collide(payer, can_win, name)).await?.payments;
    // Some whose time is over wait for the sweep.
    found
        .retain(|other| other.id != payment.id && other.approvable_until > payment.created_at.min(app.now()));
    Ok(found)
}

/// Payments beside the one that is asked about, and whether there may be more of them.
pub struct Beside {
    pub payments: Vec<Payment>,
    pub may_be_more: bool,
}

/// Open payments on an account, of exactly an amount, that may be another beneficiary's and whose payer's name passes.
/// So many are read that no index of names is trusted alone, and so few that a price may be anybody's: whether there may be more
/// is for a person alone.
pub async fn of_others(
    app: &App,
    (account_id, amount, own): (i64, Money, Own),
    passes: impl Fn(&str) -> bool,
) -> Result<Beside, OpError> {
    let names = app.store.open_names_of_others(account_id, amount, own, OTHERS_READ).await?;
    let may_be_more = names.len() >= OTHERS_READ;
    let ids: Vec<i64> = names.into_iter().filter(|(_, name)| passes(name)).map(|(id, _)| id).collect();
    Ok(Beside { payments: app.store.payments_by_ids(&ids).await?, may_be_more })
}

/// Amounts of payments that may be approved by an amount that approves this one, for charges of up to a tenth of
/// the amount and a thousand naira.
fn collision_amounts(payment: &Payment) -> (Money, Money) {
    const FIXED_CHARGE_MAX: i64 = 100_000;
    let amount = payment.amount.kobo();
    let low = payment.rule_bounds().map_or(payment.amount, |(low, _)| low.min(payment.amount));
    (low, Money(amount.saturating_add(amount / 10).saturating_add(FIXED_CHARGE_MAX)))
}

/// Payments, open or ended, that may bear a name like a given one.
pub struct Wanted<'a> {
    /// `None`: on any account.
    pub account_id: Option<i64>,
    pub payer_name: &'a str,
    pub likeness: Likeness,
    pub amounts: (Money, Money),
    /// Those only that could be approved by a late alert after this time.
    pub open_after: Timestamp,
    pub limit: usize,
}

/// The newest payments found, and whether there may be more of them.
pub struct Found {
    pub payments: Vec<Payment>,
    pub may_be_more: bool,
    /// The payer's name has an initial or what may be a title: some names that are close to it are not found.
    pub misses_close_ones: bool,
}

/// Reads them by account, amount and name; not yet judged by the name rule.
pub async fn payments_like(app: &App, wanted: &Wanted<'_>) -> Result<Found, OpError> {
    let sought = sought_keys(&Folded::new(wanted.payer_name), wanted.likeness);
    let named = Named {
        account_id: wanted.account_id,
        keys: &sought.keys,
        amounts: wanted.amounts,
        open_after: wanted.open_after,
        limit: wanted.limit,
    };
    let payments = app.store.payments_named(&named).await?;
    let may_be_more = sought.is_incomplete || payments.len() >= wanted.limit;
    Ok(Found { payments, may_be_more, misses_close_ones: sought.may_share_one_word })
}

/// Adds those that are not there yet.
pub fn add_unknown(payments: &mut Vec<Payment>, more: Vec<Payment>) {
    for payment in more {
        if payments.iter().all(|known| known.id != payment.id) {
            payments.push(payment);
        }
    }
}

/// Whether open payments are missing in the index, which then does not find every like name.
pub async fn is_index_unfinished(app: &App) -> Result<bool, OpError> {
    Ok(!app.store.unkeyed_payments(1).await?.is_empty())
}

/// Puts names into the index whose rows are missing: of payments made before there was one. Until none is left
/// a decision that needs the index is left to a person.
pub async fn key_names(app: &App) -> Result<(), OpError> {
    for _ in 0..KEYED_RUNS_MAX {
        let missing = app.store.unkeyed_payments(KEYED_MAX).await?;
        for payment in &missing {
            let keys = stored_keys(&Folded::new(&payment.payer_name));
            let unit = app.store.unit(payment.business_id).await?;
            // Some may be there, of other keys that it had, or of an amount that it has again.
            let unit = unit
                .step(payment_names::keyed(payment))
                .steps(payment_names::remove(payment, &keys))
                .steps(payment_names::add(payment, &keys));
            let _ = app.store.apply(unit).await?;
        }
        if missing.len() < KEYED_MAX {
            break;
        }
    }
    Ok(())
}
