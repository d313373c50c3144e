//! Values on their way into and out of the database, the same for both engines.
//!
//! Three column types exist: BIGINT, TEXT and BYTEA. A [`Row`] is read column by column, in the
//! order of the statement's select list, by a [`Reader`] that names the table and the column in
//! its complaint when the database holds what the program cannot have written.

use crate::domain::money::Money;
use crate::domain::time::Timestamp;
use crate::store::StoreError;

/// One parameter or one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl From<i64> for Value {
    fn from(n: i64) -> Value {
        Value::Int(n)
    }
}
impl From<bool> for Value {
    fn from(flag: bool) -> Value {
        Value::Int(i64::from(flag))
    }
}
impl From<Money> for Value {
    fn from(money: Money) -> Value {
        Value::Int(money.kobo())
    }
}
impl From<Timestamp> for Value {
    fn from(at: Timestamp) -> Value {
        Value::Int(at.0)
    }
}
impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::from(text.to_owned())
    }
}
impl From<&String> for Value {
    fn from(text: &String) -> Value {
        Value::from(text.clone())
    }
}
impl From<String> for Value {
    /// PostgreSQL has no place for a NUL in a text: a mail or an answer that holds one would never
    /// be stored and come back for ever.
    fn from(text: String) -> Value {
        Value::Text(if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text })
    }
}
impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Value {
        Value::Bytes(bytes)
    }
}
impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Value {
        Value::Bytes(bytes.to_vec())
    }
}
impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

/// One row of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The columns' names, in their order.
    names: &'static [String],
    pub(in crate::store) values: Vec<Value>,
}

impl Row {
    pub(in crate::store) fn new(names: &'static [String], values: Vec<Value>) -> Row {
        Row { names, values }
    }

    /// Starts reading; `table` is named in errors.
    pub fn reader(self, table: &'static str) -> Reader {
        let row = match self.values.first() {
            Some(Value::Int(id)) => id.to_string(),
            Some(Value::Text(text)) => text.clone(),
            _ => String::from("?"),
        };
        Reader { table, row, names: self.names, prefix: "", values: self.values, next: 0, read: 0 }
    }

    /// The only column of a row, as a count or sum.
    pub fn single_int(self, table: &'static str) -> Result<i64, StoreError> {
        match self.values[..] {
            [Value::Int(value)] => Ok(value),
            _ => Err(self.reader(table).corrupt("value")),
        }
    }
}

/// Takes a row's columns by their names, so that no two of them change places. What is most often read in the
/// order in which it stands costs one comparison.
pub struct Reader {
    table: &'static str,
    row: String,
    names: &'static [String],
    prefix: &'static str,
    values: Vec<Value>,
    /// Place after the one that was read last.
    next: usize,
    /// A bit for each place that was read; a second reading would find nothing.
    read: u128,
}

impl Reader {
    /// The error for a column whose value the program cannot have written.
    pub fn corrupt(&self, column: &'static str) -> StoreError {
        StoreError::Corrupt { table: self.table, column, row: self.row.clone() }
    }

    /// From now on columns whose names begin so are read, by the rest of their names.
    pub fn under(&mut self, prefix: &'static str) -> &mut Reader {
        self.prefix = prefix;
        self
    }

    fn take(&mut self, column: &'static str) -> Result<Value, StoreError> {
        let is_it = |name: &String| name.strip_prefix(self.prefix) == Some(column);
        let at = match self.names.get(self.next) {
            Some(name) if is_it(name) => Some(self.next),
            _ => self.names.iter().position(is_it),
        };
        let bit = |at: usize| u32::try_from(at).ok().and_then(|at| 1_u128.checked_shl(at)).unwrap_or(0);
        let place = at.filter(|at| self.read & bit(*at) == 0);
        let Some((at, value)) = place.and_then(|at| Some((at, self.values.get_mut(at)?))) else {
            let (table, prefix) = (self.table, self.prefix);
            return Err(StoreError::Fault(format!("{table}: no column {prefix}{column}, or read twice")));
        };
        self.next = at + 1;
        self.read |= bit(at);
        Ok(std::mem::replace(value, Value::Null))
    }

    pub fn opt_int(&mut self, column: &'static str) -> Result<Option<i64>, StoreError> {
        match self.take(column)? {
            Value::Int(n) => Ok(Some(n)),
            Value::Null => Ok(None),
            _ => Err(self.corrupt(column)),
        }
    }

    pub fn opt_text(&mut self, column: &'static str) -> Result<Option<String>, StoreError> {
        match self.take(column)? {
            Value::Text(text) => Ok(Some(text)),
            Value::Null => Ok(None),
            _ => Err(self.corrupt(column)),
        }
    }

    pub fn opt_bytes(&mut self, column: &'static str) -> Result<Option<Vec<u8>>, StoreError> {
        match self.take(column)? {
            Value::Bytes(bytes) => Ok(Some(bytes)),
            Value::Null => Ok(None),
            _ => Err(self.corrupt(column)),
        }
    }

    pub fn int(&mut self, column: &'static str) -> Result<i64, StoreError> {
        self.opt_int(column)?.ok_or_else(|| self.corrupt(column))
    }

    pub fn text(&mut self, column: &'static str) -> Result<String, StoreError> {
        self.opt_text(column)?.ok_or_else(|| self.corrupt(column))
    }

    pub fn bytes(&mut self, column: &'static str) -> Result<Vec<u8>, StoreError> {
        self.opt_bytes(column)?.ok_or_else(|| self.corrupt(column))
    }

    pub fn flag(&mut self, column: &'static str) -> Result<bool, StoreError> {
        match self.int(column)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.corrupt(column)),
        }
    }

    pub fn money(&mut self, column: &'static str) -> Result<Money, StoreError> {
        self.int(column).map(Money)
    }

    pub fn opt_money(&mut self, column: &'static str) -> Result<Option<Money>, StoreError> {
        Ok(self.opt_int(column)?.map(Money))
    }

    pub fn time(&mut self, column: &'static str) -> Result<Timestamp, StoreError> {
        self.int(column).map(Timestamp)
    }

    pub fn opt_time(&mut self, column: &'static str) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.opt_int(column)?.map(Timestamp))
    }

    /// A word of a closed list, such as a status.
    pub fn word<T>(&mut self, column: &'static str, parse: fn(&str) -> Option<T>) -> Result<T, StoreError> {
        let text = self.text(column)?;
        parse(&text).ok_or_else(|| self.corrupt(column))
    }

    pub fn opt_word<T>(
        &mut self,
        column: &'static str,
        parse: fn(&str) -> Option<T>,
    ) -> Result<Option<T>, StoreError> {
        match self.opt_text(column)? {
            None => Ok(None),
            Some(text) => parse(&text).map(Some).ok_or_else(|| self.corrupt(column)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Row {
        let names = ["id", "begun_at", "ended_at", "b_id"].map(str::to_owned).to_vec();
        Row::new(Vec::leak(names), [7, 4, 9, 30].map(Value::Int).to_vec())
    }

    #[test]
    fn columns_are_read_by_name_in_whatever_order_they_stand() {
        let mut r = row().reader("samples");
        assert_eq!(r.time("ended_at").unwrap(), Timestamp(9));
        assert_eq!(r.time("begun_at").unwrap(), Timestamp(4));
        assert_eq!(r.int("id").unwrap(), 7);
        assert_eq!(r.under("b_").int("id").unwrap(), 30);
    }

    #[test]
    fn a_column_that_is_not_there_or_was_read_is_a_fault_and_no_null() {
        let mut r = row().reader("samples");
        assert!(matches!(r.opt_time("done_at"), Err(StoreError::Fault(_))));
        assert_eq!(r.opt_int("id").unwrap(), Some(7));
        assert!(matches!(r.opt_int("id"), Err(StoreError::Fault(_))));
    }
}
