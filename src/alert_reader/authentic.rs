//! Does anything show that this mail is not the bank's? Checks From, look-alike domains, mails forwarded by
//! hand and the topmost Authentication-Results. If nothing does, the mail is "unproven".
//!
//! It never says "proven". That takes a DKIM signature that we verified, or the verdict of a provider that the
//! operator named; `mail_proof` judges those. What is found against a mail here holds in spite of a proof, because
//! no proof helps a mail whose From is not the bank's. Called by `alert_reader::read`.

use super::mime::ParsedMail;
use super::template::{Bank, Banks};
use super::text_table::{TextTable, collapse};
use super::verdict::against;
use crate::domain::alert::Authenticity;

/// Rows after the opening of a forward in which its From is looked for.
const FORWARD_HEAD_ROWS: usize = 12;

/// The verdict, the bank that the mail is from or claims to be from, and the reasons in words.
pub struct Judgement<'b> {
    pub authenticity: Authenticity,
    pub bank: Option<&'b Bank>,
    pub why: Vec<String>,
    pub doubts: Vec<String>,
    /// Where the rows of the quoted alert begin, for each text table; only in a forward.
    pub quoted_from: Vec<usize>,
    /// From is at the bank's domain, but is not one of its known addresses.
    stranger: bool,
}

/// Judges a mail by its headers and its visible rows.
pub fn judge<'b>(mail: &ParsedMail, tables: &[TextTable], banks: &'b Banks) -> Judgement<'b> {
    let mut judgement = Judgement {
        authenticity: Authenticity::Unproven,
        bank: None,
        why: Vec::new(),
        doubts: Vec::new(),
        quoted_from: Vec::new(),
        stranger: false,
    };
    let [from] = &mail.from[..] else {
        judgement.refute(if mail.from.is_empty() {
            "the mail has no From address"
        } else {
            "the mail has several From addresses"
        });
        return judgement;
    };
    if mail.from_headers != 1 {
        judgement.refute("the mail has several From headers");
        return judgement;
    }
    let domain = from.split_once('@').map_or("", |(_, domain)| domain);
    judgement.bank = banks.by_sender(from);
    if judgement.bank.is_none() {
        judgement.bank = banks.by_sender_domain(domain);
        if judgement.bank.is_some() {
            judgement.stranger = true;
            judgement.doubts.push(format!("{from} is not one of the bank's known senders"));
        }
    }
    // A person's forward is not sent from the bank's own address: there two rows more beside a "From:" may be fields of the
    // bank's, or of the payer's.
    let is_the_banks = judgement.bank.is_some() && !judgement.stranger;
    let quote = quoted(tables, banks);
    if quote.as_ref().is_some_and(|quote| is_the_banks && !quote.opened) {
        judgement.doubts.push("rows of the mail look like the head of a forwarded mail".into());
    } else if let Some(Quote { bank, starts, .. }) = quote {
        judgement.why.push("forwarded by hand: the sender is a person, not the bank".into());
        judgement.authenticity = Authenticity::Forwarded;
        judgement.bank = Some(bank);
        judgement.quoted_from = starts;
        return judgement;
    }
    let Some(bank) = judgement.bank else {
        judgement.refute(&match look_alike(domain, banks) {
            Some(bank) => format!("{from} looks like an address of {}, but is not one", bank.name),
            None => format!("{from} is not a known bank's address"),
        });
        return judgement;
    };
    if let Some(top) = mail.verdicts.first() {
        match against(top, bank) {
            Some(reason) => judgement.refute(&reason),
            None => judgement
                .why
                .push("its Authentication-Results say nothing against it; they prove nothing here".into()),
        }
    }
    judgement
}

impl Judgement<'_> {
    /// A person's word replaces a missing proof, and not a From that is exactly the bank's
    /// (contract/alerts.md#a13). The bank's own signature does: such a mail goes to a person.
    pub fn vouched(&mut self) {
        if self.stranger && self.authenticity == Authenticity::Unproven {
            self.refute("the From address is at the bank's domain, but is not one of its known senders");
        }
    }

    fn refute(&mut self, reason: &str) {
        self.authenticity = Authenticity::Refuted;
        self.why.push(reason.to_owned());
    }
}

/// A bank whose domain this one imitates: the bank's first label stands inside it.
fn look_alike<'b>(domain: &str, banks: &'b Banks) -> Option<&'b Bank> {
    let plain: String = domain.chars().filter(|c| c.is_alphanumeric()).collect();
    banks.list().iter().find(|bank| {
        bank.senders.iter().filter_map(|s| s.split_once('@')).any(|(_, real)| {
            let label: String =
                real.split('.').next().unwrap_or_default().chars().filter(|c| c.is_alphanumeric()).collect();
            label.len() >= 4 && plain.contains(&label)
        })
    })
}

/// The head of a mail inside of another one, that names a bank's sender.
struct Quote<'b> {
    bank: &'b Bank,
    /// Where the quoted content begins, for each text table.
    starts: Vec<usize>,
    /// Words of a mail program stand above it.
    opened: bool,
}

/// A forward: the quoted head names a bank's sender.
fn quoted<'b>(tables: &[TextTable], banks: &'b Banks) -> Option<Quote<'b>> {
    let (mut bank, mut is_opened) = (None, false);
    let mut starts = vec![0; tables.len()];
    for (s, table) in tables.iter().enumerate() {
        let lines: Vec<String> = table
            .rows
            .iter()
            .map(|r| collapse(&r.join(" ")).trim_start_matches(['>', ' ', '*']).to_lowercase())
            .collect();
        for (i, line) in lines.iter().enumerate() {
            if !is_head_line(line) || !line.starts_with("from") {
                continue;
            }
            let near = lines[i..lines.len().min(i + FORWARD_HEAD_ROWS)].iter();
            let others = near.filter(|l| is_head_line(l)).count();
            // A lone "From:" row may be a field of the bank's own layout.
            let opened = lines[..i].iter().rev().take(3).any(|l| opens_forward(l));
            let Some(found) = addresses(line).find_map(|a| banks.by_sender(&a)) else { continue };
            if others >= 2 || opened {
                bank = Some(found);
                is_opened |= opened;
                let head = lines[i..]
                    .iter()
                    .take(FORWARD_HEAD_ROWS)
                    .take_while(|l| is_head_line(l) || l.is_empty())
                    .count();
                starts[s] = i + head;
                break;
            }
        }
    }
    bank.map(|bank| Quote { bank, starts, opened: is_opened })
}

fn opens_forward(line: &str) -> bool {
    ["forwarded message", "original message", "weitergeleitet", "message transféré"]
        .iter()
        .any(|w| line.contains(w))
}

fn is_head_line(line: &str) -> bool {
    ["from:", "date:", "subject:", "to:", "sent:", "cc:", "reply-to:"].iter().any(|h| {
        line.starts_with(h)
            || line.strip_prefix(&h[..h.len() - 1]).is_some_and(|rest| {
                rest.starts_with(['*', ' ']) && rest.trim_start_matches(['*', ' ']).starts_with(':')
            })
    })
}

/// Everything in a line that looks like an address.
fn addresses(line: &str) -> impl Iterator<Item = String> + '_ {
    line.split(|c: char| c.is_whitespace() || "<>()[],;\"'*".contains(c))
        .map(|w| w.trim_start_matches("mailto:").trim_start_matches("from:"))
        .filter(|w| w.contains('@'))
        .map(str::to_ascii_lowercase)
}
