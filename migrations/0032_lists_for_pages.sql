-- Lists for pages (docs/decisions/0074-figures-and-lists.md). Each begins with an expression where no other statement is to
-- take it, or says its kind so that no other statement means it. Most hold few rows, or none that a payment on its usual
-- way writes.

-- Payments that are looked for because something about them is unusual: reversed, another amount, approved late.
create index payments_odd on payments ((business_id + 0), created_at, id)
    where reversed_at is not null or is_mismatch = 1 or approved_at > expires_at;
create index payments_odd_anywhere on payments ((created_at + 0), id)
    where reversed_at is not null or is_mismatch = 1 or approved_at > expires_at;
create index payments_test on payments ((business_id + 0), created_at, id) where mode = 'test';
create index payments_referenced on payments (external_reference, business_id) where external_reference is not null;

-- The same index, wide enough to count what is open of one business out of it alone.
drop index payments_open_until;
create index payments_open_until on payments (approvable_until_at, business_id, mode, kind, amount_kobo, created_at)
    where status = 'pending';

create index events_of_business on events (business_id, created_at, id);
create index jobs_failed_of_business on jobs ((business_id + 0), created_at, id)
    where kind || '' = 'deliver' and outcome || '' = 'failed';
create index jobs_in_trouble on jobs ((business_id + 0), created_at, id)
    where kind || '' = 'deliver' and done_at is null and (tries > 0 or outcome = 'paused');
