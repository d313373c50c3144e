//! From the TOML of a template to what `extract` runs: expressions compiled under a size
//! limit, labels folded, every value checked. Called once at start, by `template`.

use std::collections::HashMap;

use super::embedded::carries;
use super::pattern::Pattern;
use super::raw::{
    RawBank, RawClaims, RawField, RawInstitutions, RawKind, RawLayout, RawNarration, RawShared,
};
use super::{
    Bank, Claims, Continuation, DirectionRule, FieldName, FieldRule, Institutions, KindRule, Layout,
    MaskForm, NarrationRule, Shared, States, TemplateError, core,
};
use crate::alert_reader::text_table::{collapse, fold_label};
use crate::domain::alert::{AlertKind, Direction};

/// Characters of one expression before `{BANK}` is put in.
const MAX_PATTERN: usize = 2000;
/// Expressions, labels and the like in one list.
const MAX_LIST: usize = 200;

/// Groups of an expression over narrations, see `RawNarration`.
const NARRATION_GROUPS: [&str; 10] = [
    "payer",
    "payer2",
    "bank",
    "payer_account",
    "session",
    "reference",
    "receiver",
    "virtual",
    "kobo",
    "day",
];

/// The file and the place in it, for the error.
struct Place<'a> {
    file: &'a str,
    /// What is written in the file.
    text: &'a str,
    /// Alternatives for `{BANK}`: every way to write an institution.
    words: &'a str,
    /// Whether the program carries the text: its tests have checked the expressions.
    is_carried: bool,
}

/// Currencies that a template may name (ISO 4217).
const CURRENCIES: &str = "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD \
    CAD CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD \
    GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT \
    LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR \
    NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP \
    STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED VES VND VUV WST XAF XCD \
    XCG XOF XPF YER ZAR ZMW ZWG ZWL";

impl Place<'_> {
    fn wrong(&self, key: &str, message: impl Into<String>) -> TemplateError {
        TemplateError::Value { file: self.file.to_owned(), key: key.to_owned(), message: message.into() }
    }

    fn regex(&self, key: &str, pattern: &str) -> Result<Pattern, TemplateError> {
        if pattern.len() > MAX_PATTERN {
            return Err(self.wrong(key, format!("the expression is longer than {MAX_PATTERN} characters")));
        }
        let expression = pattern.replace("{BANK}", self.words);
        if self.is_carried {
            return Ok(Pattern::carried(expression));
        }
        Pattern::new(expression)
            .map_err(|e| self.wrong(key, format!("{pattern:?}: {}", collapse(&e.to_string()))))
    }

    fn regexes(&self, key: &str, patterns: &[String]) -> Result<Vec<Pattern>, TemplateError> {
        if patterns.len() > MAX_LIST {
            return Err(self.wrong(key, format!("more than {MAX_LIST} entries")));
        }
        patterns.iter().map(|p| self.regex(key, p)).collect()
    }

    /// Refuses a named group that is not used: with a typing error its field would stay unread.
    fn groups(&self, key: &str, pattern: &Pattern, known: &[&str]) -> Result<(), TemplateError> {
        if self.is_carried {
            return Ok(());
        }
        let Some(odd) = pattern.capture_names().flatten().find(|name| !known.contains(name)) else {
            return Ok(());
        };
        let line = self.text.find(&format!("<{odd}>")).map(|at| self.text[..at].matches('\n').count() + 1);
        let place = line.map_or(String::new(), |line| format!("line {line}: "));
        Err(self.wrong(
            key,
            format!("{place}{odd:?} is not a known group; the known groups are {}", known.join(", ")),
        ))
    }

    fn direction(
        &self,
        key: &str,
        text: Option<&str>,
        default: &str,
    ) -> Result<Option<Direction>, TemplateError> {
        match text.unwrap_or(default) {
            "credit" => Ok(Some(Direction::Credit)),
            "debit" => Ok(Some(Direction::Debit)),
            "any" => Ok(None),
            other => Err(self.wrong(key, format!("{other:?} is not one of credit, debit, any"))),
        }
    }

    fn narrations(&self, raw: &[RawNarration]) -> Result<Vec<NarrationRule>, TemplateError> {
        raw.iter()
            .map(|r| {
                let pattern = self.regex("narration.pattern", &r.pattern)?;
                self.groups("narration.pattern", &pattern, &NARRATION_GROUPS)?;
                Ok(NarrationRule {
                    pattern,
                    written: r.pattern.clone(),
                    layouts: r.layouts.clone(),
                    direction: self.direction("narration.direction", r.direction.as_deref(), "credit")?,
                    filled: r.filled,
                    no_payer: r.no_payer,
                    payer_wins: r.payer_wins,
                    payer_cut_at: r.payer_cut_at,
                    loose: r.loose,
                })
            })
            .collect()
    }

    fn kinds(&self, raw: &[RawKind]) -> Result<Vec<KindRule>, TemplateError> {
        raw.iter()
            .map(|r| {
                let kind = match r.kind.as_str() {
                    "reversal" => Some(AlertKind::Reversal),
                    "fee" => Some(AlertKind::Fee),
                    "own_transfer" => Some(AlertKind::OwnTransfer),
                    "doubt" => None,
                    other => {
                        let message = format!("{other:?} is not one of reversal, fee, own_transfer, doubt");
                        return Err(self.wrong("kind.kind", message));
                    }
                };
                Ok(KindRule {
                    kind,
                    pattern: self.regex("kind.pattern", &r.pattern)?,
                    direction: self.direction("kind.direction", r.direction.as_deref(), "any")?,
                })
            })
            .collect()
    }
}

fn parse<T: serde::de::DeserializeOwned>(file: &str, text: &str) -> Result<T, TemplateError> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.split('\n').count();
        let message = format!("line {line}: {}", error.message());
        TemplateError::Parse { file: file.to_owned(), message }
    })
}

/// The table of institutions, and the alternatives that stand for `{BANK}`.
pub fn institutions(text: &str) -> Result<(Institutions, String), TemplateError> {
    let raw: RawInstitutions = parse("data/nip_codes.toml", text)?;
    let mut table = Institutions::default();
    let mut words = Vec::new();
    for one in raw.institution {
        if let Some(code) = one.code {
            table.by_code.insert(code, one.name.clone());
        }
        table.cores.extend([core(&one.name)]);
        for letters in one.letters {
            table.cores.insert(core(&letters));
            words.push(letters.to_uppercase());
            table.by_letters.insert(letters.to_uppercase(), one.name.clone());
        }
    }
    // Longest first, or `PAY` would answer for `PAYCOM`.
    words.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
    let alternatives =
        words.iter().map(|w| regex::escape(w).replace(' ', " +")).collect::<Vec<_>>().join("|");
    Ok((table, format!("(?i:{alternatives})")))
}

pub fn shared(text: &str, words: &str, institutions: Institutions) -> Result<Shared, TemplateError> {
    let file = "data/narration.toml";
    let raw: RawShared = parse(file, text)?;
    let place = Place { file, text, words, is_carried: carries(text) };
    Ok(Shared {
        words: words.to_owned(),
        name_noise: place.regexes("name_noise", &raw.name_noise)?,
        not_names: raw.not_names.iter().map(|n| collapse(n).to_uppercase()).collect(),
        not_in_names: place.regexes("not_in_names", &raw.not_in_names)?,
        not_in_loose_names: place.regexes("not_in_loose_names", &raw.not_in_loose_names)?,
        notices: place.regexes("notices", &raw.notices)?,
        transactions: place.regexes("transactions", &raw.transactions)?,
        moves: place.regexes("moves", &raw.moves)?,
        reversals: place.regexes("reversals", &raw.reversals)?,
        states: States {
            labels: raw.states.labels.iter().map(|l| fold_label(l)).collect(),
            come: place.regex("states.come", &raw.states.come)?,
            label_ends: place.regex("states.label_ends", &raw.states.label_ends)?,
            other_labels: place.regex("states.other_labels", &raw.states.other_labels)?,
            out: place.regex("states.out", &raw.states.out)?,
            kept: place.regex("states.kept", &raw.states.kept)?,
            none_kept: place.regex("states.none_kept", &raw.states.none_kept)?,
            waiting: place.regex("states.waiting", &raw.states.waiting)?,
            charges: place.regex("states.charges", &raw.states.charges)?,
            advice: place.regex("states.advice", &raw.states.advice)?,
            prose: place.regex("states.prose", &raw.states.prose)?,
            other: place.regex("states.other", &raw.states.other)?,
            went: place.regexes("states.went", &raw.states.went)?,
            lost: place.regex("states.lost", &raw.states.lost)?,
            about: place.regex("states.about", &raw.states.about)?,
            general: place.regex("states.general", &raw.states.general)?,
            plural: place.regex("states.plural", &raw.states.plural)?,
            no: place.regex("states.no", &raw.states.no)?,
            subject: place.regex("states.subject", &raw.states.subject)?,
            typed: raw.states.typed.iter().map(|l| fold_label(l)).collect(),
        },
        claims: claims(&place, raw.claims)?,
        narrations: place.narrations(&raw.narration)?,
        kinds: place.kinds(&raw.kind)?,
        institutions,
    })
}

fn claims(place: &Place<'_>, raw: RawClaims) -> Result<Claims, TemplateError> {
    Ok(Claims {
        neutral: place.regexes("claims.neutral", &raw.neutral)?,
        debit: place.regexes("claims.debit", &raw.debit)?,
        credit: place.regexes("claims.credit", &raw.credit)?,
        payer_rows: place.regexes("claims.payer_rows", &raw.payer_rows)?,
        payer_told: place.regexes("claims.payer_told", &raw.payer_told)?,
        links: place.regex("claims.links", &raw.links)?,
        aside: raw.aside,
        told: raw.told,
        fillers: raw.fillers,
        stops: raw.stops,
        nobody: raw.nobody,
        ordinary: raw.ordinary,
    })
}

/// `labels_of_all` end a value in every bank's mails.
pub fn bank(file: &str, text: &str, words: &str, labels_of_all: &[String]) -> Result<Bank, TemplateError> {
    let raw: RawBank = parse(file, text)?;
    let place = Place { file, text, words, is_carried: carries(text) };
    if raw.code.is_empty() || !raw.code.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()) {
        return Err(place.wrong("code", "must have only lower-case letters and digits"));
    }
    if raw.name.trim().is_empty() {
        return Err(place.wrong("name", "is empty"));
    }
    let senders: Vec<String> = raw.senders.iter().map(|s| s.trim().to_ascii_lowercase()).collect();
    if let Some(bad) = senders.iter().find(|s| s.split('@').filter(|p| !p.is_empty()).count() != 2) {
        return Err(place.wrong("senders", format!("{bad:?} is not an address")));
    }
    if let Some(bad) = raw.nip_codes.iter().find(|c| c.len() != 6 || !c.bytes().all(|b| b.is_ascii_digit())) {
        return Err(place.wrong("nip_codes", format!("{bad:?} is not six digits")));
    }
    if let Some(bad) =
        raw.currency.as_ref().filter(|code| !CURRENCIES.split(' ').any(|one| one == code.as_str()))
    {
        return Err(place.wrong("currency", format!("{bad:?} is not an ISO 4217 code such as \"NGN\"")));
    }
    let other: Vec<String> = raw.other_labels.iter().chain(labels_of_all).cloned().collect();
    let layouts = raw.layout.iter().map(|l| layout(&place, l, &other)).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<String> = layouts.iter().map(|l| l.name.clone()).collect();
    if let Some(unknown) = raw.narration.iter().flat_map(|n| &n.layouts).find(|l| !names.contains(l)) {
        return Err(place.wrong("narration.layouts", format!("there is no layout {unknown:?}")));
    }
    let mut cut_lengths = raw.cut_lengths.clone();
    cut_lengths.sort_unstable();
    Ok(Bank {
        code: raw.code,
        name: raw.name,
        aliases: raw.aliases,
        nip_codes: raw.nip_codes,
        senders,
        dkim_domains: raw.dkim_domains.iter().map(|d| d.to_ascii_lowercase()).collect(),
        currency: raw.currency,
        narration_is_typed: raw.narration_is_typed,
        signs_content_type: raw.signs_content_type,
        cut_lengths,
        mask: raw.mask.map(|m| MaskForm { lead: m.lead, trail: m.trail, hidden_end: m.hidden_end }),
        layout_names: names,
        layouts,
        collections: place.regexes("collections", &raw.collections)?,
        narrations: place.narrations(&raw.narration)?,
        kinds: place.kinds(&raw.kind)?,
        notices: place.regexes("notices", &raw.notices)?,
        examples: raw.example,
        simulation: raw.simulation,
    })
}

fn layout(place: &Place<'_>, raw: &RawLayout, other_labels: &[String]) -> Result<Layout, TemplateError> {
    let key = |k: &str| format!("layout {:?}: {k}", raw.name);
    let fold = |labels: &[String]| labels.iter().map(|l| fold_label(l)).collect::<Vec<_>>();
    let mut fields = HashMap::new();
    for (name, field) in &raw.fields {
        let Some(which) = field_name(name) else {
            return Err(place.wrong(&key("fields"), format!("{name:?} is not a field")));
        };
        fields.insert(which, compile_field(place, &key(&format!("fields.{name}")), field)?);
    }
    let d = &raw.direction;
    let direction = DirectionRule {
        labels: fold(&d.labels),
        credit: place.regexes(&key("direction.credit"), &d.credit)?,
        debit: place.regexes(&key("direction.debit"), &d.debit)?,
        subject_credit: place.regexes(&key("direction.subject_credit"), &d.subject_credit)?,
        subject_debit: place.regexes(&key("direction.subject_debit"), &d.subject_debit)?,
        amount_suffix: d.amount_suffix,
    };
    let continuation = raw.continuation.as_ref().map(|c| Continuation {
        labels: fold(&c.labels),
        at: c.at,
        gap_after: c.gap_after,
        limit: c.limit,
    });
    let mut known = fold(other_labels);
    known.extend(fields.values().flat_map(|f: &FieldRule| f.labels.clone()));
    known.extend(direction.labels.clone());
    known.extend(continuation.iter().flat_map(|c| c.labels.clone()));
    known.sort();
    known.dedup();
    Ok(Layout {
        name: raw.name.clone(),
        all: place.regexes(&key("all"), &raw.all)?,
        none: place.regexes(&key("none"), &raw.none)?,
        subject: place.regexes(&key("subject"), &raw.subject)?,
        spaced: raw.spaced,
        reference_is_unique: raw.reference_is_unique,
        narration_limit: raw.narration_limit,
        direction,
        fields,
        continuation,
        known,
    })
}

fn compile_field(place: &Place<'_>, key: &str, raw: &RawField) -> Result<FieldRule, TemplateError> {
    let lines = place.regexes(&format!("{key}.lines"), &raw.lines)?;
    let subject = place.regexes(&format!("{key}.subject"), &raw.subject)?;
    let lacks_value = |r: &Pattern| !r.capture_names().any(|n| n == Some("v"));
    if !place.is_carried && lines.iter().chain(&subject).any(lacks_value) {
        return Err(place.wrong(key, "every expression needs a group (?P<v>...)"));
    }
    for pattern in lines.iter().chain(&subject) {
        place.groups(key, pattern, &["v"])?;
    }
    Ok(FieldRule {
        labels: raw.labels.iter().map(|l| fold_label(l)).collect(),
        lines,
        subject,
        subject_alone: raw.subject_alone,
    })
}

fn field_name(name: &str) -> Option<FieldName> {
    FieldName::ALL.into_iter().find(|field| field.as_str() == name)
}

#[cfg(test)]
mod tests {
    use super::super::embedded::{NARRATION, NIP_CODES, TEMPLATES};
    use super::*;

    #[test]
    fn what_the_program_carries_has_no_mistake() {
        // A line more, so that it is read as an operator's own is.
        let own = |text: &str| format!("{text}\n");
        let (table, words) = institutions(NIP_CODES).unwrap();
        let shared = shared(&own(NARRATION), &words, table).unwrap();
        for (file, text) in TEMPLATES {
            bank(file, &own(text), &words, &shared.states.labels).unwrap();
        }
    }
}
