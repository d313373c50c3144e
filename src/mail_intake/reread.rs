//! Reads the stored mail of an unread alert again, with the templates as they are now.
//!
//! It is judged as it came: at the time of its first sight, from the mailbox that it came from, vouched for by
//! a person only if it was then. A proof that was found then stands, whatever became of the key since; one that
//! was not found may be found now, with the keys that DNS holds. `ops::alerts::reread` says what follows.
//! Called by the command line.

use super::ingest::{Arrival, KEPT_OF_OVERSIZED, MailIngestor, Origin, proof_and_word, with_word};
use crate::alert_reader::{Bank, Banks};
use crate::app::App;
use crate::domain::alert::{AlertRow, Authenticity};
use crate::ops::OpError;
use crate::ops::alerts::draft::Taken;
use crate::ops::alerts::read::{find_alert, find_mail};
use crate::ops::alerts::reread::{Reread, RereadRefused, may_be_reread};

/// Reads the mail of an alert again and writes what came of it.
pub async fn reread(
    app: &App,
    ingestor: &MailIngestor,
    alert_id: i64,
    operator: &str,
) -> Result<Result<(AlertRow, Reread), RereadRefused>, OpError> {
    let (alert, taken) = match read_again(app, ingestor, alert_id).await? {
        Ok(both) => both,
        Err(refused) => return Ok(Err(refused)),
    };
    crate::crash::point("alert.before_reread");
    let done = crate::ops::alerts::reread::reread(app, &alert, &taken, operator).await?;
    Ok(done.map(|done| (alert, done)))
}

/// Puts those first whose mails tell of a debit or a reversal: a credit that it took back must find it when it
/// is decided. Nothing is written, and what cannot be read stays in its place.
pub async fn debits_first(app: &App, ingestor: &MailIngestor, ids: Vec<i64>) -> Vec<i64> {
    if ids.len() < 2 {
        return ids;
    }
    let (mut debits, mut others) = (Vec::new(), Vec::new());
    for id in ids {
        let read = read_again(app, ingestor, id).await;
        let is_debit = matches!(read, Ok(Ok((_, taken))) if taken.facts.is_outgoing());
        if is_debit { debits.push(id) } else { others.push(id) }
    }
    debits.extend(others);
    debits
}

async fn read_again(
    app: &App,
    ingestor: &MailIngestor,
    alert_id: i64,
) -> Result<Result<(AlertRow, Taken), RereadRefused>, OpError> {
    let Some(alert) = find_alert(app, alert_id).await? else {
        return Ok(Err(RereadRefused::NoAlert(alert_id)));
    };
    if let Err(refused) = may_be_reread(&alert) {
        return Ok(Err(refused));
    }
    let Some(raw) = find_mail(app, alert_id).await? else {
        return Ok(Err(RereadRefused::MailGone(alert_id)));
    };
    if raw.len() == KEPT_OF_OVERSIZED {
        return Ok(Err(RereadRefused::Beginning(alert_id)));
    }
    let (proof, word) = alert.authentic_by.as_deref().map(proof_and_word).unwrap_or_default();
    let origin = match alert.authenticity {
        Authenticity::Trusted => Origin::File { trusted: true },
        Authenticity::Proven if word.is_some() => Origin::File { trusted: true },
        _ => Origin::Imap { authserv_id: ingestor.provider_of(&alert.source) },
    };
    let stood = proof.filter(|_| alert.authenticity == Authenticity::Proven);
    let (raw, reading) = ingestor.read_again(raw, &origin, alert.first_seen, stood).await?;
    let arrival = Arrival { raw, source: alert.source.clone(), origin, in_mailbox: None };
    let mut taken = ingestor.taken(&reading, arrival);
    if taken.authenticity.counts() {
        let (proof, _) = taken.authentic_by.as_deref().map(proof_and_word).unwrap_or_default();
        taken.authentic_by = with_word(proof.map(str::to_owned), word.map(str::to_owned));
    }
    Ok(Ok((alert, taken)))
}

/// Whether an alert is a mail of this bank's, or claims to be: by what was read, or else by its sender.
pub fn is_of(alert: &AlertRow, bank: &Bank, banks: &Banks) -> bool {
    if let Some(code) = &alert.facts.bank {
        return *code == bank.code;
    }
    let Some(from) = alert.mail_from.as_deref() else { return false };
    let domain = from.rsplit_once('@').map_or("", |(_, domain)| domain);
    let sender = banks.by_sender(from).or_else(|| banks.by_sender_domain(domain));
    sender.is_some_and(|known| known.code == bank.code)
}
