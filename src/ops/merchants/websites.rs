//! Websites: listing, adding, approving, rejecting, changing.
//!
//! A host has one owner: it may not be equal to, above or below an approved host of another
//! business, because webhooks of the one could then be sent to the other (contract/payments.md#p22). Two
//! approvals at the same moment cannot both slip through: each raises one counter from the value
//! it read before it looked for others, so the second is lost and looks again.

use super::businesses::{BusinessRefusal, ChargeChange, in_words};
use crate::app::App;
use crate::domain::merchant::{Website, WebsiteStatus};
use crate::domain::text::is_plain_line;
use crate::domain::weburl;
use crate::ops::{OpError, RACES_MAX, given_reason};
use crate::store::tables::merchants::{self, WEBSITES_MAX, WebsiteRow};
use crate::store::tables::{acts, deliveries};
use crate::store::{Applied, IdKind};

/// Why nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebsiteRefusal {
    #[error("there is no business {0}")]
    UnknownBusiness(i64),
    #[error("there is no website {0}")]
    Unknown(i64),
    #[error("the website {0}")]
    Url(&'static str),
    #[error("the webhook URL {0}")]
    WebhookUrl(&'static str),
    #[error(
        "the webhook URL is on {host}, which is neither this website ({own}) nor an approved website of the business: \
         nothing would be sent there. Approve a website for {host} first, or name a URL on {own}"
    )]
    Elsewhere { host: String, own: String },
    #[error("{0}")]
    Charges(BusinessRefusal),
    #[error(
        "the operator rejected this website, or one under or above its address; only the operator approves it"
    )]
    RejectedBefore,
    #[error("website {0} of this business already has this host")]
    OwnTwice(i64),
    /// Tells no name: the other business is none of this one's concern; an operator sees ids.
    #[error(
        "host {host} cannot be approved: website {website} of business {business} is approved for {taken}, \
         and a host must not be the same as another business's, nor a parent or subdomain of it"
    )]
    Taken { host: String, website: i64, business: i64, taken: String },
    #[error("a business may have at most 1000 websites")]
    TooMany,
    #[error("a reason of 1 to 500 characters is required")]
    Reason,
}

/// A website to be added.
#[derive(Clone, Debug)]
pub struct NewWebsite {
    pub business_id: i64,
    pub url: String,
    pub webhook_url: Option<String>,
    pub charges: ChargeChange,
    /// Approve it at once.
    pub approve: bool,
}

/// Changes of a website; `None` leaves a setting as it is, `Some(None)` takes it away.
#[derive(Clone, Debug, Default)]
pub struct WebsiteChange {
    pub webhook_url: Option<Option<String>>,
    /// Overrides the business's schedule; what is not named is taken from there.
    pub charges: ChargeChange,
    /// Takes the override away.
    pub inherit_charges: bool,
}

/// The websites of a business, whatever their state.
pub async fn list_websites(
    app: &App,
    business_id: i64,
) -> Result<Result<Vec<Website>, WebsiteRefusal>, OpError> {
    if app.store.business(business_id).await?.is_none() {
        return Ok(Err(WebsiteRefusal::UnknownBusiness(business_id)));
    }
    Ok(Ok(app.store.websites(business_id).await?))
}

/// Websites that wait for an operator, which pages show.
const PENDING_SHOWN: usize = 50;

/// Websites of all businesses that wait for an operator, the oldest first.
pub async fn pending_websites(app: &App) -> Result<Vec<Website>, OpError> {
    Ok(app.store.pending_websites(PENDING_SHOWN).await?)
}

/// Adds a website, pending unless `approve` is set; refused as a whole if it cannot be approved.
pub async fn add_website(
    app: &App,
    operator: &str,
    new: &NewWebsite,
) -> Result<Result<Website, WebsiteRefusal>, OpError> {
    let dev = app.config.server.dev;
    // It is shown as it was given.
    if !is_plain_line(new.url.trim()) {
        return Ok(Err(WebsiteRefusal::Url("must not contain invisible or control characters")));
    }
    let host = match weburl::parse_website(&new.url, dev) {
        Ok(host) => host,
        Err(problem) => return Ok(Err(WebsiteRefusal::Url(problem.reason()))),
    };
    let webhook_url = match new.webhook_url.as_deref().map(|url| check_target(app, url)).transpose() {
        Ok(url) => url,
        Err(refusal) => return Ok(Err(refusal)),
    };
    for _ in 0..RACES_MAX {
        let seen = app.store.approvals().await?;
        let Some(business) = app.store.business(new.business_id).await? else {
            return Ok(Err(WebsiteRefusal::UnknownBusiness(new.business_id)));
        };
        let own = app.store.websites(new.business_id).await?;
        if let Some(twin) = own.iter().find(|w| w.host == host && w.status != WebsiteStatus::Rejected) {
            return Ok(Err(WebsiteRefusal::OwnTwice(twin.id)));
        }
        if let Some(refusal) = webhook_url.as_deref().and_then(|url| elsewhere(url, &host, &own)) {
            return Ok(Err(refusal));
        }
        if i64::try_from(own.len()).unwrap_or(i64::MAX) >= WEBSITES_MAX {
            return Ok(Err(WebsiteRefusal::TooMany));
        }
        if let Some(refusal) = in_the_way(app, &host, new.business_id).await?.filter(|_| new.approve) {
            return Ok(Err(refusal));
        }
        let schedule = if new.charges.is_empty() {
            None
        } else {
            match new.charges.of(business.schedule, app.config.payments.max_amount) {
                Ok(schedule) => Some(schedule),
                Err(refusal) => return Ok(Err(WebsiteRefusal::Charges(refusal))),
            }
        };
        let status = if new.approve { WebsiteStatus::Approved } else { WebsiteStatus::Pending };
        let website = Website {
            id: app.store.id(IdKind::Website).await?,
            business_id: new.business_id,
            url: shown_url(&new.url),
            host: host.clone(),
            webhook_url: webhook_url.clone(),
            status,
            reject_reason: None,
            schedule,
            created_at: app.now(),
        };
        let mut unit = app.store.unit(new.business_id).await?.step(merchants::add_website(&website));
        // A pending one raises it too: two with one host at the same moment must see one another.
        unit = unit.step(merchants::raise_approvals(seen));
        let act = if new.approve { "website add --approve" } else { "website add" };
        let act_id = app.store.id(IdKind::Act).await?;
        let subject = format!("website {}", website.id);
        unit = unit.step(acts::record_of(
            website.business_id,
            act_id,
            operator,
            act,
            &subject,
            &host,
            website.created_at,
        ));
        if app.store.apply(unit).await?.is_done() {
            app.directory.forget();
            return Ok(Ok(website));
        }
    }
    Err(OpError::Contended)
}

/// Approves a website, a rejected one too; approving an approved one changes nothing.
pub async fn approve_website(
    app: &App,
    operator: &str,
    id: i64,
) -> Result<Result<Website, WebsiteRefusal>, OpError> {
    approve(app, operator, id, false).await
}

/// Approves a website by its proof: not where it, or one of the business under or above its address, was rejected.
pub(super) async fn approve_proven_website(
    app: &App,
    operator: &str,
    id: i64,
) -> Result<Result<Website, WebsiteRefusal>, OpError> {
    approve(app, operator, id, true).await
}

async fn approve(
    app: &App,
    operator: &str,
    id: i64,
    is_by_proof: bool,
) -> Result<Result<Website, WebsiteRefusal>, OpError> {
    for _ in 0..RACES_MAX {
        let seen = app.store.approvals().await?;
        let Some(mut row) = app.store.website(id).await? else { return Ok(Err(WebsiteRefusal::Unknown(id))) };
        if row.website.status == WebsiteStatus::Approved {
            return Ok(Ok(row.website));
        }
        let (host, business_id) = (row.website.host.clone(), row.website.business_id);
        let own = app.store.websites(business_id).await?;
        let is_rejected = |w: &Website| {
            w.status == WebsiteStatus::Rejected
                && (weburl::host_is_within(&host, &w.host) || weburl::host_is_within(&w.host, &host))
        };
        if is_by_proof && own.iter().any(is_rejected) {
            return Ok(Err(WebsiteRefusal::RejectedBefore));
        }
        let approved = |w: &&Website| w.host == host && w.status == WebsiteStatus::Approved;
        if let Some(twin) = own.iter().find(approved) {
            return Ok(Err(WebsiteRefusal::OwnTwice(twin.id)));
        }
        if let Some(refusal) = in_the_way(app, &host, business_id).await? {
            return Ok(Err(refusal));
        }
        row.website.status = WebsiteStatus::Approved;
        row.website.reject_reason = None;
        if write(app, &row, Some(seen), (operator, "website approve", &host)).await? {
            return Ok(Ok(row.website));
        }
    }
    Err(OpError::Contended)
}

/// Rejects a website; an approved one loses its approval: payments can no longer name it, and
/// webhooks to it stop.
pub async fn reject_website(
    app: &App,
    operator: &str,
    id: i64,
    reason: &str,
) -> Result<Result<Website, WebsiteRefusal>, OpError> {
    let Some(reason) = given_reason(reason) else {
        return Ok(Err(WebsiteRefusal::Reason));
    };
    for _ in 0..RACES_MAX {
        let Some(mut row) = app.store.website(id).await? else { return Ok(Err(WebsiteRefusal::Unknown(id))) };
        row.website.status = WebsiteStatus::Rejected;
        row.website.reject_reason = Some(reason.to_owned());
        if write(app, &row, None, (operator, "website reject", reason)).await? {
            return Ok(Ok(row.website));
        }
    }
    Err(OpError::Contended)
}

/// Changes a website's webhook URL and its own charges.
pub async fn set_website(
    app: &App,
    operator: &str,
    id: i64,
    change: &WebsiteChange,
) -> Result<Result<Website, WebsiteRefusal>, OpError> {
    for _ in 0..RACES_MAX {
        let Some(mut row) = app.store.website(id).await? else { return Ok(Err(WebsiteRefusal::Unknown(id))) };
        let old = row.website.clone();
        match &change.webhook_url {
            None => {}
            Some(None) => row.website.webhook_url = None,
            Some(Some(url)) => match check_target(app, url) {
                Ok(url) => {
                    let own = app.store.websites(old.business_id).await?;
                    if let Some(refusal) = elsewhere(&url, &old.host, &own) {
                        return Ok(Err(refusal));
                    }
                    row.website.webhook_url = Some(url);
                }
                Err(refusal) => return Ok(Err(refusal)),
            },
        }
        if change.inherit_charges {
            row.website.schedule = None;
        }
        if !change.charges.is_empty() {
            let base = match row.website.schedule {
                Some(own) => own,
                None => match app.store.business(row.website.business_id).await? {
                    Some(business) => business.schedule,
                    None => return Ok(Err(WebsiteRefusal::UnknownBusiness(row.website.business_id))),
                },
            };
            match change.charges.of(base, app.config.payments.max_amount) {
                Ok(schedule) => row.website.schedule = Some(schedule),
                Err(refusal) => return Ok(Err(WebsiteRefusal::Charges(refusal))),
            }
        }
        if write(app, &row, None, (operator, "website set", &told(&old, &row.website))).await? {
            return Ok(Ok(row.website));
        }
    }
    Err(OpError::Contended)
}

/// Which settings an act changed, for the record.
fn told(old: &Website, new: &Website) -> String {
    let url =
        |one: &Website| one.webhook_url.as_ref().map_or_else(|| "none".to_owned(), |url| format!("{url:?}"));
    let charges = |one: &Website| one.schedule.as_ref().map_or_else(|| "the business's".to_owned(), in_words);
    let parts = [("webhook_url", url(old), url(new)), ("charges", charges(old), charges(new))];
    let changed = parts.iter().filter(|(_, from, to)| from != to);
    changed.map(|(name, from, to)| format!("{name} from {from} to {to}")).collect::<Vec<_>>().join(", ")
}

/// The refusal of a website's webhook URL that lies neither on its host nor on an approved one of the business:
/// every webhook of its bank transfers would fail, and none would go elsewhere.
fn elsewhere(url: &str, host: &str, own: &[Website]) -> Option<WebsiteRefusal> {
    let target = weburl::parse_target(url, true).ok()?;
    let approved =
        own.iter().filter(|one| one.status == WebsiteStatus::Approved).map(|one| one.host.as_str());
    let is_ours = std::iter::once(host).chain(approved).any(|one| weburl::host_is_within(target.host(), one));
    (!is_ours).then(|| WebsiteRefusal::Elsewhere { host: target.host().to_owned(), own: host.to_owned() })
}

/// Writes a website with its act; false when somebody was faster.
async fn write(
    app: &App,
    row: &WebsiteRow,
    approvals: Option<i64>,
    (operator, act, reason): (&str, &str, &str),
) -> Result<bool, OpError> {
    let now = app.now();
    let act_id = app.store.id(IdKind::Act).await?;
    let unit = app
        .store
        .unit(row.website.business_id)
        .await?
        .step(merchants::set_website(row, now))
        .steps(approvals.map(merchants::raise_approvals))
        .step(acts::record_of(
            row.website.business_id,
            act_id,
            operator,
            act,
            &format!("website {}", row.website.id),
            reason,
            now,
        ))
        // Deliveries that wait for a paused target look at once whether theirs is another one now.
        .steps(deliveries::wake_paused(row.website.business_id, now));
    // The unique index of approved hosts is the second net; what it refuses is looked at again.
    let done = matches!(app.store.apply(unit).await?, Applied::Done(_));
    if done {
        app.directory.forget();
    }
    Ok(done)
}

/// The refusal if another business has a host there. Dev mode's loopback hosts are nobody's.
async fn in_the_way(app: &App, host: &str, business_id: i64) -> Result<Option<WebsiteRefusal>, OpError> {
    if weburl::is_dev_host(host) {
        return Ok(None);
    }
    let other = app.store.overlapping_website(host, business_id).await?;
    Ok(other.map(|other| WebsiteRefusal::Taken {
        host: host.to_owned(),
        website: other.id,
        business: other.business_id,
        taken: other.host,
    }))
}

fn check_target(app: &App, url: &str) -> Result<String, WebsiteRefusal> {
    weburl::parse_target(url, app.config.server.dev)
        .map(|target| target.as_str().to_owned())
        .map_err(|problem| WebsiteRefusal::WebhookUrl(problem.reason()))
}

/// What merchants see as the website's address: as given, with a scheme.
fn shown_url(text: &str) -> String {
    let text = text.trim();
    if text.contains("://") { text.to_owned() } else { format!("https://{text}") }
}
