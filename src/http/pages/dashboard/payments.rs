//! `/dashboard/payments`: the payments of a business, newest first. A view is its address: filters combine, and the same
//! view is there as CSV.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use super::export::csv;
use super::frame::{frame, pager};
use crate::domain::merchant::Website;
use crate::domain::payment::{Payment, Status};
use crate::domain::time::Timestamp;
use crate::domain::user::MemberRight;
use crate::http::pages::ask::Ask;
use crate::http::pages::export::is_csv;
use crate::http::pages::field::{Choice, Field, Filters, Kind};
use crate::http::pages::here::Here;
use crate::http::pages::layout::Frame;
use crate::http::pages::parts::{Empty, Link, Notice, Tone};
use crate::http::pages::plain::unknown;
use crate::http::pages::rows::{Cell, Column, Rows};
use crate::http::pages::segment::segment;
use crate::http::paths::{DASHBOARD_NEW_PAYMENT, DASHBOARD_PAYMENTS};
use crate::ops::OpError;
use crate::ops::csv::CsvSource;
use crate::ops::merchants::websites::list_websites;
use crate::ops::paging::Page;
use crate::ops::payments::browse::{Browse, PaymentFilter, browse_payments};

const FORM: &str = "filter-payments";

#[derive(Template)]
#[template(path = "dashboard/payments.html")]
struct Payments {
    frame: Frame,
    new_payment: Option<String>,
    filters: Filters,
    rows: Rows,
}

/// The filters as the address says them.
struct View {
    query: String,
    status: String,
    from: String,
    to: String,
    website: String,
    late: bool,
    mismatched: bool,
    reversed: bool,
}

impl View {
    fn of(ask: &Ask) -> View {
        let text = |name| ask.query(name).unwrap_or_default().trim().to_owned();
        let is = |name| ask.query(name).as_deref() == Some("1");
        View {
            query: text("q"),
            status: text("status"),
            from: text("from"),
            to: text("to"),
            website: text("website"),
            late: is("late"),
            mismatched: is("mismatched"),
            reversed: is("reversed"),
        }
    }

    fn pairs(&self) -> [(&str, &str); 8] {
        let tick = |is| if is { "1" } else { "" };
        [
            ("q", &self.query),
            ("status", &self.status),
            ("from", &self.from),
            ("to", &self.to),
            ("website", &self.website),
            ("late", tick(self.late)),
            ("mismatched", tick(self.mismatched)),
            ("reversed", tick(self.reversed)),
        ]
    }

    fn is_set(&self) -> bool {
        self.pairs().iter().any(|(_, value)| !value.is_empty())
    }

    /// What is looked for; or the filter that means nothing, and what to write.
    fn browse(&self, here: &Here, websites: &[Website]) -> Result<Browse, (&'static str, &'static str)> {
        let status = match self.status.as_str() {
            "" => None,
            word => Some(Status::parse(word).ok_or(("status", "Choose a state of the list."))?),
        };
        let website_id = match self.website.as_str() {
            "" => None,
            id => {
                let id = id.parse().ok().filter(|id| websites.iter().any(|website| website.id == *id));
                Some(id.ok_or(("website", "Choose a website of the list."))?)
            }
        };
        let day = |name, date: &str| match date {
            "" => Ok(None),
            date => match Timestamp::lagos_day_of(date) {
                Some(day) => Ok(Some(day)),
                None => Err((name, "Write a date such as 2026-11-23.")),
            },
        };
        let (from, to) = (day("from", &self.from)?, day("to", &self.to)?);
        if from.zip(to).is_some_and(|(from, to)| to < from) {
            return Err(("to", "The last day lies before the first one."));
        }
        Ok(Browse {
            filter: PaymentFilter {
                business_id: Some(here.id()),
                mode: Some(here.mode),
                status,
                website_id,
                late: self.late,
                mismatched: self.mismatched,
                reversed: self.reversed,
                without_topups: true,
            },
            from: from.map(Timestamp::begin_of_lagos_day),
            until: to.map(|day| Timestamp::begin_of_lagos_day(day.saturating_add(1))),
            query: Some(self.query.clone()).filter(|query| !query.is_empty()),
        })
    }
}

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let Some(here) = &ask.here else { return Ok(unknown(ask)) };
    let view = View::of(ask);
    let websites = list_websites(ask.app(), here.id()).await?.unwrap_or_default();
    let show = |page: Result<&Page<Payment>, (&str, &str)>| show(ask, here, (&view, &websites), page);
    let browse = match view.browse(here, &websites) {
        Ok(browse) => browse,
        Err(wrong) => return Ok(show(Err(wrong))),
    };
    if is_csv(ask) {
        let file = csv(ask, here, "payments", MemberRight::ReadMoney, CsvSource::Payments(browse));
        return Ok(file.unwrap_or_else(|refused| show(Err(("q", &refused.to_string())))));
    }
    Ok(match browse_payments(ask.app(), &browse, ask.cursor()).await? {
        Ok(page) => show(Ok(&page)),
        Err(refused) => show(Err(("q", &refused.to_string()))),
    })
}

fn show(
    ask: &Ask,
    here: &Here,
    (view, websites): (&View, &[Website]),
    page: Result<&Page<Payment>, (&str, &str)>,
) -> Response {
    let none = Page::empty();
    let (page, wrong) = match page {
        Ok(page) => (page, None),
        Err(wrong) => (&none, Some(wrong)),
    };
    let mut frame = frame(ask, here, "Payments", DASHBOARD_PAYMENTS);
    let mut status = StatusCode::OK;
    if wrong.is_some() {
        frame = frame.notice(Notice::refused("The list cannot be filtered so. See below why."));
        status = StatusCode::UNPROCESSABLE_ENTITY;
    }
    let payments = Payments {
        frame,
        new_payment: here.may_write_payments().then(|| here.link(DASHBOARD_NEW_PAYMENT, &[])),
        filters: filters(here, view, websites, wrong),
        rows: rows(ask, here, view, page),
    };
    ask.html(status, &payments)
}

fn filters(here: &Here, view: &View, websites: &[Website], wrong: Option<(&str, &str)>) -> Filters {
    let field = |name: &'static str, label: &str, kind: Kind, value: &str| {
        let error = wrong.filter(|(field, _)| *field == name).map(|(_, why)| why);
        Field::new(FORM, name, label, kind).optional().value(value).error(error)
    };
    let tick = |name, label: &str, is| field(name, label, Kind::Checkbox, if is { "1" } else { "" });
    let states =
        [("", "Any state"), ("pending", "Pending"), ("approved", "Approved"), ("rejected", "Rejected")];
    let states = states.into_iter().map(|(value, text)| Choice::new(value, text)).collect();
    let sites = websites.iter().map(|website| Choice::new(website.id.to_string(), &website.host));
    let sites = std::iter::once(Choice::new("", "Any website")).chain(sites).collect();
    let csv = [view.pairs().as_slice(), &[("format", "csv")]].concat();
    let mut hidden = vec![("business", here.id().to_string().into())];
    if here.is_test() {
        hidden.push(("mode", here.mode.as_str().into()));
    }
    Filters {
        action: DASHBOARD_PAYMENTS.to_owned(),
        hidden,
        fields: vec![
            field("q", "Transaction id, payer or reference", Kind::Search, &view.query),
            field("status", "State", Kind::Select(states), &view.status),
            field("from", "From", Kind::Date, &view.from),
            field("to", "To", Kind::Date, &view.to),
        ],
        more: vec![
            field("website", "Website", Kind::Select(sites), &view.website),
            tick("late", "Came late", view.late),
            tick("mismatched", "Another amount came", view.mismatched),
            tick("reversed", "Reversed", view.reversed),
        ],
        reset: view.is_set().then(|| here.link(DASHBOARD_PAYMENTS, &[])),
        csv: here.may(MemberRight::ReadMoney).then(|| here.link(DASHBOARD_PAYMENTS, &csv)),
    }
}

fn rows(ask: &Ask, here: &Here, view: &View, page: &Page<Payment>) -> Rows {
    let columns =
        vec![Column::new("Payer"), Column::figure("Amount"), Column::new("State"), Column::new("Made")];
    let empty = match (view.is_set(), here.may_write_payments()) {
        (true, _) => Empty::new("No payment fits", "Take a filter away, or search for less."),
        (false, true) => {
            let link = Link::new(here.link(DASHBOARD_NEW_PAYMENT, &[]), "New payment");
            Empty::new(
                "No payments yet",
                "What your programs ask for stands here, and what you ask for yourself.",
            )
            .with_link(link)
        }
        (false, false) => Empty::new("No payments yet", "What your programs ask for stands here."),
    };
    let mut rows = Rows::new("Payments", columns, empty);
    let zone = ask.zone();
    for payment in &page.rows {
        let to = address(here, &payment.transaction_id);
        let mut about = vec![Cell::link(to, &payment.payer_name)];
        about.extend(payment.payer.service.as_ref().map(Cell::text));
        about.push(Cell::code(&payment.transaction_id));
        rows.row(vec![
            Cell::Under(about),
            payment.amount.into(),
            Cell::Beside(marks(payment)),
            zone.time(payment.created_at).into(),
        ]);
    }
    rows.pager = pager(ask, here, DASHBOARD_PAYMENTS, page, &view.pairs());
    rows
}

/// Where a payment's page is.
pub(super) fn address(here: &Here, transaction_id: &str) -> String {
    here.link(&format!("{DASHBOARD_PAYMENTS}/{}", segment(transaction_id)), &[])
}

/// The state of a payment as badges: what it is, and what was unusual.
pub(super) fn marks(payment: &Payment) -> Vec<Cell> {
    let (tone, state) = match payment.status {
        _ if payment.reversed_at.is_some() => (Tone::Bad, "Reversed"),
        Status::Approved => (Tone::Good, "Approved"),
        Status::Pending => (Tone::Info, "Pending"),
        Status::Rejected if payment.swept => (Tone::Muted, "Ended unpaid"),
        Status::Rejected => (Tone::Bad, "Rejected"),
    };
    let is_late = payment.approved_at.is_some_and(|at| at > payment.expires_at);
    let odd =
        [(payment.is_mismatch, "Another amount"), (payment.name_mismatch, "Another name"), (is_late, "Late")];
    let odd = odd.into_iter().filter(|(is, _)| *is).map(|(_, text)| Cell::badge(Tone::Warn, text));
    std::iter::once(Cell::badge(tone, state)).chain(odd).collect()
}
