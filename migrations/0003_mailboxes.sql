-- Mailboxes that are read over IMAP, and which of their mails were taken.

insert into counters (name, value) values ('mailbox', 0);

-- One row per folder of a login at a server. Everything up to last_uid is taken; above it
-- mailbox_mails tells. A generation is one numbering of the mails: it ends when the server numbers
-- anew (UIDVALIDITY changed, UIDNEXT went back). since_at: a catch-up by date that has not ended.
-- fence and beat are the lease of the one reader, told apart by their changing, not by a clock.
create table mailboxes (
    id bigint not null primary key,
    host text not null,
    port bigint not null,
    login text not null,
    folder text not null,
    name text not null,
    generation bigint not null,
    uidvalidity bigint,
    last_uid bigint not null,
    since_at bigint,
    last_mail_at bigint,
    compared_at bigint not null,
    fence bigint not null,
    beat bigint not null,
    reader text,
    configured_at bigint not null,
    last_read_at bigint not null,
    behind bigint not null,
    trouble text,
    alarmed_at bigint not null,
    created_at bigint not null,
    unique (host, port, login, folder)
);

-- A mail that was taken, written in the Unit of its alert: taken twice is refused by the key.
-- digest is of the mail's bytes, by which it is known again under another number.
create table mailbox_mails (
    mailbox_id bigint not null references mailboxes (id),
    generation bigint not null,
    uid bigint not null,
    arrived_at bigint not null,
    digest bytea not null,
    taken_at bigint not null,
    primary key (mailbox_id, generation, uid)
);--! by_key
create index mailbox_mails_known on mailbox_mails (mailbox_id, digest);
create index mailbox_mails_taken on mailbox_mails (taken_at);
