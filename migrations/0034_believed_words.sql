-- A credit whose narration alone tells of another state than success counts, once a person approved it, as one that the
-- bank tells so: its success is told later. From now on the approval notes it.
update alerts set is_told_as_lost = 1 where direction = 'credit'
    and replace(doubts, 'the narration may mean a refund, a reversal, a return, a failed transfer or a transfer', '') <> doubts
    and (status in ('matched', 'reversed') or replace(doubts, 'reversed: ', '') <> doubts);
