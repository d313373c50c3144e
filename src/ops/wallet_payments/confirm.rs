//! Confirms a wallet payment with the customer's PIN: the one way in which money leaves a wallet.
//!
//! A try takes one of the intent's five places, of the wallet's ten and of the business's twenty before the PIN
//! is checked, so no number of tries at once gets more; of the twenty three at most are one wallet's. A right PIN leads to one Unit (`settle_wallet`) or
//! gives its place back; a wrong one is counted against the intent, the wallet and the business, with what
//! follows, in one Unit. A process that dies in between has used up a place and nothing else.

use std::sync::Arc;
use std::time::Duration;

use zeroize::Zeroizing;

use super::end::{ending, known_intent};
use super::page::{LinkView, Receipt, intent_by_token, may_confirm, view, view_link};
use super::settle::{Settled, settle};
use crate::app::App;
use crate::crash;
use crate::domain::intent::{FormKey, Intent, IntentEnd, IntentState, PLACES};
use crate::domain::message::MessageKind;
use crate::domain::money::Money;
use crate::domain::notice::NoticeKind;
use crate::domain::pin::{Pin, PinProblem};
use crate::domain::time::Timestamp;
use crate::domain::wallet::{
    LOCK_AFTER, LOCKED_FOR, OPEN_TRY, STOP_AFTER, TRIES_WINDOW, Wallet, WalletStatus,
};
use crate::ops::OpError;
use crate::ops::messages::outbox::{self, By, NOTES_VALID, Note};
use crate::ops::notices::alarms::raise;
use crate::ops::wallets::find::known_wallet;
use crate::ops::wallets::held::standing;
use crate::store::tables::intents::{self, FormTry};
use crate::store::tables::wallets;
use crate::store::{Applied, IdKind, Step};
use crate::vault::hasher::HashPermit;

/// Races one try may lose: every other try of the same wallet or business is one, and there are few.
const TRY_RACES_MAX: usize = 100;
/// How often a try looks whether one of its business's places is free, and the pause between two looks: 3 s.
const LOOKS_MAX: usize = 150;
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What became of a try. Where the payment stays open, [`view_link`] shows the rest.
#[derive(Debug)]
pub enum Confirmed {
    /// By this try.
    Paid(Box<Receipt>),
    /// By another one, before or at the same moment.
    AlreadyPaid(Box<Receipt>),
    /// There is nothing to confirm: unknown, expired, cancelled, failed. That was checked first.
    NotOpen(LinkView),
    /// The PIN was wrong, and the payment is still open.
    WrongPin {
        tries_left: i64,
    },
    /// The PIN was wrong for the last time; the payment has failed.
    Failed(LinkView),
    /// Too many wrong PINs on this wallet; no PIN is checked until then, or until it is reset.
    Locked {
        until: Timestamp,
    },
    Suspended,
    /// No payment of this business is confirmed now: too many wrong PINs on them, or it is switched off.
    ShopStopped,
    /// The wallet has no PIN yet.
    NoPin,
    /// What came is no PIN; it was not counted.
    NotAPin(PinProblem),
    /// The PIN was right, but the balance is too low, by so much.
    BalanceTooLow(Money),
    /// The PIN was right, but so much of the amount is over the day's limit.
    OverDailyLimit(Money),
    /// The PIN was changed at this moment; the new one counts.
    PinChanged,
    /// Other tries are being checked; nothing was counted.
    Busy,
}

/// A try that has its place.
struct Try {
    id: i64,
    intent: Intent,
    wallet: Wallet,
}

enum Taken {
    Place(Box<Try>),
    Not(Confirmed),
    /// All of the business's places are taken by tries that are being checked, or the same form is.
    Crowded,
    /// Somebody was faster; looked at again.
    Lost,
}

/// Tries `pin` on the intent of a link. Goes on when the caller goes away. The same `form` counts once: when it
/// comes again, on any node, it is told what it came to before, and counts nothing.
pub async fn confirm(
    app: &Arc<App>,
    token: &str,
    pin: &str,
    form: Option<FormKey>,
) -> Result<Confirmed, OpError> {
    let pin = match Pin::parse(pin) {
        Ok(pin) => pin,
        Err(problem) => {
            return Ok(match view_link(app, token).await? {
                LinkView::Open(_) => Confirmed::NotAPin(problem),
                LinkView::Paid(receipt) => Confirmed::AlreadyPaid(receipt),
                view => Confirmed::NotOpen(view),
            });
        }
    };
    let (app, token) = (app.clone(), Zeroizing::new(token.to_owned()));
    let trying = tokio::spawn(async move { try_pin(&app, &token, pin, form).await });
    trying.await.map_err(|_| OpError::Fault("a PIN could not be checked".into()))?
}

async fn try_pin(app: &App, token: &str, pin: Pin, form: Option<FormKey>) -> Result<Confirmed, OpError> {
    let Some(intent) = intent_by_token(app, token).await? else {
        return Ok(Confirmed::NotOpen(LinkView::NotFound));
    };
    if !intent.is_open(app.now()) {
        return over(app, &intent).await;
    }
    // Before a place is taken: a try that cannot be checked must not use one up.
    let Ok(ticket) = app.pins.enter() else { return Ok(Confirmed::Busy) };
    let taken = match take_place(app, intent.id, form.as_ref()).await? {
        Ok(taken) => taken,
        Err(confirmed) => return Ok(confirmed),
    };
    crash::point("pin.place_taken");
    let is_right = check(ticket, &pin, &taken.wallet).await?;
    crash::point("pin.checked");
    if is_right { pay(app, &taken).await } else { count_wrong(app, &taken).await }
}

async fn check(ticket: HashPermit, pin: &Pin, wallet: &Wallet) -> Result<bool, OpError> {
    let stored = wallet.pin.as_deref().unwrap_or_default();
    let plain = Zeroizing::new(pin.as_bytes().to_vec());
    ticket.check(plain, stored).await.map_err(|error| OpError::Fault(error.to_string()))
}

/// What an intent that is not open has come to.
async fn over(app: &App, intent: &Intent) -> Result<Confirmed, OpError> {
    Ok(match view(app, intent).await? {
        LinkView::Paid(receipt) => Confirmed::AlreadyPaid(receipt),
        // Opened again by the clock alone; whoever asks next is served.
        LinkView::Open(_) => Confirmed::Busy,
        view => Confirmed::NotOpen(view),
    })
}

/// Takes a place under the intent's five, the wallet's ten and the business's twenty. Where only tries that
/// are being checked are in the way of a business's next customer, it waits for them; so it does for the first of
/// two taps.
async fn take_place(
    app: &App,
    intent_id: i64,
    form: Option<&FormKey>,
) -> Result<Result<Box<Try>, Confirmed>, OpError> {
    let (mut races, mut looks) = (0, 0);
    while races < TRY_RACES_MAX {
        // One at a time on this node: tries of one business would otherwise lose to one another for long.
        let looked = {
            let _turn = app.place_turn.lock().await;
            look_for_place(app, intent_id, form).await?
        };
        match looked {
            Taken::Place(taken) => return Ok(Ok(taken)),
            Taken::Not(confirmed) => return Ok(Err(confirmed)),
            Taken::Lost => races += 1,
            Taken::Crowded if looks < LOOKS_MAX => {
                looks += 1;
                tokio::time::sleep(LOOK_EVERY).await;
            }
            Taken::Crowded => return Ok(Err(Confirmed::Busy)),
        }
    }
    Err(OpError::Contended)
}

async fn look_for_place(app: &App, intent_id: i64, form: Option<&FormKey>) -> Result<Taken, OpError> {
    // Before the intent, so that what was counted with it is in there.
    let before = match form {
        Some(form) => app.store.try_of_form(intent_id, form).await?,
        None => None,
    };
    let intent = known_intent(app, intent_id).await?;
    let wallet = known_wallet(app, intent.wallet_id).await?;
    let now = app.now();
    if !intent.is_open(now) {
        return Ok(Taken::Not(over(app, &intent).await?));
    }
    match standing(app, &wallet, now).await? {
        WalletStatus::Active => {}
        WalletStatus::Locked(until) => return Ok(Taken::Not(Confirmed::Locked { until })),
        WalletStatus::Suspended => return Ok(Taken::Not(Confirmed::Suspended)),
    }
    match before {
        Some(FormTry::Wrong) => {
            return Ok(Taken::Not(Confirmed::WrongPin { tries_left: intent.tries_left() }));
        }
        Some(FormTry::Open) => return Ok(Taken::Crowded),
        None => {}
    }
    let Some(business) = app.store.wallet_business(intent.business_id).await? else {
        let known = app.store.unit(intent.business_id).await?;
        let known = known.step(wallets::know_business(intent.business_id));
        let _ = app.store.apply(known).await?;
        return Ok(Taken::Lost);
    };
    if !may_confirm(app, intent.business_id, &wallet, Some(&business)).await? {
        return Ok(Taken::Not(Confirmed::ShopStopped));
    }
    if !wallet.has_pin() {
        return Ok(Taken::Not(Confirmed::NoPin));
    }
    let (since, open_since) = (now - TRIES_WINDOW, now - OPEN_TRY);
    let (wrong, open) = app.store.wallet_tries(wallet.id, since, open_since).await?;
    if intent.tries >= PLACES || wrong + open >= LOCK_AFTER {
        return Ok(Taken::Not(Confirmed::Busy));
    }
    let since = business.counted_since(since);
    let (wrong, open) = app.store.business_tries(intent.business_id, since, open_since, None).await?;
    if wrong + open >= STOP_AFTER && !wallet.phone.is_test() {
        return Ok(Taken::Crowded);
    }
    let id = app.store.id(IdKind::PinTry).await?;
    let unit = app
        .store
        .unit(intent.business_id)
        .await?
        .step(intents::take_place(intent.id, now))
        .step(wallets::tick(wallet.id, wallet.pin_clock))
        .step(wallets::tick_business(intent.business_id, business.wrong_clock))
        .step(intents::add_try(id, &intent, wallet.phone.is_test(), form, now));
    let is_taken = app.store.apply(unit).await?.is_done();
    Ok(if is_taken { Taken::Place(Box::new(Try { id, intent, wallet })) } else { Taken::Lost })
}

/// The PIN was right.
async fn pay(app: &App, taken: &Try) -> Result<Confirmed, OpError> {
    let settled = settle(app, taken.intent.id, taken.id, taken.wallet.pin_version).await?;
    let confirmed = match settled {
        Settled::Done => {
            return match view(app, &known_intent(app, taken.intent.id).await?).await? {
                LinkView::Paid(receipt) => Ok(Confirmed::Paid(receipt)),
                _ => Err(OpError::Fault(format!("intent {} was paid and is not", taken.intent.id))),
            };
        }
        Settled::Over(intent) => over(app, &intent).await?,
        Settled::BalanceTooLow(missing) => Confirmed::BalanceTooLow(missing),
        Settled::OverDailyLimit(over) => Confirmed::OverDailyLimit(over),
        Settled::PinChanged => Confirmed::PinChanged,
        Settled::Locked(until) => Confirmed::Locked { until },
        Settled::Suspended => Confirmed::Suspended,
    };
    give_back(app, taken).await?;
    Ok(confirmed)
}

/// A right PIN that led to nothing gives its place back.
async fn give_back(app: &App, taken: &Try) -> Result<(), OpError> {
    let unit = app
        .store
        .unit(taken.intent.business_id)
        .await?
        .step(intents::give_place_back(taken.intent.id))
        .step(intents::judge_try(taken.id, true));
    match app.store.apply(unit).await? {
        Applied::Done(_) | Applied::Conflict { .. } | Applied::ConstraintViolation { .. } => Ok(()),
    }
}

/// What a wrong PIN came to, all of it in one Unit.
struct Wrong {
    steps: Vec<Step>,
    confirmed: WrongEnd,
    stops: bool,
    locks: bool,
    /// The owner is told.
    tells: bool,
}

enum WrongEnd {
    Left(i64),
    Last,
    Over,
}

async fn count_wrong(app: &App, taken: &Try) -> Result<Confirmed, OpError> {
    for _ in 0..TRY_RACES_MAX {
        let intent = known_intent(app, taken.intent.id).await?;
        let wrong = weigh_wrong(app, &intent, taken).await?;
        let unit = app.store.unit(intent.business_id).await?.steps(wrong.steps);
        if !app.store.apply(unit).await?.is_done() {
            continue;
        }
        crash::point("pin.wrong_counted");
        if !taken.wallet.phone.is_test() {
            metrics::counter!("tillbell_wrong_pins_total").increment(1);
        }
        if wrong.tells {
            app.wake_workers();
        }
        if wrong.locks && !taken.wallet.phone.is_test() {
            tracing::warn!(wallet = intent.wallet_id, "a wallet is locked after too many wrong PINs");
        }
        if wrong.stops {
            tracing::error!(
                business = intent.business_id,
                "ALARM: too many wrong PINs on payments of one business; its wallet payments are stopped \
                 until an operator allows them again (business set ID --wallet on)"
            );
            let id = intent.business_id;
            let body = format!(
                "Too many wrong PINs were typed on payments of business {id}; its wallet payments are stopped."
            );
            let page = format!("/operator/businesses/{id}");
            raise(app, NoticeKind::WrongPins, &format!("business {id}"), &body, &page).await;
        }
        return match wrong.confirmed {
            WrongEnd::Left(_) if wrong.locks => Ok(Confirmed::Locked { until: app.now() + LOCKED_FOR }),
            WrongEnd::Left(tries_left) => Ok(Confirmed::WrongPin { tries_left }),
            WrongEnd::Last => Ok(Confirmed::Failed(view(app, &known_intent(app, intent.id).await?).await?)),
            WrongEnd::Over => over(app, &intent).await,
        };
    }
    Err(OpError::Contended)
}

/// The steps for one more wrong try: the intent's count or end, the wallet's lock, the business's stop, and what
/// the owner is told.
async fn weigh_wrong(app: &App, intent: &Intent, taken: &Try) -> Result<Wrong, OpError> {
    let now = app.now();
    let since = now - TRIES_WINDOW;
    let wallet = known_wallet(app, intent.wallet_id).await?;
    let tries = app.store.wallet_business(intent.business_id).await?.unwrap_or_default();
    let (before_wallet, _) = app.store.wallet_tries(wallet.id, since, now).await?;
    let since = tries.counted_since(since);
    let (counted, _) = app.store.business_tries(intent.business_id, since, now, Some(taken.id)).await?;
    let mut steps = Vec::with_capacity(8);
    let confirmed = if intent.state != IntentState::PendingPin {
        WrongEnd::Over
    } else if intent.wrong_tries + 1 < PLACES {
        steps.push(intents::count_wrong(intent));
        WrongEnd::Left(PLACES - intent.wrong_tries - 1)
    } else {
        let first = intents::count_last_wrong(intent, now);
        match ending(app, intent, IntentEnd::WrongPins, first, now).await? {
            Some(ending) => steps.extend(ending),
            // The payment ended at this moment, and its intent with it: the Unit is lost, read again.
            None => steps.push(intents::count_last_wrong(intent, now)),
        }
        WrongEnd::Last
    };
    let locks = before_wallet + 1 >= LOCK_AFTER;
    // Wrong PINs on test wallets are counted on the wallet and its payment, and stop no business.
    let stops = counted >= STOP_AFTER && tries.stopped_at.is_none() && !wallet.phone.is_test();
    // Once a lock; one that ends the payment as well tells of both.
    let is_locked = matches!(wallet.status(now), WalletStatus::Locked(_));
    let kind = match confirmed {
        _ if locks && !is_locked => Some(MessageKind::Locked),
        WrongEnd::Last => Some(MessageKind::Stopped),
        WrongEnd::Left(_) | WrongEnd::Over => None,
    };
    if let Some(kind) = kind {
        steps.extend(message(app, intent, &wallet, kind, now).await?.steps);
    }
    steps.push(wallets::tick(wallet.id, wallet.pin_clock));
    if locks {
        steps.push(wallets::lock(wallet.id, now + LOCKED_FOR, now));
    }
    steps.push(wallets::tick_business(intent.business_id, tries.wrong_clock));
    if stops {
        steps.push(wallets::stop_business(intent.business_id, now));
    }
    steps.push(intents::judge_try(taken.id, false));
    Ok(Wrong { steps, confirmed, stops, locks, tells: kind.is_some() })
}

/// To the wallet's owner, who may not be the one who tried.
async fn message(
    app: &App,
    intent: &Intent,
    wallet: &Wallet,
    kind: MessageKind,
    now: Timestamp,
) -> Result<outbox::Composed, OpError> {
    let note = Note {
        to: &wallet.phone,
        business_id: Some(intent.business_id),
        wallet_id: Some(wallet.id),
        kind,
        subject_id: intent.id,
        text: None,
        valid_until: now + NOTES_VALID,
    };
    outbox::compose(app, &note, By::Workers).await
}
