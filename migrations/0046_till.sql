-- Payments that are asked for at the till of a shop: by whom. No other payment has one.
alter table payments add column till_user_id bigint;

-- What a till shows: what was asked for on a day, and what was paid lately, whenever it was asked for.
create index payments_till on payments (business_id, mode, created_at, id) where till_user_id is not null;
create index payments_till_paid on payments (business_id, mode, approved_at, id) where till_user_id is not null and approved_at is not null;
