-- Payments are found by account, amount and payer's name, so that no number of payments under other names stands
-- between: when a receiving account is chosen, when an amount is corrected, and when an alert is decided.

-- A row for every key of the payer's name (most often one: two words of it, hashed). The amount and the account
-- stand before the payment, so that one name at one price on one account is one short range.
create table payment_names (
    name_key bigint not null,
    amount_kobo bigint not null,
    account_id bigint not null,
    payment_id bigint not null,
    -- A month after the payment can have been approved by a late alert.
    forget_at bigint not null,
    primary key (name_key, amount_kobo, account_id, payment_id)
);--! by_key
create index payment_names_forget on payment_names (forget_at);

-- The amount under which the keys of the name are in payment_names. Another one than the payment's: they are not yet,
-- as of payments made before this table (0), or corrected by a program of before, and after a release that makes
-- other keys. name_marks stays, unused, for programs of before that still write it.
alter table payments add column name_keys bigint not null default 0;
create index payments_unkeyed on payments (id) where status = 'pending' and name_keys <> amount_kobo;

-- Open payments of one account by amount, and by whose they are; and by the charges rule.
drop index payments_open_exact;
create index payments_open_exact on payments (account_id, amount_kobo, business_id, id) where status = 'pending';
drop index payments_open_rule;
create index payments_open_rule on payments (account_id, rule_low_kobo) where status = 'pending' and rule_low_kobo is not null;
drop index payments_by_account;
