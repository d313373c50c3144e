//! From a mail's bytes to a decided alert: reads the mail on its own threads and hands it to the op.
//!
//! All mails come in here. Where a mail came from decides what may prove it ([`Origin`],
//! contract/alerts.md#a5). At the command line a person's word replaces a missing proof, but it does not
//! outweigh evidence against the mail.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::threads::Threads;
use crate::alert_reader::proof::Proof;
use crate::alert_reader::{Banks, Intake, ReadOutcome, Reading, read};
use crate::app::App;
use crate::config::Config;
use crate::domain::account::mask_fits;
use crate::domain::alert::{ADDRESSED_ELSEWHERE, AlertStatus, Authenticity};
use crate::domain::time::Timestamp;
use crate::mail_proof::{self, DNS_WITHIN, DNS_WITHIN_FOR_FILES, Question, prove};
use crate::ops::OpError;
use crate::ops::alerts::decide::AlertOutcome;
use crate::ops::alerts::draft::{ReadAs, Taken, Voucher, status_of, waiting};
use crate::ops::alerts::simulated::Simulated;
use crate::ops::alerts::take::take_alert;
use crate::ops::mailboxes::TakenMail;
use crate::outbound::txt::TxtRecords;

/// Bytes of a mail that are kept when it is too large to be read; the reason is kept with it.
pub(super) const KEPT_OF_OVERSIZED: usize = 64 * 1024;

/// A mail that was taken, with what was read from it.
#[derive(Clone, Debug)]
pub struct Ingested {
    pub reading: Reading,
    pub outcome: AlertOutcome,
}

/// Where a mail came from; decides what may prove it (contract/alerts.md#a5).
#[derive(Clone, Debug)]
pub enum Origin {
    /// A file. `trusted`: it needs no proof, and nobody is named who said so (a mail of the program's own, or
    /// one for which a person vouched before).
    File { trusted: bool },
    /// A file for which a person vouches.
    Vouched(Voucher),
    /// Fetched from a mailbox; the provider's own verdict counts where the operator named its
    /// authserv-id.
    Imap { authserv_id: Option<String> },
    /// Handed in over SMTP or LMTP. `from_loopback` matters in development mode alone.
    Smtp { from_loopback: bool },
    /// Test mode wrote it, for a test account that it names. No proof is asked for: it counts for that account alone.
    Simulated(Box<Simulated>),
}

impl Origin {
    /// Somebody vouches for the mail, so that it needs no proof.
    fn is_trusted(&self, dev: bool) -> bool {
        match self {
            Origin::File { trusted } => *trusted,
            Origin::Vouched(_) => true,
            Origin::Imap { .. } => false,
            Origin::Smtp { from_loopback } => dev && *from_loopback,
            Origin::Simulated(simulated) => !simulated.is_forged(),
        }
    }
}

/// A mail as it arrived.
#[derive(Clone, Debug)]
pub struct Arrival {
    pub raw: Vec<u8>,
    /// For people: `imap HOST/FOLDER`, `smtp IP`, the file's name.
    pub source: String,
    pub origin: Origin,
    /// Its place in a mailbox, noted as taken in the alert's own Unit. If it was taken meanwhile nothing is
    /// stored and [`ingest`] answers [`OpError::Contended`].
    pub in_mailbox: Option<TakenMail>,
}

/// As [`ADDRESSED_ELSEWHERE`], where no signature covers whom it is addressed to.
const OTHER_ACCOUNT: &str =
    "no signed To header shows that it is addressed to the address of its account: see mail.recipients";

/// What every intake needs in addition to the `App`. Cheap to clone.
#[derive(Clone)]
pub struct MailIngestor {
    pub banks: Arc<Banks>,
    pub keys: TxtRecords,
    recipients: Arc<[String]>,
    of_accounts: Arc<[(String, String)]>,
    /// How the sources of a mailbox's mails begin, and whose verdict counts for them.
    providers: Arc<[(String, Option<String>)]>,
    dev: bool,
    pub(super) threads: Threads,
}

/// How the source of every mail begins that is fetched from this host.
pub(super) fn source_of(host: &str) -> String {
    format!("imap {host}/")
}

impl MailIngestor {
    pub fn new(config: &Config, banks: Arc<Banks>) -> MailIngestor {
        MailIngestor {
            threads: Threads::start(),
            banks,
            keys: TxtRecords::new(&config.mail.dns),
            recipients: config.mail.recipients.clone().into(),
            of_accounts: config.mail.of_accounts.clone().into(),
            providers: config.mail.imap.iter().map(|m| (source_of(&m.host), m.authserv_id.clone())).collect(),
            dev: config.server.dev,
        }
    }

    /// Logged at the start of a service that takes mails from the network.
    pub fn warn_without_recipients(&self) {
        if self.recipients.is_empty() {
            tracing::warn!(
                "mail.recipients is not set: mails to any address are accepted, so a genuine alert that a \
                 bank sent to someone else looks like one of yours. Set it to the addresses that your banks \
                 send alerts to"
            );
        }
    }

    /// Whose verdict counts for a mail of this source; nobody's where two mailboxes at one host differ.
    pub(super) fn provider_of(&self, source: &str) -> Option<String> {
        let mut all = self.providers.iter().filter(|(start, _)| source.starts_with(start.as_str()));
        let (_, first) = all.next()?;
        first.clone().filter(|_| all.all(|(_, other)| other == first))
    }

    /// What speaks against deciding by itself that is not in the mail alone: whom it is for.
    fn recipient_doubt(&self, reading: &Reading, trusted: bool) -> Option<String> {
        if self.is_for_another_account(reading) {
            let told = if reading.to.is_empty() { OTHER_ACCOUNT } else { ADDRESSED_ELSEWHERE };
            return Some(told.to_owned());
        }
        if self.recipients.is_empty() || reading.to.iter().any(|to| self.recipients.contains(to)) {
            return None;
        }
        Some(match reading.to.first() {
            Some(to) => format!("it is addressed to {to}, not to one of mail.recipients"),
            // Of a mail that a person vouches for no signature is asked.
            None if trusted => "no To header has an address in mail.recipients".into(),
            None => "no signed To header has an address in mail.recipients".into(),
        })
    }

    /// Whether it may be about an account whose alerts go to an address of their own and is not addressed to that, or is
    /// addressed to one and is not about its account. A mask may fit several.
    fn is_for_another_account(&self, reading: &Reading) -> bool {
        let Some(shown) = &reading.facts.account_number else { return false };
        let (mut is_one_concerned, mut is_its_own) = (false, false);
        for (address, number) in self.of_accounts.iter() {
            let (may_be_about, is_to) = (mask_fits(shown, number), reading.to.contains(address));
            is_one_concerned |= may_be_about || is_to;
            is_its_own |= may_be_about && is_to;
        }
        is_one_concerned && !is_its_own
    }

    /// Reads a mail with whatever proves it, off the async threads. `within` bounds the wait for DNS.
    pub(super) async fn read(
        &self,
        raw: Vec<u8>,
        origin: &Origin,
        seen: Timestamp,
    ) -> Result<(Vec<u8>, Reading), OpError> {
        self.read_again(raw, origin, seen, None).await
    }

    /// The same of a mail that was taken before: `stood` is what proved it then.
    pub(super) async fn read_again(
        &self,
        raw: Vec<u8>,
        origin: &Origin,
        seen: Timestamp,
        stood: Option<&str>,
    ) -> Result<(Vec<u8>, Reading), OpError> {
        let trusted = origin.is_trusted(self.dev);
        let authserv_id = match origin {
            Origin::Imap { authserv_id } => authserv_id.clone(),
            Origin::File { .. } | Origin::Vouched(_) | Origin::Smtp { .. } | Origin::Simulated(_) => None,
        };
        let raw = Arc::new(raw);
        let within = if trusted { DNS_WITHIN_FOR_FILES } else { DNS_WITHIN };
        let question = Question { raw: raw.clone(), seen, authserv_id, only_refute: trusted, within };
        let known = match stood {
            Some(by) => Box::pin(mail_proof::stood(&self.banks, question.clone(), by)).await,
            None => None,
        };
        let proof = match known {
            Some(proof) => proof,
            // Nobody signed it, and no name server is asked for what the program wrote.
            None if matches!(origin, Origin::Simulated(_)) => Proof::default(),
            None => prove(&self.banks, &self.keys, question).await,
        };
        let (banks, bytes) = (self.banks.clone(), raw.clone());
        let intake = Intake { now: seen, trusted, proof, explain: false };
        let reading = self.threads.run(move || read(&bytes, &banks, &intake)).await;
        let reading = reading.ok_or_else(|| OpError::Fault("the mail reader failed".into()))?;
        Ok((Arc::unwrap_or_clone(raw), reading))
    }
}

/// What would happen to a mail that came over the network now, judged by the mail alone.
#[derive(Clone, Debug)]
pub struct Live {
    pub outcome: LiveOutcome,
    /// What prevents an automatic decision, in words.
    pub reasons: Vec<String>,
    /// Headers that its proof does not cover.
    pub unsigned: Vec<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveOutcome {
    /// Nothing in the mail prevents a decision; accounts and payments decide.
    Approvable,
    /// It goes to a person.
    Review,
    Ignored,
    Unreadable,
    Quarantined,
}

impl LiveOutcome {
    pub const fn as_str(self) -> &'static str {
        match self {
            LiveOutcome::Approvable => "approvable",
            LiveOutcome::Review => "review",
            LiveOutcome::Ignored => "ignored",
            LiveOutcome::Unreadable => "unreadable",
            LiveOutcome::Quarantined => "quarantined",
        }
    }
}

impl MailIngestor {
    /// Reads a mail as if it were trusted and tells what was tried, beside what a service would make of it; stores
    /// nothing.
    pub async fn try_mail(&self, raw: Vec<u8>, now: Timestamp) -> Result<(Reading, Live), OpError> {
        let live = self.would_become(raw.clone(), now).await?;
        let raw = Arc::new(raw);
        let question = Question {
            raw: raw.clone(),
            seen: now,
            authserv_id: None,
            only_refute: true,
            within: DNS_WITHIN_FOR_FILES,
        };
        let proof = prove(&self.banks, &self.keys, question).await;
        let intake = Intake { now, trusted: true, proof, explain: true };
        let banks = self.banks.clone();
        let reading = self.threads.run(move || read(&raw, &banks, &intake)).await;
        let reading = reading.ok_or_else(|| OpError::Fault("the mail reader failed".into()))?;
        Ok((reading, live))
    }

    /// Judges a mail as a service that fetches it would, and stores nothing. A provider's verdict counts where
    /// every configured mailbox names that provider.
    pub async fn would_become(&self, raw: Vec<u8>, seen: Timestamp) -> Result<Live, OpError> {
        let named = self.providers.first().and_then(|(_, id)| id.clone());
        let authserv_id = named.filter(|id| self.providers.iter().all(|(_, one)| one.as_ref() == Some(id)));
        let origin = Origin::Imap { authserv_id };
        let (raw, reading) = self.read(raw, &origin, seen).await?;
        let taken = self.taken(&reading, Arrival { raw, source: String::new(), origin, in_mailbox: None });
        let unsigned = reading.unsigned;
        Ok(match status_of(&taken) {
            AlertStatus::New => {
                let mut reasons = taken.facts.doubts.clone();
                if taken.facts.account_number.is_none() {
                    reasons.push("the alert names no account".into());
                }
                if taken.facts.payer_name.is_none() {
                    reasons.push("the alert shows no payer name".into());
                }
                let is_clear = reasons.is_empty();
                let outcome = if is_clear { LiveOutcome::Approvable } else { LiveOutcome::Review };
                Live { outcome, reasons, unsigned }
            }
            AlertStatus::Ignored => Live { outcome: LiveOutcome::Ignored, reasons: taken.why, unsigned },
            AlertStatus::Unreadable => {
                Live { outcome: LiveOutcome::Unreadable, reasons: taken.why, unsigned }
            }
            _ => {
                let is_open = taken.authenticity == Authenticity::Unproven;
                let first = match taken.waits {
                    Some(missing) => format!("for now: {}", waiting(seen, missing, &[])),
                    None if is_open => "nothing proves that the bank sent it".to_owned(),
                    None => "it does not come directly from the bank".to_owned(),
                };
                let reasons = std::iter::once(first).chain(taken.why).collect();
                Live { outcome: LiveOutcome::Quarantined, reasons, unsigned }
            }
        })
    }
}

/// Reads, stores and decides one mail. Returns only after the alert is committed together with the
/// steps of the arrival: from then on nothing is lost. An error says that the mail is not stored; one that is
/// and could not be decided in time is told as `new`.
pub async fn ingest(app: &App, ingestor: &MailIngestor, arrival: Arrival) -> Result<Ingested, OpError> {
    let trusted = arrival.origin.is_trusted(ingestor.dev);
    if trusted && matches!(arrival.origin, Origin::Smtp { .. }) {
        tracing::warn!(
            source = arrival.source,
            "DEV MODE: a mail over SMTP from this machine is accepted as trusted, without proof"
        );
    }
    let Arrival { raw, source, origin, in_mailbox } = arrival;
    let (raw, reading) = ingestor.read(raw, &origin, app.now()).await?;
    let is_whole = !raw.is_empty() && raw.len() <= crate::alert_reader::mime::MAX_MAIL_BYTES;
    let digest = is_whole.then(|| Sha256::digest(&raw).into());
    let taken = Taken { digest, ..ingestor.taken(&reading, Arrival { raw, source, origin, in_mailbox }) };
    let outcome = take_alert(app, &taken).await?;
    Ok(Ingested { reading, outcome })
}

impl MailIngestor {
    /// What the op is told about a mail that was read.
    pub fn taken(&self, reading: &Reading, arrival: Arrival) -> Taken {
        let trusted = arrival.origin.is_trusted(self.dev);
        let mut taken = taken(reading, arrival, trusted);
        if taken.simulated.is_none() {
            taken.facts.doubts.extend(self.recipient_doubt(reading, trusted));
        }
        taken
    }
}

/// How the words begin that tell of a person's vouching; they stand behind what proves a mail, or alone.
const VOUCHED: &str = "ingested with --trusted";
/// The same in rows of before.
const VOUCHED_BEFORE: &str = "taken in with --trusted";

/// What is kept of a proof, and the words of the person's vouching in it.
pub(super) fn proof_and_word(authentic_by: &str) -> (Option<&str>, Option<&str>) {
    match authentic_by.find(VOUCHED).or_else(|| authentic_by.find(VOUCHED_BEFORE)) {
        None => (Some(authentic_by), None),
        Some(at) => (authentic_by[..at].strip_suffix(", "), Some(&authentic_by[at..])),
    }
}

/// The two as they are kept.
pub(super) fn with_word(proof: Option<String>, word: Option<String>) -> Option<String> {
    match (proof, word) {
        (Some(proof), Some(word)) => Some(format!("{proof}, {word}")),
        (proof, word) => proof.or(word),
    }
}

fn taken(reading: &Reading, arrival: Arrival, trusted: bool) -> Taken {
    let Arrival { mut raw, source, origin, in_mailbox } = arrival;
    if raw.len() > crate::alert_reader::mime::MAX_MAIL_BYTES {
        raw.truncate(KEPT_OF_OVERSIZED);
    }
    let mut facts = reading.facts.clone();
    let mut read_as = match reading.outcome {
        ReadOutcome::Read => ReadAs::Credit,
        ReadOutcome::Ignored => ReadAs::NoCredit,
        ReadOutcome::Unreadable => ReadAs::Unreadable,
        ReadOutcome::Quarantined => ReadAs::Quarantined,
    };
    let mut authenticity = reading.authenticity;
    let mut authentic_by = reading.authentic_by.clone();
    if trusted && authenticity == Authenticity::Unproven {
        authenticity = match origin {
            Origin::Simulated(_) => Authenticity::Simulated,
            _ => Authenticity::Trusted,
        };
    }
    let is_trusted_file = matches!(origin, Origin::File { trusted: true });
    let (vouched_by, simulated) = match origin {
        Origin::Vouched(voucher) => (Some(voucher), None),
        Origin::Simulated(simulated) => (None, Some(*simulated)),
        Origin::File { .. } | Origin::Imap { .. } | Origin::Smtp { .. } => (None, None),
    };
    // Whatever it is made to look like, it was simulated as a mail that counts, or it does not.
    if simulated.is_some() && authenticity != Authenticity::Simulated {
        authenticity = Authenticity::Unproven;
        authentic_by = None;
    }
    // A proof does not take the person's word away: a later look may find less proof.
    let word = match (&vouched_by, authenticity) {
        (Some(voucher), Authenticity::Proven | Authenticity::Trusted) => {
            Some(format!("{VOUCHED} by {}", voucher.operator))
        }
        (None, Authenticity::Proven) if is_trusted_file => Some(VOUCHED.to_owned()),
        _ => None,
    };
    authentic_by = with_word(authentic_by, word);
    if trusted && authenticity == Authenticity::Forwarded && facts.amount.is_some() {
        facts.doubts.push("it was forwarded by hand".into());
        read_as = ReadAs::Credit;
    }
    Taken {
        source,
        raw,
        read_as,
        authenticity,
        facts,
        message_id: reading.message_id.clone(),
        mail_from: reading.from.clone(),
        subject: reading.subject.clone(),
        mailed_at: reading.date,
        content_hash: reading.content_hash,
        digest: None,
        why: reading.why.clone(),
        authentic_by,
        vouched_by,
        waits: reading.waits.filter(|_| !trusted && simulated.is_none()),
        in_mailbox,
        simulated,
    }
}
