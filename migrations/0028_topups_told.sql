-- Three more kinds of messages: money for a wallet that is not added to it, because it is suspended or above its limit,
-- and a top-up that was reversed. One text for both engines cannot change a check, so the table is made anew.
alter table messages rename to messages_before;
drop index messages_phone;
drop index messages_business;
drop index messages_made;
create table messages (
    id bigint not null primary key,
    business_id bigint references businesses (id),
    wallet_id bigint references wallets (id),
    phone bytea not null,
    phone_hash bytea not null,
    kind text not null check (kind in ('merchant', 'link', 'code', 'receipt', 'pin_changed', 'topup', 'refund', 'stopped', 'locked',
        'topup_suspended', 'topup_over_limit', 'topup_reversed')),
    -- An intent, a code, a payment; what the text is made from.
    subject_id bigint not null,
    -- A merchant's own text, sealed.
    text bytea,
    status text not null check (status in ('queued', 'sent', 'delivered', 'read', 'failed')),
    error text,
    provider_id text unique,
    attempts bigint not null,
    created_at bigint not null,
    -- Not tried any more after this.
    valid_until_at bigint not null,
    updated_at bigint not null,
    check ((kind = 'merchant') = (text is not null))
);
insert into messages (id, business_id, wallet_id, phone, phone_hash, kind, subject_id, text, status, error, provider_id,
    attempts, created_at, valid_until_at, updated_at)
select id, business_id, wallet_id, phone, phone_hash, kind, subject_id, text, status, error, provider_id,
    attempts, created_at, valid_until_at, updated_at
from messages_before;
drop table messages_before;
create index messages_phone on messages (phone_hash, created_at, id);
create index messages_business on messages (business_id, created_at);
create index messages_made on messages (created_at, id);
-- The payments that an alert funded before they were reversed. No question by payment may take this index.
create index settlements_alert_reversed on settlements (alert_id) where reversed_at is not null and alert_id is not null;
