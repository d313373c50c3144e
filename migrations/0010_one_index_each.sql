-- An expression, which no other index begins with: without fresh statistics a planner takes payments_open_exact for
-- the charges rule as well, and reads every open payment of the account.
drop index payments_open_rule;
create index payments_open_rule on payments ((account_id + 0), rule_low_kobo)
    where status = 'pending' and rule_low_kobo is not null;

-- Top-ups among the open payments of one price, however many those are.
create index payments_open_topups on payments ((account_id + 0), amount_kobo, business_id)
    where status = 'pending' and kind = 'topup';

-- Alerts by the bank's time, where they show one: nearly all show the minute or the second, and are found by when it
-- begins; the others, of which a day's are read, stand apart. Neither is ever taken for alerts by first_seen_at.
drop index alerts_bank_time;
create index alerts_bank_time on alerts (account_id, amount_kobo, bank_time_begin_at)
    where bank_time_precision <> 'none' and bank_time_end_at < bank_time_begin_at + 60000000;
create index alerts_bank_day on alerts (account_id, amount_kobo, bank_time_begin_at)
    where bank_time_precision <> 'none' and bank_time_end_at >= bank_time_begin_at + 60000000;
