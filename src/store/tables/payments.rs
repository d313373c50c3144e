//! Payments: rows, candidates by index, and the steps that change one. Their listing is in `payment_list`.
//!
//! Every change is guarded by `version`. The indexes behind the reads here are partial ones over
//! open payments, so that a million of them, or a billion ended ones, cost nothing.

use crate::domain::charges::{Charges, RULE_TOLERANCE_KOBO, Schedule};
use crate::domain::merchant::Mode;
use crate::domain::money::Money;
use crate::domain::payment::{CheckoutLink, Kind, PayerDetails, Payment, Status};
use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::{Reader, Row, Step, Store, StoreError, Value};

macro_rules! columns {
    () => {
        "id, business_id, transaction_id, kind, mode, status, version, amount_kobo, \
         charge_percentage_kobo, charge_fixed_kobo, business_receives_kobo, schedule_rate, \
         schedule_fixed_kobo, schedule_cap_kobo, is_schedule_paid_by_customer, is_schedule_enabled, \
         payer_name, payer_bank, first_name, last_name, registration_number, service, webhook_url, \
         website_id, external_reference, account_id, corrections, created_at, updated_at, expires_at, \
         approvable_until_at, matched_at, approved_at, rejected_at, reject_reason, is_swept, reversed_at, \
         settlement_id, received_kobo, is_mismatch, mismatch_reason, is_name_mismatch, wallet_id, till_user_id, \
         link_nonce, link_key, return_url"
    };
}

/// Whole payments.
macro_rules! select {
    ($rest:expr) => {
        concat!("select ", $crate::store::tables::payments::columns!(), " from payments", $rest)
    };
}
pub(in crate::store) use {columns, select};

statements! {
    ADD: insert(payments) {
        id: Int, business_id: Int, transaction_id: Text, kind: Text, mode: Text, status: Text, version: Int,
        amount_kobo: Int, charge_percentage_kobo: Int, charge_fixed_kobo: Int, business_receives_kobo: Int,
        schedule_rate: Int, schedule_fixed_kobo: Int, schedule_cap_kobo: Int,
        is_schedule_paid_by_customer: Int, is_schedule_enabled: Int, rule_low_kobo: Int, rule_high_kobo: Int,
        payer_name: Text, payer_bank: Text, first_name: Text, last_name: Text, bvn: Bytes,
        registration_number: Text, service: Text, webhook_url: Text, website_id: Int,
        external_reference: Text, account_id: Int, corrections: Int, created_at: Int, updated_at: Int,
        expires_at: Int, approvable_until_at: Int, is_swept: Int, is_mismatch: Int, is_name_mismatch: Int,
        name_keys: Int, wallet_id: Int, till_user_id: Int, link_nonce: Bytes, link_key: Int, return_url: Text
    }
    BY_ID: lookup(payments) { columns!() by id: Int }
    BY_LINK: query { select!(" where link_key = $1 order by id limit $2") }
    BY_TRANSACTION: lookup(payments) { columns!() by business_id: Int, transaction_id: Text }
    OPEN_BY_EXACT: query {
        select!(" where status = 'pending' and account_id = $1 and amount_kobo = $2 limit $3")
    }
    OPEN_BETWEEN: query {
        select!(" where status = 'pending' and account_id = $1 and amount_kobo between $2 and $3 limit $4")
    }
    OF_ABOUT: query {
        concat!(
            "select * from (", select!(" where status = 'pending' and account_id = $1 and amount_kobo between $3 and $4 \
                and business_id = $2 limit $5"), ") as asking union all \
             select * from (", select!(" where (status = 'rejected' or reversed_at is not null) and account_id = $1 \
                and approvable_until_at >= $6 and business_id + 0 = $2 and amount_kobo between $3 and $4 limit $5"), ") as ended"
        )
    }
    OPEN_BY_RULE: query {
        select!(" where status = 'pending' and rule_low_kobo is not null and account_id + 0 = $1 \
                 and rule_low_kobo between cast($2 as bigint) - 200 and cast($2 as bigint) and rule_high_kobo >= $2 \
                 limit $3")
    }
    OPEN_OF_OTHERS: query {
        concat!(
            "select * from (", select!(" where status = 'pending' and account_id = $1 and amount_kobo = $2 \
                and business_id < $3 limit 1"), ") as below union all \
             select * from (", select!(" where status = 'pending' and account_id = $1 and amount_kobo = $2 \
                and business_id > $3 limit 1"), ") as above union all \
             select * from (", select!(" where status = 'pending' and kind = 'topup' and account_id + 0 = $1 \
                and amount_kobo = $2 and business_id = $3 limit 1"), ") as topups"
        )
    }
    ENDED_BY_AMOUNT: query {
        concat!("select ", columns!(), " from payments where status <> 'pending' and account_id = $1 \
                 and amount_kobo between $2 and $3 and updated_at >= $4 limit $5")
    }
    UNPAID: query {
        select!(" where (status = 'rejected' or reversed_at is not null) and account_id = $1 \
                 and approvable_until_at >= $2 and (amount_kobo between $3 and $4 or rule_low_kobo <= $7 and rule_high_kobo >= $7) \
                 and updated_at >= $5 limit $6")
    }
    CORRECTED: query {
        "update payments set amount_kobo = $3, charge_percentage_kobo = $4, charge_fixed_kobo = $5, \
         business_receives_kobo = $6, rule_low_kobo = $7, rule_high_kobo = $8, corrections = $9, \
         name_keys = $3, updated_at = $10, version = version + 1 \
         where id = $1 and version = $2 and status = 'pending'"
    }
    APPROVED: query {
        "update payments set status = 'approved', matched_at = $3, approved_at = $4, updated_at = $4, \
         rejected_at = null, reject_reason = null, is_swept = 0, settlement_id = $5, received_kobo = $6, \
         charge_percentage_kobo = $7, charge_fixed_kobo = $8, business_receives_kobo = $9, is_mismatch = $10, \
         mismatch_reason = $11, is_name_mismatch = $12, version = version + 1 \
         where id = $1 and version = $2 and (status = 'pending' or (status = 'rejected' and is_swept = 1))"
    }
    REJECTED: query {
        "update payments set status = 'rejected', rejected_at = $3, updated_at = $3, reject_reason = $4, \
         is_swept = $5, version = version + 1 where id = $1 and version = $2 and status = 'pending'"
    }
    REVERSED: query {
        "update payments set reversed_at = $3, updated_at = $3, version = version + 1 \
         where id = $1 and version = $2 and status = 'approved' and reversed_at is null"
    }
    DUE_FOR_SWEEP: query {
        concat!("select ", columns!(), " from payments where status = 'pending' and kind <> 'wallet' \
                 and approvable_until_at < $1 and approvable_until_at > $2 \
                 order by approvable_until_at limit $3")
    }
}

/// Whose payments are no others', where those of other beneficiaries are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    pub business_id: i64,
    /// Of a top-up: its own is this wallet alone, to which the business's payments are as foreign as anybody's.
    pub wallet_id: Option<i64>,
}

impl Own {
    /// Everybody's are others'.
    pub const NOBODYS: Own = Own { business_id: 0, wallet_id: None };

    pub fn of(payment: &Payment) -> Own {
        let wallet_id = payment.wallet_id.filter(|_| payment.kind == Kind::Topup);
        Own { business_id: payment.business_id, wallet_id }
    }
}

pub(in crate::store) fn decode(row: Row) -> Result<Payment, StoreError> {
    decode_from(&mut row.reader("payments"))
}

/// The same of a row that has more.
pub(in crate::store) fn decode_from(r: &mut Reader) -> Result<Payment, StoreError> {
    Ok(Payment {
        id: r.int("id")?,
        business_id: r.int("business_id")?,
        transaction_id: r.text("transaction_id")?,
        kind: r.word("kind", Kind::parse)?,
        mode: r.word("mode", Mode::parse)?,
        status: r.word("status", Status::parse)?,
        version: r.int("version")?,
        amount: r.money("amount_kobo")?,
        charges: Charges {
            percentage: r.money("charge_percentage_kobo")?,
            fixed: r.money("charge_fixed_kobo")?,
        },
        business_receives: r.money("business_receives_kobo")?,
        schedule: Schedule {
            rate: r.int("schedule_rate")?,
            fixed: r.money("schedule_fixed_kobo")?,
            cap: r.opt_money("schedule_cap_kobo")?,
            paid_by_customer: r.flag("is_schedule_paid_by_customer")?,
            enabled: r.flag("is_schedule_enabled")?,
        },
        payer_name: r.text("payer_name")?,
        payer: payer(r)?,
        // No address is kept as an empty one: the column may not be null.
        webhook_url: Some(r.text("webhook_url")?).filter(|url| !url.is_empty()),
        website_id: r.opt_int("website_id")?,
        external_reference: r.opt_text("external_reference")?,
        account_id: r.opt_int("account_id")?,
        corrections: r.int("corrections")?,
        created_at: r.time("created_at")?,
        updated_at: r.time("updated_at")?,
        expires_at: r.time("expires_at")?,
        approvable_until: r.time("approvable_until_at")?,
        matched_at: r.opt_time("matched_at")?,
        approved_at: r.opt_time("approved_at")?,
        rejected_at: r.opt_time("rejected_at")?,
        reject_reason: r.opt_text("reject_reason")?,
        swept: r.flag("is_swept")?,
        reversed_at: r.opt_time("reversed_at")?,
        settlement_id: r.opt_int("settlement_id")?,
        received: r.opt_money("received_kobo")?,
        is_mismatch: r.flag("is_mismatch")?,
        mismatch_reason: r.opt_text("mismatch_reason")?,
        name_mismatch: r.flag("is_name_mismatch")?,
        wallet_id: r.opt_int("wallet_id")?,
        till_user_id: r.opt_int("till_user_id")?,
        link: link(r)?,
    })
}

fn link(r: &mut Reader) -> Result<Option<CheckoutLink>, StoreError> {
    let (nonce, key) = (r.opt_bytes("link_nonce")?, r.opt_int("link_key")?);
    let return_url = r.opt_text("return_url")?;
    Ok(nonce.zip(key).map(|(nonce, key)| CheckoutLink { nonce, key, return_url }))
}

fn payer(r: &mut Reader) -> Result<PayerDetails, StoreError> {
    Ok(PayerDetails {
        bank: r.opt_text("payer_bank")?,
        first_name: r.opt_text("first_name")?,
        last_name: r.opt_text("last_name")?,
        registration_number: r.opt_text("registration_number")?,
        service: r.opt_text("service")?,
    })
}

/// The step that brings a new payment into the database; `bvn` is sealed already. The rows of its name go with
/// it (`payment_names::add`).
pub fn add(payment: &Payment, bvn: Option<Vec<u8>>) -> Step {
    let rule = payment.rule_bounds();
    Step::insert(ADD {
        id: payment.id.into(),
        business_id: payment.business_id.into(),
        transaction_id: (&payment.transaction_id).into(),
        kind: payment.kind.as_str().into(),
        mode: payment.mode.as_str().into(),
        status: payment.status.as_str().into(),
        version: payment.version.into(),
        amount_kobo: payment.amount.into(),
        charge_percentage_kobo: payment.charges.percentage.into(),
        charge_fixed_kobo: payment.charges.fixed.into(),
        business_receives_kobo: payment.business_receives.into(),
        schedule_rate: payment.schedule.rate.into(),
        schedule_fixed_kobo: payment.schedule.fixed.into(),
        schedule_cap_kobo: payment.schedule.cap.into(),
        is_schedule_paid_by_customer: payment.schedule.paid_by_customer.into(),
        is_schedule_enabled: payment.schedule.enabled.into(),
        rule_low_kobo: rule.map(|(low, _)| low).into(),
        rule_high_kobo: rule.map(|(_, high)| high).into(),
        payer_name: (&payment.payer_name).into(),
        payer_bank: payment.payer.bank.as_ref().into(),
        first_name: payment.payer.first_name.as_ref().into(),
        last_name: payment.payer.last_name.as_ref().into(),
        bvn: bvn.into(),
        registration_number: payment.payer.registration_number.as_ref().into(),
        service: payment.payer.service.as_ref().into(),
        webhook_url: payment.webhook_url.as_deref().unwrap_or_default().into(),
        website_id: payment.website_id.into(),
        external_reference: payment.external_reference.as_ref().into(),
        account_id: payment.account_id.into(),
        corrections: payment.corrections.into(),
        created_at: payment.created_at.into(),
        updated_at: payment.updated_at.into(),
        expires_at: payment.expires_at.into(),
        approvable_until_at: payment.approvable_until.into(),
        is_swept: payment.swept.into(),
        is_mismatch: payment.is_mismatch.into(),
        is_name_mismatch: payment.name_mismatch.into(),
        name_keys: payment.amount.into(),
        wallet_id: payment.wallet_id.into(),
        till_user_id: payment.till_user_id.into(),
        link_nonce: payment.link.as_ref().map(|link| link.nonce.clone()).into(),
        link_key: payment.link.as_ref().map(|link| link.key).into(),
        return_url: payment.link.as_ref().and_then(|link| link.return_url.as_ref()).into(),
    })
}

/// Guarded by the version the correction was decided on; `after` is the corrected payment.
pub fn corrected(before: &Payment, after: &Payment) -> Step {
    let rule = after.rule_bounds();
    Step::one(
        &CORRECTED,
        vec![
            before.id.into(),
            before.version.into(),
            after.amount.into(),
            after.charges.percentage.into(),
            after.charges.fixed.into(),
            after.business_receives.into(),
            rule.map(|(low, _)| low).into(),
            rule.map(|(_, high)| high).into(),
            after.corrections.into(),
            after.updated_at.into(),
        ],
    )
}

/// Guarded by version; `after` is what `Payment::approve` answered.
pub fn approved(before: &Payment, after: &Payment) -> Step {
    Step::one(
        &APPROVED,
        vec![
            before.id.into(),
            before.version.into(),
            after.matched_at.into(),
            after.approved_at.into(),
            after.settlement_id.into(),
            after.received.into(),
            after.charges.percentage.into(),
            after.charges.fixed.into(),
            after.business_receives.into(),
            after.is_mismatch.into(),
            after.mismatch_reason.as_ref().into(),
            after.name_mismatch.into(),
        ],
    )
}

/// Guarded by version; `after` is what `Payment::reject` answered.
pub fn rejected(before: &Payment, after: &Payment) -> Step {
    Step::one(
        &REJECTED,
        vec![
            before.id.into(),
            before.version.into(),
            after.updated_at.into(),
            after.reject_reason.as_ref().into(),
            after.swept.into(),
        ],
    )
}

/// Guarded by version.
pub fn reversed(before: &Payment, at: Timestamp) -> Step {
    Step::one(&REVERSED, vec![before.id.into(), before.version.into(), at.into()])
}

impl Store {
    pub async fn payment(&self, id: i64) -> Result<Option<Payment>, StoreError> {
        self.read_one(&BY_ID, vec![id.into()]).await?.map(decode).transpose()
    }

    pub async fn payment_by_transaction(
        &self,
        business_id: i64,
        transaction_id: &str,
    ) -> Result<Option<Payment>, StoreError> {
        let params = vec![business_id.into(), transaction_id.into()];
        self.read_one(&BY_TRANSACTION, params).await?.map(decode).transpose()
    }

    /// Open payments of the account of exactly this amount: all, or any `limit` of them.
    pub async fn open_payments(
        &self,
        account_id: i64,
        amount: Money,
        limit: usize,
    ) -> Result<Vec<Payment>, StoreError> {
        let params: Vec<Value> = vec![account_id.into(), amount.into(), (limit as i64).into()];
        self.read(&OPEN_BY_EXACT, params).await?.into_iter().map(decode).collect()
    }

    /// Open payments of the account with an amount between two, both included: all, or any `limit` of them.
    pub async fn open_payments_between(
        &self,
        account_id: i64,
        amounts: (Money, Money),
        limit: usize,
    ) -> Result<Vec<Payment>, StoreError> {
        let params = vec![account_id.into(), amounts.0.into(), amounts.1.into(), (limit as i64).into()];
        self.read(&OPEN_BETWEEN, params).await?.into_iter().map(decode).collect()
    }

    /// Open payments of the account that `received` would pay under the charges rule: all, or any `limit` of
    /// them.
    pub async fn open_payments_by_rule(
        &self,
        account_id: i64,
        received: Money,
        limit: usize,
    ) -> Result<Vec<Payment>, StoreError> {
        debug_assert_eq!(RULE_TOLERANCE_KOBO, 100, "the width in OPEN_BY_RULE is twice the tolerance");
        let params: Vec<Value> = vec![account_id.into(), received.into(), (limit as i64).into()];
        self.read(&OPEN_BY_RULE, params).await?.into_iter().map(decode).collect()
    }

    /// Payments of a business on an account, of an amount between two, both included: open ones, and those that were rejected or
    /// reversed and could be approved after then, as many of each.
    pub async fn payments_of_about(
        &self,
        (account_id, business_id): (i64, i64),
        amounts: (Money, Money),
        (limit, approvable_after): (usize, Timestamp),
    ) -> Result<Vec<Payment>, StoreError> {
        let mut params = vec![account_id.into(), business_id.into(), amounts.0.into(), amounts.1.into()];
        params.extend([(limit as i64).into(), approvable_after.into()]);
        self.read(&OF_ABOUT, params).await?.into_iter().map(decode).collect()
    }

    /// Payments whose links are found under a number: those of a token's hash, of which the caller knows the right one.
    pub async fn payments_by_link(&self, key: i64, limit: i64) -> Result<Vec<Payment>, StoreError> {
        self.read(&BY_LINK, vec![key.into(), limit.into()]).await?.into_iter().map(decode).collect()
    }

    /// Open payments of exactly this amount on the account that are not the business's own, top-ups included: one
    /// or a few of them, if there are any.
    pub async fn open_payments_of_others(
        &self,
        account_id: i64,
        amount: Money,
        business_id: i64,
    ) -> Result<Vec<Payment>, StoreError> {
        let params = vec![account_id.into(), amount.into(), business_id.into()];
        self.read(&OPEN_OF_OTHERS, params).await?.into_iter().map(decode).collect()
    }

    /// Ended payments of the account around an amount, for suggestions.
    pub async fn ended_payments(
        &self,
        account_id: i64,
        amounts: (Money, Money),
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<Payment>, StoreError> {
        let params =
            vec![account_id.into(), amounts.0.into(), amounts.1.into(), since.into(), (limit as i64).into()];
        self.read(&ENDED_BY_AMOUNT, params).await?.into_iter().map(decode).collect()
    }

    /// Payments of the account that were rejected or reversed since a time and that an alert could have approved after
    /// another, of an amount between two, both included, or which the charges rule lets so much received pay: all, or any
    /// `limit` of them.
    pub async fn unpaid_payments(
        &self,
        account_id: i64,
        (amounts, received): ((Money, Money), Money),
        (approvable_after, since): (Timestamp, Timestamp),
        limit: usize,
    ) -> Result<Vec<Payment>, StoreError> {
        let params = vec![
            account_id.into(),
            approvable_after.into(),
            amounts.0.into(),
            amounts.1.into(),
            since.into(),
            (limit as i64).into(),
            received.into(),
        ];
        self.read(&UNPAID, params).await?.into_iter().map(decode).collect()
    }

    /// Open payments whose late window ended between two times, oldest first.
    pub async fn payments_to_sweep(
        &self,
        after: Timestamp,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<Payment>, StoreError> {
        let params = vec![now.into(), after.into(), (limit as i64).into()];
        self.read(&DUE_FOR_SWEEP, params).await?.into_iter().map(decode).collect()
    }
}

/// Name of the statement that [`corrected`] runs: lost there means the payment changed meanwhile.
pub fn is_correction(statement: &str) -> bool {
    statement == CORRECTED.name
}
