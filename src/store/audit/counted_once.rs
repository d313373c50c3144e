//! The audit's questions about one transfer being counted once, and about what merchants were told.
//!
//! A key of a settlement is the session id of its alert, and its reference where the bank calls that unique on
//! the account that the money arrived in (of a virtual account, the one it is settled through). A payer can type
//! another's session id: a person may settle two transfers that show one, if their amounts or payers differ. What test mode
//! wrote is compared among what one business had written.

use super::Clause;
use crate::domain::money::Money;
use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::{Row, Store, StoreError};

macro_rules! no_key_is_settled_twice {
    ($form:ident) => {
        $form! {
            "(select count(*) from settlements where alert_id is not null and reversed_at is null)",
            ("settlements", "twice.settlement_id", "(select a.session_id, max(s.id) as settlement_id from settlements s join alerts a on a.id = s.alert_id \
                 where s.reversed_at is null and a.session_id is not null \
                 group by coalesce(a.simulated_for, 0), a.session_id having sum(case when s.operator is null then 1 else 0 end) > 1 \
                 or count(*) > count(distinct cast(a.amount_kobo as text) || '|' || coalesce(a.payer_name, '')) \
                 or count(*) > count(distinct cast(a.amount_kobo as text) || '|' || \
                    cast(coalesce(a.bank_time_begin_at, 0) as text) || '|' || \
                    cast(coalesce(a.balance_kobo, 0) as text))) twice"),
            ("settlements", "twice.settlement_id", "(select coalesce(r.via_account_id, r.id), a.reference, max(s.id) as settlement_id from settlements s \
                 join alerts a on a.id = s.alert_id join payments p on p.id = s.payment_id \
                 join receiving_accounts r on r.id = coalesce(a.account_id, p.account_id) \
                 where s.reversed_at is null and a.is_reference_unique = 1 and a.reference is not null \
                 group by coalesce(a.simulated_for, 0), coalesce(r.via_account_id, r.id), a.reference having count(*) > 1) twice"),
            ("settlements", "k.settlement_id", "settled_keys k left join settlements s on s.id = k.settlement_id \
                 where s.id is null or s.reversed_at is not null"),
        }
    };
}

statements! {
    NO_KEY_IS_SETTLED_TWICE: query { no_key_is_settled_twice!(counted) }
    NO_KEY_IS_SETTLED_TWICE_ROWS: query { no_key_is_settled_twice!(named) }
    BODIES_WITH_ENTRIES: query {
        "select v.id, v.kind, v.webhook_id, v.body, p.transaction_id, p.amount_kobo, s.reversed_at, \
         cast(coalesce((select sum(g.amount_kobo) from postings g where g.entry_id = e.id and g.side = 'debit'), 0) \
            as bigint) as received, \
         cast(coalesce((select sum(g.amount_kobo) from postings g where g.entry_id = e.id \
            and g.side = case e.kind when 'settlement' then 'credit' else 'debit' end \
            and g.account in ('fees', 'test:fees')), 0) as bigint) as fees, \
         cast(coalesce((select sum(g.amount_kobo) from postings g where g.entry_id = e.id \
            and g.side = case e.kind when 'settlement' then 'credit' else 'debit' end \
            and g.account in ('merchant:' || cast(s.business_id as text), \
            'test:merchant:' || cast(s.business_id as text))), 0) as bigint) as business_receives \
         from events v join payments p on p.id = v.payment_id join settlements s on s.id = p.settlement_id \
         join entries e on e.settlement_id = s.id \
         and case v.kind when 'payment.approved' then e.kind = 'settlement' when 'payment.reversed' then e.kind = 'reversal' \
         else 0 = 1 end where v.id > $1 and p.status = 'approved' order by v.id limit 200"
    }
}

/// Further checks, reported after those of `store::audit`.
pub const CHECKS: [Clause; 1] =
    [("no_key_is_settled_twice", &NO_KEY_IS_SETTLED_TWICE, &NO_KEY_IS_SETTLED_TWICE_ROWS)];

/// Rows of one read; the statement holds the same number as a literal.
pub const BODIES_PER_READ: usize = 200;

/// What a merchant was told of an approved payment, or of its reversal, beside what the ledger has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldAndPosted {
    pub event_id: i64,
    pub event_kind: String,
    pub webhook_id: String,
    pub body: Vec<u8>,
    pub transaction_id: String,
    pub amount: Money,
    pub received: Money,
    pub fees: Money,
    pub business_receives: Money,
    /// When the settlement was reversed.
    pub reversed_at: Option<Timestamp>,
}

fn decode(row: Row) -> Result<ToldAndPosted, StoreError> {
    let mut r = row.reader("events");
    Ok(ToldAndPosted {
        event_id: r.int("id")?,
        event_kind: r.text("kind")?,
        webhook_id: r.text("webhook_id")?,
        body: r.bytes("body")?,
        transaction_id: r.text("transaction_id")?,
        amount: r.money("amount_kobo")?,
        received: r.money("received")?,
        fees: r.money("fees")?,
        business_receives: r.money("business_receives")?,
        reversed_at: r.opt_time("reversed_at")?,
    })
}

impl Store {
    /// Approved payments' events after one, with the ledger's figures; at most [`BODIES_PER_READ`].
    pub async fn told_and_posted(&self, after_event: i64) -> Result<Vec<ToldAndPosted>, StoreError> {
        let rows = self.read(&BODIES_WITH_ENTRIES, vec![after_event.into()]).await?;
        rows.into_iter().map(decode).collect()
    }
}
