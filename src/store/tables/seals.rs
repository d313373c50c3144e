//! Seals over the ledger, and the entries that wait for one.

use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::{Row, Step, Store, StoreError};

statements! {
    ADD: insert(seals) { id: Int, first_entry_id: Int, entry_count: Int, hash: Bytes, sealed_at: Int }
    ADD_ENTRY: insert(sealed_entries) { entry_id: Int, seal_id: Int }
    ADD_UNSEALED: insert(unsealed_entries) { entry_id: Int }
    TAKEN: query { "delete from unsealed_entries where entry_id = $1" }
    LAST: query { "select id, hash from seals order by id desc limit 1" }
    UNSEALED: query {
        "select e.id, e.kind, e.settlement_id, e.business_id, e.memo, e.posted_at, p.line, p.account, p.side, \
         p.amount_kobo from (select entry_id from unsealed_entries order by entry_id limit $1) u \
         join entries e on e.id = u.entry_id join postings p on p.entry_id = e.id order by e.id, p.line"
    }
    SEALS_AFTER: query { "select id, hash from seals where id > $1 order by id limit $2" }
    SEALED: query {
        "select e.id, e.kind, e.settlement_id, e.business_id, e.memo, e.posted_at, p.line, p.account, p.side, \
         p.amount_kobo from sealed_entries s \
         join entries e on e.id = s.entry_id join postings p on p.entry_id = e.id \
         where s.seal_id = $1 order by e.id, p.line"
    }
}

/// An entry with its postings, as one text of which every column is a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealableEntry {
    pub id: i64,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seal {
    pub id: i64,
    pub hash: Vec<u8>,
}

/// Puts an entry on the list for the next seal; part of the entry's own Unit.
pub fn add_unsealed(entry_id: i64) -> Step {
    Step::insert(ADD_UNSEALED { entry_id: entry_id.into() })
}

/// The steps that write one seal. Another node that writes the same seal makes it lost or refused.
/// `entries` is at most `ops::ledger::seal::SEAL_MAX` long, which is why a Unit of seals may be longer
/// than others.
pub fn add(id: i64, hash: &[u8], entries: &[SealableEntry], at: Timestamp) -> Vec<Step> {
    let first = entries.first().map_or(0, |entry| entry.id);
    let mut steps = Vec::with_capacity(entries.len() * 2 + 1);
    // The seal first: its entries refer to it.
    steps.push(Step::insert(ADD {
        id: id.into(),
        first_entry_id: first.into(),
        entry_count: (entries.len() as i64).into(),
        hash: hash.into(),
        sealed_at: at.into(),
    }));
    for entry in entries {
        steps.push(Step::one(&TAKEN, vec![entry.id.into()]));
        steps.push(Step::insert(ADD_ENTRY { entry_id: entry.id.into(), seal_id: id.into() }));
    }
    steps
}

fn gather(rows: Vec<Row>) -> Result<Vec<SealableEntry>, StoreError> {
    let mut entries: Vec<SealableEntry> = Vec::new();
    for row in rows {
        let mut r = row.reader("entries");
        let id = r.int("id")?;
        let head = format!(
            "{}|{}|{}|{:?}|{}",
            r.text("kind")?,
            r.opt_int("settlement_id")?.unwrap_or(0),
            r.opt_int("business_id")?.unwrap_or(0),
            r.text("memo")?,
            r.int("posted_at")?
        );
        let line = format!(
            "|{}|{}|{}|{}",
            r.int("line")?,
            r.text("account")?,
            r.text("side")?,
            r.int("amount_kobo")?
        );
        match entries.last_mut() {
            Some(entry) if entry.id == id => entry.text.push_str(&line),
            _ => entries.push(SealableEntry { id, text: head + &line }),
        }
    }
    Ok(entries)
}

fn decode(row: Row) -> Result<Seal, StoreError> {
    let mut r = row.reader("seals");
    Ok(Seal { id: r.int("id")?, hash: r.bytes("hash")? })
}

impl Store {
    /// Entries that no seal holds yet, lowest id first.
    pub async fn unsealed_entries(&self, limit: usize) -> Result<Vec<SealableEntry>, StoreError> {
        gather(self.read(&UNSEALED, vec![(limit as i64).into()]).await?)
    }

    pub async fn last_seal(&self) -> Result<Option<Seal>, StoreError> {
        self.read_one(&LAST, Vec::new()).await?.map(decode).transpose()
    }

    /// Seals in order, after one.
    pub async fn seals_after(&self, id: i64, limit: usize) -> Result<Vec<Seal>, StoreError> {
        let rows = self.read(&SEALS_AFTER, vec![id.into(), (limit as i64).into()]).await?;
        rows.into_iter().map(decode).collect()
    }

    /// The entries of a seal, as they are now.
    pub async fn sealed_entries(&self, seal_id: i64) -> Result<Vec<SealableEntry>, StoreError> {
        gather(self.read(&SEALED, vec![seal_id.into()]).await?)
    }
}
