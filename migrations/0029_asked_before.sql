-- What a corrected payment asked for before still speaks for its customer for some days: the account, and the charges
-- of then. Corrections of before have neither and are not asked.
alter table corrections add column account_id bigint;
alter table corrections add column old_charges_kobo bigint;
create index corrections_asked on corrections (account_id, corrected_at, old_amount_kobo);

-- Payments that were not paid, or not in the end, and could have been by a late alert after a time: very few, where
-- the time is now. They are read where a payer's name cannot be looked for.
create index payments_unpaid on payments (account_id, approvable_until_at, amount_kobo) where status = 'rejected' or reversed_at is not null;
