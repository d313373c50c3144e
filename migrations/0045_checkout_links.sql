-- What the link to a payment's checkout page is made of: random bytes of this row, and a number by which the token's
-- payment is found. The token is kept nowhere.
alter table payments add column link_nonce bytea;
alter table payments add column link_key bigint;
-- Where the page leads afterwards.
alter table payments add column return_url text;
create index payments_link on payments (link_key) where link_key is not null;
