//! Alerts: what a mail said, what became of it, and the keys by which a copy is known.
//!
//! An alert is stored as `new` before anything is decided; each later change is guarded by its
//! version. The mail itself lies in `mails` for 90 days; keys are kept for ever.

use crate::domain::alert::{
    AlertFacts, AlertKind, AlertRow, AlertStatus, Authenticity, Balance, BankTime, Direction, TimePrecision,
};
use crate::domain::money::Money;
use crate::domain::name::words_key;
use crate::domain::time::Timestamp;
use crate::store::engine::sql::{InsertRow, statements};
use crate::store::{Row, Step, Store, StoreError};

macro_rules! columns {
    () => {
        "id, status, version, settlement_id, source, authenticity, bank, template, direction, kind, \
         amount_kobo, currency, account_shown, account_id, virtual_account, virtual_amount_kobo, virtual_day, \
         holder_name, payer_name, is_payer_name_cut, payer_account, payer_bank, narration, reference, \
         is_reference_unique, session_id, bank_time_begin_at, bank_time_end_at, bank_time_precision, \
         balance_kind, balance_kobo, doubts, message_id, mail_from, subject, mailed_at, first_seen_at, \
         decided_at, payment_id, linked_alert_id, reason, evidence, authentic_by, dismissed_from, simulated_for, \
         remarks, is_narration_cut"
    };
}

pub mod alike;
pub mod of_payer;
pub mod quarantine;
pub mod search;
pub mod unread;
pub mod walk;

/// Mails forgotten in one step, which the statement holds as a literal.
pub const FORGET_MAILS_BATCH: usize = 1_000;

statements! {
    ADD: insert(alerts) {
        id: Int, status: Text, version: Int, source: Text, authenticity: Text, bank: Text, template: Text,
        direction: Text, kind: Text, amount_kobo: Int, currency: Text, account_shown: Text, account_id: Int,
        virtual_account: Text, virtual_amount_kobo: Int, virtual_day: Int, holder_name: Text,
        payer_name: Text, is_payer_name_cut: Int, payer_account: Text, payer_bank: Text, narration: Text,
        reference: Text, is_reference_unique: Int, session_id: Text, bank_time_begin_at: Int,
        bank_time_end_at: Int, bank_time_precision: Text, balance_kind: Text, balance_kobo: Int,
        doubts: Text, message_id: Text, mail_from: Text, subject: Text, mailed_at: Int, first_seen_at: Int,
        decided_at: Int, linked_alert_id: Int, reason: Text, evidence: Text, authentic_by: Text, is_told_as_lost: Int,
        simulated_for: Int, payer_key: Text, remarks: Text, is_narration_cut: Int
    }
    REWRITTEN: query {
        "update alerts set version = version + 1, status = $2, source = $4, authenticity = $5, bank = $6, \
         template = $7, direction = $8, kind = $9, amount_kobo = $10, currency = $11, account_shown = $12, \
         account_id = $13, virtual_account = $14, virtual_amount_kobo = $15, virtual_day = $16, holder_name = \
         $17, payer_name = $18, is_payer_name_cut = $19, payer_account = $20, payer_bank = $21, narration = \
         $22, reference = $23, is_reference_unique = $24, session_id = $25, bank_time_begin_at = $26, \
         bank_time_end_at = $27, bank_time_precision = $28, balance_kind = $29, balance_kobo = $30, doubts = \
         $31, message_id = $32, mail_from = $33, subject = $34, mailed_at = $35, first_seen_at = $36, \
         decided_at = $37, linked_alert_id = $38, reason = $39, evidence = $40, authentic_by = $41, is_told_as_lost = $42, simulated_for = $43, payer_key = $44, \
         remarks = $45, is_narration_cut = $46 where id = \
         $1 and version = $3 and (status in ('quarantined', 'unreadable', 'ignored') or (status = 'review' and \
         account_id is null))"
    }
    RAW: query { "select raw from mails where alert_id = $1" }
    ADD_KEY: insert(alert_keys) { kind: Text, key: Text, alert_id: Int }
    ADD_MAIL: insert(mails) { alert_id: Int, raw: Bytes, kept_until_at: Int, digest: Bytes }
    BY_ID: query { concat!("select ", columns!(), " from alerts where id = $1") }
    SIMULATED: query {
        concat!("select ", columns!(), " from alerts where simulated_for = $1 \
                 order by first_seen_at desc, id desc limit $2")
    }
    KEY_OWNER: query { "select alert_id from alert_keys where kind = $1 and key = $2" }
    DECIDED: query {
        "update alerts set status = $3, reason = $4, evidence = $5, decided_at = $6, version = version + 1 \
         where id = $1 and version = $2 and status in ('new', 'review', 'unmatched')"
    }
    MATCHED: query {
        "update alerts set status = 'matched', settlement_id = $3, payment_id = $4, matched_at = $5, \
         decided_at = $5, reason = $6, evidence = $7, authentic_by = coalesce(authentic_by, $8), is_told_as_lost = case when cast($9 as bigint) = 1 then 1 else is_told_as_lost end, kind = case when kind in ('fee', 'own_transfer') then 'payment' else \
         kind end, version = version + 1 where id = $1 and version = $2 and (status in ('new', 'review', 'unmatched') \
         or (status = 'ignored' and direction = 'credit' and kind in ('fee', 'own_transfer')) or (status = 'dismissed' \
         and coalesce(dismissed_from, 'review') in ('review', 'unmatched', 'ignored')))"
    }
    UNMATCHED_AGAIN: query {
        "update alerts set status = $3, settlement_id = null, payment_id = null, matched_at = null, \
         reason = $4, doubts = $5, version = version + 1 where id = $1 and version = $2 and status = 'matched'"
    }
    DISMISSED: query {
        "update alerts set status = 'dismissed', dismissed_from = status, reason = $3, decided_at = $4, \
         version = version + 1 \
         where id = $1 and version = $2 and (status in ('review', 'unmatched', 'quarantined', 'unreadable') \
         or status = 'ignored' and (direction = 'debit' or kind in ('fee', 'own_transfer', 'reversal')))"
    }
    HELD: query {
        "update alerts set status = 'review', reason = $3, linked_alert_id = $4, doubts = $5, version = version + 1 \
         where id = $1 and version = $2 and status in ('new', 'review', 'unmatched')"
    }
    PLACED: query {
        "update alerts set status = 'new', account_id = $3, doubts = $4, decided_at = null, version = version + 1 \
         where id = $1 and version = $2 and status = 'review' and account_id is null"
    }
    ALARM: query {
        "insert into alert_alarms (credit_id, undoing_id, raised_at) values ($1, $2, $3) on conflict do nothing"
    }
    LINK: query { "update alerts set linked_alert_id = $2, version = version + 1 where id = $1" }
    UNDID: query { "update alerts set linked_alert_id = $3, version = version + 1 where id = $1 and version = $2" }
    WAITING_ON_ACCOUNT: query {
        concat!("select ", columns!(), " from alerts where account_id = $1 and amount_kobo between $2 and $3 \
                 and first_seen_at >= $4 and status in ('new', 'review', 'unmatched') \
                 and coalesce(simulated_for, $6) = $6 order by first_seen_at limit $5")
    }
    UNDECIDED_ON_ACCOUNT: query {
        "select count(*) from alerts where account_id = $1 and status = 'new'"
    }
    RAISE_AMOUNT_VERSION: query {
        "insert into amount_clocks (account_id, amount_kobo, ticks) values ($1, $2, 1) \
         on conflict (account_id, amount_kobo) do update set ticks = amount_clocks.ticks + 1"
    }
    RAISE_AMOUNT_VERSION_FROM: query {
        "insert into amount_clocks (account_id, amount_kobo, ticks) values ($1, $2, 1) \
         on conflict (account_id, amount_kobo) do update set ticks = amount_clocks.ticks + 1 \
         where amount_clocks.ticks = $3"
    }
    AMOUNT_VERSION: query { "select ticks from amount_clocks where account_id = $1 and amount_kobo = $2" }
    FORGET_MAILS: query {
        "delete from mails where kept_until_at < $1 \
         and alert_id in (select alert_id from mails where kept_until_at < $1 limit 1000) returning alert_id"
    }
}

fn decode(row: Row) -> Result<AlertRow, StoreError> {
    let mut r = row.reader("alerts");
    let id = r.int("id")?;
    let status = r.word("status", AlertStatus::parse)?;
    let version = r.int("version")?;
    let settlement_id = r.opt_int("settlement_id")?;
    let source = r.text("source")?;
    let authenticity = r.word("authenticity", Authenticity::parse)?;
    let mut facts = AlertFacts {
        bank: r.opt_text("bank")?,
        template: r.opt_text("template")?,
        direction: r.opt_word("direction", Direction::parse)?,
        kind: r.opt_word("kind", AlertKind::parse)?,
        amount: r.opt_money("amount_kobo")?,
        currency: r.opt_text("currency")?,
        account_number: r.opt_text("account_shown")?,
        ..AlertFacts::default()
    };
    let account_id = r.opt_int("account_id")?;
    facts.virtual_account = r.opt_text("virtual_account")?;
    facts.virtual_amount = r.opt_money("virtual_amount_kobo")?;
    facts.virtual_day = r.opt_int("virtual_day")?;
    facts.holder_name = r.opt_text("holder_name")?;
    facts.payer_name = r.opt_text("payer_name")?;
    facts.payer_name_cut = r.flag("is_payer_name_cut")?;
    facts.payer_account_number = r.opt_text("payer_account")?;
    facts.payer_bank = r.opt_text("payer_bank")?;
    facts.narration = r.opt_text("narration")?;
    facts.narration_cut = r.flag("is_narration_cut")?;
    facts.remarks = r.opt_text("remarks")?;
    facts.reference = r.opt_text("reference")?;
    facts.reference_is_unique = r.flag("is_reference_unique")?;
    facts.session_id = r.opt_text("session_id")?;
    let (begin, end) = (r.opt_time("bank_time_begin_at")?, r.opt_time("bank_time_end_at")?);
    let precision = r.word("bank_time_precision", TimePrecision::parse)?;
    facts.occurred = match (begin, end) {
        (Some(begin), Some(end)) => Some(BankTime { begin, end, precision }),
        _ => None,
    };
    let balance_kind = r.opt_text("balance_kind")?;
    let balance = r.opt_money("balance_kobo")?;
    facts.balance = match (balance_kind.as_deref(), balance) {
        (Some("available"), Some(money)) => Some(Balance::Available(money)),
        (Some("ledger"), Some(money)) => Some(Balance::Ledger(money)),
        (None, None) => None,
        _ => return Err(r.corrupt("balance_kind")),
    };
    facts.doubts = r.text("doubts")?.lines().map(str::to_owned).collect();
    Ok(AlertRow {
        id,
        status,
        version,
        settlement_id,
        source,
        authenticity,
        facts,
        account_id,
        message_id: r.opt_text("message_id")?,
        mail_from: r.opt_text("mail_from")?,
        subject: r.opt_text("subject")?,
        mailed_at: r.opt_time("mailed_at")?,
        first_seen: r.time("first_seen_at")?,
        decided_at: r.opt_time("decided_at")?,
        payment_id: r.opt_int("payment_id")?,
        linked_alert_id: r.opt_int("linked_alert_id")?,
        reason: r.text("reason")?,
        evidence: r.text("evidence")?,
        authentic_by: r.opt_text("authentic_by")?,
        dismissed_from: r.opt_word("dismissed_from", AlertStatus::parse)?,
        simulated_for: r.opt_int("simulated_for")?,
    })
}

/// The step that stores an alert as it was first taken.
pub fn add(alert: &AlertRow) -> Step {
    Step::insert(row(alert))
}

/// The step that overwrites an alert that could not be used (quarantined, unreadable, ignored, in review without an
/// account) after its mail was proven late or read again; guarded by the version it was read with. First sight and
/// everything that tells which mail it is stay.
pub fn rewritten(alert: &AlertRow) -> Step {
    Step::one(&REWRITTEN, row(alert).values())
}

/// All columns that are written when an alert is taken; `REWRITTEN` numbers them as they stand in `ADD`.
fn row(alert: &AlertRow) -> ADD {
    let facts = &alert.facts;
    let (balance_kind, balance) = match facts.balance {
        Some(Balance::Available(money)) => (Some("available"), Some(money)),
        Some(Balance::Ledger(money)) => (Some("ledger"), Some(money)),
        None => (None, None),
    };
    let precision = facts.occurred.map_or(TimePrecision::None, |time| time.precision);
    ADD {
        id: alert.id.into(),
        status: alert.status.as_str().into(),
        version: alert.version.into(),
        source: (&alert.source).into(),
        authenticity: alert.authenticity.as_str().into(),
        bank: facts.bank.as_ref().into(),
        template: facts.template.as_ref().into(),
        direction: facts.direction.map(Direction::as_str).into(),
        kind: facts.kind.map(AlertKind::as_str).into(),
        amount_kobo: facts.amount.into(),
        currency: facts.currency.as_ref().into(),
        account_shown: facts.account_number.as_ref().into(),
        account_id: alert.account_id.into(),
        virtual_account: facts.virtual_account.as_ref().into(),
        virtual_amount_kobo: facts.virtual_amount.into(),
        virtual_day: facts.virtual_day.into(),
        holder_name: facts.holder_name.as_ref().into(),
        payer_name: facts.payer_name.as_ref().into(),
        is_payer_name_cut: facts.payer_name_cut.into(),
        payer_account: facts.payer_account_number.as_ref().into(),
        payer_bank: facts.payer_bank.as_ref().into(),
        narration: facts.narration.as_ref().into(),
        reference: facts.reference.as_ref().into(),
        is_reference_unique: facts.reference_is_unique.into(),
        session_id: facts.session_id.as_ref().into(),
        bank_time_begin_at: facts.occurred.map(|time| time.begin).into(),
        bank_time_end_at: facts.occurred.map(|time| time.end).into(),
        bank_time_precision: precision.as_str().into(),
        balance_kind: balance_kind.into(),
        balance_kobo: balance.into(),
        doubts: facts.doubts.join("\n").into(),
        message_id: alert.message_id.as_ref().into(),
        mail_from: alert.mail_from.as_ref().into(),
        subject: alert.subject.as_ref().into(),
        mailed_at: alert.mailed_at.into(),
        first_seen_at: alert.first_seen.into(),
        decided_at: alert.decided_at.into(),
        linked_alert_id: alert.linked_alert_id.into(),
        reason: (&alert.reason).into(),
        evidence: (&alert.evidence).into(),
        authentic_by: alert.authentic_by.as_ref().into(),
        is_told_as_lost: (facts.direction == Some(Direction::Credit) && facts.is_told_as_lost()).into(),
        simulated_for: alert.simulated_for.into(),
        payer_key: facts.payer_name.as_deref().map(words_key).into(),
        remarks: facts.remarks.as_ref().into(),
        is_narration_cut: facts.narration_cut.into(),
    }
}

/// A key under which a copy of this alert would be known.
pub fn add_key(kind: &str, key: &str, alert_id: i64) -> Step {
    Step::insert(ADD_KEY { kind: kind.into(), key: key.into(), alert_id: alert_id.into() })
}

pub fn add_mail(alert_id: i64, raw: &[u8], digest: Option<[u8; 32]>, kept_until: Timestamp) -> Step {
    let digest = digest.map(|digest| digest.to_vec());
    Step::insert(ADD_MAIL {
        alert_id: alert_id.into(),
        raw: raw.into(),
        kept_until_at: kept_until.into(),
        digest: digest.into(),
    })
}

/// An outcome other than a match; guarded by version.
pub fn decided(alert: &AlertRow, status: AlertStatus, reason: &str, evidence: &str, at: Timestamp) -> Step {
    Step::one(
        &DECIDED,
        vec![
            alert.id.into(),
            alert.version.into(),
            status.as_str().into(),
            reason.into(),
            evidence.into(),
            at.into(),
        ],
    )
}

/// What a match writes on the alert.
pub struct MatchNote<'a> {
    pub settlement_id: i64,
    pub payment_id: i64,
    pub reason: &'a str,
    pub evidence: &'a str,
    /// The person who approves it, in words: from now on it counts as if it had been proven.
    pub vouched_by: Option<&'a str>,
    pub at: Timestamp,
}

/// Guarded by version: this alert funds that payment.
pub fn matched(alert: &AlertRow, note: &MatchNote<'_>) -> Step {
    Step::one(
        &MATCHED,
        vec![
            alert.id.into(),
            alert.version.into(),
            note.settlement_id.into(),
            note.payment_id.into(),
            note.at.into(),
            note.reason.into(),
            note.evidence.into(),
            note.vouched_by.into(),
            // From now on it is looked for whatever its time, also where its narration alone told of another state.
            alert.facts.has_lost_state().into(),
        ],
    )
}

/// The alert's doubts and one more: from now on a person decides, whoever looks at it again.
fn doubts_with(alert: &AlertRow, reason: &str) -> String {
    let mut doubts = alert.facts.doubts.clone();
    if !doubts.iter().any(|doubt| doubt == reason) {
        doubts.push(reason.lines().collect::<Vec<_>>().join(" "));
    }
    doubts.join("\n")
}

/// After a reversal: back to review (a wrong match) or `reversed` for good (the bank's).
pub fn unmatched_again(alert: &AlertRow, status: AlertStatus, reason: &str) -> Step {
    let doubts = doubts_with(alert, reason);
    Step::one(
        &UNMATCHED_AGAIN,
        vec![alert.id.into(), alert.version.into(), status.as_str().into(), reason.into(), doubts.into()],
    )
}

/// A person puts it aside; guarded by version. What it was is kept: one that was quarantined or unreadable can be
/// approved by no one.
pub fn dismissed(alert: &AlertRow, reason: &str, at: Timestamp) -> Step {
    Step::one(&DISMISSED, vec![alert.id.into(), alert.version.into(), reason.into(), at.into()])
}

/// Holds a waiting alert in review because `linked` speaks against it.
pub fn held(alert: &AlertRow, reason: &str, linked: i64) -> Step {
    let doubts = doubts_with(alert, reason);
    Step::one(&HELD, vec![alert.id.into(), alert.version.into(), reason.into(), linked.into(), doubts.into()])
}

/// An alert that named no account of ours is about this one after all: it is to be decided again, with the doubts
/// that it has now. Guarded by version.
pub fn placed(alert: &AlertRow, account_id: i64) -> Step {
    let doubts = alert.facts.doubts.join("\n");
    Step::one(&PLACED, vec![alert.id.into(), alert.version.into(), account_id.into(), doubts.into()])
}

/// Notes that `undoing` may have taken the money of a credit back. Once for each such pair.
pub fn add_alarm(credit: i64, undoing: i64, now: Timestamp) -> Step {
    Step::any(&ALARM, vec![credit.into(), undoing.into(), now.into()])
}

/// Notes on an alert that another one refers to it.
pub fn link(alert_id: i64, linked: i64) -> Step {
    Step::one(&LINK, vec![alert_id.into(), linked.into()])
}

/// A person says that this debit or reversal undid that credit; guarded by version, so that it undoes one.
pub fn undid(undoing: &AlertRow, credit: i64) -> Step {
    Step::one(&UNDID, vec![undoing.id.into(), undoing.version.into(), credit.into()])
}

/// Makes decisions about this account and amount that are under way look again (docs/decisions/0004).
pub fn raise_amount_version(account_id: i64, amount: Money) -> Step {
    Step::one(&RAISE_AMOUNT_VERSION, vec![account_id.into(), amount.into()])
}

/// Guarded: no alert of this account and amount was stored or settled since this version was read (0: there was none).
pub fn raise_amount_version_from(account_id: i64, amount: Money, version: i64) -> Step {
    Step::one(&RAISE_AMOUNT_VERSION_FROM, vec![account_id.into(), amount.into(), version.into()])
}

impl Store {
    /// Forgets mails whose time is over; answers how many, at most [`FORGET_MAILS_BATCH`].
    pub async fn forget_raw_mails(&self, now: Timestamp) -> Result<usize, StoreError> {
        Ok(self.write(&FORGET_MAILS, vec![now.into()]).await?.into_rows().len())
    }

    pub async fn alert(&self, id: i64) -> Result<Option<AlertRow>, StoreError> {
        self.read_one(&BY_ID, vec![id.into()]).await?.map(decode).transpose()
    }

    /// The bytes of an alert's mail; `None` when its time is over.
    pub async fn mail(&self, alert_id: i64) -> Result<Option<Vec<u8>>, StoreError> {
        let row = self.read_one(&RAW, vec![alert_id.into()]).await?;
        row.map(|row| row.reader("mails").bytes("raw")).transpose()
    }

    /// The version of an amount on an account; 0 before the first alert.
    pub async fn amount_version(&self, account_id: i64, amount: Money) -> Result<i64, StoreError> {
        let row = self.read_one(&AMOUNT_VERSION, vec![account_id.into(), amount.into()]).await?;
        row.map_or(Ok(0), |row| row.single_int("amount_clocks"))
    }

    /// The alert that holds a key, if any.
    pub async fn alert_by_key(&self, kind: &str, key: &str) -> Result<Option<i64>, StoreError> {
        let row = self.read_one(&KEY_OWNER, vec![kind.into(), key.into()]).await?;
        row.map(|row| row.single_int("alert_keys")).transpose()
    }

    /// Alerts of an account that wait for a payment of a business, by amount, oldest first.
    pub async fn waiting_alerts(
        &self,
        (account_id, business_id): (i64, i64),
        amounts: (Money, Money),
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<AlertRow>, StoreError> {
        let params = vec![
            account_id.into(),
            amounts.0.into(),
            amounts.1.into(),
            since.into(),
            (limit as i64).into(),
            business_id.into(),
        ];
        self.read(&WAITING_ON_ACCOUNT, params).await?.into_iter().map(decode).collect()
    }

    /// Whether an alert of the account is stored but not yet decided.
    pub async fn has_undecided_alerts(&self, account_id: i64) -> Result<bool, StoreError> {
        let row = self.read_one(&UNDECIDED_ON_ACCOUNT, vec![account_id.into()]).await?;
        Ok(row.map_or(Ok(0), |row| row.single_int("alerts"))? > 0)
    }

    /// What a business simulated, newest first.
    pub async fn simulated_alerts(&self, business_id: i64, limit: i64) -> Result<Vec<AlertRow>, StoreError> {
        let rows = self.read(&SIMULATED, vec![business_id.into(), limit.into()]).await?;
        rows.into_iter().map(decode).collect()
    }

    /// Newest first, by the time they were first seen.
    pub async fn list_alerts(
        &self,
        status: Option<AlertStatus>,
        limit: i64,
    ) -> Result<Vec<AlertRow>, StoreError> {
        let filter = search::Filter { status, ..search::Filter::default() };
        self.alerts_found(&filter, (Timestamp::MIN, Timestamp::MAX), usize::try_from(limit).unwrap_or(0))
            .await
    }
}

#[cfg(test)]
mod tests {
    use super::{ADD, REWRITTEN};
    use crate::store::engine::sql::Text;

    /// The values of the one go to the places of the other.
    #[test]
    fn rewriting_an_alert_numbers_the_columns_as_taking_one_does() {
        let (Text::Insert { columns, .. }, Text::Plain(text)) = (&ADD::sql().text, &REWRITTEN.text) else {
            panic!("an insert and an update");
        };
        let text = text.replace(['(', ')', ','], " ");
        let words: Vec<&str> = text.split_whitespace().collect();
        for (n, (column, _)) in columns.iter().enumerate() {
            let (place, name) = (format!("${}", n + 1), *column);
            let named = words.windows(3).any(|words| words == [name, "=", place.as_str()]);
            assert!(named, "{name} is not {place} in REWRITTEN");
        }
    }
}
