-- What of a business's money is set aside for its pending payouts; moves in the Unit of their ledger entries.
alter table merchant_balances add column reserved_kobo bigint not null default 0;

-- Bank accounts of businesses that payouts go to.
create table payout_accounts (
    id bigint primary key,
    business_id bigint not null references businesses (id),
    bank text not null,
    number text not null,
    name text not null,
    -- The e-mail address of the owner who added it.
    added_by text not null,
    created_at bigint not null,
    -- No payout goes there before.
    usable_at bigint not null,
    removed_at bigint
);
create index payout_accounts_business on payout_accounts (business_id, id);
create unique index payout_accounts_once on payout_accounts (business_id, bank, number) where removed_at is null;

-- Money of businesses on its way to their accounts. Rows are never deleted.
create table payouts (
    id bigint primary key,
    business_id bigint not null references businesses (id),
    account_id bigint not null references payout_accounts (id),
    amount_kobo bigint not null check (amount_kobo > 0),
    -- The business's own.
    reference text,
    -- Ours, for the bank's narration.
    code text not null,
    status text not null check (status in ('pending', 'paid', 'refused', 'cancelled')),
    version bigint not null,
    -- Who asked for it, in words that stay when a member goes.
    requested_by text not null,
    created_at bigint not null,
    -- When it was handed to the bank with others; the business cannot cancel it any more.
    taken_at bigint,
    -- The first of two people who say that it is paid.
    first_by text,
    first_at bigint,
    first_reference text,
    ended_at bigint,
    ended_by text,
    bank_reference text,
    reason text,
    -- The entry that set the amount aside, and the one that gave it away or back.
    entry_id bigint not null,
    end_entry_id bigint,
    check ((status = 'pending') = (ended_at is null)),
    check ((status = 'pending') = (end_entry_id is null))
);
create unique index payouts_code on payouts (code);
create unique index payouts_entry on payouts (entry_id);
create unique index payouts_end_entry on payouts (end_entry_id) where end_entry_id is not null;
create index payouts_of_business on payouts (business_id, created_at, id);
create index payouts_listed on payouts (created_at, id);
create index payouts_pending on payouts (created_at, id, amount_kobo) where status = 'pending';
create index payouts_pending_of_business on payouts (business_id, amount_kobo) where status = 'pending';

insert into counters (name, value) values ('payout', 0), ('payout_account', 0);
