//! Statements as static data: one SQL text for both engines.
//!
//! Every statement is declared with [`statements!`] in the file of its noun, which also puts it
//! into that file's `ALL`, so that a test can prepare each of them on a fresh database of either
//! engine. Parameters are `$1..$n`. Plain inserts are declared as table and columns instead of
//! text: the PostgreSQL driver turns the same insert of many units into one statement. So are
//! look-ups by key, of which it turns those that wait at one moment into one.
//!
//! Two words are replaced per engine: `{skip_locked}` in a claim (`for update skip locked` on
//! PostgreSQL, nothing on SQLite, whose single writer needs none). There is no other seam here.

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
}

/// Engines a text is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Sqlite,
    Postgres,
}

impl Sql {
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

/// Declares statements and collects them in `ALL`.
///
/// ```text
/// statements! {
///     BY_ID: query { "select id, kind from jobs where id = $1" }
///     ADD: insert(jobs) { id: Int, kind: Text }
///     OF_KIND: lookup(jobs) { "id, run_at" by id: Int, kind: Text }
/// }
/// ```
macro_rules! statements {
    (@text query, { $text:expr }) => { $crate::store::engine::sql::Text::Plain($text) };
    (@text insert $table:ident, { $($column:ident : $kind:ident),+ $(,)? }) => {
        $crate::store::engine::sql::Text::Insert {
            table: stringify!($table),
            columns: &[$((stringify!($column), $crate::store::engine::sql::Column::$kind)),+],
        }
    };
    (@text lookup $table:ident, { $columns:literal by $($key:ident : $kind:ident),+ $(,)? }) => {
        $crate::store::engine::sql::statements!(@lookup $table, $columns, $($key: $kind),+)
    };
    (@text lookup $table:ident, { $columns:ident!() by $($key:ident : $kind:ident),+ $(,)? }) => {
        $crate::store::engine::sql::statements!(@lookup $table, $columns!(), $($key: $kind),+)
    };
    (@lookup $table:ident, $columns:expr, $($key:ident : $kind:ident),+) => {
        $crate::store::engine::sql::Text::Lookup {
            table: stringify!($table),
            columns: $columns,
            keys: &[$((stringify!($key), $crate::store::engine::sql::Column::$kind)),+],
        }
    };
    ($($name:ident : $form:ident $(($table:ident))? { $($body:tt)* })+) => {
        $(
            pub(in crate::store) static $name: $crate::store::engine::sql::Sql = $crate::store::engine::sql::Sql {
                name: stringify!($name),
                text: $crate::store::engine::sql::statements!(@text $form $($table)?, { $($body)* }),
            };
        )+
        /// Every statement of this file, for the test that prepares them all.
        #[cfg_attr(not(test), allow(dead_code))]
        pub(in crate::store) static ALL: &[&$crate::store::engine::sql::Sql] = &[$(&$name),+];
    };
}
pub(crate) use statements;
