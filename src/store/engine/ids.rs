//! Ids: whole numbers from counters in the database, taken in blocks.
//!
//! A service takes thousands at once and hands them out from memory; a command takes one. An id
//! is unique for ever, also over nodes; gaps are normal. Order of ids is not order of time.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::store::engine::sql::statements;
use crate::store::engine::unit::{Expect, Step, Unit};
use crate::store::{Applied, Store, StoreError};

statements! {
    TAKE: query { "update counters set value = value + $2 where name = $1 returning value" }
    FORGET_UNITS: query {
        "delete from units where id < (select value from counters where name = 'unit') - 5000000 \
         and id in (select id from units where id < (select value from counters where name = 'unit') - 5000000 \
         order by id limit 5000) returning id"
    }
    PING: query { "select 1 from counters where name = 'unit'" }
}

/// Units forgotten in one step, which the statement holds as a literal, and steps of one run: at twice a minute
/// more than the fastest load makes.
const FORGET_BATCH: usize = 5_000;
const FORGET_STEPS_MAX: usize = 40;

impl Store {
    /// Forgets Units so old that nobody can still be in doubt about them: an id is used within
    /// `UNIT_IDS_KEPT`, a Unit in doubt is sent again within seconds, and five million ids are more than an hour of
    /// the fastest load measured.
    pub async fn forget_units(&self) -> Result<(), StoreError> {
        for _ in 0..FORGET_STEPS_MAX {
            if self.write(&FORGET_UNITS, Vec::new()).await?.into_rows().len() < FORGET_BATCH {
                break;
            }
        }
        Ok(())
    }
}

/// Counters, one per kind of row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdKind {
    Unit,
    Business,
    Website,
    Key,
    Account,
    Payment,
    Alert,
    Settlement,
    Entry,
    Event,
    Job,
    Attempt,
    Seal,
    Correction,
    Act,
    Mailbox,
    Wallet,
    Intent,
    PinTry,
    PinCode,
    Message,
    Credit,
    User,
    Session,
    Refused,
    Notice,
    OutgoingMail,
    AuditRun,
    Passkey,
    Payout,
    PayoutAccount,
    Arrival,
}

const KINDS: usize = 32;

impl IdKind {
    pub(in crate::store) fn name(self) -> &'static str {
        match self {
            IdKind::Unit => "unit",
            IdKind::Business => "business",
            IdKind::Website => "website",
            IdKind::Key => "key",
            IdKind::Account => "account",
            IdKind::Payment => "payment",
            IdKind::Alert => "alert",
            IdKind::Settlement => "settlement",
            IdKind::Entry => "entry",
            IdKind::Event => "event",
            IdKind::Job => "job",
            IdKind::Attempt => "attempt",
            IdKind::Seal => "seal",
            IdKind::Correction => "correction",
            IdKind::Act => "act",
            IdKind::Mailbox => "mailbox",
            IdKind::Wallet => "wallet",
            IdKind::Intent => "intent",
            IdKind::PinTry => "pin_try",
            IdKind::PinCode => "pin_code",
            IdKind::Message => "message",
            IdKind::Credit => "credit",
            IdKind::User => "user",
            IdKind::Session => "session",
            IdKind::Refused => "refused",
            IdKind::Notice => "notice",
            IdKind::OutgoingMail => "outgoing_mail",
            IdKind::AuditRun => "audit_run",
            IdKind::Passkey => "passkey",
            IdKind::Payout => "payout",
            IdKind::PayoutAccount => "payout_account",
            IdKind::Arrival => "arrival",
        }
    }

    /// How long a block of them may be used.
    fn kept(self) -> Option<Duration> {
        match self {
            IdKind::Unit => Some(UNIT_IDS_KEPT),
            IdKind::Alert | IdKind::Attempt => Some(PARTED_IDS_KEPT),
            _ => None,
        }
    }

    /// What people type in commands is kept short: one at a time, without gaps after a restart.
    fn is_rare(self) -> bool {
        matches!(
            self,
            IdKind::Business | IdKind::Website | IdKind::Key | IdKind::Account | IdKind::PayoutAccount
        )
    }
}

/// A block of ids of Units is thrown away when it is this old: a node with little to do would otherwise use ids
/// that busy ones have left so far behind that [`Store::forget_units`] takes the Unit for an old one.
const UNIT_IDS_KEPT: Duration = Duration::from_secs(600);
/// And one of ids whose rows lie in parts that are taken away when they are empty (`partitions`), for the same reason.
const PARTED_IDS_KEPT: Duration = Duration::from_secs(24 * 3600);

#[derive(Clone, Copy, Default)]
struct Block {
    next: i64,
    end: i64,
    /// `None`: for as long as it lasts.
    good_until: Option<Instant>,
}

/// The blocks this process holds.
pub(in crate::store) struct Ids {
    block: i64,
    held: Mutex<[Block; KINDS]>,
    /// One refill at a time; the others wait and find the block filled.
    refill: tokio::sync::Mutex<()>,
}

impl Ids {
    pub(in crate::store) fn new(block: i64) -> Ids {
        Ids { block, held: Mutex::new([Block::default(); KINDS]), refill: tokio::sync::Mutex::new(()) }
    }

    fn take(&self, kind: IdKind) -> Option<i64> {
        let mut held = self.held.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let block = &mut held[kind as usize];
        let is_good = block.good_until.is_none_or(|until| Instant::now() < until);
        (is_good && block.next < block.end).then(|| {
            block.next += 1;
            block.next - 1
        })
    }

    pub(in crate::store) async fn next(&self, store: &Store, kind: IdKind) -> Result<i64, StoreError> {
        if let Some(id) = self.take(kind) {
            return Ok(id);
        }
        let _turn = self.refill.lock().await;
        if let Some(id) = self.take(kind) {
            return Ok(id);
        }
        let size = if kind.is_rare() { 1 } else { self.block };
        // Unit id 0 is not recorded, because running this twice is harmless: it only skips ids.
        let unit = Unit::new(0, kind as i64).step(Step {
            sql: &TAKE,
            params: vec![kind.name().into(), size.into()],
            expect: Expect::Returned,
        });
        let end = match store.apply(unit).await? {
            applied @ Applied::Done(_) => match applied.into_rows().pop() {
                Some(row) => row.single_int("counters")?,
                None => return Err(StoreError::Fault(format!("no counter {}", kind.name()))),
            },
            _ => return Err(StoreError::Fault("counters cannot refuse".into())),
        };
        let mut held = self.held.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let good_until = kind.kept().map(|kept| Instant::now() + kept);
        held[kind as usize] = Block { next: end - size + 2, end: end + 1, good_until };
        Ok(end - size + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_units_are_not_used_once_they_are_old() {
        let ids = Ids::new(100);
        let later = Some(Instant::now() + UNIT_IDS_KEPT);
        let over = Some(Instant::now());
        let hold = |good_until| {
            ids.held.lock().unwrap()[IdKind::Unit as usize] = Block { next: 7, end: 100, good_until };
        };
        hold(later);
        assert_eq!(ids.take(IdKind::Unit), Some(7));
        hold(over);
        assert_eq!(ids.take(IdKind::Unit), None, "other nodes may be millions ahead");
        hold(None);
        assert_eq!(ids.take(IdKind::Unit), Some(7));
        let kept = [IdKind::Unit, IdKind::Alert, IdKind::Attempt, IdKind::Entry].map(IdKind::kept);
        let day = Some(Duration::from_hours(24));
        assert_eq!(kept, [Some(Duration::from_mins(10)), day, day, None]);
    }
}
