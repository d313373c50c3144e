//! Figures of days: those of the facts, each fact once whichever node rolls it up, and the audit sees a wrong one.

use tillbell::clock::Clock;
use tillbell::domain::alert::AlertStatus;
use tillbell::domain::merchant::Mode;
use tillbell::domain::money::Money;
use tillbell::domain::time::Span;
use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};
use tillbell::ops::figures::days::{
    BankShare, Days, Figures, approvals_by_minute, bank_shares, figures_of, figures_of_all,
};
use tillbell::ops::figures::roll_up::{SETTLED_AFTER, forget_minutes, roll_up};
use tillbell::ops::figures::waiting::waiting_of;
use tillbell::ops::payments::sweep::sweep;

use crate::audits::{by_hand, violations};
use crate::harness::app::{ACCOUNT, Merchant, TestApp, world};
use crate::harness::mails::Alert;

/// A payment that is asked for, paid at once, and approved so long after the bank's time.
async fn paid(
    t: &TestApp,
    shop: &Merchant,
    naira: i64,
    payer: &str,
    after: Span,
) -> tillbell::domain::payment::Payment {
    let payment = t.create(shop, naira, payer).await;
    t.advance(Span::minutes(1));
    let bank_time = t.clock.now();
    t.advance(after);
    let outcome = t.ingest(&Alert::credit(ACCOUNT, naira, payer, bank_time).text()).await;
    assert_eq!(outcome.status, AlertStatus::Matched, "{outcome:?}");
    payment
}

async fn thirty(t: &TestApp, shop: &Merchant) -> Figures {
    figures_of(&t.app, shop.id, Mode::Live, Days::Thirty).await.unwrap()
}

on_both! {
    async fn figures_are_those_of_the_facts_each_counted_once(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let rival = t.merchant("bolu.example").await;
        let other = t.another_node().await;
        let first = paid(&t, &shop, 5_000, "Halima Garba", Span::seconds(4)).await;
        paid(&t, &shop, 6_000, "Musa Danladi", Span::seconds(30)).await;
        paid(&t, &rival, 9_000, "Sade Olaniyan", Span::seconds(8)).await;
        t.audited().await; // seals
        let before = thirty(&t, &shop).await;
        assert_eq!((before.totals.approved, before.totals.asked), (0, 2), "young ones are counted as they are shown");
        assert!(before.as_of < t.app.now());
        roll_up(&t.app).await.unwrap();
        roll_up(&other).await.unwrap();
        let day_of_first = first.created_at.lagos_day();
        t.advance(Span::days(1));
        paid(&t, &shop, 7_000, "Ngozi Balogun", Span::minutes(3)).await;
        t.create(&shop, 8_000, "Ada Eze").await;
        let reverse = Reverse {
            business_id: shop.id,
            transaction_id: &first.transaction_id,
            reason: "sent back",
            operator: "ife",
            undoing_alert: None,
            despite: None,
        };
        reverse_payment(&t.app, &reverse).await.unwrap().unwrap();
        t.audited().await;
        let (one, two) = tokio::join!(roll_up(&t.app), roll_up(&other));
        assert!(one.unwrap() + two.unwrap() > 0);
        t.advance(SETTLED_AFTER + Span::seconds(1));
        let (one, two) = tokio::join!(roll_up(&t.app), roll_up(&other));
        assert!(one.is_ok() && two.is_ok());
        roll_up(&t.app).await.unwrap();
        let figures = thirty(&t, &shop).await;
        let totals = figures.totals;
        assert_eq!((totals.asked, totals.approved, totals.alone, totals.reversed, totals.ended), (4, 3, 3, 1, 0));
        assert_eq!((totals.approved_amount, totals.reversed_amount), (Money(1_800_000), Money(500_000)));
        assert_eq!(figures.alone_per_mille(), Some(1_000));
        assert_eq!(figures.as_of, t.app.now());
        assert_eq!((figures.days.len(), figures.days[29].day), (30, day_of_first + 1));
        let of_days: Vec<(i64, i64, i64)> = figures.days[28..].iter()
            .map(|day| (day.figures.asked, day.figures.approved, day.figures.reversed)).collect();
        assert_eq!(of_days, [(2, 2, 0), (2, 1, 1)]);
        // The middle one of 4, 30 and 180 seconds, to a quarter.
        let median = figures.median.unwrap();
        assert!((Span::seconds(30)..Span::seconds(38)).contains(&median), "{median:?}");
        let slowest = figures.slowest.unwrap();
        assert!((Span::seconds(180)..Span::seconds(182)).contains(&slowest), "{slowest:?}");
        let today = figures_of(&t.app, shop.id, Mode::Live, Days::Today).await.unwrap();
        assert_eq!((today.totals.approved, today.days.len()), (1, 1));
        let all = figures_of_all(&t.app, Mode::Live, Days::Seven).await.unwrap();
        assert_eq!((all.totals.approved, all.totals.asked, all.days.len()), (4, 5, 7));
        assert_eq!(figures_of_all(&t.app, Mode::Test, Days::Seven).await.unwrap().totals.asked, 0);
        let shares = bank_shares(&t.app, Days::Seven).await.unwrap();
        assert_eq!(shares, [BankShare { bank: "gtbank".into(), approved: 4, alone: 4 }]);
        let minutes = approvals_by_minute(&t.app, 30).await.unwrap();
        assert_eq!((minutes.len(), minutes.iter().sum::<i64>()), (30, 1));
        assert_eq!(violations(&t, "figures_agree_with_facts").await, 0);
        t.advance(Span::days(3));
        forget_minutes(&t.app).await.unwrap();
        assert_eq!(approvals_by_minute(&t.app, 6_000).await.unwrap().iter().sum::<i64>(), 0);
    }

    async fn a_long_seal_is_rolled_up_in_steps(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let first = paid(&t, &shop, 5_000, "Halima Garba", Span::seconds(4)).await;
        t.without_audit("settlements are copied by hand");
        // More entries than one step takes, all of one seal.
        let text = "with recursive numbers(n) as (select cast(1 as bigint) union all select n + 1 from numbers where n < 450) \
             insert into entries (id, kind, settlement_id, business_id, memo, posted_at) \
             select 100000 + n, 'adjustment', null, null, 'x', 5 from numbers; \
             insert into seals (id, first_entry_id, entry_count, hash, sealed_at) \
             select 1, min(id), count(*), cast('00' as bytea), 5 from entries; \
             insert into sealed_entries (entry_id, seal_id) select id, 1 from entries; delete from unsealed_entries;";
        by_hand(&t, &text.replace("bytea", "blob"), text).await;
        let rolled = roll_up(&t.app).await.unwrap();
        assert_eq!(rolled, 451);
        assert_eq!(roll_up(&t.app).await.unwrap(), 0);
        assert_eq!(thirty(&t, &shop).await.totals.approved, 1, "{first:?}");
    }

    async fn what_ended_unpaid_and_what_is_open(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let rival = t.merchant("bolu.example").await;
        t.create(&shop, 5_000, "Halima Garba").await;
        t.create(&rival, 9_000, "Sade Olaniyan").await;
        t.advance(Span::hours(40));
        let open = t.create(&shop, 6_000, "Musa Danladi").await;
        let waits = waiting_of(&t.app, shop.id, Mode::Live).await.unwrap();
        assert_eq!((waits.open.count, waits.open.amount.kobo() > 1_000_000, waits.open.at_least), (2, true, false));
        t.advance(Span::hours(20));
        sweep(&t.app).await.unwrap();
        let waits = waiting_of(&t.app, shop.id, Mode::Live).await.unwrap();
        assert_eq!((waits.open.count, waits.open.amount, waits.open.oldest), (1, open.amount, Some(open.created_at)));
        assert_eq!(waiting_of(&t.app, shop.id, Mode::Test).await.unwrap().open.count, 0);
        t.advance(SETTLED_AFTER + Span::seconds(1));
        roll_up(&t.app).await.unwrap();
        roll_up(&t.app).await.unwrap();
        let totals = thirty(&t, &shop).await.totals;
        assert_eq!((totals.asked, totals.ended, totals.approved), (2, 1, 0));
    }

    async fn the_audit_sees_a_wrong_figure(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.without_audit("figures are changed by hand");
        paid(&t, &shop, 5_000, "Halima Garba", Span::seconds(4)).await;
        t.audited().await;
        t.advance(SETTLED_AFTER + Span::seconds(1));
        roll_up(&t.app).await.unwrap();
        let clause = "figures_agree_with_facts";
        assert_eq!(violations(&t, clause).await, 0);
        for (wrong, right) in [
            ("approved_sum_kobo = approved_sum_kobo + 1", "approved_sum_kobo = approved_sum_kobo - 1"),
            ("approved = 2", "approved = 1"),
            ("alone = 0", "alone = 1"),
            ("reversed = 1", "reversed = 0"),
            ("asked = 2", "asked = 1"),
            ("day = day + 1", "day = day - 1"),
        ] {
            let text = format!("update figures set {wrong}");
            by_hand(&t, &text, &text).await;
            assert!(violations(&t, clause).await > 0, "{wrong}");
            let text = format!("update figures set {right}");
            by_hand(&t, &text, &text).await;
            assert_eq!(violations(&t, clause).await, 0, "{right}");
        }
        let text = "update figure_waits set approved = 2";
        by_hand(&t, text, text).await;
        assert_eq!(violations(&t, clause).await, 1);
    }
}
