//! The migrations: one SQL text for both engines, and the tables that they make.
//!
//! A text uses only BIGINT, TEXT and BYTEA. For SQLite the words are replaced by its own and every
//! table becomes STRICT; one that ends in `);--! by_key` lives in the tree of its key. A line
//! `--! append_only TABLE` puts triggers on a table that refuse update and delete. A generated column
//! (`stored`) is computed by SQLite when it is read. PostgreSQL keeps every text `collate "C"`, as SQLite
//! does, and `--! texts_by_bytes` brings the columns of before that to it. After each migration it gets a
//! schema `people` of plain views, one per table (`people.rs`).

use std::sync::OnceLock;

use sha2::{Digest, Sha256};

use super::sql::Dialect;

pub(in crate::store) struct Migration {
    pub name: &'static str,
    pub text: &'static str,
}

macro_rules! migrations {
    ($($name:literal),+ $(,)?) => {
        &[$(Migration {
            name: $name,
            text: include_str!(concat!("../../../migrations/", $name, ".sql")),
        }),+]
    };
}

/// The first first.
pub(in crate::store) const MIGRATIONS: &[Migration] = migrations![
    "0001_first",
    "0002_name_marks",
    "0003_mailboxes",
    "0004_alert_proofs",
    "0006_wallets",
    "0007_texts_by_bytes",
    "0008_counted_once",
    "0009_payment_names",
    "0010_one_index_each",
    "0011_payments_found",
    "0012_newest_first",
    "0013_told_as_it_is",
    "0014_alerts_without_session",
    "0015_activity",
    "0016_undone_by",
    "0017_forms_count_once",
    "0023_whose_acts_and_same_mails",
];

impl Migration {
    pub fn checksum(&self) -> String {
        Sha256::digest(self.text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The text in the engine's own words.
    pub fn render(&self, dialect: Dialect) -> String {
        let mut out = String::with_capacity(self.text.len() + 1024);
        for line in self.text.lines() {
            if let Some(table) = line.strip_prefix("--! append_only ") {
                out.push_str(&append_only(table.trim(), dialect));
            } else if line == "--! texts_by_bytes" {
                if dialect == Dialect::Postgres {
                    out.push_str(&TEXTS_BY_BYTES.replace("{tables}", &tables().join(",")));
                }
            } else if line.starts_with("--") {
                continue;
            } else if dialect == Dialect::Sqlite {
                let line = line.replace("bigint", "integer").replace("bytea", "blob");
                out.push_str(match line.as_str() {
                    ");" => ") strict;",
                    // Rows live in their key's own tree, where they would be found anyway.
                    ");--! by_key" => ") strict, without rowid;",
                    line => line,
                });
                if line.ends_with(") stored;") {
                    // It adds no other kind to a table that is there.
                    out.truncate(out.len() - "stored;".len());
                    out.push_str("virtual;");
                }
            } else {
                out.push_str(&by_bytes(line));
            }
            out.push('\n');
        }
        out
    }
}

/// The line with a text column kept in the order of its bytes, whatever the server's locale: an order that
/// depends on it would make ranges mean something else, and an operating system that comes to sort otherwise
/// would spoil the unique indexes.
fn by_bytes(line: &str) -> String {
    let column =
        line.strip_prefix("    ").or_else(|| line.split_once(" add column ").map(|(_, column)| column));
    let Some((_, kind)) = column.and_then(|column| column.split_once(' ')) else { return line.to_owned() };
    match kind.strip_prefix("text") {
        Some(rest) if rest.is_empty() || rest.starts_with([' ', ',', ';']) => {
            let head = &line[..line.len() - rest.len()];
            format!("{head} collate \"C\"{rest}")
        }
        _ => line.to_owned(),
    }
}

/// The same for columns that are there already. Their indexes are built anew, the rows stay as they are.
const TEXTS_BY_BYTES: &str = r#"
do $$
declare
    t record;
begin
    for t in select c.relname, string_agg(format('alter column %I type text collate "C"', a.attname), ', ') as changes
               from pg_class c join pg_namespace n on n.oid = c.relnamespace
               join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
              where n.nspname = current_schema() and c.relkind = 'r'
                and c.relname::text = any(string_to_array('{tables}', ','))
                and a.atttypid = 'text'::regtype and a.attcollation <> '"C"'::regcollation
              group by c.relname order by c.relname loop
        execute format('alter table %I ', t.relname) || t.changes;
    end loop;
end $$;
"#;

/// Tables in the order in which the migrations make them, those that are no more included.
pub(in crate::store) fn tables() -> &'static [&'static str] {
    static TABLES: OnceLock<Vec<&'static str>> = OnceLock::new();
    TABLES.get_or_init(|| {
        let lines = MIGRATIONS.iter().flat_map(|migration| migration.text.lines());
        lines
            .filter_map(|line| line.strip_prefix("create table ")?.split(' ').next())
            .chain(["schema_migrations"])
            .collect()
    })
}

/// Place of a table in the order in which the migrations make them, in which a table can only name
/// earlier ones as its parents. Unknown tables come last.
pub(in crate::store) fn table_rank(table: &str) -> usize {
    tables().iter().position(|name| *name == table).unwrap_or(tables().len())
}

fn append_only(table: &str, dialect: Dialect) -> String {
    match dialect {
        Dialect::Sqlite => sqlite_guards(table).map(|guard| format!("create trigger {guard};\n")).concat(),
        Dialect::Postgres => format!(
            "create or replace function {POSTGRES_GUARD}() returns trigger language plpgsql as \
             $${POSTGRES_GUARD_BODY}$$;\n\
             create trigger {table}_append_only before update or delete or truncate on {table} \
             for each statement execute function {POSTGRES_GUARD}();\n"
        ),
    }
}

/// What stands behind `create trigger` for a table that is append only; SQLite keeps the text as it is.
pub(in crate::store) fn sqlite_guards(table: &str) -> [String; 2] {
    ["update", "delete"].map(|verb| {
        format!(
            "{table}_no_{verb} before {verb} on {table} \
             begin select raise(abort, '{table} is append only'); end"
        )
    })
}

/// The function that PostgreSQL's guards call, and its body, kept as it is.
pub(in crate::store) const POSTGRES_GUARD: &str = "tillbell_append_only";
pub(in crate::store) const POSTGRES_GUARD_BODY: &str =
    " begin raise exception '% is append only', tg_table_name; end ";

/// Names of all migrations, the first first.
pub(in crate::store) fn names() -> impl Iterator<Item = &'static str> {
    MIGRATIONS.iter().map(|migration| migration.name)
}
