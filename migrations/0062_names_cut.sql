-- A bank cuts a name at its end, more of it where a remark is longer, so no key of all words finds the same payer again: his name begins alike.
-- The condition keeps the planner of a young table from taking this for the index of another statement.
create index alerts_name_begins on alerts (upper(substr(payer_name, 1, 10)), amount_kobo, first_seen_at)
  where direction = 'credit' and substr(payer_name, 1, 10) is not null;
