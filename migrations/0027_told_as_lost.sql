-- Credits whose mail tells that the money has not come, or went back: each is looked for like a debit, whatever its
-- time. The words are those of the doubts with which such alerts are stored.
alter table alerts add column is_told_as_lost bigint not null default 0;
update alerts set is_told_as_lost = 1 where direction = 'credit' and (
    replace(doubts, 'the mail may report a refund, a reversal, a return or a failed transfer', '') <> doubts
    or replace(doubts, 'a row shows a transaction status other than success', '') <> doubts
    or replace(doubts, 'the mail reports a transaction status other than success', '') <> doubts
    or replace(doubts, 'the amount is in brackets or negative', '') <> doubts);
drop index alerts_timeless;
create index alerts_timeless on alerts (account_id, amount_kobo, first_seen_at) where direction = 'debit' or kind = 'reversal' or bank_time_precision = 'none' or is_told_as_lost = 1;
