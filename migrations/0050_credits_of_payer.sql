-- What one payer sent to one account, amount by amount: a transfer that was sent or told twice.
create index alerts_of_payer on alerts (account_id, amount_kobo, payer_name, first_seen_at) where direction = 'credit' and payer_name is not null;
