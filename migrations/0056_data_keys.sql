-- The keys of this database: values are sealed under those for 'seal', tokens and hashes are made of the one for 'derive'. Each
-- is kept wrapped, once under every root key that may open it: one from the configuration, two while it is being replaced.
create table data_keys (
    id bigint primary key,
    purpose text not null check (purpose in ('derive', 'seal')),
    made_at bigint not null,
    -- New values are sealed under it from then on, when every node has read it.
    seals_from_at bigint not null,
    -- Where the pass that seals older values anew has got to: the second one finds what a node that stood still has written.
    pass bigint not null check (pass in (1, 2)),
    target text not null,
    after_id bigint not null,
    resealed bigint not null,
    pass_ended_at bigint,
    -- Moves when a key is added or wrapped anew.
    version bigint not null
);

create table wrapped_keys (
    data_key_id bigint not null references data_keys (id),
    -- Which root key, by its fingerprint.
    root text not null,
    wrapped bytea not null,
    added_at bigint not null,
    primary key (data_key_id, root)
);
