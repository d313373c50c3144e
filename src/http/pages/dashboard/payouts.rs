//! `/dashboard/payouts`: a business asks for its money, sees what became of it, and looks after the accounts it goes to.
//! Owners alone change accounts; owners and finance ask and cancel. All of it asks for the password again.

use askama::Template;
use axum::response::Response;

use super::export::csv;
use super::form::{Acted, Forms, Refusal, done, password_first, refuse, sent};
use super::frame::{frame, pager};
use crate::domain::money::{Money, naira};
use crate::domain::payout::{PayoutAccount, PayoutStatus};
use crate::domain::user::MemberRight;
use crate::http::pages::ask::Ask;
use crate::http::pages::export::is_csv;
use crate::http::pages::field::{Choice, Confirm, Form, Kind};
use crate::http::pages::here::Here;
use crate::http::pages::layout::Frame;
use crate::http::pages::parts::{Badge, Empty, Tab, Tabs, Tile, Tone};
use crate::http::pages::plain::unknown;
use crate::http::pages::rows::{Cell, Column, Rows};
use crate::http::pages::text::{Text, sentence};
use crate::http::paths::DASHBOARD_PAYOUTS;
use crate::ops::OpError;
use crate::ops::csv::CsvSource;
use crate::ops::paging::Page;
use crate::ops::payouts::accounts::{
    AccountRefusal, GivenAccount, Owner, add_payout_account, payout_accounts, remove_payout_account,
};
use crate::ops::payouts::browse::{PayoutFilter, PayoutRow, browse_payouts};
use crate::ops::payouts::end::cancel_payout;
use crate::ops::payouts::request::{Actor, Balance, PayoutRefusal, PayoutRequest, balance, request_payout};

const REQUEST: &str = "request-payout";
const CANCEL: &str = "cancel-payout";
const ADD: &str = "add-payout-account";
const REMOVE: &str = "remove-payout-account";

#[derive(Template)]
#[template(path = "dashboard/payouts.html")]
struct Payouts {
    frame: Frame,
    csv: String,
    is_test: bool,
    tiles: Vec<Tile>,
    request: Option<Form>,
    /// Why nothing can be asked for just now.
    no_request: Option<Text>,
    tabs: Tabs,
    rows: Rows,
    accounts: Rows,
    add: Option<Form>,
}

/// What the page shows.
struct Found {
    balance: Balance,
    accounts: Vec<PayoutAccount>,
    page: Page<PayoutRow>,
    status: Option<PayoutStatus>,
}

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let Some(here) = &ask.here else { return Ok(unknown(ask)) };
    let status = ask.query("status").and_then(|word| PayoutStatus::parse(&word));
    let filter = PayoutFilter { business_id: Some(here.id()), status };
    if is_csv(ask)
        && let Ok(file) = csv(ask, here, "payouts", MemberRight::ReadMoney, CsvSource::Payouts(filter))
    {
        return Ok(file);
    }
    let refusal = match sent(ask, act(ask, here)).await? {
        Ok(refusal) => refusal,
        Err(response) => return Ok(response),
    };
    let found = Found {
        balance: balance(ask.app(), here.id()).await?,
        accounts: payout_accounts(ask.app(), here.id()).await?,
        page: browse_payouts(ask.app(), filter, ask.cursor()).await?,
        status,
    };
    Ok(show(ask, here, &found, refusal.as_ref()))
}

async fn act(ask: &Ask, here: &Here) -> Result<Acted, OpError> {
    let right = match ask.field("act") {
        REQUEST | CANCEL => MemberRight::AskPayout,
        ADD | REMOVE => MemberRight::SetPayoutAccounts,
        _ => return Ok(Err(Refusal::unknown())),
    };
    if let Some(refused) = refuse(ask, here, right) {
        return Ok(Ok(refused));
    }
    if here.is_test() {
        return Ok(Err(Refusal::new("", "", "Test payments are never paid out. Switch to live data.")));
    }
    let keep: &[&str] = match ask.field("act") {
        REQUEST => &["amount", "account", "reference"],
        ADD => &["bank", "number", "name"],
        _ => &[],
    };
    if let Some(first) = password_first(ask, here, DASHBOARD_PAYOUTS, keep) {
        return Ok(Ok(first));
    }
    match ask.field("act") {
        REQUEST => request(ask, here).await,
        CANCEL => cancel(ask, here).await,
        ADD => add(ask, here).await,
        _ => remove(ask, here).await,
    }
}

fn actor(ask: &Ask) -> Actor<'_> {
    let user_id = ask.session.as_ref().map_or(0, |session| session.user_id);
    Actor::Member { user_id, email: ask.operator() }
}

fn owner<'a>(ask: &'a Ask, here: &Here) -> Owner<'a> {
    let user_id = ask.session.as_ref().map_or(0, |session| session.user_id);
    Owner { business_id: here.id(), user_id, email: ask.operator() }
}

async fn request(ask: &Ask, here: &Here) -> Result<Acted, OpError> {
    let refused = |field, why: String| Ok(Err(Refusal::new(REQUEST, field, why)));
    let Ok(amount) = Money::typed(ask.field("amount")) else {
        return refused("amount", "Write an amount in naira, such as 5200 or 5200.50.".into());
    };
    let Ok(account_id) = ask.field("account").trim().parse() else { return Ok(Ok(unknown(ask))) };
    let wanted =
        PayoutRequest { business_id: here.id(), amount, account_id, reference: Some(ask.field("reference")) };
    match request_payout(ask.app(), actor(ask), &wanted, None).await? {
        Ok(row) => {
            let end = end_of(&row.number);
            let told = format!(
                "{} is set aside for the account ending in {end} at {}. The operator sends it.",
                naira(row.payout.amount),
                row.bank
            );
            Ok(Ok(done(ask, here, DASHBOARD_PAYOUTS, told)))
        }
        Err(PayoutRefusal::UnknownAccount) => Ok(Ok(unknown(ask))),
        Err(PayoutRefusal::Insufficient { available }) => {
            refused("amount", format!("You have {}. Ask for that much or less.", naira(available)))
        }
        Err(PayoutRefusal::TooNew { usable_at }) => {
            let from = ask.zone().exact(usable_at).text;
            refused("account", format!("This account can be used from {from} on."))
        }
        Err(why @ PayoutRefusal::Amount) => refused("amount", sentence(&why.to_string())),
        Err(why @ PayoutRefusal::Reference) => refused("reference", sentence(&why.to_string())),
        Err(why @ (PayoutRefusal::NoMember | PayoutRefusal::LeaseLost)) => {
            refused("", sentence(&why.to_string()))
        }
    }
}

async fn cancel(ask: &Ask, here: &Here) -> Result<Acted, OpError> {
    let Ok(id) = ask.field("id").trim().parse() else { return Ok(Ok(unknown(ask))) };
    Ok(match cancel_payout(ask.app(), actor(ask), here.id(), id, None).await? {
        None => Ok(unknown(ask)),
        Some(Ok(row)) => {
            let told = format!("{} is in your balance again.", naira(row.payout.amount));
            Ok(done(ask, here, DASHBOARD_PAYOUTS, told))
        }
        Some(Err(why)) => Err(Refusal::new("", "", sentence(&why.to_string()))),
    })
}

async fn add(ask: &Ask, here: &Here) -> Result<Acted, OpError> {
    let given =
        GivenAccount { bank: ask.field("bank"), number: ask.field("number"), name: ask.field("name") };
    Ok(match add_payout_account(ask.app(), &owner(ask, here), &given).await? {
        Ok(account) => {
            let from = ask.zone().exact(account.usable_at).text;
            let told =
                format!("{} at {} is added. It can be used from {from} on.", account.number, account.bank);
            Ok(done(ask, here, DASHBOARD_PAYOUTS, told))
        }
        Err(why) => {
            let field = match why {
                AccountRefusal::Bank => "bank",
                AccountRefusal::Number | AccountRefusal::Twice => "number",
                AccountRefusal::Name => "name",
                _ => "",
            };
            Err(Refusal::new(ADD, field, sentence(&why.to_string())))
        }
    })
}

async fn remove(ask: &Ask, here: &Here) -> Result<Acted, OpError> {
    let Ok(id) = ask.field("id").trim().parse() else { return Ok(Ok(unknown(ask))) };
    Ok(match remove_payout_account(ask.app(), &owner(ask, here), id).await? {
        None => Ok(unknown(ask)),
        Some(Ok(account)) => {
            let told = format!("{} at {} is removed. Nothing new goes there.", account.number, account.bank);
            Ok(done(ask, here, DASHBOARD_PAYOUTS, told))
        }
        Some(Err(why)) => Err(Refusal::new("", "", sentence(&why.to_string()))),
    })
}

fn show(ask: &Ask, here: &Here, found: &Found, refusal: Option<&Refusal>) -> Response {
    let forms = Forms::new(ask, here, DASHBOARD_PAYOUTS, refusal);
    let may_ask = here.may(MemberRight::AskPayout);
    let word = found.status.map_or("", PayoutStatus::as_str);
    let mut rows = rows(ask, here, &forms, &found.page.rows);
    rows.pager = pager(ask, here, DASHBOARD_PAYOUTS, &found.page, &[("status", word)]);
    let no_request = match (may_ask, found.accounts.is_empty()) {
        (true, true) if here.may(MemberRight::SetPayoutAccounts) => {
            Some("Add the account that your money shall go to; then you can ask for it.")
        }
        (true, true) => {
            Some("There is no account yet that money could go to. An owner of the business adds one.")
        }
        _ => None,
    };
    let page = Payouts {
        csv: here.link(DASHBOARD_PAYOUTS, &[("status", word), ("format", "csv")]),
        frame: forms.told(frame(ask, here, "Payouts", DASHBOARD_PAYOUTS)),
        is_test: here.is_test(),
        tiles: vec![
            Tile::money("Balance", found.balance.available).note("what you can ask for"),
            Tile::money("Set aside", found.balance.reserved).note("for payouts that wait"),
        ],
        request: (may_ask && no_request.is_none()).then(|| request_form(ask, &forms, &found.accounts)),
        no_request: no_request.map(Text::from),
        tabs: tabs(here, found.status),
        rows,
        accounts: accounts(ask, here, &forms, &found.accounts),
        add: here.may(MemberRight::SetPayoutAccounts).then(|| add_form(ask, &forms)),
    };
    ask.html(forms.status(), &page)
}

fn request_form(ask: &Ask, forms: &Forms<'_>, accounts: &[PayoutAccount]) -> Form {
    let now = ask.app().now();
    let choice = |account: &PayoutAccount| {
        let late = match now < account.usable_at {
            true => format!(", from {} on", ask.zone().exact(account.usable_at).text),
            false => String::new(),
        };
        let (end, bank) = (end_of(&account.number), &account.bank);
        Choice::new(account.id.to_string(), format!("{bank}, ending in {end}, {}{late}", account.name))
    };
    let choices = accounts.iter().map(choice).collect();
    forms
        .making(REQUEST, "Ask for it")
        .field(forms.field(REQUEST, "amount", "Amount", Kind::Amount))
        .field(forms.field(REQUEST, "account", "To", Kind::Select(choices)))
        .field(
            forms
                .field(REQUEST, "reference", "Your reference", Kind::Text)
                .optional()
                .hint("For your own books; the operator sees it."),
        )
}

fn add_form(ask: &Ask, forms: &Forms<'_>) -> Form {
    let banks = ask.http.mails.banks().into_iter().map(|bank| bank.name);
    forms
        .making(ADD, "Add the account")
        .field(forms.field(ADD, "bank", "Bank", Kind::Text).often(banks))
        .field(forms.field(ADD, "number", "Account number", Kind::Text).hint("10 digits."))
        .field(forms.field(ADD, "name", "Name of the holder", Kind::Text).hint("As the bank writes it."))
}

fn tabs(here: &Here, status: Option<PayoutStatus>) -> Tabs {
    let to = |word: &str| here.link(DASHBOARD_PAYOUTS, &[("status", word)]);
    let all = Tab::new(to(""), "All", status.is_none());
    let others = PayoutStatus::ALL
        .into_iter()
        .map(|one| Tab::new(to(one.as_str()), state_word(one), status == Some(one)));
    Tabs { label: "States".into(), tabs: std::iter::once(all).chain(others).collect() }
}

fn state_word(status: PayoutStatus) -> &'static str {
    match status {
        PayoutStatus::Pending => "Waiting",
        PayoutStatus::Paid => "Paid",
        PayoutStatus::Refused => "Refused",
        PayoutStatus::Cancelled => "Cancelled",
    }
}

/// The last digits of a number.
fn end_of(number: &str) -> &str {
    number.get(number.len().saturating_sub(4)..).unwrap_or(number)
}

fn rows(ask: &Ask, here: &Here, forms: &Forms<'_>, payouts: &[PayoutRow]) -> Rows {
    let has_acts = here.may(MemberRight::AskPayout);
    let mut columns = vec![
        Column::new("To"),
        Column::figure("Amount"),
        Column::new("State"),
        Column::new("Reference"),
        Column::new("Asked for"),
    ];
    if has_acts {
        columns.push(Column::acts("Acts"));
    }
    let empty =
        Empty::new("No payouts", "What you ask for stands here, from the wish to the bank's transfer.");
    let mut rows = Rows::new("Payouts", columns, empty);
    for (number, row) in (1..).zip(payouts) {
        let payout = &row.payout;
        let to = Cell::text(format!("{}, ending in {}", row.bank, end_of(&row.number)));
        let mut state = vec![badge(row).into()];
        if let Some(end) = &payout.end {
            state.push(ask.zone().time(end.at).into());
            state.extend(end.reason.as_deref().map(|why| Cell::text(sentence(why))));
            state.extend(end.bank_reference.as_deref().map(Cell::code));
        }
        let mut references = vec![Cell::code(&payout.code)];
        references.extend(payout.reference.as_ref().map(Cell::text));
        let mut cells = vec![
            to.under(Cell::text(&row.name)),
            payout.amount.into(),
            Cell::Under(state),
            Cell::Under(references),
            Cell::from(ask.zone().time(payout.created_at)).under(Cell::text(&payout.requested_by)),
        ];
        if has_acts {
            cells.push(match payout.may_cancel() {
                Ok(()) => {
                    let form = forms.in_row(CANCEL, number, "Cancel it").hidden("id", payout.id.to_string());
                    Confirm::new("Cancel", "The money goes back into your balance.", form).into()
                }
                Err(_) => Cell::None,
            });
        }
        rows.row(cells);
    }
    rows
}

/// What a payout's state is called, for both sides.
pub(in crate::http::pages) fn badge(row: &PayoutRow) -> Badge {
    let payout = &row.payout;
    match payout.status {
        PayoutStatus::Pending if payout.may_cancel().is_err() => Badge::new(Tone::Info, "being paid"),
        PayoutStatus::Pending => Badge::new(Tone::Warn, "waiting"),
        PayoutStatus::Paid => Badge::new(Tone::Good, "paid"),
        PayoutStatus::Refused => Badge::new(Tone::Bad, "refused"),
        PayoutStatus::Cancelled => Badge::new(Tone::Muted, "cancelled"),
    }
}

fn accounts(ask: &Ask, here: &Here, forms: &Forms<'_>, all: &[PayoutAccount]) -> Rows {
    let has_acts = here.may(MemberRight::SetPayoutAccounts);
    let mut columns =
        vec![Column::new("Account"), Column::new("Holder"), Column::new("Use"), Column::new("Added")];
    if has_acts {
        columns.push(Column::acts("Acts"));
    }
    let empty =
        Empty::new("No accounts yet", "An owner of the business adds the bank account that money goes to.");
    let mut rows = Rows::new("Payout accounts", columns, empty);
    let now = ask.app().now();
    for (number, account) in (1..).zip(all) {
        let usable = match now < account.usable_at {
            true => Cell::badge(Tone::Warn, format!("from {} on", ask.zone().exact(account.usable_at).text)),
            false => Cell::badge(Tone::Good, "ready"),
        };
        let mut cells = vec![
            Cell::code(&account.number).under(Cell::text(&account.bank)),
            Cell::text(&account.name),
            usable,
            Cell::from(ask.zone().time(account.created_at)).under(Cell::text(&account.added_by)),
        ];
        if has_acts {
            let form = forms.in_row(REMOVE, number, "Remove it").hidden("id", account.id.to_string());
            let question =
                "Nothing new goes there. A payout that waits still does: cancel it first if it should not.";
            cells.push(Confirm::new("Remove", question, form).into());
        }
        rows.row(cells);
    }
    rows
}
