-- Which debits, reversals and mails of a changed state may have taken back the money of a credit that paid something. A
-- credit is linked to the newest of them alone, and each is a question of its own.
create table alert_alarms (
    credit_id bigint not null references alerts (id),
    undoing_id bigint not null references alerts (id),
    raised_at bigint not null,
    primary key (credit_id, undoing_id)
);
