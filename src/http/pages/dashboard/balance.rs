//! `/dashboard/balance`: what the business is owed, and every line of the ledger that made it so.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use super::export::csv;
use super::frame::frame;
use super::payments::address;
use crate::domain::money::Money;
use crate::domain::user::MemberRight;
use crate::http::pages::ask::Ask;
use crate::http::pages::export::is_csv;
use crate::http::pages::here::Here;
use crate::http::pages::layout::Frame;
use crate::http::pages::parts::{Empty, Naira, Pager, Tile};
use crate::http::pages::plain::unknown;
use crate::http::pages::rows::{Cell, Column, Rows};
use crate::http::pages::text::sentence;
use crate::http::paths::{DASHBOARD_BALANCE, DASHBOARD_PAYOUTS};
use crate::ops::OpError;
use crate::ops::csv::CsvSource;
use crate::ops::ledger::statement::{LineKind, StatementLine, StatementPage, statement};
use crate::ops::payouts::request::balance;

#[derive(Template)]
#[template(path = "dashboard/balance.html")]
struct Balance {
    frame: Frame,
    csv: String,
    is_test: bool,
    tiles: Vec<Tile>,
    rows: Rows,
}

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let Some(here) = &ask.here else { return Ok(unknown(ask)) };
    let source = CsvSource::Statement(here.id(), here.mode);
    if is_csv(ask)
        && let Ok(file) = csv(ask, here, "statement", MemberRight::ReadMoney, source)
    {
        return Ok(file);
    }
    let cursor = ask.query("cursor");
    let page = statement(ask.app(), here.id(), here.mode, cursor.as_deref()).await?;
    let found = balance(ask.app(), here.id()).await?;
    let now = ask.zone().exact(ask.app().now()).text;
    let tile = Tile::money("Balance", found.available).note(format!("what the operator owes you, {now}"));
    let aside = Tile::money("Set aside", found.reserved)
        .note("for payouts that wait")
        .href(here.link(DASHBOARD_PAYOUTS, &[]));
    let page = Balance {
        frame: frame(ask, here, "Balance", DASHBOARD_BALANCE),
        csv: here.link(DASHBOARD_BALANCE, &[("format", "csv")]),
        is_test: here.is_test(),
        tiles: if here.is_test() { Vec::new() } else { vec![tile, aside] },
        rows: rows(ask, here, &page, cursor.is_some()),
    };
    Ok(ask.html(StatusCode::OK, &page))
}

fn rows(ask: &Ask, here: &Here, page: &StatementPage, is_on: bool) -> Rows {
    let mut columns = vec![Column::new("What"), Column::figure("Change"), Column::new("When")];
    if !here.is_test() {
        columns.insert(2, Column::figure("Balance after"));
    }
    let empty = Empty::new(
        "No lines yet",
        "Each approved payment adds what you receive, and a reversal takes it back.",
    );
    let mut rows = Rows::new("Statement", columns, empty);
    for line in &page.lines {
        let mut cells = vec![what(here, line), signed(line.change), ask.zone().exact(line.at).into()];
        if !here.is_test() {
            cells.insert(2, line.balance.map_or(Cell::None, amount));
        }
        rows.row(cells);
    }
    let older = page.next.as_ref().map(|next| here.link(DASHBOARD_BALANCE, &[("cursor", next)]));
    let newest = is_on.then(|| here.link(DASHBOARD_BALANCE, &[]));
    let note = page.looked_back_to.map(|at| format!("Looked back to {}.", ask.zone().time(at).text).into());
    rows.pager = Pager::by_time(newest, older, note);
    rows
}

fn what(here: &Here, line: &StatementLine) -> Cell {
    let word = match line.kind {
        LineKind::Payment => "Payment",
        LineKind::Reversal => "Reversal",
        LineKind::Payout => "Payout",
        LineKind::PayoutReturned => "Payout given back",
        LineKind::Other => "Correction by the operator",
    };
    let mut about = match &line.transaction_id {
        Some(id) => vec![Cell::link(address(here, id), word), Cell::code(id)],
        None if line.payout_id.is_some() => vec![Cell::link(here.link(DASHBOARD_PAYOUTS, &[]), word)],
        None => vec![Cell::text(word)],
    };
    about.extend(line.why.as_deref().map(|why| Cell::text(sentence(why))));
    Cell::Under(about)
}

fn amount(amount: Money) -> Cell {
    match amount < Money::ZERO {
        true => signed(amount),
        false => amount.into(),
    }
}

/// With its sign.
fn signed(amount: Money) -> Cell {
    let size = Naira(Money(amount.kobo().saturating_abs())).text();
    Cell::Number(format!("{}{size}", if amount < Money::ZERO { "\u{2212}" } else { "+" }).into())
}
