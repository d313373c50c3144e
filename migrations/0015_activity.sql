-- What people did, newest first, and what was done about one thing.
create index operator_acts_by_time on operator_acts (acted_at, id);
create index operator_acts_by_subject on operator_acts (subject, acted_at, id);
