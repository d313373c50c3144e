//! Wallets: their rows, what people change of them, and the guards under which money leaves or enters.
//!
//! The balance moves with the postings (`settlements::post`); the guards here touch the same row before
//! it does, so that balance, limits, PIN and state are judged under its lock. Phone numbers come sealed
//! and hashed; this file never sees one. Used by ops alone.

use crate::domain::money::Money;
use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::{Reader, Row, Step, Store, StoreError};

macro_rules! columns {
    () => {
        "id, phone, tier, is_suspended, locked_until_at, pin, pin_version, balance_kobo, spent_day, spent_kobo, \
         pin_clock, wrote_at, created_at, version"
    };
}

statements! {
    ADD: insert(wallets) {
        id: Int, phone: Bytes, phone_hash: Bytes, test_business_id: Int, tier: Int, is_suspended: Int, pin_version: Int, balance_kobo: Int,
        spent_day: Int, spent_kobo: Int, pin_clock: Int, created_at: Int, updated_at: Int, version: Int
    }
    BY_ID: query { concat!("select ", columns!(), " from wallets where id = $1") }
    OF_TESTS: query {
        concat!("select ", columns!(), " from wallets where test_business_id = $1 order by id limit $2")
    }
    BY_PHONE: query { concat!("select ", columns!(), " from wallets where phone_hash = $1") }
    SPEND: query {
        "update wallets set spent_kobo = case when spent_day >= $5 then spent_kobo else 0 end + $2, \
         spent_day = case when spent_day > $5 then spent_day else $5 end, updated_at = $4 where id = $1 and balance_kobo >= $2 and pin_version = $3 and is_suspended = 0 \
         and (locked_until_at is null or locked_until_at <= $4) and tier = $6 \
         and case when spent_day >= $5 then spent_kobo else 0 end <= cast($7 as bigint) - $2"
    }
    TAKE_IN: query {
        "update wallets set updated_at = $3 where id = $1 and is_suspended = 0 and tier = $4 \
         and balance_kobo <= cast($5 as bigint) - cast($2 as bigint)"
    }
    TICK: query { "update wallets set pin_clock = pin_clock + 1 where id = $1 and pin_clock = $2" }
    LOCK: query { "update wallets set locked_until_at = $2, updated_at = $3 where id = $1" }
    SET_PIN: query {
        "update wallets set pin = $3, pin_version = pin_version + 1, locked_until_at = null, updated_at = $4 \
         where id = $1 and pin_version = $2 and is_suspended = 0"
    }
    CHANGE: query {
        "update wallets set tier = $3, is_suspended = $4, locked_until_at = $5, updated_at = $6, version = version + 1 \
         where id = $1 and version = $2"
    }
    WROTE: query { "update wallets set wrote_at = $2 where phone_hash = $1 and (wrote_at is null or wrote_at < $2)" }
    CLOSE_WINDOW: query { "update wallets set wrote_at = null where id = $1 and wrote_at < $2" }
    ADD_CREDIT: insert(wallet_credits) {
        id: Int, wallet_id: Int, entry_id: Int, amount_kobo: Int, r#ref: Text, reason: Text, operator: Text, credited_at: Int
    }
    CREDITS_LIKE: query {
        "select count(*) from wallet_credits where wallet_id = $1 and amount_kobo = $2 and credited_at > $3"
    }
    CREDIT_BY_REF: query { "select wallet_id, amount_kobo from wallet_credits where ref = $1" }
    LINES: query {
        "select e.posted_at, e.kind, e.memo, p.side, p.amount_kobo, s.kind as settlement_kind, y.transaction_id, b.name, c.ref \
         from postings p join entries e on e.id = p.entry_id left join settlements s on s.id = e.settlement_id \
         left join payments y on y.id = s.payment_id left join businesses b on b.id = y.business_id \
         left join wallet_credits c on c.entry_id = e.id \
         where p.account = $1 order by e.posted_at desc, p.entry_id desc limit $2"
    }
    BUSINESS: query { "select wrong_clock, stopped_at, resumed_at from wallet_businesses where business_id = $1" }
    KNOW_BUSINESS: query {
        "insert into wallet_businesses (business_id, wrong_clock) values ($1, 0) on conflict do nothing"
    }
    TICK_BUSINESS: query {
        "update wallet_businesses set wrong_clock = wrong_clock + 1 where business_id = $1 and wrong_clock = $2"
    }
    STOP_BUSINESS: query {
        "update wallet_businesses set stopped_at = $2 where business_id = $1 and stopped_at is null"
    }
    RESUME_BUSINESS: query {
        "update wallet_businesses set stopped_at = null, resumed_at = $2, wrong_clock = wrong_clock + 1 \
         where business_id = $1 and stopped_at is not null"
    }
    STOPPED: query { "select count(*) from wallet_businesses where stopped_at is not null" }
}

/// A wallet with its phone still sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalletRow {
    pub id: i64,
    pub sealed_phone: Vec<u8>,
    pub tier: i64,
    pub suspended: bool,
    pub locked_until: Option<Timestamp>,
    pub pin: Option<Vec<u8>>,
    pub pin_version: i64,
    pub balance: Money,
    pub spent_day: i64,
    pub spent: Money,
    pub pin_clock: i64,
    pub wrote_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub version: i64,
}

fn decode(row: Row) -> Result<WalletRow, StoreError> {
    let r = &mut row.reader("wallets");
    Ok(WalletRow {
        id: r.int("id")?,
        sealed_phone: r.bytes("phone")?,
        tier: r.int("tier")?,
        suspended: r.flag("is_suspended")?,
        locked_until: r.opt_time("locked_until_at")?,
        pin: r.opt_bytes("pin")?,
        pin_version: r.int("pin_version")?,
        balance: r.money("balance_kobo")?,
        spent_day: r.int("spent_day")?,
        spent: r.money("spent_kobo")?,
        pin_clock: r.int("pin_clock")?,
        wrote_at: r.opt_time("wrote_at")?,
        created_at: r.time("created_at")?,
        version: r.int("version")?,
    })
}

/// A new wallet: empty, active, without a PIN; of a business's test mode, or a real one. A second one of the same phone is
/// refused.
pub fn add(
    id: i64,
    sealed_phone: Vec<u8>,
    phone_hash: &[u8],
    test_of: Option<i64>,
    tier: i64,
    now: Timestamp,
) -> Step {
    let zero = || 0.into();
    Step::insert(ADD {
        id: id.into(),
        phone: sealed_phone.into(),
        phone_hash: phone_hash.into(),
        test_business_id: test_of.into(),
        tier: tier.into(),
        is_suspended: zero(),
        pin_version: zero(),
        balance_kobo: zero(),
        spent_day: zero(),
        spent_kobo: zero(),
        pin_clock: zero(),
        created_at: now.into(),
        updated_at: now.into(),
        version: 1.into(),
    })
}

/// What a debit rests on.
pub struct Spending {
    pub wallet_id: i64,
    pub amount: Money,
    /// Of the PIN that was checked.
    pub pin_version: i64,
    pub tier: i64,
    /// The most that may go out on a Lagos day; `None`: no limit.
    pub daily: Option<Money>,
    pub now: Timestamp,
}

/// Guards a debit: enough balance, that PIN, active, within the day's limit. Counts it for the day, which
/// never goes back, so that a node whose clock is behind does not give the day out twice.
/// The posting of the same Unit moves the balance.
pub fn spend(s: &Spending) -> Step {
    let most = s.daily.unwrap_or(Money(i64::MAX));
    Step::one(
        &SPEND,
        vec![
            s.wallet_id.into(),
            s.amount.into(),
            s.pin_version.into(),
            s.now.into(),
            s.now.lagos_day().into(),
            s.tier.into(),
            most.into(),
        ],
    )
}

/// Guards a credit: not suspended, and not more than `most` afterwards.
pub fn take_in(wallet_id: i64, amount: Money, tier: i64, most: Option<Money>, now: Timestamp) -> Step {
    let most = most.unwrap_or(Money(i64::MAX));
    Step::one(&TAKE_IN, vec![wallet_id.into(), amount.into(), now.into(), tier.into(), most.into()])
}

/// Guards what was counted of tries and codes: lost if there was another since.
pub fn tick(wallet_id: i64, seen: i64) -> Step {
    Step::one(&TICK, vec![wallet_id.into(), seen.into()])
}

pub fn lock(wallet_id: i64, until: Timestamp, now: Timestamp) -> Step {
    Step::one(&LOCK, vec![wallet_id.into(), until.into(), now.into()])
}

/// Guarded by the version of the PIN before; lifts a lock.
pub fn set_pin(wallet_id: i64, seen_version: i64, pin: Vec<u8>, now: Timestamp) -> Step {
    Step::one(&SET_PIN, vec![wallet_id.into(), seen_version.into(), pin.into(), now.into()])
}

/// What an operator changes; guarded by `version`.
pub struct Change {
    pub wallet_id: i64,
    pub version: i64,
    pub tier: i64,
    pub suspended: bool,
    pub locked_until: Option<Timestamp>,
}

pub fn change(change: &Change, now: Timestamp) -> Step {
    Step::one(
        &CHANGE,
        vec![
            change.wallet_id.into(),
            change.version.into(),
            change.tier.into(),
            change.suspended.into(),
            change.locked_until.into(),
            now.into(),
        ],
    )
}

/// A credit by an operator, with its entry.
pub struct Credit<'a> {
    pub id: i64,
    pub wallet_id: i64,
    pub entry_id: i64,
    pub amount: Money,
    pub reference: Option<&'a str>,
    pub reason: &'a str,
    pub operator: &'a str,
    pub at: Timestamp,
}

pub fn add_credit(credit: &Credit<'_>) -> Step {
    Step::insert(ADD_CREDIT {
        id: credit.id.into(),
        wallet_id: credit.wallet_id.into(),
        entry_id: credit.entry_id.into(),
        amount_kobo: credit.amount.into(),
        r#ref: credit.reference.into(),
        reason: credit.reason.into(),
        operator: credit.operator.into(),
        credited_at: credit.at.into(),
    })
}

/// The customer wrote to us; any number of rows, because the sender may have no wallet.
pub fn wrote(phone_hash: &[u8], at: Timestamp) -> Step {
    Step::any(&WROTE, vec![phone_hash.into(), at.into()])
}

/// The messenger says that a plain text sent at `sent_at` came too late; what the customer wrote since then
/// counts.
pub fn close_window(wallet_id: i64, sent_at: Timestamp) -> Step {
    Step::any(&CLOSE_WINDOW, vec![wallet_id.into(), sent_at.into()])
}

/// Makes sure that [`tick_business`] has a row to guard.
pub fn know_business(business_id: i64) -> Step {
    Step::any(&KNOW_BUSINESS, vec![business_id.into()])
}

/// Guards what was counted of a business's tries.
pub fn tick_business(business_id: i64, seen: i64) -> Step {
    Step::one(&TICK_BUSINESS, vec![business_id.into(), seen.into()])
}

/// From now on no payment of the business is started or confirmed.
pub fn stop_business(business_id: i64, now: Timestamp) -> Step {
    Step::any(&STOP_BUSINESS, vec![business_id.into(), now.into()])
}

/// An operator has looked: wrong tries of before `now` count no more. A business that is not stopped stays as
/// it is.
pub fn resume_business(business_id: i64, now: Timestamp) -> Step {
    Step::any(&RESUME_BUSINESS, vec![business_id.into(), now.into()])
}

/// What is known of the tries on a business's intents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusinessTries {
    pub wrong_clock: i64,
    pub stopped_at: Option<Timestamp>,
    /// When an operator last let it go on.
    pub resumed_at: Option<Timestamp>,
}

impl BusinessTries {
    /// From when on wrong tries count, if those after `since` would.
    pub fn counted_since(&self, since: Timestamp) -> Timestamp {
        self.resumed_at.map_or(since, |resumed| resumed.max(since))
    }
}

/// A line of a wallet's statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementLine {
    pub posted_at: Timestamp,
    /// `settlement`, `reversal`, `adjustment`.
    pub entry_kind: String,
    pub memo: String,
    pub is_credit: bool,
    pub amount: Money,
    /// `wallet` or `topup`; `None` for an adjustment.
    pub settlement_kind: Option<String>,
    pub transaction_id: Option<String>,
    pub merchant: Option<String>,
    /// Of a credit by an operator.
    pub reference: Option<String>,
}

fn line(row: Row) -> Result<StatementLine, StoreError> {
    let r: &mut Reader = &mut row.reader("postings");
    Ok(StatementLine {
        posted_at: r.time("posted_at")?,
        entry_kind: r.text("kind")?,
        memo: r.text("memo")?,
        is_credit: r.text("side")? == "credit",
        amount: r.money("amount_kobo")?,
        settlement_kind: r.opt_text("settlement_kind")?,
        transaction_id: r.opt_text("transaction_id")?,
        merchant: r.opt_text("name")?,
        reference: r.opt_text("ref")?,
    })
}

impl Store {
    pub async fn wallet_row(&self, id: i64) -> Result<Option<WalletRow>, StoreError> {
        self.read_one(&BY_ID, vec![id.into()]).await?.map(decode).transpose()
    }

    pub async fn wallet_row_by_phone(&self, phone_hash: &[u8]) -> Result<Option<WalletRow>, StoreError> {
        self.read_one(&BY_PHONE, vec![phone_hash.into()]).await?.map(decode).transpose()
    }

    /// The test wallets of a business, oldest first.
    pub async fn test_wallets(&self, business_id: i64, limit: i64) -> Result<Vec<WalletRow>, StoreError> {
        let rows = self.read(&OF_TESTS, vec![business_id.into(), limit.into()]).await?;
        rows.into_iter().map(decode).collect()
    }

    /// Credits of the same amount after a time.
    pub async fn wallet_credits_like(
        &self,
        wallet_id: i64,
        amount: Money,
        after: Timestamp,
    ) -> Result<i64, StoreError> {
        let row = self.read_one(&CREDITS_LIKE, vec![wallet_id.into(), amount.into(), after.into()]).await?;
        row.map_or(Ok(0), |row| row.single_int("wallet_credits"))
    }

    /// Whose credit has this reference, and how much it was.
    pub async fn wallet_credit_by_ref(&self, reference: &str) -> Result<Option<(i64, Money)>, StoreError> {
        let row = self.read_one(&CREDIT_BY_REF, vec![reference.into()]).await?;
        row.map(|row| {
            let mut r = row.reader("wallet_credits");
            Ok((r.int("wallet_id")?, r.money("amount_kobo")?))
        })
        .transpose()
    }

    /// The newest lines of a wallet's account, newest first.
    pub async fn wallet_lines(&self, account: &str, limit: i64) -> Result<Vec<StatementLine>, StoreError> {
        self.read(&LINES, vec![account.into(), limit.into()]).await?.into_iter().map(line).collect()
    }

    pub async fn wallet_business(&self, business_id: i64) -> Result<Option<BusinessTries>, StoreError> {
        let row = self.read_one(&BUSINESS, vec![business_id.into()]).await?;
        row.map(|row| {
            let mut r = row.reader("wallet_businesses");
            Ok(BusinessTries {
                wrong_clock: r.int("wrong_clock")?,
                stopped_at: r.opt_time("stopped_at")?,
                resumed_at: r.opt_time("resumed_at")?,
            })
        })
        .transpose()
    }

    /// Businesses that wait for an operator to look.
    pub async fn stopped_wallet_businesses(&self) -> Result<i64, StoreError> {
        self.read_one(&STOPPED, Vec::new()).await?.map_or(Ok(0), |row| row.single_int("wallet_businesses"))
    }
}
