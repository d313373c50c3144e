-- Which debit or reversal of the bank's undid a settlement, so that it is seen when one is to undo another.
alter table settlements add column undoing_alert_id bigint;
create index settlements_undone on settlements (undoing_alert_id) where undoing_alert_id is not null;
