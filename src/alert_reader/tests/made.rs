//! Alerts of the banks made to measure, as rows: what a test says is what must be read.
//!
//! The layouts are the banks' own (banks/*.toml), names and numbers are ours. The tests of
//! narrations, of hiding and of mutations build on it.

use super::{BANKS, Reading, now};
use crate::alert_reader::{Intake, read};

/// What the alert tells.
#[derive(Clone, Debug)]
pub struct Told {
    pub credit: bool,
    /// As the bank's row shows it, without its currency.
    pub amount: String,
    pub account: String,
    pub narration: String,
    /// As the bank writes them, such as `2026-03-03` and `10:20:33 AM`.
    pub date: String,
    pub time: String,
}

impl Default for Told {
    fn default() -> Told {
        Told {
            credit: true,
            amount: "7,350.00".into(),
            account: "******4417".into(),
            narration: "rent".into(),
            date: "03-Mar-2026".into(),
            time: "10:20:33 AM".into(),
        }
    }
}

/// A mail as rows; a row with one cell is a sentence.
#[derive(Clone, Debug)]
pub struct Made {
    pub from: &'static str,
    pub subject: String,
    pub before: Vec<String>,
    pub rows: Vec<(String, String)>,
    pub after: Vec<String>,
}

/// Banks that `made` knows the layout of.
pub const MADE: [&str; 16] = [
    "gtbank",
    "zenith",
    "fidelity",
    "access",
    "union",
    "firstbank",
    "wema",
    "uba",
    "stanbic",
    "sterling",
    "fcmb",
    "moniepoint",
    "premiumtrust",
    "ecobank",
    "lotus",
    "polaris",
];

/// The alert of a bank in its layout.
pub fn made(bank: &str, told: &Told) -> Made {
    let word = if told.credit { "Credit" } else { "Debit" };
    let suffix = if told.credit { "CR" } else { "DR" };
    let Told { amount, account, narration, date, time, .. } = told;
    let moment = format!("{date} {time}");
    let row = |label: &str, value: &str| (label.to_owned(), value.to_owned());
    let ngn = format!("NGN {amount}");
    let (from, before, rows) = match bank {
        "gtbank" => {
            // Cut and continued as the bank does it.
            let letters: Vec<char> = narration.chars().collect();
            let first: String = letters.iter().take(80).collect();
            let mut rest: Vec<char> = letters.iter().skip(80).copied().collect();
            if rest.len() > 10 {
                rest.insert(10, ' ');
            }
            let rest: String = rest.into_iter().take(50).collect();
            let rows = vec![
                row("Account Number", account),
                row("Transaction Location", "205"),
                row("Description", &first),
                row("Amount", &ngn),
                row("Value Date", date),
                row("Remarks", &rest),
                row("Time of Transaction", time),
                row("Document Number", ""),
            ];
            let sentence = format!(
                "We wish to inform you that a {} transaction occurred on your account with us.",
                word.to_uppercase()
            );
            ("GeNS@gtbank.com", vec!["Dear TILL AND BELL LTD".into(), sentence], rows)
        }
        "zenith" => {
            let rows = vec![
                row("Account Number", account),
                row("Date of Transaction", date),
                row("Amount", amount),
                row("Currency", "NGN"),
                row("Description", narration),
                row("Reference Code", ""),
                row("Branch", "WUSE"),
                row("Transaction Type", word),
                row("Available Balance", "90,000.00"),
            ];
            ("alerts@zenithbank.com", vec![], rows)
        }
        "fidelity" => {
            let rows = vec![
                row("Account", account),
                row("Account Name", "TILL AND BELL LTD"),
                row("Narration", narration),
                row("Transaction Reference", "S11223344"),
                row("Date/Time", &moment),
                row("Available Balance", "₦90,000.00CR"),
            ];
            ("ibanking@fidelitybank.ng", vec![format!("₦{amount} {suffix}")], rows)
        }
        "access" => {
            let rows = vec![
                row("A/C Number", account),
                row("Account Name", "TILL AND BELL LTD"),
                row("Description", narration),
                row("Reference Number", "011NIPL260650777"),
                row("Transaction Date", date),
                row("Available Balance", "90,000.00"),
            ];
            let opening = vec![format!("Your account has been {word}ed"), ngn];
            ("no_reply@accessbankplc.com", opening, rows)
        }
        "union" => {
            let rows = vec![
                row("Transaction Type", &format!("{word}Alert!")),
                row("Account No", account),
                row("Transaction Description", narration),
                row("Transaction Amount", &ngn),
                row("Transaction Date & Time", &moment),
                row("Balance", "NGN 90,000.00"),
            ];
            ("alerts@unionbankng.com", vec!["TRANSACTION ALERT SERVICE".into()], rows)
        }
        "firstbank" => {
            let rows = vec![
                row("Date/Time", &moment),
                row("Account Number", account),
                row("Amount", &format!("{amount} {suffix}")),
                row("Narration", narration),
                row("Cleared Balance", "NGN90,000.00 CR"),
            ];
            ("FirstAlert@firstbanknigeria.com", vec![], rows)
        }
        "wema" => {
            let opening = format!(
                "We wish to inform you that a {word} transaction recently occurred on your bank account."
            );
            let rows = vec![
                row("Account Number", account),
                row("Account Name", "TILL AND BELL LTD"),
                row("Description", narration),
                row("Reference Number", "S55667788"),
                row("Transaction Amount", &format!("{amount} NGN")),
                row("Transaction Date & Time", &moment),
            ];
            ("alerts@wemabank.com", vec![opening], rows)
        }
        "uba" => {
            let rows = vec![
                row("Transaction Type", word),
                row("Transaction Amount", amount),
                row("Transaction Currency", "NGN"),
                row("Account Number", account),
                row("Transaction Narration", narration),
                row("Date and Time", &moment),
                row("Account Name", "TILL AND BELL LTD"),
                row("Cleared Balance", "NGN 90,000.00"),
            ];
            ("UBA.Alert@ubagroup.com", vec![], rows)
        }
        "stanbic" => {
            let rows = vec![
                row("Amount", &ngn),
                row("Current Balance", "NGN 90,000.00"),
                row("Account Number", account),
                row("Description", narration),
                row("Transaction Reference", "S99887766"),
                row("Transaction Date & Time", &format!("{moment}.")),
            ];
            ("StanbicIBTC-E-Alert@stanbicibtc.com", vec![format!("{word} alert details")], rows)
        }
        "sterling" => {
            let rows = vec![
                row("Account Number", account),
                row("Date", &moment),
                row("Transaction", &word.to_uppercase()),
                row("Description", narration),
                row("Amount", &format!("NGN{amount}")),
                row("Current Balance", "NGN0.00"),
            ];
            ("e-business@sterling.ng", vec![], rows)
        }
        "fcmb" => {
            let rows = vec![
                row("Date/time", &moment),
                row("Description", narration),
                row("Amount", &format!("{amount} (NGN)")),
                row("Credit/Debit", word),
            ];
            ("no-reply@fcmb.com", vec![], rows)
        }
        "moniepoint" => {
            let opening = format!(
                "We wish to inform you that a {} transaction occurred on your account with us.",
                word.to_lowercase()
            );
            let rows = vec![
                row(&format!("{word} Amount"), amount),
                row("Account Balance", "N 90,000.00"),
                row("Account Number", account),
                row("Date & Time", &format!("{date} | {time}")),
                row("Narration", narration),
            ];
            ("no-reply@moniepoint.com", vec!["Hi TILL,".into(), opening], rows)
        }
        "premiumtrust" => {
            let opening =
                format!("We wish to inform you that a {word} transaction occurred on your account.");
            let rows = vec![
                row("Account Number", account),
                row("Description", narration),
                row("Amount", &ngn),
                row("Transaction Date", &moment),
                row("Available Balance", "NGN 90,000.00"),
            ];
            ("alerts@premiumtrustbank.com", vec![opening], rows)
        }
        "ecobank" => {
            let rows = vec![
                row("Account Nº", account),
                row("Description", narration),
                row("Reference", "H77NXGS26083AAAA"),
                row("Transaction Date", date),
                row("Amount", &format!("NGN\u{a0}{amount}")),
                row("Available Balance", "NGN 90,000.00"),
            ];
            ("noreply@ecobank.com", vec![format!("Your account has been {word}ed")], rows)
        }
        "lotus" => {
            let rows = vec![
                row("Account Number", account),
                row("Amount", &ngn),
                row("Narration", narration),
                row("Date", &moment),
            ];
            ("notifications@lotusbank.com", vec![format!("Account {word}ed")], rows)
        }
        "polaris" => {
            let rows = vec![
                row("Account Name", "TILL AND BELL LTD"),
                row("Account Number", account),
                row("Amount", &ngn),
                row("Details", narration),
                row("Time", &moment),
            ];
            ("alerts@skyebankng.com", vec![], rows)
        }
        other => panic!("no layout for {other}"),
    };
    let subject = match bank {
        "fcmb" => format!("{word} Alert: {account}"),
        "polaris" => format!("Skye Bank - {word} Alert"),
        _ => "Transaction Notification".into(),
    };
    Made { from, subject, before, rows, after: Vec::new() }
}

impl Made {
    pub fn head(&self) -> String {
        format!(
            "From: {}\r\nTo: till@shop.example\r\nSubject: {}\r\nDate: Tue, 03 Mar 2026 10:20:40 +0100\r\nMIME-Version: 1.0\r\n",
            self.from, self.subject
        )
    }

    /// Label, colon and value on one line.
    pub fn text(&self) -> String {
        let rows = self.rows.iter().map(|(label, value)| format!("{label} : {value}\r\n"));
        let sentence = |s: &String| format!("{s}\r\n");
        self.before.iter().map(sentence).chain(rows).chain(self.after.iter().map(sentence)).collect()
    }

    /// A table of three cells a row; `extra` stands behind it.
    pub fn html(&self, extra: &str) -> String {
        let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
        let sentence = |s: &String| format!("<tr><td colspan=\"3\">{}</td></tr>\r\n", escape(s));
        let rows = self.rows.iter().map(|(label, value)| {
            format!("<tr><td>{}</td><td>:</td><td>{}</td></tr>\r\n", escape(label), escape(value))
        });
        let all: String =
            self.before.iter().map(sentence).chain(rows).chain(self.after.iter().map(sentence)).collect();
        format!("<html><body><table>{all}</table>{extra}</body></html>")
    }

    /// Under a subject as it stands in the header.
    pub fn read_text_as(&self, subject: &str) -> Reading {
        Made { subject: subject.to_owned(), ..self.clone() }.read_text()
    }

    pub fn read_text(&self) -> Reading {
        self.read_as("text/plain", &self.text())
    }

    pub fn read_html(&self, extra: &str) -> Reading {
        self.read_as("text/html", &self.html(extra))
    }

    pub fn read_as(&self, kind: &str, body: &str) -> Reading {
        let raw = format!("{}Content-Type: {kind}; charset=utf-8\r\n\r\n{body}", self.head());
        read(raw.as_bytes(), &BANKS, &Intake::trusted(now()))
    }
}
