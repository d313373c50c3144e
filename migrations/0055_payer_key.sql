-- The words of the payer's name in one form, however a bank writes them: a transfer that was sent or told twice. Rows of before
-- are found as their name was written.
alter table alerts add column payer_key text;
drop index alerts_of_payer;
create index alerts_of_payer on alerts (coalesce(payer_key, payer_name), amount_kobo, first_seen_at)
    where direction = 'credit' and payer_name is not null;
