//! `/operator`: what waits for a person, how much of the work the program does alone, and what is in trouble.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use super::{At, frame};
use crate::domain::alert::AlertStatus;
use crate::domain::merchant::Mode;
use crate::http::pages::ask::Ask;
use crate::http::pages::layout::{Frame, link};
use crate::http::pages::parts::{Empty, Naira, Tile, Tone};
use crate::http::pages::rows::{Cell, Column, Rows};
use crate::http::pages::text::grouped;
use crate::http::pages::times::age;
use crate::http::paths::OPERATOR_ALERTS;
use crate::ops::OpError;
use crate::ops::figures::days::{Days, Figures, bank_shares, figures_of_all, per_mille};
use crate::ops::figures::waiting::{AlertTotal, DeskWaits, waiting_at_desk};

#[derive(Template)]
#[template(path = "operator/overview.html")]
struct Overview {
    frame: Frame,
    waits: Vec<Tile>,
    figures: Vec<Tile>,
    banks: Rows,
}

/// What the desk shows of alerts, in the order of their urgency.
const WAITING: [(AlertStatus, &str); 4] = [
    (AlertStatus::Review, "In review"),
    (AlertStatus::Unmatched, "Unmatched"),
    (AlertStatus::Quarantined, "Quarantined"),
    (AlertStatus::Unreadable, "Unreadable"),
];

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let app = ask.app();
    let (waits, today, month, banks) = tokio::try_join!(
        waiting_at_desk(app),
        figures_of_all(app, Mode::Live, Days::Today),
        figures_of_all(app, Mode::Live, Days::Thirty),
        bank_shares(app, Days::Thirty),
    )?;
    let in_review = waits.alerts.iter().find(|total| total.status == AlertStatus::Review);
    let mut rows = Rows::new(
        "Approved without a person, by bank",
        vec![Column::new("Bank"), Column::figure("Approved"), Column::figure("By itself")],
        Empty::new("No approvals yet", "The share of each bank's alerts that need nobody stands here."),
    );
    for share in &banks {
        let alone = per_mille(share.alone, share.approved).map_or_else(String::new, percent);
        rows.row(vec![Cell::text(&share.bank), share.approved.into(), Cell::text(alone)]);
    }
    let page = Overview {
        frame: frame(ask, "Overview", At::Overview, in_review.map_or(0, |total| total.count)),
        waits: waiting(ask, &waits),
        figures: figures(&today, &month),
        banks: rows,
    };
    Ok(ask.html(StatusCode::OK, &page))
}

fn waiting(ask: &Ask, waits: &DeskWaits) -> Vec<Tile> {
    let now = ask.app().now();
    let alerts = WAITING.into_iter().map(|(status, label)| {
        let total = waits.alerts.iter().find(|total| total.status == status);
        let tile = Tile::new(label, grouped(total.map_or(0, |total| total.count)));
        let tile = tile.href(link(OPERATOR_ALERTS, &[("state", status.as_str())]));
        match total {
            Some(AlertTotal { amount, oldest, .. }) => {
                let since = age(now.since(*oldest));
                tile.tone(Tone::Warn).note(format!("{}, oldest {since} ago", Naira(*amount).text()))
            }
            None => tile.note("Nothing waits"),
        }
    });
    let failed = &waits.failed_webhooks;
    let webhooks = Tile::new("Failed webhooks", grouped(failed.count));
    let webhooks = match failed.oldest {
        Some(oldest) => webhooks.tone(Tone::Bad).note(format!("oldest {} ago", age(now.since(oldest)))),
        None => webhooks.note("All arrive"),
    };
    let open = Tile::money("Open payments", waits.open.amount);
    let open = open.note(format!("{} payments", grouped(waits.open.count)));
    alerts.chain([webhooks, open]).collect()
}

fn figures(today: &Figures, month: &Figures) -> Vec<Tile> {
    let approved = Tile::money("Approved today", today.totals.approved_amount);
    let alone = month.alone_per_mille().map_or_else(|| "–".to_owned(), percent);
    let median = month.median.map_or_else(|| "–".to_owned(), age);
    let slowest = month.slowest.map(|slowest| format!("slowest {}", age(slowest)));
    let median = Tile::new("From bank to approval, 30 days", median);
    vec![
        approved.note(format!("{} payments", grouped(today.totals.approved))),
        Tile::new("Approved by itself, 30 days", alone)
            .note(format!("of {} payments", grouped(month.totals.approved))),
        slowest.map_or(median.clone(), |slowest| median.note(slowest)),
    ]
}

/// `99.7 %` of tenths of a percent.
fn percent(per_mille: i64) -> String {
    format!("{}.{}\u{a0}%", per_mille / 10, per_mille % 10)
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn shares_have_a_tenth() {
        assert_eq!(
            (percent(1_000), percent(997), percent(5)),
            ("100.0\u{a0}%".into(), "99.7\u{a0}%".into(), "0.5\u{a0}%".into())
        );
    }
}
