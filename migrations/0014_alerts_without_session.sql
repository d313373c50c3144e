-- Whether an alert tells of the same money as one with a session id: the credits of other session ids, of which there are
-- very many where a price is popular, are no longer read to be left out.
create index alerts_time_without_session on alerts (account_id, amount_kobo, bank_time_begin_at)
    where bank_time_precision <> 'none' and bank_time_end_at < bank_time_begin_at + 60000000
    and (session_id is null or direction is null or direction <> 'credit' or kind = 'reversal');
create index alerts_day_without_session on alerts (account_id, amount_kobo, bank_time_begin_at)
    where bank_time_precision <> 'none' and bank_time_end_at >= bank_time_begin_at + 60000000
    and (session_id is null or direction is null or direction <> 'credit' or kind = 'reversal');
