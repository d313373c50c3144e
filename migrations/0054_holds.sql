-- What is not sent for now, by kind of job: after a restore nothing goes out that may have gone out before, until an operator
-- has looked.
create table holds (
    kind text not null primary key check (kind in ('deliver', 'message', 'mail', 'notify')),
    reason text not null,
    operator text not null,
    since_at bigint not null
);
