//! Adding a business, changing its settings, rotating its webhook secret.
//!
//! The webhook secret is sealed by the vault and its text is handed out once, when it is made.
//! Called by the command line and the dashboard; who may do so is theirs to know.

use zeroize::Zeroizing;

use crate::app::App;
use crate::domain::charges::{RATE_WHOLE, Schedule};
use crate::domain::event::Chosen;
use crate::domain::merchant::Business;
use crate::domain::money::{Money, naira};
use crate::domain::notice::NoticeKind;
use crate::domain::text::is_plain_line;
use crate::domain::time::{Span, Timestamp};
use crate::domain::webhook::Secret;
use crate::domain::weburl;
use crate::ops::merchants::waiting::told_that_it_is_live;
use crate::ops::notices::merchants::switched;
use crate::ops::paging::PAGE_ROWS;
use crate::ops::{OpError, RACES_MAX};
use crate::store::tables::{acts, deliveries, merchants, wallets};
use crate::store::{Applied, IdKind, Step};

/// The secret before stays valid this long beside a new one.
pub const ROTATION_OVERLAP: Span = Span::hours(24);
/// Characters of a name and of an e-mail address.
pub const NAME_MAX: usize = 255;

/// Why nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BusinessRefusal {
    #[error("there is no business {0}")]
    Unknown(i64),
    #[error("the name must have 1 to 255 characters, none of them control or invisible characters")]
    Name,
    #[error("{0:?} is not an e-mail address")]
    Email(String),
    #[error("the webhook URL {0}")]
    WebhookUrl(&'static str),
    #[error("the percentage must be between 0 and 100 with at most two decimals")]
    Percentage,
    #[error("the {0} must be an amount between zero and payments.max_amount")]
    Amount(&'static str),
    #[error("a rate limit must be at least 1 request a minute")]
    RateLimit,
}

/// Changes of a schedule; `None` leaves a part as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChargeChange {
    /// Hundredths of a percent.
    pub rate: Option<i64>,
    pub fixed: Option<Money>,
    /// `Some(None)` takes the cap away.
    pub cap: Option<Option<Money>>,
    pub paid_by_customer: Option<bool>,
    pub enabled: Option<bool>,
}

impl ChargeChange {
    pub fn is_empty(&self) -> bool {
        *self == ChargeChange::default()
    }

    /// The schedule after the change, checked.
    pub(in crate::ops) fn of(&self, old: Schedule, max: Money) -> Result<Schedule, BusinessRefusal> {
        let new = Schedule {
            rate: self.rate.unwrap_or(old.rate),
            fixed: self.fixed.unwrap_or(old.fixed),
            cap: self.cap.unwrap_or(old.cap),
            paid_by_customer: self.paid_by_customer.unwrap_or(old.paid_by_customer),
            enabled: self.enabled.unwrap_or(old.enabled),
        };
        let is_amount = |money: Money| money >= Money::ZERO && money <= max;
        if !(0..=RATE_WHOLE).contains(&new.rate) {
            return Err(BusinessRefusal::Percentage);
        }
        if !is_amount(new.fixed) {
            return Err(BusinessRefusal::Amount("fixed part"));
        }
        if !new.cap.is_none_or(is_amount) {
            return Err(BusinessRefusal::Amount("cap"));
        }
        Ok(new)
    }
}

/// A business to be added.
#[derive(Clone, Debug)]
pub struct NewBusiness {
    pub name: String,
    pub email: String,
    pub webhook_url: Option<String>,
    pub charges: ChargeChange,
}

/// Changes of a business; `None` leaves a setting as it is, `Some(None)` takes it away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BusinessChange {
    pub name: Option<String>,
    pub email: Option<String>,
    pub webhook_url: Option<Option<String>>,
    /// On also lets one that was registered take real money.
    pub active: Option<bool>,
    pub wallet_enabled: Option<bool>,
    pub rate_limit: Option<Option<i64>>,
    pub wallet_rate_limit: Option<Option<i64>>,
    pub charges: ChargeChange,
    /// What its programs are told of; all else is switched off.
    pub events: Option<Chosen>,
    /// What members are told by mail; all else is switched off.
    pub notices: Option<Vec<NoticeKind>>,
}

/// A business and the text of its new webhook secret, which is shown once.
#[derive(Debug)]
pub struct WithSecret {
    pub business: Business,
    pub secret: Zeroizing<String>,
    /// Until when the secret before is valid as well.
    pub previous_until: Option<Timestamp>,
}

/// Where in the database a secret is sealed: it opens nowhere else. Both columns share it, because
/// a rotation moves the value from one to the other.
fn secret_place(business_id: i64) -> String {
    format!("businesses/{business_id}/webhook_secret")
}

fn fresh_secret(app: &App, business_id: i64) -> Result<(Zeroizing<String>, Vec<u8>), OpError> {
    let mut bytes = [0; 32];
    app.random.fill(&mut bytes);
    let text = Secret::from_random(bytes).text();
    let sealed = app.vault.seal(&secret_place(business_id), text.as_bytes(), app.random.as_ref())?;
    Ok((text, sealed))
}

pub async fn find_business(app: &App, id: i64) -> Result<Option<Business>, OpError> {
    Ok(app.store.business(id).await?)
}

/// All of them, oldest first.
pub async fn list_businesses(app: &App) -> Result<Vec<Business>, OpError> {
    Ok(app.store.businesses().await?)
}

/// Days of the volume that a list shows.
const VOLUME_DAYS: i64 = 30;

/// A business as a list of all of them shows it.
#[derive(Clone, Debug)]
pub struct BusinessRow {
    pub business: Business,
    pub balance: Money,
    /// Live approvals of the last 30 days.
    pub volume: Money,
}

/// Businesses for pages, the newest first.
#[derive(Clone, Debug)]
pub struct BusinessPage {
    pub rows: Vec<BusinessRow>,
    /// The next page begins before this id; `None`: there are no more.
    pub before: Option<i64>,
}

/// A page of businesses whose id, name or e-mail fits what is looked for.
pub async fn browse_businesses(app: &App, query: &str, before: Option<i64>) -> Result<BusinessPage, OpError> {
    let (wanted, id) = (query.trim().to_lowercase(), query.trim().parse::<i64>().ok());
    let fits = |one: &Business| {
        before.is_none_or(|before| one.id < before)
            && (wanted.is_empty()
                || Some(one.id) == id
                || one.name.to_lowercase().contains(&wanted)
                || one.email.to_lowercase().contains(&wanted))
    };
    let mut found: Vec<Business> = list_businesses(app).await?.into_iter().rev().filter(fits).collect();
    let more = found.len() > PAGE_ROWS;
    found.truncate(PAGE_ROWS);
    let (Some(newest), Some(oldest)) = (found.first(), found.last()) else {
        return Ok(BusinessPage { rows: Vec::new(), before: None });
    };
    let (ids, day) = ((oldest.id, newest.id), app.now().lagos_day() - VOLUME_DAYS + 1);
    let before = more.then_some(oldest.id);
    let balances = app.store.balances(ids.0, ids.1).await?;
    let volumes = app.store.volumes(ids, day).await?;
    let of =
        |all: &[(i64, Money)], id| all.iter().find(|(of, _)| *of == id).map_or(Money::ZERO, |(_, sum)| *sum);
    let row = |business: Business| BusinessRow {
        balance: of(&balances, business.id),
        volume: of(&volumes, business.id),
        business,
    };
    Ok(BusinessPage { rows: found.into_iter().map(row).collect(), before })
}

/// A business with what changes by itself.
#[derive(Clone, Debug)]
pub struct BusinessStanding {
    pub business: Business,
    /// What the ledger owes it, in kobo; `None` before its first entry.
    pub balance: Option<Money>,
    /// Since when its wallet payments are stopped because of wrong PINs.
    pub wallet_stopped_at: Option<Timestamp>,
}

pub async fn business_standing(
    app: &App,
    id: i64,
) -> Result<Result<BusinessStanding, BusinessRefusal>, OpError> {
    let Some(business) = find_business(app, id).await? else {
        return Ok(Err(BusinessRefusal::Unknown(id)));
    };
    let balance = merchant_balance(app, id).await?;
    let wallet_stopped_at = app.store.wallet_business(id).await?.and_then(|tries| tries.stopped_at);
    Ok(Ok(BusinessStanding { business, balance, wallet_stopped_at }))
}

pub async fn merchant_balance(app: &App, business_id: i64) -> Result<Option<Money>, OpError> {
    Ok(app.store.merchant_balance(business_id).await?)
}

/// The secrets that sign a business's webhooks at `now`, the current one first; `None` for an
/// unknown business.
pub async fn signing_secrets(
    app: &App,
    business_id: i64,
    now: Timestamp,
) -> Result<Option<Vec<Secret>>, OpError> {
    let Some(sealed) = app.store.sealed_secrets(business_id).await? else { return Ok(None) };
    let mut all = vec![sealed.current];
    all.extend(sealed.previous.filter(|(_, until)| now < *until).map(|(secret, _)| secret));
    let mut secrets = Vec::with_capacity(all.len());
    for one in all {
        let plain = app.vault.unseal(&secret_place(business_id), &one)?;
        let text = std::str::from_utf8(&plain).unwrap_or_default();
        let secret = Secret::parse(text)
            .map_err(|_| OpError::Fault(format!("the webhook secret of business {business_id} is broken")))?;
        secrets.push(secret);
    }
    Ok(Some(secrets))
}

/// Adds a business with a fresh webhook secret and a balance of zero.
pub async fn add_business(
    app: &App,
    operator: &str,
    new: &NewBusiness,
) -> Result<Result<WithSecret, BusinessRefusal>, OpError> {
    let (made, steps) = match made_business(app, operator, new, true).await? {
        Ok(made) => made,
        Err(refusal) => return Ok(Err(refusal)),
    };
    match app.store.apply(app.store.unit(made.business.id).await?.steps(steps)).await? {
        Applied::Done(_) => Ok(Ok(made)),
        other => Err(OpError::Fault(format!("a new business was refused: {other:?}"))),
    }
}

/// A new business and the steps that add it; `live`: it may take real money at once.
pub(in crate::ops) async fn made_business(
    app: &App,
    operator: &str,
    new: &NewBusiness,
    live: bool,
) -> Result<Result<(WithSecret, Vec<Step>), BusinessRefusal>, OpError> {
    let now = app.now();
    let checked = || -> Result<Business, BusinessRefusal> {
        Ok(Business {
            id: 0,
            name: check_name(&new.name)?,
            email: check_email(&new.email)?,
            webhook_url: new.webhook_url.as_deref().map(|url| check_url(app, url)).transpose()?,
            active: true,
            live,
            wallet_enabled: false,
            rate_limit: None,
            wallet_rate_limit: None,
            events: Chosen::default(),
            schedule: new.charges.of(Schedule::DEFAULT, app.config.payments.max_amount)?,
            created_at: now,
            version: 1,
        })
    };
    let mut business = match checked() {
        Ok(business) => business,
        Err(refusal) => return Ok(Err(refusal)),
    };
    business.id = app.store.id(IdKind::Business).await?;
    let (secret, sealed) = fresh_secret(app, business.id)?;
    let act_id = app.store.id(IdKind::Act).await?;
    let subject = format!("business {}", business.id);
    let mut steps = merchants::add_business(&business, sealed).to_vec();
    steps.push(acts::record_of(business.id, act_id, operator, "business add", &subject, "", now));
    Ok(Ok((WithSecret { business, secret, previous_until: None }, steps)))
}

/// Whether a name will do for a business.
pub(in crate::ops) fn is_name(name: &str) -> bool {
    check_name(name).is_ok()
}

/// Changes the settings that `change` names.
pub async fn set_business(
    app: &App,
    operator: &str,
    id: i64,
    change: &BusinessChange,
) -> Result<Result<Business, BusinessRefusal>, OpError> {
    for _ in 0..RACES_MAX {
        let Some(old) = app.store.business(id).await? else { return Ok(Err(BusinessRefusal::Unknown(id))) };
        let new = match changed(app, &old, change) {
            Ok(new) => new,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let now = app.now();
        let act_id = app.store.id(IdKind::Act).await?;
        let mut what = told(&old, &new);
        if let Some(on) = &change.notices {
            let on: Vec<&str> = on.iter().map(|kind| kind.as_str()).collect();
            let on = if on.is_empty() { "none".to_owned() } else { on.join(", ") };
            what = [what, format!("notices by mail: {on}")]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join(", ");
        }
        let unit = app.store.unit(id).await?.step(merchants::set_business(&new, now)).step(acts::record_of(
            id,
            act_id,
            operator,
            "business set",
            &format!("business {id}"),
            &what,
            now,
        ));
        let unit = unit.steps(change.notices.iter().flat_map(|on| switched(id, on)));
        // Deliveries that wait for a paused target look at once whether this is another one.
        let is_moved = old.webhook_url != new.webhook_url;
        let unit = unit.steps(is_moved.then(|| deliveries::wake_paused(id, now)).into_iter().flatten());
        let unit = match new.live && !old.live {
            true => unit.steps(told_that_it_is_live(app, &new).await?),
            false => unit,
        };
        // Whoever switches the wallet on has looked at why it was stopped.
        let unit =
            unit.steps((change.wallet_enabled == Some(true)).then(|| wallets::resume_business(id, now)));
        match app.store.apply(unit).await? {
            Applied::Done(_) => {
                app.directory.forget();
                app.wake_workers();
                return Ok(Ok(Business { version: new.version + 1, ..new }));
            }
            Applied::Conflict { .. } => {}
            Applied::ConstraintViolation { statement } => {
                return Err(OpError::Fault(format!("{statement} was refused")));
            }
        }
    }
    Err(OpError::Contended)
}

/// Makes a new webhook secret; the one before signs beside it for [`ROTATION_OVERLAP`].
pub async fn rotate_secret(
    app: &App,
    operator: &str,
    id: i64,
) -> Result<Result<WithSecret, BusinessRefusal>, OpError> {
    for _ in 0..RACES_MAX {
        let Some(mut business) = app.store.business(id).await? else {
            return Ok(Err(BusinessRefusal::Unknown(id)));
        };
        let now = app.now();
        let until = now + ROTATION_OVERLAP;
        let (secret, sealed) = fresh_secret(app, id)?;
        let act_id = app.store.id(IdKind::Act).await?;
        let subject = format!("business {id}");
        let unit = app
            .store
            .unit(id)
            .await?
            .step(merchants::rotate_secret(id, business.version, sealed, until, now))
            .step(acts::record_of(id, act_id, operator, "business rotate-secret", &subject, "", now));
        match app.store.apply(unit).await? {
            Applied::Done(_) => {
                business.version += 1;
                return Ok(Ok(WithSecret { business, secret, previous_until: Some(until) }));
            }
            Applied::Conflict { .. } => {}
            Applied::ConstraintViolation { statement } => {
                return Err(OpError::Fault(format!("{statement} was refused")));
            }
        }
    }
    Err(OpError::Contended)
}

fn changed(app: &App, old: &Business, change: &BusinessChange) -> Result<Business, BusinessRefusal> {
    let limit = |new: Option<Option<i64>>, old: Option<i64>| match new {
        Some(Some(n)) if n < 1 => Err(BusinessRefusal::RateLimit),
        Some(limit) => Ok(limit),
        None => Ok(old),
    };
    Ok(Business {
        id: old.id,
        name: change.name.as_deref().map_or_else(|| Ok(old.name.clone()), check_name)?,
        email: change.email.as_deref().map_or_else(|| Ok(old.email.clone()), check_email)?,
        webhook_url: match &change.webhook_url {
            None => old.webhook_url.clone(),
            Some(None) => None,
            Some(Some(url)) => Some(check_url(app, url)?),
        },
        active: change.active.unwrap_or(old.active),
        // Whoever switches a business on that waits has decided.
        live: old.live || change.active == Some(true),
        wallet_enabled: change.wallet_enabled.unwrap_or(old.wallet_enabled),
        rate_limit: limit(change.rate_limit, old.rate_limit)?,
        wallet_rate_limit: limit(change.wallet_rate_limit, old.wallet_rate_limit)?,
        events: change.events.clone().unwrap_or_else(|| old.events.clone()),
        schedule: change.charges.of(old.schedule, app.config.payments.max_amount)?,
        created_at: old.created_at,
        version: old.version,
    })
}

/// Which settings an act changed, for the record; values are left to the row.
fn told(old: &Business, new: &Business) -> String {
    let quoted = |text: &str| format!("{text:?}");
    let url = |url: &Option<String>| url.as_deref().map_or_else(|| "none".to_owned(), quoted);
    let switch = |on: bool| if on { "on" } else { "off" }.to_owned();
    let rate = |limit: Option<i64>| limit.map_or_else(|| "default".to_owned(), |limit| limit.to_string());
    let both = |of: &dyn Fn(&Business) -> String| (of(old), of(new));
    let parts = [
        ("name", both(&|one| quoted(&one.name))),
        ("email", both(&|one| quoted(&one.email))),
        ("webhook_url", both(&|one| url(&one.webhook_url))),
        ("active", both(&|one| switch(one.active))),
        ("live mode", both(&|one| switch(one.live))),
        ("wallet", both(&|one| switch(one.wallet_enabled))),
        ("rate_limit", both(&|one| rate(one.rate_limit))),
        ("wallet_rate_limit", both(&|one| rate(one.wallet_rate_limit))),
        ("events", both(&|one| events_in_words(&one.events))),
        ("charges", both(&|one| in_words(&one.schedule))),
    ];
    let changed = parts.iter().filter(|(_, (from, to))| from != to);
    let told: Vec<String> = changed.map(|(name, (from, to))| format!("{name} from {from} to {to}")).collect();
    told.join(", ")
}

fn events_in_words(events: &Chosen) -> String {
    if events.is_empty() { "none".to_owned() } else { events.to_string() }
}

/// Charges as a person says them.
pub(super) fn in_words(schedule: &Schedule) -> String {
    let payer = if schedule.paid_by_customer { "the customer" } else { "the merchant" };
    let cap = schedule.cap.map(|cap| format!(" up to {}", naira(cap))).unwrap_or_default();
    let off = if schedule.enabled { "" } else { ", off" };
    format!("{}% + {}{cap} (paid by {payer}{off})", Money(schedule.rate), naira(schedule.fixed))
}

/// A name as it is stored: trimmed, not empty, everything in it to be seen.
fn check_name(name: &str) -> Result<String, BusinessRefusal> {
    let name = name.trim();
    let is_good = !name.is_empty() && name.chars().count() <= NAME_MAX && is_plain_line(name);
    if is_good { Ok(name.to_owned()) } else { Err(BusinessRefusal::Name) }
}

/// Something before an `@` and a host after it; whether mail arrives there only mail can tell.
fn check_email(email: &str) -> Result<String, BusinessRefusal> {
    let email = email.trim();
    let parts = email.rsplit_once('@');
    let odd = |c: char| c.is_control() || c.is_whitespace();
    let is_good = parts.is_some_and(|(user, host)| {
        !user.is_empty() && !host.is_empty() && !email.contains(odd) && email.chars().count() <= NAME_MAX
    });
    if is_good { Ok(email.to_owned()) } else { Err(BusinessRefusal::Email(email.to_owned())) }
}

/// Form only: whether the host is an approved website's is judged when sending, since websites
/// come after the business.
fn check_url(app: &App, url: &str) -> Result<String, BusinessRefusal> {
    weburl::parse_target(url, app.config.server.dev)
        .map(|target| target.as_str().to_owned())
        .map_err(|problem| BusinessRefusal::WebhookUrl(problem.reason()))
}
