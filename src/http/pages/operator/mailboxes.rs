//! `/operator/mailboxes`: the mailboxes that are read, how far each was read, and what is wrong.

use axum::response::Response;

use super::businesses::Wrong;
use super::page::DeskView;
use super::{DeskPage, forbidden, frame, may};
use crate::domain::time::Timestamp;
use crate::domain::user::StaffRight;
use crate::http::pages::ask::Ask;
use crate::http::pages::field::Confirm;
use crate::http::pages::flash::Flash;
use crate::http::pages::parts::{Empty, Tone};
use crate::http::pages::rows::{Cell, Column, Rows};
use crate::http::pages::times::age;
use crate::http::paths::OPERATOR_MAILBOXES;
use crate::ops::OpError;
use crate::ops::mailboxes::{MailboxStanding, forget_removed, standings};

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let wrong = match ask.is_form() {
        true => {
            if let Some(forbidden) = forbidden(ask, StaffRight::Administer) {
                return Ok(forbidden);
            }
            let id = ask.field("id").trim().parse().unwrap_or(0);
            match forget_removed(ask.app(), ask.operator(), id).await? {
                Ok(()) => {
                    let done = "No payment waits for this mailbox any more.";
                    return Ok(ask.see(OPERATOR_MAILBOXES, Some(Flash::done(done))));
                }
                Err(why) => Some(Wrong::at("", "", why)),
            }
        }
        false => None,
    };
    let all = standings(ask.app()).await?;
    let view = DeskView::new(frame(ask, "Mailboxes", DeskPage::Mailboxes).await?, "Mailboxes")
        .refused(wrong.map(|wrong| wrong.why))
        .add(rows(ask, &all));
    Ok(view.answer(ask))
}

fn rows(ask: &Ask, all: &[MailboxStanding]) -> Rows {
    let may_act = may(ask, StaffRight::Administer);
    let mut columns = vec![
        Column::new("Mailbox"),
        Column::figure("Behind"),
        Column::new("State"),
        Column::new("Last read"),
        Column::new("Last mail"),
        Column::new("Read by"),
    ];
    if may_act {
        columns.push(Column::acts("Acts"));
    }
    let empty = Empty::new(
        "No mailboxes",
        "Name one under mail.imap in the configuration. Mails may also come by SMTP, or from files.",
    );
    let mut rows = Rows::new("Mailboxes", columns, empty);
    let (zone, now) = (ask.zone(), ask.app().now());
    for (at, one) in all.iter().enumerate() {
        let row = &one.row;
        let state = match (&row.trouble, one.is_silent(ask.app())) {
            _ if !one.is_configured => Cell::badge(Tone::Muted, one.status()),
            (Some(why), _) => Cell::badge(Tone::Bad, "not read").under(Cell::text(why)),
            (None, true) => Cell::badge(Tone::Warn, "silent"),
            (None, false) => Cell::badge(Tone::Good, "read"),
        };
        let was_read = row.last_read_at != Timestamp(0);
        let read = match was_read {
            true => Cell::Time(zone.time(row.last_read_at))
                .under(Cell::text(format!("{} ago", age(now.since(row.last_read_at))))),
            false => Cell::text("not read yet"),
        };
        // The number is of its last look: of one that is not read nobody knows.
        let behind = if was_read && row.trouble.is_none() { row.behind.into() } else { Cell::None };
        let mut cells = vec![
            Cell::text(&row.name).under(Cell::text(format!("{} · {} · {}", row.login, row.host, row.folder))),
            behind,
            state,
            read,
            row.last_mail.map_or(Cell::None, |at| zone.time(at).into()),
            row.reader.as_ref().map_or(Cell::None, Cell::text),
        ];
        if may_act {
            cells.push(match one.status() {
                "removed" => {
                    let form = ask
                        .new_form(format!("forget-mailbox-{}", at + 1), OPERATOR_MAILBOXES, "Forget it")
                        .hidden("act", "forget")
                        .hidden("id", row.id.to_string());
                    let question = "Payments do not wait for it any more. Do this if it is never read again.";
                    Confirm::new("Forget", question, form).into()
                }
                _ => Cell::None,
            });
        }
        rows.row(cells);
    }
    rows
}
