//! The audit's questions: each counts the rows it looked at and the rows that break its rule, and names these.
//!
//! Every clause of the promise about money is one list of findings, so that what is promised can be read
//! here; two statements are made of it, one that counts and one that names rows. All are asked in one snapshot.
//! Only `ops::ledger::audit` calls this.

use crate::store::engine::sql::{Sql, statements};

/// Rows named for each finding of a clause; the statements hold the same number as a literal.
pub const FOUND_MAX: usize = 20;

/// How many rows a clause looks at, and how many break it.
macro_rules! counted {
    ($rows:literal, $(($table:literal, $id:literal, $from:expr)),+ $(,)?) => {
        concat!("select ", $rows, " as looked_at, 0" $(, " + (select count(*) from ", $from, ")")+, " as violations")
    };
}

/// The first rows that break a clause: their table and id.
macro_rules! named {
    ($rows:literal, $(($table:literal, $id:literal, $from:expr)),+ $(,)?) => {
        concat!(
            "select '' as found_in, cast(0 as bigint) as found where 1 = 0"
            $(, " union all select found_in, found from (select '", $table, "' as found_in, ", $id, " as found from ",
            $from, " order by 2 limit 20) as part")+
        )
    };
}

pub mod arrivals;
pub mod counted_once;
pub mod events;
pub mod figures;
pub mod payouts;
mod snapshot;

macro_rules! entries_sum_to_zero {
    ($form:ident) => {
        $form! {
            "(select count(*) from entries)",
            ("entries", "e.id", "entries e left join (select entry_id, \
                 sum(case side when 'debit' then amount_kobo else -amount_kobo end) as total, count(*) as lines \
                 from postings group by entry_id) p on p.entry_id = e.id \
                 where p.total is null or p.total <> 0 or p.lines < 2"),
        }
    };
}

macro_rules! balances_equal_postings {
    ($form:ident) => {
        $form! {
            "(select count(*) from merchant_balances) + (select count(*) from wallets)",
            ("businesses", "b.business_id", "merchant_balances b left join (select account_owner, \
                 sum(case side when 'credit' then amount_kobo else -amount_kobo end) as total \
                 from postings where account_kind = 'merchant' group by account_owner) p \
                 on p.account_owner = b.business_id where b.balance_kobo <> coalesce(p.total, 0)"),
            ("wallets", "w.id", "wallets w left join (select account_owner, \
                 sum(case side when 'credit' then amount_kobo else -amount_kobo end) as total \
                 from postings where account_kind = 'wallet' group by account_owner) p on p.account_owner = w.id \
                 where w.balance_kobo <> coalesce(p.total, 0)"),
            ("wallets", "a.account_owner", "(select distinct account_owner from postings where account_kind = 'wallet') a \
                 where not exists (select 1 from wallets w where w.id = a.account_owner)"),
            ("businesses", "a.account_owner", "(select distinct account_owner from postings where account_kind = 'merchant') a \
                 where not exists (select 1 from merchant_balances b where b.business_id = a.account_owner)"),
            ("entries", "entry_id", "postings where account <> account_kind || coalesce(':' || cast(account_owner as text), '') \
                 or (account_kind not in ('clearing', 'fees', 'adjustments', 'merchant', 'wallet', 'test:clearing', \
                 'test:fees', 'test:merchant') and substr(account, 1, 9) <> 'reserved:')"),
        }
    };
}

// Below zero only by reversals, to the kobo: right after the last debit that was no reversal a balance was not below
// zero, because a payout and a wallet payment take only what is there. Nodes go by the database's clock, and what its reading
// misses is less than a second; a failover to a server of another clock is read in the balance's favour up to five.
macro_rules! balances_above_floor {
    ($form:ident) => {
        $form! {
            "(select count(*) from merchant_balances) + (select count(*) from wallets)",
            ("businesses", "n.id", "(select b.business_id as id, b.balance_kobo, \
                 'merchant:' || cast(b.business_id as text) as account, \
                 (select max(e.posted_at) from postings p join entries e on e.id = p.entry_id \
                 where p.account = 'merchant:' || cast(b.business_id as text) and p.side = 'debit' \
                 and e.kind <> 'reversal') as last_at from merchant_balances b where b.balance_kobo < 0) n \
                 where n.balance_kobo <> coalesce((select sum(case p.side when 'credit' then p.amount_kobo \
                 else -p.amount_kobo end) from postings p join entries e on e.id = p.entry_id where p.account = n.account \
                 and (p.side = 'credit' and e.kind = 'settlement' or p.side = 'debit' and e.kind = 'reversal' \
                 or p.side = 'debit' and exists (select 1 from payouts o where o.entry_id = e.id) \
                 or p.side = 'credit' and exists (select 1 from payouts o where o.end_entry_id = e.id))), 0) \
                 or (select sum(case p.side when 'credit' then p.amount_kobo else -p.amount_kobo end) \
                 from postings p join entries e on e.id = p.entry_id where p.account = n.account and \
                 (p.side = 'credit' and e.posted_at <= n.last_at + 5000000 or \
                 p.side = 'debit' and (e.kind <> 'reversal' or e.posted_at < n.last_at - 5000000))) < 0"),
            ("wallets", "n.id", "(select w.id, w.balance_kobo, 'wallet:' || cast(w.id as text) as account, \
                 (select max(e.posted_at) from postings p join entries e on e.id = p.entry_id \
                 where p.account = 'wallet:' || cast(w.id as text) and p.side = 'debit' and e.kind <> 'reversal') \
                 as last_at from wallets w where w.balance_kobo < 0) n \
                 where n.balance_kobo <> coalesce((select sum(case p.side when 'credit' then p.amount_kobo \
                 else -p.amount_kobo end) from postings p where p.account = n.account), 0) \
                 or (select sum(case p.side when 'credit' then p.amount_kobo else -p.amount_kobo end) \
                 from postings p join entries e on e.id = p.entry_id where p.account = n.account and \
                 (p.side = 'credit' and e.posted_at <= n.last_at + 5000000 or \
                 p.side = 'debit' and (e.kind <> 'reversal' or e.posted_at < n.last_at - 5000000))) < 0"),
        }
    };
}

macro_rules! approved_has_one_credit {
    ($form:ident) => {
        $form! {
            "(select count(*) from payments where status = 'approved')",
            ("payments", "p.id", "payments p where p.status = 'approved' and \
                 (select count(*) from settlements s where s.payment_id = p.id and s.id = p.settlement_id) <> 1"),
            ("payments", "p.id", "payments p where p.status = 'approved' and p.reversed_at is null and \
                 (select count(*) from settlements s where s.payment_id = p.id and s.reversed_at is null) <> 1"),
            ("settlements", "s.id", "settlements s where \
                 (select count(*) from entries e where e.settlement_id = s.id and e.kind = 'settlement') <> 1"),
            ("settlements", "s.id", "settlements s where (s.reversed_at is not null) <> \
                 ((select count(*) from entries e where e.settlement_id = s.id and e.kind = 'reversal') = 1)"),
            ("settlements", "s.id", "settlements s left join payments p on p.id = s.payment_id where p.id is null \
                 or p.business_id <> s.business_id or p.kind <> s.kind \
                 or (s.reversed_at is null and (p.status <> 'approved' or p.settlement_id <> s.id)) \
                 or (p.settlement_id = s.id and (p.reversed_at is null) <> (s.reversed_at is null))"),
            ("entries", "e.id", "entries e where e.kind in ('settlement', 'reversal') \
                 and not exists (select 1 from settlements s where s.id = e.settlement_id)"),
        }
    };
}

macro_rules! approved_has_one_event {
    ($form:ident) => {
        $form! {
            "(select count(*) from payments where status = 'approved' and kind <> 'topup')",
            ("payments", "p.id", "payments p where p.status = 'approved' and p.kind <> 'topup' and \
                 (select count(*) from events e join jobs j on j.subject_id = e.id and j.kind = 'deliver' \
                 where e.payment_id = p.id and e.kind = 'payment.approved') <> 1"),
            ("events", "e.id", "events e join payments p on p.id = e.payment_id where e.kind = 'payment.approved' \
                 and (p.status <> 'approved' or p.kind = 'topup')"),
        }
    };
}

macro_rules! credited_is_received_less_charges {
    ($form:ident) => {
        $form! {
            "(select count(*) from settlements)",
            ("settlements", "s.id", "settlements s join entries e on e.settlement_id = s.id and e.kind = 'settlement' \
                 where s.received_kobo - s.charge_kobo <> s.business_receives_kobo or \
                 s.business_receives_kobo <> coalesce((select sum(case side when 'credit' then amount_kobo \
                 else -amount_kobo end) from postings p where p.entry_id = e.id \
                 and (p.account_kind in ('merchant', 'test:merchant') \
                 and p.account_owner = s.business_id or p.account_kind = 'wallet' and s.kind = 'topup')), 0) or \
                 s.charge_kobo <> coalesce((select sum(case side when 'credit' then amount_kobo \
                 else -amount_kobo end) from postings p where p.entry_id = e.id and p.account in ('fees', 'test:fees')), 0) or \
                 exists (select 1 from postings p where p.entry_id = e.id and p.account_kind = 'merchant' \
                 and p.account_owner <> s.business_id)"),
        }
    };
}

macro_rules! reversals_mirror {
    ($form:ident) => {
        $form! {
            "(select count(*) from entries where kind = 'reversal')",
            ("settlements", "unequal.settlement_id", "(select e.settlement_id, p.account from entries e \
join postings p on p.entry_id = e.id \
where e.settlement_id in (select r.settlement_id from entries r where r.kind = 'reversal') \
group by e.settlement_id, p.account having \
sum(case p.side when 'debit' then p.amount_kobo else -p.amount_kobo end) <> 0) unequal"),
        }
    };
}

macro_rules! charges_add_up {
    ($form:ident) => {
        $form! {
            "(select count(*) from payments)",
            ("payments", "p.id", "payments p where p.status <> 'approved' and \
                 p.charge_percentage_kobo + p.charge_fixed_kobo + p.business_receives_kobo <> p.amount_kobo"),
            ("payments", "p.id", "payments p join settlements s on s.id = p.settlement_id \
                 where p.charge_percentage_kobo + p.charge_fixed_kobo <> s.charge_kobo \
                 or p.received_kobo <> s.received_kobo or p.business_receives_kobo <> s.business_receives_kobo \
                 or (p.is_mismatch = 1) <> (p.received_kobo <> p.amount_kobo)"),
        }
    };
}

macro_rules! alert_funds_one_payment {
    ($form:ident) => {
        $form! {
            "(select count(*) from settlements where alert_id is not null)",
            ("alerts", "a.alert_id", "(select alert_id from settlements where reversed_at is null \
                 and alert_id is not null group by alert_id having count(*) > 1) a"),
            ("payments", "b.payment_id", "(select payment_id from settlements where reversed_at is null \
                 group by payment_id having count(*) > 1) b"),
            ("alerts", "a.id", "alerts a where a.status = 'matched' and \
                 (select count(*) from settlements s where s.id = a.settlement_id and s.alert_id = a.id \
                 and s.payment_id = a.payment_id and s.reversed_at is null) <> 1"),
            ("settlements", "s.id", "settlements s join alerts a on a.id = s.alert_id where s.reversed_at is null \
                 and (a.status <> 'matched' or a.authenticity not in ('proven', 'trusted', 'forwarded', 'simulated'))"),
            // What test mode wrote pays test payments of its own business alone, and nothing else pays into the test bank.
            ("settlements", "s.id", "settlements s join alerts a on a.id = s.alert_id join payments p on p.id = s.payment_id \
                 left join receiving_accounts r on r.id = p.account_id where (a.authenticity = 'simulated' \
                 or a.simulated_for is not null or coalesce(r.bank, '') = 'testbank') and (p.mode <> 'test' \
                 or a.authenticity <> 'simulated' or coalesce(a.simulated_for, 0) <> p.business_id)"),
            ("settlements", "s.id", "settlements s left join alerts a on a.id = s.alert_id where s.alert_id is not null \
                 and (a.amount_kobo is null or a.amount_kobo <> s.received_kobo or a.direction is null \
                 or a.direction <> 'credit')"),
        }
    };
}

macro_rules! only_legal_states {
    ($form:ident) => {
        $form! {
            "(select count(*) from payments)",
            ("payments", "p.id", "payments p where \
                 (case when p.status = 'approved' then 1 else 0 end) <> (case when p.approved_at is null then 0 else 1 end) \
                 or (case when p.status = 'rejected' then 1 else 0 end) <> (case when p.rejected_at is null then 0 else 1 end) \
                 or (p.status = 'pending' and (p.settlement_id is not null or p.matched_at is not null)) \
                 or (p.reversed_at is not null and p.status <> 'approved') \
                 or (p.kind = 'transfer' and p.status = 'approved' and p.matched_at is null)"),
        }
    };
}

macro_rules! wallet_debits_are_credits {
    ($form:ident) => {
        $form! {
            "(select count(*) from settlements where kind = 'wallet')",
            ("settlements", "s.id", "settlements s join entries e on e.settlement_id = s.id and e.kind = 'settlement' \
                 where s.kind = 'wallet' and s.received_kobo <> coalesce((select sum(case side when 'debit' \
                 then amount_kobo else -amount_kobo end) from postings p where p.entry_id = e.id \
                 and p.account_kind = 'wallet'), 0)"),
            ("settlements", "s.id", "settlements s join payments p on p.id = s.payment_id where s.kind = 'wallet' \
                 and (p.wallet_id is null or p.account_id is not null or not exists (select 1 from payment_intents i \
                 where i.payment_id = p.id and i.state = 'completed' and i.amount_kobo = s.received_kobo \
                 and i.wallet_id = p.wallet_id))"),
            ("entries", "e.id", "postings g join entries e on e.id = g.entry_id \
                 left join settlements s on s.id = e.settlement_id where g.account_kind = 'wallet' \
                 and g.side = 'debit' and e.kind = 'settlement' and (s.kind is null or s.kind <> 'wallet')"),
            ("settlements", "s.id", "settlements s join payments p on p.id = s.payment_id \
                 join entries e on e.settlement_id = s.id join postings g on g.entry_id = e.id \
                 where s.kind in ('wallet', 'topup') and g.account_kind = 'wallet' \
                 and g.account_owner <> p.wallet_id"),
            // A test wallet moves its own business's test money, and a real one none of it.
            ("entries", "g.entry_id", "postings g join wallets w on w.id = g.account_owner join entries e on e.id = g.entry_id \
                 where g.account_kind = 'wallet' and (w.test_business_id is not null and coalesce(e.business_id, 0) <> w.test_business_id \
                 or exists (select 1 from postings o where o.entry_id = g.entry_id and o.account_kind <> 'wallet' \
                 and (substr(o.account, 1, 5) = 'test:') <> (w.test_business_id is not null)))"),
            ("settlements", "s.id", "settlements s join payments p on p.id = s.payment_id join entries e on e.settlement_id = s.id \
                 join postings g on g.entry_id = e.id where g.account_kind <> 'wallet' \
                 and (substr(g.account, 1, 5) = 'test:') <> (p.mode = 'test')"),
            ("payments", "p.id", "payments p join wallets w on w.id = p.wallet_id where (p.mode = 'test') <> \
                 (w.test_business_id is not null) or coalesce(w.test_business_id, p.business_id) <> p.business_id"),
        }
    };
}

macro_rules! intents_end_with_payments {
    ($form:ident) => {
        $form! {
            "(select count(*) from payment_intents)",
            ("payment_intents", "i.id", "payment_intents i join payments p on p.id = i.payment_id where \
                 (i.state = 'pending_pin') <> (p.status = 'pending') or (i.state = 'completed') <> (p.status = 'approved') \
                 or i.amount_kobo <> p.amount_kobo or i.business_id <> p.business_id \
                 or p.wallet_id is null or p.wallet_id <> i.wallet_id or p.kind <> 'wallet'"),
            ("payments", "p.id", "payments p where p.kind = 'wallet' \
                 and not exists (select 1 from payment_intents i where i.payment_id = p.id)"),
            ("payments", "p.id", "payments p where p.kind = 'topup' and p.wallet_id is null"),
        }
    };
}

macro_rules! credits_are_posted {
    ($form:ident) => {
        $form! {
            "(select count(*) from wallet_credits)",
            ("wallet_credits", "c.id", "wallet_credits c where not exists (select 1 from postings p \
join entries e on e.id = p.entry_id where e.id = c.entry_id and e.kind = 'adjustment' \
and p.account = 'wallet:' || cast(c.wallet_id as text) and p.side = 'credit' \
and p.amount_kobo = c.amount_kobo)"),
            ("entries", "e.id", "entries e where e.kind = 'adjustment' \
and not exists (select 1 from wallet_credits c where c.entry_id = e.id) \
and not exists (select 1 from payouts o where o.entry_id = e.id) \
and not exists (select 1 from payouts o where o.end_entry_id = e.id)"),
        }
    };
}

macro_rules! entries_are_sealed {
    ($form:ident) => {
        $form! {
            "(select count(*) from entries)",
            ("entries", "e.id", "entries e where not exists (select 1 from sealed_entries s where s.entry_id = e.id) \
                 and not exists (select 1 from unsealed_entries u where u.entry_id = e.id)"),
            ("entries", "u.entry_id", "unsealed_entries u join sealed_entries m on m.entry_id = u.entry_id"),
            ("entries", "m.entry_id", "sealed_entries m where not exists (select 1 from seals s where s.id = m.seal_id)"),
            ("seals", "s.id", "seals s where s.entry_count <> \
                 (select count(*) from sealed_entries m where m.seal_id = s.id)"),
            ("seals", "s.id", "seals s where s.id > 1 and not exists (select 1 from seals b where b.id = s.id - 1)"),
        }
    };
}

statements! {
    ENTRIES_SUM_TO_ZERO: query { entries_sum_to_zero!(counted) }
    ENTRIES_SUM_TO_ZERO_ROWS: query { entries_sum_to_zero!(named) }
    BALANCES_EQUAL_POSTINGS: query { balances_equal_postings!(counted) }
    BALANCES_EQUAL_POSTINGS_ROWS: query { balances_equal_postings!(named) }
    BALANCES_ABOVE_FLOOR: query { balances_above_floor!(counted) }
    BALANCES_ABOVE_FLOOR_ROWS: query { balances_above_floor!(named) }
    APPROVED_HAS_ONE_CREDIT: query { approved_has_one_credit!(counted) }
    APPROVED_HAS_ONE_CREDIT_ROWS: query { approved_has_one_credit!(named) }
    APPROVED_HAS_ONE_EVENT: query { approved_has_one_event!(counted) }
    APPROVED_HAS_ONE_EVENT_ROWS: query { approved_has_one_event!(named) }
    CREDITED_IS_RECEIVED_LESS_CHARGES: query { credited_is_received_less_charges!(counted) }
    CREDITED_IS_RECEIVED_LESS_CHARGES_ROWS: query { credited_is_received_less_charges!(named) }
    REVERSALS_MIRROR: query { reversals_mirror!(counted) }
    REVERSALS_MIRROR_ROWS: query { reversals_mirror!(named) }
    CHARGES_ADD_UP: query { charges_add_up!(counted) }
    CHARGES_ADD_UP_ROWS: query { charges_add_up!(named) }
    ALERT_FUNDS_ONE_PAYMENT: query { alert_funds_one_payment!(counted) }
    ALERT_FUNDS_ONE_PAYMENT_ROWS: query { alert_funds_one_payment!(named) }
    ONLY_LEGAL_STATES: query { only_legal_states!(counted) }
    ONLY_LEGAL_STATES_ROWS: query { only_legal_states!(named) }
    WALLET_DEBITS_ARE_CREDITS: query { wallet_debits_are_credits!(counted) }
    WALLET_DEBITS_ARE_CREDITS_ROWS: query { wallet_debits_are_credits!(named) }
    INTENTS_END_WITH_PAYMENTS: query { intents_end_with_payments!(counted) }
    INTENTS_END_WITH_PAYMENTS_ROWS: query { intents_end_with_payments!(named) }
    CREDITS_ARE_POSTED: query { credits_are_posted!(counted) }
    CREDITS_ARE_POSTED_ROWS: query { credits_are_posted!(named) }
    ENTRIES_ARE_SEALED: query { entries_are_sealed!(counted) }
    ENTRIES_ARE_SEALED_ROWS: query { entries_are_sealed!(named) }
}

/// A clause: its name, the statement that counts, and the one that names rows.
pub type Clause = (&'static str, &'static Sql, &'static Sql);

/// The checks in the order in which they are reported.
pub const CHECKS: [Clause; 14] = [
    ("entries_sum_to_zero", &ENTRIES_SUM_TO_ZERO, &ENTRIES_SUM_TO_ZERO_ROWS),
    ("balances_equal_postings", &BALANCES_EQUAL_POSTINGS, &BALANCES_EQUAL_POSTINGS_ROWS),
    ("balances_above_floor", &BALANCES_ABOVE_FLOOR, &BALANCES_ABOVE_FLOOR_ROWS),
    ("approved_has_one_credit", &APPROVED_HAS_ONE_CREDIT, &APPROVED_HAS_ONE_CREDIT_ROWS),
    ("approved_has_one_event", &APPROVED_HAS_ONE_EVENT, &APPROVED_HAS_ONE_EVENT_ROWS),
    (
        "credited_is_received_less_charges",
        &CREDITED_IS_RECEIVED_LESS_CHARGES,
        &CREDITED_IS_RECEIVED_LESS_CHARGES_ROWS,
    ),
    ("reversals_mirror", &REVERSALS_MIRROR, &REVERSALS_MIRROR_ROWS),
    ("charges_add_up", &CHARGES_ADD_UP, &CHARGES_ADD_UP_ROWS),
    ("alert_funds_one_payment", &ALERT_FUNDS_ONE_PAYMENT, &ALERT_FUNDS_ONE_PAYMENT_ROWS),
    ("only_legal_states", &ONLY_LEGAL_STATES, &ONLY_LEGAL_STATES_ROWS),
    ("wallet_debits_are_credits", &WALLET_DEBITS_ARE_CREDITS, &WALLET_DEBITS_ARE_CREDITS_ROWS),
    ("intents_end_with_payments", &INTENTS_END_WITH_PAYMENTS, &INTENTS_END_WITH_PAYMENTS_ROWS),
    ("credits_are_posted", &CREDITS_ARE_POSTED, &CREDITS_ARE_POSTED_ROWS),
    ("entries_are_sealed", &ENTRIES_ARE_SEALED, &ENTRIES_ARE_SEALED_ROWS),
];
