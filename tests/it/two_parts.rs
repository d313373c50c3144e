//! Mails whose text and HTML tell different things, in the layouts of six banks that once were read as clean credits
//! by one of the parts. Nobody knows which of them the bank meant, so neither payment is paid.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;
use tillbell::mail_intake::given_bank::given_bank;
use tillbell::ops::alerts::decide::AlertOutcome;
use tillbell::ops::merchants::accounts::NewAccount;

use crate::harness::app::{LATER, TestApp};
use crate::harness::databases::TestDatabase;

const PAYER: &str = "Ebele Nwafor";
/// What the HTML tells, and what the text tells instead.
const IN_HTML: i64 = 6_350;
const IN_TEXT: i64 = 6_850;

/// What a mail tells.
#[derive(Clone, Copy)]
struct Told<'a> {
    amount: &'a str,
    account: &'a str,
    payer: &'a str,
}

/// A bank's way to tell a credit, in rows of a label and a value.
struct Bank {
    code: &'static str,
    from: &'static str,
    /// `{account}` is the account as the bank shows it.
    subject: &'static str,
    number: &'static str,
    shown: &'static str,
    rows: fn(Told<'_>) -> Vec<(&'static str, String)>,
}

const BANKS: [Bank; 6] = [
    Bank {
        code: "firstbank",
        from: "FirstAlert@firstbanknigeria.com",
        subject: "FirstBank Alert on Your Account - Credit",
        number: "3061239574",
        shown: "306XXXX574",
        rows: |told| {
            vec![
                ("Date/Time", "10-Mar-26 09:10 AM".into()),
                ("Account Number", told.account.into()),
                ("Amount", format!("{} CR", told.amount)),
                ("Narration", format!("FIP:UBA/{}/NIP Transfer", told.payer)),
                ("Cleared Balance", "NGN90,000.00 CR".into()),
            ]
        },
    },
    Bank {
        code: "stanbic",
        from: "StanbicIBTC-E-Alert@stanbicibtc.com",
        subject: "Credit Alert",
        number: "0021348862",
        shown: "XXXX8862",
        rows: |told| {
            vec![
                ("Credit alert details", String::new()),
                ("Amount", format!("NGN {}", told.amount)),
                ("Current Balance", "NGN 90,000.00".into()),
                ("Account Number", told.account.into()),
                ("Description", format!("CSH DEPOSIT BY {}", told.payer)),
                ("Transaction Reference", "S40718825".into()),
                ("Transaction Date & Time", "10-Mar-2026 09:10:00".into()),
            ]
        },
    },
    Bank {
        code: "uba",
        from: "UBA.Alert@ubagroup.com",
        subject: "UBA CREDIT Transaction Notification",
        number: "1023457369",
        shown: "1XX..36X",
        rows: |told| {
            vec![
                ("Transaction Type", "Credit".into()),
                ("Transaction Amount", told.amount.into()),
                ("Transaction Currency", "NGN".into()),
                ("Account Number", told.account.into()),
                ("Transaction Narration", format!("TNF-{0}/Transfer from {0}", told.payer)),
                ("Transaction Remarks", String::new()),
                ("Date and Time", "10-Mar-2026 09:10".into()),
                ("Account Name", "TILL AND BELL LTD".into()),
                ("Cleared Balance", "NGN 90,000.00".into()),
            ]
        },
    },
    Bank {
        code: "fcmb",
        from: "no-reply@fcmb.com",
        subject: "Credit Alert: {account}",
        number: "2876541937",
        shown: "XXXXXX1937",
        rows: |told| {
            vec![
                ("Date/time", "10-Mar-2026 09:10:00".into()),
                ("Description", format!("web: TRF Frm {}/cloth", told.payer)),
                ("Amount", format!("{} (NGN)", told.amount)),
                ("Credit/Debit", "Credit".into()),
            ]
        },
    },
    Bank {
        code: "union",
        from: "alerts@unionbankng.com",
        subject: "Union Bank Transaction Alert",
        number: "0054321881",
        shown: "00XXXXXX81",
        rows: |told| {
            vec![
                ("Transaction Details", String::new()),
                ("Transaction Type", "CreditAlert!".into()),
                ("Account No", told.account.into()),
                ("Transaction Location", "UBN".into()),
                ("Transaction Description", format!("UIP Trf from {0} - Transfer from {0}", told.payer)),
                ("Transaction Amount", format!("NGN {}", told.amount)),
                ("Transaction Date & Time", "10-Mar-2026 09:10".into()),
                ("Balance", "NGN 90,000.00".into()),
            ]
        },
    },
    Bank {
        code: "moniepoint",
        from: "no-reply@moniepoint.com",
        subject: "Credit alert!",
        number: "5330918846",
        shown: "5330918846",
        rows: |told| {
            vec![
                (
                    "We wish to inform you that a credit transaction occurred on your account with us.",
                    String::new(),
                ),
                ("Credit Amount", told.amount.into()),
                ("Account Balance:", "N 90,000.00".into()),
                ("Account Number:", told.account.into()),
                ("Sender's Name:", format!("from {}", told.payer)),
                ("Date & Time:", "10 Mar, 2026 | 09:10:00 AM".into()),
                ("Narration:", format!("MOBILE TRF TO MMF {}", told.payer)),
            ]
        },
    },
];

impl Bank {
    fn told(&self) -> Told<'static> {
        Told { amount: "6,350.00", account: self.shown, payer: "EBELE NWAFOR" }
    }

    /// A mail whose HTML tells a credit in the bank's layout, beside a text.
    fn mail(&self, html: Told<'_>, text: &str) -> String {
        let rows: String = (self.rows)(html)
            .iter()
            .map(|(label, value)| format!("<tr><td>{label}</td><td>{value}</td></tr>\r\n"))
            .collect();
        format!(
            "From: {}\r\nTo: alerts@till.example\r\nSubject: {}\r\nDate: Tue, 10 Mar 2026 09:10:20 +0100\r\n\
             Message-ID: <{}@gens.example>\r\nMIME-Version: 1.0\r\n\
             Content-Type: multipart/alternative; boundary=\"half\"\r\n\r\n\
             --half\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n{text}\r\n\
             --half\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<table>{rows}</table>\r\n--half--\r\n",
            self.from,
            self.subject.replace("{account}", self.shown),
            self.code,
        )
    }

    /// The rows as an ordinary program writes them beside the HTML.
    fn text(&self, told: Told<'_>) -> String {
        (self.rows)(told).iter().map(|(label, value)| format!("{label}\t{value}\r\n")).collect()
    }
}

/// A world with the bank's account and two payments of one payer, of what either part tells; the mail is taken
/// through the intake. What became of the alert, and of the payments.
async fn after(bank: &Bank, db: TestDatabase, text: &str) -> (AlertOutcome, [Status; 2]) {
    let t = TestApp::start(db).await;
    let shop = t.merchant("ankara.example").await;
    let bank_of_it = given_bank(t.banks.by_code(bank.code), bank.code);
    let new = NewAccount { bank: bank_of_it, ..t.new_account(bank.code, (0, 4), bank.number, None) };
    t.add_account(&new).await;
    let (one, two) = (t.create(&shop, IN_HTML, PAYER).await, t.create(&shop, IN_TEXT, PAYER).await);
    t.advance(LATER + Span::seconds(30));
    let outcome = t.arrived(&bank.mail(bank.told(), text)).await;
    (outcome, [t.payment(&one).await.status, t.payment(&two).await.status])
}

/// Parts that differ from the HTML: what they tell otherwise, and the word by which the reason names it.
fn otherwise(bank: &Bank) -> Vec<(&'static str, String)> {
    let told = bank.told();
    vec![
        ("amount", bank.text(Told { amount: "6,850.00", ..told })),
        ("amount", "Your account has been credited with NGN 6,850.00.\r\n".into()),
        ("account", format!("{}\r\nAccount: 0987654321\r\n", bank.text(told))),
        ("payer", bank.text(Told { payer: "MUSA DANLADI", ..told })),
        ("credit or a debit", "Your account was debited with NGN 6,350.00.\r\n".into()),
    ]
}

on_both! {
    async fn a_mail_whose_parts_differ_pays_neither_by_itself(db: TestDatabase) {
        for bank in &BANKS {
            let (same, paid) = after(bank, TestDatabase::migrated(db.engine()).await, &bank.text(bank.told())).await;
            assert_eq!(same.status, AlertStatus::Matched, "{}: parts that agree: {same:?}", bank.code);
            assert_eq!(paid, [Status::Approved, Status::Pending], "{}", bank.code);
            for (what, text) in otherwise(bank) {
                let (held, paid) = after(bank, TestDatabase::migrated(db.engine()).await, &text).await;
                assert_eq!(held.status, AlertStatus::Review, "{}: {what}: {held:?}", bank.code);
                assert!(held.reason.contains(what), "{}: {what}: {held:?}", bank.code);
                assert_eq!(paid, [Status::Pending; 2], "{}: {what}", bank.code);
            }
        }
    }
}
