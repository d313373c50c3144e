//! Payments on other accounts than the one that money came to, for customers pay into the account that they were
//! given last time; and on those that it may have come to, where the alert does not settle which. Read only.
//!
//! These are for the eyes of a person, who may approve one against the obstacle that is named then. None takes money
//! by itself: the account that money came to is half of what tells whose it is. One whose beneficiary this payer has paid on that account
//! before makes a person decide ([`asked_by_whom_he_knows`]).

use std::cmp::Reverse;

use futures_util::future::try_join_all;

use super::may_be_meant::{SUGGEST_WITHIN, asked_before};
use crate::app::App;
use crate::domain::account::{ReceivingAccount, fitting};
use crate::domain::alert::AlertRow;
use crate::domain::matching::{
    AmountFit, Beneficiary, MORE_MAY_BE_MEANT, OTHERS_TOLD, WhichAccount, has_ended_lately, is_timely,
    one_of_each, similar_amounts,
};
use crate::domain::merchant::Mode;
use crate::domain::money::Money;
use crate::domain::name::index::{Likeness, SoughtKeys, sought_keys};
use crate::domain::name::{Folded, is_like};
use crate::domain::payment::{Payment, Status};
use crate::domain::same_transfer::interval;
use crate::domain::time::Timestamp;
use crate::ops::OpError;
use crate::ops::payments::like_names::{Beside, Found, add_unknown};
use crate::store::tables::payment_names::{Elsewhere, Ended, Named};
use crate::store::tables::payments::Own;

/// Payments read by name: of exactly what was received, and as many that the charges rule may fit. Where there are more, somebody's may
/// be hidden behind those that another made.
const NAMED_MAX: usize = 500;
/// Transfers of one payer on an account that are looked at.
const BEFORE_MAX: usize = 500;
/// Other accounts that are looked at one by one; businesses whose payments are read there whatever their names; and payments of
/// each.
const ACCOUNTS_MAX: usize = 50;
const SHOPS_MAX: usize = 5;
const ON_EACH_MAX: usize = 500;

/// Payments made since then that a person may still approve, of names like the payer's and about the amount. For
/// money on an account of one business these are its own payments alone. Test payments and live ones never meet.
pub async fn on_other_accounts(
    app: &App,
    alert: &AlertRow,
    account: &ReceivingAccount,
    received: Money,
    since: Timestamp,
) -> Result<Beside, OpError> {
    of_like_names(app, alert, &beside(account, Ended::Swept), received, since).await
}

/// The same of other beneficiaries than that of one payment, so that no crowd of its own hides them.
pub async fn of_others_elsewhere(
    app: &App,
    alert: &AlertRow,
    (account, payment): (&ReceivingAccount, &Payment),
    received: Money,
    since: Timestamp,
) -> Result<Found, OpError> {
    let asked = Asked { own: Own::of(payment), ..beside(account, Ended::Swept) };
    found_of_like_names(app, alert, &asked, received, since).await
}

/// The same, and those that have ended, whenever they were made: on them an amount was asked for that somebody may
/// have paid into this account.
pub async fn ever_on_other_accounts(
    app: &App,
    alert: &AlertRow,
    account: &ReceivingAccount,
    received: Money,
) -> Result<Beside, OpError> {
    of_like_names(app, alert, &beside(account, Ended::All), received, Timestamp(0)).await
}

/// Payments on all accounts of a mode but one, whosever they are, and those that have ended.
pub async fn on_all_but(
    app: &App,
    alert: &AlertRow,
    (account_id, mode): (Option<i64>, Mode),
    received: Money,
    since: Timestamp,
) -> Result<Beside, OpError> {
    of_like_names(
        app,
        alert,
        &Asked { account_id, mode, business_id: None, ended: Ended::All, own: Own::NOBODYS },
        received,
        since,
    )
    .await
}

/// What money may be meant for beside the payment that the rules choose.
#[derive(Clone, Debug, PartialEq)]
pub enum OtherMeant {
    /// This payment, on this or another account.
    Payment(Box<Payment>),
    /// More beneficiaries' payments than a person is told of.
    More,
    /// Too many payments bear the name, or were paid by it, for all to be looked at.
    NotAllChecked,
}

impl OtherMeant {
    /// One payment of each beneficiary, so that nobody's hides another's; those of the business that is asked about last.
    pub fn one_of_each(payments: Vec<Payment>, not_all: bool, asked_about: &Payment) -> Vec<OtherMeant> {
        let whose = |payment: &Payment| (payment.business_id, Beneficiary::of(payment));
        let each = one_of_each(payments, whose, Some(asked_about.business_id)).into_iter();
        let each = each.map(|payment| OtherMeant::Payment(Box::new(payment)));
        each.chain(not_all.then_some(OtherMeant::NotAllChecked)).collect()
    }

    /// As many as a person is told of, that there are more, and that not all were looked at.
    pub fn likeliest(others: Vec<OtherMeant>) -> Vec<OtherMeant> {
        let is_payment = |other: &OtherMeant| matches!(other, OtherMeant::Payment(_));
        let (mut told, not_all): (Vec<_>, Vec<_>) = others.into_iter().partition(is_payment);
        let are_more = told.len() > OTHERS_TOLD;
        told.truncate(OTHERS_TOLD);
        told.extend(are_more.then_some(OtherMeant::More));
        told.extend(not_all);
        told
    }

    /// What a person is told, with the words for a payment, and those for that not all were looked at.
    pub fn in_words(&self, payment: impl FnOnce(&Payment) -> String, not_all: &str) -> String {
        match self {
            OtherMeant::Payment(other) => payment(other),
            OtherMeant::More => MORE_MAY_BE_MEANT.to_owned(),
            OtherMeant::NotAllChecked => not_all.to_owned(),
        }
    }
}

/// Other beneficiaries' payments on other accounts, open, ended lately or corrected, of about this amount and of a name like the payer's,
/// though he has paid these businesses on this account before. His bank's app remembers the account; and whoever asks in his name first keeps the payment
/// that he means off it, for two of one name are not asked for on one. A shop and the wallets that are filled through it are one to who pays
/// them, but beside a payment of that shop itself.
pub async fn asked_by_whom_he_knows(
    app: &App,
    alert: &AlertRow,
    account: &ReceivingAccount,
    winner: &Payment,
    received: Money,
) -> Result<Vec<OtherMeant>, OpError> {
    let Some(payer_name) = alert.facts.payer_name.as_deref() else { return Ok(Vec::new()) };
    // Whoever simulates meets his own payments alone, and is told of nobody's.
    if alert.simulated_for.is_some() {
        return Ok(Vec::new());
    }
    let (payer, cut) = (Folded::new(payer_name), alert.facts.cut_lengths());
    // Few pay two merchants on one account, so nothing else is read of most.
    let paid = app.store.payments_paid_by(payer_name, account.id, BEFORE_MAX).await?;
    let own = Beneficiary::of(winner);
    let mut before = app.store.payments_by_ids(&paid).await?;
    before.retain(|before| Beneficiary::of(before) != own);
    // Of who has paid very often anybody may have been paid.
    let may_be_anybody = paid.len() >= BEFORE_MAX;
    if before.is_empty() && !may_be_anybody {
        return Ok(Vec::new());
    }
    let is_known = |other: &Payment| {
        before.iter().any(|before| {
            Beneficiary::of(before) == Beneficiary::of(other)
                || before.business_id == other.business_id && own != Beneficiary::Business(other.business_id)
        })
    };
    let (low, high) = similar_amounts(received);
    let theirs = (!may_be_anybody).then(|| Known::of(&before));
    let asked = on_others_of_his_name(app, alert, (account, theirs.as_ref()), (&payer, received)).await?;
    let may_be_meant = |other: &Payment| {
        (other.status == Status::Pending || has_ended_lately(other, interval(alert), alert.first_seen))
            && is_timely(other, interval(alert), alert.first_seen)
            && is_like(&Folded::new(&other.payer_name), &payer, &cut)
            && (AmountFit::of(other, received).approves() || low <= other.amount && other.amount <= high)
            && Beneficiary::of(other) != own
    };
    let others: Vec<Payment> = asked.payments.into_iter().filter(may_be_meant).collect();
    let known: Vec<Payment> = others.iter().filter(|other| is_known(other)).cloned().collect();
    let not_all = asked.may_be_more || may_be_anybody && known.len() < others.len();
    Ok(OtherMeant::one_of_each(known, not_all, winner))
}

/// Whom a payer has paid: the businesses of those payments, and the wallets that some of them filled. The newest first.
struct Known {
    businesses: Vec<i64>,
    wallets: Vec<i64>,
}

impl Known {
    fn of(before: &[Payment]) -> Known {
        let (mut businesses, mut wallets) = (Vec::new(), Vec::new());
        for payment in before {
            if !businesses.contains(&payment.business_id) {
                businesses.push(payment.business_id);
            }
            if let Some(wallet_id) = payment.wallet_id.filter(|id| !wallets.contains(id)) {
                wallets.push(wallet_id);
            }
        }
        Known { businesses, wallets }
    }

    /// Whether each of these businesses can be asked about by itself.
    fn are_few(&self) -> bool {
        self.businesses.len() <= SHOPS_MAX
    }
}

/// Payments of about the amount on all accounts of the mode but this one that may bear the payer's name: by the index of names, and as
/// they asked before they were corrected; and those of the wallets that he has filled, through whichever shop. Where his name cannot be looked for whole,
/// because it has an initial or the bank cut it, or where too many bear it, those businesses' payments of about the amount
/// under whatever name; of nobody in particular these are too many.
async fn on_others_of_his_name(
    app: &App,
    alert: &AlertRow,
    (account, theirs): (&ReceivingAccount, Option<&Known>),
    (payer, received): (&Folded, Money),
) -> Result<Beside, OpError> {
    let sought = sought_keys(payer, Likeness::NotDifferent);
    let similar = similar_amounts(received);
    let anybodys = all_but(account, &sought, similar, Ended::All);
    let few = theirs.filter(|theirs| theirs.are_few());
    // Nobody else's payments count, so that no crowd of them sends the money to a person.
    let mut shops: Vec<Option<i64>> =
        few.map_or(Vec::new(), |few| few.businesses.iter().copied().map(Some).collect());
    // His wallets may have been filled through any shop.
    let are_anybodys = few.is_none_or(|few| !few.wallets.is_empty());
    shops.extend(are_anybodys.then_some(None));
    let by_name = shops.iter().map(|business_id| Elsewhere { business_id: *business_id, ..anybodys });
    let by_name = by_name.map(|asked| async move { app.store.payments_elsewhere(&asked).await });
    let by_name = try_join_all(by_name).await?;
    let counts = |shop: &Option<i64>| few.is_none() || shop.is_some();
    let too_many = shops.iter().zip(&by_name).any(|(shop, found)| counts(shop) && found.may_be_more);
    let mut payments: Vec<Payment> = by_name.into_iter().flat_map(|found| found.payments).collect();
    let is_hard = sought.is_incomplete
        || sought.may_share_one_word
        || alert.facts.payer_name_cut
        || few.is_some() && too_many;
    let mut may_be_more = few.is_none() && too_many;
    if let Some(theirs) = theirs {
        let topups = app.store.open_topups_elsewhere(&theirs.wallets, account.id, similar, ON_EACH_MAX);
        let (topups, are_more) = topups.await?;
        may_be_more |= are_more;
        payments.extend(topups);
    }
    let may_be_theirs = |one: &&ReceivingAccount| {
        let is_theirs = |owner: i64| theirs.is_none_or(|theirs| theirs.businesses.contains(&owner));
        one.id != account.id
            && one.mode == account.mode
            && !one.is_spent_unused
            && one.business_id.is_none_or(is_theirs)
    };
    let accounts = app.directory.accounts().await?;
    let mut others: Vec<&ReceivingAccount> = accounts.iter().filter(may_be_theirs).collect();
    others.sort_by_key(|one| Reverse(one.id));
    may_be_more |= is_hard && (others.len() > ACCOUNTS_MAX || few.is_none());
    let shops = few.filter(|_| is_hard).map_or(&[][..], |few| &few.businesses);
    for other in others.into_iter().take(ACCOUNTS_MAX) {
        let asked = asked_before(app, alert, other.id, received).await?;
        may_be_more |= asked.may_be_more;
        payments.extend(asked.before);
        for business_id in shops {
            let most = (ON_EACH_MAX, alert.first_seen - SUGGEST_WITHIN);
            let of_shop = app.store.payments_of_about((other.id, *business_id), similar, most).await?;
            may_be_more |= of_shop.len() >= ON_EACH_MAX;
            payments.extend(of_shop);
        }
    }
    Ok(Beside { payments, may_be_more })
}

/// Payments of these names and amounts on all accounts of a mode but this one, whosever and whenever made.
fn all_but<'a>(
    account: &ReceivingAccount,
    sought: &'a SoughtKeys,
    amounts: (Money, Money),
    ended: Ended,
) -> Elsewhere<'a> {
    Elsewhere {
        named: Named {
            account_id: Some(account.id),
            keys: &sought.keys,
            amounts,
            open_after: Timestamp(0),
            limit: NAMED_MAX,
        },
        mode: account.mode,
        business_id: None,
        made_since: Timestamp(0),
        ended,
        own: Own::NOBODYS,
    }
}

/// Open payments of such a name on other accounts that ask for exactly this amount.
pub async fn named_elsewhere(
    app: &App,
    account: &ReceivingAccount,
    name: &Folded,
    received: Money,
) -> Result<Beside, OpError> {
    let sought = sought_keys(name, Likeness::Agreeing);
    let found =
        app.store.payments_elsewhere(&all_but(account, &sought, (received, received), Ended::Swept)).await?;
    let may_be_more = found.may_be_more;
    let open = found.payments.into_iter().filter(|payment| payment.status == Status::Pending);
    Ok(Beside { payments: open.collect(), may_be_more })
}

/// Payments on the accounts that an alert may be about.
pub struct OnFitting {
    pub which_account: WhichAccount,
    pub beside: Beside,
}

/// The same for an alert whose account is not settled: on the accounts that its number fits, else on those of its
/// bank, else on all.
pub async fn on_fitting_accounts(
    app: &App,
    alert: &AlertRow,
    received: Money,
    since: Timestamp,
) -> Result<OnFitting, OpError> {
    let accounts = app.directory.accounts().await?;
    let (bank, shown) = (alert.facts.bank.as_deref(), alert.facts.account_number.as_deref());
    let fit = match (shown, bank) {
        (Some(shown), Some(bank)) => fitting(shown, bank, &accounts),
        _ => Vec::new(),
    };
    // Nothing that comes from outside is about the test bank.
    let real = || accounts.iter().filter(|account| !account.is_of_test_bank());
    let of_bank = || real().filter(|account| Some(account.bank.as_str()) == bank).collect::<Vec<_>>();
    let (which_account, asked) = match (fit.is_empty(), of_bank()) {
        (false, _) => (WhichAccount::Perhaps, fit),
        // Without a digit it may be any of its bank's; with digits that fit none, it is none of these.
        (true, of_bank) if !of_bank.is_empty() => match shown.is_some_and(shows_digits) {
            true => (WhichAccount::Another, of_bank),
            false => (WhichAccount::Perhaps, of_bank),
        },
        _ => (WhichAccount::Another, real().collect()),
    };
    let mut found = Beside { payments: Vec::new(), may_be_more: false };
    for mode in [Mode::Live, Mode::Test] {
        if asked.iter().all(|account| account.mode != mode) {
            continue;
        }
        let anywhere =
            Asked { account_id: None, mode, business_id: None, ended: Ended::Swept, own: Own::NOBODYS };
        let mut on_any = of_like_names(app, alert, &anywhere, received, since).await?;
        on_any.payments.retain(|payment| asked.iter().any(|account| Some(account.id) == payment.account_id));
        found.payments.extend(on_any.payments);
        found.may_be_more |= on_any.may_be_more;
    }
    Ok(OnFitting { which_account, beside: found })
}

/// Whether any digit of a masked account number is shown.
pub fn shows_digits(number: &str) -> bool {
    number.contains(|c: char| c.is_ascii_digit())
}

/// Which payments are looked at.
struct Asked {
    /// On all accounts but this one.
    account_id: Option<i64>,
    mode: Mode,
    business_id: Option<i64>,
    ended: Ended,
    /// Of other beneficiaries than this one.
    own: Own,
}

fn beside(account: &ReceivingAccount, ended: Ended) -> Asked {
    let (account_id, business_id) = (Some(account.id), account.business_id);
    Asked { account_id, mode: account.mode, business_id, ended, own: Own::NOBODYS }
}

async fn of_like_names(
    app: &App,
    alert: &AlertRow,
    asked: &Asked,
    received: Money,
    since: Timestamp,
) -> Result<Beside, OpError> {
    let found = found_of_like_names(app, alert, asked, received, since).await?;
    Ok(Beside { payments: found.payments, may_be_more: found.may_be_more || found.misses_close_ones })
}

async fn found_of_like_names(
    app: &App,
    alert: &AlertRow,
    asked: &Asked,
    received: Money,
    since: Timestamp,
) -> Result<Found, OpError> {
    let Some(payer_name) = alert.facts.payer_name.as_deref() else {
        return Ok(Found { payments: Vec::new(), may_be_more: false, misses_close_ones: true });
    };
    let sought = sought_keys(&Folded::new(payer_name), Likeness::NotDifferent);
    let wanted = |amounts, limit| Elsewhere {
        named: Named {
            account_id: asked.account_id,
            keys: &sought.keys,
            amounts,
            open_after: Timestamp(0),
            limit,
        },
        mode: asked.mode,
        business_id: asked.business_id,
        made_since: since,
        ended: asked.ended,
        own: asked.own,
    };
    let above = Money(received.kobo().saturating_add(1));
    let by_rule = (above, Money(received.kobo().saturating_mul(2)));
    let (exact, by_rule) = (wanted((received, received), NAMED_MAX), wanted(by_rule, NAMED_MAX));
    let (exact, by_rule) =
        tokio::try_join!(app.store.payments_elsewhere(&exact), app.store.payments_elsewhere(&by_rule))?;
    let may_be_more = exact.may_be_more || by_rule.may_be_more;
    let misses_close_ones = sought.is_incomplete || sought.may_share_one_word;
    let mut payments = exact.payments;
    add_unknown(&mut payments, by_rule.payments);
    Ok(Found { payments, may_be_more, misses_close_ones })
}
