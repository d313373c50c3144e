-- A business may wait for the operator before it takes real money: until then it works in test mode alone.
alter table businesses add column is_live bigint not null default 1;
create index businesses_waiting on businesses (id) where is_live = 0 and is_active = 1;

-- Businesses that somebody wants to open, by the SHA-256 of the token that was mailed. Nothing of one exists before its
-- link was opened; then, and some days after it has expired, it is forgotten.
create table registrations (
    hash bytea primary key,
    email text not null,
    business text not null,
    -- Argon2id with a pepper; gone when the link is used up.
    password bytea,
    -- The link went to the address by mail, and was shown to nobody.
    is_mailed bigint not null,
    created_at bigint not null,
    expires_at bigint not null,
    used_at bigint
);
create index registrations_created on registrations (created_at);
