//! Test mode's own mails: an alert is written in a bank's layout, and goes the way of every mail through the reader, the
//! matcher and the settlement (docs/decisions/0081-test-mode.md).
//!
//! What such a mail may do is decided by a type ([`Simulated`]). Nothing live can be named: of the accounts of a bank only
//! the one that the payment asks for is looked at, as if it were kept there.

use super::decide::{AlertOutcome, decide_alert};
use super::mail_desk::{MailDesk, SimulatedMail};
use super::simulated::Simulated;
use crate::app::App;
use crate::domain::account::{ReceivingAccount, TEST_BANK};
use crate::domain::alert::{AlertRow, AlertStatus};
use crate::domain::merchant::Mode;
use crate::domain::money::Money;
use crate::domain::payment::Payment;
use crate::domain::text::is_plain_line;
use crate::domain::time::{Span, Timestamp};
use crate::ops::OpError;
use crate::ops::payments::sweep::end_test_payment;

/// Copies of one mail.
pub const COPIES_MAX: usize = 5;
/// Characters of the remark.
pub const NARRATION_MAX: usize = 255;
/// How far back a simulated transfer may lie: no payment is open for longer.
const OLDEST: Span = Span::days(30);
/// How often an alert that lost too many races is decided again before the answer says that it is stored.
const DECISIONS_MAX: usize = 5;
/// What a payer types who types nothing.
const REMARK: &str = "PAYMENT";

/// What the mail is about.
#[derive(Clone, Copy, Debug)]
pub enum About<'a> {
    Transaction(&'a str),
    Account(&'a str),
}

/// A mail that is to be simulated.
#[derive(Clone, Copy, Debug)]
pub struct Simulation<'a> {
    pub business_id: i64,
    pub about: About<'a>,
    /// Where a payment is named: the number of the account that it asks for, if that is given as well.
    pub on_account: Option<&'a str>,
    /// Code of the bank whose layout it has; the account's own where none is given.
    pub bank: Option<&'a str>,
    pub amount: Money,
    pub payer_name: &'a str,
    pub narration: Option<&'a str>,
    pub occurred: Option<Timestamp>,
    /// 1 to [`COPIES_MAX`].
    pub copies: usize,
    pub is_forged: bool,
    pub by: Option<&'a str>,
}

/// Why nothing was simulated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimulateRefused {
    #[error("there is no such test payment")]
    NoPayment,
    #[error("the payment is paid from a wallet, and no bank tells of it")]
    Wallet,
    #[error("there is no such test account")]
    NoAccount,
    #[error("no template reads the mails of such a bank")]
    UnknownBank,
    #[error("the template of {0} does not tell how its mails are written")]
    NotWritten(String),
    #[error("the time lies ahead")]
    Ahead,
    #[error("the time lies more than 30 days back")]
    TooOld,
}

/// Writes the mail and takes it as many times as asked for. Answers what became of each.
pub async fn simulate(
    app: &App,
    desk: &dyn MailDesk,
    ask: &Simulation<'_>,
) -> Result<Result<Vec<AlertOutcome>, SimulateRefused>, OpError> {
    let now = app.now();
    let at = ask.occurred.unwrap_or(now);
    if at > now {
        return Ok(Err(SimulateRefused::Ahead));
    }
    if at < now - OLDEST {
        return Ok(Err(SimulateRefused::TooOld));
    }
    let account = match find_account(app, ask).await? {
        Ok(account) => account,
        Err(refused) => return Ok(Err(refused)),
    };
    let banks = desk.banks();
    let is_known = |code: &str| banks.iter().any(|bank| bank.code == code);
    let bank = match ask.bank {
        Some(code) if is_known(code) => code,
        Some(_) => return Ok(Err(SimulateRefused::UnknownBank)),
        // One that was added for a bank without a template.
        None => Some(account.bank.as_str()).filter(|code| is_known(code)).unwrap_or(TEST_BANK),
    };
    let Some(simulated) = Simulated::on(ask.business_id, &account, bank) else {
        return Ok(Err(SimulateRefused::NoAccount));
    };
    let simulated = simulated.asked(ask.is_forged, ask.by);
    let told = SimulatedMail {
        bank,
        account: &account.number,
        holder: &account.name,
        amount: ask.amount,
        payer: ask.payer_name,
        remark: ask.narration.unwrap_or(REMARK),
        at,
        unique: u128::from(app.random.next_u64()) << 64 | u128::from(app.random.next_u64()),
    };
    let Some(raw) = desk.write(&told) else {
        return Ok(Err(SimulateRefused::NotWritten(desk.bank_name(bank))));
    };
    let mut outcomes = Vec::with_capacity(ask.copies);
    for _ in 0..ask.copies.clamp(1, COPIES_MAX) {
        let taken = desk.take_simulated(app, raw.clone(), simulated.clone()).await?;
        outcomes.push(decided(app, taken).await?);
    }
    Ok(Ok(outcomes))
}

/// Many simulations of one amount take turns; whoever asked is told how his ended.
async fn decided(app: &App, taken: AlertOutcome) -> Result<AlertOutcome, OpError> {
    let mut told = taken;
    for _ in 0..DECISIONS_MAX {
        if told.status != AlertStatus::New {
            break;
        }
        match decide_alert(app, told.alert_id).await {
            Ok(outcome) => told = outcome,
            Err(OpError::Contended) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(told)
}

/// The test account that the mail is about. Read anew where this process may not know it yet.
async fn find_account(
    app: &App,
    ask: &Simulation<'_>,
) -> Result<Result<ReceivingAccount, SimulateRefused>, OpError> {
    let wanted = match ask.about {
        About::Account(_) => None,
        About::Transaction(id) => match test_payment(app, ask.business_id, id).await? {
            None => return Ok(Err(SimulateRefused::NoPayment)),
            Some(payment) => match payment.account_id {
                None => return Ok(Err(SimulateRefused::Wallet)),
                some => some,
            },
        },
    };
    let is_meant = |one: &ReceivingAccount| match (ask.about, wanted) {
        (About::Account(number), _) => {
            one.number == number
                && one.mode == Mode::Test
                && one.business_id.is_none_or(|id| id == ask.business_id)
        }
        (About::Transaction(_), wanted) => {
            Some(one.id) == wanted && ask.on_account.is_none_or(|number| number == one.number)
        }
    };
    for _ in 0..2 {
        let known = app.directory.accounts().await?;
        // Of several of one number the one at the bank that is asked for, and its own before shared ones.
        let best = known.iter().filter(|one| is_meant(one)).max_by_key(|one| {
            (ask.bank == Some(one.bank.as_str()), one.business_id.is_some(), std::cmp::Reverse(one.id))
        });
        if let Some(account) = best {
            return Ok(Ok(account.clone()));
        }
        app.directory.forget();
    }
    Ok(Err(SimulateRefused::NoAccount))
}

/// A test payment or top-up of the business.
async fn test_payment(app: &App, business_id: i64, transaction_id: &str) -> Result<Option<Payment>, OpError> {
    let found = app.store.payment_by_transaction(business_id, transaction_id).await?;
    Ok(found.filter(|payment| payment.mode == Mode::Test))
}

/// What a person may simulate on the page of a test payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    Exact,
    Short,
    TooMuch,
    OtherName,
    Twice,
    Late,
    Forged,
}

impl Case {
    pub const ALL: [Case; 7] =
        [Case::Exact, Case::Short, Case::TooMuch, Case::OtherName, Case::Twice, Case::Late, Case::Forged];

    pub const fn as_str(self) -> &'static str {
        match self {
            Case::Exact => "exact",
            Case::Short => "short",
            Case::TooMuch => "too_much",
            Case::OtherName => "other_name",
            Case::Twice => "twice",
            Case::Late => "late",
            Case::Forged => "forged",
        }
    }

    pub fn parse(word: &str) -> Option<Case> {
        Case::ALL.into_iter().find(|case| case.as_str() == word)
    }

    pub const fn in_words(self) -> &'static str {
        match self {
            Case::Exact => "Exactly what was asked for",
            Case::Short => "Short by the charges",
            Case::TooMuch => "Too much",
            Case::OtherName => "From another name",
            Case::Twice => "The same mail twice",
            Case::Late => "Late: the payment ends first",
            Case::Forged => "A forged mail",
        }
    }

    /// What comes where nothing else is asked for.
    fn amount(self, payment: &Payment) -> Money {
        let asked = payment.amount;
        match self {
            Case::Short => {
                let charges = payment.charges.total();
                let less = if charges.is_positive() { charges } else { LESS };
                Money((asked.kobo() - less.kobo()).max(1))
            }
            Case::TooMuch => Money(asked.kobo().saturating_add(MORE.kobo())),
            _ => asked,
        }
    }

    fn payer(self, payment: &Payment) -> &str {
        match self {
            Case::OtherName if payment.payer_name.to_uppercase().contains("OLADELE") => "Chidinma Nwachukwu",
            Case::OtherName => "Tunde Oladele",
            _ => &payment.payer_name,
        }
    }
}

/// Less than was asked for of a payment without charges, and more than was asked for.
const LESS: Money = Money(5_000);
const MORE: Money = Money(100_000);
/// Characters of a payer's name.
const NAME_MAX: usize = 255;
/// Mails that are shown on a page.
const SHOWN: usize = 10;

/// A case that a person asks for.
#[derive(Clone, Copy, Debug)]
pub struct CaseAsk<'a> {
    pub business_id: i64,
    pub transaction_id: &'a str,
    pub case: Case,
    pub amount: Option<Money>,
    pub payer_name: Option<&'a str>,
    pub operator: &'a str,
}

/// Why the case was not simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseRefused {
    Amount(String),
    PayerName,
    Other(SimulateRefused),
}

/// Simulates a case for a test payment; answers what came of each mail.
pub async fn simulate_case(
    app: &App,
    desk: &dyn MailDesk,
    ask: &CaseAsk<'_>,
) -> Result<Result<Vec<AlertOutcome>, CaseRefused>, OpError> {
    let Some(payment) = test_payment(app, ask.business_id, ask.transaction_id).await? else {
        return Ok(Err(CaseRefused::Other(SimulateRefused::NoPayment)));
    };
    if payment.account_id.is_none() {
        return Ok(Err(CaseRefused::Other(SimulateRefused::Wallet)));
    }
    let most = app.config.payments.max_amount;
    if let Some(amount) = ask.amount.filter(|amount| *amount > most) {
        return Ok(Err(CaseRefused::Amount(format!("{amount} is more than {most}, the most that is taken"))));
    }
    let payer_name = ask.payer_name.unwrap_or_else(|| ask.case.payer(&payment));
    let is_name = payer_name.contains(char::is_alphabetic)
        && payer_name.chars().count() <= NAME_MAX
        && is_plain_line(payer_name);
    if !is_name {
        return Ok(Err(CaseRefused::PayerName));
    }
    if ask.case == Case::Late {
        end_test_payment(app, ask.operator, &payment).await?;
    }
    let simulation = Simulation {
        business_id: ask.business_id,
        about: About::Transaction(ask.transaction_id),
        on_account: None,
        bank: None,
        amount: ask.amount.unwrap_or_else(|| ask.case.amount(&payment)).min(most),
        payer_name,
        narration: None,
        occurred: None,
        copies: if ask.case == Case::Twice { 2 } else { 1 },
        is_forged: ask.case == Case::Forged,
        by: Some(ask.operator),
    };
    Ok(Box::pin(simulate(app, desk, &simulation)).await?.map_err(CaseRefused::Other))
}

/// What a business simulated last, newest first.
pub async fn simulated_last(app: &App, business_id: i64) -> Result<Vec<AlertRow>, OpError> {
    Ok(app.store.alerts_of_test_mode(business_id, SHOWN).await?)
}

/// One that it simulated.
pub async fn simulated_alert(app: &App, business_id: i64, id: i64) -> Result<Option<AlertRow>, OpError> {
    Ok(app.store.alert(id).await?.filter(|alert| alert.simulated_for == Some(business_id)))
}
