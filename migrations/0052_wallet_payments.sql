-- The newest wallet payments of a business, among its others. The mode is in it so that no other question takes it.
create index payments_of_wallets on payments (business_id, created_at, id) where kind = 'wallet' and mode = 'live';
