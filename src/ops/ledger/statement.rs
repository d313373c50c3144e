//! The statement of a business: what moved its account, newest first, with the balance after each line. Read only.
//!
//! The balance of now stands beside the newest line; what older lines left is told from it backwards. A cursor carries
//! the balance with which the next page begins, sealed, so that nobody writes one. An entry whose time lies before a
//! page that was shown already (nodes' clocks differ a little) is on the first page when that is opened again, not on
//! the pages behind it.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::app::App;
use crate::domain::ledger::LedgerAccount;
use crate::domain::merchant::Mode;
use crate::domain::money::Money;
use crate::domain::time::Timestamp;
use crate::ops::OpError;
use crate::ops::paging::{Cursor, PAGE_ROWS, PageSize, Place, WINDOW_ROWS, Window, page_of};
use crate::store::tables::statement::StatementRow;

/// One line of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementLine {
    pub at: Timestamp,
    pub kind: LineKind,
    /// Of the payment, where it is about one.
    pub transaction_id: Option<String>,
    /// Of the payout, where it is about one.
    pub payout_id: Option<i64>,
    /// Why, where it is no payment's approval.
    pub why: Option<String>,
    /// Below zero where the account lost it.
    pub change: Money,
    /// What the account held after it; test payments have no balance.
    pub balance: Option<Money>,
}

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    Payment,
    Reversal,
    /// Money set aside for a payout.
    Payout,
    /// The same given back: the payout was refused or cancelled.
    PayoutReturned,
    Other,
}

impl LineKind {
    pub const ALL: [LineKind; 5] =
        [LineKind::Payment, LineKind::Reversal, LineKind::Payout, LineKind::PayoutReturned, LineKind::Other];

    pub fn as_str(self) -> &'static str {
        match self {
            LineKind::Payment => "payment",
            LineKind::Reversal => "reversal",
            LineKind::Payout => "payout",
            LineKind::PayoutReturned => "payout_returned",
            LineKind::Other => "other",
        }
    }

    fn of(row: &StatementRow) -> LineKind {
        match (row.kind.as_str(), row.payout_id) {
            ("settlement", _) => LineKind::Payment,
            ("reversal", _) => LineKind::Reversal,
            (_, Some(_)) if row.change < Money::ZERO => LineKind::Payout,
            (_, Some(_)) => LineKind::PayoutReturned,
            _ => LineKind::Other,
        }
    }
}

/// Some lines of a statement, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatementPage {
    pub lines: Vec<StatementLine>,
    /// For the next page; `None`: this is the last.
    pub next: Option<String>,
    /// The page is short, because few of the entries looked at moved this account, and there are more.
    pub looked_back_to: Option<Timestamp>,
}

/// A page of the statement; a cursor that is none of ours begins anew.
pub async fn statement(
    app: &App,
    business_id: i64,
    mode: Mode,
    cursor: Option<&str>,
) -> Result<StatementPage, OpError> {
    let size = PageSize { rows: PAGE_ROWS, window: WINDOW_ROWS };
    statement_within(app, business_id, mode, cursor, size).await
}

/// The same of another size.
pub async fn statement_within(
    app: &App,
    business_id: i64,
    mode: Mode,
    cursor: Option<&str>,
    size: PageSize,
) -> Result<StatementPage, OpError> {
    let began = cursor.and_then(|text| open(app, business_id, text));
    let (cursor, known) = began.unwrap_or((Cursor::BEGIN, None));
    let account = match mode {
        Mode::Live => LedgerAccount::Merchant(business_id),
        Mode::Test => LedgerAccount::TestMerchant(business_id),
    };
    let end = app.store.statement_window_end(business_id, cursor.place, size.window).await?;
    let window = Window { from: end.unwrap_or(Place::begin_of(Timestamp::MIN)), until: cursor.place };
    let rows = app.store.statement_in(business_id, account, window, size.rows + 1).await?;
    let rows = rows.into_iter().map(|row| (Place { at: row.at, id: row.entry_id }, row)).collect();
    let page = page_of(cursor, size, end, rows);
    let mut balance = known.or_else(|| page.rows.first().and_then(|row| row.balance));
    if mode == Mode::Test {
        balance = None;
    }
    let lines = page.rows.into_iter().map(|row| line(row, &mut balance)).collect();
    let next = match page.next {
        Some(next) => Some(seal(app, business_id, next, balance)?),
        None => None,
    };
    Ok(StatementPage { lines, next, looked_back_to: page.looked_back_to })
}

/// The line, after which the account held `balance`; then what it held before.
fn line(row: StatementRow, balance: &mut Option<Money>) -> StatementLine {
    let after = *balance;
    *balance = after.map(|after| Money(after.kobo().saturating_sub(row.change.kobo())));
    let kind = LineKind::of(&row);
    let why = (kind != LineKind::Payment).then(|| row.memo.clone()).filter(|why| !why.is_empty());
    let StatementRow { at, transaction_id, payout_id, change, .. } = row;
    StatementLine { at, kind, transaction_id, payout_id, why, change, balance: after }
}

/// Whether a cursor is one of ours, of this business.
pub fn knows_cursor(app: &App, business_id: i64, text: &str) -> bool {
    open(app, business_id, text).is_some()
}

fn place(business_id: i64) -> String {
    format!("statement/{business_id}")
}

fn seal(app: &App, business_id: i64, next: Cursor, balance: Option<Money>) -> Result<String, OpError> {
    let text = format!("{next} {}", balance.map_or_else(String::new, |balance| balance.kobo().to_string()));
    let sealed = app.vault.seal(&place(business_id), text.as_bytes(), app.random.as_ref());
    sealed.map(|bytes| URL_SAFE_NO_PAD.encode(bytes)).map_err(OpError::from)
}

fn open(app: &App, business_id: i64, text: &str) -> Option<(Cursor, Option<Money>)> {
    let sealed = URL_SAFE_NO_PAD.decode(text).ok()?;
    let plain = app.vault.unseal(&place(business_id), &sealed).ok()?;
    let (cursor, balance) = std::str::from_utf8(&plain).ok()?.split_once(' ')?;
    let balance = match balance {
        "" => None,
        kobo => Some(Money(kobo.parse().ok()?)),
    };
    Some((Cursor::parse(cursor)?, balance))
}
