-- What a key may do: read payments, or make and correct them as well. Keys of before may do both.
alter table api_keys add column rights text not null default 'write' check (rights in ('read', 'write'));
-- Whether a member of the business did it on its pages. Whoever else did it has no name there.
alter table operator_acts add column is_members bigint not null default 0;
