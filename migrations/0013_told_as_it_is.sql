-- Until when a worker holds a delivery: where it is the same as run_at, that is the end of a lease and not the time of
-- an attempt.
alter table jobs add column held_until_at bigint;
-- What an alert was when a person dismissed it.
alter table alerts add column dismissed_from text;
