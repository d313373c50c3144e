//! Is it proven that the bank sent this mail (contract/alerts.md#a6)? Brings the parts together: the mail's own
//! signatures (`dkim`), their keys (`outbound::txt`), and the verdict of a provider whom the operator named
//! (`verdict`).
//!
//! Other evidence against a mail (look-alikes, forwards, verdicts of others) is the business of `authentic`.
//! Parsing runs on blocking threads, fails only with a reason, and waits for DNS no longer than it is told.
//! Called by `mail_intake` and the command line.

mod dkim;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::alert_reader::head::{self, Header};
use crate::alert_reader::proof::{Covered, Credential, Proof, ProofVerdict};
use crate::alert_reader::{Bank, Banks, mime, verdict};
use crate::domain::alert::Missing;
use crate::domain::time::Timestamp;
use crate::outbound::txt::{Answer, TxtRecords};
use dkim::{Signature, Verification};

/// All DNS for one mail that came over the network.
pub const DNS_WITHIN: Duration = Duration::from_secs(5);
/// The same where a person waits and the answer can only speak against the mail.
pub const DNS_WITHIN_FOR_FILES: Duration = Duration::from_secs(2);
/// All parsing for one mail, hashes and signatures included; it takes some milliseconds.
const WORK_WITHIN: Duration = Duration::from_secs(10);

/// What is to be proven, and by what.
#[derive(Clone, Debug)]
pub struct Question {
    pub raw: Arc<Vec<u8>>,
    /// When the mail was first seen: signatures must be valid at that time.
    pub seen: Timestamp,
    /// The provider whose verdict counts, for a mail fetched from its mailbox.
    pub authserv_id: Option<String>,
    /// A person vouches for the mail, or only tries it. A signature can still refute it, so signatures that
    /// could not prove it are checked too.
    pub only_refute: bool,
    pub within: Duration,
}

/// What was found in the bytes.
struct Seen {
    from: String,
    /// Fields that are there once, and whether the bytes are the content (`encoding`).
    once: Covered,
    usable: Vec<Signature>,
    has_others: bool,
    /// The provider's verdict, if it counts.
    vouched: Option<String>,
    why: Vec<String>,
}

/// Returns the answer. Never fails: what cannot be checked proves nothing.
pub async fn prove(banks: &Arc<Banks>, keys: &TxtRecords, question: Question) -> Proof {
    let (known, asked) = (banks.clone(), question.clone());
    let seen = match on_blocking_thread(move || look(&known, &asked)).await {
        Ok(Ok(seen)) => seen,
        Ok(Err(why)) | Err(why) => return Proof { verdict: ProofVerdict::Nothing, why: vec![why] },
    };
    let mut proof = Proof { verdict: ProofVerdict::Nothing, why: seen.why.clone() };
    let deadline = Instant::now() + question.within;
    let (mut failed, mut waits, mut has_key) = (false, None, false);
    for signature in &seen.usable {
        if !question.only_refute && !signature.can_hold() && seen.vouched.is_none() {
            // No key can prove it, so the name server is not asked.
            let hopeless = signature.without_key();
            failed |= matches!(hopeless, Verification::Bad(_));
            proof.why.extend(hopeless.words());
            continue;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        match keys.ask(&signature.key_name(), left, question.only_refute).await {
            Answer::Trouble(why) => {
                waits = Some(Missing::Answer);
                proof.why.push(format!("DKIM signature by {} could not be checked: {why}", signature.domain));
            }
            Answer::Absent => {
                waits = waits.or(Some(Missing::Key));
                proof.why.push(format!(
                    "DKIM signature by {}: DNS has no key {}",
                    signature.domain,
                    signature.key_name().trim_end_matches('.')
                ));
            }
            Answer::Records(records) => {
                let (raw, this) = (question.raw.clone(), signature.clone());
                let verified =
                    on_blocking_thread(move || dkim::verify(&head::wire(&raw), &this, &records)).await;
                let verified = verified.unwrap_or_else(Verification::Unusable);
                if let Verification::Good { key } = &verified {
                    let by = format!("dkim d={} s={} key=sha256:{key}", signature.domain, signature.selector);
                    let covered = covered(&seen.once, &[signature]);
                    return proven(proof, by, seen.from, covered);
                }
                failed |= matches!(verified, Verification::Bad(_));
                has_key |= !matches!(verified, Verification::Revoked(_));
                proof.why.extend(verified.words());
            }
        }
    }
    if let Some(by) = seen.vouched {
        // If a name server still has a key, our own check of the signature decides.
        if !has_key && waits != Some(Missing::Answer) {
            let all: Vec<&Signature> = seen.usable.iter().collect();
            let covered = covered(&seen.once, &all);
            return proven(proof, by, seen.from, covered);
        }
        proof.why.push(format!("{by} counts only if the key is no longer in DNS"));
    }
    proof.verdict = match (waits, failed) {
        (Some(Missing::Answer), _) if !question.only_refute => ProofVerdict::Waits(Missing::Answer),
        (_, true) => ProofVerdict::Failed,
        (Some(missing), false) if !question.only_refute => ProofVerdict::Waits(missing),
        _ => ProofVerdict::Nothing,
    };
    proof
}

/// The proof that was found at first sight (`by`, as it is kept with the alert), where the mail still carries
/// the signature that it rests on and the template still lets that domain sign. DNS is not asked: a bank that
/// has changed its key meanwhile takes back nothing. `None`: it rests on something else.
pub async fn stood(banks: &Arc<Banks>, question: Question, by: &str) -> Option<Proof> {
    let rest = by.strip_prefix("dkim d=")?;
    let (domain, rest) = rest.split_once(" s=")?;
    let (selector, _) = rest.split_once(" key=")?;
    let known = banks.clone();
    let seen = on_blocking_thread(move || look(&known, &question)).await.ok()?.ok()?;
    let is_meant = |one: &&Signature| one.domain == domain && one.selector == selector;
    let meant: Vec<&Signature> = seen.usable.iter().filter(is_meant).collect();
    if meant.is_empty() || !meant.iter().all(|signature| signature.can_hold()) {
        return None;
    }
    let covered = covered(&seen.once, &meant);
    let proof = Proof { verdict: ProofVerdict::Nothing, why: seen.why };
    Some(proven(proof, by.to_owned(), seen.from, covered))
}

fn proven(proof: Proof, by: String, from: String, covered: Covered) -> Proof {
    let mut why = proof.why;
    why.push(format!("proven: {by}"));
    Proof { verdict: ProofVerdict::Proven(Credential { by, from, covered }), why }
}

/// Fields that are there once and covered by each of the signatures.
fn covered(once: &Covered, signatures: &[&Signature]) -> Covered {
    let by_all = |field: &str| signatures.iter().all(|signature| signature.covers(field));
    let encoding_signed = by_all("content-transfer-encoding");
    Covered {
        subject: once.subject && by_all("subject"),
        date: once.date && by_all("date"),
        to: once.to && by_all("to"),
        message_id: once.message_id && by_all("message-id"),
        content_type: by_all("content-type"),
        encoding: once.encoding || encoding_signed,
        encoding_signed,
    }
}

/// Work on a thread of its own, within its time; a panic is a reason.
async fn on_blocking_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    let caught = move || catch_unwind(AssertUnwindSafe(work));
    match tokio::time::timeout(WORK_WITHIN, tokio::task::spawn_blocking(caught)).await {
        Ok(Ok(Ok(done))) => Ok(done),
        Err(_) => Err("checking its DKIM signatures took too long".into()),
        _ => Err("its DKIM signatures cannot be parsed".into()),
    }
}

/// Everything that can be found without a name server. The error says why no proof is possible.
fn look(banks: &Banks, question: &Question) -> Result<Seen, String> {
    if question.raw.len() > mime::MAX_MAIL_BYTES
        || mime::header_length(&question.raw) > mime::MAX_HEADER_BYTES
    {
        return Err("it is too large to check".into());
    }
    let wire = head::wire(&question.raw);
    let head = head::strict(&wire).map_err(|why| format!("{why}, so nothing can prove it"))?;
    let from = mime::only_from(&wire).ok_or("it does not have exactly one From address")?;
    let domain = from.rsplit_once('@').map_or("", |(_, domain)| domain);
    let Some(bank) = banks.by_sender(&from).or_else(|| banks.by_sender_domain(domain)) else {
        return Err("nothing to prove: its From address is not a known bank's".into());
    };
    let examined = dkim::examine(&wire, &head, bank, &from, question.seen);
    let mut seen = Seen {
        once: Covered {
            subject: head.count("Subject") == 1,
            date: head.count("Date") == 1,
            to: head.count("To") == 1,
            message_id: head.count("Message-ID") == 1,
            encoding: head.named("Content-Transfer-Encoding").all(|(_, field)| changes_nothing(field.value)),
            ..Covered::default()
        },
        usable: examined.usable,
        has_others: examined.has_others,
        vouched: None,
        why: examined.notes,
        from,
    };
    if let Some(id) = &question.authserv_id {
        match vouched(&head, bank, &seen, id) {
            Ok(by) => seen.vouched = Some(by),
            Err(why) => seen.why.push(why),
        }
    }
    Ok(seen)
}

/// Transfer encodings under which the bytes are the content.
fn changes_nothing(encoding: &[u8]) -> bool {
    [&b"7bit"[..], b"8bit", b"binary"].iter().any(|name| encoding.trim_ascii().eq_ignore_ascii_case(name))
}

/// The provider's verdict, if it counts. Its header must be the topmost of its kind with no Received above it,
/// so that everything the sender wrote is below. It must be the named provider's, and well formed. It must say
/// that the bank's signature is valid, and that signature must be there. And nothing else that the provider
/// says, there or in further headers of its own above the first Received, may contradict it.
fn vouched(head: &Header<'_>, bank: &Bank, seen: &Seen, id: &str) -> Result<String, String> {
    let received = head.named("Received").next().map_or(usize::MAX, |(place, _)| place);
    let mut theirs = Vec::new();
    let mut of_topmost = 0;
    let mut headers = head.named("Authentication-Results").enumerate().peekable();
    headers.peek().ok_or("the provider added no Authentication-Results header")?;
    for (n, (place, field)) in headers {
        if received < place && n == 0 {
            return Err(
                "the Authentication-Results header is below a Received header, so the sender may have \
                 written it"
                    .into(),
            );
        }
        if received < place {
            break;
        }
        let text = String::from_utf8_lossy(field.value);
        let verdict = verdict::parse(&text).ok_or("the Authentication-Results header cannot be parsed")?;
        let is_theirs = verdict.authserv_id.eq_ignore_ascii_case(id);
        if !is_theirs && n == 0 {
            return Err(format!("the topmost Authentication-Results header is not by {id}"));
        }
        if is_theirs && !verdict.is_sound {
            return Err(format!("the Authentication-Results header by {id} does not follow RFC 8601"));
        }
        theirs.extend(verdict.findings.into_iter().filter(|_| is_theirs));
        of_topmost = if n == 0 { theirs.len() } else { of_topmost };
    }
    let (finding, domain) = theirs
        .iter()
        .take(of_topmost)
        .filter(|finding| finding.method == "dkim" && finding.result == "pass")
        .filter_map(|finding| Some((finding, finding.property("header.d")?.to_ascii_lowercase())))
        .filter(|(finding, domain)| finding.property("header.i").is_none_or(|i| dkim::is_within(i, domain)))
        .find(|(_, domain)| dkim::is_aligned(domain, &seen.from, bank))
        .ok_or_else(|| format!("{id} does not report a pass for the bank's signature"))?;
    let of = seen.from.rsplit_once('@').map_or("", |(_, of)| of);
    if let Some(words) = verdict::besides(&theirs, bank, of) {
        return Err(format!("{id} also reports {words}"));
    }
    let is_meant = |signature: &Signature| {
        let selector = finding.property("header.s");
        signature.domain == domain
            && signature.is_timely()
            && selector.is_none_or(|selector| selector.eq_ignore_ascii_case(&signature.selector))
    };
    if seen.has_others || !seen.usable.iter().any(is_meant) {
        return Err(format!(
            "{id} reports a signature by {domain} that the mail does not have, or that does not count"
        ));
    }
    Ok(format!("authserv-id {id} d={domain}"))
}
