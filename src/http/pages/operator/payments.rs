//! `/operator/payments`: the payments of all businesses, or of one; found by transaction id, reference or name, and filtered
//! by state, day, and what is unusual about them.

use axum::response::Response;

use super::page::{DeskView, Names};
use super::{DeskPage, frame};
use crate::domain::merchant::Mode;
use crate::domain::payment::{Kind as PaymentKind, Payment, Status};
use crate::domain::time::{Span, Timestamp};
use crate::http::pages::ask::Ask;
use crate::http::pages::export::{csv_file, is_csv};
use crate::http::pages::field::{Choice, Field, Filters, Kind};
use crate::http::pages::layout::link;
use crate::http::pages::parts::{Empty, Naira, Pager, Tone};
use crate::http::pages::rows::{Cell, Column, Rows};
use crate::http::pages::segment::segment;
use crate::http::paths::OPERATOR_PAYMENTS;
use crate::ops::OpError;
use crate::ops::csv::CsvSource;
use crate::ops::paging::Page;
use crate::ops::payments::browse::{Browse, PaymentFilter, browse_payments};

const FORM: &str = "filter-payments";
/// What the address keeps from page to page.
const KEPT: [&str; 9] = ["q", "status", "from", "to", "business", "mode", "late", "mismatched", "reversed"];

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let browse = browse_of(ask);
    if is_csv(ask)
        && let Ok(file) = csv_file(ask, "payments", CsvSource::Payments(browse.clone()))
    {
        return Ok(file);
    }
    let cursor = ask.cursor();
    let view = DeskView::new(frame(ask, "Payments", DeskPage::Payments).await?, "Payments");
    let (page, refused) = match browse_payments(ask.app(), &browse, cursor).await? {
        Ok(page) => (page, None),
        Err(refused) => (Page::empty(), Some(refused.to_string())),
    };
    let names = Names::of(ask, page.rows.iter().map(|payment| payment.business_id).collect()).await?;
    let rows = rows(ask, &page, &names, cursor.is_some());
    Ok(view.refused(refused).add(filters(ask)).add(rows).answer(ask))
}

fn value(ask: &Ask, name: &str) -> String {
    ask.query(name).unwrap_or_default()
}

fn browse_of(ask: &Ask) -> Browse {
    let is_set = |name: &str| value(ask, name) == "1";
    let day = |name: &str| Timestamp::lagos_day_of(&value(ask, name)).map(Timestamp::begin_of_lagos_day);
    Browse {
        filter: PaymentFilter {
            business_id: value(ask, "business").trim().parse().ok(),
            mode: Mode::parse(&value(ask, "mode")),
            status: Status::parse(&value(ask, "status")),
            website_id: value(ask, "website").trim().parse().ok(),
            late: is_set("late"),
            mismatched: is_set("mismatched"),
            reversed: is_set("reversed"),
            without_topups: false,
        },
        from: day("from"),
        until: day("to").map(|at| at + Span::days(1)),
        query: Some(value(ask, "q")).filter(|query| !query.trim().is_empty()),
    }
}

/// The address of this list, with more in its query.
fn address(ask: &Ask, more: &[(&str, &str)]) -> String {
    let kept: Vec<(&str, String)> = KEPT.into_iter().map(|name| (name, value(ask, name))).collect();
    let mut query: Vec<(&str, &str)> = kept.iter().map(|(name, value)| (*name, value.as_str())).collect();
    query.extend(more);
    link(OPERATOR_PAYMENTS, &query)
}

fn filters(ask: &Ask) -> Filters {
    let field = |name: &'static str, label: &str, kind: Kind| {
        Field::new(FORM, name, label, kind).optional().value(value(ask, name))
    };
    let statuses = vec![
        Choice::new("", "Any state"),
        Choice::new("pending", "Pending"),
        Choice::new("approved", "Approved"),
        Choice::new("rejected", "Rejected"),
    ];
    let modes =
        vec![Choice::new("", "Live and test"), Choice::new("live", "Live"), Choice::new("test", "Test")];
    let is_filtered = KEPT.iter().any(|name| !value(ask, name).is_empty());
    Filters {
        action: OPERATOR_PAYMENTS.to_owned(),
        hidden: Vec::new(),
        fields: vec![
            field("q", "Id, payer, amount, account or business", Kind::Search),
            field("status", "State", Kind::Select(statuses)),
            field("business", "Business number", Kind::Text),
        ],
        more: vec![
            field("from", "From", Kind::Date),
            field("to", "To", Kind::Date),
            field("mode", "Mode", Kind::Select(modes)),
            field("late", "Approved late", Kind::Checkbox),
            field("mismatched", "Another amount came", Kind::Checkbox),
            field("reversed", "Reversed", Kind::Checkbox),
        ],
        reset: is_filtered.then(|| OPERATOR_PAYMENTS.to_owned()),
        csv: Some(address(ask, &[("format", "csv")])),
    }
}

fn rows(ask: &Ask, page: &Page<Payment>, names: &Names, is_on: bool) -> Rows {
    let columns = vec![
        Column::new("Payer"),
        Column::figure("Amount"),
        Column::new("State"),
        Column::new("Business"),
        Column::new("Made"),
    ];
    let empty = Empty::new("No payments here", "Payments that merchants ask for will stand here.");
    let mut rows = Rows::new("Payments", columns, empty);
    let zone = ask.zone();
    for payment in &page.rows {
        let amount = Cell::Money(Naira(payment.amount));
        let amount = match payment.received.filter(|received| *received != payment.amount) {
            Some(received) => amount.under(Cell::text(format!("came: {}", Naira(received).text()))),
            None => amount,
        };
        rows.row(vec![
            Cell::link(address_of(payment), &payment.payer_name).under(Cell::code(&payment.transaction_id)),
            amount,
            Cell::Beside(state(payment)),
            names.link(payment.business_id),
            zone.time(payment.created_at).into(),
        ]);
    }
    let older = page.next.map(|cursor| address(ask, &[("cursor", &cursor.to_string())]));
    let note = page.looked_back_to.map(|at| format!("Looked back to {}", zone.time(at).text).into());
    let newest = is_on.then(|| address(ask, &[]));
    rows.pager = Pager::by_time(newest, older, note);
    rows
}

/// Where a payment is shown.
pub fn address_of(payment: &Payment) -> String {
    let path = format!("{OPERATOR_PAYMENTS}/{}", segment(&payment.transaction_id));
    link(&path, &[("business", &payment.business_id.to_string())])
}

/// The state of a payment, and what is unusual about it, as badges.
pub fn state(payment: &Payment) -> Vec<Cell> {
    let mut badges = vec![match (payment.reversed_at, payment.status) {
        (Some(_), _) => Cell::badge(Tone::Bad, "reversed"),
        (None, Status::Approved) => Cell::badge(Tone::Good, "approved"),
        (None, Status::Pending) => Cell::badge(Tone::Info, "pending"),
        (None, Status::Rejected) => Cell::badge(Tone::Muted, "rejected"),
    }];
    if payment.mode == Mode::Test {
        badges.push(Cell::badge(Tone::Warn, "test"));
    }
    if payment.kind != PaymentKind::Transfer {
        badges.push(Cell::badge(Tone::Muted, payment.kind.as_str()));
    }
    if payment.is_mismatch {
        badges.push(Cell::badge(Tone::Warn, "another amount"));
    }
    if payment.approved_at.is_some_and(|at| at > payment.expires_at) {
        badges.push(Cell::badge(Tone::Warn, "late"));
    }
    badges
}
