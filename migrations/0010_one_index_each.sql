-- An expression, which no other index begins with: without fresh statistics a planner takes payments_open_exact for
-- the charges rule as well, and reads every open payment of the account.
drop index payments_open_rule;
create index payments_open_rule on payments ((account_id + 0), rule_low_kobo)
    where status = 'pending' and rule_low_kobo is not null;

-- Top-ups among the open payments of one price, however many those are.
create index payments_open_topups on payments ((account_id + 0), amount_kobo, business_id)
    where status = 'pending' and kind = 'topup';

-- Only what shows a time, so that it is never taken for alerts by the time at which they were seen.
drop index alerts_bank_time;
create index alerts_bank_time on alerts (account_id, amount_kobo, bank_time_begin_at) where bank_time_precision <> 'none';
