//! The desk's list of alerts: of one state or all, in both orders, searched by amount, name, reference and session id.

use std::sync::Arc;

use tillbell::clock::Clock;
use tillbell::domain::alert::AlertStatus;
use tillbell::domain::time::Span;
use tillbell::ops::alerts::browse::{BrowseAlerts, DeskState, browse_alerts, browse_within};
use tillbell::ops::csv::{CsvReader, CsvSource};
use tillbell::ops::figures::waiting::waiting_at_desk;
use tillbell::ops::paging::{Cursor, PageSize};

use crate::harness::app::{ACCOUNT, TestApp, world};
use crate::harness::mails::Alert;

const SMALL: PageSize = PageSize { rows: 2, window: 3 };
const PAGES_MAX: usize = 50;

async fn all_pages(t: &TestApp, browse: &BrowseAlerts) -> Vec<i64> {
    let (mut ids, mut cursor) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let page = browse_within(&t.app, browse, cursor, SMALL).await.unwrap().unwrap();
        ids.extend(page.rows.iter().map(|alert| alert.id));
        let Some(next) = page.next else { return ids };
        cursor = Some(Cursor::parse(&next.to_string()).unwrap());
    }
    panic!("the list has no end: {ids:?}");
}

on_both! {
    async fn alerts_are_listed_in_both_orders_and_found_by_what_they_tell(db: TestDatabase) {
        let (t, _) = world(db).await;
        let mut unmatched = Vec::new();
        let mut sessions = Vec::new();
        for n in 0..9 {
            t.advance(Span::minutes(2));
            let payer = if n == 1 { "Zubaida Quartey" } else { "Musa Danladi" };
            let mail = Alert::credit(ACCOUNT, 4_100 + n, payer, t.clock.now() - Span::minutes(1));
            let taken = t.ingest(&mail.text()).await;
            assert_eq!(taken.status, AlertStatus::Unmatched, "{taken:?}");
            unmatched.push(taken.alert_id);
            sessions.push(mail.session);
        }
        let state = |state, oldest_first, query: &str| {
            let query = Some(query.to_owned()).filter(|query| !query.is_empty());
            BrowseAlerts { state, oldest_first, query }
        };
        let newest: Vec<i64> = unmatched.iter().rev().copied().collect();
        assert_eq!(all_pages(&t, &state(DeskState::Unmatched, false, "")).await, newest);
        assert_eq!(all_pages(&t, &state(DeskState::Unmatched, true, "")).await, unmatched);
        assert_eq!(all_pages(&t, &state(DeskState::All, false, "")).await, newest);
        assert_eq!(all_pages(&t, &state(DeskState::All, true, "")).await, newest, "all are newest first");
        assert_eq!(all_pages(&t, &BrowseAlerts::default()).await, Vec::<i64>::new(), "nothing is in review");
        for (query, at) in [("4,105.00", 5), ("NGN 4105", 5), ("₦4105", 5), ("quart", 1), ("ZUBAIDA q", 1)] {
            for oldest_first in [false, true] {
                let found = all_pages(&t, &state(DeskState::Unmatched, oldest_first, query)).await;
                assert_eq!(found, [unmatched[at]], "{query}");
            }
        }
        let session = &sessions[0][..28];
        let by_session = state(DeskState::All, false, session);
        let first = browse_within(&t.app, &by_session, None, SMALL).await.unwrap().unwrap();
        assert!(first.rows.iter().any(|alert| alert.id == unmatched[0]), "{session}: {first:?}");
        assert_eq!(all_pages(&t, &state(DeskState::Review, false, session)).await, Vec::<i64>::new());
        let mut many = all_pages(&t, &state(DeskState::Unmatched, true, "1000")).await;
        many.sort_unstable();
        assert_eq!(many, unmatched, "each session id once");
        assert_eq!(all_pages(&t, &state(DeskState::All, false, "%")).await, Vec::<i64>::new());
        let long = state(DeskState::All, false, &"x".repeat(101));
        assert!(browse_alerts(&t.app, &long, None).await.unwrap().is_err());
        for word in ["review", "unmatched", "quarantined", "unreadable", "all"] {
            assert_eq!(DeskState::parse(word).unwrap().as_str(), word);
        }
        assert_eq!(DeskState::parse("matched"), None);
        let waits = waiting_at_desk(&t.app).await.unwrap();
        assert_eq!(waits.alerts.iter().map(|total| total.count).sum::<i64>(), 9);
        assert_eq!((waits.open.count, waits.failed_webhooks.count, waits.paused_targets), (0, 0, 0));
        let browse = state(DeskState::Unmatched, true, "");
        let mut reader = CsvReader::open(Arc::clone(&t.app), CsvSource::Alerts(browse)).unwrap();
        let mut lines = 0;
        while let Some(piece) = reader.next().await.unwrap() {
            lines += piece.lines().count();
        }
        assert_eq!(lines, 10);
    }
}
