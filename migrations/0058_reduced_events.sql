-- When a person's data was taken out of a row; what is money, time or an id stays.
alter table events add column reduced_at bigint;
alter table payments add column erased_at bigint;
alter table alerts add column erased_at bigint;

-- Events whose text is kept, the oldest first.
create index events_whole on events (created_at, id) where reduced_at is null;

-- An event may lose its text once, and only after its delivery is over; nothing else about it changes.
--! events_are_reduced_once
