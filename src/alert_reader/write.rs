//! Writes a mail as a bank writes it, for test mode (docs/decisions/0081-test-mode.md): the text is the template's own
//! `[simulation]`, with places for what the mail tells. What is written goes through the reader as any other mail.
//!
//! A place is `{name}` or `{name argument}`: `amount`, `amount.plain`, `amount.short` and the same of `balance`, `payer`,
//! `holder`, `remark`, `narration` and `continued` (what did not fit into it), `session`, `digits N`, `account PICTURE`
//! (the number with the digits that the picture shows), `time FORMAT` (in Lagos). Pure; called by `mail_intake`.

use jiff::tz::{Offset, TimeZone};

use super::Bank;
use super::template::raw::RawSimulation;
use crate::domain::money::{Money, grouped};
use crate::domain::time::{LAGOS_OFFSET_SECONDS, Timestamp};

/// What a simulated mail tells.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// The whole number of the account that the money came to.
    pub account: &'a str,
    pub holder: &'a str,
    pub amount: Money,
    pub payer: &'a str,
    /// What the payer typed.
    pub remark: &'a str,
    pub at: Timestamp,
    /// No two mails have the same: `digits` and the session id are made of it, and the Message-ID.
    pub unique: u128,
}

/// Digits that `{digits N}` may ask for.
const DIGITS_MAX: usize = 24;
/// The network's code of the bank that the payer is said to have paid from.
const PAYERS_BANK: &str = "100004";

/// Looks whether every place of a form is known; the error says which is not.
pub(super) fn check(form: &RawSimulation) -> Result<(), String> {
    if form.text.is_some() == form.html.is_some() {
        return Err("needs either text or html".into());
    }
    let sample = Told {
        account: "0000000001",
        holder: "A",
        amount: Money(1),
        payer: "A",
        remark: "A",
        at: Timestamp::MIN,
        unique: 0,
    };
    written(form, None, &sample).map(|_| ())
}

/// The mail, or `None` of a bank whose template does not tell how to write one.
pub fn write(bank: &Bank, told: &Told<'_>) -> Option<Vec<u8>> {
    // A form with a wrong place writes nothing; `bank check` says which.
    bank.simulation.as_ref().and_then(|form| written(form, Some(bank), told).ok())
}

fn written(form: &RawSimulation, bank: Option<&Bank>, told: &Told<'_>) -> Result<Vec<u8>, String> {
    let plain = Values { told, narration: String::new(), continued: String::new(), is_html: false };
    let whole = match &form.narration {
        Some(narration) => plain.fill(narration)?,
        None => String::new(),
    };
    let (narration, continued) = cut(&whole, form, bank);
    let values = Values { narration, continued, ..plain };
    let (kind, body) = match (&form.html, &form.text) {
        (Some(html), _) => ("text/html", Values { is_html: true, ..values.clone() }.fill(html)?),
        (None, text) => ("text/plain", values.fill(text.as_deref().unwrap_or_default())?),
    };
    let subject = values.fill(&form.subject)?;
    let date = values.time("%a, %d %b %Y %H:%M:%S %z")?;
    let (from, id) = (&form.from, told.unique);
    let body = body.trim_start_matches('\n').replace('\n', "\r\n");
    Ok(format!(
        "From: {from}\r\nTo: test mode <nobody@testbank.invalid>\r\nSubject: {subject}\r\nDate: {date}\r\n\
         Message-ID: <{id:032x}@testbank.invalid>\r\nMIME-Version: 1.0\r\n\
         Content-Type: {kind}; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n{body}\r\n"
    )
    .into_bytes())
}

/// The narration as the bank cuts it, and what goes on in another row, if the bank has one for it.
fn cut(whole: &str, form: &RawSimulation, bank: Option<&Bank>) -> (String, String) {
    let first = |text: &str, most: usize| text.chars().take(most).collect::<String>();
    let behind = |text: &str, at: usize| text.chars().skip(at).collect::<String>();
    let goes_on = bank.and_then(|bank| bank.layouts.iter().find_map(|layout| layout.continuation.as_ref()));
    match (goes_on, form.narration_limit) {
        (Some(rule), _) => {
            let rest = first(&behind(whole, rule.at), rule.limit);
            let (before, after) = (first(&rest, rule.gap_after), behind(&rest, rule.gap_after));
            let gap = if after.is_empty() { "" } else { " " };
            (first(whole, rule.at), format!("{before}{gap}{after}"))
        }
        (None, Some(limit)) => (first(whole, limit), String::new()),
        (None, None) => (whole.to_owned(), String::new()),
    }
}

#[derive(Clone)]
struct Values<'a> {
    told: &'a Told<'a>,
    narration: String,
    continued: String,
    is_html: bool,
}

impl Values<'_> {
    /// The text with its places filled.
    fn fill(&self, text: &str) -> Result<String, String> {
        let mut filled = String::with_capacity(text.len() + 64);
        let mut rest = text;
        while let Some((before, from)) = rest.split_once('{') {
            let (place, after) =
                from.split_once('}').ok_or_else(|| format!("a place is not closed: {{{from}"))?;
            filled.push_str(before);
            filled.push_str(&self.shown(&self.value(place)?));
            rest = after;
        }
        filled.push_str(rest);
        Ok(filled)
    }

    /// As it stands in the body: nothing that is told becomes markup.
    fn shown(&self, value: &str) -> String {
        if self.is_html {
            value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
        } else {
            value.to_owned()
        }
    }

    fn value(&self, place: &str) -> Result<String, String> {
        let told = self.told;
        let (name, argument) = place.split_once(' ').unwrap_or((place, ""));
        Ok(match name {
            "amount" | "balance" => grouped(told.amount),
            "amount.plain" | "balance.plain" => told.amount.to_string(),
            "amount.short" | "balance.short" => {
                told.amount.to_string().trim_end_matches('0').trim_end_matches('.').to_owned()
            }
            "payer" => told.payer.to_owned(),
            "holder" => told.holder.to_owned(),
            "remark" => told.remark.to_owned(),
            "narration" => self.narration.clone(),
            "continued" => self.continued.clone(),
            "session" => format!("{PAYERS_BANK}{}{}", self.time("%y%m%d%H%M%S")?, digits(told.unique, 12)),
            "digits" => match argument.parse() {
                Ok(count @ 1..=DIGITS_MAX) => digits(told.unique, count),
                _ => return Err(format!("{{{place}}}: 1 to {DIGITS_MAX} digits")),
            },
            "account" if !argument.is_empty() => pictured(told.account, argument),
            "time" => self.time(argument)?,
            _ => return Err(format!("{{{place}}} is not a known place")),
        })
    }

    fn time(&self, format: &str) -> Result<String, String> {
        let zone = Offset::from_seconds(LAGOS_OFFSET_SECONDS).map(TimeZone::fixed);
        let at = jiff::Timestamp::from_microsecond(self.told.at.0);
        let (Ok(zone), Ok(at)) = (zone, at) else { return Err("a time beyond all calendars".into()) };
        jiff::fmt::strtime::format(format, &at.to_zoned(zone))
            .map_err(|error| format!("{{time {format}}}: {error}"))
    }
}

/// The first of as many digits as the number has to give.
fn digits(unique: u128, count: usize) -> String {
    let all = format!("{:0width$}", unique % 10_u128.pow(DIGITS_MAX as u32), width = DIGITS_MAX);
    all.chars().take(count).collect()
}

/// The number as a picture of another one masks it: digits before the first mark count from the left, those after it
/// from the right.
fn pictured(number: &str, picture: &str) -> String {
    let (number, signs): (Vec<char>, Vec<char>) = (number.chars().collect(), picture.chars().collect());
    let head = signs.iter().position(|sign| !sign.is_ascii_digit()).unwrap_or(signs.len());
    if head == signs.len() {
        return number.into_iter().collect();
    }
    let shown = signs.iter().enumerate().map(|(at, sign)| {
        let place = if at < head { Some(at) } else { number.len().checked_sub(signs.len() - at) };
        place.filter(|_| sign.is_ascii_digit()).and_then(|place| number.get(place)).copied().unwrap_or(*sign)
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert_reader::{Banks, Intake, ReadOutcome, read};
    use crate::domain::account::mask_fits;
    use crate::domain::alert::Direction;

    const NOON: Timestamp = Timestamp(1_774_000_000_000_000);

    fn told<'a>(payer: &'a str, remark: &'a str) -> Told<'a> {
        Told {
            account: "0123456789",
            holder: "TILL AND BELL LTD",
            amount: Money(123_456_750),
            payer,
            remark,
            at: NOON,
            unique: 0x1234_5678_9abc_def0_1234_5678_9abc_def0,
        }
    }

    /// Banks whose alerts do not name what is asked for: nobody can read it from them.
    const NO_CREDITS: [&str; 1] = ["grey"];
    const NO_ACCOUNT: [&str; 1] = ["kuda"];
    const NO_PAYER: [&str; 2] = ["lotus", "quickmfb"];

    #[test]
    fn what_is_written_for_a_bank_is_read_as_it_was_told() {
        let banks = Banks::embedded().unwrap();
        for bank in banks.list() {
            for payer in ["ADA OBI", "Chukwuemeka Oluwaseun Adebayo-Williams", "O'NEILL & SONS"] {
                let told = told(payer, "rent");
                let raw = write(bank, &told).unwrap_or_else(|| panic!("{} has no simulation", bank.code));
                let text = String::from_utf8(raw.clone()).unwrap();
                let reading = read(&raw, &banks, &Intake::trusted(NOON));
                let facts = &reading.facts;
                assert_eq!(facts.bank.as_deref(), Some(bank.code.as_str()), "{text}");
                if NO_CREDITS.contains(&bank.code.as_str()) {
                    assert_eq!(reading.outcome, ReadOutcome::Ignored, "{text}");
                    continue;
                }
                assert_eq!(
                    (reading.outcome, facts.direction, facts.amount),
                    (ReadOutcome::Read, Some(Direction::Credit), Some(told.amount)),
                    "{text}\n{:?}",
                    reading.why
                );
                match (&facts.account_number, NO_ACCOUNT.contains(&bank.code.as_str())) {
                    (Some(shown), false) => assert!(mask_fits(shown, told.account), "{shown} {text}"),
                    (None, true) => {}
                    other => panic!("{}: {other:?}\n{text}", bank.code),
                }
                if payer == "ADA OBI" {
                    let wanted = (!NO_PAYER.contains(&bank.code.as_str())).then_some(payer);
                    assert_eq!(
                        facts.payer_name.as_deref(),
                        wanted,
                        "{}: {:?}\n{text}",
                        bank.code,
                        reading.why
                    );
                    assert_eq!(facts.doubts, Vec::<String>::new(), "{}\n{text}", bank.code);
                }
            }
        }
    }

    #[test]
    fn an_account_is_shown_as_the_picture_shows_its_own() {
        for (picture, shown) in [
            ("******4417", "******6789"),
            ("071******552", "012******789"),
            ("1XX..44X", "0XX..78X"),
            ("0311****90", "0123****89"),
            ("XXXX4321", "XXXX6789"),
            ("5330000044", "0123456789"),
        ] {
            assert_eq!(pictured("0123456789", picture), shown);
        }
    }

    #[test]
    fn nothing_that_is_told_becomes_markup_or_a_header() {
        let banks = Banks::embedded().unwrap();
        let told = told("<b>ADA</b> {amount} OBI", "\"><script>");
        for bank in banks.list() {
            let text = String::from_utf8(write(bank, &told).unwrap()).unwrap();
            if text.contains("text/html") {
                assert!(!text.contains("<b>ADA") && !text.contains("<script>"), "{text}");
            }
            assert!(text.split_once("\r\n\r\n").is_some_and(|(head, _)| !head.contains("ADA")), "{text}");
        }
    }

    #[test]
    fn a_form_with_an_unknown_place_is_refused() {
        let form = |text: &str| RawSimulation {
            from: "a@b.c".into(),
            subject: "x".into(),
            text: Some(text.into()),
            html: None,
            narration: None,
            narration_limit: None,
        };
        for (bad, part) in [
            ("{amuont}", "{amuont} is not a known place"),
            ("{digits 0}", "1 to 24"),
            ("{digits 25}", "1 to 24"),
            ("{time %!}", "{time %!}"),
            ("{amount", "not closed"),
        ] {
            assert!(check(&form(bad)).unwrap_err().contains(part), "{bad}");
        }
        assert!(check(&form("{amount} {digits 24}")).is_ok());
        assert!(check(&RawSimulation { text: None, ..form("") }).is_err());
    }
}
