//! `/operator/accounts`: the bank accounts that customers pay into, how each is used, adding one, retiring one.

use axum::response::Response;

use super::businesses::{Wrong, field};
use super::page::{DeskView, Names};
use super::{DeskPage, forbidden, frame, may};
use crate::domain::merchant::Mode;
use crate::domain::user::StaffRight;
use crate::http::pages::ask::Ask;
use crate::http::pages::export::{csv_file, is_csv};
use crate::http::pages::field::{Confirm, Field, Form, Kind};
use crate::http::pages::flash::Flash;
use crate::http::pages::layout::link;
use crate::http::pages::parts::{Empty, Pager, Tab, Tabs, Tone};
use crate::http::pages::rows::{Cell, Column, Rows};
use crate::http::pages::text::sentence;
use crate::http::paths::OPERATOR_ACCOUNTS;
use crate::ops::OpError;
use crate::ops::csv::CsvSource;
use crate::ops::merchants::accounts::{
    AccountPage, AccountRefusal, AccountUse, NewAccount, add_account, browse_accounts, retire_account,
};

const ADD: &str = "add-account";

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    if !ask.is_form() {
        return show(ask, None).await;
    }
    if let Some(forbidden) = forbidden(ask, StaffRight::Administer) {
        return Ok(forbidden);
    }
    let done = match ask.field("act") {
        "add" => add(ask).await?,
        "retire" => {
            let id = ask.field("id").trim().parse().unwrap_or(0);
            match retire_account(ask.app(), ask.operator(), id).await? {
                Ok(account) => Ok(format!(
                    "{} at {} is retired. New payments do not get it; money for earlier ones is still matched.",
                    account.number, account.bank_name
                )),
                Err(why) => Err(Wrong::at("", "", why)),
            }
        }
        _ => Err(Wrong::at("", "", "this form is not known here; open the page again")),
    };
    match done {
        Ok(done) => Ok(ask.see(OPERATOR_ACCOUNTS, Some(Flash::done(done)))),
        Err(wrong) => show(ask, Some(wrong)).await,
    }
}

async fn add(ask: &Ask) -> Result<Result<String, Wrong>, OpError> {
    let given = |name: &str| Some(ask.field(name).trim().to_owned()).filter(|text| !text.is_empty());
    let business_id = match given("business").map(|text| text.parse::<i64>()) {
        None => None,
        Some(Ok(id)) => Some(id),
        Some(Err(_)) => return Ok(Err(Wrong::at(ADD, "business", "write the number of a business"))),
    };
    let new = NewAccount {
        number: ask.field("number").trim().to_owned(),
        name: ask.field("name").to_owned(),
        bank: ask.http.mails.given_bank(ask.field("bank").trim()),
        business_id,
        via: given("via"),
        mode: if given("test").is_some() { Mode::Test } else { Mode::Live },
        force: given("force").is_some(),
    };
    Ok(match add_account(ask.app(), ask.operator(), &new).await? {
        Ok(added) => {
            let warnings: Vec<String> = added.warnings.iter().map(|one| sentence(&one.to_string())).collect();
            let verb = if added.reopened { "in use again" } else { "added" };
            let (number, bank) = (&added.account.number, &added.account.bank_name);
            Ok(format!("{number} at {bank} is {verb}. {}", warnings.join(" ")).trim_end().to_owned())
        }
        Err(why) => {
            let at = match &why {
                AccountRefusal::Number | AccountRefusal::Twice(_) | AccountRefusal::LooksAlike(..) => {
                    "number"
                }
                AccountRefusal::Name => "name",
                AccountRefusal::UnknownBusiness(_) => "business",
                AccountRefusal::UnknownVia(_)
                | AccountRefusal::AmbiguousVia(_)
                | AccountRefusal::ViaVirtual(_) => "via",
                _ => "bank",
            };
            let why = why.to_string().replace("--via: ", "").replace("with --force", "if you force it");
            Err(Wrong::at(ADD, at, why.replace("tillbell bank list", "Banks")))
        }
    })
}

async fn show(ask: &Ask, wrong: Option<Wrong>) -> Result<Response, OpError> {
    let retired = ask.query("state").as_deref() == Some("retired");
    let business = ask.query("business").and_then(|text| text.parse().ok());
    if is_csv(ask)
        && !ask.is_form()
        && let Ok(file) = csv_file(ask, "accounts", CsvSource::Accounts(retired, business))
    {
        return Ok(file);
    }
    let after = ask.query("after").and_then(|text| text.parse().ok());
    let page = browse_accounts(ask.app(), retired, business, after).await?;
    let names = Names::of(ask, page.rows.iter().filter_map(|one| one.account.business_id).collect()).await?;
    let may_act = may(ask, StaffRight::Administer);
    let view = DeskView::new(frame(ask, "Accounts", DeskPage::Accounts).await?, "Accounts")
        .refused(wrong.as_ref().map(|wrong| wrong.why.as_str()))
        .act(Cell::link(csv_link(ask), "CSV"))
        .add(tabs(ask, retired))
        .add(rows(ask, &page, &names, retired, may_act));
    let view = match may_act {
        true => view.section("add", "Add an account").add(add_form(ask, wrong.as_ref())),
        false => view,
    };
    Ok(view.answer(ask))
}

fn csv_link(ask: &Ask) -> String {
    let (state, business) =
        (ask.query("state").unwrap_or_default(), ask.query("business").unwrap_or_default());
    link(OPERATOR_ACCOUNTS, &[("state", &state), ("business", &business), ("format", "csv")])
}

fn tabs(ask: &Ask, retired: bool) -> Tabs {
    let business = ask.query("business").unwrap_or_default();
    let to = |state: &str| link(OPERATOR_ACCOUNTS, &[("state", state), ("business", &business)]);
    let tabs = vec![Tab::new(to(""), "In use", !retired), Tab::new(to("retired"), "Retired", retired)];
    Tabs { label: "States".into(), tabs }
}

fn rows(ask: &Ask, page: &AccountPage, names: &Names, retired: bool, may_act: bool) -> Rows {
    let mut columns = vec![
        Column::new("Account"),
        Column::figure("Open payments"),
        Column::new("Holder"),
        Column::new("Used by"),
        Column::new("Last given"),
        Column::new("Last alert"),
    ];
    let has_acts = may_act && !retired;
    if has_acts {
        columns.push(Column::acts("Acts"));
    }
    let empty = match retired {
        true => {
            Empty::new("None is retired", "Accounts that new payments do not get any more will stand here.")
        }
        false => Empty::new(
            "No accounts yet",
            "Add a bank account that customers pay into: without one no payment can be made.",
        ),
    };
    let mut rows = Rows::new("Accounts", columns, empty);
    for (at, one) in page.rows.iter().enumerate() {
        let mut cells = row(ask, one, names);
        if has_acts {
            let id = one.account.id.to_string();
            let form = ask
                .new_form(format!("retire-account-{}", at + 1), OPERATOR_ACCOUNTS, "Retire it")
                .hidden("act", "retire")
                .hidden("id", id);
            let question = "New payments do not get it any more. Money for earlier ones is still matched.";
            cells.push(Confirm::new("Retire", question, form).into());
        }
        rows.row(cells);
    }
    let place = |after: &str| {
        let (state, business) =
            (ask.query("state").unwrap_or_default(), ask.query("business").unwrap_or_default());
        link(OPERATOR_ACCOUNTS, &[("state", &state), ("business", &business), ("after", after)])
    };
    let first = ask.query("after").is_some().then(|| place(""));
    rows.pager = Pager::in_order(first, page.after.map(|id| place(&id.to_string())));
    rows
}

fn row(ask: &Ask, one: &AccountUse, names: &Names) -> Vec<Cell> {
    let (account, zone) = (&one.account, ask.zone());
    let mut marks = Vec::new();
    if account.mode == Mode::Test {
        marks.push(Cell::badge(Tone::Warn, "test"));
    }
    if account.forced {
        marks.push(Cell::badge(Tone::Bad, "no template"));
    }
    if account.mask_shared {
        marks.push(Cell::badge(Tone::Warn, "looks like another"));
    }
    if account.via.is_some() {
        marks.push(Cell::badge(Tone::Info, "virtual"));
    }
    let mut number = vec![Cell::code(&account.number), Cell::text(&account.bank_name)];
    if !marks.is_empty() {
        number.push(Cell::Beside(marks));
    }
    let user = match account.business_id {
        Some(id) => names.link(id),
        None => Cell::text("All without their own"),
    };
    // Before its first payment the last use is the beginning of time.
    let given = (account.last_used_at.0 > 0).then_some(account.last_used_at);
    vec![
        Cell::Under(number),
        one.open_payments.into(),
        Cell::text(&account.name),
        user,
        given.map_or(Cell::None, |at| zone.time(at).into()),
        one.last_alert.map_or(Cell::None, |at| zone.time(at).into()),
    ]
}

fn add_form(ask: &Ask, wrong: Option<&Wrong>) -> Form {
    let of = |name, label: &str, kind| -> Field { field(ask, ADD, name, label, kind, wrong) };
    let banks = ask.http.mails.banks().into_iter().map(|bank| bank.name);
    ask.new_form(ADD, OPERATOR_ACCOUNTS, "Add the account")
        .hidden("act", "add")
        .once(ask.mark())
        .field(of("bank", "Bank", Kind::Text).often(banks))
        .field(of("number", "Account number", Kind::Text).hint("10 digits."))
        .field(of("name", "Name of the holder", Kind::Text).hint("As the bank writes it."))
        .field(
            of("business", "Business number", Kind::Text)
                .optional()
                .hint("Empty: all businesses without accounts of their own share it."),
        )
        .field(
            of("via", "Virtual account: the number of ours that its money arrives in", Kind::Text).optional(),
        )
        .field(of("test", "For test payments alone", Kind::Checkbox))
        .field(of("force", "Force it: its alerts may need a person every time", Kind::Checkbox))
}
