//! Lists as CSV, for spreadsheets: the same filters as on pages, read window by window until the end, so that a million rows
//! take no more memory than one window. Cells that a spreadsheet would take for a formula are neutralised, in one place.

use std::fmt::Write;
use std::sync::Arc;

use crate::app::App;
use crate::domain::alert::AlertRow;
use crate::domain::merchant::Mode;
use crate::domain::payment::Payment;
use crate::domain::time::Timestamp;
use crate::ops::OpError;
use crate::ops::activity::{OperatorAct, Search, acts_within, find_acts};
use crate::ops::alerts::browse::{self as alerts, BrowseAlerts};
use crate::ops::figures::refused::{RefusedRequest, refused_requests};
use crate::ops::ledger::statement::{StatementLine, statement_within};
use crate::ops::merchants::accounts::browse_accounts;
use crate::ops::merchants::businesses::browse_businesses;
use crate::ops::merchants::keys::list_keys;
use crate::ops::merchants::websites::list_websites;
use crate::ops::paging::{Cursor, PageSize};
use crate::ops::payments::browse::{self as payments, Browse, BrowseRefused, is_too_long};
use crate::ops::payouts::browse::{PayoutFilter, payouts_within};
use crate::ops::people::members::members;
use crate::ops::people::users::{Which, browse_users};
use crate::ops::till::sales_of_day;
use crate::ops::webhooks::browse::{self as webhooks, DeliveryFilter};
use crate::ops::webhooks::deliveries::{Attempt, Delivery, DeliveryStatus};

mod lists;

pub use lists::bank_file;

/// Rows of one piece, which are looked at at once.
const PIECE: PageSize = PageSize { rows: 2_000, window: 2_000 };
/// Acts about one subject.
const ABOUT_MAX: usize = 10_000;
/// Of an alert's texts, which may be as long as a mail, so many characters.
const TEXT_MAX: usize = 1_000;

/// What is written.
#[derive(Clone, Debug)]
pub enum CsvSource {
    Payments(Browse),
    Alerts(BrowseAlerts),
    /// A line for every attempt.
    Deliveries(DeliveryFilter),
    /// Of a business, in a mode.
    Statement(i64, Mode),
    /// Of a business.
    Acts(i64),
    /// Of a business.
    Refused(i64),
    /// About one payment, by its transaction id.
    DeliveriesAbout(DeliveryFilter, String),
    /// Of all businesses.
    AllDeliveries(Option<DeliveryStatus>),
    /// For an operator: of one business or of all, and about one subject or any.
    ActsOfAll(Option<i64>, Option<String>),
    /// Of a business.
    Keys(i64),
    /// Of a business.
    Websites(i64),
    /// Of a business.
    Members(i64),
    /// The sales of a business's tills, in a mode, since a day began.
    Till(i64, Mode, Timestamp),
    /// That fit what is looked for.
    Businesses(String),
    /// Retired ones or those in use; of a business if one is given.
    Accounts(bool, Option<i64>),
    Users,
    Payouts(PayoutFilter),
}

/// Writes a list piece by piece.
pub struct CsvReader {
    app: Arc<App>,
    source: CsvSource,
    at: At,
}

#[derive(Clone)]
enum At {
    Head,
    /// Behind what a cursor says.
    Rows(Option<String>),
    End,
}

impl CsvReader {
    pub fn open(app: Arc<App>, source: CsvSource) -> Result<CsvReader, BrowseRefused> {
        let query = match &source {
            CsvSource::Payments(browse) => browse.query.as_deref(),
            CsvSource::Alerts(browse) => browse.query.as_deref(),
            _ => None,
        };
        if query.is_some_and(is_too_long) {
            return Err(BrowseRefused::TooLong);
        }
        Ok(CsvReader { app, source, at: At::Head })
    }

    /// The next piece, which may be empty; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<String>, OpError> {
        let after = match self.at.clone() {
            At::Head => {
                self.at = At::Rows(None);
                return Ok(Some(self.head()));
            }
            At::Rows(after) => after,
            At::End => return Ok(None),
        };
        let cursor = after.as_deref().and_then(Cursor::parse);
        let mut csv = Csv::default();
        let written = |next: Option<Cursor>| next.map(|next| next.to_string());
        let after_id = after.as_deref().and_then(|text| text.parse::<i64>().ok());
        let app = &self.app;
        let next = match &self.source {
            CsvSource::Payments(browse) => {
                let page = payments::browse_within(&self.app, browse, cursor, PIECE).await?;
                let Ok(page) = page else { return Ok(None) };
                page.rows.iter().for_each(|one| payment(&mut csv, one));
                written(page.next)
            }
            CsvSource::Alerts(browse) => {
                let page = alerts::browse_within(&self.app, browse, cursor, PIECE).await?;
                let Ok(page) = page else { return Ok(None) };
                page.rows.iter().for_each(|one| alert(&mut csv, one));
                written(page.next)
            }
            CsvSource::Deliveries(filter) => {
                let page = webhooks::browse_within(&self.app, filter, cursor, PIECE).await?;
                page.rows.iter().for_each(|one| delivery(&mut csv, one));
                written(page.next)
            }
            CsvSource::Statement(business_id, mode) => {
                let page = statement_within(&self.app, *business_id, *mode, after.as_deref(), PIECE).await?;
                page.lines.iter().for_each(|one| line(&mut csv, one));
                page.next
            }
            CsvSource::Acts(business_id) => {
                let page = acts_within(&self.app, Some(*business_id), cursor, PIECE.rows).await?;
                page.rows.iter().for_each(|one| act(&mut csv, one));
                written(page.next)
            }
            CsvSource::Refused(business_id) => {
                let page = refused_requests(&self.app, *business_id, cursor).await?;
                page.rows.iter().for_each(|one| refused(&mut csv, one));
                written(page.next)
            }
            CsvSource::DeliveriesAbout(filter, transaction_id) => {
                let rows = webhooks::deliveries_about(app, filter, transaction_id).await?;
                rows.iter().for_each(|one| delivery(&mut csv, one));
                None
            }
            CsvSource::AllDeliveries(status) => {
                let page = webhooks::browse_all_deliveries(app, *status, cursor).await?;
                page.rows.iter().for_each(|one| delivery(&mut csv, one));
                written(page.next)
            }
            CsvSource::ActsOfAll(business_id, None) => {
                let page = acts_within(app, *business_id, cursor, PIECE.rows).await?;
                page.rows.iter().for_each(|one| lists::act_of_all(&mut csv, one));
                written(page.next)
            }
            CsvSource::ActsOfAll(business_id, Some(subject)) => {
                let (subject, since) = (Some(subject.as_str()), Timestamp::MIN);
                let search = Search { subject, business_id: *business_id, since, limit: ABOUT_MAX };
                let found = find_acts(app, &search).await?.map(|(acts, _)| acts);
                found.iter().flatten().for_each(|one| lists::act_of_all(&mut csv, one));
                None
            }
            CsvSource::Keys(business_id) => {
                let (keys, now) = (list_keys(app, *business_id).await?, app.now());
                keys.iter().flatten().for_each(|one| lists::key(&mut csv, one, now));
                None
            }
            CsvSource::Websites(business_id) => {
                let websites = list_websites(app, *business_id).await?;
                websites.iter().flatten().for_each(|one| lists::website(&mut csv, one));
                None
            }
            CsvSource::Members(business_id) => {
                members(app, *business_id).await?.iter().for_each(|one| lists::member(&mut csv, one));
                None
            }
            CsvSource::Till(business_id, mode, day) => {
                let page = sales_of_day(app, (*business_id, *mode), *day, cursor, PIECE.rows).await?;
                page.rows.iter().for_each(|one| lists::sale(&mut csv, one, app.now()));
                written(page.next)
            }
            CsvSource::Businesses(query) => {
                let page = browse_businesses(app, query, after_id).await?;
                page.rows.iter().for_each(|one| lists::business(&mut csv, one));
                page.before.map(|id| id.to_string())
            }
            CsvSource::Accounts(retired, business_id) => {
                let page = browse_accounts(app, *retired, *business_id, after_id).await?;
                page.rows.iter().for_each(|one| lists::account(&mut csv, one));
                page.after.map(|id| id.to_string())
            }
            CsvSource::Users => {
                let page = browse_users(app, Which::All, after_id, PIECE.rows).await?;
                page.rows.iter().for_each(|one| lists::user(&mut csv, one));
                page.after.map(|id| id.to_string())
            }
            CsvSource::Payouts(filter) => {
                let page = payouts_within(app, *filter, cursor, PIECE).await?;
                page.rows.iter().for_each(|one| lists::payout(&mut csv, one));
                written(page.next)
            }
        };
        self.at = next.map_or(At::End, |next| At::Rows(Some(next)));
        Ok(Some(csv.text))
    }

    fn head(&self) -> String {
        let names: &[&str] = match self.source {
            CsvSource::Payments(_) => &PAYMENT,
            CsvSource::Alerts(_) => &ALERT,
            CsvSource::Deliveries(_) | CsvSource::DeliveriesAbout(..) | CsvSource::AllDeliveries(_) => {
                &DELIVERY
            }
            CsvSource::Statement(..) => &LINE,
            CsvSource::Acts(_) => &ACT,
            CsvSource::Refused(_) => &REFUSED,
            CsvSource::ActsOfAll(..) => &lists::ACT_OF_ALL,
            CsvSource::Keys(_) => &lists::KEY,
            CsvSource::Websites(_) => &lists::WEBSITE,
            CsvSource::Members(_) => &lists::MEMBER,
            CsvSource::Till(..) => &lists::SALE,
            CsvSource::Businesses(_) => &lists::BUSINESS,
            CsvSource::Accounts(..) => &lists::ACCOUNT,
            CsvSource::Users => &lists::USER,
            CsvSource::Payouts(_) => &lists::PAYOUT,
        };
        format!("{}\r\n", names.join(","))
    }
}

/// A text as a cell. What begins like a formula gets an apostrophe before it, by which a spreadsheet takes it for text:
/// `=`, `+`, `-`, `@`, tab or carriage return, also behind spaces, and the wide forms of these signs.
pub fn cell(text: &str) -> String {
    let mut cell = String::with_capacity(text.len() + 3);
    let is_formula = text.starts_with(['\t', '\r', '\n'])
        || text
            .trim_start()
            .starts_with(['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}']);
    if is_formula {
        cell.push('\'');
    }
    cell.push_str(text);
    if cell.contains(['"', ',', '\r', '\n', ';', '\t', '\'']) || cell.starts_with(' ') {
        cell = format!("\"{}\"", cell.replace('"', "\"\""));
    }
    cell
}

#[derive(Default)]
struct Csv {
    text: String,
    is_in_line: bool,
}

impl Csv {
    fn next_cell(&mut self) {
        if self.is_in_line {
            self.text.push(',');
        }
        self.is_in_line = true;
    }

    fn words(&mut self, text: &str) -> &mut Csv {
        self.next_cell();
        self.text.push_str(&cell(text));
        self
    }

    fn some_words(&mut self, text: Option<&String>) -> &mut Csv {
        let text = text.map_or("", String::as_str);
        let end = text.char_indices().nth(TEXT_MAX).map_or(text.len(), |(at, _)| at);
        self.words(&text[..end])
    }

    /// A number, an amount or a time of ours, which no stranger wrote.
    fn plain(&mut self, value: Option<impl std::fmt::Display>) -> &mut Csv {
        self.next_cell();
        if let Some(value) = value {
            // Writing into a String does not fail.
            let _ = write!(self.text, "{value}");
        }
        self
    }

    fn flag(&mut self, is: bool) -> &mut Csv {
        self.plain(Some(if is { "yes" } else { "no" }))
    }

    fn end(&mut self) {
        self.text.push_str("\r\n");
        self.is_in_line = false;
    }
}

const PAYMENT: [&str; 21] = [
    "transaction_id",
    "business_id",
    "mode",
    "kind",
    "status",
    "created_at",
    "amount_naira",
    "received_naira",
    "charges_naira",
    "business_receives_naira",
    "payer_name",
    "service",
    "reference",
    "website_id",
    "approved_at",
    "rejected_at",
    "reason",
    "reversed_at",
    "late",
    "mismatch",
    "name_mismatch",
];

fn payment(csv: &mut Csv, one: &Payment) {
    let reason = one.reject_reason.as_ref().or(one.mismatch_reason.as_ref());
    csv.words(&one.transaction_id)
        .plain(Some(one.business_id))
        .plain(Some(one.mode.as_str()))
        .plain(Some(one.kind.as_str()))
        .plain(Some(one.status.as_str()))
        .plain(Some(one.created_at))
        .plain(Some(one.amount))
        .plain(one.received)
        .plain(Some(one.charges.total()))
        .plain(Some(one.business_receives))
        .words(&one.payer_name)
        .some_words(one.payer.service.as_ref())
        .some_words(one.external_reference.as_ref())
        .plain(one.website_id)
        .plain(one.approved_at)
        .plain(one.rejected_at)
        .some_words(reason)
        .plain(one.reversed_at)
        .flag(is_late(one))
        .flag(one.is_mismatch)
        .flag(one.name_mismatch)
        .end();
}

/// Approved after it had expired for the merchant.
fn is_late(payment: &Payment) -> bool {
    payment.approved_at.is_some_and(|at: Timestamp| at > payment.expires_at)
}

const ALERT: [&str; 15] = [
    "id",
    "state",
    "first_seen_at",
    "bank",
    "amount_naira",
    "payer_name",
    "payer_bank",
    "account_shown",
    "bank_time",
    "narration",
    "reference",
    "session_id",
    "mail_from",
    "subject",
    "reason",
];

fn alert(csv: &mut Csv, one: &AlertRow) {
    let facts = &one.facts;
    csv.plain(Some(one.id))
        .plain(Some(one.status.as_str()))
        .plain(Some(one.first_seen))
        .some_words(facts.bank.as_ref())
        .plain(facts.amount)
        .some_words(facts.payer_name.as_ref())
        .some_words(facts.payer_bank.as_ref())
        .some_words(facts.account_number.as_ref())
        .plain(facts.occurred.map(|time| time.begin))
        .some_words(facts.narration.as_ref())
        .some_words(facts.reference.as_ref())
        .some_words(facts.session_id.as_ref())
        .some_words(one.mail_from.as_ref())
        .some_words(one.subject.as_ref())
        .some_words(Some(&one.reason))
        .end();
}

const DELIVERY: [&str; 13] = [
    "id",
    "event",
    "webhook_id",
    "transaction_id",
    "state",
    "created_at",
    "attempt",
    "attempted_at",
    "url",
    "status",
    "duration_ms",
    "error",
    "answer",
];

fn delivery(csv: &mut Csv, one: &Delivery) {
    if one.attempts.is_empty() {
        attempt(csv, one, None);
    }
    one.attempts.iter().for_each(|of_it| attempt(csv, one, Some(of_it)));
}

fn attempt(csv: &mut Csv, one: &Delivery, attempt: Option<&Attempt>) {
    csv.plain(Some(one.id))
        .words(&one.event)
        .words(&one.webhook_id)
        .some_words(one.transaction_id.as_ref())
        .plain(Some(one.status()))
        .plain(Some(one.created_at))
        .plain(attempt.map(|attempt| attempt.number))
        .plain(attempt.map(|attempt| attempt.at))
        .some_words(attempt.and_then(|attempt| attempt.url.as_ref()))
        .plain(attempt.and_then(|attempt| attempt.status))
        .plain(attempt.map(|attempt| attempt.duration_ms))
        .some_words(attempt.and_then(|attempt| attempt.error.as_ref()))
        .some_words(attempt.and_then(|attempt| attempt.answer.as_ref()))
        .end();
}

const LINE: [&str; 6] = ["at", "kind", "transaction_id", "why", "change_naira", "balance_naira"];

fn line(csv: &mut Csv, one: &StatementLine) {
    csv.plain(Some(one.at))
        .plain(Some(one.kind.as_str()))
        .some_words(one.transaction_id.as_ref())
        .some_words(one.why.as_ref())
        .plain(Some(one.change))
        .plain(one.balance)
        .end();
}

const ACT: [&str; 6] = ["at", "who", "address", "act", "subject", "reason"];

fn act(csv: &mut Csv, one: &OperatorAct) {
    csv.plain(Some(one.at))
        .words(one.who())
        .some_words(one.told_address())
        .words(&one.act)
        .words(&one.subject)
        .some_words(one.told_reason())
        .end();
}

const REFUSED: [&str; 7] = ["at", "method", "route", "status", "code", "message", "request_id"];

fn refused(csv: &mut Csv, one: &RefusedRequest) {
    csv.plain(Some(one.at))
        .words(&one.method)
        .words(&one.route)
        .plain(Some(one.status))
        .some_words(one.code.as_ref())
        .words(&one.message)
        .words(&one.request_id)
        .end();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_like_a_formula_is_text() {
        for text in ["=1+1", "+234", "-5", "@SUM(A1)", " =1", "\t=1", "\r=1", "\n=1", "\u{ff1d}1"] {
            let cell = cell(text);
            assert!(cell.starts_with("\"'"), "{text:?}: {cell:?}");
            assert_eq!(cell, format!("\"'{text}\""));
        }
    }

    #[test]
    fn a_cell_is_quoted_where_it_must_be_and_otherwise_as_it_is() {
        assert_eq!(cell("Ngozi Bello"), "Ngozi Bello");
        assert_eq!(cell("a=b"), "a=b");
        assert_eq!(cell("Bello, Ngozi"), "\"Bello, Ngozi\"");
        assert_eq!(cell("the \"best\""), "\"the \"\"best\"\"\"");
        assert_eq!(cell("=cmd|' /C calc'!A0"), "\"'=cmd|' /C calc'!A0\"");
        assert_eq!(cell("line\nline"), "\"line\nline\"");
        assert_eq!(cell(""), "");
    }
}
