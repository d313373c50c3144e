//! Ids: whole numbers from counters in the database, taken in blocks.
//!
//! A service takes thousands at once and hands them out from memory; a command takes one. An id
//! is unique for ever, also over nodes; gaps are normal. Order of ids is not order of time.

use std::sync::Mutex;

use crate::store::engine::sql::statements;
use crate::store::engine::unit::{Expect, Step, Unit};
use crate::store::{Applied, Store, StoreError};

statements! {
    TAKE: query { "update counters set value = value + $2 where name = $1 returning value" }
    FORGET_UNITS: query {
        "delete from units where id < (select value from counters where name = 'unit') - 5000000"
    }
    PING: query { "select 1 from counters where name = 'unit'" }
}

impl Store {
    /// Forgets Units so old that nobody can still be in doubt about them: ids run with time, and
    /// five million are more than an hour of the fastest load measured.
    pub async fn forget_units(&self) -> Result<(), StoreError> {
        self.apply(self.unit(0).await?.step(Step::any(&FORGET_UNITS, Vec::new()))).await.map(drop)
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
}

const KINDS: usize = 22;

impl IdKind {
    fn name(self) -> &'static str {
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
        }
    }

    /// What people type in commands is kept short: one at a time, without gaps after a restart.
    fn is_rare(self) -> bool {
        matches!(self, IdKind::Business | IdKind::Website | IdKind::Key | IdKind::Account)
    }
}

#[derive(Clone, Copy, Default)]
struct Block {
    next: i64,
    end: i64,
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
        (block.next < block.end).then(|| {
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
        // Id 0 marks a Unit that needs no memory of itself: taking a block twice only skips ids.
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
        held[kind as usize] = Block { next: end - size + 2, end: end + 1 };
        Ok(end - size + 1)
    }
}
