//! Open payments that one received amount could approve together with a new one: what the choice of
//! a receiving account looks at. One statement, because every create waits for it; which of the
//! rows truly collide is decided by name, in `ops::create_payment`, the only caller.

use super::sql::statements;
use super::{Store, StoreError, Value};
use crate::domain::matching::Beneficiary;
use crate::domain::payment::Payment;
use crate::domain::time::Timestamp;

macro_rules! collision {
    () => {
        "select account_id, business_id, created_at, payer_name, wallet_id from payments where status = 'pending' \
         and account_id is not null and mode = $1 and "
    };
}

/// Open payments of the amount $2, the newest first: an index has them in this order.
macro_rules! same_amount {
    () => {
        concat!("select * from (", collision!(), "amount_kobo = $2 order by id desc limit $3) as same_amount")
    };
}

/// Open payments of an amount between two, in the order of the index: a range of popular amounts
/// holds so many that sorting them would take longer than everything else.
macro_rules! by_amount {
    ($low:literal, $high:literal) => {
        concat!(
            " union all select * from (",
            collision!(),
            "amount_kobo between ",
            $low,
            " and ",
            $high,
            " order by amount_kobo limit $3) as in_range"
        )
    };
}

/// Open payments that an amount between two would pay under the charges rule, as above.
macro_rules! by_rule {
    ($low:literal, $high:literal, $name:literal) => {
        concat!(
            " union all select * from (",
            collision!(),
            "rule_low_kobo is not null and rule_low_kobo between cast(",
            $low,
            " as bigint) - 200 and cast(",
            $high,
            " as bigint) and rule_high_kobo >= ",
            $low,
            " order by rule_low_kobo limit $3) as ",
            $name
        )
    };
}

statements! {
    COLLISIONS: query { concat!(same_amount!(), by_rule!("$2", "$2", "by_amount")) }
    COLLISIONS_WITH_RULE: query {
        concat!(same_amount!(), by_rule!("$2", "$2", "by_amount"), by_amount!("$4", "$5"), by_rule!("$4", "$5", "by_both"))
    }
}

/// Open payments by received amount range that a new payment would share; for collisions.
pub struct CollisionRow {
    pub account_id: i64,
    pub beneficiary: Beneficiary,
    pub created_at: Timestamp,
    pub payer_name: String,
}

impl Store {
    /// Open payments that one received amount could approve together with `payment`: the newest of
    /// the same amount, and some of those that fit by the charges rule, at most `limit` of each way.
    pub async fn collisions(&self, payment: &Payment, limit: usize) -> Result<Vec<CollisionRow>, StoreError> {
        let mut params: Vec<Value> =
            vec![payment.mode.as_str().into(), payment.amount.into(), (limit as i64).into()];
        let sql = match payment.rule_bounds() {
            None => &COLLISIONS,
            Some((low, high)) => {
                params.extend([low.into(), high.into()]);
                &COLLISIONS_WITH_RULE
            }
        };
        let rows = self.read(sql, params).await?;
        rows.into_iter()
            .map(|row| {
                let mut r = row.reader("payments");
                let (account_id, business_id) = (r.int("account_id")?, r.int("business_id")?);
                let (created_at, payer_name) = (r.time("created_at")?, r.text("payer_name")?);
                let wallet = r.opt_int("wallet_id")?;
                let beneficiary = wallet.map_or(Beneficiary::Business(business_id), Beneficiary::Wallet);
                Ok(CollisionRow { account_id, beneficiary, created_at, payer_name })
            })
            .collect()
    }
}
