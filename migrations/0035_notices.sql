-- What is told beside the pages: to operators (no business), and to the members of a business.
create table notices (
    id bigint primary key,
    business_id bigint references businesses (id),
    -- As domain::notice names it, such as money_taken_back.
    kind text not null,
    -- What it is about, such as `alert 57`.
    cause text not null,
    body text not null,
    created_at bigint not null
);
create index notices_time on notices (created_at, id);

-- When each cause was told last, and how often in a row: one that goes on is told again after growing pauses.
create table notice_causes (
    key text primary key,
    told_at bigint not null,
    times bigint not null
);
create index notice_causes_told on notice_causes (told_at);

-- What members of a business do not want to be told by mail.
create table notices_off (
    business_id bigint not null references businesses (id),
    kind text not null,
    primary key (business_id, kind)
);

-- Mails to people who sign in. The text is sealed, because it may hold a link, and goes when the mail has gone.
-- `forgot`: its link is made when it is sent, so that nobody can tell from the answer whether there is such a user.
create table outgoing_mails (
    id bigint primary key,
    kind text not null check (kind in ('text', 'forgot')),
    to_address text not null,
    subject text not null,
    body bytea,
    created_at bigint not null,
    ended_at bigint
);
create index outgoing_mails_created on outgoing_mails (created_at);

-- Keys that will expire.
create index api_keys_expiring on api_keys (expires_at) where expires_at is not null and revoked_at is null;

-- A user whose address was proven by a mail, or who was added by the operator. Of others a business alone says who they
-- are, so they cannot be given a second place.
alter table users add column is_vouched bigint not null default 1;

insert into counters (name, value) values ('notice', 0), ('outgoing_mail', 0);
