-- What was sorted as the server's locale sorts it is sorted by bytes from now on, on both engines alike.

--! texts_by_bytes

-- Whose a ledger account is, as numbers and words to ask by; never told but by the account itself.
alter table postings add column account_kind text generated always as (case
    when substr(account, 1, 7) = 'wallet:' then 'wallet'
    when substr(account, 1, 9) = 'merchant:' then 'merchant'
    when substr(account, 1, 14) = 'test:merchant:' then 'test:merchant'
    else account end) stored;
alter table postings add column account_owner bigint generated always as (case
    when substr(account, 1, 7) = 'wallet:' then cast(substr(account, 8) as bigint)
    when substr(account, 1, 9) = 'merchant:' then cast(substr(account, 10) as bigint)
    when substr(account, 1, 14) = 'test:merchant:' then cast(substr(account, 15) as bigint)
    end) stored;

-- Deliveries that failed for good, newest first.
create index jobs_failed on jobs (id) where kind = 'deliver' and outcome = 'failed';
-- Alerts of a status with the money they hold, found without the alerts themselves.
drop index alerts_by_status;
create index alerts_by_status on alerts (status, first_seen_at, amount_kobo);
-- With settlements_payment: all settlements of a payment.
create index settlements_reversed on settlements (payment_id) where reversed_at is not null;
create index proven_names_settlement on proven_names (settlement_id);
create index messages_made on messages (created_at, id);
