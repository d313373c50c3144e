-- From which address on the net a person did it on a page; the command line has none.
alter table operator_acts add column address text;

-- Websites that wait for an operator.
create index websites_pending on websites (created_at, id) where status = 'pending';

-- Audits that people had run, with what each clause came to.
create table audit_runs (
    id bigint not null primary key,
    operator text not null,
    started_at bigint not null,
    -- The last sign of life while it runs.
    beat_at bigint not null,
    finished_at bigint,
    steps bigint not null,
    steps_done bigint not null,
    -- Rows that break a clause; none before the end.
    violations bigint,
    -- As JSON; empty before the end.
    checks text not null,
    -- Why it ended without an answer.
    trouble text
);
insert into counters (name, value) values ('audit_run', 0);
