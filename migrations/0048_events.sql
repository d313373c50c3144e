-- A payment has several events, one for each fact: `subject_id` tells facts of one kind apart (0: there is one at most).
alter table events add column subject_id bigint not null default 0;
drop index events_payment;
create unique index events_once on events (payment_id, kind, subject_id) where payment_id is not null;
create unique index events_once_elsewhere on events (kind, subject_id) where payment_id is null and subject_id <> 0;

-- Events that have no place in the order yet: a row is made with its event, and taken with its place.
create table unplaced_events (
    event_id bigint not null primary key,
    business_id bigint not null,
    mode text not null,
    kind text not null,
    payment_id bigint,
    created_at bigint not null
);
create index unplaced_events_in_order on unplaced_events (created_at, event_id);

-- The one order of events. Places are given one after another, each only after all those before it can be seen.
create table event_places (
    business_id bigint not null,
    mode text not null check (mode in ('live', 'test')),
    place bigint not null,
    event_id bigint not null references events (id),
    kind text not null,
    primary key (business_id, mode, place)
);--! by_key
create unique index event_places_event on event_places (event_id);
create index event_places_of_kind on event_places (business_id, mode, kind, place);
insert into event_places (business_id, mode, place, event_id, kind)
select e.business_id, coalesce(p.mode, 'live'), row_number() over (order by e.created_at, e.id), e.id, e.kind
  from events e left join payments p on p.id = e.payment_id;
--! append_only event_places

-- The last place that was given; no id.
insert into counters (name, value) select 'event_place', count(*) from event_places;

-- Until then reversals were not told to merchants; no id.
insert into counters (name, value) select 'untold_reversals_until', coalesce(max(reversed_at), 0) from settlements;

-- The first place of each day (UTC, since 1970) on which places were given.
create table event_days (
    day bigint not null primary key,
    first_place bigint not null
);
insert into event_days (day, first_place)
select e.created_at / 86400000000, min(p.place) from event_places p join events e on e.id = p.event_id
 group by e.created_at / 86400000000;
