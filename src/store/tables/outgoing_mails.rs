//! Mails to people who sign in, until they have gone: the SQL and the reading of rows. Used by ops alone.

use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::{Row, Step, Store, StoreError};

/// Rows forgotten in one step; the statement holds the same number as a literal.
pub const FORGET_BATCH: usize = 500;

statements! {
    ADD: insert(outgoing_mails) { id: Int, kind: Text, to_address: Text, subject: Text, body: Bytes, created_at: Int }
    MAIL: query { "select id, kind, to_address, subject, body, created_at from outgoing_mails where id = $1 and ended_at is null" }
    END: query { "update outgoing_mails set ended_at = $2, body = null where id = $1" }
    FORGET: query {
        "delete from outgoing_mails where created_at < $1 and id in (select id from outgoing_mails where created_at < $1 \
         order by created_at limit 500) returning id"
    }
}

/// What a mail holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailKind {
    /// The text that was sealed with it.
    Text,
    /// A link to a new password, made when the mail is sent, if there is such a user.
    Forgot,
}

impl MailKind {
    fn as_str(self) -> &'static str {
        match self {
            MailKind::Text => "text",
            MailKind::Forgot => "forgot",
        }
    }

    fn parse(word: &str) -> Option<MailKind> {
        match word {
            "text" => Some(MailKind::Text),
            "forgot" => Some(MailKind::Forgot),
            _ => None,
        }
    }
}

/// A mail that has not gone yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailRow {
    pub id: i64,
    pub kind: MailKind,
    pub to: String,
    pub subject: String,
    /// The text, sealed; of a link that is made when it is sent, random bytes that it is made of.
    pub body: Option<Vec<u8>>,
    pub created_at: Timestamp,
}

pub fn add(mail: &MailRow) -> Step {
    Step::insert(ADD {
        id: mail.id.into(),
        kind: mail.kind.as_str().into(),
        to_address: (&mail.to).into(),
        subject: (&mail.subject).into(),
        body: mail.body.clone().into(),
        created_at: mail.created_at.into(),
    })
}

/// It has gone, or never will: its text is forgotten.
pub fn end(id: i64, now: Timestamp) -> Step {
    Step::any(&END, vec![id.into(), now.into()])
}

impl Store {
    /// A mail that is still to go.
    pub async fn mail_to_send(&self, id: i64) -> Result<Option<MailRow>, StoreError> {
        let row = self.read_one(&MAIL, vec![id.into()]).await?;
        let mail = |row: Row| {
            let mut r = row.reader("outgoing_mails");
            Ok(MailRow {
                id: r.int("id")?,
                kind: r.word("kind", MailKind::parse)?,
                to: r.text("to_address")?,
                subject: r.text("subject")?,
                body: r.opt_bytes("body")?,
                created_at: r.time("created_at")?,
            })
        };
        row.map(mail).transpose()
    }

    /// Forgets mails made before a time; none of them is tried any more. Answers how many.
    pub async fn forget_mails(&self, before: Timestamp) -> Result<usize, StoreError> {
        Ok(self.write(&FORGET, vec![before.into()]).await?.into_rows().len())
    }
}
