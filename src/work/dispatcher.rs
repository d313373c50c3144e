//! Brings claimed deliveries to their hosts: claims in batches, reads what sending needs once per
//! batch, hands each to a slot of its host, to the host's queue, or back.
//!
//! Every claimed delivery holds one of a fixed number of places until its result is written, so memory and
//! sockets are bounded. Retries leave a part of the places to first tries. A slot is free again when the answer
//! has come; the result is written while the next post runs.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::due::Due;
use super::hosts::{Admission, HostKey, Hosts, host_key};
use super::{PAUSE, deliver, delivery_lease};
use crate::app::App;
use crate::domain::time::Timestamp;
use crate::domain::weburl::TargetUrl;
use crate::log_limit::warn_of;
use crate::ops::webhooks::post::Posted;
use crate::ops::webhooks::target::{self, Addressed};
use crate::store::StoreError;
use crate::store::tables::events::DeliveryInput;
use crate::store::tables::jobs::{self, CLAIM_BATCH, Job, JobKind, Queue};

/// Deliveries that are claimed and have no result yet. 20 dead hosts hold 20 to 80 of them.
const HELD_MAX: usize = 768;
/// Places that retries leave to first tries.
const KEPT_FOR_FIRST: usize = 384;
/// Posts in flight to one host and node, whatever the port.
const SLOTS: usize = 4;
/// The same in dev mode, where the one receiver is a program on this machine.
const SLOTS_DEV: usize = 64;

/// A claimed delivery with all it needs, and its place.
struct Piece {
    job: Job,
    input: DeliveryInput,
    target: TargetUrl,
    claimed: Instant,
    _place: OwnedSemaphorePermit,
}

/// What one pass over the queues found.
pub(super) struct Claimed {
    pub claimed: usize,
    /// Queues that gave a whole batch, or were skipped because there was no place: they may have more.
    pub left: Vec<Queue>,
}

/// Places that must be free before a batch of a queue is claimed.
fn needed(queue: Queue) -> usize {
    match queue {
        Queue::Fresh => CLAIM_BATCH,
        Queue::Retry => CLAIM_BATCH + KEPT_FOR_FIRST,
    }
}

pub(super) struct DeliveryDispatcher {
    app: Arc<App>,
    hosts: Mutex<Hosts<Piece>>,
    places: Arc<Semaphore>,
    tasks: TaskTracker,
    stop: CancellationToken,
    /// A delivery that waited longer than this could outlive its lease, and is left to the lease.
    wait_max: Duration,
}

impl DeliveryDispatcher {
    pub(super) fn new(app: Arc<App>, stop: CancellationToken) -> Arc<DeliveryDispatcher> {
        let slots = if app.config.server.dev { SLOTS_DEV } else { SLOTS };
        let wait_max = app.config.webhooks.timeout.to_std();
        Arc::new(DeliveryDispatcher {
            app,
            hosts: Mutex::new(Hosts::new(slots)),
            places: Arc::new(Semaphore::new(HELD_MAX)),
            tasks: TaskTracker::new(),
            stop,
            wait_max,
        })
    }

    /// Claims and delivers until told to stop, then gives back what was not begun.
    pub(super) async fn run(self: Arc<Self>, due: Arc<Due>) {
        let mut queues = Vec::new();
        while !self.stop.is_cancelled() {
            // Nothing is claimed that there is no place for.
            let needed = queues.iter().map(|queue| needed(*queue)).min();
            tokio::select! {
                () = self.room_for(needed.unwrap_or_default()), if needed.is_some() => {}
                rung = due.of(JobKind::Deliver) => {
                    queues.retain(|queue| !rung.contains(queue));
                    queues.extend(rung);
                }
                () = self.stop.cancelled() => break,
            }
            queues = match self.round(&queues).await {
                Ok(claimed) => claimed.left,
                Err(error) => {
                    warn_of!(self.app, &error, "no deliveries could be claimed");
                    tokio::time::sleep(PAUSE).await;
                    Vec::new()
                }
            };
        }
        let left = self.lock().give_up();
        for piece in left {
            self.give_back(piece, self.app.now());
        }
    }

    /// Waits until every post has ended and its result is written.
    pub(super) async fn finished(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    async fn room_for(&self, places: usize) {
        drop(self.places.acquire_many(u32::try_from(places).unwrap_or(u32::MAX)).await);
    }

    /// Claims a batch of each of these queues, as far as there is room, and sets it going.
    pub(super) async fn round(self: &Arc<Self>, queues: &[Queue]) -> Result<Claimed, StoreError> {
        let mut round = Claimed { claimed: 0, left: Vec::new() };
        for queue in queues {
            if self.places.available_permits() < needed(*queue) {
                round.left.push(*queue);
                continue;
            }
            let began = Instant::now();
            let lease = delivery_lease(&self.app);
            let claimed = self.app.store.claim_jobs(JobKind::Deliver, *queue, self.app.now(), lease).await?;
            round.claimed += claimed.len();
            if claimed.len() >= CLAIM_BATCH {
                round.left.push(*queue);
            }
            self.set_going(claimed, began).await?;
        }
        Ok(round)
    }

    async fn set_going(self: &Arc<Self>, claimed: Vec<Job>, began: Instant) -> Result<(), StoreError> {
        if claimed.is_empty() {
            return Ok(());
        }
        let ids: Vec<i64> = claimed.iter().map(|job| job.subject_id).collect();
        let mut inputs = self.app.store.inputs(&ids).await?;
        // Read after the claim: a pause lifted before a job was made due is never seen any more.
        let paused: HashSet<(i64, String)> = self
            .app
            .store
            .paused_targets()
            .await?
            .into_iter()
            .map(|one| (one.business_id, one.url))
            .collect();
        for job in claimed {
            // Only this function takes places, and it was asked for only while there were enough.
            let Ok(place) = self.places.clone().try_acquire_owned() else { break };
            let Some(input) = inputs.remove(&job.subject_id) else {
                self.park(job, place);
                continue;
            };
            if let Some(why) = input.superseded() {
                self.not_any_more(job, why, place);
                continue;
            }
            let target = match target::address(&self.app, &input).await? {
                Addressed::Target(target) => target,
                Addressed::Nowhere { url, why } => {
                    let result = Posted::obstacle(Some(url), self.app.now(), why);
                    self.conclude(job, result, place);
                    continue;
                }
                Addressed::Unasked { why } => {
                    self.kept(job, why, place);
                    continue;
                }
            };
            if !paused.is_empty() && paused.contains(&(job.business_id, target.as_str().to_owned())) {
                let app = self.app.clone();
                self.tasks.spawn(async move {
                    deliver::put_aside(&app, &job, target.as_str()).await;
                    drop(place);
                });
                continue;
            }
            self.admit(Piece { job, input, target, claimed: began, _place: place });
        }
        Ok(())
    }

    fn admit(self: &Arc<Self>, piece: Piece) {
        let key = host_key(&piece.target, self.app.config.server.dev);
        let (now, chance) = (self.app.now(), self.app.random.next_u64());
        let admission = self.lock().admit(&key, piece, now, chance);
        match admission {
            Admission::Start(piece) => self.start(key, piece),
            Admission::Waits => {}
            Admission::Later(piece, at) => self.give_back(piece, at),
        }
    }

    fn start(self: &Arc<Self>, key: HostKey, piece: Piece) {
        let dispatcher = self.clone();
        self.tasks.spawn(async move { dispatcher.use_slot(key, piece).await });
    }

    /// Keeps a slot of the host busy until nothing waits for it.
    async fn use_slot(self: Arc<Self>, key: HostKey, first: Piece) {
        let mut next = Some(first);
        let mut has_waited = false;
        while let Some(piece) = next.take() {
            let superseded = if has_waited { self.superseded(&piece).await } else { Ok(None) };
            has_waited = true;
            let is_late = self.stop.is_cancelled() || piece.claimed.elapsed() > self.wait_max;
            let (took, answered) = if is_late || superseded.is_err() {
                self.give_back(piece, self.app.now());
                (None, false)
            } else if let Ok(Some(why)) = superseded {
                self.not_any_more(piece.job, why, piece._place);
                (None, false)
            } else {
                let result = deliver::post(&self.app, &piece.input, &piece.target).await;
                let end = match result.obstacle {
                    Some(_) => (None, false),
                    None => (Some(result.outcome.duration), result.outcome.status.is_some()),
                };
                self.conclude(piece.job, result, piece._place);
                end
            };
            let (now, chance) = (self.app.now(), self.app.random.next_u64());
            let mut after = self.lock().ended(&key, took, answered, now, chance);
            next = after.start.pop();
            for piece in after.start {
                self.start(key.clone(), piece);
            }
            for (piece, at) in after.later {
                self.give_back(piece, at);
            }
        }
    }

    /// Why an event is not to be sent any more, as it is while it waited for the host; an error if that cannot be read now.
    async fn superseded(&self, piece: &Piece) -> Result<Option<&'static str>, StoreError> {
        let inputs = self.app.store.inputs(&[piece.input.event_id]).await.inspect_err(|error| {
            tracing::warn!(job = piece.job.id, %error, "a delivery was put off");
        })?;
        Ok(inputs.get(&piece.input.event_id).and_then(DeliveryInput::superseded))
    }

    fn not_any_more(self: &Arc<Self>, job: Job, why: &'static str, place: OwnedSemaphorePermit) {
        let app = self.app.clone();
        self.tasks.spawn(async move {
            deliver::not_any_more(&app, &job, why).await;
            drop(place);
        });
    }

    fn kept(self: &Arc<Self>, job: Job, why: &'static str, place: OwnedSemaphorePermit) {
        let app = self.app.clone();
        self.tasks.spawn(async move {
            deliver::kept(&app, &job, why).await;
            drop(place);
        });
    }

    fn conclude(self: &Arc<Self>, job: Job, result: Posted, place: OwnedSemaphorePermit) {
        let app = self.app.clone();
        self.tasks.spawn(async move {
            deliver::conclude(&app, &job, &result).await;
            drop(place);
        });
    }

    fn give_back(self: &Arc<Self>, piece: Piece, at: Timestamp) {
        let app = self.app.clone();
        self.tasks.spawn(async move { deliver::give_back(&app, &piece.job, at).await });
    }

    /// A job about an event that is not there cannot have been written by this program.
    fn park(self: &Arc<Self>, job: Job, place: OwnedSemaphorePermit) {
        let app = self.app.clone();
        self.tasks.spawn(async move {
            tracing::error!(job = job.id, event = job.subject_id, "a delivery without its event is parked");
            let step = jobs::finish(&job, "failed", Some("the event is missing"), app.now());
            if let Err(error) = app.store.conclude_job(&job, [step]).await {
                warn_of!(app, &error, { job = job.id, }, "the result of a job was not stored");
            }
            drop(place);
        });
    }

    fn lock(&self) -> MutexGuard<'_, Hosts<Piece>> {
        // Every method of Hosts leaves it consistent.
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
