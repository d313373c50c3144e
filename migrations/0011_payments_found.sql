-- All payments by when they were made, whoever asked for them: what an operator looks through.
create index payments_made on payments (created_at, id);
