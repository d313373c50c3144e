-- What people did, newest first, and what was done about one thing. An approval is about two: it is told as
-- `alert 42 onto payment ORDER-81`, and each of them is taken out of those words.
alter table operator_acts add column approved_alert text generated always as (case when act = 'approve' then substr(subject, 1, length(subject) - length(ltrim(subject, 'alert 0123456789')) - 1) end) stored;
alter table operator_acts add column approved_payment text generated always as (case when act = 'approve' then substr(ltrim(subject, 'alert 0123456789'), 6) end) stored;
create index operator_acts_by_time on operator_acts (acted_at, id);
create index operator_acts_by_subject on operator_acts (subject, acted_at, id);
create index operator_acts_by_alert on operator_acts (approved_alert, acted_at, id) where approved_alert is not null;
create index operator_acts_by_payment on operator_acts (approved_payment, acted_at, id) where approved_payment is not null;
