//! The audit's questions about payouts: what is set aside is what is pending, and the ledger's lines of each payout are
//! those of its state.

use super::Clause;
use crate::store::engine::sql::statements;

/// The sum of an entry's lines of one account.
macro_rules! lines {
    ($entry:literal, $account:literal, $side:literal) => {
        concat!(
            "coalesce((select sum(g.amount_kobo) from postings g where g.entry_id = ",
            $entry,
            " and g.side = '",
            $side,
            "' and g.account = ",
            $account,
            "), 0)"
        )
    };
}

macro_rules! reserved_is_pending {
    ($form:ident) => {
        $form! {
            "(select count(*) from merchant_balances)",
            ("businesses", "b.business_id", "merchant_balances b left join (select business_id, sum(amount_kobo) as total \
                 from payouts where status = 'pending' group by business_id) o on o.business_id = b.business_id \
                 where b.reserved_kobo <> coalesce(o.total, 0)"),
            ("businesses", "b.business_id", "merchant_balances b left join (select account, \
                 sum(case side when 'credit' then amount_kobo else -amount_kobo end) as total from postings \
                 where substr(account, 1, 9) = 'reserved:' group by account) p \
                 on p.account = 'reserved:' || cast(b.business_id as text) where b.reserved_kobo <> coalesce(p.total, 0)"),
        }
    };
}

macro_rules! payouts_agree_with_entries {
    ($form:ident) => {
        $form! {
            "(select count(*) from payouts)",
            ("payouts", "o.id", concat!("payouts o where ",
                 lines!("o.entry_id", "'merchant:' || cast(o.business_id as text)", "debit"), " <> o.amount_kobo or ",
                 lines!("o.entry_id", "'reserved:' || cast(o.business_id as text)", "credit"), " <> o.amount_kobo or \
                 not exists (select 1 from entries e where e.id = o.entry_id and e.kind = 'adjustment' \
                 and e.settlement_id is null and e.business_id = o.business_id)")),
            ("payouts", "o.id", concat!("payouts o where o.status <> 'pending' and (",
                 lines!("o.end_entry_id", "'reserved:' || cast(o.business_id as text)", "debit"), " <> o.amount_kobo or ",
                 lines!("o.end_entry_id", "case o.status when 'paid' then 'clearing' else \
                 'merchant:' || cast(o.business_id as text) end", "credit"), " <> o.amount_kobo or \
                 not exists (select 1 from entries e where e.id = o.end_entry_id and e.kind = 'adjustment' \
                 and e.settlement_id is null and e.business_id = o.business_id))")),
            ("payouts", "o.id", "payouts o where (o.status = 'pending') <> (o.end_entry_id is null) \
                 or (o.status = 'pending') <> (o.ended_at is null) or not exists (select 1 from payout_accounts a \
                 where a.id = o.account_id and a.business_id = o.business_id)"),
            ("entries", "p.entry_id", "postings p where substr(p.account, 1, 9) = 'reserved:' \
                 and not exists (select 1 from payouts o where o.entry_id = p.entry_id) \
                 and not exists (select 1 from payouts o where o.end_entry_id = p.entry_id)"),
        }
    };
}

statements! {
    RESERVED_IS_PENDING: query { reserved_is_pending!(counted) }
    RESERVED_IS_PENDING_ROWS: query { reserved_is_pending!(named) }
    PAYOUTS_AGREE_WITH_ENTRIES: query { payouts_agree_with_entries!(counted) }
    PAYOUTS_AGREE_WITH_ENTRIES_ROWS: query { payouts_agree_with_entries!(named) }
}

/// Further checks, reported after those of `figures`.
pub const CHECKS: [Clause; 2] = [
    ("reserved_is_pending", &RESERVED_IS_PENDING, &RESERVED_IS_PENDING_ROWS),
    ("payouts_agree_with_entries", &PAYOUTS_AGREE_WITH_ENTRIES, &PAYOUTS_AGREE_WITH_ENTRIES_ROWS),
];
