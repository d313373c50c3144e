-- Credits whose payer's name the bank cut: no key of the whole name finds them.
create index alerts_name_cut on alerts (account_id, amount_kobo, first_seen_at) where is_payer_name_cut = 1 and direction = 'credit';
