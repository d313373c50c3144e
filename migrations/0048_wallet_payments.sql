-- The newest wallet payments of a business, among its others.
create index payments_of_wallets on payments (business_id, created_at, id) where kind = 'wallet';
