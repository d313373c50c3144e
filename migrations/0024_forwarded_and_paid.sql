-- Forwarded mails that paid something: they are few, and what they show of their transfer was a person's to write.
create index alerts_forwarded on alerts (amount_kobo, first_seen_at) where authenticity = 'forwarded' and status in ('matched', 'reversed');
