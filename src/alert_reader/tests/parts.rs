//! Mails in two parts: what they tell differently is a doubt in every bank's layout, and what an ordinary
//! program makes of the HTML is none.

use super::{BANKS, ReadOutcome, Reading, now};
use crate::alert_reader::template::raw::RawExample;
use crate::alert_reader::{Intake, html, read};

/// A credit of a template's own, as rows of cells.
struct Credit {
    name: String,
    example: &'static RawExample,
    rows: Vec<Vec<String>>,
    alone: Reading,
}

/// Every example that is read as a credit.
fn credits() -> Vec<Credit> {
    let mut out = Vec::new();
    for bank in BANKS.list() {
        for example in &bank.examples {
            let raw = crate::alert_reader::check::raw_mail(example).unwrap();
            let alone = read(&raw, &BANKS, &Intake::trusted(now()));
            if alone.outcome != ReadOutcome::Read {
                continue;
            }
            let rows = match (&example.html, &example.text) {
                (Some(page), _) => html::read(page).unwrap().table.rows,
                (_, Some(text)) => text.lines().map(|l| vec![l.trim().to_owned()]).collect(),
                _ => continue,
            };
            out.push(Credit { name: format!("{}: {}", bank.code, example.name), example, rows, alone });
        }
    }
    assert!(out.len() >= 22, "only {} examples are credits", out.len());
    out
}

impl Credit {
    fn read(&self, text: &str, html: &str) -> Reading {
        let e = self.example;
        let raw = format!(
            "From: {}\nSubject: {}\nDate: {}\nMIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=\"q1\"\n\n\
             --q1\nContent-Type: text/plain; charset=utf-8\n\n{text}\n--q1\nContent-Type: text/html; charset=utf-8\n\n{html}\n--q1--\n",
            e.from, e.subject, e.date
        );
        read(raw.replace('\n', "\r\n").as_bytes(), &BANKS, &Intake::trusted(now()))
    }

    /// The example as it is, with another part beside it.
    fn beside(&self, other: &str) -> Reading {
        match (&self.example.html, &self.example.text) {
            (Some(html), _) => self.read(other, html),
            (_, Some(text)) => self.read(text, &page(other)),
            _ => panic!("{} has no body", self.name),
        }
    }

    /// What ordinary programs make of one part for the other.
    fn converted(&self) -> Vec<(&'static str, String)> {
        let joined = |parted: &str| -> String {
            let row = |r: &Vec<String>| {
                r.iter().map(|c| c.trim()).filter(|c| !c.is_empty()).collect::<Vec<_>>().join(parted) + "\n"
            };
            self.rows.iter().map(row).collect()
        };
        let blanks = joined(" ");
        // Programs write headings so.
        let (first, rest) = blanks.split_once('\n').unwrap();
        let heading = format!("{}\n\n{rest}", first.to_uppercase());
        let boxed: String = self.rows.iter().map(|r| format!("| {} |\n", r.join(" | "))).collect();
        let linked = format!(
            "[cid:logo.png]\nView it in your browser: https://mail.bank.example/v/1234567890?a=5,000.00\n\n{blanks}\n\
             Write to care@bank.example or see <https://bank.example/help/0123456789>\n"
        );
        vec![
            ("a tab between", joined("\t")),
            ("two blanks between", joined("  ")),
            ("one blank between", blanks.clone()),
            ("lines of their own", joined("\n")),
            ("a blank line between", joined("\n\n")),
            ("drawn", boxed),
            ("wrapped", wrapped(&blanks, 76)),
            ("narrow", wrapped(&joined("\t"), 66)),
            ("with links", linked),
            ("a heading in capitals", heading),
        ]
    }

    fn amount(&self) -> String {
        self.alone.facts.amount.unwrap().to_string()
    }
}

fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let mut length = 0;
        for word in line.split(' ') {
            let wide = word.chars().count();
            if length > 0 && length + 1 + wide > width {
                out.push('\n');
                length = 0;
            } else if length > 0 {
                out.push(' ');
                length += 1;
            }
            out.push_str(word);
            length += wide;
        }
        out.push('\n');
    }
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// The HTML that a mailer makes of text.
fn page(text: &str) -> String {
    let lines: String = text.lines().map(|l| format!("<p>{}</p>\n", escaped(l))).collect();
    format!("<html><body>{lines}</body></html>")
}

fn stopped(reading: &Reading) -> bool {
    reading.outcome != ReadOutcome::Read || !reading.facts.doubts.is_empty()
}

#[test]
fn a_text_made_of_the_html_raises_no_doubt() {
    let mut odd = Vec::new();
    let mut count = 0;
    for credit in credits() {
        let both: Vec<(&str, Reading)> = match &credit.example.text {
            None => credit.converted().into_iter().map(|(how, text)| (how, credit.beside(&text))).collect(),
            Some(text) => {
                let breaks = escaped(text).replace('\n', "<br>");
                let cells: String = text
                    .lines()
                    .map(|l| {
                        let label =
                            l.split_once(": ").is_some_and(|(label, _)| label.split(' ').count() <= 3);
                        let row = escaped(l).replace('\t', "</td><td>");
                        let row = if label { row.replacen(": ", "</td><td>", 1) } else { row };
                        format!("<tr><td>{row}</td></tr>\n")
                    })
                    .collect();
                // Rows that are drawn are no rows of a table to such a program.
                let cells = if text.contains('|') { format!("<tr><td>{breaks}</td></tr>") } else { cells };
                vec![
                    ("paragraphs", credit.beside(text)),
                    ("breaks", credit.read(text, &format!("<div>{breaks}</div>"))),
                    ("preformatted", credit.read(text, &format!("<pre>{}</pre>", escaped(text)))),
                    ("a table", credit.read(text, &format!("<table>{cells}</table>"))),
                ]
            }
        };
        for (how, reading) in both {
            count += 1;
            let (facts, alone) = (&reading.facts, &credit.alone.facts);
            let same = (facts.amount, &facts.account_number, &facts.payer_name, facts.direction)
                == (alone.amount, &alone.account_number, &alone.payer_name, alone.direction);
            if reading.outcome != ReadOutcome::Read || facts.doubts != alone.doubts || !same {
                odd.push(format!("{}, {how}: {:?}", credit.name, reading.why));
            }
        }
    }
    assert!(odd.is_empty(), "{} of {count}:\n{}", odd.len(), odd.join("\n"));
}

#[test]
fn a_part_that_says_nothing_contradicts_nothing() {
    for credit in credits() {
        for text in [
            "Your mail program cannot show this message. See https://bank.example/view/0123456789",
            "This message was scanned for viruses.",
            "Thank you for banking with us.",
        ] {
            let reading = credit.beside(text);
            assert_eq!(reading.facts.doubts, credit.alone.facts.doubts, "{}: {text}", credit.name);
            assert_eq!(reading.outcome, ReadOutcome::Read, "{}: {text}: {:?}", credit.name, reading.why);
        }
    }
}

#[test]
fn a_sum_in_words_is_no_payer_and_no_other_sum() {
    let mut odd = Vec::new();
    let mut count = 0;
    for credit in credits() {
        for (words, figure) in [
            ("Twenty-Five Thousand Three Hundred And One Naira Only", "25,301.00"),
            ("Two Hundred Naira, Fifty Kobo Only", "200.50"),
        ] {
            let plain = credit.amount();
            let (whole, kobo) = plain.split_once('.').unwrap();
            let at = whole.len().saturating_sub(3);
            let grouped =
                if at > 0 { format!("{},{}", &whole[..at], &whole[at..]) } else { whole.to_owned() };
            let html = credit.example.html.as_ref().filter(|html| html.contains(&grouped));
            let Some(html) = html else { continue };
            let html = html.replace(&format!("{grouped}.{kobo}"), figure).replace(&grouped, figure);
            let alone = credit.read("", &html);
            // Where the amount stands in another form as well, the page is two amounts now.
            if alone.facts.amount.is_none() {
                continue;
            }
            count += 1;
            let said = format!("Your account has been credited with the sum of {words} (NGN {figure}).");
            let reading = credit.read(&said, &html);
            if alone.facts.amount != reading.facts.amount || alone.facts.doubts != reading.facts.doubts {
                odd.push(format!("{}: {words}: {:?}", credit.name, reading.facts.doubts));
            }
        }
    }
    assert!(count >= 8, "only {count} were tried");
    assert!(odd.is_empty(), "{}", odd.join("\n"));
}

/// What the other part tells instead; `{amount}` and `{payer}` are the example's own.
const OTHERWISE: [(&str, &str); 48] = [
    ("amount", "You received NGN 50.00 from {payer}."),
    ("amount", "You received NGN 50 from {payer}."),
    ("amount", "You received N50 from {payer}."),
    ("amount", "You have received 50 naira."),
    ("amount", "You have received fifty naira only."),
    ("amount", "The sum of Two Hundred and Five Thousand Naira was paid into your account."),
    ("amount", "You received 50 from {payer}."),
    ("amount", "Amount: 50.00"),
    ("amount", "Amount\n50.00"),
    ("amount", "Amount (NGN): 50"),
    ("amount", "Sum\t₦50"),
    ("amount", "Transaction Value : 50.00"),
    ("amount", "Total received: NGN 1,050"),
    ("amount", "| Amount Credited | : | 50.00 CR |"),
    ("amount", "Credit alert! 50.00CR"),
    ("amount", "Your account has been credited with NGN50.00"),
    ("amount", "{payer} just sent you ₦50.00"),
    ("amount", "Balance: NGN {amount}\nYou received NGN 50.00."),
    ("amount", "NGN 50.00 was received. Your balance is NGN {amount}."),
    ("amount", "You received USD {amount}."),
    ("amount", "Amount: ${amount}"),
    ("account", "Your account 0987654321 was credited."),
    ("account", "Account: 0987654321\nAmount: NGN {amount}"),
    ("account", "Account number\n0987654321"),
    ("account", "Your account 09******21 has been credited with NGN {amount}"),
    ("account", "Acct: XXXXXX9321"),
    ("account", "| Account | : | 098****321 |"),
    ("payer", "You received NGN {amount} from MALLORY EVE."),
    ("payer", "You received NGN {amount} from Mallory Eve on 3 March."),
    ("payer", "you received ngn {amount} from mallory eve"),
    ("payer", "Sender: MALLORY EVE"),
    ("payer", "Sender\nMALLORY EVE"),
    ("payer", "Sender's Name : Mallory Eve\nAmount : NGN {amount}"),
    ("payer", "Paid by: Mallory Eve"),
    ("payer", "MALLORY EVE sent you NGN {amount}"),
    ("payer", "Mallory Eve has credited your account with NGN {amount}"),
    ("payer", "NGN {amount} was paid to you by MALLORY EVE"),
    ("payer", "| Payer | Mallory Eve |"),
    ("direction", "Your account was debited."),
    ("direction", "Your account has been debited with NGN {amount}."),
    ("direction", "You sent NGN {amount} to {payer}."),
    ("direction", "Transaction Type: Debit"),
    ("direction", "Transaction Type\nDEBIT"),
    ("direction", "Debit Alert! NGN {amount}"),
    ("direction", "{amount} DR"),
    ("direction", "NGN {amount} was withdrawn from your account."),
    ("direction", "Your transfer of NGN {amount} was successful."),
    ("direction", "NGN {amount} has left your account"),
];

#[test]
fn a_part_that_tells_something_else_is_a_doubt_in_every_layout() {
    let mut quiet = Vec::new();
    let mut count = 0;
    for (at, credit) in credits().into_iter().enumerate() {
        let payer = credit.alone.facts.payer_name.clone().unwrap_or_else(|| "Ada Obi".into());
        for (turn, (what, said)) in OTHERWISE.into_iter().enumerate() {
            // Where the mail names no account there is none to differ from.
            if what == "account" && credit.alone.facts.account_number.is_none() {
                continue;
            }
            let said = said.replace("{amount}", &credit.amount()).replace("{payer}", &payer);
            // Alone, and behind what a program made of the first part.
            let whole = match &credit.example.text {
                Some(text) => text.clone(),
                None => credit.converted()[0].1.clone(),
            };
            let mut others = vec![said.clone()];
            // Some for every layout, or it takes long.
            match (turn + at) % 4 {
                0 => others.push(format!("{whole}\n{said}\n")),
                2 => others.push(format!("{said}\n{whole}\n")),
                _ => {}
            }
            for other in others {
                count += 1;
                let reading = credit.beside(&other);
                // Another currency than the accounts' is a doubt when the alert is taken.
                let abroad = reading.facts.currency != credit.alone.facts.currency;
                if !abroad && (!stopped(&reading) || reading.facts.doubts == credit.alone.facts.doubts) {
                    quiet.push(format!("{}: {what}: {said}", credit.name));
                }
            }
        }
    }
    quiet.dedup();
    assert!(quiet.is_empty(), "{} of {count} pass:\n{}", quiet.len(), quiet.join("\n"));
}

/// Banks whose mails once were read as clean credits, whatever amount their text part told.
const ONCE_READ_CLEAN: [&str; 6] = ["firstbank", "stanbic", "uba", "fcmb", "union", "moniepoint"];

#[test]
fn layouts_that_once_let_a_second_amount_pass_are_among_those_tried() {
    let all = credits();
    for bank in ONCE_READ_CLEAN {
        let mut own = all.iter().filter(|credit| credit.name.starts_with(&format!("{bank}: "))).peekable();
        assert!(own.peek().is_some(), "{bank} has no credit among the examples");
        for credit in own {
            let other = format!("Your account has been credited with NGN {}9.00", credit.amount().len());
            let reading = credit.beside(&other);
            assert!(stopped(&reading), "{}: {other}: {:?}", credit.name, reading.facts.doubts);
            let is_told = reading.facts.doubts.iter().any(|doubt| doubt.contains("amount"));
            assert!(is_told, "{}: {:?}", credit.name, reading.facts.doubts);
        }
    }
}

#[test]
fn a_copy_with_one_thing_changed_is_a_doubt_in_every_layout() {
    let mut quiet = Vec::new();
    for credit in credits() {
        let facts = &credit.alone.facts;
        let mut changes: Vec<(String, String)> = Vec::new();
        let grouped = {
            let plain = credit.amount();
            let whole = plain.split('.').next().unwrap();
            let at = whole.len().saturating_sub(3);
            if at > 0 { format!("{},{}", &whole[..at], &whole[at..]) } else { whole.to_owned() }
        };
        let whole = credit.amount().split('.').next().unwrap().to_owned();
        for shown in [grouped, whole] {
            changes.push((shown, "61,431".into()));
        }
        changes.extend(facts.account_number.clone().map(|a| (a, "77******19".into())));
        changes.extend(facts.payer_name.clone().map(|p| (p, "MALLORY EVE".into())));
        for (from, to) in changes {
            let copies: Vec<(&str, String)> = match &credit.example.text {
                Some(text) => vec![("text", text.clone())],
                None => credit.converted(),
            };
            for (how, copy) in copies {
                // A blank may have become a line end.
                if !copy.contains(&from) {
                    continue;
                }
                let reading = credit.beside(&copy.replace(&from, &to));
                if !stopped(&reading) || reading.facts.doubts == facts.doubts {
                    quiet.push(format!("{}, {how}: {from} as {to}", credit.name));
                }
            }
        }
    }
    assert!(quiet.is_empty(), "{} pass:\n{}", quiet.len(), quiet.join("\n"));
}
