-- Wallets of customers, payments they confirm with a PIN, and messages to them. Phone numbers, merchants'
-- texts and PINs are sealed or hashed; links and codes are not kept at all, they are made again from the row's
-- id and its nonce under a key that is not in here.

insert into counters (name, value) values
    ('wallet', 0), ('intent', 0), ('pin_try', 0), ('pin_code', 0), ('message', 0), ('credit', 0);

create table wallets (
    id bigint not null primary key,
    -- Sealed; found by the keyed hash beside it.
    phone bytea not null,
    phone_hash bytea not null unique,
    tier bigint not null check (tier in (1, 2, 3)),
    is_suspended bigint not null check (is_suspended in (0, 1)),
    locked_until_at bigint,
    pin bytea,
    pin_version bigint not null check (pin_version >= 0),
    -- Equals its postings; below zero only by a reversal.
    balance_kobo bigint not null,
    -- What went out on a Lagos day, counted in days since 1970.
    spent_day bigint not null,
    spent_kobo bigint not null check (spent_kobo >= 0),
    -- Raised by every try of a PIN and every code sent, so that two at once see one another.
    pin_clock bigint not null,
    -- When the customer last wrote to us, which opens the messenger's window for plain texts.
    wrote_at bigint,
    created_at bigint not null,
    updated_at bigint not null,
    -- Raised by what people change.
    version bigint not null,
    check ((pin is null) = (pin_version = 0))
);

-- The wallet that pays, or that is topped up.
alter table payments add column wallet_id bigint references wallets (id);
create index payments_wallet_open on payments (wallet_id, id) where status = 'pending' and wallet_id is not null;

create table payment_intents (
    id bigint not null primary key,
    business_id bigint not null references businesses (id),
    wallet_id bigint not null references wallets (id),
    payment_id bigint not null unique references payments (id),
    -- Random; no link of before a restored backup leads to a row of after it.
    nonce bytea not null,
    token_hash bytea not null unique,
    state text not null check (state in ('pending_pin', 'completed', 'expired', 'failed')),
    end_reason text check (end_reason in ('paid', 'expired', 'wrong_pins', 'cancelled', 'rejected')),
    -- Places taken by tries, and tries that were checked and wrong.
    tries bigint not null check (tries between 0 and 5),
    wrong_tries bigint not null check (wrong_tries between 0 and 5),
    amount_kobo bigint not null check (amount_kobo > 0),
    order_reference text not null,
    order_summary text,
    link_base text not null,
    idempotency_key text not null,
    fingerprint bytea not null,
    message_id bigint not null,
    created_at bigint not null,
    expires_at bigint not null,
    ended_at bigint,
    unique (business_id, idempotency_key),
    check ((state = 'pending_pin') = (ended_at is null)),
    check ((state = 'pending_pin') = (end_reason is null)),
    check ((state = 'completed') = (coalesce(end_reason, '') = 'paid'))
);
create index payment_intents_open on payment_intents (expires_at) where state = 'pending_pin';
create index payment_intents_wallet on payment_intents (wallet_id, created_at);

-- Tries of a PIN: open while being checked.
create table pin_tries (
    id bigint not null primary key,
    wallet_id bigint not null references wallets (id),
    business_id bigint not null references businesses (id),
    intent_id bigint not null references payment_intents (id),
    outcome text not null check (outcome in ('open', 'right', 'wrong')),
    is_cleared bigint not null check (is_cleared in (0, 1)),
    tried_at bigint not null
);
create index pin_tries_wallet on pin_tries (wallet_id, tried_at);
create index pin_tries_business on pin_tries (business_id, tried_at);

-- One-time codes that prove the phone. The code itself is made from id, nonce and a key.
create table pin_codes (
    id bigint not null primary key,
    wallet_id bigint not null references wallets (id),
    intent_id bigint not null references payment_intents (id),
    nonce bytea not null,
    tries bigint not null check (tries between 0 and 5),
    used_at bigint,
    created_at bigint not null,
    expires_at bigint not null
);
create index pin_codes_wallet on pin_codes (wallet_id, created_at, id);

create table messages (
    id bigint not null primary key,
    business_id bigint references businesses (id),
    wallet_id bigint references wallets (id),
    phone bytea not null,
    phone_hash bytea not null,
    kind text not null check (kind in ('merchant', 'link', 'code', 'receipt', 'pin_changed', 'topup', 'refund')),
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
create index messages_phone on messages (phone_hash, created_at, id);
create index messages_business on messages (business_id, created_at);

-- Windows of the quotas of merchants' messages.
create table message_quotas (
    scope text not null check (scope in ('recipient_minute', 'recipient_day', 'business_day')),
    key bytea not null,
    window_at bigint not null,
    used bigint not null,
    primary key (scope, key)
);--! by_key
create index message_quotas_age on message_quotas (window_at);

-- What an operator credited to a wallet.
create table wallet_credits (
    id bigint not null primary key,
    wallet_id bigint not null references wallets (id),
    entry_id bigint not null unique references entries (id),
    amount_kobo bigint not null check (amount_kobo > 0),
    ref text unique,
    reason text not null,
    operator text not null,
    credited_at bigint not null
);
create index wallet_credits_wallet on wallet_credits (wallet_id, credited_at);
--! append_only wallet_credits

-- Businesses on whose intents PINs were tried. Of stopped ones no payment is started or confirmed until an
-- operator has looked; wrong PINs of before that look do not count any more.
create table wallet_businesses (
    business_id bigint not null primary key references businesses (id),
    wrong_clock bigint not null,
    stopped_at bigint,
    resumed_at bigint
);
