//! Headers of a proven mail that its signature does not cover, and what follows from them.
//!
//! Whoever forwards a mail can change, add and remove every header that its signature does not cover. The
//! values of such headers (subject, date, receiver, id) are not read. A header that says how to read the
//! content is worse. A payer can type text that becomes rows of the bank's when text is declared as HTML, HTML
//! as text, or when a boundary is declared in the middle of it. So such a mail goes to a person, unless the
//! bank's template says that the bank does not sign Content-Type. Then **the body itself must show what it is**
//! (`natural`: the signature covers it), and the mail is read as that. Its Content-Type must make no
//! difference, and no other type that it could have been given may lead to a different credit. So an approval
//! rests on signed bytes alone. Called by `alert_reader::read`.

use super::head;
use super::mime::{self, Body, ParsedMail};
use super::proof::Covered;
use super::{Banks, Intake, ReadOutcome, Reading, read_as_it_says};
use crate::domain::alert::{AlertFacts, BankTime, TimePrecision};

/// Boundaries that lines of one body could be taken for.
const MAX_BOUNDARIES: usize = 4;
/// Characters of a boundary (RFC 2046).
const MAX_BOUNDARY: usize = 70;
/// Charsets that banks write. In others the ASCII bytes mean something else, or only the bytes beyond ASCII do.
/// The first kind is never read without a doubt; the second differs only in those characters.
const CHARSETS: [&str; 2] = ["utf-8", "windows-1252"];
const CONTENT_TYPE: &str = "Content-Type";
const ENCODING: &str = "Content-Transfer-Encoding";

/// Removes from a proven mail what is not signed. Returns the names of the headers that were there.
pub(super) fn drop_unsigned(mail: &mut ParsedMail, covered: &Covered) -> Vec<&'static str> {
    let mut names = Vec::new();
    if !covered.subject && mail.subject.take().is_some() {
        names.push("Subject");
    }
    if !covered.date && mail.date.take().is_some() {
        names.push("Date");
    }
    if !covered.message_id && mail.message_id.take().is_some() {
        names.push("Message-ID");
    }
    if !covered.to && !mail.to.is_empty() {
        mail.to.clear();
        names.push("To");
    }
    names
}

/// Headers that say how to read the content, and that the proof does not cover.
fn open(covered: &Covered) -> Vec<&'static str> {
    let all = [(covered.content_type, CONTENT_TYPE), (covered.encoding, ENCODING)];
    all.into_iter().filter_map(|(covered, name)| (!covered).then_some(name)).collect()
}

/// Compares what was read from a mail with its unsigned headers.
pub(super) fn weigh(raw: &[u8], banks: &Banks, intake: &Intake, mut read: Reading) -> Reading {
    let covered = intake.covered();
    let open = open(&covered);
    if read.authentic_by.is_none() || open.is_empty() {
        return read;
    }
    read.unsigned.extend(&open);
    let bank = read.facts.bank.as_deref().and_then(|code| banks.by_code(code));
    let mut doubt = format!(
        "the bank's signature does not cover {}, so how the content is read could have been changed on the \
         way",
        open.join(" and ")
    );
    // Somebody else's transfer with typed rows could be shown as a debit of the bank's own, which holds money.
    let takes_back = takes_money_back(&read);
    let is_settled_so = bank.is_some_and(|bank| !bank.signs_content_type) || takes_back;
    if open == [CONTENT_TYPE] && is_settled_so && (read.outcome == ReadOutcome::Read || takes_back) {
        match settled(raw, banks, intake, &read) {
            Ok(natural) => return natural,
            Err(why) => doubt = format!("the bank does not sign Content-Type, and {why}"),
        }
    }
    read.why.push(format!("doubt: {doubt}"));
    if takes_back {
        read.outcome = ReadOutcome::Unreadable;
        read.facts = AlertFacts { bank: read.facts.bank, ..AlertFacts::default() };
    }
    read.facts.doubts.push(doubt);
    read
}

/// A debit or a reversal, or what may be one, because of which a credit may be held or an alarm raised.
fn takes_money_back(read: &Reading) -> bool {
    matches!(read.outcome, ReadOutcome::Ignored | ReadOutcome::Unreadable) && read.facts.is_outgoing()
}

/// The mail, read as its body says. The error says why its stated type may matter.
fn settled(raw: &[u8], banks: &Banks, intake: &Intake, given: &Reading) -> Result<Reading, String> {
    let bare = Bare::of(raw)?;
    let natural = bare.natural(&intake.covered())?;
    let mut signed = intake.clone();
    if let super::proof::ProofVerdict::Proven(credential) = &mut signed.proof.verdict {
        credential.covered.content_type = true;
    }
    let read_as = |form: &str| read_as_it_says(&bare.with(form), banks, &signed);
    let mut sure = read_as(&natural);
    if sure.outcome != given.outcome || sure.facts != given.facts {
        return Err(format!(
            "its body is {natural}, and as that it reads differently than under the type it came with"
        ));
    }
    let others = bare.others(&natural)?;
    for form in &others {
        let other = read_as(form);
        let follows = takes_money_back(&other) || other.outcome == ReadOutcome::Read;
        if follows && other.facts.doubts.is_empty() && tells_another(&other.facts, &sure.facts) {
            return Err(format!("as {form} it would report another payment than as {natural}"));
        }
    }
    sure.unsigned.clone_from(&given.unsigned);
    sure.why.push(format!(
        "its Content-Type is not signed; its body is {natural}, and as {} other types it reports no other \
         payment",
        others.len()
    ));
    Ok(sure)
}

/// Whether one reading tells what the other tells otherwise or not at all. What it does not tell says nothing,
/// nor does the narration itself, whose signs may differ by the charset: what follows from it is compared. Every fact is
/// named, so that a new one does not compile before it is compared here or said not to be: left out by oversight, it
/// could be forged by a changed Content-Type.
fn tells_another(other: &AlertFacts, sure: &AlertFacts) -> bool {
    fn differs<T: PartialEq>(other: &Option<T>, sure: &Option<T>) -> bool {
        other.is_some() && other != sure
    }
    let shown = |time: &Option<BankTime>| time.filter(|time| time.precision != TimePrecision::None);
    let AlertFacts {
        bank: _,     // the sender's, whatever the body is
        template: _, // other rows may be read by another layout
        direction,
        kind,
        amount,
        currency,
        account_number,
        virtual_account,
        virtual_amount,
        virtual_day,
        is_collection: _, // the narration's form
        holder_name,
        payer_name,
        payer_name_cut: _, // says how sure the name is, which is compared
        payer_account_number,
        payer_bank,
        narration: _,
        narration_cut: _, // says how whole the narration is
        remarks: _,       // as the narration
        reference,
        reference_is_unique: _, // the layout's word about the reference, which is compared
        session_id,
        occurred,
        balance,
        doubts: _, // a reading with doubts is not compared at all
    } = other;
    differs(direction, &sure.direction)
        || differs(kind, &sure.kind)
        || differs(amount, &sure.amount)
        || differs(currency, &sure.currency)
        || differs(account_number, &sure.account_number)
        || differs(virtual_account, &sure.virtual_account)
        || differs(virtual_amount, &sure.virtual_amount)
        || differs(virtual_day, &sure.virtual_day)
        || differs(holder_name, &sure.holder_name)
        || differs(payer_name, &sure.payer_name)
        || differs(payer_account_number, &sure.payer_account_number)
        || differs(payer_bank, &sure.payer_bank)
        || differs(reference, &sure.reference)
        || differs(session_id, &sure.session_id)
        || differs(&shown(occurred), &shown(&sure.occurred))
        || differs(balance, &sure.balance)
}

/// A mail without its Content-Type.
struct Bare {
    head: Vec<u8>,
    body: Vec<u8>,
}

impl Bare {
    fn of(raw: &[u8]) -> Result<Bare, String> {
        let wire = head::wire(raw);
        let strict = head::strict(&wire)?;
        let mut head = Vec::new();
        for field in strict.fields.iter().filter(|field| !field.name.eq_ignore_ascii_case(CONTENT_TYPE)) {
            head.extend_from_slice(field.name.as_bytes());
            head.push(b':');
            head.extend_from_slice(field.value);
        }
        let start = mime::header_length(&wire);
        let body = wire.get(start..).unwrap_or_default();
        Ok(Bare { head, body: body.strip_prefix(b"\r\n").unwrap_or(body).to_vec() })
    }

    fn with(&self, form: &str) -> Vec<u8> {
        let header = format!("{CONTENT_TYPE}: {form}\r\n\r\n");
        [&self.head, header.as_bytes(), &self.body].concat()
    }

    /// The type of the body, by its own signed bytes. The error: it could have several.
    fn natural(&self, covered: &Covered) -> Result<String, String> {
        if let Some(boundary) = self.outer_boundary()? {
            return Ok(multipart("alternative", &boundary));
        }
        // If somebody removed "quoted-printable", the encoded text would be read.
        if !covered.encoding_signed && may_be_printable(&self.body) {
            return Err("its body could be quoted-printable".into());
        }
        // Decoded, because a page in base64 does not look like one.
        let decoded = |charset: &str| match mime::open(&self.with(&format!("text/plain; charset={charset}")))
        {
            Ok(ParsedMail { bodies, .. }) => match &bodies[..] {
                [Body::Text(text)] => Ok(text.clone()),
                _ => Err("its body is not text".to_owned()),
            },
            Err(why) => Err(why),
        };
        let mut charset = CHARSETS[0];
        let mut text = decoded(charset)?;
        if text.contains('\u{FFFD}') {
            charset = CHARSETS[1];
            text = decoded(charset)?;
        }
        // Other charsets shift in and out of ASCII by such signs.
        if text.contains(|c: char| c.is_ascii_control() && !matches!(c, '\r' | '\n' | '\t')) {
            return Err("its body contains control characters".into());
        }
        let trimmed = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{FEFF}');
        let is_page = tag_at(trimmed) && trimmed.ends_with('>');
        let has_tags = trimmed.match_indices('<').any(|(at, _)| tag_at(&trimmed[at..]));
        match (is_page, has_tags) {
            (true, _) => Ok(format!("text/html; charset={charset}")),
            (false, false) => Ok(format!("text/plain; charset={charset}")),
            (false, true) => {
                Err("its body contains tags but is not a whole page, so it could be text or HTML".into())
            }
        }
    }

    fn lines(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end)
    }

    /// The boundary of a multipart body: its first line (after the preamble that some programs write for old
    /// readers) begins the first part, and its last line ends the last one.
    fn outer_boundary(&self) -> Result<Option<String>, String> {
        let unclear = || Err("it is unclear whether its body consists of parts".to_owned());
        let mut lines = self.lines().filter(|line| !line.is_empty());
        let first = lines.next().unwrap_or_default();
        let last = self.lines().rfind(|line| !line.is_empty()).unwrap_or_default();
        let ended = last.strip_prefix(b"--").and_then(|line| line.strip_suffix(b"--")).and_then(boundary);
        let begins =
            |line: &[u8], of: &str| line.strip_prefix(b"--").is_some_and(|rest| rest == of.as_bytes());
        let Some(ended) = ended.filter(|ended| self.lines().any(|line| begins(line, ended))) else {
            return if first.starts_with(b"--") || self.lines().any(describes_a_part) {
                unclear()
            } else {
                Ok(None)
            };
        };
        let is_usual = |line: &[u8]| line.to_ascii_lowercase().starts_with(b"this is a multi");
        let opening = if is_usual(first) { lines.next().unwrap_or_default() } else { first };
        let described = lines.next().is_some_and(describes_a_part);
        if begins(opening, &ended) && described { Ok(Some(ended)) } else { unclear() }
    }

    /// The other types that are tried.
    fn others(&self, natural: &str) -> Result<Vec<String>, String> {
        let mut boundaries: Vec<String> = Vec::new();
        for line in self.lines() {
            let Some(rest) = line.strip_prefix(b"--") else { continue };
            for text in [Some(rest), rest.strip_suffix(b"--")].into_iter().flatten().filter_map(boundary) {
                if !boundaries.contains(&text) {
                    boundaries.push(text);
                }
            }
            if boundaries.len() > 2 * MAX_BOUNDARIES {
                return Err("too many of its lines could be boundaries".into());
            }
        }
        let mut forms: Vec<String> = ["plain", "html"]
            .iter()
            .flat_map(|kind| CHARSETS.map(|charset| format!("text/{kind}; charset={charset}")))
            .collect();
        for boundary in &boundaries {
            forms.extend(["alternative", "mixed"].map(|kind| multipart(kind, boundary)));
        }
        forms.retain(|form| form != natural);
        Ok(forms)
    }
}

fn multipart(kind: &str, boundary: &str) -> String {
    format!("multipart/{kind}; boundary=\"{boundary}\"")
}

/// A header at the beginning of a part.
fn describes_a_part(line: &[u8]) -> bool {
    let line = line.to_ascii_lowercase();
    [&b"content-type:"[..], b"content-transfer-encoding:"].iter().any(|name| line.starts_with(name))
}

/// The text of a possible boundary.
fn boundary(text: &[u8]) -> Option<String> {
    let is_fit = |b: &u8| b.is_ascii_alphanumeric() || b"'()+_,-./:=? ".contains(b);
    let fits = (1..=MAX_BOUNDARY).contains(&text.len()) && text.iter().all(is_fit) && !text.ends_with(b" ");
    fits.then(|| String::from_utf8_lossy(text).into_owned())
}

/// Whether every `=` of a body begins an escape or ends a line, so that it may have been encoded.
fn may_be_printable(body: &[u8]) -> bool {
    let is_hex = |b: u8| b.is_ascii_hexdigit();
    let mut signs =
        body.iter().enumerate().filter(|(_, b)| **b == b'=').map(|(at, _)| &body[at + 1..]).peekable();
    signs.peek().is_some()
        && signs.all(|rest: &[u8]| match rest {
            [a, b, ..] if is_hex(*a) && is_hex(*b) => true,
            rest => {
                let line = rest.split(|b| *b == b'\n').next().unwrap_or_default();
                line.trim_ascii().is_empty()
            }
        })
}

/// Whether a tag, a comment or a declaration begins here. `<https://...>` and `<a@b.example>` are none.
fn tag_at(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('<') else { return false };
    if rest.starts_with(['!', '?']) {
        return true;
    }
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    let name = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(rest.len());
    let is_named = rest.starts_with(|c: char| c.is_ascii_alphabetic());
    is_named && rest[name..].chars().next().is_none_or(|c| c.is_whitespace() || matches!(c, '>' | '/'))
}
