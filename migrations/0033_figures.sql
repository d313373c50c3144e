-- Figures of days, rolled up from facts in their order; what was rolled up stands in figure_places.
create table figure_places (
    source text not null primary key,
    at bigint not null,
    id bigint not null
);
-- `approvals`: a seal and the entry within it. The others: a time and the payment of that time.
insert into figure_places (source, at, id) values ('approvals', 0, 0), ('asked', 0, 0), ('ended', 0, 0);

create table figures (
    business_id bigint not null,
    mode text not null,
    -- In Lagos, since 1970.
    day bigint not null,
    asked bigint not null,
    ended bigint not null,
    approved bigint not null,
    approved_sum_kobo bigint not null,
    -- Of the approved ones, those that no person approved.
    alone bigint not null,
    reversed bigint not null,
    reversed_sum_kobo bigint not null,
    slowest_seconds bigint not null,
    primary key (business_id, mode, day)
);--! by_key
create index figures_by_day on figures (mode, day);

-- How many approvals came how long after the bank's time: a number of domain/waits.rs and its count.
create table figure_waits (
    business_id bigint not null,
    mode text not null,
    day bigint not null,
    step bigint not null,
    approved bigint not null,
    primary key (business_id, mode, day, step)
);--! by_key
create index figure_waits_by_day on figure_waits (mode, day);

create table figures_of_banks (
    day bigint not null,
    bank text not null,
    approved bigint not null,
    alone bigint not null,
    primary key (day, bank)
);--! by_key

-- Approvals by the minute of their time; kept for two days.
create table figure_minutes (
    minute bigint not null primary key,
    approved bigint not null
);

create index payments_rejected_at on payments (rejected_at, id) where status = 'rejected';

insert into counters (name, value) values ('refused', 0);

-- Requests of merchants' programs that were refused, and how many of each day went well; kept for 7 days.
create table refused_requests (
    id bigint not null primary key,
    business_id bigint not null,
    refused_at bigint not null,
    method text not null,
    route text not null,
    status bigint not null,
    code text,
    message text not null,
    request_id text not null
);
create index refused_requests_of_business on refused_requests (business_id, refused_at, id);
create index refused_requests_at on refused_requests (refused_at);

create table request_counts (
    business_id bigint not null,
    day bigint not null,
    good bigint not null,
    refused bigint not null,
    -- Refused ones that are not listed: there were too many in a minute.
    unlisted bigint not null,
    primary key (business_id, day)
);--! by_key
create index request_counts_day on request_counts (day);
