-- Wallets of test mode: the business whose test number they belong to. Their money is of the test books.
alter table wallets add column test_business_id bigint references businesses (id);
create index wallets_of_tests on wallets (test_business_id, id) where test_business_id is not null;
-- Messages to test numbers are shown to the business and sent to nobody. Each list finds its own by itself.
alter table messages add column is_test bigint not null default 0 check (is_test in (0, 1));
drop index messages_business;
create index messages_business on messages (business_id, created_at, id) where is_test = 0;
create index messages_of_tests on messages (business_id, created_at, id) where is_test = 1;
-- Wrong PINs of test wallets stop no business.
alter table pin_tries add column is_test bigint not null default 0 check (is_test in (0, 1));
-- A delivery of test mode that did not arrive is no trouble of live ones. The counts need nothing but their indexes.
alter table jobs add column is_test bigint not null default 0 check (is_test in (0, 1));
drop index jobs_failed_of_business;
create index jobs_failed_of_business on jobs ((business_id + 0), created_at, id, is_test)
    where kind || '' = 'deliver' and outcome || '' = 'failed';
drop index jobs_in_trouble;
create index jobs_in_trouble on jobs ((business_id + 0), created_at, id, is_test)
    where kind || '' = 'deliver' and done_at is null and (tries > 0 or outcome = 'paused');
drop index jobs_failed_newest;
create index jobs_failed_newest on jobs (created_at, id, is_test) where kind = 'deliver' and outcome = 'failed';
-- Their payments among the others.
create index payments_of_test_wallets on payments (business_id, created_at, id) where kind = 'wallet' and mode = 'test';
