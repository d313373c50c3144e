//! `/operator/wallets`: the wallet of a phone number as the command line shows it, with its acts. The number is sent by a form
//! and never stands in an address: addresses are kept by browsers.

use axum::response::Response;

use super::businesses::{Wrong, field};
use super::page::DeskView;
use super::{DeskPage, forbidden, frame, may};
use crate::domain::money::Money;
use crate::domain::phone::Phone;
use crate::domain::time::Timestamp;
use crate::domain::user::StaffRight;
use crate::domain::wallet::{Wallet, WalletStatus};
use crate::http::pages::ask::Ask;
use crate::http::pages::field::{Choice, Field, Form, Kind, Look};
use crate::http::pages::flash::Flash;
use crate::http::pages::layout::link;
use crate::http::pages::parts::{Empty, Tile, Tone};
use crate::http::pages::rows::{Cell, Column, Facts, Rows};
use crate::http::paths::OPERATOR_WALLETS;
use crate::ops::OpError;
use crate::ops::wallets::desk::{Act, DeskRefusal, GivenCredit, WalletStatement, act, credit, statement};
use crate::ops::wallets::find::{find, wallet};

const FIND: &str = "find-wallet";
const CREDIT: &str = "credit-wallet";
const TIER: &str = "tier-wallet";
const HOLD: &str = "hold-wallet";

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    if ask.is_form() && ask.field("act") == "find" {
        return look_up(ask).await;
    }
    let id = match ask.is_form() {
        true => ask.field("wallet").to_owned(),
        false => ask.query("wallet").unwrap_or_default(),
    };
    let found = match id.parse::<i64>() {
        Ok(id) => wallet(ask.app(), id).await?,
        Err(_) => None,
    };
    if !ask.is_form() {
        return show(ask, found.as_ref(), None).await;
    }
    if let Some(forbidden) = forbidden(ask, StaffRight::Decide) {
        return Ok(forbidden);
    }
    let Some(found) = found else {
        return show(ask, None, Some(Wrong::at(FIND, "phone", DeskRefusal::NoWallet))).await;
    };
    match change(ask, &found).await? {
        Ok(done) => Ok(ask.see(&address(&found), Some(Flash::done(done)))),
        Err(wrong) => show(ask, Some(&found), Some(wrong)).await,
    }
}

fn address(wallet: &Wallet) -> String {
    link(OPERATOR_WALLETS, &[("wallet", &wallet.id.to_string())])
}

async fn look_up(ask: &Ask) -> Result<Response, OpError> {
    let wrong = match Phone::parse(ask.field("phone").trim()) {
        Err(why) => DeskRefusal::Phone(why),
        Ok(phone) => match find(ask.app(), &phone).await? {
            Some(wallet) => return Ok(ask.see(&address(&wallet), None)),
            None => DeskRefusal::NoWallet,
        },
    };
    show(ask, None, Some(Wrong::at(FIND, "phone", wrong))).await
}

async fn change(ask: &Ask, wallet: &Wallet) -> Result<Result<String, Wrong>, OpError> {
    let (app, phone, reason) = (ask.app(), wallet.phone.e164(), ask.field("reason"));
    let done = |what: &str| Ok(what.to_owned());
    Ok(match ask.field("act") {
        "credit" => {
            let Ok(amount) = Money::typed(ask.field("amount")) else {
                return Ok(Err(Wrong::at(
                    CREDIT,
                    "amount",
                    "write an amount in naira, such as 5200 or 5200.50",
                )));
            };
            let reference = Some(ask.field("ref").trim()).filter(|text| !text.is_empty());
            let given = GivenCredit { phone: &phone, amount, reason, reference };
            match credit(app, ask.operator(), &given).await? {
                Ok(_) => done("The wallet is credited. Its holder gets no message."),
                Err(why) => {
                    let at = match &why {
                        DeskRefusal::Reason => "reason",
                        DeskRefusal::Reference | DeskRefusal::ReferenceTaken(_) | DeskRefusal::Twice(_) => {
                            "ref"
                        }
                        _ => "amount",
                    };
                    Err(Wrong::at(CREDIT, at, why.to_string().replace(" with --ref", "")))
                }
            }
        }
        "unlock" => match act(app, ask.operator(), &phone, Act::Unlock, "").await? {
            Ok(_) => done("The lock is lifted, and the wrong PINs are forgotten."),
            Err(why) => Err(Wrong::at("unlock-wallet", "", why)),
        },
        "tier" => {
            let tier = ask.field("tier").trim().parse().unwrap_or(0);
            match act(app, ask.operator(), &phone, Act::SetTier(tier), "").await? {
                Ok(wallet) => Ok(format!("The wallet is of tier {} now.", wallet.tier.number())),
                Err(why) => Err(Wrong::at(TIER, "tier", why)),
            }
        }
        "suspend" => match act(app, ask.operator(), &phone, Act::Suspend, reason).await? {
            Ok(_) => done("The wallet is suspended. Nothing can be paid from it."),
            Err(why) => Err(Wrong::at(HOLD, "reason", why)),
        },
        "resume" => match act(app, ask.operator(), &phone, Act::Resume, reason).await? {
            Ok(_) => done("The wallet may pay again."),
            Err(why) => Err(Wrong::at(HOLD, "reason", why)),
        },
        _ => Err(Wrong::at("", "", "this form is not known here; open the page again")),
    })
}

async fn show(ask: &Ask, found: Option<&Wallet>, wrong: Option<Wrong>) -> Result<Response, OpError> {
    let wrong = wrong.as_ref();
    let phone = field(ask, FIND, "phone", "Phone number", Kind::Text, wrong)
        .hint("Such as 0803 000 0001 or +2348030000001.");
    let find = ask.new_form(FIND, OPERATOR_WALLETS, "Find the wallet").hidden("act", "find").field(phone);
    let find = if found.is_some() { find.look(Look::Plain) } else { find };
    let mut view = DeskView::new(frame(ask, "Wallets", DeskPage::Wallets).await?, "Wallets")
        .refused(wrong.map(|wrong| wrong.why.as_str()))
        .add(find);
    if let Some(found) = found
        && let Ok(statement) = statement(ask.app(), &found.phone.e164()).await?
    {
        view = tell(ask, view, &statement);
        if may(ask, StaffRight::Decide) {
            view = acts(ask, view, &statement.wallet, wrong);
        }
    }
    Ok(view.answer(ask))
}

fn tell(ask: &Ask, view: DeskView, statement: &WalletStatement) -> DeskView {
    let (wallet, zone, now) = (&statement.wallet, ask.zone(), ask.app().now());
    let limit = |limit: Option<Money>| limit.map_or(Cell::text("none"), Into::into);
    let state = match wallet.status(now) {
        WalletStatus::Active => Cell::badge(Tone::Good, "active"),
        WalletStatus::Locked(_) => Cell::badge(Tone::Warn, "locked: too many wrong PINs"),
        WalletStatus::Suspended => Cell::badge(Tone::Bad, "suspended"),
    };
    let facts = Facts::new()
        .fact("State", state)
        .fact("Tier", Cell::text(wallet.tier.number().to_string()))
        .fact("May hold", limit(statement.limits.balance))
        .fact("May pay in a day", limit(statement.limits.daily))
        .fact("PIN", Cell::text(if wallet.has_pin() { "Set" } else { "Not set yet" }))
        .fact("Made", zone.exact(wallet.created_at))
        .fact("Number", Cell::text(wallet.id.to_string()));
    let facts = match wallet.locked_until.filter(|until: &Timestamp| *until > now) {
        Some(until) => facts.fact("Locked until", zone.exact(until)),
        None => facts,
    };
    let tiles = vec![
        Tile::money("Balance", wallet.balance),
        Tile::money("Paid today", statement.spent_today),
        Tile::money("Top-ups that may still come", statement.expected_topups),
    ];
    let columns =
        vec![Column::new("What"), Column::figure("Amount"), Column::new("Payment"), Column::new("When")];
    let empty = Empty::new("Nothing yet", "Every credit and payment of this wallet will stand here.");
    let mut rows = Rows::new("Statement", columns, empty);
    for line in &statement.lines {
        let kind = line.settlement_kind.as_deref().unwrap_or("Credit by an operator");
        let what = match line.entry_kind.as_str() {
            "reversal" => format!("{kind}, reversed"),
            _ => kind.to_owned(),
        };
        let told = [line.merchant.as_ref(), line.reference.as_ref(), Some(&line.memo)];
        let told: Vec<&str> = told.into_iter().flatten().map(String::as_str).collect();
        let amount = if line.is_credit { line.amount } else { Money(-line.amount.kobo()) };
        rows.row(vec![
            Cell::text(what).under(Cell::text(told.join(" · "))),
            amount.into(),
            line.transaction_id.as_ref().map_or(Cell::None, Cell::code),
            zone.time(line.posted_at).into(),
        ]);
    }
    view.section("wallet", format!("Wallet of {}", wallet.phone.e164()))
        .add(tiles)
        .add(facts)
        .section("statement", "Statement")
        .add(rows)
}

fn acts(ask: &Ask, view: DeskView, wallet: &Wallet, wrong: Option<&Wrong>) -> DeskView {
    let of = |form, name, label: &str, kind| -> Field { field(ask, form, name, label, kind, wrong) };
    let form = |id: &str, act: &str, button: &str| -> Form {
        ask.new_form(id, address(wallet), button)
            .hidden("act", act)
            .hidden("wallet", wallet.id.to_string())
            .look(Look::Plain)
    };
    let tiers = ["1", "2", "3"].map(|tier| Choice::new(tier, format!("Tier {tier}"))).to_vec();
    let tier = form(TIER, "tier", "Change the tier")
        .field(of(TIER, "tier", "Tier", Kind::Select(tiers)).value(wallet.tier.number().to_string()));
    let hold = match wallet.suspended {
        true => form(HOLD, "resume", "Let it pay again"),
        false => form(HOLD, "suspend", "Suspend it").look(Look::Danger),
    };
    let credit = form(CREDIT, "credit", "Credit the wallet")
        .once(ask.mark())
        .field(of(CREDIT, "amount", "Amount", Kind::Amount))
        .field(of(CREDIT, "reason", "Why", Kind::Text).hint("Kept with your name."))
        .field(
            of(CREDIT, "ref", "Reference", Kind::Text)
                .optional()
                .hint("Unique: the same credit under it is not posted twice."),
        );
    let view = view.section("credit", "Credit it").add(credit);
    let view = match wallet.status(ask.app().now()) {
        WalletStatus::Locked(_) => {
            view.section("unlock", "Lift its lock").add(form("unlock-wallet", "unlock", "Unlock it"))
        }
        _ => view,
    };
    view.section("tier", "Tier")
        .add(tier)
        .section("hold", if wallet.suspended { "Resume" } else { "Suspend" })
        .add(hold.field(of(HOLD, "reason", "Why", Kind::Text)))
}
