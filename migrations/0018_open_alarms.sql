-- Credits that paid something and that another alert is linked to: among them those whose money the bank may have taken
-- back. They are few.
create index alerts_linked on alerts (first_seen_at, id) where linked_alert_id is not null and payment_id is not null;
