-- What a guard counts is a row that its Unit raises, so that Units of one transaction see one another too. Rows are made
-- when they are first needed.

-- Corrections ever made of a business's payments.
create table correction_counts (
    business_id bigint not null primary key references businesses (id),
    made bigint not null
);

-- The sum of all top-ups of a wallet that a business ever asked for.
create table topup_sums (
    wallet_id bigint not null references wallets (id),
    business_id bigint not null references businesses (id),
    asked_kobo bigint not null,
    primary key (wallet_id, business_id)
);
