-- The statement of a business: its entries in the order of time, read from its end.
create index entries_of_business on entries (business_id, posted_at, id);
