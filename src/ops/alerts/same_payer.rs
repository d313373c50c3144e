//! What the payer of a credit has sent to the account: just this amount, under just this name. It may be the same transfer,
//! told again a little later; or a second one, sent for the payment of before because the first was not seen to arrive
//! (contract/matching.md#m14). Read only; used by `similar`, `weigh` and `approve`.

use std::borrow::Cow;
use std::collections::HashSet;

use super::evidence;
use super::payout_debits::may_bear_its_reference;
use super::reach::{is_told_to_another, named_by, sight};
use crate::app::App;
use crate::domain::account::ReceivingAccount;
use crate::domain::alert::{AlertRow, AlertStatus, Authenticity, Direction};
use crate::domain::matching::{Beneficiary, of_another_in_words};
use crate::domain::money::Money;
use crate::domain::name::{Folded, NameVerdict, verdict_folded};
use crate::domain::payment::Payment;
use crate::domain::same_transfer::{
    came_by, interval, is_credit, is_timed, is_vouched, may_be_on_one_account, may_name_the_payer,
    may_repeat, may_undo, names_the_payer, speaks_of, takes_back, takes_money, tells_of_loss, told_time,
};
use crate::domain::time::{Span, Timestamp};
use crate::ops::OpError;
use crate::ops::payouts::from_alert::has_paid_out;
use crate::store::StoreError;
use crate::store::tables::alerts::of_payer::Sought;
use crate::store::tables::settlements::Settlement;

/// Who does not see a transfer arrive, or sees it come back, sends another on the same day or the next.
const SENT_AGAIN_WITHIN: Span = Span::days(2);
/// A bank may take a transfer back after this long; of those that it may have taken, also older ones are looked at.
const TAKEN_BACK_WITHIN: Span = Span::days(30);
/// Of a transfer that paid nobody it is asked what was sent before it, and so on: for as long as a payment may be open.
const FOLLOWED_WITHIN: Span = Span::days(8);
/// Credits of one payer and amount that are looked at; where there are more a person decides.
const CREDITS_MAX: usize = 200;
/// Characters of a name that a bank always shows, as the index of beginnings has them (migration 0062).
const BEGINNING: usize = 10;
/// Credits of names that begin alike of which the rule of names says whether they are the payer's.
const BEGINNINGS_MAX: usize = 2_000;
/// Debits of the amount of which it is asked whose they are, newest first; those behind may be anybody's.
const DEBITS_MAX: usize = 20;
/// Of what speaks against an approval, so much is said.
const SAID_MAX: usize = 5;
const TOO_OFTEN: &str = "this payer, or payers of names that begin alike, have sent this amount too often for all of them to be looked at";
const MORE_SENT: &str = "more of what this payer has sent speaks so";

/// What the payer of a credit has sent besides.
#[derive(Clone, Debug, Default)]
pub struct OfPayer {
    pub credits: Vec<AlertRow>,
    /// There may be more.
    pub is_cut: bool,
    /// Debits of late and of this amount that name no credit by a key.
    debits: Vec<NamelessDebit>,
}

/// A debit that may have taken back any credit of its amount.
#[derive(Clone, Debug)]
struct NamelessDebit {
    alert: AlertRow,
    /// Its narration names the payer of one of them.
    names_a_payer: bool,
}

impl OfPayer {
    /// The debit that may have taken this credit back.
    fn taken_by(&self, credit: &AlertRow) -> Option<&AlertRow> {
        let may_be_of = |one: &&NamelessDebit| {
            let is_of_payer = !one.names_a_payer
                || may_name_the_payer(&one.alert, credit)
                || may_repeat(&one.alert, credit);
            is_of_payer && takes_back(&one.alert, credit) && may_undo(&one.alert, credit)
        };
        self.debits.iter().find(may_be_of).map(|one| &one.alert)
    }
}

/// Other credits of the amount and the payer, with the words of his name in whatever order, that may have come to its account,
/// seen from two days before the money came to two days after the mail; newest first. A mailbox may have been unread for long.
/// Those that went back, or may have, also from thirty days before. None where the alert shows no payer.
pub async fn credits_of_its_payer(app: &App, alert: &AlertRow, received: Money) -> Result<OfPayer, OpError> {
    credits_since(app, alert, received, came_first(alert) - SENT_AGAIN_WITHIN).await
}

async fn credits_since(
    app: &App,
    alert: &AlertRow,
    received: Money,
    since: Timestamp,
) -> Result<OfPayer, OpError> {
    let Some(payer) = &alert.facts.payer_name else { return Ok(OfPayer::default()) };
    let sought = Sought {
        realm: alert.simulated_for,
        amount: received,
        seen: (since, alert.first_seen + SENT_AGAIN_WITHIN),
        reversed_since: came_at(alert) - TAKEN_BACK_WITHIN,
    };
    let (mut credits, of_cut_names) = tokio::try_join!(
        app.store.credits_of_payer(payer, &sought, CREDITS_MAX),
        of_cut_names(app, payer, alert.facts.payer_name_cut, &sought)
    )?;
    let mut is_cut = credits.len() >= CREDITS_MAX || of_cut_names.len() >= BEGINNINGS_MAX;
    credits.extend(of_cut_names.into_iter().filter(|other| may_be_one_payer(alert, other)));
    credits.sort_by_key(|credit| std::cmp::Reverse((credit.first_seen, credit.id)));
    credits.dedup_by_key(|credit| credit.id);
    let accounts = app.directory.accounts().await?;
    credits.retain(|other| {
        other.id != alert.id
            && may_be_on_one_account(alert, other, &accounts)
            && !are_two_virtual(alert, other, &accounts)
    });
    is_cut |= credits.len() > CREDITS_MAX;
    credits.truncate(CREDITS_MAX);
    Ok(OfPayer { credits, is_cut, debits: Vec::new() })
}

/// Credits whose payers' names begin as this one's, where a bank cut the end of either: no key of the whole name finds these.
async fn of_cut_names(
    app: &App,
    payer: &str,
    is_cut: bool,
    sought: &Sought,
) -> Result<Vec<AlertRow>, StoreError> {
    let beginning: String = payer.chars().take(BEGINNING).collect();
    // Of a shorter name nothing that was cut would be left to tell it by.
    if beginning.chars().count() < BEGINNING {
        return Ok(Vec::new());
    }
    app.store.credits_of_names_that_begin((&beginning, is_cut), sought, BEGINNINGS_MAX).await
}

/// Whether the name that was cut, of two that were either, may be the other one: what is left of it may be a name by itself, and close to the whole one.
fn may_be_one_payer(one: &AlertRow, other: &AlertRow) -> bool {
    let is_cut_of = |whole: &AlertRow, cut: &AlertRow| {
        let (Some(name), Some(beginning)) = (&whole.facts.payer_name, &cut.facts.payer_name) else {
            return false;
        };
        let (name, beginning) = (Folded::new(name), Folded::new(beginning));
        cut.facts.payer_name_cut
            && verdict_folded(&name, &beginning, &cut.facts.cut_lengths()) != NameVerdict::Different
    };
    is_cut_of(one, other) || is_cut_of(other, one)
}

/// Both mails name virtual accounts, and different ones: what is sent again goes to the number that it was sent to before.
fn are_two_virtual(one: &AlertRow, other: &AlertRow, accounts: &[ReceivingAccount]) -> bool {
    let virtual_of = |alert: &AlertRow| {
        let id = alert.account_id.filter(|_| alert.facts.virtual_account.is_some())?;
        accounts.iter().find(|account| account.id == id && account.via.is_some()).map(|account| account.id)
    };
    virtual_of(one).zip(virtual_of(other)).is_some_and(|(one, other)| one != other)
}

/// The earliest moment at which the money may have come, if the bank tells a day at least: of a day its first, for the mail's Date
/// says only by when. A bank's clock may be fast, but nothing is
/// seen before it happened.
fn came_first(alert: &AlertRow) -> Timestamp {
    if is_timed(alert) { interval(alert).begin.min(alert.first_seen) } else { came_at(alert) }
}

/// When the money came, at the latest; a mail may tell of it much later.
fn came_at(alert: &AlertRow) -> Timestamp {
    told_time(alert).end.min(alert.first_seen)
}

/// The same, where a debit of late names no credit by a key: then each of thirty days that it may be of may have gone back, also
/// where its amount alone links it to another one. `others`: alerts of the account and the amount.
pub async fn with_perhaps_reversed(
    app: &App,
    alert: &AlertRow,
    received: Money,
    of_payer: OfPayer,
    others: &[AlertRow],
) -> Result<OfPayer, OpError> {
    let since = came_first(alert) - SENT_AGAIN_WITHIN;
    let is_of_late = |other: &&AlertRow| {
        other.facts.direction != Some(Direction::Credit)
            && takes_money(other)
            && is_vouched(other)
            && other.status != AlertStatus::Dismissed
            && other.first_seen >= since
    };
    let late: Vec<&AlertRow> = others.iter().filter(is_of_late).collect();
    if late.is_empty() || alert.facts.payer_name.is_none() {
        return Ok(of_payer);
    }
    let all = credits_since(app, alert, received, came_at(alert) - TAKEN_BACK_WITHIN).await?;
    let accounts = app.directory.accounts().await?;
    let place = (alert.simulated_for, alert.account_id);
    let neighbours = app.store.alerts_seen(place, received, sight(app, alert), CREDITS_MAX).await?;
    let mut debits = Vec::new();
    for (at, one) in late.into_iter().enumerate() {
        let mut credits = neighbours.iter().chain(&all.credits).filter(|other| is_credit(other));
        if at < DEBITS_MAX
            && (named_by(app, one, &accounts).await?.iter().any(|credit| speaks_of(one, credit))
                || is_told_to_another(app, one, &accounts)
                || !may_bear_its_reference(one, alert) && has_paid_out(app, one).await?
                || !app.store.settlements_undone_by(one.id).await?.is_empty())
        {
            continue;
        }
        let names_a_payer = credits.any(|credit| names_the_payer(one, credit));
        debits.push(NamelessDebit { alert: one.clone(), names_a_payer });
    }
    Ok(if debits.is_empty() { of_payer } else { OfPayer { debits, ..all } })
}

/// What the payer of an alert has sent before, with what became of it.
///
/// It says why a payment may not be meant though it fits: this payer has sent just this amount before, and it paid somebody else, or
/// nobody: it waits for a person who finds out whose it is, was set aside by one, or went back. He may have sent it once more. What is said
/// is no more than so much, and that there is more.
pub struct SentBefore<'a> {
    alert: &'a AlertRow,
    /// Newest first.
    credits: Vec<Sent<'a>>,
    /// The others of the days before, where one of the credits paid nobody.
    earlier: Vec<Sent<'a>>,
    is_cut: bool,
}

struct Sent<'a> {
    credit: Cow<'a, AlertRow>,
    history: History,
    /// What may have taken back one that came more than two days before.
    late_debit: Option<&'a AlertRow>,
}

impl Sent<'_> {
    fn is_of_nobody(&self) -> bool {
        !self.history.is_settled && is_money_of_nobody(&self.credit)
    }
}

impl<'a> SentBefore<'a> {
    /// `of_payer`: what [`credits_of_its_payer`] found.
    pub async fn read(app: &App, alert: &'a AlertRow, of_payer: &'a OfPayer) -> Result<Self, OpError> {
        let since = came_first(alert) - SENT_AGAIN_WITHIN;
        let mut credits = Vec::new();
        for credit in &of_payer.credits {
            let history = History::of(app, credit).await?;
            let debit = of_payer.taken_by(credit);
            let is_young = credit.first_seen >= since || history.went_back.is_some_and(|at| at >= since);
            if is_young || debit.is_some() {
                let late_debit = debit.filter(|_| credit.first_seen < since);
                credits.push(Sent { credit: Cow::Borrowed(credit), history, late_debit });
            }
        }
        let mut earlier = Vec::new();
        if let Some(received) = alert.facts.amount
            && credits.iter().any(Sent::is_of_nobody)
        {
            let followed = came_first(alert) - FOLLOWED_WITHIN;
            for credit in credits_since(app, alert, received, followed).await?.credits {
                if credits.iter().all(|sent| sent.credit.id != credit.id) {
                    let history = History::of(app, &credit).await?;
                    earlier.push(Sent { credit: Cow::Owned(credit), history, late_debit: None });
                }
            }
        }
        Ok(SentBefore { alert, credits, earlier, is_cut: of_payer.is_cut })
    }

    /// Whether in the two days before this one, which paid nobody, came one that paid another, or one of nobody's of which the same holds: whatever
    /// was made of it, by whom it was dismissed or whether it was decided at all, it may be for that.
    fn follows_anothers(&self, credit: &AlertRow, own: Option<Beneficiary>) -> bool {
        let mut reached = vec![credit.id];
        let mut next = vec![credit];
        while let Some(after) = next.pop() {
            let since = came_first(after) - SENT_AGAIN_WITHIN;
            let seen = since..=after.first_seen;
            let before = self.credits.iter().chain(&self.earlier);
            for one in before.filter(|one| seen.contains(&one.credit.first_seen)) {
                if one.history.paid.iter().any(|paid| Some(Beneficiary::of(paid)) != own) {
                    return true;
                }
                if one.is_of_nobody() && !reached.contains(&one.credit.id) {
                    reached.push(one.credit.id);
                    next.push(&one.credit);
                }
            }
        }
        false
    }

    /// What speaks against this payment.
    pub async fn for_another(&self, app: &App, payment: &Payment) -> Result<Vec<String>, OpError> {
        Ok(as_many_as_said(self.all_for_another(app, Some(payment)).await?))
    }

    /// What would speak against whichever payment, where not all that may be meant could be read.
    pub async fn for_anybody(&self, app: &App) -> Result<Vec<String>, OpError> {
        Ok(as_many_as_said(self.all_for_another(app, None).await?))
    }

    /// What the doubts for which the alert waits have not told a person of who approves.
    pub async fn untold(&self, app: &App, payment: &Payment) -> Result<Vec<String>, OpError> {
        let mut why = self.all_for_another(app, Some(payment)).await?;
        why.retain(|why| !evidence::is_told_of(self.alert, |doubt| doubt == why));
        Ok(as_many_as_said(why))
    }

    /// First whom it paid, one payment of each beneficiary, then what paid nobody.
    async fn all_for_another(&self, app: &App, payment: Option<&Payment>) -> Result<Vec<String>, OpError> {
        let own = payment.map(Beneficiary::of);
        let is_alone = match (payment, own) {
            (Some(payment), Some(own)) if !self.credits.is_empty() => is_its_own(app, payment, own).await?,
            _ => false,
        };
        let (mut others, mut why, mut of_nobody) = (HashSet::new(), Vec::new(), Vec::new());
        for sent in &self.credits {
            let Sent { credit, history, late_debit } = sent;
            let mut has_paid_another = false;
            for paid in history.paid.iter().filter(|paid| Some(Beneficiary::of(paid)) != own) {
                has_paid_another = true;
                if others.insert(Beneficiary::of(paid)) {
                    why.push(paid_in_words(credit, paid, *late_debit));
                }
            }
            if has_paid_another {
                continue;
            }
            // What paid this one's own before may pay it again. What a person took off it as no money of its own may not.
            let is_alone_here =
                is_alone && payment.is_some_and(|payment| credit.account_id == payment.account_id);
            if is_alone_here || !sent.is_of_nobody() {
                continue;
            }
            let may_be_before = match payment {
                // Nothing weighed it against this one where its mail does not say that it came to its account.
                Some(payment) if credit.status.is_waiting() && credit.account_id != payment.account_id => {
                    true
                }
                Some(payment) => is_older(app, credit, payment).await?,
                None => true,
            };
            let is_taken_off = own.is_some_and(|own| history.taken_off.contains(&own));
            if may_be_before || is_held_so(credit) || is_taken_off || self.follows_anothers(credit, own) {
                of_nobody.push(before_in_words(credit));
            }
        }
        why.extend(of_nobody);
        if self.is_cut {
            why.insert(0, TOO_OFTEN.to_owned());
        }
        Ok(why)
    }
}

fn as_many_as_said(mut why: Vec<String>) -> Vec<String> {
    if why.len() > SAID_MAX {
        why.truncate(SAID_MAX);
        why.push(MORE_SENT.to_owned());
    }
    why
}

/// What became of a credit.
struct History {
    /// Every payment that it paid, whether it still does or was reversed.
    paid: Vec<Payment>,
    /// Whose payments a person took it off as no money of theirs.
    taken_off: Vec<Beneficiary>,
    /// It still pays one, or the bank took it back from one, as a debit that a person named says.
    is_settled: bool,
    /// When it was reversed, or what may have taken it back was seen; the later of both.
    went_back: Option<Timestamp>,
}

impl History {
    async fn of(app: &App, credit: &AlertRow) -> Result<History, OpError> {
        let reversed = app.store.reversed_of_alert(credit.id).await?;
        let stands = credit.payment_id.filter(|_| credit.status == AlertStatus::Matched);
        let is_settled = stands.is_some() || reversed.iter().any(|one| one.undoing_alert.is_some());
        let mut history = History { paid: Vec::new(), taken_off: Vec::new(), is_settled, went_back: None };
        for one in &reversed {
            let paid = app.store.payment(one.payment_id).await?;
            history
                .taken_off
                .extend(paid.iter().filter(|_| one.undoing_alert.is_none()).map(Beneficiary::of));
            history.paid.extend(paid);
        }
        if let Some(id) = stands {
            history.paid.extend(app.store.payment(id).await?);
        }
        history.went_back = reversed.iter().filter_map(|one| one.reversed_at).max();
        if let Some(linked) = credit.linked_alert_id
            && let Some(linked) = app.store.alert(linked).await?
            && linked.status != AlertStatus::Dismissed
            && !has_undone_another(app, linked.id, &reversed).await?
        {
            history.went_back = history.went_back.max(Some(linked.first_seen));
        }
        Ok(history)
    }
}

/// The debit that a credit is linked to, because it may be of any of several, was that of another one.
async fn has_undone_another(app: &App, debit: i64, reversed: &[Settlement]) -> Result<bool, OpError> {
    let undone = app.store.settlements_undone_by(debit).await?;
    Ok(!undone.is_empty() && reversed.iter().all(|one| one.undoing_alert != Some(debit)))
}

/// How the doubts of this rule end. No words of a merchant's stand behind them.
const ENDS: [&str; 3] = [
    "this may be a second transfer for it",
    "this may be the same money, sent again for it",
    "this may be a second transfer for the same payment",
];

/// It is held by this very rule, or was until a person dismissed it. What speaks against it speaks against one that was sent
/// after it, whatever was asked for meanwhile.
fn is_held_so(other: &AlertRow) -> bool {
    let is_of_this_rule = |doubt: &String| doubt == TOO_OFTEN || ENDS.iter().any(|end| doubt.ends_with(end));
    evidence::doubts_of(&other.evidence).iter().any(is_of_this_rule)
}

fn paid_in_words(credit: &AlertRow, paid: &Payment, debit: Option<&AlertRow>) -> String {
    let (id, theirs) = (credit.id, of_another_in_words(&paid.transaction_id, paid.business_id));
    let how = match credit.status {
        AlertStatus::Matched if let Some(debit) = debit => {
            format!("and may have been taken back by alert {}: {}", debit.id, ENDS[1])
        }
        AlertStatus::Matched => format!("lately: {}", ENDS[0]),
        _ => format!("and was reversed: {}", ENDS[1]),
    };
    format!("{theirs} was paid by alert {id} with this amount and under this name {how}")
}

fn before_in_words(credit: &AlertRow) -> String {
    let id = credit.id;
    let how = match credit.status {
        AlertStatus::Dismissed => "was dismissed by a person",
        AlertStatus::Quarantined => "waits for the proof of its mail",
        _ => "waits for a person",
    };
    format!("alert {id} of this amount and under this name {how}: {}", ENDS[2])
}

/// Money that came, as the bank, a person or one of our own says, or as a mail says whose proof is still asked for; an attempt
/// that failed is no transfer.
fn is_money_of_nobody(other: &AlertRow) -> bool {
    let is_told = other.authenticity.counts()
        || other.authenticity == Authenticity::Forwarded
        || other.status == AlertStatus::Quarantined;
    let is_nobodys = other.status.is_waiting()
        || matches!(other.status, AlertStatus::Dismissed | AlertStatus::Quarantined | AlertStatus::Reversed);
    is_told && is_nobodys && is_credit(other) && !tells_of_loss(other)
}

/// On an account of a business without wallets nobody else can be meant.
async fn is_its_own(app: &App, payment: &Payment, own: Beneficiary) -> Result<bool, OpError> {
    let Beneficiary::Business(id) = own else { return Ok(false) };
    let accounts = app.directory.accounts().await?;
    let here = accounts.iter().find(|one| Some(one.id) == payment.account_id);
    if here.is_none_or(|one| one.business_id != Some(id)) {
        return Ok(false);
    }
    Ok(app.directory.business(id).await?.is_some_and(|business| !business.wallet_enabled))
}

/// It may have come before the payment asked for this amount; what came since may be for it.
async fn is_older(app: &App, other: &AlertRow, payment: &Payment) -> Result<bool, OpError> {
    // Who is asked pays in the same minute.
    let came = if is_timed(other) { came_by(other).min(other.first_seen) } else { came_at(other) };
    if came < payment.created_at {
        return Ok(true);
    }
    Ok(payment.corrections > 0 && app.store.is_corrected_after(payment.id, came).await?)
}
