//! Settlements, ledger entries and balances: the steps by which money moves.
//!
//! Entries, postings and seals are append only (a trigger forbids the rest). The balance rows of
//! merchants and wallets move in the Unit of their entry; the audit compares both.

use crate::domain::ledger::{Entry, LedgerAccount, Posting, Side};
use crate::domain::money::Money;
use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::{Row, Step, Store, StoreError};

macro_rules! columns {
    () => {
        "id, kind, business_id, payment_id, alert_id, received_kobo, business_receives_kobo, charge_kobo, \
         rule, evidence, operator, settled_at, reversed_at, reverse_reason, undoing_alert_id"
    };
}

statements! {
    ADD: insert(settlements) {
        id: Int, kind: Text, business_id: Int, payment_id: Int, alert_id: Int, received_kobo: Int,
        business_receives_kobo: Int, charge_kobo: Int, rule: Text, evidence: Text, operator: Text, settled_at: Int
    }
    ADD_ENTRY: insert(entries) {
        id: Int, kind: Text, settlement_id: Int, business_id: Int, memo: Text, posted_at: Int
    }
    ADD_POSTING: insert(postings) { entry_id: Int, line: Int, account: Text, side: Text, amount_kobo: Int }
    MOVE_MERCHANT: query {
        "update merchant_balances set balance_kobo = balance_kobo + $2 where business_id = $1"
    }
    MOVE_RESERVED: query {
        "update merchant_balances set reserved_kobo = reserved_kobo + $2 where business_id = $1"
    }
    MOVE_WALLET: query { "update wallets set balance_kobo = balance_kobo + $2 where id = $1" }
    REVERSED: query {
        "update settlements set reversed_at = $2, reverse_reason = $3, undoing_alert_id = $4 \
         where id = $1 and reversed_at is null"
    }
    BY_ID: query {
        concat!("select ", columns!(), " from settlements where id = $1")
    }
    // Each half has an index of its own; one over both would be written at every settlement.
    OF_PAYMENT: query {
        concat!("select ", columns!(), " from settlements where payment_id = $1 and reversed_at is null union all \
                 select ", columns!(), " from settlements where payment_id = $1 and reversed_at is not null order by id")
    }
    REVERSED_OF_ALERT: query {
        concat!("select ", columns!(), " from settlements where alert_id = $1 and reversed_at is not null \
                 order by id desc limit 10")
    }
    POSTINGS_OF_SETTLEMENT: query {
        "select p.account, p.side, p.amount_kobo from postings p join entries e on e.id = p.entry_id \
         where e.settlement_id = $1 and e.kind = 'settlement' order by p.line"
    }
    UNDONE_BY: query { "select id from settlements where undoing_alert_id = $1 order by id limit 10" }
    MERCHANT_BALANCE: query { "select balance_kobo from merchant_balances where business_id = $1" }
    PROVEN_NAME: query {
        "select count(*) from proven_names where business_id = $1 and expected = $2 and received = $3 \
         and payer_bank = $4 and payer_account = $5"
    }
    ADD_PROVEN_NAME: insert(proven_names) {
        business_id: Int, expected: Text, received: Text, payer_bank: Text, payer_account: Text, settlement_id: Int
    }
    ADD_KEY: insert(settled_keys) { kind: Text, key: Text, settlement_id: Int }
    FORGET_KEYS: query { "delete from settled_keys where settlement_id = $1" }
    KEY_HOLDER: query { "select settlement_id from settled_keys where kind = $1 and key = $2" }
    FORGET_PROVEN_NAME: query { "delete from proven_names where settlement_id = $1" }
}

/// Money credited: which alert funded which payment, under which rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Settlement {
    pub id: i64,
    /// `transfer`, `wallet` or `topup`.
    pub kind: String,
    pub business_id: i64,
    pub payment_id: i64,
    pub alert_id: Option<i64>,
    pub received: Money,
    pub business_receives: Money,
    pub charge: Money,
    /// Why, in words.
    pub rule: String,
    /// The decision, as JSON.
    pub evidence: String,
    /// The person who approved; `None` when the rules did.
    pub operator: Option<String>,
    pub settled_at: Timestamp,
    pub reversed_at: Option<Timestamp>,
    pub reverse_reason: Option<String>,
    /// The debit or reversal of the bank's that undid it.
    pub undoing_alert: Option<i64>,
}

fn decode(row: Row) -> Result<Settlement, StoreError> {
    let mut r = row.reader("settlements");
    Ok(Settlement {
        id: r.int("id")?,
        kind: r.text("kind")?,
        business_id: r.int("business_id")?,
        payment_id: r.int("payment_id")?,
        alert_id: r.opt_int("alert_id")?,
        received: r.money("received_kobo")?,
        business_receives: r.money("business_receives_kobo")?,
        charge: r.money("charge_kobo")?,
        rule: r.text("rule")?,
        evidence: r.text("evidence")?,
        operator: r.opt_text("operator")?,
        settled_at: r.time("settled_at")?,
        reversed_at: r.opt_time("reversed_at")?,
        reverse_reason: r.opt_text("reverse_reason")?,
        undoing_alert: r.opt_int("undoing_alert_id")?,
    })
}

pub fn add(settlement: &Settlement) -> Step {
    Step::insert(ADD {
        id: settlement.id.into(),
        kind: (&settlement.kind).into(),
        business_id: settlement.business_id.into(),
        payment_id: settlement.payment_id.into(),
        alert_id: settlement.alert_id.into(),
        received_kobo: settlement.received.into(),
        business_receives_kobo: settlement.business_receives.into(),
        charge_kobo: settlement.charge.into(),
        rule: (&settlement.rule).into(),
        evidence: (&settlement.evidence).into(),
        operator: settlement.operator.as_ref().into(),
        settled_at: settlement.settled_at.into(),
    })
}

/// What an entry in the ledger is for.
pub struct EntryNote<'a> {
    pub id: i64,
    /// `settlement`, `reversal` or `adjustment`.
    pub kind: &'static str,
    pub settlement_id: Option<i64>,
    /// `None` for a credit by an operator.
    pub business_id: Option<i64>,
    pub memo: &'a str,
    pub at: Timestamp,
}

impl<'a> EntryNote<'a> {
    /// Of a settlement's own entry; its memo is the payment's transaction id.
    pub fn of_settlement(id: i64, settlement: &Settlement, transaction_id: &'a str) -> EntryNote<'a> {
        EntryNote {
            id,
            kind: "settlement",
            settlement_id: Some(settlement.id),
            business_id: Some(settlement.business_id),
            memo: transaction_id,
            at: settlement.settled_at,
        }
    }
}

/// The steps that post an entry and move the balances it touches.
pub fn post(note: &EntryNote<'_>, entry: &Entry) -> Vec<Step> {
    let mut steps = vec![Step::insert(ADD_ENTRY {
        id: note.id.into(),
        kind: note.kind.into(),
        settlement_id: note.settlement_id.into(),
        business_id: note.business_id.into(),
        memo: note.memo.into(),
        posted_at: note.at.into(),
    })];
    steps.push(crate::store::tables::seals::add_unsealed(note.id));
    for (line, posting) in entry.postings.iter().enumerate() {
        steps.push(Step::insert(ADD_POSTING {
            entry_id: note.id.into(),
            line: (line as i64).into(),
            account: posting.account.to_string().into(),
            side: posting.side.as_str().into(),
            amount_kobo: posting.amount.into(),
        }));
        let sign = if posting.side == Side::Credit { 1 } else { -1 };
        let change = sign * posting.amount.kobo();
        match posting.account {
            LedgerAccount::Merchant(id) => {
                steps.push(Step::one(&MOVE_MERCHANT, vec![id.into(), change.into()]));
            }
            LedgerAccount::Reserved(id) => {
                steps.push(Step::one(&MOVE_RESERVED, vec![id.into(), change.into()]));
            }
            LedgerAccount::Wallet(id) => {
                steps.push(Step::one(&MOVE_WALLET, vec![id.into(), change.into()]));
            }
            _ => {}
        }
    }
    steps
}

/// Guarded: a settlement is reversed once.
pub fn reversed(settlement_id: i64, at: Timestamp, reason: &str, undoing_alert: Option<i64>) -> Step {
    Step::one(&REVERSED, vec![settlement_id.into(), at.into(), reason.into(), undoing_alert.into()])
}

/// A payer whose close name a person has accepted (contract/names.md#n16).
pub struct ProvenName<'a> {
    pub business_id: i64,
    /// Folded.
    pub expected: &'a str,
    /// Folded.
    pub received: &'a str,
    pub payer_bank: &'a str,
    pub payer_account: &'a str,
}

/// Remembers a name that is not remembered yet; refused if it is.
pub fn add_proven_name(name: &ProvenName<'_>, settlement_id: i64) -> Step {
    Step::insert(ADD_PROVEN_NAME {
        business_id: name.business_id.into(),
        expected: name.expected.into(),
        received: name.received.into(),
        payer_bank: name.payer_bank.into(),
        payer_account: name.payer_account.into(),
        settlement_id: settlement_id.into(),
    })
}

pub fn forget_proven_name(settlement_id: i64) -> Step {
    Step::any(&FORGET_PROVEN_NAME, vec![settlement_id.into()])
}

/// A session id or unique reference on which this settlement stands; refused while another stands on it.
pub fn add_key(kind: &str, key: &str, settlement_id: i64) -> Step {
    Step::insert(ADD_KEY { kind: kind.into(), key: key.into(), settlement_id: settlement_id.into() })
}

/// Of a settlement that is reversed.
pub fn forget_keys(settlement_id: i64) -> Step {
    Step::any(&FORGET_KEYS, vec![settlement_id.into()])
}

impl Store {
    /// The settlement that stands on a key, if any.
    pub async fn settlement_by_key(&self, kind: &str, key: &str) -> Result<Option<i64>, StoreError> {
        let row = self.read_one(&KEY_HOLDER, vec![kind.into(), key.into()]).await?;
        row.map(|row| row.single_int("settled_keys")).transpose()
    }

    pub async fn settlement(&self, id: i64) -> Result<Option<Settlement>, StoreError> {
        self.read_one(&BY_ID, vec![id.into()]).await?.map(decode).transpose()
    }

    /// The first settlements that a debit or reversal undid; there should be one.
    pub async fn settlements_undone_by(&self, alert_id: i64) -> Result<Vec<i64>, StoreError> {
        let rows = self.read(&UNDONE_BY, vec![alert_id.into()]).await?;
        rows.into_iter().map(|row| row.single_int("settlements")).collect()
    }

    /// All settlements of a payment, reversed ones included, oldest first.
    pub async fn settlements_of(&self, payment_id: i64) -> Result<Vec<Settlement>, StoreError> {
        self.read(&OF_PAYMENT, vec![payment_id.into()]).await?.into_iter().map(decode).collect()
    }

    /// The entry a settlement posted, for its mirror.
    pub async fn entry_of(&self, settlement_id: i64) -> Result<Entry, StoreError> {
        let rows = self.read(&POSTINGS_OF_SETTLEMENT, vec![settlement_id.into()]).await?;
        let postings = rows
            .into_iter()
            .map(|row| {
                let mut r = row.reader("postings");
                Ok(Posting {
                    account: r.word("account", LedgerAccount::parse)?,
                    side: r.word("side", Side::parse)?,
                    amount: r.money("amount_kobo")?,
                })
            })
            .collect::<Result<_, StoreError>>()?;
        Ok(Entry { postings })
    }

    /// What the merchant is owed.
    /// Settlements of an alert that were reversed, newest first, at most ten.
    pub async fn reversed_of_alert(&self, alert_id: i64) -> Result<Vec<Settlement>, StoreError> {
        self.read(&REVERSED_OF_ALERT, vec![alert_id.into()]).await?.into_iter().map(decode).collect()
    }

    pub async fn merchant_balance(&self, business_id: i64) -> Result<Option<Money>, StoreError> {
        let row = self.read_one(&MERCHANT_BALANCE, vec![business_id.into()]).await?;
        row.map(|row| row.single_int("merchant_balances").map(Money)).transpose()
    }

    pub async fn is_name_proven(&self, name: &ProvenName<'_>) -> Result<bool, StoreError> {
        let params = vec![
            name.business_id.into(),
            name.expected.into(),
            name.received.into(),
            name.payer_bank.into(),
            name.payer_account.into(),
        ];
        let row = self.read_one(&PROVEN_NAME, params).await?;
        Ok(row.map_or(Ok(0), |row| row.single_int("proven_names"))? > 0)
    }
}
