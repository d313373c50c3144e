//! `/operator/banks`: the banks whose mails can be read, how much of each is approved without a person, and a mail that
//! is only tried: nothing of it is stored.

use axum::response::Response;

use super::businesses::{Wrong, field};
use super::mail::MailView;
use super::page::{Block, DeskView};
use super::{DeskPage, forbidden, frame, may};
use crate::domain::user::StaffRight;
use crate::http::pages::ask::Ask;
use crate::http::pages::field::{Form, Kind};
use crate::http::pages::parts::{Empty, Tone};
use crate::http::pages::rows::{Cell, Column, Facts, Rows};
use crate::http::pages::text::{Text, percent, sentence};
use crate::http::paths::OPERATOR_BANKS;
use crate::ops::OpError;
use crate::ops::alerts::mail_desk::TriedMail;
use crate::ops::figures::days::{BankShare, Days, bank_days, bank_shares, per_mille};

const TRY: &str = "try-mail";
/// A mail shorter than this has no header and no body.
const SHORTEST: usize = 20;

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    if !ask.is_form() {
        return show(ask, None, None).await;
    }
    if let Some(forbidden) = forbidden(ask, StaffRight::Decide) {
        return Ok(forbidden);
    }
    let raw = match ask.form.as_ref().and_then(|form| form.file("mail_file")) {
        Some(file) if !file.is_empty() => file.to_vec(),
        _ => ask.field("mail").trim_start().as_bytes().to_vec(),
    };
    if raw.len() < SHORTEST {
        let why = "paste a whole mail with its headers, or choose its file";
        return show(ask, None, Some(Wrong::at(TRY, "mail", why))).await;
    }
    let tried = ask.http.mails.try_mail(ask.app(), raw).await?;
    show(ask, Some(tried), None).await
}

async fn show(ask: &Ask, tried: Option<TriedMail>, wrong: Option<Wrong>) -> Result<Response, OpError> {
    let (month, week) =
        tokio::try_join!(bank_shares(ask.app(), Days::Thirty), bank_days(ask.app(), Days::Seven))?;
    let mut view = DeskView::new(frame(ask, "Banks", DeskPage::Banks).await?, "Banks")
        .refused(wrong.as_ref().map(|wrong| wrong.why.as_str()));
    if let Some(tried) = &tried {
        view = tell(ask, view, tried);
    }
    view = view.section("known", "Whose mails can be read").add(rows(ask, &month));
    view = view.section("days", "Approved without a person, by day").add(days(ask, &week));
    if may(ask, StaffRight::Decide) {
        view = view.section("try", "Try a mail").add(try_form(ask, wrong.as_ref()));
    }
    Ok(view.answer(ask))
}

fn try_form(ask: &Ask, wrong: Option<&Wrong>) -> Form {
    let mail = field(ask, TRY, "mail", "A mail with its headers", Kind::Area(8), wrong)
        .optional()
        .hint("Nothing of it is stored. In most mail programs: show the original, and copy all of it.");
    let file = field(ask, TRY, "mail_file", "Or its file (.eml)", Kind::File, wrong).optional();
    ask.new_form(TRY, OPERATOR_BANKS, "See what would be read").hidden("act", "try").field(mail).field(file)
}

/// As `bank try` tells it.
fn tell(ask: &Ask, view: DeskView, tried: &TriedMail) -> DeskView {
    let tone = match tried.outcome {
        "read" => Tone::Good,
        "ignored" => Tone::Muted,
        _ => Tone::Bad,
    };
    let facts = &tried.facts;
    let bank = facts.bank.as_deref().map(|code| ask.http.mails.bank_name(code));
    let mut told = Facts::new()
        .fact("Read as", Cell::badge(tone, tried.outcome))
        .fact("Proof", Cell::text(tried.authenticity.as_str()))
        .fact("Over the network now", Cell::text(tried.live_outcome));
    let time = facts.occurred.map(|time| ask.zone().exact(time.begin).text);
    for (label, text) in [
        ("Bank", bank),
        ("Layout", facts.template.clone()),
        ("Direction", facts.direction.map(|one| one.as_str().to_owned())),
        ("Kind", facts.kind.map(|one| one.as_str().to_owned())),
        ("Account", facts.virtual_account.clone().or_else(|| facts.account_number.clone())),
        ("Payer", facts.payer_name.clone()),
        ("Payer's account", facts.payer_account_number.clone()),
        ("Narration", facts.narration.clone()),
        ("Reference", facts.reference.clone()),
        ("Session id", facts.session_id.clone()),
        ("Time", time),
    ] {
        if let Some(text) = text {
            told = told.fact(label, Cell::text(text));
        }
    }
    if let Some(amount) = facts.amount {
        told = told.fact("Amount", amount);
    }
    let list = |texts: &[String]| -> Block {
        Block::List(texts.iter().map(|text| Text::from(sentence(text))).collect())
    };
    let view = view.section("tried", "What this mail would be read as").add(told);
    let view = match tried.why.is_empty() {
        true => view,
        false => view.add(Block::text("Why:")).add(list(&tried.why)),
    };
    let view = match tried.live_reasons.is_empty() {
        true => view,
        false => view.add(Block::text("If it came over the network now:")).add(list(&tried.live_reasons)),
    };
    let view = match tried.unsigned.is_empty() {
        true => view,
        false => view.add(Block::text(format!(
            "Headers that the signature does not cover: {}.",
            tried.unsigned.join(", ")
        ))),
    };
    view.add(MailView::new(&tried.mail))
}

fn rows(ask: &Ask, month: &[BankShare]) -> Rows {
    let columns = vec![
        Column::new("Bank"),
        Column::figure("By itself"),
        Column::figure("Approved, 30 days"),
        Column::new("Sends from"),
        Column::new("Layouts"),
    ];
    let mut rows =
        Rows::new("Banks", columns, Empty::new("No templates", "This program was built without any."));
    for bank in ask.http.mails.banks() {
        let share = month.iter().find(|share| share.bank == bank.code);
        rows.row(vec![
            Cell::text(&bank.name).under(Cell::text(bank.aliases.join(", "))),
            share.map_or(Cell::None, |share| Cell::text(alone(share))),
            share.map_or(Cell::None, |share| share.approved.into()),
            Cell::text(bank.senders.join(", "))
                .under(Cell::text(format!("signed as {}", bank.dkim_domains.join(", ")))),
            Cell::text(bank.layouts.join(", ")),
        ]);
    }
    rows
}

fn alone(share: &BankShare) -> String {
    percent(per_mille(share.alone, share.approved).unwrap_or(0))
}

fn days(ask: &Ask, week: &[(i64, BankShare)]) -> Rows {
    use crate::domain::time::Timestamp;
    let columns = vec![
        Column::new("Bank"),
        Column::new("Day"),
        Column::figure("Approved"),
        Column::figure("By itself"),
    ];
    let empty = Empty::new("No approvals in the last days", "Each bank's share by day will stand here.");
    let mut rows = Rows::new("Approved without a person, by bank and day", columns, empty);
    for (day, share) in week {
        rows.row(vec![
            Cell::text(ask.http.mails.bank_name(&share.bank)),
            ask.zone().day(Timestamp::begin_of_lagos_day(*day)).into(),
            share.approved.into(),
            Cell::text(alone(share)),
        ]);
    }
    rows
}
