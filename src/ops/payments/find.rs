//! Finds payments for an operator who has an amount, a name, an account or a transaction id, and not the
//! business. Read only.
//!
//! A search goes back in time slice by slice, until it has what was asked for or has looked at as many payments
//! as one command may; then it says how far back it came. A name is found by the beginnings of its words.
//! Payments that the index of names still holds are found by like names as well.

use std::cmp::Reverse;

use super::like_names::{ANY_AMOUNT, Wanted, add_unknown, payments_like};
use crate::app::App;
use crate::domain::name::index::Likeness;
use crate::domain::name::{Folded, NameVerdict, fold, verdict_folded};
use crate::domain::payment::Payment;
use crate::domain::time::Timestamp;
use crate::ops::OpError;
pub use crate::ops::look_back::Reach;
use crate::ops::look_back::{Found, NAMED_REACH, REACH, look_back};
pub use crate::store::tables::payment_search::{Filter, Wanted as WantedStatus};

/// Payments of like names read through the index.
const LIKE_MAX: usize = 1_000;
/// Businesses named where several have the same transaction id.
const NAMED_BUSINESSES: usize = 20;

/// What is looked for.
#[derive(Clone, Debug)]
pub struct Search {
    pub filter: Filter,
    pub name: Option<String>,
    pub since: Timestamp,
    pub limit: usize,
}

/// Why there is no answer. The texts are for the operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindRefused {
    #[error("there is no business {0}")]
    NoBusiness(i64),
    #[error("there is no receiving account with the number {0}")]
    NoAccount(String),
    #[error("--name must contain a letter or a digit")]
    Name,
    #[error("no business has a payment {0}")]
    NoPayment(String),
    #[error("several businesses have a payment {0}: {1}; choose one with --business")]
    Several(String, String),
}

pub async fn find_payments(
    app: &App,
    search: &Search,
) -> Result<Result<Found<Payment>, FindRefused>, OpError> {
    find_within(app, search, if search.name.is_some() { NAMED_REACH } else { REACH }).await
}

/// The same with another reach than the usual one.
pub async fn find_within(
    app: &App,
    search: &Search,
    reach: Reach,
) -> Result<Result<Found<Payment>, FindRefused>, OpError> {
    let filter = &search.filter;
    if let Some(id) = filter.business_id
        && app.store.business(id).await?.is_none()
    {
        return Ok(Err(FindRefused::NoBusiness(id)));
    }
    if let Some(number) = &filter.account
        && !app.directory.accounts().await?.iter().any(|account| account.number == *number)
    {
        return Ok(Err(FindRefused::NoAccount(number.clone())));
    }
    let mut found = match &search.name {
        None => newest(app, search, None, reach).await?,
        Some(name) => {
            let Some(words) = words_of(name) else { return Ok(Err(FindRefused::Name)) };
            let mut found = newest(app, search, Some(&words), reach).await?;
            add_unknown(&mut found.rows, of_like_names(app, search, name).await?);
            found
        }
    };
    found.rows.sort_by_key(|payment| Reverse((payment.created_at, payment.id)));
    Ok(Ok(found.first(search.limit)))
}

/// Looks at payments from the newest backwards.
async fn newest(
    app: &App,
    search: &Search,
    words: Option<&[String]>,
    reach: Reach,
) -> Result<Found<Payment>, OpError> {
    let filter = &search.filter;
    let is_filtered =
        filter.status.is_some() || filter.amount.is_some() || filter.account.is_some() || words.is_some();
    let is_filtered = is_filtered || filter.reference.is_some();
    // A slice holds all that was made at its first moment, which may be a few more.
    let most = words.map_or(search.limit + 1, |_| 2 * reach.rows);
    look_back(
        search.since,
        search.limit,
        is_filtered.then_some(reach),
        async |time, rows| app.store.slice_end(filter.business_id, time, rows).await,
        async |time| {
            let mut read = app.store.payments_found(filter, time, most).await?;
            read.retain(|payment| words.is_none_or(|words| bears(&payment.payer_name, words)));
            Ok(read)
        },
    )
    .await
}

/// The words of a name that is looked for; `None` if there is none.
pub(in crate::ops) fn words_of(name: &str) -> Option<Vec<String>> {
    let words: Vec<String> = fold(name).split(' ').map(str::to_owned).collect();
    (!words.iter().all(String::is_empty)).then_some(words)
}

/// Whether words of a name begin with these, in any order; of a single word, whether a name like it is among them.
pub(in crate::ops) fn bears(name: &str, words: &[String]) -> bool {
    let folded = fold(name);
    if words.iter().all(|wanted| folded.split(' ').any(|word| word.starts_with(wanted.as_str()))) {
        return true;
    }
    // Of one word the index has too few keys to find every spelling.
    let [only] = words else { return false };
    verdict_folded(&Folded::new(name), &Folded::new(only), &[]) != NameVerdict::Different
}

/// Payments whose payer's name is not different from the one that is looked for, and that fit the rest.
async fn of_like_names(app: &App, search: &Search, name: &str) -> Result<Vec<Payment>, OpError> {
    let Search { filter, since, .. } = search;
    let accounts = app.directory.accounts().await?;
    let is_there = |payment: &Payment, number: &String| {
        accounts.iter().any(|account| Some(account.id) == payment.account_id && account.number == *number)
    };
    let amounts = filter.amount.map_or(ANY_AMOUNT, |amount| (amount, amount));
    let wanted = Wanted {
        account_id: None,
        payer_name: name,
        likeness: Likeness::NotDifferent,
        amounts,
        open_after: Timestamp(0),
        limit: LIKE_MAX,
    };
    let mut like = payments_like(app, &wanted).await?.payments;
    let name = Folded::new(name);
    like.retain(|payment| {
        payment.created_at >= *since
            && filter.business_id.is_none_or(|id| id == payment.business_id)
            && filter.status.is_none_or(|wanted| wanted.fits(payment))
            && filter
                .reference
                .as_ref()
                .is_none_or(|wanted| payment.external_reference.as_ref() == Some(wanted))
            && filter.account.as_ref().is_none_or(|number| is_there(payment, number))
            && verdict_folded(&Folded::new(&payment.payer_name), &name, &[]) != NameVerdict::Different
    });
    Ok(like)
}

/// The business whose payment is meant: the given one, or the only one that has a payment with this id.
pub async fn whose_payment(
    app: &App,
    transaction_id: &str,
    given: Option<i64>,
) -> Result<Result<i64, FindRefused>, OpError> {
    if let Some(business_id) = given {
        return Ok(Ok(business_id));
    }
    let ids = app.store.businesses_with(transaction_id, NAMED_BUSINESSES + 1).await?;
    if let [id] = ids[..] {
        return Ok(Ok(id));
    }
    if ids.is_empty() {
        return Ok(Err(FindRefused::NoPayment(transaction_id.to_owned())));
    }
    let mut told = Vec::new();
    for id in ids.iter().take(NAMED_BUSINESSES) {
        let name = app.store.business(*id).await?.map(|business| business.name).unwrap_or_default();
        told.push(format!("{id} ({name})"));
    }
    if ids.len() > NAMED_BUSINESSES {
        told.push("and more".to_owned());
    }
    Ok(Err(FindRefused::Several(transaction_id.to_owned(), told.join(", "))))
}
