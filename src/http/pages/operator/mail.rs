//! A bank's mail as text, with what was read marked in place. Whatever is in it is shown as text and never as HTML.

use askama::Template;
use askama::filters::HtmlSafe;

use crate::domain::marked_mail::{MarkedField, MarkedMail, MarkedPart, MarkedPiece};
use crate::http::pages::text::Text;
use crate::ops::alerts::mail_desk::MailSeen;

/// A mail on a page.
#[derive(Template)]
#[template(path = "operator/mail.html")]
pub struct MailView {
    from: Text,
    to: Text,
    subject: Text,
    parts: Vec<PartView>,
    /// Why there is nothing to see.
    missing: Option<Text>,
}

struct PartView {
    title: &'static str,
    lines: Vec<Vec<PieceView>>,
    is_cut: bool,
}

struct PieceView {
    text: Text,
    is_marked: bool,
    /// What was read there.
    label: Option<&'static str>,
}

impl HtmlSafe for MailView {}

impl MailView {
    pub fn new(seen: &MailSeen) -> MailView {
        match seen {
            MailSeen::Shown(mail) => MailView::of(mail),
            MailSeen::Gone => MailView::without(
                "The mail was deleted: mails are kept for 90 days. What was read of it stays.",
            ),
            MailSeen::Unreadable(why) => MailView::without(&format!("The mail cannot be shown: {why}.")),
        }
    }

    fn without(why: &str) -> MailView {
        MailView {
            from: Text::default(),
            to: Text::default(),
            subject: Text::default(),
            parts: Vec::new(),
            missing: Some(why.into()),
        }
    }

    fn of(mail: &MarkedMail) -> MailView {
        MailView {
            from: mail.from.join(", ").into(),
            to: mail.to.join(", ").into(),
            subject: mail.subject.as_deref().unwrap_or_default().into(),
            parts: mail.parts.iter().map(part).collect(),
            missing: mail.parts.is_empty().then(|| "The mail has no text.".into()),
        }
    }

    /// Only the part with the most marks is open.
    fn is_first(&self, number: &usize) -> bool {
        *number == 0
    }
}

fn part(part: &MarkedPart) -> PartView {
    let line = |line: &Vec<MarkedPiece>| {
        let mut told = Vec::new();
        let piece = |piece: &MarkedPiece| {
            // Of a place that another one cuts in two the label is told once.
            let is_new = piece.field.is_some_and(|field| !told.contains(&field));
            told.extend(piece.field);
            PieceView {
                text: (&piece.text).into(),
                is_marked: piece.field.is_some(),
                label: piece.field.filter(|_| is_new).map(MarkedField::in_words),
            }
        };
        line.iter().map(piece).collect()
    };
    PartView {
        title: if part.is_page { "The mail as text" } else { "Its plain text" },
        lines: part.lines.iter().map(line).collect(),
        is_cut: part.is_cut,
    }
}
