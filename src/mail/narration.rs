//! What a narration tells: the payer's name, bank and account, the session id, a virtual
//! account. The forms are data (templates and data/narration.toml); this runs them and judges
//! whether what stands in the name's place is a name. Called by `extract` only.

use regex::Captures;

use super::sheet::collapse;
use super::template::{Bank, NarrationRule, Shared};
use crate::domain::alert::Direction;
use crate::domain::money::Money;
use crate::domain::time::Timestamp;

/// Longer is no name (design: over 120 characters never matches).
const MAX_NAME_CHARS: usize = 120;

/// What was found. Everything is `None` where the narration's form is not known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Story {
    pub payer: Option<String>,
    pub payer_cut: bool,
    /// The name the money went to, where the narration tells it.
    pub receiver: Option<String>,
    pub payer_bank: Option<String>,
    pub payer_account: Option<String>,
    pub session: Option<String>,
    pub reference: Option<String>,
    pub virtual_account: Option<String>,
    pub virtual_amount: Option<Money>,
    pub virtual_day: Option<i64>,
}

/// What the reader of narrations has to know besides the text.
pub struct Setting<'a> {
    pub bank: &'a Bank,
    pub shared: &'a Shared,
    pub layout: &'a str,
    pub direction: Option<Direction>,
    pub holder: Option<&'a str>,
    /// The narration fills its field to the limit, so its end may be missing.
    pub filled: bool,
}

/// Reads a narration, whitespace collapsed and parts joined.
pub fn read(text: &str, setting: &Setting<'_>) -> Story {
    let mut story = Story::default();
    for rule in setting.bank.narrations.iter().chain(&setting.shared.narrations) {
        if !applies(rule, setting) {
            continue;
        }
        let Some(found) = rule.pattern.captures(text) else { continue };
        take_codes(&found, setting.shared, &mut story);
        if rule.no_payer {
            break;
        }
        if let Some(payer) = choose(&found, setting) {
            let at_the_end = collapse(text).ends_with(&payer);
            let length = payer.chars().count();
            story.payer_cut = setting.bank.cut_lengths.contains(&length) || setting.filled && at_the_end;
            story.payer = Some(payer);
            break;
        }
    }
    if story.payer_bank.is_none() {
        let session = story.session.as_deref();
        story.payer_bank = session.and_then(|s| setting.shared.institutions.by_code(s)).map(str::to_owned);
    }
    story
}

fn applies(rule: &NarrationRule, setting: &Setting<'_>) -> bool {
    (rule.layouts.is_empty() || rule.layouts.iter().any(|l| l == setting.layout))
        && rule.direction.is_none_or(|d| setting.direction == Some(d))
        && rule.filled.is_none_or(|f| f == setting.filled)
}

/// Everything but the name; what an earlier rule found stays.
fn take_codes(found: &Captures<'_>, shared: &Shared, story: &mut Story) {
    let group = |name: &str| found.name(name).map(|m| collapse(m.as_str())).filter(|t| !t.is_empty());
    let keep = |slot: &mut Option<String>, value: Option<String>| {
        if slot.is_none() {
            *slot = value;
        }
    };
    keep(&mut story.session, group("session"));
    keep(&mut story.reference, group("reference"));
    keep(&mut story.receiver, group("receiver"));
    keep(&mut story.payer_account, group("payer_account"));
    keep(&mut story.virtual_account, group("virtual"));
    let bank = group("bank").and_then(|b| shared.institutions.by_letters(&b).map(str::to_owned));
    // The session id is the network's own word, the letters may be an app's.
    let network = story.session.as_deref().and_then(|s| shared.institutions.by_code(s)).map(str::to_owned);
    keep(&mut story.payer_bank, network.or(bank));
    if story.virtual_amount.is_none() {
        story.virtual_amount = group("kobo").and_then(|k| k.parse().ok()).map(Money);
        story.virtual_day = group("day").and_then(|d| day(&d));
    }
}

/// `yyyymmdd` as a Lagos day number.
fn day(text: &str) -> Option<i64> {
    let (year, rest) = text.split_at_checked(4)?;
    let (month, day) = rest.split_at_checked(2)?;
    Timestamp::from_utc_date(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?)
        .map(|t| t.lagos_day())
}

/// The payer among `payer` and `payer2`: the holder's own name only if there is no other, and
/// of two writings of one name the longer.
fn choose(found: &Captures<'_>, setting: &Setting<'_>) -> Option<String> {
    let name = |group: &str| found.name(group).and_then(|m| clean_name(m.as_str(), setting.shared));
    let (first, second) = (name("payer"), name("payer2"));
    let (Some(a), Some(b)) = (first.clone(), second.clone()) else { return first.or(second) };
    if let Some(holder) = setting.holder {
        match (same_words(&a, holder), same_words(&b, holder)) {
            (true, false) => return Some(b),
            (false, true) => return Some(a),
            _ => {}
        }
    }
    let starts = |long: &str, short: &str| squeeze(long).starts_with(&squeeze(short));
    Some(if b.len() > a.len() && starts(&b, &a) { b } else { a })
}

fn squeeze(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_uppercase).collect()
}

fn same_words(a: &str, b: &str) -> bool {
    let words = |name: &str| {
        let mut words: Vec<String> = name
            .split(|c: char| !c.is_alphanumeric())
            .filter(|w| !w.is_empty())
            .map(str::to_uppercase)
            .collect();
        words.sort();
        words
    };
    words(a) == words(b)
}

/// A name without what is glued to it; `None` when it is none: digits, an institution, a word
/// such as "payment".
pub fn clean_name(raw: &str, shared: &Shared) -> Option<String> {
    let mut name = collapse(raw);
    for noise in &shared.name_noise {
        name = noise.replace_all(&name, "").into_owned();
    }
    let name = collapse(name.trim_matches([' ', '-', ',', '/', '.', ':', '|', '*', '_', ';']));
    let letters = name.chars().filter(|c| c.is_alphabetic()).count();
    let digits = name.chars().filter(char::is_ascii_digit).count();
    let allowed = name.chars().all(|c| c.is_alphanumeric() || " '’`-.,&()/+".contains(c));
    let wanted = letters >= 2 && digits <= 3 && allowed && name.chars().count() <= MAX_NAME_CHARS;
    let named = !shared.not_names.contains(&name.to_uppercase())
        && !shared.not_in_names.iter().any(|r| r.is_match(&name));
    (wanted && named).then_some(name)
}
