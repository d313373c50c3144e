-- Forms that make something and were sent, by a keyed hash of the page they stood on and of what was typed: one that comes
-- again makes nothing more. The answer is where the first one led, with what its page shows once sealed; none while it is
-- at work, and none where its process died.
create table sent_forms (
    hash bytea primary key,
    answer bytea,
    sent_at bigint not null
);
create index sent_forms_sent on sent_forms (sent_at);

-- The newest attempts of a delivery are read without the others.
create index attempts_newest on attempts (job_id, attempted_at, id);
drop index attempts_job;
