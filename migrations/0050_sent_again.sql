-- What one payer sent, amount by amount: a transfer that was sent or told twice.
create index alerts_of_payer on alerts (payer_name, amount_kobo, first_seen_at) where direction = 'credit' and payer_name is not null;

-- Names with words that count as titles now. A periodic task makes the rows of open payments anew.
update payments set name_keys = 0 where status = 'pending' and name_keys <> 0
    and (lower(payer_name) like '%aunt%' or lower(payer_name) like '%customer%' or lower(payer_name) like '%mama%'
         or lower(payer_name) like '%oga%' or lower(payer_name) like '%uncle%');
