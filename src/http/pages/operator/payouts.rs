//! `/operator/payouts`: payouts that businesses ask for. The operator sends the money through the bank and says here what
//! came of it; above `payouts.two_persons_above` two people must say that it is paid.

use std::collections::HashMap;

use axum::response::Response;

use super::businesses::{Wrong, field};
use super::page::DeskView;
use super::{DeskPage, forbidden, frame, may};
use crate::domain::money::naira;
use crate::domain::payout::{PayoutStatus, StepRefusal};
use crate::domain::user::StaffRight;
use crate::http::pages::ask::Ask;
use crate::http::pages::dashboard::payouts::badge;
use crate::http::pages::export::{csv_file, is_csv};
use crate::http::pages::field::{Choice, Confirm, Field, Kind};
use crate::http::pages::flash::Flash;
use crate::http::pages::layout::link;
use crate::http::pages::parts::{Empty, Pager, Tab, Tabs, Tone};
use crate::http::pages::rows::{Cell, Column, Rows};
use crate::http::pages::sign_in::confirm;
use crate::http::pages::text::sentence;
use crate::http::paths::{OPERATOR_BUSINESSES, OPERATOR_PAYOUTS};
use crate::ops::OpError;
use crate::ops::csv::CsvSource;
use crate::ops::paging::Page;
use crate::ops::payouts::browse::{PayoutFilter, PayoutRow, browse_payouts, find_payout};
use crate::ops::payouts::end::{EndRefusal, Marked, Marking, Outcome, Seat, mark_payout};
use crate::ops::payouts::held::held_back;

const MARK: &str = "mark-payout";
/// What the address calls the list of all.
const ALL: &str = "all";

/// Which payouts the address asks for: those that wait, if it says nothing.
fn state(ask: &Ask) -> Option<PayoutStatus> {
    match ask.query("state").as_deref() {
        Some(ALL) => None,
        Some(word) => Some(PayoutStatus::parse(word).unwrap_or(PayoutStatus::Pending)),
        None => Some(PayoutStatus::Pending),
    }
}

fn word(status: Option<PayoutStatus>) -> &'static str {
    status.map_or(ALL, PayoutStatus::as_str)
}

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    if !ask.is_form() {
        return show(ask, None).await;
    }
    if let Some(forbidden) = forbidden(ask, StaffRight::Administer) {
        return Ok(forbidden);
    }
    if ask.session.as_ref().is_none_or(|session| !session.is_checked(ask.app().now())) {
        return Ok(ask.see(&confirm::address(OPERATOR_PAYOUTS), None));
    }
    match mark(ask).await? {
        Ok(done) => Ok(ask.see(OPERATOR_PAYOUTS, Some(Flash::done(done)))),
        Err(wrong) => show(ask, Some(wrong)).await,
    }
}

async fn mark(ask: &Ask) -> Result<Result<String, Wrong>, OpError> {
    let id = ask.field("id").trim().parse::<i64>().unwrap_or(0);
    let form = format!("{MARK}-{id}");
    let Some(outcome) = Outcome::parse(ask.field("outcome")) else {
        return Ok(Err(Wrong::at(form, "outcome", "choose what came of it")));
    };
    let marking = Marking {
        id,
        outcome,
        by: ask.operator(),
        seat: Seat::Desk,
        reference: Some(ask.field("reference")),
        reason: Some(ask.field("reason")),
    };
    Ok(match mark_payout(ask.app(), &marking).await? {
        Ok(Marked::OneOfTwo(row)) => Ok(format!(
            "Your word is kept that payout {id}, {}, is paid. Another person must say so too.",
            naira(row.payout.amount)
        )),
        Ok(Marked::TakenBack(row)) => Ok(format!(
            "You took back that payout {id}, {}, is paid. It waits as before; refuse it now if it is to be refused.",
            naira(row.payout.amount)
        )),
        Ok(Marked::Ended(row)) => Ok(match row.payout.status {
            PayoutStatus::Paid => format!("Payout {id}, {}, is paid.", naira(row.payout.amount)),
            _ => format!(
                "Payout {id} is refused, and {} is in the balance of {} again.",
                naira(row.payout.amount),
                row.business
            ),
        }),
        Err(why @ (EndRefusal::Reason | EndRefusal::ReasonOfPaid)) => Err(Wrong::at(form, "reason", why)),
        Err(why @ EndRefusal::Step(StepRefusal::OtherReference(..))) => {
            Err(Wrong::at(form, "reference", why))
        }
        Err(why @ EndRefusal::Reference) => Err(Wrong::at(form, "reference", why)),
        Err(EndRefusal::Step(StepRefusal::Finished(status))) => {
            let found = find_payout(ask.app(), None, id).await?;
            let by = found.and_then(|row| row.payout.end).map_or_else(String::new, |end| end.by);
            Err(Wrong::at("", "", format!("payout {id} is {} already, by {by}", status.as_str())))
        }
        Err(why) => Err(Wrong::at("", "", why)),
    })
}

async fn show(ask: &Ask, wrong: Option<Wrong>) -> Result<Response, OpError> {
    let filter = PayoutFilter { business_id: None, status: state(ask) };
    if is_csv(ask)
        && !ask.is_form()
        && let Ok(file) = csv_file(ask, "payouts", CsvSource::Payouts(filter))
    {
        return Ok(file);
    }
    let page = browse_payouts(ask.app(), filter, ask.cursor()).await?;
    let csv = link(OPERATOR_PAYOUTS, &[("state", word(filter.status)), ("format", "csv")]);
    let view = DeskView::new(frame(ask, "Payouts", DeskPage::Payouts).await?, "Payouts")
        .refused(wrong.as_ref().map(|wrong| wrong.why.as_str()))
        .act(Cell::link(csv, "CSV"))
        .add(tabs(filter.status))
        .add(rows(ask, &page, filter.status, wrong.as_ref(), &held_back(ask.app(), &page.rows).await?));
    Ok(view.answer(ask))
}

fn tabs(status: Option<PayoutStatus>) -> Tabs {
    let to = |word: &str| link(OPERATOR_PAYOUTS, &[("state", word)]);
    let named = [
        (Some(PayoutStatus::Pending), "Waiting"),
        (Some(PayoutStatus::Paid), "Paid"),
        (Some(PayoutStatus::Refused), "Refused"),
        (Some(PayoutStatus::Cancelled), "Cancelled"),
        (None, "All"),
    ];
    let tabs = named.into_iter().map(|(one, name)| Tab::new(to(word(one)), name, one == status)).collect();
    Tabs { label: "States".into(), tabs }
}

fn rows(
    ask: &Ask,
    page: &Page<PayoutRow>,
    status: Option<PayoutStatus>,
    wrong: Option<&Wrong>,
    held: &HashMap<i64, String>,
) -> Rows {
    let has_acts = may(ask, StaffRight::Administer) && matches!(status, None | Some(PayoutStatus::Pending));
    let mut columns = vec![
        Column::new("To"),
        Column::figure("Amount"),
        Column::new("Reference for the bank"),
        Column::new("Business"),
        Column::new("State"),
        Column::new("Asked for"),
    ];
    if has_acts {
        columns.push(Column::acts("Acts"));
    }
    let empty = match status {
        Some(PayoutStatus::Pending) => Empty::new(
            "Nothing waits",
            "Payouts that businesses ask for stand here until you have paid them.",
        ),
        _ => Empty::new("None yet", "Payouts that businesses asked for will stand here."),
    };
    let mut rows = Rows::new("Payouts", columns, empty);
    for row in &page.rows {
        let why = held.get(&row.payout.id).map(String::as_str);
        let mut cells = row_cells(ask, row, why);
        if has_acts {
            let is_open = row.payout.may_end().is_ok();
            cells.push(if is_open { mark_form(ask, row, wrong, why) } else { Cell::None });
        }
        rows.row(cells);
    }
    let place = |cursor: &str| link(OPERATOR_PAYOUTS, &[("state", word(status)), ("cursor", cursor)]);
    let newest = ask.query("cursor").is_some().then(|| place(""));
    let older = page.next.map(|next| place(&next.to_string()));
    let note = page.looked_back_to.map(|at| format!("Looked back to {}.", ask.zone().time(at).text).into());
    rows.pager = Pager::by_time(newest, older, note);
    rows
}

fn row_cells(ask: &Ask, row: &PayoutRow, held: Option<&str>) -> Vec<Cell> {
    let (payout, zone) = (&row.payout, ask.zone());
    let mut to = vec![Cell::code(&row.number), Cell::text(&row.bank), Cell::text(&row.name)];
    if row.is_account_removed {
        to.push(Cell::badge(Tone::Bad, "account was removed"));
    }
    let mut state = vec![badge(row).into()];
    if let Some(first) = payout.first.as_ref().filter(|_| payout.end.is_none()) {
        state.push(Cell::text(format!("{} says that it is paid", first.by)));
    }
    if payout.end.is_none() && payout.needs_two(ask.app().config.payouts.two_persons_above) {
        state.push(Cell::text("Needs two people"));
    }
    if let Some(end) = &payout.end {
        state.push(zone.time(end.at).into());
        state.push(Cell::text(&end.by));
        state.extend(end.bank_reference.as_deref().map(Cell::code));
        state.extend(end.reason.as_deref().map(|why| Cell::text(sentence(why))));
    }
    if let Some(why) = held {
        state.push(Cell::badge(Tone::Bad, "do not pay yet"));
        state.push(Cell::text(sentence(why)));
    }
    let mut references = vec![Cell::code(&payout.code)];
    references.extend(payout.reference.as_ref().map(|own| Cell::text(format!("theirs: {own}"))));
    vec![
        Cell::Under(to),
        payout.amount.into(),
        Cell::Under(references),
        Cell::link(format!("{OPERATOR_BUSINESSES}/{}", payout.business_id), &row.business),
        Cell::Under(state),
        Cell::from(zone.time(payout.created_at)).under(Cell::text(&payout.requested_by)),
    ]
}

/// The payout's number stands behind the form's id, so that it stays its own when the list moves.
fn mark_form(ask: &Ask, row: &PayoutRow, wrong: Option<&Wrong>, held: Option<&str>) -> Cell {
    let id = format!("{MARK}-{}", row.payout.id);
    let of = |name, label: &str, kind| -> Field { field(ask, &id, name, label, kind, wrong) };
    let outcomes = vec![
        Choice::new("", "Choose"),
        Choice::new("paid", "Paid: the bank has sent it"),
        Choice::new("refused", "Refused: it stays here"),
    ];
    let form = ask
        .new_form(&id, OPERATOR_PAYOUTS, "Record this")
        .hidden("id", row.payout.id.to_string())
        .field(of("outcome", "What came of it", Kind::Select(outcomes)))
        .field(of("reference", "The bank's reference", Kind::Text).optional())
        .field(
            of("reason", "Reason, if it is refused", Kind::Text).optional().hint("The business reads it."),
        );
    let before = held.map_or_else(String::new, |why| format!("{} ", sentence(why)));
    let question = format!("{before}It cannot be taken back. Look at the bank's statement first.");
    Cell::from(Confirm { button: "Mark".into(), question: question.into(), form })
}
