-- People who sign in: the operator's staff and members of businesses. An e-mail address is one user.
create table users (
    id bigint primary key,
    email text not null,
    -- Argon2id with a pepper; none until it is set, and none after a reset.
    password bytea,
    staff_role text check (staff_role in ('admin', 'reviewer', 'viewer')),
    -- The sealed secret of an authenticator app, and one that has not been confirmed yet.
    totp bytea,
    totp_begun bytea,
    -- The last step of which a code was used: a code counts once.
    totp_step bigint not null,
    time_zone text not null,
    disabled_at bigint,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null
);
create unique index users_email on users (email);

create table members (
    business_id bigint not null references businesses (id),
    user_id bigint not null references users (id),
    role text not null check (role in ('owner', 'developer', 'finance', 'cashier', 'viewer')),
    created_at bigint not null,
    primary key (business_id, user_id)
);
create index members_user on members (user_id);

-- Links to a first or a new password, by the SHA-256 of their token.
create table user_links (
    hash bytea primary key,
    user_id bigint not null references users (id),
    kind text not null check (kind in ('welcome', 'reset')),
    expires_at bigint not null,
    used_at bigint
);
create index user_links_user on user_links (user_id);

-- By a keyed hash.
create table recovery_codes (
    user_id bigint not null references users (id),
    hash bytea not null,
    used_at bigint,
    primary key (user_id, hash)
);

-- By the SHA-256 of the token in the cookie. `code`: the password was right, the code is still to come.
create table sessions (
    id bigint primary key,
    hash bytea not null,
    user_id bigint not null references users (id),
    stage text not null check (stage in ('code', 'whole')),
    address text not null,
    agent text not null,
    created_at bigint not null,
    seen_at bigint not null,
    checked_at bigint not null,
    ended_at bigint
);
create unique index sessions_hash on sessions (hash);
create index sessions_open on sessions (user_id) where ended_at is null;
create index sessions_created on sessions (created_at);

-- Wrong passwords and codes, under keyed hashes of an e-mail address (of a user or of nobody) and of an address on the
-- net.
create table sign_in_counts (
    key bytea primary key,
    wrong bigint not null,
    -- Of the first of them.
    began_at bigint not null,
    -- No try counts before.
    next_at bigint not null,
    version bigint not null
);
create index sign_in_counts_next on sign_in_counts (next_at);

insert into counters (name, value) values ('user', 0), ('session', 0);
