-- Which credits a debit or reversal may have taken back, for whoever looks at it.
create index alert_alarms_undoing on alert_alarms (undoing_id, credit_id);
