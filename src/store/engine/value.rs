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

/// One row of an answer, columns in the order of the select list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row(pub(in crate::store) Vec<Value>);

impl Row {
    /// Starts reading; `table` is named in errors.
    pub fn reader(self, table: &'static str) -> Reader {
        let row = match self.0.first() {
            Some(Value::Int(id)) => id.to_string(),
            Some(Value::Text(text)) => text.clone(),
            _ => String::from("?"),
        };
        Reader { table, row, columns: self.0.into_iter() }
    }

    /// The only column of a row, as a count or sum.
    pub fn single_int(self, table: &'static str) -> Result<i64, StoreError> {
        self.reader(table).int("value")
    }
}

/// Takes a row's columns one after another.
pub struct Reader {
    table: &'static str,
    row: String,
    columns: std::vec::IntoIter<Value>,
}

impl Reader {
    /// The error for a column whose value the program cannot have written.
    pub fn corrupt(&self, column: &'static str) -> StoreError {
        StoreError::Corrupt { table: self.table, column, row: self.row.clone() }
    }

    fn next(&mut self) -> Value {
        self.columns.next().unwrap_or(Value::Null)
    }

    pub fn opt_int(&mut self, column: &'static str) -> Result<Option<i64>, StoreError> {
        match self.next() {
            Value::Int(n) => Ok(Some(n)),
            Value::Null => Ok(None),
            _ => Err(self.corrupt(column)),
        }
    }

    pub fn opt_text(&mut self, column: &'static str) -> Result<Option<String>, StoreError> {
        match self.next() {
            Value::Text(text) => Ok(Some(text)),
            Value::Null => Ok(None),
            _ => Err(self.corrupt(column)),
        }
    }

    pub fn opt_bytes(&mut self, column: &'static str) -> Result<Option<Vec<u8>>, StoreError> {
        match self.next() {
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
