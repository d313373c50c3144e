-- What has been done is kept for a stated time (retention.finished_jobs, retention.attempts).

-- Finished jobs other than deliveries, the oldest first. A delivery's row stays: it says that the merchant was told.
create index jobs_finished on jobs (done_at) where done_at is not null and kind <> 'deliver';
create index attempts_old on attempts (attempted_at, id);

-- An attempt is never changed. It is deleted only once its delivery is over.
--! attempts_of_open_jobs_stay
