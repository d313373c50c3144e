-- Payments are found by name through marks in an index that only grows at its end: the rows of
-- payment_name_pairs were scattered over a large index, and writing them cost more than the payment.

drop table payment_name_pairs;

-- A few bits for every word of the payer's name; all bits for payments made before there were marks.
alter table payments add column name_marks bigint not null default -1;

-- Who was paying into an account, and whose names those may be.
drop index payments_by_account;
create index payments_by_account on payments (account_id, created_at, id, name_marks);
