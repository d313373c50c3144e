//! An alert as its mail alone makes it, and the Unit that keeps it with everything that goes with it.
//!
//! Only an authentic or trusted credit of kind payment becomes `new`; everything else is kept with its reason. What
//! speaks against deciding without a person (an account that is not ours, a holder's name that differs, a forwarded
//! mail) is added to the alert's doubts here, so that the decision and every later look at it see the same. Used where
//! a mail is taken in (`take`) and where one is read anew (`prove_later`, `reread`).

use super::copies::judge_copies;
use super::simulated::Simulated;
use super::taken_back::takes_money_back;
use crate::app::App;
use crate::domain::account::{ReceivingAccount, Resolved, TEST_BANK, fitting, in_words, resolve};
use crate::domain::alert::{AlertFacts, AlertKind, AlertRow, AlertStatus, Authenticity, Direction, Missing};
use crate::domain::money::CURRENCY;
use crate::domain::name::{NameVerdict, verdict};
use crate::domain::payout::{codes_begun_in, may_end_in_a_code};
use crate::domain::same_transfer::{Key, holding_account_of, keys_of, mail_keys};
use crate::domain::time::{Span, Timestamp};
use crate::ops::mailboxes::TakenMail;
use crate::ops::payouts::from_alert::named_payout;
use crate::ops::{OpError, REASON_MAX};
use crate::store::tables::jobs::{self, JobKind};
use crate::store::tables::{acts, alerts};
use crate::store::{IdKind, Step, Unit};

/// No customer has the reference of a payout to write it.
const PAYOUT_REMARK: &str = "its narration holds the reference of a payout";
/// A decision that the process which stored the alert did not make is taken up after this. Sooner, workers decide beside it what it is
/// deciding, and one of the two loses: so it was with every second payment.
const DECIDING_AFTER: Span = Span::seconds(2);
/// The same of the work of a debit or reversal.
const UNDOING_AFTER: Span = Span::seconds(30);
/// The reason of a mail in the layout of the test bank that came from outside.
const IMITATION: &str = "the Tillbell Test Bank sends no mails: only test mode writes in its layout";
/// The first time it is asked again; doubled each time, up to the longest pause.
pub const FIRST_PAUSE: Span = Span::seconds(30);

/// What the reader made of the mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadAs {
    /// A credit with an amount.
    Credit,
    /// Recognised and no credit of kind payment.
    NoCredit,
    Unreadable,
    Quarantined,
}

/// Who said that a mail is the bank's own, and of which file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Voucher {
    pub operator: String,
    pub file: String,
}

/// A mail and what was read from it.
#[derive(Clone, Debug)]
pub struct Taken {
    pub source: String,
    pub raw: Vec<u8>,
    pub read_as: ReadAs,
    pub authenticity: Authenticity,
    pub facts: AlertFacts,
    pub message_id: Option<String>,
    pub mail_from: Option<String>,
    pub subject: Option<String>,
    pub mailed_at: Option<Timestamp>,
    pub content_hash: [u8; 32],
    /// Digest of the whole mail's bytes, where all of them came.
    pub digest: Option<[u8; 32]>,
    pub why: Vec<String>,
    /// What proves it, where it is proven.
    pub authentic_by: Option<String>,
    /// The person who vouches for it, if one does.
    pub vouched_by: Option<Voucher>,
    /// Nothing proves it yet because a key could not be had: it is asked for again, see `prove_later`.
    pub waits: Option<Missing>,
    /// Its place in a mailbox, noted as taken with the alert or not at all.
    pub in_mailbox: Option<TakenMail>,
    /// Whose test mode wrote it, and for which account.
    pub simulated: Option<Simulated>,
}

impl Taken {
    /// In the layout of the test bank, and yet from outside: whoever sent it, and whoever vouches for it, it is nobody's
    /// word. That bank sends no mails.
    fn imitates_test_bank(&self) -> bool {
        self.simulated.is_none() && self.facts.bank.as_deref() == Some(TEST_BANK)
    }
}

/// The act of whoever vouches for the mail, in the Unit of its alert.
pub(in crate::ops) async fn vouching(app: &App, id: i64, taken: &Taken) -> Result<Option<Step>, OpError> {
    if let Some((business_id, by)) =
        taken.simulated.as_ref().and_then(|one| Some((one.business_id(), one.by()?)))
    {
        let act = app.store.id(IdKind::Act).await?;
        let subject = format!("alert {id}");
        return Ok(Some(acts::record_of(business_id, act, by, "alert simulate", &subject, "", app.now())));
    }
    let Some(Voucher { operator, file }) = &taken.vouched_by else { return Ok(None) };
    let act = app.store.id(IdKind::Act).await?;
    // A file's name may hold anything.
    let file: String = file.chars().filter(|c| !c.is_control()).take(REASON_MAX).collect();
    Ok(Some(acts::record(act, operator, "ingest --trusted", &format!("alert {id}"), &file, app.now())))
}

/// The reason of a mail that waits.
pub fn waiting(seen: Timestamp, missing: Missing, why: &[String]) -> String {
    let what = match missing {
        Missing::Answer => "a name server",
        Missing::Key => "the signature's key",
    };
    join(
        &format!("it waits for {what}, until {} at the latest", to_the_minute(seen + missing.patience())),
        why,
    )
}

/// `2026-03-10 08:00 UTC`.
fn to_the_minute(at: Timestamp) -> String {
    let text = at.to_string();
    match (text.get(..10), text.get(11..16)) {
        (Some(day), Some(time)) => format!("{day} {time} UTC"),
        _ => text,
    }
}

/// What the mail alone makes of it.
pub fn status_of(taken: &Taken) -> AlertStatus {
    let is_payment = taken.facts.direction == Some(Direction::Credit)
        && taken.facts.kind.is_none_or(|kind| kind == AlertKind::Payment);
    match (taken.read_as, taken.authenticity) {
        _ if taken.imitates_test_bank() => AlertStatus::Quarantined,
        (ReadAs::Unreadable, _) => AlertStatus::Unreadable,
        (_, Authenticity::Refuted | Authenticity::Unproven) | (ReadAs::Quarantined, _) => {
            AlertStatus::Quarantined
        }
        (ReadAs::NoCredit, _) => AlertStatus::Ignored,
        (ReadAs::Credit, _) if is_payment => AlertStatus::New,
        (ReadAs::Credit, _) => AlertStatus::Ignored,
    }
}

/// The alert as the mail alone makes it, first seen at `seen`.
pub(in crate::ops) fn draft(id: i64, seen: Timestamp, taken: &Taken) -> AlertRow {
    let status = status_of(taken);
    let is_imitation = taken.imitates_test_bank();
    let reason = match (status, taken.waits) {
        _ if is_imitation => IMITATION.to_owned(),
        (AlertStatus::New, _) => String::new(),
        (AlertStatus::Quarantined, Some(missing)) => waiting(seen, missing, &taken.why),
        (AlertStatus::Quarantined, None) if taken.authenticity == Authenticity::Unproven => {
            join("nothing proves that the bank sent it", &taken.why)
        }
        (AlertStatus::Quarantined, None) => join("it does not come directly from the bank", &taken.why),
        (AlertStatus::Ignored, _) => join("not an incoming payment", &taken.why),
        _ => join("it could not be read", &taken.why),
    };
    AlertRow {
        id,
        status,
        version: 1,
        settlement_id: None,
        source: taken.source.clone(),
        authenticity: if is_imitation { Authenticity::Refuted } else { taken.authenticity },
        facts: taken.facts.clone(),
        account_id: None,
        message_id: taken.message_id.clone(),
        mail_from: taken.mail_from.clone(),
        subject: taken.subject.clone(),
        mailed_at: taken.mailed_at,
        first_seen: seen,
        decided_at: (status != AlertStatus::New).then_some(seen),
        payment_id: None,
        linked_alert_id: None,
        reason,
        evidence: String::new(),
        authentic_by: taken.authentic_by.clone(),
        dismissed_from: None,
        simulated_for: taken.simulated.as_ref().map(Simulated::business_id),
    }
}

pub(in crate::ops) fn join(what: &str, why: &[String]) -> String {
    if why.is_empty() { what.to_owned() } else { format!("{what}: {}", why.join("; ")) }
}

/// Finds the account the alert is about, and notes what speaks against it. Of a simulated one it is known, and the
/// only one: none of ours at that bank is looked at.
pub(in crate::ops) async fn place(
    app: &App,
    alert: &mut AlertRow,
    simulated: Option<&Simulated>,
) -> Result<(), OpError> {
    let doubts = match simulated {
        Some(simulated) => {
            alert.account_id = Some(simulated.account().id);
            find_account(&alert.facts, std::slice::from_ref(simulated.account())).1
        }
        None => {
            let accounts = app.directory.accounts().await?;
            let (account, doubts) = find_account(&alert.facts, &accounts);
            alert.account_id = account.map(|account| account.id);
            doubts
        }
    };
    if alert.status == AlertStatus::New {
        alert.facts.doubts.extend(doubts);
        if let Some(named) = named_payout(app, alert).await? {
            let (payout, business) = (named.payout.id, named.business);
            alert.facts.doubts.push(format!(
                "{PAYOUT_REMARK}: it names payout {payout} of {business}, so the money of that may have come back, or \
                 the business itself wrote it"
            ));
        } else if alert.facts.typed().any(|typed| !codes_begun_in(typed).is_empty())
            || alert.facts.narration_cut && alert.facts.narration.as_deref().is_some_and(may_end_in_a_code)
        {
            alert.facts.doubts.push(PAYOUT_REMARK.into());
        }
        if let Some(currency) = &alert.facts.currency
            && currency != CURRENCY
        {
            alert.facts.doubts.push(format!("its currency is {currency}"));
        }
    }
    Ok(())
}

/// The doubt about an alert that shows a number of none of our accounts.
pub(super) fn no_account_fits(shown: &str) -> String {
    format!("no registered account at that bank fits {shown}")
}

pub(super) fn find_account<'a>(
    facts: &AlertFacts,
    accounts: &'a [ReceivingAccount],
) -> (Option<&'a ReceivingAccount>, Vec<String>) {
    let mut doubts = Vec::new();
    let (Some(shown), Some(bank)) = (&facts.account_number, &facts.bank) else {
        doubts.push("the alert names no account".into());
        return (None, doubts);
    };
    let row = match resolve(shown, bank, accounts) {
        Resolved::Account(id) => accounts.iter().find(|account| account.id == id),
        Resolved::TooFewDigits => {
            doubts.push(format!("the account {shown} shows fewer than three digits"));
            None
        }
        Resolved::Unknown => {
            doubts.push(no_account_fits(shown));
            None
        }
        Resolved::Ambiguous => {
            let fit = in_words(&fitting(shown, bank, accounts));
            doubts.push(format!("several registered accounts at that bank fit {shown}: {fit}"));
            None
        }
    };
    let Some(mut account) = row else { return (None, doubts) };
    // Of what came over a virtual account a mail may show the holder of either.
    let settled_through = account;
    if let Some(number) = &facts.virtual_account {
        match accounts.iter().find(|a| &a.number == number && a.via == Some(account.id)) {
            Some(behind) if facts.virtual_amount == facts.amount && day_agrees(facts) => {
                account = behind;
            }
            Some(_) => doubts
                .push("the amount or the day in the narration differs from the rest of the alert".into()),
            None => doubts.push(format!(
                "the narration names the virtual account {number}, which is not registered for this account \
                 (`account add --via`)"
            )),
        }
    }
    if facts.is_collection
        && facts.virtual_account.is_none()
        && accounts.iter().any(|a| a.via == Some(account.id))
    {
        doubts.push("virtual accounts settle through this account, and the mail does not tell whether the money came to one of them"
                .into());
    }
    if account.forced {
        doubts.push("the account was added with --force, for a bank without a template".into());
    }
    let is_told_of = |account: &ReceivingAccount, holder: &str| {
        reads_alike(&account.name, holder) || verdict(&account.name, holder, &[]) != NameVerdict::Different
    };
    if let Some(holder) = &facts.holder_name
        && !is_told_of(account, holder)
        && !is_told_of(settled_through, holder)
    {
        doubts.push(format!("the alert shows another account holder: {holder}"));
    }
    (Some(account), doubts)
}

/// The same letters and digits in the same order. Of some names (`J & J`, `G.U.O.`) nothing is left by which people are told
/// apart, and still they are themselves.
fn reads_alike(ours: &str, told: &str) -> bool {
    let plain = |name: &str| -> String {
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let told = plain(told);
    !told.is_empty() && plain(ours) == told
}

/// The day in the narration's digits is a day of the bank's time.
fn day_agrees(facts: &AlertFacts) -> bool {
    match (facts.virtual_day, facts.occurred) {
        (Some(day), Some(time)) => time.begin.lagos_day() <= day && day <= time.end.lagos_day(),
        _ => false,
    }
}

/// Everything that goes with an alert that counts: what keeps it (`keep`), the keys by which copies
/// are known, the job that decides it, a raised version of its amount. Copies are looked for first
/// and may make it a duplicate.
pub(in crate::ops) async fn alert_unit(
    app: &App,
    alert: &mut AlertRow,
    content_hash: &[u8; 32],
    now: Timestamp,
    keep: impl FnOnce(&AlertRow) -> Vec<Step>,
) -> Result<Unit, OpError> {
    let fresh_keys = copies(app, alert, content_hash).await?;
    let mut unit = app
        .store
        .unit(alert.id)
        .await?
        .steps(keep(alert))
        .steps(fresh_keys.iter().map(|(kind, key)| alerts::add_key(kind, key, alert.id)));
    if alert.status == AlertStatus::New || takes_money_back(alert) {
        let job = app.store.id(IdKind::Job).await?;
        let is_new = alert.status == AlertStatus::New;
        let at = now + if is_new { DECIDING_AFTER } else { UNDOING_AFTER };
        unit = unit.step(jobs::enqueue(job, JobKind::Decide, 0, alert.id, at, now));
    }
    if let (Some(account), Some(amount)) = (alert.account_id, alert.facts.amount)
        && alert.authenticity.counts()
    {
        let holding_account = holding_account_of(&app.directory.accounts().await?, account);
        unit = unit.step(alerts::raise_amount_version(holding_account, amount));
    }
    Ok(unit)
}

/// Looks for copies of a credit, or of the mail of a debit: the same debit mail received twice must raise only one
/// alarm. Answers the keys under which copies of it will be known: only what the bank or a person vouches for makes
/// others duplicates (contract/alerts.md#a26).
async fn copies(app: &App, alert: &mut AlertRow, content_hash: &[u8; 32]) -> Result<Vec<Key>, OpError> {
    let keys = if alert.status == AlertStatus::New {
        let accounts = app.directory.accounts().await?;
        let holding_account = alert.account_id.map(|id| holding_account_of(&accounts, id));
        keys_of(alert, holding_account, Some(content_hash))
    } else if takes_money_back(alert) {
        mail_keys(alert, Some(content_hash))
    } else {
        return Ok(Vec::new());
    };
    let fresh = judge_copies(app, alert, &keys).await?;
    Ok(if alert.authenticity.counts() { fresh } else { Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::reads_alike;

    #[test]
    fn a_holder_is_itself_however_little_its_name_says() {
        for (ours, told) in
            [("J.K. Stores", "J.K. STORES"), ("J & J", "J & J"), ("G.U.O.", "GUO"), ("Zaya", "ZAYA ")]
        {
            assert!(reads_alike(ours, told), "{ours} {told}");
        }
        for (ours, told) in [("J & J", "J & K"), ("J & J", "&"), ("&", "&"), ("G.U.O.", "G.U.O. LTD")] {
            assert!(!reads_alike(ours, told), "{ours} {told}");
        }
    }
}
