-- Simulated alerts: the business whose test mode wrote the mail. They are found among one another alone, and no list,
-- count or comparison of real ones holds them.
alter table alerts add column simulated_for bigint references businesses (id);
create index alerts_simulated on alerts (simulated_for, first_seen_at, id) where simulated_for is not null;
-- The last column is in them so that counts need nothing but the index.
drop index alerts_by_status;
create index alerts_by_status on alerts (status, first_seen_at, amount_kobo, simulated_for) where simulated_for is null;
drop index alerts_newest;
create index alerts_newest on alerts (first_seen_at, id, simulated_for) where simulated_for is null;
-- A business has one account at the test bank, whichever node makes it.
create unique index receiving_accounts_test_bank on receiving_accounts (business_id) where bank = 'testbank';
