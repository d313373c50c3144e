-- Lists for people begin with the newest by time: ids are taken in blocks by each process, and their order is not that
-- of time.
create index alerts_newest on alerts (first_seen_at, id);
create index events_newest on events (created_at, id);
create index jobs_failed_newest on jobs (created_at, id) where kind = 'deliver' and outcome = 'failed';
