-- One text for both engines; see src/store/migrate.rs for what is replaced.
-- Column names tell the unit: ..._at microseconds UTC, ..._kobo money, is_... 0 or 1.

create table counters (
    name text not null primary key,
    value bigint not null
);
insert into counters (name, value) values
    ('unit', 0), ('business', 0), ('website', 0), ('key', 0), ('account', 0), ('payment', 0),
    ('alert', 0), ('settlement', 0), ('entry', 0), ('event', 0), ('job', 0), ('attempt', 0),
    ('seal', 0), ('correction', 0), ('act', 0),
    -- Not ids: raised by every approval of a website and every new account, so that two at once see one another.
    ('approvals', 0), ('accounts_changed', 0);

-- Units whose end could be in doubt; rows older than a day are swept.
create table units (
    id bigint not null primary key
);

-- Sealed with the key of this installation; see App::prepare.
create table key_checks (
    id bigint not null primary key check (id = 1),
    sealed bytea not null
);

create table businesses (
    id bigint not null primary key,
    name text not null,
    email text not null,
    webhook_url text,
    is_active bigint not null check (is_active in (0, 1)),
    is_wallet_enabled bigint not null check (is_wallet_enabled in (0, 1)),
    rate_limit bigint,
    wallet_rate_limit bigint,
    charge_rate bigint not null check (charge_rate between 0 and 10000),
    charge_fixed_kobo bigint not null check (charge_fixed_kobo >= 0),
    charge_cap_kobo bigint check (charge_cap_kobo >= 0),
    is_charge_paid_by_customer bigint not null check (is_charge_paid_by_customer in (0, 1)),
    is_charged bigint not null check (is_charged in (0, 1)),
    webhook_secret bytea not null,
    previous_webhook_secret bytea,
    previous_secret_until_at bigint,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null
);

create table websites (
    id bigint not null primary key,
    business_id bigint not null references businesses (id),
    url text not null,
    host text not null,
    webhook_url text,
    status text not null check (status in ('pending', 'approved', 'rejected')),
    reject_reason text,
    charge_rate bigint check (charge_rate between 0 and 10000),
    charge_fixed_kobo bigint check (charge_fixed_kobo >= 0),
    charge_cap_kobo bigint check (charge_cap_kobo >= 0),
    is_charge_paid_by_customer bigint check (is_charge_paid_by_customer in (0, 1)),
    is_charged bigint check (is_charged in (0, 1)),
    created_at bigint not null,
    updated_at bigint not null
);
create index websites_business on websites (business_id);
-- A host has one approved owner; above and below are checked when approving.
create unique index websites_host on websites (host) where status = 'approved' and host <> 'localhost' and host <> '127.0.0.1';

create table api_keys (
    id bigint not null primary key,
    business_id bigint not null references businesses (id),
    hash bytea not null unique,
    hint text not null,
    label text,
    mode text not null check (mode in ('live', 'test')),
    created_at bigint not null,
    expires_at bigint,
    revoked_at bigint,
    last_used_at bigint
);
create index api_keys_business on api_keys (business_id);

create table receiving_accounts (
    id bigint not null primary key,
    bank text not null,
    bank_name text not null,
    number text not null,
    name text not null,
    business_id bigint references businesses (id),
    via_account_id bigint references receiving_accounts (id),
    mode text not null check (mode in ('live', 'test')),
    is_forced bigint not null check (is_forced in (0, 1)),
    is_mask_shared bigint not null check (is_mask_shared in (0, 1)),
    created_at bigint not null,
    retired_at bigint,
    last_used_at bigint not null,
    unique (bank, number)
);

create table payments (
    id bigint not null primary key,
    business_id bigint not null references businesses (id),
    transaction_id text not null,
    kind text not null check (kind in ('transfer', 'wallet', 'topup')),
    mode text not null check (mode in ('live', 'test')),
    status text not null check (status in ('pending', 'approved', 'rejected')),
    version bigint not null,
    amount_kobo bigint not null check (amount_kobo > 0),
    charge_percentage_kobo bigint not null check (charge_percentage_kobo >= 0),
    charge_fixed_kobo bigint not null check (charge_fixed_kobo >= 0),
    business_receives_kobo bigint not null check (business_receives_kobo >= 0),
    schedule_rate bigint not null,
    schedule_fixed_kobo bigint not null,
    schedule_cap_kobo bigint,
    is_schedule_paid_by_customer bigint not null,
    is_schedule_enabled bigint not null,
    rule_low_kobo bigint,
    rule_high_kobo bigint,
    payer_name text not null,
    payer_bank text,
    first_name text,
    last_name text,
    bvn bytea,
    registration_number text,
    service text,
    webhook_url text not null,
    website_id bigint,
    external_reference text,
    account_id bigint references receiving_accounts (id),
    corrections bigint not null,
    created_at bigint not null,
    updated_at bigint not null,
    expires_at bigint not null,
    approvable_until_at bigint not null,
    matched_at bigint,
    approved_at bigint,
    rejected_at bigint,
    reject_reason text,
    is_swept bigint not null check (is_swept in (0, 1)),
    reversed_at bigint,
    settlement_id bigint,
    received_kobo bigint,
    is_mismatch bigint not null check (is_mismatch in (0, 1)),
    mismatch_reason text,
    is_name_mismatch bigint not null check (is_name_mismatch in (0, 1)),
    unique (business_id, transaction_id),
    check ((status = 'approved') = (approved_at is not null)),
    check ((status = 'approved') = (settlement_id is not null)),
    check ((status = 'rejected') = (rejected_at is not null)),
    check (reversed_at is null or status = 'approved'),
    check (charge_percentage_kobo + charge_fixed_kobo <= amount_kobo or is_mismatch = 1)
);
-- Listing, newest first.
create index payments_listed on payments (business_id, created_at, id);
-- What may still be funded: by exact amount, and by the lower end of the charges rule. The id stands
-- before the account, so that the newest of many of one amount are found without sorting them.
create index payments_open_exact on payments (amount_kobo, id, account_id) where status = 'pending';
create index payments_open_rule on payments (rule_low_kobo, account_id) where status = 'pending' and rule_low_kobo is not null;
-- What the sweep looks at.
create index payments_open_until on payments (approvable_until_at) where status = 'pending';
-- Suggestions for a person: ended payments of an account around an amount.
create index payments_ended on payments (account_id, amount_kobo) where status <> 'pending';

-- Who else was paying into an account (corrections must not fish for other people's money).
create index payments_by_account on payments (account_id, created_at);

-- Two words of a payer's name, hashed: finds payments by name on an account whatever their amount,
-- without reading the other payments of that account.
create table payment_name_pairs (
    account_id bigint not null,
    pair bigint not null,
    payment_id bigint not null,
    created_at bigint not null,
    primary key (account_id, pair, created_at, payment_id)
);--! by_key

create table alerts (
    id bigint not null primary key,
    status text not null check (status in ('new', 'matched', 'review', 'unmatched', 'duplicate', 'quarantined',
        'ignored', 'unreadable', 'dismissed', 'reversed')),
    version bigint not null,
    settlement_id bigint,
    source text not null,
    authenticity text not null,
    bank text,
    template text,
    direction text,
    kind text,
    amount_kobo bigint,
    currency text,
    account_shown text,
    account_id bigint references receiving_accounts (id),
    virtual_account text,
    virtual_amount_kobo bigint,
    virtual_day bigint,
    holder_name text,
    payer_name text,
    is_payer_name_cut bigint not null,
    payer_account text,
    payer_bank text,
    narration text,
    reference text,
    is_reference_unique bigint not null,
    session_id text,
    bank_time_begin_at bigint,
    bank_time_end_at bigint,
    bank_time_precision text not null,
    balance_kind text,
    balance_kobo bigint,
    doubts text not null,
    message_id text,
    mail_from text,
    subject text,
    mailed_at bigint,
    first_seen_at bigint not null,
    decided_at bigint,
    matched_at bigint,
    payment_id bigint references payments (id),
    linked_alert_id bigint references alerts (id),
    reason text not null,
    evidence text not null,
    check ((status = 'matched') = (payment_id is not null) or status in ('reversed', 'review'))
);
create index alerts_by_status on alerts (status, first_seen_at);
-- Equal money on one account: the duplicate rules, corrections, reversals.
create index alerts_by_account on alerts (account_id, amount_kobo, first_seen_at);
-- What a debit or reversal may undo, by session id or reference.
create index alerts_seen on alerts (account_id, first_seen_at);
create index alerts_undecided on alerts (account_id) where status = 'new';

-- Keys by which a second copy of an alert is known; kept for ever.
create table alert_keys (
    kind text not null,
    key text not null,
    alert_id bigint not null references alerts (id),
    primary key (kind, key)
);
--! append_only alert_keys

-- Ticks whenever an alert of this account and amount is stored or settled: a decision that did not
-- see the newest of them is made again.
create table amount_clocks (
    account_id bigint not null,
    amount_kobo bigint not null,
    ticks bigint not null,
    primary key (account_id, amount_kobo)
);--! by_key

-- The mail itself, for 90 days.
create table mails (
    alert_id bigint not null primary key references alerts (id),
    raw bytea not null,
    kept_until_at bigint not null
);
create index mails_kept_until on mails (kept_until_at);

create table settlements (
    id bigint not null primary key,
    kind text not null check (kind in ('transfer', 'wallet', 'topup')),
    business_id bigint not null references businesses (id),
    payment_id bigint not null references payments (id),
    alert_id bigint references alerts (id),
    received_kobo bigint not null check (received_kobo > 0),
    business_receives_kobo bigint not null check (business_receives_kobo >= 0),
    charge_kobo bigint not null check (charge_kobo >= 0),
    rule text not null,
    evidence text not null,
    operator text,
    settled_at bigint not null,
    reversed_at bigint,
    reverse_reason text,
    check (received_kobo = business_receives_kobo + charge_kobo),
    check ((kind = 'wallet') = (alert_id is null))
);
-- One alert funds one payment, one payment is funded by one alert.
create unique index settlements_alert on settlements (alert_id) where reversed_at is null;
create unique index settlements_payment on settlements (payment_id) where reversed_at is null;

create table entries (
    id bigint not null primary key,
    kind text not null check (kind in ('settlement', 'reversal', 'adjustment')),
    settlement_id bigint references settlements (id),
    business_id bigint,
    memo text not null,
    posted_at bigint not null
);
create index entries_settlement on entries (settlement_id);
-- A settlement is posted once and reversed at most once.
create unique index entries_once on entries (settlement_id, kind) where settlement_id is not null;
--! append_only entries

create table postings (
    entry_id bigint not null references entries (id),
    line bigint not null,
    account text not null,
    side text not null check (side in ('debit', 'credit')),
    amount_kobo bigint not null check (amount_kobo >= 0),
    primary key (entry_id, line)
);--! by_key
create index postings_account on postings (account);
--! append_only postings

-- A merchant's balance; house accounts are sums of postings.
create table merchant_balances (
    business_id bigint not null primary key references businesses (id),
    balance_kobo bigint not null
);

-- The chain over the ledger: each seal hashes the one before and its entries.
create table seals (
    id bigint not null primary key,
    first_entry_id bigint not null,
    entry_count bigint not null,
    hash bytea not null,
    sealed_at bigint not null
);
--! append_only seals
-- Entries that the next seal takes.
create table unsealed_entries (
    entry_id bigint not null primary key
);
create table sealed_entries (
    entry_id bigint not null primary key references entries (id),
    seal_id bigint not null references seals (id)
);
create index sealed_entries_seal on sealed_entries (seal_id);
--! append_only sealed_entries

-- Webhook bodies, byte for byte as every attempt sends them.
create table events (
    id bigint not null primary key,
    business_id bigint not null references businesses (id),
    payment_id bigint references payments (id),
    kind text not null,
    webhook_id text not null unique,
    body bytea not null,
    created_at bigint not null
);
create unique index events_payment on events (payment_id) where payment_id is not null;
--! append_only events

create table jobs (
    id bigint not null primary key,
    kind text not null,
    business_id bigint not null,
    subject_id bigint not null,
    run_at bigint not null,
    attempt bigint not null,
    tries bigint not null,
    created_at bigint not null,
    done_at bigint,
    outcome text,
    note text
);
-- First tries and retries are claimed from two lanes, so that old retries never delay news.
create index jobs_first on jobs (kind, run_at) where done_at is null and tries = 0;
create index jobs_again on jobs (kind, run_at) where done_at is null and tries > 0;
create index jobs_subject on jobs (subject_id, kind);

create table attempts (
    id bigint not null primary key,
    job_id bigint not null references jobs (id),
    try bigint not null,
    url text,
    status bigint,
    error text,
    answer text,
    duration_ms bigint not null,
    attempted_at bigint not null
);
create index attempts_job on attempts (job_id);
--! append_only attempts

-- A target that answered 410 waits for a person.
create table paused_targets (
    business_id bigint not null references businesses (id),
    url text not null,
    paused_at bigint not null,
    primary key (business_id, url)
);

create table corrections (
    id bigint not null primary key,
    business_id bigint not null references businesses (id),
    payment_id bigint not null references payments (id),
    old_amount_kobo bigint not null,
    new_amount_kobo bigint not null,
    corrected_at bigint not null
);
create index corrections_business on corrections (business_id, corrected_at);
create index corrections_payment on corrections (payment_id, corrected_at);
--! append_only corrections

create table idempotency_keys (
    business_id bigint not null references businesses (id),
    key text not null,
    fingerprint bytea not null,
    token bigint not null,
    running_until_at bigint not null,
    status bigint,
    answer bytea,
    created_at bigint not null,
    primary key (business_id, key)
);
create index idempotency_keys_age on idempotency_keys (created_at);

-- A close name that a person accepted for this payer (names rule 8).
create table proven_names (
    business_id bigint not null references businesses (id),
    expected text not null,
    received text not null,
    payer_bank text not null,
    payer_account text not null,
    settlement_id bigint not null references settlements (id),
    primary key (business_id, expected, received, payer_bank, payer_account)
);

-- What people did: who, what, why.
create table operator_acts (
    id bigint not null primary key,
    operator text not null,
    act text not null,
    subject text not null,
    reason text not null,
    acted_at bigint not null
);
--! append_only operator_acts
