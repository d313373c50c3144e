//! What waits: of a business its open payments and the webhooks that did not arrive; for the operator also alerts and the
//! queue of webhooks. Every count is bounded, and says so where it reached its bound. Read only.

use crate::app::App;
use crate::domain::merchant::{Business, Mode};
use crate::domain::money::Money;
use crate::domain::time::Timestamp;
use crate::ops::OpError;
use crate::ops::holds::held_since;
use crate::ops::merchants::waiting::waiting_businesses;
use crate::ops::payouts::browse::{PayoutsWaiting, payouts_waiting};
use crate::ops::webhooks::deliveries::paused_in_use;
pub use crate::store::tables::alert_totals::AlertTotal;
pub use crate::store::tables::deliveries::pages::{InTrouble, TROUBLE_MAX, Troubled};
pub use crate::store::tables::jobs::Depth;
use crate::store::tables::jobs::JobKind;
pub use crate::store::tables::payment_walk::OpenPayments;

/// What waits of a business.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusinessWaits {
    pub open: OpenPayments,
    pub webhooks: InTrouble,
}

/// What waits for the operator.
#[derive(Clone, Debug, PartialEq)]
pub struct DeskWaits {
    /// By status; those of which there is none are left out.
    pub alerts: Vec<AlertTotal>,
    /// Live payments of all businesses.
    pub open: OpenPayments,
    /// Webhooks that are to be sent, for the first time and again.
    pub queue: Vec<Depth>,
    pub failed_webhooks: Troubled,
    /// What businesses asked for and the operator has yet to send.
    pub payouts: PayoutsWaiting,
    /// Since when nothing goes out by itself, if that is held.
    pub held_since: Option<Timestamp>,
    /// Targets that answered 410 and for which somebody waits.
    pub paused_targets: usize,
    /// Businesses that were registered, the oldest first; no more than a list of them shows.
    pub businesses: Vec<Business>,
}

pub async fn waiting_of(app: &App, business_id: i64, mode: Mode) -> Result<BusinessWaits, OpError> {
    let open = app.store.open_totals(Some(business_id), mode).await?;
    Ok(BusinessWaits { open, webhooks: app.store.deliveries_in_trouble(business_id, mode).await? })
}

pub async fn waiting_at_desk(app: &App) -> Result<DeskWaits, OpError> {
    let mut queue = app.store.job_depths().await?;
    queue.retain(|depth| depth.kind == JobKind::Deliver);
    Ok(DeskWaits {
        alerts: app.store.alert_totals().await?,
        open: app.store.open_totals(None, Mode::Live).await?,
        queue,
        failed_webhooks: app.store.failed_count(None, Mode::Live).await?,
        payouts: payouts_waiting(app).await?,
        held_since: held_since(app).await?,
        paused_targets: paused_in_use(app).await?,
        businesses: waiting_businesses(app).await?,
    })
}

/// The age of what waits longest.
pub fn age(oldest: Option<Timestamp>, now: Timestamp) -> Option<crate::domain::time::Span> {
    oldest.map(|at| now.since(at))
}

impl DeskWaits {
    /// Naira that alerts hold which wait for a person.
    pub fn alert_amount(&self) -> Money {
        self.alerts.iter().fold(Money::ZERO, |sum, total| sum.saturating_add(total.amount))
    }
}
