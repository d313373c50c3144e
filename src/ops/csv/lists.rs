//! The lines of lists that are held whole: what a business has, and what an operator looks after. No secret is in them:
//! of a key stands how it begins.

use super::Csv;
use crate::domain::merchant::{ApiKey, Business, KeyRights, Website};
use crate::domain::time::Timestamp;
use crate::ops::activity::OperatorAct;
use crate::ops::merchants::accounts::AccountUse;
use crate::ops::merchants::businesses::BusinessRow;
use crate::ops::payouts::browse::PayoutRow;
use crate::ops::people::members::Member;
use crate::ops::people::users::Listed;
use crate::ops::till::{PaidBy, SaleState, TillRow, state_of};

pub(super) const KEY: [&str; 9] =
    ["id", "label", "begins_with", "mode", "rights", "state", "created_at", "expires_at", "last_used_at"];

pub(super) fn key(csv: &mut Csv, one: &ApiKey, now: Timestamp) {
    csv.plain(Some(one.id))
        .some_words(one.label.as_ref())
        .words(&one.hint)
        .plain(Some(one.mode.as_str()))
        .plain(Some(match one.rights {
            KeyRights::Read => "read",
            KeyRights::Write => "write",
        }))
        .plain(Some(one.state_at(now).as_str()))
        .plain(Some(one.created_at))
        .plain(one.expires_at)
        .plain(one.last_used_at)
        .end();
}

pub(super) const WEBSITE: [&str; 7] =
    ["id", "url", "host", "state", "reject_reason", "webhook_url", "created_at"];

pub(super) fn website(csv: &mut Csv, one: &Website) {
    csv.plain(Some(one.id))
        .words(&one.url)
        .words(&one.host)
        .plain(Some(one.status.as_str()))
        .some_words(one.reject_reason.as_ref())
        .some_words(one.webhook_url.as_ref())
        .plain(Some(one.created_at))
        .end();
}

pub(super) const MEMBER: [&str; 4] = ["email", "role", "state", "since"];

pub(super) fn member(csv: &mut Csv, one: &Member) {
    let state = match (one.is_disabled, one.has_begun) {
        (true, _) => "disabled",
        (false, true) => "signs in",
        (false, false) => "invited",
    };
    csv.words(&one.email).plain(Some(one.role.as_str())).plain(Some(state)).plain(Some(one.since)).end();
}

pub(super) const ACT_OF_ALL: [&str; 7] = ["at", "who", "address", "act", "subject", "reason", "business_id"];

pub(super) fn act_of_all(csv: &mut Csv, one: &OperatorAct) {
    csv.plain(Some(one.at))
        .words(&one.operator)
        .some_words(one.address.as_ref())
        .words(&one.act)
        .words(&one.subject)
        .some_words(Some(&one.reason))
        .plain(one.business_id)
        .end();
}

pub(super) const SALE: [&str; 11] = [
    "transaction_id",
    "asked_at",
    "asked_by",
    "payer_name",
    "amount_naira",
    "state",
    "received_naira",
    "paid_by",
    "approved_at",
    "proven",
    "reversed_at",
];

pub(super) fn sale(csv: &mut Csv, one: &TillRow, now: Timestamp) {
    let payment = &one.payment;
    let (state, proven) = match state_of(one, now) {
        SaleState::Waits => ("waiting", None),
        SaleState::Expired => ("expired", None),
        SaleState::Ended => ("rejected", None),
        SaleState::Reversed => ("reversed", None),
        SaleState::Paid(PaidBy::Bank) => ("paid", Some("bank")),
        SaleState::Paid(PaidBy::Operator) => ("paid", Some("operator")),
        SaleState::Paid(PaidBy::TestMode) => ("paid", Some("test mode")),
        SaleState::Paid(PaidBy::Person { .. }) => ("paid", Some("person")),
    };
    let named = one.told.as_ref().and_then(|told| told.payer_name.as_ref());
    csv.words(&payment.transaction_id)
        .plain(Some(payment.created_at))
        .some_words(one.asked_by.as_ref())
        .words(&payment.payer_name)
        .plain(Some(payment.amount))
        .plain(Some(state))
        .plain(payment.received)
        .some_words(named)
        .plain(payment.approved_at)
        .plain(proven)
        .plain(payment.reversed_at)
        .end();
}

pub(super) const BUSINESS: [&str; 9] = [
    "id",
    "name",
    "email",
    "active",
    "wallet",
    "webhook_url",
    "balance_naira",
    "approved_30_days_naira",
    "created_at",
];

pub(super) fn business(csv: &mut Csv, row: &BusinessRow) {
    let one: &Business = &row.business;
    csv.plain(Some(one.id))
        .words(&one.name)
        .words(&one.email)
        .flag(one.active)
        .flag(one.wallet_enabled)
        .some_words(one.webhook_url.as_ref())
        .plain(Some(row.balance))
        .plain(Some(row.volume))
        .plain(Some(one.created_at))
        .end();
}

pub(super) const ACCOUNT: [&str; 10] = [
    "id",
    "number",
    "bank",
    "holder",
    "mode",
    "business_id",
    "open_payments",
    "last_alert_at",
    "created_at",
    "retired_at",
];

pub(super) fn account(csv: &mut Csv, row: &AccountUse) {
    let one = &row.account;
    csv.plain(Some(one.id))
        // Digits of a bank's own, which may begin with 0.
        .words(&one.number)
        .words(&one.bank_name)
        .words(&one.name)
        .plain(Some(one.mode.as_str()))
        .plain(one.business_id)
        .plain(Some(row.open_payments))
        .plain(row.last_alert)
        .plain(Some(one.created_at))
        .plain(one.retired_at)
        .end();
}

pub(super) const USER: [&str; 6] = ["id", "email", "staff", "member_of", "state", "created_at"];

pub(super) fn user(csv: &mut Csv, one: &Listed) {
    let user = &one.user;
    let places: Vec<String> = one
        .memberships
        .iter()
        .map(|place| format!("{} of business {}", place.role.as_str(), place.business_id))
        .collect();
    let state = match (user.disabled_at, &user.password) {
        (Some(_), _) => "disabled",
        (None, Some(_)) => "signs in",
        (None, None) => "invited",
    };
    csv.plain(Some(user.id))
        .words(&user.email)
        .plain(user.staff.map(|role| role.as_str()))
        .words(&places.join("; "))
        .plain(Some(state))
        .plain(Some(user.created_at))
        .end();
}

pub(super) const PAYOUT: [&str; 14] = [
    "id",
    "business_id",
    "state",
    "amount_naira",
    "bank",
    "number",
    "holder",
    "reference",
    "transfer_reference",
    "requested_by",
    "requested_at",
    "ended_at",
    "bank_reference",
    "reason",
];

pub(super) fn payout(csv: &mut Csv, row: &PayoutRow) {
    let (one, end) = (&row.payout, row.payout.end.as_ref());
    csv.plain(Some(one.id))
        .plain(Some(one.business_id))
        .plain(Some(one.status.as_str()))
        .plain(Some(one.amount))
        .words(&row.bank)
        .words(&row.number)
        .words(&row.name)
        .some_words(one.reference.as_ref())
        .words(&one.code)
        .words(&one.requested_by)
        .plain(Some(one.created_at))
        .plain(end.map(|end| end.at))
        .some_words(end.and_then(|end| end.bank_reference.as_ref()))
        .some_words(end.and_then(|end| end.reason.as_ref()))
        .end();
}

/// Payouts as a file for the bulk upload of the operator's bank: the narration carries our reference, by which the bank's
/// alert or statement is known again.
pub fn bank_file(rows: &[PayoutRow]) -> String {
    let mut csv = Csv::default();
    for name in
        ["account_number", "bank", "account_name", "amount_naira", "narration", "payout_id", "business_id"]
    {
        csv.plain(Some(name));
    }
    csv.end();
    for row in rows {
        csv.words(&row.number)
            .words(&row.bank)
            .words(&row.name)
            .plain(Some(row.payout.amount))
            .words(&row.payout.code)
            .plain(Some(row.payout.id))
            .plain(Some(row.payout.business_id))
            .end();
    }
    csv.text
}
