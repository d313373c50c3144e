//! The till of a shop: a sale is asked for, and what its tills show: who still pays, what is paid, what went back, and the
//! sales of the day.
//!
//! What is shown is read from the rows by which money moves: a sale is paid here when its payment is approved and not
//! reversed, and by nothing else.

use crate::app::App;
use crate::domain::account::ReceivingAccount;
use crate::domain::alert::Authenticity;
use crate::domain::arrival::ArrivalKind;
use crate::domain::merchant::Mode;
use crate::domain::money::Money;
use crate::domain::payment::{Payment, Status};
use crate::domain::time::{Span, Timestamp};
use crate::ops::OpError;
use crate::ops::paging::{Cursor, PAGE_ROWS, Page, PageSize, Place, page_of};
use crate::ops::payments::by_hand::{AskedAt, ByHand, ByHandRefused, ask_for_payment};
use crate::ops::payments::read::find_payment;
use crate::store::StoreError;
pub use crate::store::tables::till::{TOTALLED_MAX, TillRow, TillTotal, Tills, ToldByBank};

/// A till rings for a payment that was approved at most so long ago: longer than a connection is usually away.
pub const RINGS_FOR: Span = Span::minutes(10);
/// A sale that was asked for longer ago is not in the way any more; it stands in the list.
const WAITS_IN_VIEW: Span = Span::hours(3);
/// So long after it a reversal stands above all else.
const REVERSAL_IN_VIEW: Span = Span::minutes(30);
/// Sales that wait and are told beside the list.
pub const WAITING_SHOWN: usize = 6;
/// Sales that were just paid; a shop with more in ten minutes has more than one counter.
const PAID_SHOWN: usize = 60;
const REVERSED_SHOWN: usize = 3;
/// Sales for which money waits for a person.
const CAME_SHOWN: usize = 12;
/// Sales that were asked for before the day and paid on it.
const CARRIED_SHOWN: usize = 20;

/// How a sale stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaleState {
    Waits,
    /// Its time is over; money that still comes waits for a person, or is taken within the late window.
    Expired,
    Paid(PaidBy),
    /// Was paid, and the money went back.
    Reversed,
    /// Ended without money.
    Ended,
}

/// Whose word it is that the money is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaidBy {
    /// The bank's: its signature was verified.
    Bank,
    /// The operator's, who declared that the mail is the bank's.
    Operator,
    /// Nobody's: test mode wrote the mail.
    TestMode,
    /// A person's of the operator's, who approved it; with whether the bank's signature was verified as well.
    Person { signed: bool },
}

/// Money that came for a sale and that no rule may take: a person decides.
#[derive(Clone, Debug)]
pub struct CameForSale {
    pub payment: Payment,
    pub kind: ArrivalKind,
    pub received: Money,
    pub occurred_at: Timestamp,
}

/// A sale with what is shown of it.
#[derive(Clone, Debug)]
pub struct Sale {
    pub row: TillRow,
    pub account: Option<ReceivingAccount>,
    pub state: SaleState,
}

#[derive(Clone, Debug)]
pub struct TillView {
    pub now: Timestamp,
    /// When the day in Lagos began.
    pub day: Timestamp,
    pub total: TillTotal,
    /// Newest first.
    pub waiting: Vec<Sale>,
    /// Approved within [`RINGS_FOR`], the last one first.
    pub paid: Vec<Sale>,
    pub reversed: Vec<Sale>,
    /// Newest first; one for each sale.
    pub came: Vec<CameForSale>,
    pub today: Page<Sale>,
    pub carried: Vec<Sale>,
}

/// How a payment of a till stands at a time.
pub fn state_of(row: &TillRow, now: Timestamp) -> SaleState {
    let payment = &row.payment;
    match payment.status {
        Status::Approved if payment.reversed_at.is_some() => SaleState::Reversed,
        Status::Approved => SaleState::Paid(paid_by(row)),
        Status::Rejected => SaleState::Ended,
        Status::Pending if payment.is_expired(now) => SaleState::Expired,
        Status::Pending => SaleState::Waits,
    }
}

fn paid_by(row: &TillRow) -> PaidBy {
    let is_told = |by| row.told.as_ref().is_some_and(|told| told.authenticity == by);
    let (signed, is_simulated) = (is_told(Authenticity::Proven), is_told(Authenticity::Simulated));
    match (row.settled_by.is_some(), signed) {
        (true, signed) => PaidBy::Person { signed },
        (false, true) => PaidBy::Bank,
        (false, false) if is_simulated => PaidBy::TestMode,
        (false, false) => PaidBy::Operator,
    }
}

/// What the tills of a business show now.
pub async fn view_till(app: &App, tills: Tills, cursor: Option<Cursor>) -> Result<TillView, OpError> {
    let (now, store) = (app.now(), &app.store);
    let day = Timestamp::begin_of_lagos_day(now.lagos_day());
    let (waiting, paid, reversed, came, total, today, carried) = tokio::try_join!(
        store.till_waiting(tills, (now - WAITS_IN_VIEW, now), WAITING_SHOWN),
        store.till_paid(tills, (now - RINGS_FOR, Timestamp::MAX), PAID_SHOWN),
        store.till_reversed(tills, now - REVERSAL_IN_VIEW, REVERSED_SHOWN),
        came_for_sales(app, tills),
        store.till_total(tills, day),
        sales_of_day(app, tills, day, cursor, PAGE_ROWS),
        store.till_paid(tills, (day, day), CARRIED_SHOWN),
    )?;
    let accounts = app.directory.accounts().await?;
    let sale = |row: TillRow| {
        let account = accounts.iter().find(|account| Some(account.id) == row.payment.account_id).cloned();
        Sale { state: state_of(&row, now), account, row }
    };
    let sales = |rows: Vec<TillRow>| rows.into_iter().map(sale).collect();
    let mut paid: Vec<Sale> = sales(paid);
    paid.retain(|sale| matches!(sale.state, SaleState::Paid(_)));
    Ok(TillView {
        now,
        day,
        total,
        waiting: sales(waiting),
        paid,
        reversed: sales(reversed),
        came,
        today: today.map(sale),
        carried: sales(carried),
    })
}

/// What waits for a person, of sales that can still be paid.
async fn came_for_sales(app: &App, tills: Tills) -> Result<Vec<CameForSale>, StoreError> {
    let mut all: Vec<CameForSale> = Vec::new();
    for arrival in app.store.open_arrivals_of_till(tills, CAME_SHOWN).await? {
        if all.iter().any(|one| one.payment.id == arrival.payment_id) {
            continue;
        }
        let Some(payment) = app.store.payment(arrival.payment_id).await? else { continue };
        if payment.status == Status::Approved {
            continue;
        }
        let (kind, received) = (arrival.kind_now(&payment), arrival.received);
        all.push(CameForSale { payment, kind, received, occurred_at: arrival.occurred_at });
    }
    Ok(all)
}

/// The sales that were asked for since a day began, newest first, so many of them.
pub async fn sales_of_day(
    app: &App,
    tills: Tills,
    day: Timestamp,
    cursor: Option<Cursor>,
    rows: usize,
) -> Result<Page<TillRow>, StoreError> {
    let cursor = cursor.unwrap_or(Cursor::BEGIN);
    let found = app.store.till_day(tills, day, cursor.place, rows + 1).await?;
    let placed = found.into_iter().map(|row| (Place { at: row.payment.created_at, id: row.payment.id }, row));
    Ok(page_of(cursor, PageSize { rows, window: rows }, None, placed.collect()))
}

/// A sale that a cashier asks the money for.
#[derive(Clone, Copy, Debug)]
pub struct TillSale<'a> {
    pub business_id: i64,
    pub mode: Mode,
    pub user_id: i64,
    /// Before charges.
    pub amount: Money,
    pub payer_name: &'a str,
    /// Of the form, so that it counts once; empty: one is made.
    pub transaction_id: &'a str,
}

#[derive(Debug)]
pub enum AskedAtTill {
    New(Box<Payment>),
    /// The same form was sent before.
    Before(Box<Payment>),
}

/// Asks for a payment at the till. A form that comes twice makes one; one that comes again with another sale, as after
/// going back in a browser, is refused as [`ByHandRefused::Taken`].
pub async fn ask_at_till(
    app: &App,
    operator: &str,
    sale: &TillSale<'_>,
) -> Result<Result<AskedAtTill, ByHandRefused>, OpError> {
    let wanted = ByHand {
        business_id: sale.business_id,
        mode: sale.mode,
        amount: sale.amount,
        payer_name: sale.payer_name,
        service: "",
        transaction_id: sale.transaction_id,
        at: AskedAt::Till(sale.user_id),
    };
    Ok(match ask_for_payment(app, operator, &wanted).await? {
        Ok(view) => Ok(AskedAtTill::New(Box::new(view.payment))),
        Err(ByHandRefused::Taken) => {
            let before = find_payment(app, sale.business_id, sale.transaction_id).await?;
            match before.filter(|payment| is_same_sale(payment, sale)) {
                Some(payment) => Ok(AskedAtTill::Before(Box::new(payment))),
                None => Err(ByHandRefused::Taken),
            }
        }
        Err(why) => Err(why),
    })
}

fn is_same_sale(payment: &Payment, sale: &TillSale<'_>) -> bool {
    let on_top = payment.charges_on_top().unwrap_or_default();
    payment.till_user_id == Some(sale.user_id)
        && payment.mode == sale.mode
        && payment.payer_name == sale.payer_name.trim()
        && payment.amount.kobo() - on_top.kobo() == sale.amount.kobo()
}
