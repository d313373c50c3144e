//! Payment intents, tries of PINs, and one-time codes: rows and the guarded steps that change them.
//!
//! An intent's row is changed only while it waits (`state = 'pending_pin'`), so of two who end it at once
//! one is lost. Neither tokens nor codes are kept: a hash, or nothing. Used by ops alone.

use crate::domain::intent::{FormKey, Intent, IntentEnd, IntentState, LINK_LIFETIME_MAX, PinCode};
use crate::domain::time::Timestamp;
use crate::domain::wallet::STOP_SHARE;
use crate::store::engine::sql::statements;
use crate::store::{Row, Step, Store, StoreError};

macro_rules! columns {
    () => {
        "id, business_id, wallet_id, payment_id, nonce, state, end_reason, tries, wrong_tries, amount_kobo, \
         order_reference, order_summary, link_base, idempotency_key, fingerprint, message_id, created_at, expires_at, \
         ended_at"
    };
}

statements! {
    ADD: insert(payment_intents) {
        id: Int, business_id: Int, wallet_id: Int, payment_id: Int, nonce: Bytes, token_hash: Bytes, state: Text,
        tries: Int, wrong_tries: Int, amount_kobo: Int, order_reference: Text, order_summary: Text, link_base: Text,
        idempotency_key: Text, fingerprint: Bytes, message_id: Int, created_at: Int, expires_at: Int
    }
    BY_ID: query { concat!("select ", columns!(), " from payment_intents where id = $1") }
    BY_TOKEN: query { concat!("select ", columns!(), " from payment_intents where token_hash = $1") }
    BY_PAYMENT: query { concat!("select ", columns!(), " from payment_intents where payment_id = $1") }
    BY_KEY: query {
        concat!("select ", columns!(), " from payment_intents where business_id = $1 and idempotency_key = $2")
    }
    DUE: query {
        concat!("select ", columns!(), " from payment_intents where state = 'pending_pin' and expires_at <= $1 \
                 and expires_at > $2 order by expires_at limit $3")
    }
    WAITING_AT: query {
        concat!("select ", columns!(), " from payment_intents where wallet_id = $1 and created_at > $2 and created_at <= $3 \
                 and (ended_at is null or ended_at > $3) and expires_at > $3 order by created_at desc limit 1")
    }
    PAID_SINCE: query {
        "select distinct business_id from payment_intents where wallet_id = $1 and created_at >= $2 \
         and state || '' = 'completed' and ended_at >= $4 limit $3"
    }
    TAKE_PLACE: query {
        "update payment_intents set tries = tries + 1 \
         where id = $1 and state = 'pending_pin' and tries < 5 and expires_at > $2"
    }
    GIVE_PLACE_BACK: query { "update payment_intents set tries = tries - 1 where id = $1 and tries > wrong_tries" }
    COUNT_WRONG: query {
        "update payment_intents set wrong_tries = wrong_tries + 1 \
         where id = $1 and state = 'pending_pin' and wrong_tries = $2"
    }
    COUNT_LAST_WRONG: query {
        "update payment_intents set wrong_tries = wrong_tries + 1, state = 'failed', end_reason = 'wrong_pins', \
         ended_at = $3 where id = $1 and state = 'pending_pin' and wrong_tries = $2"
    }
    END: query {
        "update payment_intents set state = $2, end_reason = $3, ended_at = $4 \
         where id = $1 and state = 'pending_pin'"
    }
    COMPLETE: query {
        "update payment_intents set state = 'completed', end_reason = 'paid', ended_at = $2, tries = tries - 1 \
         where id = $1 and state = 'pending_pin' and tries > wrong_tries"
    }
    ADD_TRY: insert(pin_tries) {
        id: Int, wallet_id: Int, business_id: Int, intent_id: Int, is_test: Int, outcome: Text, is_cleared: Int, tried_at: Int,
        form_key: Bytes
    }
    TRY_WAS_WRONG: query { "update pin_tries set outcome = 'wrong' where id = $1 and outcome = 'open'" }
    TRY_WAS_RIGHT: query {
        "update pin_tries set outcome = 'right', form_key = null where id = $1 and outcome = 'open'"
    }
    WEBHOOKS_TO_COME: query {
        "select p.webhook_url, 1 as is_open from payment_intents i join payments p on p.id = i.payment_id \
         where i.state = 'pending_pin' and i.expires_at > 0 and i.business_id = $1 \
         union all select p.webhook_url, 0 as is_open from jobs j join events e on e.id = j.subject_id \
         join payments p on p.id = e.payment_id where j.kind = 'deliver' and j.done_at is null and j.tries = 0 \
         and j.business_id = $1 and p.kind = 'wallet' \
         union all select p.webhook_url, 0 as is_open from jobs j join events e on e.id = j.subject_id \
         join payments p on p.id = e.payment_id where j.kind = 'deliver' and j.done_at is null and j.tries > 0 \
         and j.business_id = $1 and p.kind = 'wallet' limit $2"
    }
    TRY_OF_FORM: query { "select outcome from pin_tries where intent_id = $1 and form_key = $2" }
    CLEAR_TRIES: query { "update pin_tries set is_cleared = 1 where wallet_id = $1 and is_cleared = 0 and outcome = 'wrong'" }
    WALLET_TRIES: query {
        "select coalesce(sum(case when outcome = 'wrong' then 1 else 0 end), 0) as wrong, \
         coalesce(sum(case when outcome = 'open' and tried_at > $3 then 1 else 0 end), 0) as being_checked \
         from pin_tries where wallet_id = $1 and tried_at > $2 and is_cleared = 0"
    }
    BUSINESS_TRIES: query {
        "select cast(coalesce(sum(wrong), 0) as bigint) as wrong, \
         cast(coalesce(sum(case when wrong + running < $5 then running else $5 - wrong end), 0) as bigint) as being_checked from ( \
           select case when wrong < $5 then wrong else $5 end as wrong, running from ( \
             select sum(case when outcome = 'wrong' or id = $4 then 1 else 0 end) as wrong, \
             sum(case when outcome = 'open' and id <> $4 and tried_at > $3 then 1 else 0 end) as running \
             from pin_tries where business_id = $1 and tried_at > $2 and is_test = 0 group by wallet_id) as all_of_one) as counted"
    }
    ADD_CODE: insert(pin_codes) {
        id: Int, wallet_id: Int, intent_id: Int, nonce: Bytes, tries: Int, created_at: Int, expires_at: Int,
        form_key: Bytes
    }
    CODE_OF_FORM: query { "select count(*) from pin_codes where intent_id = $1 and form_key = $2" }
    ADD_CODE_TRY: insert(code_tries) { code_id: Int, form_key: Bytes, tried_at: Int }
    CODE_TRY_OF_FORM: query { "select count(*) from code_tries where code_id = $1 and form_key = $2" }
    CODE: query {
        "select id, wallet_id, intent_id, nonce, tries, used_at, unlocked, created_at, expires_at from pin_codes where id = $1"
    }
    NEWEST_CODE: query {
        "select id, wallet_id, intent_id, nonce, tries, used_at, unlocked, created_at, expires_at from pin_codes \
         where wallet_id = $1 order by created_at desc, id desc limit 1"
    }
    CODES_SINCE: query {
        "select count(*) as count, coalesce(min(created_at), 0) as created_at \
         from pin_codes where wallet_id = $1 and created_at > $2"
    }
    TRY_CODE: query {
        "update pin_codes set tries = tries + 1 where id = $1 and tries < 5 and used_at is null and expires_at > $2"
    }
    USE_CODE: query { "update pin_codes set used_at = $2, unlocked = $3 where id = $1 and used_at is null" }
}

/// A try that a form took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormTry {
    /// It is being checked, or its process died.
    Open,
    Wrong,
}

/// Codes that were made since a time.
#[derive(Clone, Copy, Debug)]
pub struct CodesSince {
    pub count: i64,
    pub first: Timestamp,
}

fn decode(row: Row) -> Result<Intent, StoreError> {
    let r = &mut row.reader("payment_intents");
    Ok(Intent {
        id: r.int("id")?,
        business_id: r.int("business_id")?,
        wallet_id: r.int("wallet_id")?,
        payment_id: r.int("payment_id")?,
        nonce: r.bytes("nonce")?,
        state: r.word("state", IntentState::parse)?,
        end: r.opt_word("end_reason", IntentEnd::parse)?,
        tries: r.int("tries")?,
        wrong_tries: r.int("wrong_tries")?,
        amount: r.money("amount_kobo")?,
        order_reference: r.text("order_reference")?,
        order_summary: r.opt_text("order_summary")?,
        link_base: r.text("link_base")?,
        idempotency_key: r.text("idempotency_key")?,
        fingerprint: r.bytes("fingerprint")?,
        message_id: r.int("message_id")?,
        created_at: r.time("created_at")?,
        expires_at: r.time("expires_at")?,
        ended_at: r.opt_time("ended_at")?,
    })
}

fn code(row: Row) -> Result<PinCode, StoreError> {
    let r = &mut row.reader("pin_codes");
    Ok(PinCode {
        id: r.int("id")?,
        wallet_id: r.int("wallet_id")?,
        intent_id: r.int("intent_id")?,
        nonce: r.bytes("nonce")?,
        tries: r.int("tries")?,
        used_at: r.opt_time("used_at")?,
        unlocked: r.opt_int("unlocked")? == Some(1),
        created_at: r.time("created_at")?,
        expires_at: r.time("expires_at")?,
    })
}

/// A new intent; refused when its business has used the idempotency key before.
pub fn add(intent: &Intent, token_hash: &[u8]) -> Step {
    Step::insert(ADD {
        id: intent.id.into(),
        business_id: intent.business_id.into(),
        wallet_id: intent.wallet_id.into(),
        payment_id: intent.payment_id.into(),
        nonce: intent.nonce.as_slice().into(),
        token_hash: token_hash.into(),
        state: intent.state.as_str().into(),
        tries: intent.tries.into(),
        wrong_tries: intent.wrong_tries.into(),
        amount_kobo: intent.amount.into(),
        order_reference: (&intent.order_reference).into(),
        order_summary: intent.order_summary.as_ref().into(),
        link_base: (&intent.link_base).into(),
        idempotency_key: (&intent.idempotency_key).into(),
        fingerprint: intent.fingerprint.as_slice().into(),
        message_id: intent.message_id.into(),
        created_at: intent.created_at.into(),
        expires_at: intent.expires_at.into(),
    })
}

/// Takes one of the five places; lost when there is none, or the intent has ended.
pub fn take_place(intent_id: i64, now: Timestamp) -> Step {
    Step::one(&TAKE_PLACE, vec![intent_id.into(), now.into()])
}

/// Gives a place back that was not used up by a wrong PIN.
pub fn give_place_back(intent_id: i64) -> Step {
    Step::any(&GIVE_PLACE_BACK, vec![intent_id.into()])
}

/// Counts a checked wrong try that is not the last; guarded by the number before.
pub fn count_wrong(intent: &Intent) -> Step {
    Step::one(&COUNT_WRONG, vec![intent.id.into(), intent.wrong_tries.into()])
}

/// Counts the last one and ends the intent.
pub fn count_last_wrong(intent: &Intent, now: Timestamp) -> Step {
    Step::one(&COUNT_LAST_WRONG, vec![intent.id.into(), intent.wrong_tries.into(), now.into()])
}

/// Ends a waiting intent without payment.
pub fn end(intent_id: i64, end: IntentEnd, now: Timestamp) -> Step {
    Step::one(&END, vec![intent_id.into(), end.state().as_str().into(), end.as_str().into(), now.into()])
}

/// Ends a waiting intent as paid, and gives back the place of the right PIN.
pub fn complete(intent_id: i64, now: Timestamp) -> Step {
    Step::one(&COMPLETE, vec![intent_id.into(), now.into()])
}

/// Notes a try before it is checked; refused when the same form has one that was wrong or is being checked.
pub fn add_try(id: i64, intent: &Intent, is_test: bool, form: Option<&FormKey>, now: Timestamp) -> Step {
    Step::insert(ADD_TRY {
        id: id.into(),
        wallet_id: intent.wallet_id.into(),
        business_id: intent.business_id.into(),
        intent_id: intent.id.into(),
        is_test: i64::from(is_test).into(),
        outcome: "open".into(),
        is_cleared: 0.into(),
        tried_at: now.into(),
        form_key: form.map(FormKey::as_slice).into(),
    })
}

/// What came of a try; once. A right PIN cost nothing, so its form may be sent again.
pub fn judge_try(id: i64, is_right: bool) -> Step {
    Step::one(if is_right { &TRY_WAS_RIGHT } else { &TRY_WAS_WRONG }, vec![id.into()])
}

/// The wallet's wrong tries do not count against it any more; against a business they do.
pub fn clear_tries(wallet_id: i64) -> Step {
    Step::any(&CLEAR_TRIES, vec![wallet_id.into()])
}

/// A new code; refused when the same form has asked for one.
pub fn add_code(code: &PinCode, form: Option<&FormKey>) -> Step {
    Step::insert(ADD_CODE {
        id: code.id.into(),
        wallet_id: code.wallet_id.into(),
        intent_id: code.intent_id.into(),
        nonce: code.nonce.as_slice().into(),
        tries: code.tries.into(),
        created_at: code.created_at.into(),
        expires_at: code.expires_at.into(),
        form_key: form.map(FormKey::as_slice).into(),
    })
}

/// Counts a try of a code before it is compared; lost when the code has ended.
pub fn try_code(id: i64, now: Timestamp) -> Step {
    Step::one(&TRY_CODE, vec![id.into(), now.into()])
}

/// With [`try_code`]: the form that tries it; refused when it has done so before.
pub fn add_code_try(code_id: i64, form: &FormKey, now: Timestamp) -> Step {
    Step::insert(ADD_CODE_TRY {
        code_id: code_id.into(),
        form_key: form.as_slice().into(),
        tried_at: now.into(),
    })
}

/// A code is used once.
pub fn use_code(id: i64, unlocks: bool, now: Timestamp) -> Step {
    Step::one(&USE_CODE, vec![id.into(), now.into(), unlocks.into()])
}

impl Store {
    /// Where webhooks of the business's wallet payments are still to go: each URL, and whether its payment is open
    /// (else its event is not delivered yet). At most `limit`.
    pub async fn wallet_webhooks_to_come(
        &self,
        business_id: i64,
        limit: usize,
    ) -> Result<Vec<(String, bool)>, StoreError> {
        let params = vec![business_id.into(), (limit as i64).into()];
        let rows = self.read(&WEBHOOKS_TO_COME, params).await?;
        rows.into_iter()
            .map(|row| {
                let mut r = row.reader("payments");
                Ok((r.text("webhook_url")?, r.int("is_open")? == 1))
            })
            .collect()
    }

    /// Businesses that a wallet has paid since then, whenever that was asked for.
    pub async fn businesses_paid_by_wallet(
        &self,
        wallet_id: i64,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<i64>, StoreError> {
        // It may have been asked for before: its link lives for minutes.
        let params =
            vec![wallet_id.into(), (since - LINK_LIFETIME_MAX).into(), (limit as i64).into(), since.into()];
        let rows = self.read(&PAID_SINCE, params).await?;
        rows.into_iter().map(|row| row.single_int("payment_intents")).collect()
    }

    pub async fn intent(&self, id: i64) -> Result<Option<Intent>, StoreError> {
        self.read_one(&BY_ID, vec![id.into()]).await?.map(decode).transpose()
    }

    pub async fn intent_by_token(&self, token_hash: &[u8]) -> Result<Option<Intent>, StoreError> {
        self.read_one(&BY_TOKEN, vec![token_hash.into()]).await?.map(decode).transpose()
    }

    pub async fn intent_of_payment(&self, payment_id: i64) -> Result<Option<Intent>, StoreError> {
        self.read_one(&BY_PAYMENT, vec![payment_id.into()]).await?.map(decode).transpose()
    }

    pub async fn intent_by_key(&self, business_id: i64, key: &str) -> Result<Option<Intent>, StoreError> {
        self.read_one(&BY_KEY, vec![business_id.into(), key.into()]).await?.map(decode).transpose()
    }

    /// The newest intent of a wallet that could be confirmed at that time.
    pub async fn intent_waiting_at(
        &self,
        wallet_id: i64,
        now: Timestamp,
    ) -> Result<Option<Intent>, StoreError> {
        let params = vec![wallet_id.into(), (now - LINK_LIFETIME_MAX).into(), now.into()];
        self.read_one(&WAITING_AT, params).await?.map(decode).transpose()
    }

    /// Waiting intents whose time ended between two times, oldest first.
    pub async fn intents_to_expire(
        &self,
        after: Timestamp,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<Intent>, StoreError> {
        let params = vec![now.into(), after.into(), (limit as i64).into()];
        self.read(&DUE, params).await?.into_iter().map(decode).collect()
    }

    /// Wrong tries of a wallet since a time that were not cleared, and tries begun after `open_since`
    /// that are being checked.
    pub async fn wallet_tries(
        &self,
        wallet_id: i64,
        since: Timestamp,
        open_since: Timestamp,
    ) -> Result<(i64, i64), StoreError> {
        let params = vec![wallet_id.into(), since.into(), open_since.into()];
        let Some(row) = self.read_one(&WALLET_TRIES, params).await? else { return Ok((0, 0)) };
        let mut r = row.reader("pin_tries");
        Ok((r.int("wrong")?, r.int("being_checked")?))
    }

    /// Wrong tries on a business's intents since a time, and tries begun after `open_since` that are being
    /// checked; of one wallet's [`STOP_SHARE`] at most. `judged` counts as wrong already.
    pub async fn business_tries(
        &self,
        business_id: i64,
        since: Timestamp,
        open_since: Timestamp,
        judged: Option<i64>,
    ) -> Result<(i64, i64), StoreError> {
        let judged = judged.unwrap_or(0);
        let params =
            vec![business_id.into(), since.into(), open_since.into(), judged.into(), STOP_SHARE.into()];
        let Some(row) = self.read_one(&BUSINESS_TRIES, params).await? else { return Ok((0, 0)) };
        let mut r = row.reader("pin_tries");
        Ok((r.int("wrong")?, r.int("being_checked")?))
    }

    /// What a form that comes again was before, if it was not right.
    pub async fn try_of_form(&self, intent_id: i64, form: &FormKey) -> Result<Option<FormTry>, StoreError> {
        let params = vec![intent_id.into(), form.as_slice().into()];
        let Some(row) = self.read_one(&TRY_OF_FORM, params).await? else { return Ok(None) };
        let outcome = row.reader("pin_tries").text("outcome")?;
        Ok(Some(if outcome == "open" { FormTry::Open } else { FormTry::Wrong }))
    }

    /// Whether this form has asked for a code.
    pub async fn has_asked_for_code(&self, intent_id: i64, form: &FormKey) -> Result<bool, StoreError> {
        let params = vec![intent_id.into(), form.as_slice().into()];
        let row = self.read_one(&CODE_OF_FORM, params).await?;
        Ok(row.map_or(Ok(0), |row| row.single_int("pin_codes"))? > 0)
    }

    /// Whether this form has tried the code; it was counted then.
    pub async fn has_tried_code(&self, code_id: i64, form: &FormKey) -> Result<bool, StoreError> {
        let params = vec![code_id.into(), form.as_slice().into()];
        let row = self.read_one(&CODE_TRY_OF_FORM, params).await?;
        Ok(row.map_or(Ok(0), |row| row.single_int("code_tries"))? > 0)
    }

    pub async fn pin_code(&self, id: i64) -> Result<Option<PinCode>, StoreError> {
        self.read_one(&CODE, vec![id.into()]).await?.map(code).transpose()
    }

    /// The only code of a wallet that may count.
    pub async fn newest_code(&self, wallet_id: i64) -> Result<Option<PinCode>, StoreError> {
        self.read_one(&NEWEST_CODE, vec![wallet_id.into()]).await?.map(code).transpose()
    }

    /// A wallet's codes since a time.
    pub async fn codes_since(&self, wallet_id: i64, since: Timestamp) -> Result<CodesSince, StoreError> {
        let values = vec![wallet_id.into(), since.into()];
        let Some(row) = self.read_one(&CODES_SINCE, values).await? else {
            return Ok(CodesSince { count: 0, first: since });
        };
        let mut r = row.reader("pin_codes");
        Ok(CodesSince { count: r.int("count")?, first: r.time("created_at")? })
    }
}
