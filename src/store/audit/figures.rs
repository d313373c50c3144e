//! The audit's question about figures: those of approvals and reversals are what the sealed entries come to, to the kobo,
//! as far as they were rolled up; and no more payments were asked for than there are. (There may be fewer: a payment
//! that a node committed very late is not counted.)

use super::Clause;
use crate::store::engine::sql::statements;

macro_rules! figures_agree_with_facts {
    ($form:ident) => {
        $form! {
            "(select count(*) from figures)",
            ("businesses", "t.business_id", "(select business_id, mode, day, sum(approved) as approved, \
                 sum(approved_sum_kobo) as approved_sum_kobo, sum(alone) as alone, sum(reversed) as reversed, \
                 sum(reversed_sum_kobo) as reversed_sum_kobo from (\
                 select business_id, mode, day, approved, approved_sum_kobo, alone, reversed, reversed_sum_kobo from figures \
                 union all select s.business_id, p.mode, (e.posted_at + 3600000000) / 86400000000, \
                 case e.kind when 'reversal' then 0 else -1 end, \
                 case e.kind when 'reversal' then 0 else -s.received_kobo end, \
                 case when e.kind = 'reversal' or s.operator is not null then 0 else -1 end, \
                 case e.kind when 'reversal' then -1 else 0 end, \
                 case e.kind when 'reversal' then -s.received_kobo else 0 end \
                 from sealed_entries x join entries e on e.id = x.entry_id join settlements s on s.id = e.settlement_id \
                 join payments p on p.id = s.payment_id join figure_places f on f.source = 'approvals' \
                 where s.kind <> 'topup' and (x.seal_id <= f.at or x.seal_id = f.at + 1 and x.entry_id <= f.id)) as told \
                 group by business_id, mode, day) t where t.approved <> 0 or t.approved_sum_kobo <> 0 or t.alone <> 0 \
                 or t.reversed <> 0 or t.reversed_sum_kobo <> 0"),
            ("businesses", "g.business_id", "(select business_id, mode, day, sum(asked) as asked from (\
                 select business_id, mode, day, asked from figures union all \
                 select business_id, mode, (created_at + 3600000000) / 86400000000, -1 from payments where kind <> 'topup') \
                 as told group by business_id, mode, day) g where g.asked > 0"),
            ("businesses", "w.business_id", "(select business_id, mode, day, sum(approved) as approved, \
                 sum(waited) as waited from (select business_id, mode, day, approved, 0 as waited from figures union all \
                 select business_id, mode, day, 0, approved from figure_waits) as told \
                 group by business_id, mode, day) w where w.waited > w.approved"),
        }
    };
}

statements! {
    FIGURES_AGREE_WITH_FACTS: query { figures_agree_with_facts!(counted) }
    FIGURES_AGREE_WITH_FACTS_ROWS: query { figures_agree_with_facts!(named) }
}

/// Further checks, reported after those of `counted_once`.
pub const CHECKS: [Clause; 1] =
    [("figures_agree_with_facts", &FIGURES_AGREE_WITH_FACTS, &FIGURES_AGREE_WITH_FACTS_ROWS)];
