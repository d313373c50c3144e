//! Whether the parts of one mail (usually its text and its HTML) agree on amounts, accounts, payers and
//! directions, in rows or in sentences that no layout knows.
//!
//! People read one part or the other, and so does a layout. What is in one part and missing from another is a
//! doubt. A part that says nothing about the transaction contradicts nothing. Words that a payer typed are
//! masked, unless the parts agree when they are included. Part of `extract`; nothing else calls it.

mod told;

use std::collections::BTreeSet;

use super::Reader;
use crate::alert_reader::template::Claims;
use crate::alert_reader::text_table::{Arrangement, TextTable};
use crate::domain::alert::{AlertFacts, Direction};
use told::{Sum, accounts, figures, folded_account, is_of_numbers, squeeze, words};

/// Claims of one part that are compared; an alert has a few. With more, the parts count as different.
const MAX_CLAIMS: usize = 300;

/// A longer text is not a name; it is compared up to here.
const MAX_NAME_BYTES: usize = 120;

pub(super) const AMOUNTS_DIFFER: &str = "the parts of the mail show different amounts";
pub(super) const DIRECTIONS_DIFFER: &str = "the parts of the mail differ on whether this is a credit or a \
                                            debit";

/// What one text tells.
#[derive(Debug, Default)]
struct Told {
    /// Amounts in their order, each once, with their currencies where shown.
    figures: Vec<Sum>,
    accounts: BTreeSet<String>,
    debit: Vec<bool>,
    credit: Vec<bool>,
}

impl Told {
    fn of(text: &str, claims: &Claims) -> Told {
        let mut plain = text.to_owned();
        for words in &claims.neutral {
            plain = words.replace_all(&plain, " ").into_owned();
        }
        Told {
            figures: figures(text, claims),
            accounts: accounts(text),
            debit: claims.debit.iter().map(|r| r.is_match(&plain)).collect(),
            credit: claims.credit.iter().map(|r| r.is_match(&plain)).collect(),
        }
    }

    fn speaks_of(words: &[bool]) -> bool {
        words.contains(&true)
    }

    /// Whether it tells anything of a transaction.
    fn anything(&self) -> bool {
        !self.figures.is_empty()
            || !self.accounts.is_empty()
            || Told::speaks_of(&self.debit)
            || Told::speaks_of(&self.credit)
    }
}

/// One part of the mail.
struct Part {
    /// Without what a payer may have typed.
    own: Told,
    own_text: String,
    /// With it.
    full: Told,
    /// What stands at its labels of narrations and payers.
    stories: Vec<String>,
    /// Letters and figures of the whole, for looking up what another part says.
    squeezed: String,
}

fn parts(reader: &Reader<'_>, claims: &Claims) -> Vec<Part> {
    let plain = |text: &str| claims.links.replace_all(&text.replace('\\', ""), " ").into_owned();
    // In every layout, a value that one space separates from its label counts here.
    let free = reader.layout.free_labels();
    let how = Arrangement { spaced: true, wraps: true };
    let part = |((table, whole), own): ((&TextTable, &String), &String)| {
        let (full, own_text) = (plain(whole), plain(own));
        let stories = table.values(&free, &reader.layout.known, how).into_iter().map(|f| squeeze(&f.text));
        Part {
            stories: stories.filter(|narration| !narration.is_empty()).collect(),
            own: Told::of(&own_text, claims),
            own_text,
            full: Told::of(&full, claims),
            squeezed: squeeze(&full),
        }
    };
    let parts = reader
        .tables
        .iter()
        .zip(&reader.whole)
        .zip(&reader.texts)
        .map(part)
        .filter(|part| part.full.anything() || names_row(&part.own_text, claims));
    parts.collect()
}

/// A debit becomes neither if another part tells of a credit and of nothing else.
pub(super) fn settle(
    reader: &mut Reader<'_>,
    direction: Option<Direction>,
    claims: &Claims,
) -> Option<Direction> {
    if reader.tables.len() < 2 || direction != Some(Direction::Debit) {
        return direction;
    }
    let parts = parts(reader, claims);
    let debit = parts.iter().any(|p| Told::speaks_of(&p.own.debit));
    let credit = |p: &Part| Told::speaks_of(&p.own.credit) && !Told::speaks_of(&p.own.debit);
    if debit && parts.iter().any(credit) {
        reader.doubt(DIRECTIONS_DIFFER);
        return None;
    }
    direction
}

/// Doubts what the parts tell differently.
pub(super) fn compare(reader: &mut Reader<'_>, facts: &AlertFacts, claims: &Claims) {
    if reader.tables.len() < 2 {
        return;
    }
    let parts = parts(reader, claims);
    if amounts_differ(&parts, facts) {
        reader.doubt(AMOUNTS_DIFFER);
    }
    if accounts_differ(&parts, facts) {
        reader.doubt("the parts of the mail show different accounts");
    }
    if facts.direction == Some(Direction::Credit) && directions_differ(&parts) {
        reader.doubt(DIRECTIONS_DIFFER);
    }
    if payers_differ(&parts, facts, claims) {
        reader.doubt("the parts of the mail show different payers");
    }
}

/// Every two parts, the first against the second.
fn pairs(parts: &[Part]) -> impl Iterator<Item = (&Part, &Part)> {
    parts.iter().enumerate().flat_map(move |(i, one)| {
        parts.iter().enumerate().filter(move |(j, _)| i != *j).map(move |(_, other)| (one, other))
    })
}

fn amounts_differ(parts: &[Part], facts: &AlertFacts) -> bool {
    let read = facts.amount.map(|amount| amount.to_string());
    let silent = |told: &Told| told.figures.is_empty();
    let same = |a: &Told, b: &Told| {
        let known = |(figure, code): &Sum| {
            b.figures.iter().any(|(f, c)| f == figure && (c.is_none() || code.is_none() || c == code))
        };
        let first = |told: &Told| told.figures.first().map(|(figure, _)| figure.clone());
        silent(a) || silent(b) || a.figures.iter().all(known) && first(a) == first(b)
    };
    // None of them is the one that was read, in its currency.
    let is_read =
        |(figure, code): &Sum| Some(figure) == read.as_ref() && (code.is_none() || *code == facts.currency);
    let missed = |part: &Part| !silent(&part.own) && read.is_some() && !part.own.figures.iter().any(is_read);
    let whole = |a: &Told, b: &Told| a.figures == b.figures && !silent(a);
    // The same figure in another currency, which the other part does not tell.
    let foreign = |a: &Part, b: &Part| {
        let of_read = a.own.figures.iter().filter(|(f, c)| Some(f) == read.as_ref() && c.is_some());
        of_read.clone().any(|sum| sum.1 != facts.currency && !b.full.figures.contains(sum))
    };
    parts.len() > 1
        && (parts.iter().any(missed)
            || pairs(parts).any(|(a, b)| foreign(a, b) || !same(&a.own, &b.own) && !whole(&a.full, &b.full)))
}

fn accounts_differ(parts: &[Part], facts: &AlertFacts) -> bool {
    let read = facts.account_number.as_deref().map(folded_account);
    let missed = |part: &Part| {
        let shown = &part.own.accounts;
        !shown.is_empty() && read.as_ref().is_some_and(|read| !shown.contains(read))
    };
    let differ =
        |a: &Told, b: &Told| !a.accounts.is_empty() && !b.accounts.is_empty() && a.accounts != b.accounts;
    parts.len() > 1
        && (parts.iter().any(missed)
            || pairs(parts).any(|(a, b)| differ(&a.own, &b.own) && differ(&a.full, &b.full)))
}

/// Words of a debit in one part that the other does not have.
fn directions_differ(parts: &[Part]) -> bool {
    pairs(parts).any(|(a, b)| a.own.debit.iter().zip(&b.full.debit).any(|(here, there)| *here && !*there))
}

fn payers_differ(parts: &[Part], facts: &AlertFacts, claims: &Claims) -> bool {
    let payer = facts.payer_name.as_deref();
    let stories_differ = |one: &Part, other: &Part| {
        !other.stories.is_empty() && one.stories.iter().any(|narration| !other.squeezed.contains(narration))
    };
    pairs(parts).any(|(one, other)| {
        let strange =
            |claim: &Claim| !other.squeezed.contains(&squeeze(&claim.said)) && !is_payer(&claim.name, payer);
        let claims = payer_claims(&one.own_text, claims);
        stories_differ(one, other) || claims.len() > MAX_CLAIMS || claims.iter().any(strange)
    })
}

fn is_payer(name: &str, payer: Option<&str>) -> bool {
    let (name, payer) = (squeeze(name), squeeze(payer.unwrap_or_default()));
    let longer = if name.len() > payer.len() { (&name, &payer) } else { (&payer, &name) };
    !payer.is_empty() && longer.0.contains(longer.1.as_str())
}

/// What a part says of the payer: the words, and the name in them.
struct Claim {
    said: String,
    name: String,
}

fn names_row(text: &str, claims: &Claims) -> bool {
    claims.payer_rows.iter().any(|r| r.is_match(text))
}

fn payer_claims(text: &str, claims: &Claims) -> Vec<Claim> {
    let mut out = Vec::new();
    for pattern in &claims.payer_rows {
        out.extend(found_by(pattern, text, claims));
    }
    for line in text.lines().filter(|line| tells_money(line, claims)) {
        for pattern in &claims.payer_told {
            out.extend(found_by(pattern, line, claims));
        }
        out.extend(runs(line, claims).into_iter().map(|run| Claim { said: run.clone(), name: run }));
        if out.len() > MAX_CLAIMS {
            break;
        }
    }
    out
}

fn found_by(pattern: &regex::Regex, text: &str, claims: &Claims) -> Vec<Claim> {
    let claim = |found: regex::Captures<'_>| {
        let (all, name) = (found.get(0)?, found.name("v")?);
        let kept = name_in(name.as_str(), claims)?;
        // Up to the end of the name, or from its beginning where the words stand behind it.
        let said = if name.end() == all.end() {
            format!("{}{}", &text[all.start()..name.start()], kept)
        } else {
            text[name.start()..all.end()].to_owned()
        };
        Some(Claim { said, name: kept })
    };
    pattern.captures_iter(text).take(MAX_CLAIMS + 1).filter_map(claim).collect()
}

fn tells_money(line: &str, claims: &Claims) -> bool {
    words(line).any(|w| claims.told.contains(&w)) || !figures(line, claims).is_empty()
}

/// The name at the beginning of what stands in a name's place.
fn name_in(text: &str, claims: &Claims) -> Option<String> {
    let is = |list: &[String], word: &str| list.iter().any(|w| *w == word.to_lowercase());
    let text = text.get(..text.floor_char_boundary(MAX_NAME_BYTES)).unwrap_or(text);
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let mut name: Vec<&str> = Vec::new();
    for word in text.split_whitespace() {
        if is(&claims.stops, &bare(word)) && !name.is_empty() {
            break;
        }
        name.push(word);
    }
    let first = name.first().map(|w| bare(w))?;
    let ordinary = |w: &&str| is(&claims.ordinary, &bare(w)) || bare(w).is_empty();
    if is(&claims.nobody, &first) || is(&claims.stops, &first) || name.iter().all(ordinary) {
        return None;
    }
    Some(name.join(" "))
}

/// Two words or more with capitals that are no ordinary ones and no sum in words.
fn runs(line: &str, claims: &Claims) -> Vec<String> {
    let mut out = Vec::new();
    let mut run: Vec<&str> = Vec::new();
    for word in line.split([' ', '\t']).chain([""]) {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let capital = bare.chars().next().is_some_and(char::is_uppercase)
            && bare.chars().count() >= 2
            && bare.chars().all(|c| c.is_alphabetic() || "'’.-".contains(c));
        let named = capital && !claims.ordinary.contains(&bare.to_lowercase());
        if named {
            run.push(bare);
        }
        // A sign ends a name as well as a word does.
        if !named || word.ends_with(|c: char| !c.is_alphanumeric()) {
            if run.len() >= 2 && !run.iter().all(|word| is_of_numbers(word)) {
                out.push(run.join(" "));
            }
            run.clear();
        }
    }
    out
}
