-- What proves an alert: the signature's domain, selector and key, or the provider whose verdict counts.
alter table alerts add column authentic_by text;
