//! Payments by payer's name: rows of `payment_names`, and the reads by account, amount and name.
//!
//! A row says that a payment's name has a key (`domain::name::index`); which of the payments found bear a
//! like name is the name rule's to say. Rows live a month longer than their payment can be approved, so the
//! reads find ended payments as well. Used by ops alone.

use futures_util::future::try_join_all;

use crate::domain::merchant::Mode;
use crate::domain::money::Money;
use crate::domain::payment::Payment;
use crate::domain::time::{Span, Timestamp};
use crate::store::engine::sql::{Sql, statements};
use crate::store::tables::payments::{Own, decode, select};
use crate::store::{Row, Step, Store, StoreError, Value};

/// Rows are kept this long after the end of the payment's late window: what suggestions look back.
const KEPT: Span = Span::days(31);
/// Rows forgotten in one run.
pub const FORGET_BATCH: usize = 1_000;
/// Keys, and ids, in one statement. Looking for many keys is shared by statements that are answered at the same
/// time.
const KEYS_FEW: usize = 16;
const KEYS_MANY: usize = 64;
const IDS: usize = 32;
/// No wallet has this id, and 0 stands for payments without one.
const NO_WALLET: i64 = -1;

macro_rules! keys_few {
    () => {
        "$6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21"
    };
}

macro_rules! keys_many {
    () => {
        concat!(
            keys_few!(),
            ", $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, $42, $43, \
             $44, $45, $46, $47, $48, $49, $50, $51, $52, $53, $54, $55, $56, $57, $58, $59, $60, $61, $62, $63, $64, $65, \
             $66, $67, $68, $69"
        )
    };
}

/// Payments of an amount from $1 to $2 under one of the keys, whose rows are kept until after $3, newest first.
/// Of a name that one merchant gives to all its customers there are very many rows: no more than the inner
/// limit are looked at. A payment has a row for every key that it shares with the sought ones, so that limit is the
/// caller's own for each key; where it is reached, the caller's is reached as well. `+ 0` keeps an engine without
/// statistics from walking the index over `forget_at`, which nearly all rows pass.
macro_rules! named {
    ($keys:ident, $places:literal, $account:literal) => {
        concat!(
            "select distinct payment_id from (select payment_id from payment_names where name_key in (",
            $keys!(),
            ") and amount_kobo between $1 and $2 and forget_at + 0 > $3 and ",
            $account,
            " limit case when cast($5 as bigint) * ",
            $places,
            " < 20000 then 20000 else cast($5 as bigint) * ",
            $places,
            " end) as found order by payment_id desc limit $5"
        )
    };
}

/// The same on all accounts but $4: those that a person may approve, or all, of one mode, of one business or any but not of one
/// beneficiary, made since then. As many rows of the names are looked at; of which payments they are is known only then. The id 0 says
/// that there are more rows, which may hide one.
macro_rules! elsewhere {
    ($keys:ident, $mode:literal, $owner:literal, $since:literal, $all:literal, $own:literal, $own_wallet:literal) => {
        concat!(
            "with found as (select payment_id from payment_names where name_key in (",
            $keys!(),
            ") and amount_kobo between $1 and $2 and forget_at + 0 > $3 and account_id <> $4 limit 20000) \
             select id from (select distinct p.id from found join payments p on p.id = found.payment_id where p.mode = ",
            $mode,
            " and (cast(",
            $owner,
            " as bigint) = 0 or p.business_id = ",
            $owner,
            ") and p.created_at >= ",
            $since,
            " and (p.status = 'pending' or (p.status = 'rejected' and p.is_swept = 1) or cast(",
            $all,
            " as bigint) = 1) and (case when p.kind = 'topup' then p.wallet_id else 0 end <> cast(",
            $own_wallet,
            " as bigint) or cast(",
            $own_wallet,
            " as bigint) = 0 and p.business_id <> ",
            $own,
            ") order by p.id desc limit $5) as shown union all \
             select 0 as id from (select count(*) as looked_at from found) as counted where looked_at >= 20000"
        )
    };
}

statements! {
    ADD: insert(payment_names) {
        name_key: Int, amount_kobo: Int, account_id: Int, payment_id: Int, forget_at: Int
    }
    REMOVE: query {
        "delete from payment_names where name_key = $1 and amount_kobo = $2 and account_id = $3 and payment_id = $4"
    }
    ON_ACCOUNT_FEW: query { named!(keys_few, "16", "account_id = $4") }
    ON_ACCOUNT_MANY: query { named!(keys_many, "64", "account_id = $4") }
    ANYWHERE_FEW: query { named!(keys_few, "16", "cast($4 as bigint) = 0") }
    ANYWHERE_MANY: query { named!(keys_many, "64", "cast($4 as bigint) = 0") }
    ELSEWHERE_FEW: query { elsewhere!(keys_few, "$22", "$23", "$24", "$25", "$26", "$27") }
    ELSEWHERE_MANY: query { elsewhere!(keys_many, "$70", "$71", "$72", "$73", "$74", "$75") }
    BY_IDS: query {
        select!(" where id in ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, \
                 $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32)")
    }
    NAMES_OF_OTHERS: query {
        "select * from (select id, payer_name from payments where status = 'pending' and account_id = $1 \
           and amount_kobo = $2 and business_id < $3 and coalesce(wallet_id, 0) <> $5 \
           order by business_id desc, id desc limit $4) as below union all \
         select * from (select id, payer_name from payments where status = 'pending' and account_id = $1 \
           and amount_kobo = $2 and business_id > $3 and coalesce(wallet_id, 0) <> $5 \
           order by business_id, id limit $4) as above union all \
         select * from (select id, payer_name from payments where status = 'pending' and kind = 'topup' \
           and account_id + 0 = $1 and amount_kobo = $2 and business_id = $3 and coalesce(wallet_id, 0) <> $5 \
           limit $4) as topups union all \
         select * from (select id, payer_name from payments where status = 'pending' and account_id = $1 \
           and amount_kobo = $2 and business_id = $3 and kind <> 'topup' and cast($5 as bigint) <> -1 \
           order by id desc limit $4) as orders"
    }
    UNKEYED: query { select!(" where status = 'pending' and name_keys <> amount_kobo order by id limit $1") }
    KEYED: query { "update payments set name_keys = amount_kobo where id = $1 and version = $2 and name_keys <> amount_kobo" }
    FORGET_NAMES: query {
        "delete from payment_names where (name_key, amount_kobo, account_id, payment_id) in \
         (select n.name_key, n.amount_kobo, n.account_id, n.payment_id from payment_names n \
          where n.forget_at < $1 and not exists (select 1 from payments p where p.id = n.payment_id \
          and p.status = 'pending') order by n.forget_at limit $2) returning payment_id"
    }
}

/// The rows of a payment's name under its amount; none without an account.
pub fn add(payment: &Payment, keys: &[i64]) -> Vec<Step> {
    let Some(account_id) = payment.account_id else { return Vec::new() };
    let row = |key: &i64| ADD {
        name_key: (*key).into(),
        amount_kobo: payment.amount.into(),
        account_id: account_id.into(),
        payment_id: payment.id.into(),
        forget_at: (payment.approvable_until + KEPT).into(),
    };
    keys.iter().map(|key| Step::insert(row(key))).collect()
}

/// Takes the rows of a payment away that it has under its amount; there may be none yet.
pub fn remove(payment: &Payment, keys: &[i64]) -> Vec<Step> {
    let Some(account_id) = payment.account_id else { return Vec::new() };
    let row = |key: &i64| vec![(*key).into(), payment.amount.into(), account_id.into(), payment.id.into()];
    keys.iter().map(|key| Step::any(&REMOVE, row(key))).collect()
}

/// The payment's rows are there now. Guarded by version: a correction at the same moment writes its own.
pub fn keyed(payment: &Payment) -> Step {
    Step::one(&KEYED, vec![payment.id.into(), payment.version.into()])
}

/// Which payments are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// `None`: on any account.
    pub account_id: Option<i64>,
    pub keys: &'a [i64],
    /// Both ends included.
    pub amounts: (Money, Money),
    /// Only payments that could be approved by a late alert after this time.
    pub open_after: Timestamp,
    /// The newest so many.
    pub limit: usize,
}

impl Named<'_> {
    /// The statement's values with these keys, of which there is room for so many.
    fn values(&self, keys: &[i64], places: usize) -> Vec<Value> {
        let mut params: Vec<Value> = vec![
            self.amounts.0.into(),
            self.amounts.1.into(),
            (self.open_after + KEPT).into(),
            self.account_id.unwrap_or(0).into(),
            (self.limit as i64).into(),
        ];
        params.extend(filled(keys, places));
        params
    }
}

/// Payments that ask for money on other accounts than the one that it came to.
#[derive(Clone, Copy, Debug)]
pub struct Elsewhere<'a> {
    /// Its account is the one that the money came to, `None` where that is not known: then all are looked at.
    pub named: Named<'a>,
    pub mode: Mode,
    /// `None`: of any business.
    pub business_id: Option<i64>,
    pub made_since: Timestamp,
    pub ended: Ended,
    /// Of other beneficiaries than this one.
    pub own: Own,
}

/// Which payments are found that are not open any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Those that a person may still approve: the sweep ended them.
    Swept,
    /// All, paid ones included: who may be meant is asked of those as well that nobody can approve.
    All,
}

/// Payments on other accounts, newest first, and whether there may be more of them.
pub struct FoundElsewhere {
    pub payments: Vec<Payment>,
    pub may_be_more: bool,
}

impl Store {
    /// Forgets names that nothing asks for any more; answers how many rows, at most [`FORGET_BATCH`].
    pub async fn forget_names(&self, now: Timestamp) -> Result<usize, StoreError> {
        Ok(self.write(&FORGET_NAMES, vec![now.into(), (FORGET_BATCH as i64).into()]).await?.into_rows().len())
    }

    /// Payments, open or ended, that have one of the keys, newest first.
    pub async fn payments_named(&self, wanted: &Named<'_>) -> Result<Vec<Payment>, StoreError> {
        let reads = shares(wanted.keys).map(|keys| {
            let few = keys.len() <= KEYS_FEW;
            let places = if few { KEYS_FEW } else { KEYS_MANY };
            let sql: &'static Sql = match (wanted.account_id, few) {
                (Some(_), true) => &ON_ACCOUNT_FEW,
                (Some(_), false) => &ON_ACCOUNT_MANY,
                (None, true) => &ANYWHERE_FEW,
                (None, false) => &ANYWHERE_MANY,
            };
            self.read(sql, wanted.values(keys, places))
        });
        let ids = ids_of(try_join_all(reads).await?)?;
        self.newest(ids, wanted.limit).await
    }

    /// Payments on other accounts that have one of the keys, newest first.
    pub async fn payments_elsewhere(&self, wanted: &Elsewhere<'_>) -> Result<FoundElsewhere, StoreError> {
        let Elsewhere { named, mode, business_id, made_since, ended, own } = wanted;
        let reads = shares(named.keys).map(|keys| {
            let few = keys.len() <= KEYS_FEW;
            let (sql, places): (&'static Sql, usize) =
                if few { (&ELSEWHERE_FEW, KEYS_FEW) } else { (&ELSEWHERE_MANY, KEYS_MANY) };
            let mut params = named.values(keys, places);
            params.extend([mode.as_str().into(), business_id.unwrap_or(0).into(), (*made_since).into()]);
            params.push((*ended == Ended::All).into());
            params.extend([own.business_id.into(), own.wallet_id.unwrap_or(0).into()]);
            self.read(sql, params)
        });
        let mut ids = ids_of(try_join_all(reads).await?)?;
        let known = ids.len();
        ids.retain(|id| *id != 0);
        let may_be_more = ids.len() < known || ids.len() >= named.limit;
        Ok(FoundElsewhere { payments: self.newest(ids, named.limit).await?, may_be_more })
    }

    /// The newest so many of the payments whose ids were read.
    async fn newest(&self, mut ids: Vec<i64>, limit: usize) -> Result<Vec<Payment>, StoreError> {
        ids.sort_unstable_by(|a, b| b.cmp(a));
        ids.dedup();
        ids.truncate(limit);
        self.payments_by_ids(&ids).await
    }

    /// Newest first.
    pub async fn payments_by_ids(&self, ids: &[i64]) -> Result<Vec<Payment>, StoreError> {
        let reads = ids.chunks(IDS).map(|ids| self.read(&BY_IDS, filled(ids, IDS).collect()));
        let rows = try_join_all(reads).await?.into_iter().flatten();
        let mut found = rows.map(decode).collect::<Result<Vec<Payment>, _>>()?;
        found.sort_by_key(|payment: &Payment| std::cmp::Reverse(payment.id));
        Ok(found)
    }

    /// Ids and payers' names of open payments of exactly this amount on the account that may be another beneficiary's: so
    /// many of the businesses before and after the own one, of top-ups, and of that business itself.
    pub async fn open_names_of_others(
        &self,
        account_id: i64,
        amount: Money,
        own: Own,
        limit: usize,
    ) -> Result<Vec<(i64, String)>, StoreError> {
        let mut params = vec![account_id.into(), amount.into(), own.business_id.into()];
        params.extend([(limit as i64).into(), own.wallet_id.unwrap_or(NO_WALLET).into()]);
        let rows = self.read(&NAMES_OF_OTHERS, params).await?;
        let name = |row: Row| {
            let mut r = row.reader("payments");
            Ok((r.int("id")?, r.text("payer_name")?))
        };
        rows.into_iter().map(name).collect()
    }

    /// Open payments whose names have no rows yet, oldest first.
    pub async fn unkeyed_payments(&self, limit: usize) -> Result<Vec<Payment>, StoreError> {
        let rows: Vec<Row> = self.read(&UNKEYED, vec![(limit as i64).into()]).await?;
        rows.into_iter().map(decode).collect()
    }
}

fn ids_of(rows: Vec<Vec<Row>>) -> Result<Vec<i64>, StoreError> {
    rows.into_iter().flatten().map(|row| row.single_int("payment_names")).collect()
}

/// The keys in as many shares of about one size as they need statements.
fn shares(keys: &[i64]) -> std::slice::Chunks<'_, i64> {
    let statements = keys.len().div_ceil(KEYS_MANY).max(1);
    keys.chunks(keys.len().div_ceil(statements).max(1))
}

/// The values, and the first of them again for the places that are left.
fn filled(values: &[i64], places: usize) -> impl Iterator<Item = Value> {
    let first = values.first().copied().unwrap_or(0);
    values.iter().copied().chain(std::iter::repeat(first)).take(places).map(Value::from)
}
