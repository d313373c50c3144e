-- Money that came and waits for a person while it may pay one payment and no other: written in the Unit that leaves its
-- alert to a person, ended in the one that decides the alert or the payment. Rows are never deleted.
create table arrivals (
    id bigint primary key,
    alert_id bigint not null references alerts (id),
    payment_id bigint not null references payments (id),
    -- The payment's.
    business_id bigint not null references businesses (id),
    -- What it was when it came; what it is now follows from the payment.
    kind text not null check (kind in ('late', 'too_little', 'too_much', 'other_name', 'waiting')),
    received_kobo bigint not null check (received_kobo > 0),
    -- By the bank's time, or the end of what may be it.
    occurred_at bigint not null,
    made_at bigint not null,
    ended_at bigint,
    -- What became of it.
    outcome text check (outcome in ('approved', 'elsewhere', 'paid', 'rejected', 'dismissed', 'taken_back', 'decided_again')),
    check ((ended_at is null) = (outcome is null))
);
create unique index arrivals_open on arrivals (alert_id) where ended_at is null;
create index arrivals_of_payment on arrivals (payment_id, id);
create index arrivals_open_of_payment on arrivals (payment_id) where ended_at is null;
create index arrivals_of_business on arrivals (business_id, id);
create index arrivals_open_of_business on arrivals (business_id, id) where ended_at is null;
insert into counters (name, value) values ('arrival', 0);
