-- Passkeys of people who sign in. What checks one's answer is public, so nothing here is sealed.
create table passkeys (
    id bigint primary key,
    user_id bigint not null references users (id),
    -- What an authenticator calls it.
    credential_id bytea not null,
    -- The public key, and what else an answer is checked by, as JSON.
    credential text not null,
    -- How often its authenticator has signed; many never count, and stay at 0.
    counter bigint not null,
    label text not null,
    created_at bigint not null,
    used_at bigint
);
create unique index passkeys_credential on passkeys (credential_id);
create index passkeys_user on passkeys (user_id);

-- What an authenticator was asked and has yet to answer, by the SHA-256 of the token in the cookie. Sealed; taken away by
-- whoever brings the answer, so that it counts once.
create table passkey_challenges (
    hash bytea primary key,
    state bytea not null,
    expires_at bigint not null
);
create index passkey_challenges_expires on passkey_challenges (expires_at);

insert into counters (name, value) values ('passkey', 0);
