//! Messages as an operator sees them: the newest of a list, or one, without the secrets that were in them.

use super::words::{phone_of, words};
use crate::app::App;
use crate::domain::merchant::Mode;
use crate::domain::message::{self, MessageKind};
use crate::domain::phone::Phone;
use crate::ops::OpError;
use crate::ops::wallets::find::phone_hash;
use crate::outbound::messenger::LOG_PREFIX;
use crate::store::tables::messages::MessageRow;

/// A message for people.
pub struct Listed {
    pub row: MessageRow,
    /// `None`: it cannot be decrypted.
    pub phone: Option<Phone>,
    /// As sent if nobody but the log of a service in dev mode got it, else without codes and links; `None`: it
    /// cannot be made again.
    pub text: Option<String>,
    /// The page that the message leads to; of a message to a test number alone.
    pub link: Option<String>,
    /// Why phone or text are missing, for operators.
    pub unreadable: Option<String>,
}

/// Messages to one phone or to all, newest first, at most `limit`; and whether there are more.
pub async fn list(app: &App, phone: Option<&Phone>, limit: u32) -> Result<(Vec<Listed>, bool), OpError> {
    let hash = phone.map(|phone| phone_hash(app, phone));
    let hash = hash.as_ref().map(<[u8; 32]>::as_slice);
    let mut rows = app.store.messages(hash, i64::from(limit) + 1).await?;
    let more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    let mut all = Vec::with_capacity(rows.len());
    for row in rows {
        all.push(listed(app, row, false).await?);
    }
    Ok((all, more))
}

/// The newest messages of a business, for its own people: whom they went to, and of its own texts what they say. What else
/// is in a customer's messages (links, codes, what a wallet holds) is not the business's to read; a test number's are all its own.
pub async fn of_business(
    app: &App,
    business_id: i64,
    mode: Mode,
    limit: u32,
) -> Result<Vec<Listed>, OpError> {
    let is_test = mode == Mode::Test;
    let rows = app.store.messages_of_business(business_id, is_test, i64::from(limit)).await?;
    let mut all = Vec::with_capacity(rows.len());
    for row in rows {
        let is_own = is_test || row.kind == MessageKind::Merchant;
        let listed = listed(app, row, is_test).await?;
        all.push(Listed { text: listed.text.filter(|_| is_own), ..listed });
    }
    Ok(all)
}

pub async fn show(app: &App, id: i64) -> Result<Option<Listed>, OpError> {
    match app.store.message(id).await? {
        Some(row) => Ok(Some(listed(app, row, false).await?)),
        None => Ok(None),
    }
}

/// One message that cannot be read hides no others: its row says so. `whole`: with its links and codes, for the business whose
/// test number it went to.
async fn listed(app: &App, row: MessageRow, whole: bool) -> Result<Listed, OpError> {
    let mut unreadable = None;
    let phone = told(phone_of(app, &row), &mut unreadable)?;
    let made = told(words(app, &row).await, &mut unreadable)?;
    // By the row: the one who lists may be configured otherwise than the one who sent.
    let is_logged = row.provider_id.as_deref().is_some_and(|id| id.starts_with(LOG_PREFIX));
    let is_whole = whole || is_logged && app.config.server.dev;
    let link = made.as_ref().filter(|_| whole).and_then(|made| made.link.as_ref());
    let link = link.map(|link| link.url.to_string());
    let text = made.map(|made| if is_whole { made.text.to_string() } else { message::masked(&made.text) });
    Ok(Listed { phone, text, link, unreadable, row })
}

/// The value, or `None` with the reason; that the database is away is an error all the same.
fn told<T>(made: Result<T, OpError>, why: &mut Option<String>) -> Result<Option<T>, OpError> {
    match made {
        Ok(value) => Ok(Some(value)),
        Err(OpError::Fault(reason)) => {
            why.get_or_insert(reason);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
