-- Merchants ask which of their payments were reversed: a handful among all of them, so their index holds these alone.
-- An expression, which no other index begins with: without fresh statistics a planner takes payments_listed for them.
create index payments_reversed on payments ((business_id + 0), mode, created_at, id) where reversed_at is not null;
