//! Statements as static data: one SQL text for both engines.
//!
//! Every statement is declared with `statements!` in the file of its noun, which also puts it
//! into that file's `ALL`, so that a test can prepare each of them on a fresh database of either
//! engine. Parameters are `$1..$n`. Plain inserts are declared as table and columns instead of
//! text: the PostgreSQL driver turns the same insert of many units into one statement. So are
//! look-ups by key, of which it turns those that wait at one moment into one.
//!
//! A plain insert also makes a type with a field per column, and the Step is made of that alone, so that no
//! two values change places. Answers are read by the names of their columns (`value::Reader`).
//!
//! Two words are replaced per engine: `{skip_locked}` in a claim (`for update skip locked` on
//! PostgreSQL, nothing on SQLite, whose single writer needs none). There is no other seam here.

use std::sync::OnceLock;

use crate::store::engine::value::Value;

/// Type of a column, needed where many rows travel as arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    Int,
    Text,
    Bytes,
}

/// What a statement does.
#[derive(Debug)]
pub enum Text {
    /// SQL as written.
    Plain(&'static str),
    /// `insert into table (columns) values ($1..$n)`.
    Insert { table: &'static str, columns: &'static [(&'static str, Column)] },
    /// `select columns from table where key = $1 and ..`, of at most one row.
    Lookup { table: &'static str, columns: &'static str, keys: &'static [(&'static str, Column)] },
}

/// One statement. Its address is its identity in the caches of prepared statements.
#[derive(Debug)]
pub struct Sql {
    /// The constant's name; outcomes and traces call the statement by it.
    pub name: &'static str,
    pub text: Text,
    /// Names of the columns of its answer, noted by whoever runs it first; both engines call them the same.
    answers: OnceLock<Vec<String>>,
}

/// Engines a text is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Sqlite,
    Postgres,
}

impl Sql {
    pub const fn new(name: &'static str, text: Text) -> Sql {
        Sql { name, text, answers: OnceLock::new() }
    }

    /// Names of the columns of its answer; `tell` says them at the first one. Of many look-ups in one the last
    /// column is the key's place, which no row of a single one has.
    pub(in crate::store) fn answers(&'static self, tell: impl FnOnce() -> Vec<String>) -> &'static [String] {
        self.answers.get_or_init(tell)
    }

    /// The text the engine prepares for one execution.
    pub fn render(&self, dialect: Dialect) -> String {
        match &self.text {
            Text::Plain(text) => {
                let lock = if dialect == Dialect::Postgres { "for update skip locked" } else { "" };
                let text = text.replace("{skip_locked}", lock);
                match dialect {
                    // SQLite numbers `$n` by first appearance; `?n` means what it says.
                    Dialect::Sqlite => text.replace('$', "?"),
                    Dialect::Postgres => text,
                }
            }
            Text::Insert { table, columns } => {
                let sign = if dialect == Dialect::Sqlite { '?' } else { '$' };
                let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
                let places: Vec<String> = (1..=columns.len()).map(|n| format!("{sign}{n}")).collect();
                format!("insert into {table} ({}) values ({})", names.join(", "), places.join(", "))
            }
            Text::Lookup { table, columns, keys } => {
                let sign = if dialect == Dialect::Sqlite { '?' } else { '$' };
                let keys: Vec<String> =
                    keys.iter().enumerate().map(|(i, (key, _))| format!("{key} = {sign}{}", i + 1)).collect();
                format!("select {columns} from {table} where {} limit 1", keys.join(" and "))
            }
        }
    }

    /// The PostgreSQL text that does the same for many rows at once, one array per column: an insert
    /// of them all; or a look-up that answers a row for each key that is found, the key's place
    /// (from 1) as its last column. There `lateral` and `limit` leave the planner nothing but the
    /// index, once per key.
    pub fn render_arrays(&self) -> Option<String> {
        match &self.text {
            Text::Plain(_) => None,
            Text::Insert { table, columns } => {
                let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
                let (names, arrays) = (names.join(", "), arrays(columns));
                Some(format!("insert into {table} ({names}) select * from unnest({arrays})"))
            }
            Text::Lookup { table, columns, keys } => {
                let wanted: Vec<String> = (1..=keys.len()).map(|n| format!("key{n}")).collect();
                let equal: Vec<String> =
                    keys.iter().zip(&wanted).map(|((key, _), wanted)| format!("{key} = {wanted}")).collect();
                let (arrays, wanted, equal) = (arrays(keys), wanted.join(", "), equal.join(" and "));
                Some(format!(
                    "select found.*, place from unnest({arrays}) with ordinality as wanted({wanted}, place) \
                     cross join lateral (select {columns} from {table} where {equal} limit 1) as found"
                ))
            }
        }
    }
}

/// `$1::bigint[], $2::text[]`: one array parameter per column.
fn arrays(columns: &[(&str, Column)]) -> String {
    let each = columns.iter().enumerate().map(|(i, (_, column))| {
        let kind = match column {
            Column::Int => "bigint",
            Column::Text => "text",
            Column::Bytes => "bytea",
        };
        format!("${}::{kind}[]", i + 1)
    });
    each.collect::<Vec<_>>().join(", ")
}

/// A row to insert: the statement, and its values in the order of the statement's columns.
pub(in crate::store) trait InsertRow {
    fn sql(&self) -> &'static Sql;
    fn values(self) -> Vec<Value>;
}

/// A column's name without the mark that it needs as a field where it is a keyword (`r#try`).
pub(in crate::store) const fn column_name(field: &'static str) -> &'static str {
    match field.as_bytes() {
        [b'r', b'#', name @ ..] => match std::str::from_utf8(name) {
            Ok(name) => name,
            Err(_) => field,
        },
        _ => field,
    }
}

/// A list of columns: `"id", "name"` becomes `id, name`.
macro_rules! plain {
    ($first:literal $(, $column:literal)*) => { concat!($first $(, ", ", $column)*) };
}

/// A list of columns of one table among several, told apart by its letter: of the table `b` they are
/// `b.id as b_id, b.name as b_name`, to be read with `Reader::under`.
macro_rules! under {
    ($t:literal, $first:literal $(, $column:literal)*) => {
        concat!($t, ".", $first, " as ", $t, "_", $first $(, ", ", $t, ".", $column, " as ", $t, "_", $column)*)
    };
}

/// Declares statements and collects them in `ALL`.
///
/// ```text
/// statements! {
///     BY_ID: query { "select id, kind from jobs where id = $1" }
///     ADD: insert(jobs) { id: Int, kind: Text }
///     OF_KIND: lookup(jobs) { "id, run_at" by id: Int, kind: Text }
/// }
/// ```
///
/// An insert is no static but a type: `Step::insert(ADD { id: 7.into(), kind: "decide".into() })`.
macro_rules! statements {
    (@item insert $name:ident $table:ident { $($column:ident : $kind:ident),+ $(,)? }) => {
        /// One row of an insert, its values by column.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        pub(in crate::store) struct $name { $(pub $column: $crate::store::engine::value::Value),+ }

        #[allow(dead_code)]
        impl $name {
            pub(in crate::store) const fn sql() -> &'static $crate::store::engine::sql::Sql {
                static SQL: $crate::store::engine::sql::Sql = $crate::store::engine::sql::Sql::new(
                    stringify!($name),
                    $crate::store::engine::sql::Text::Insert {
                        table: stringify!($table),
                        columns: &[$((
                            $crate::store::engine::sql::column_name(stringify!($column)),
                            $crate::store::engine::sql::Column::$kind,
                        )),+],
                    },
                );
                &SQL
            }
        }

        impl $crate::store::engine::sql::InsertRow for $name {
            fn sql(&self) -> &'static $crate::store::engine::sql::Sql {
                Self::sql()
            }

            fn values(self) -> Vec<$crate::store::engine::value::Value> {
                vec![$(self.$column),+]
            }
        }
    };
    (@item query $name:ident { $text:expr }) => {
        pub(in crate::store) static $name: $crate::store::engine::sql::Sql = $crate::store::engine::sql::Sql::new(
            stringify!($name),
            $crate::store::engine::sql::Text::Plain($text),
        );
    };
    (@item lookup $name:ident $table:ident { $columns:literal by $($key:ident : $kind:ident),+ $(,)? }) => {
        $crate::store::engine::sql::statements!(@lookup $name, $table, $columns, $($key: $kind),+);
    };
    (@item lookup $name:ident $table:ident { $columns:ident!() by $($key:ident : $kind:ident),+ $(,)? }) => {
        $crate::store::engine::sql::statements!(@lookup $name, $table, $columns!(), $($key: $kind),+);
    };
    (@lookup $name:ident, $table:ident, $columns:expr, $($key:ident : $kind:ident),+) => {
        pub(in crate::store) static $name: $crate::store::engine::sql::Sql = $crate::store::engine::sql::Sql::new(
            stringify!($name),
            $crate::store::engine::sql::Text::Lookup {
                table: stringify!($table),
                columns: $columns,
                keys: &[$((stringify!($key), $crate::store::engine::sql::Column::$kind)),+],
            },
        );
    };
    (@one insert $name:ident) => { $name::sql() };
    (@one $form:ident $name:ident) => { &$name };
    ($($name:ident : $form:ident $(($table:ident))? { $($body:tt)* })+) => {
        $($crate::store::engine::sql::statements!(@item $form $name $($table)? { $($body)* });)+
        /// Every statement of this file, for the test that prepares them all.
        #[cfg_attr(not(test), allow(dead_code))]
        pub(in crate::store) static ALL: &[&$crate::store::engine::sql::Sql] =
            &[$($crate::store::engine::sql::statements!(@one $form $name)),+];
    };
}
pub(crate) use {plain, statements, under};

#[cfg(test)]
mod tests {
    use super::{InsertRow, Value};

    statements! {
        SAMPLE: insert(samples) { id: Int, begun_at: Int, ended_at: Int, r#try: Int }
    }

    #[test]
    fn an_insert_puts_each_value_into_its_column_in_whatever_order_they_are_given() {
        let row = SAMPLE { ended_at: 9.into(), r#try: 1.into(), begun_at: 4.into(), id: 7.into() };
        let text = SAMPLE::sql().render(super::Dialect::Postgres);
        assert_eq!(text, "insert into samples (id, begun_at, ended_at, try) values ($1, $2, $3, $4)");
        assert_eq!(row.values(), [7, 4, 9, 1].map(Value::Int));
        assert_eq!(ALL.len(), 1);
    }
}
