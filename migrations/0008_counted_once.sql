-- One transfer is counted once: keys of settlements that stand, and ways to find what tells of the same money.

-- The session id of a transfer, or the reference that the bank calls unique on an account, belongs to at most
-- one settlement that stands. Written with the settlement, taken away with its reversal.
create table settled_keys (
    kind text not null check (kind in ('session', 'reference')),
    key text not null,
    settlement_id bigint not null references settlements (id),
    primary key (kind, key)
);--! by_key
create index settled_keys_settlement on settled_keys (settlement_id);

-- A transfer's session id and reference, over all time.
create index alerts_session on alerts (session_id, first_seen_at) where session_id is not null;
create index alerts_reference on alerts (reference, bank, first_seen_at) where reference is not null;
-- Equal money by the bank's own time, whenever it was seen; and what no such time keeps apart.
create index alerts_bank_time on alerts (account_id, amount_kobo, bank_time_begin_at);
create index alerts_timeless on alerts (account_id, amount_kobo, first_seen_at) where direction = 'debit' or kind = 'reversal' or bank_time_precision = 'none';
drop index alerts_seen;

-- What a person has approved counts like a proven alert: it has the payment's account and its keys.
update alerts set account_id = (select max(p.account_id) from settlements s join payments p on p.id = s.payment_id where s.alert_id = alerts.id)
 where account_id is null and id in (select alert_id from settlements where alert_id is not null);
update alerts set authenticity = 'trusted', authentic_by = coalesce(authentic_by, 'approved by an operator')
 where authenticity = 'forwarded' and id in (select alert_id from settlements where alert_id is not null);
insert into alert_keys (kind, key, alert_id)
select 'session', session_id, min(id) from alerts
 where session_id is not null and id in (select alert_id from settlements where alert_id is not null)
 group by session_id
on conflict do nothing;
insert into alert_keys (kind, key, alert_id)
select 'reference', cast(coalesce(r.via_account_id, r.id) as text) || '|' || a.reference, min(a.id)
  from alerts a join receiving_accounts r on r.id = a.account_id
 where a.is_reference_unique = 1 and a.reference is not null and a.direction = 'credit'
   and a.authenticity in ('proven', 'trusted') and a.status not in ('quarantined', 'ignored', 'unreadable', 'duplicate')
 group by coalesce(r.via_account_id, r.id), a.reference
on conflict do nothing;

-- Of two settlements that stand on one key the first keeps it; the audit tells of both.
insert into settled_keys (kind, key, settlement_id)
select 'session', a.session_id, min(s.id) from settlements s join alerts a on a.id = s.alert_id
 where s.reversed_at is null and a.session_id is not null
 group by a.session_id
on conflict do nothing;
insert into settled_keys (kind, key, settlement_id)
select 'reference', cast(coalesce(r.via_account_id, r.id) as text) || '|' || a.reference, min(s.id)
  from settlements s join alerts a on a.id = s.alert_id join receiving_accounts r on r.id = a.account_id
 where s.reversed_at is null and a.is_reference_unique = 1 and a.reference is not null
 group by coalesce(r.via_account_id, r.id), a.reference
on conflict do nothing;
