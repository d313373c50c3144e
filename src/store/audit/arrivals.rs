//! The audit's question about money that waits for a payment: each open row agrees with its alert and its payment.

use super::Clause;
use crate::store::engine::sql::statements;

macro_rules! arrivals_agree {
    ($form:ident) => {
        $form! {
            "(select count(*) from arrivals)",
            ("arrivals", "w.id", "arrivals w left join alerts a on a.id = w.alert_id where w.ended_at is null and \
                 (a.id is null or a.status not in ('review', 'unmatched') or a.authenticity not in ('proven', 'trusted', 'simulated') \
                 or a.direction is null or a.direction <> 'credit' or a.account_id is null \
                 or a.amount_kobo is null or a.amount_kobo <> w.received_kobo)"),
            ("arrivals", "w.id", "arrivals w left join payments p on p.id = w.payment_id where w.ended_at is null and \
                 (p.id is null or p.account_id is null \
                 or not (p.status = 'pending' or (p.status = 'rejected' and p.is_swept = 1)))"),
            ("arrivals", "w.id", "arrivals w join alerts a on a.id = w.alert_id join payments p on p.id = w.payment_id \
                 where w.ended_at is null and a.account_id <> p.account_id"),
            ("arrivals", "w.id", "arrivals w left join payments p on p.id = w.payment_id \
                 where p.id is null or p.business_id <> w.business_id or p.kind = 'wallet'"),
        }
    };
}

statements! {
    ARRIVALS_AGREE: query { arrivals_agree!(counted) }
    ARRIVALS_AGREE_ROWS: query { arrivals_agree!(named) }
}

/// A further check, reported after those of `payouts`.
pub const CHECKS: [Clause; 1] = [("arrivals_agree", &ARRIVALS_AGREE, &ARRIVALS_AGREE_ROWS)];
