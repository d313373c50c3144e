//! Every statement of the store goes through an index, on both engines.
//!
//! All tables are filled with rows made from their columns, then each statement is explained as the program
//! runs it: on PostgreSQL as a generic plan under the settings of its connections, on SQLite without
//! statistics. A table that is read from end to end is a finding, also by way of an index, and so is all of one
//! account where nothing else narrows it, unless [`WALKS`] names it with a reason. The audit's clauses read everything by design and are not asked.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tillbell::domain::time::Timestamp;
use tillbell::store::engine::sql::{Dialect, Sql, Text};
use tillbell::store::statements;

use super::open;
use crate::harness::databases::{Engine, TestDatabase, connect};

const ROWS: usize = 20_000;
/// Tables whose rows people or the program make one by one: reading one whole costs nothing. All others grow.
const SMALL: &[(&str, usize)] = &[
    ("counters", 0), // as the migrations made it
    ("holds", 0),    // four kinds at most, and none as a rule
    ("key_checks", 0),
    ("data_keys", 3), // one more at a rotation, and after a week one less
    ("wrapped_keys", 3),
    ("figure_places", 0),
    ("schema_migrations", 0),
    ("mailboxes", 10),
    ("receiving_accounts", 50),
    ("paused_targets", 20),
    ("unsealed_entries", 500), // a seal a second takes them
    ("unplaced_events", 500),  // places are given at once
    ("event_days", 50),        // a row a day
    ("wallet_businesses", 50),
    ("audit_runs", 50), // run by hand
];

/// Tables in parts, and the key by which they are.
const PARTED: [(&str, &str); 4] =
    [("mails", "alert_id"), ("attempts", "id"), ("postings", "entry_id"), ("sealed_entries", "entry_id")];

/// Columns that may not hold just anything, `table.column` or the column alone, with what row `n` holds.
const VALUES: &[(&str, &str)] = &[
    ("mode", "'live'"),
    ("data_keys.purpose", "'seal'"),
    ("data_keys.pass", "1"),
    ("side", "'credit'"),
    ("tier", "1"),
    ("pin_version", "0"),
    ("charge_rate", "100"),
    ("tries", "n % 2"),
    ("wrong_tries", "0"),
    ("charge_percentage_kobo", "0"),
    ("charge_fixed_kobo", "0"),
    ("charge_kobo", "0"),
    ("businesses.is_live", "case when n % 20 = 0 then 0 else 1 end"),
    ("websites.status", "case when n % 20 = 0 then 'pending' else 'approved' end"),
    ("payments.kind", "case when n % 60 = 0 then 'topup' else 'transfer' end"),
    (
        "payments.status",
        "case when n % 20 = 0 then 'pending' when n % 2 = 0 then 'approved' else 'rejected' end",
    ),
    ("payments.approved_at", "case when n % 20 <> 0 and n % 2 = 0 then n end"),
    ("payments.settlement_id", "case when n % 20 <> 0 and n % 2 = 0 then n end"),
    ("payments.rejected_at", "case when n % 2 = 1 then n end"),
    ("payments.account_id", "n % 50 + 1"),
    ("payments.business_id", "n % 500 + 1"),
    ("payments.rule_low_kobo", "n"),
    ("payments.rule_high_kobo", "n + 100"),
    (
        "alerts.status",
        "case n % 40 when 0 then 'new' when 1 then 'review' when 2 then 'quarantined' else 'ignored' end",
    ),
    ("arrivals.kind", "'late'"),
    (
        "events.kind",
        "case when n % 40 = 0 then 'payment.reversed' when n % 10 = 0 then 'payment.rejected' else 'payment.approved' end",
    ),
    ("events.reduced_at", "case when n % 20 = 0 then n end"),
    ("alerts.account_id", "n % 50 + 1"),
    ("alerts.simulated_for", "case when n % 20 = 3 then n % 500 + 1 end"),
    ("alerts.amount_kobo", "n % 100 + 1"),
    ("settlements.kind", "'transfer'"),
    ("settlements.alert_id", "n"),
    ("entries.kind", "'settlement'"),
    ("entries.settlement_id", "n"),
    ("unsealed_entries.entry_id", "20000 - n"), // the newest
    ("postings.account", "'merchant:' || cast(n % 500 + 1 as text)"),
    ("jobs.kind", "case when n % 2 = 0 then 'deliver' else 'decide' end"),
    ("jobs.done_at", "case when n % 50 <> 0 then n end"),
    ("jobs.outcome", "case when n % 50 = 0 then null when n % 30 = 0 then 'failed' else 'delivered' end"),
    ("payment_intents.state", "case when n % 20 = 0 then 'pending_pin' else 'expired' end"),
    ("payment_intents.end_reason", "case when n % 20 <> 0 then 'expired' end"),
    ("payment_intents.ended_at", "case when n % 20 <> 0 then n end"),
    ("pin_tries.outcome", "'wrong'"),
    ("messages.kind", "'link'"),
    ("messages.status", "'sent'"),
    ("settled_keys.kind", "'session'"),
    ("message_quotas.scope", "'business_day'"),
    ("users.staff_role", "'viewer'"),
    ("members.role", "'viewer'"),
    ("api_keys.rights", "'read'"),
    ("user_links.kind", "'welcome'"),
    ("outgoing_mails.kind", "'text'"),
    ("payouts.status", "case when n % 20 = 0 then 'pending' else 'paid' end"),
    ("payouts.ended_at", "case when n % 20 <> 0 then n end"),
    ("payouts.end_entry_id", "case when n % 20 <> 0 then n end"),
    ("sessions.stage", "'whole'"),
];

/// Plans that must hold more than an index: what they sum up is in it, or they meet nothing else.
const COVERED: &[(&str, &str)] = &[("TOTALS", "alerts_by_status"), ("OPEN_TOTALS", "payments_open_until")];

const BOTH: &[Engine] = &[Engine::Sqlite, Engine::Postgres];

/// Statement, the table it walks through, on which engines, and why that is right.
const WALKS: &[(&str, &str, &[Engine], &str)] = &[
    (
        "UNKEYED",
        "payments",
        BOTH,
        "its index holds only payments whose names are not in the index of names yet",
    ),
    (
        "PAYOUTS_WAITING",
        "payouts",
        BOTH,
        "its index holds only payouts that wait, and they are counted up to a bound",
    ),
    ("LAST", "seals", BOTH, "the newest row by the primary key, one"),
    (
        "DELIVERIES_FAILED",
        "jobs",
        &[Engine::Postgres],
        "either of two indexes that hold failed deliveries alone",
    ),
    ("ACCOUNTS", "payments", BOTH, "whether there is one, of accounts that are retired"),
    ("OPEN_PAYMENTS", "payments", BOTH, "open ones are counted, up to a bound, for people"),
    ("UNDECIDED_ON_ACCOUNT", "alerts", BOTH, "its index holds only alerts that nobody decided yet"),
    ("LIST", "messages", BOTH, "the newest rows by an index in that order, as many as are shown"),
    ("BUSINESSES", "businesses", BOTH, "a list for people, by the primary key up to a limit"),
    (
        "WHOSE",
        "businesses",
        BOTH,
        "an operator's question: each business is asked by the key of its payments",
    ),
    ("BUSINESSES_WAITING", "businesses", BOTH, "its index holds only businesses that wait for an operator"),
    ("WEBSITES_PENDING", "websites", BOTH, "its index holds only websites that wait for an operator"),
    (
        "OVERLAPPING",
        "websites",
        BOTH,
        "asked when a person approves a website: hosts are compared from their end",
    ),
];

/// What very many rows share: a business's rows are its own, and most of its tables are small.
const WIDE: [&str; 1] = ["account_id"];

on_both! {
    async fn every_statement_is_held_to_its_plan(db: TestDatabase) {
        let asked: Vec<&Sql> = statements()
            .into_iter()
            .filter(|sql| !matches!(sql.text, Text::Insert { .. }) && !is_clause(sql))
            .collect();
        assert!(asked.len() > 100, "only {} statements are registered", asked.len());
        let tables: BTreeSet<String> = fill(&db).await;
        if db.engine() == Engine::Postgres {
            analyze(&db).await;
        }
        let engine = db.engine();
        let plans = match engine {
            Engine::Sqlite => sqlite_plans(&db, &asked, &tables),
            Engine::Postgres => postgres_plans(&db, &asked).await,
        };
        let mut wrong = Vec::new();
        let mut walked = BTreeSet::new();
        for plan in &plans {
            for table in plan.walks.iter().filter(|table| !SMALL.iter().any(|(small, _)| small == table)) {
                walked.insert((plan.name, table.clone()));
                if !WALKS.iter().any(|(name, of, on, _)| *name == plan.name && of == table && on.contains(&engine)) {
                    wrong.push(format!("{} walks through {table}:\n{}", plan.name, plan.text));
                }
            }
            let index = COVERED.iter().find(|(name, _)| *name == plan.name);
            wrong.extend(index.filter(|(_, index)| !plan.covering.contains(*index)).map(|(_, index)| {
                format!("{} does not find all it needs in {index}:\n{}", plan.name, plan.text)
            }));
        }
        for (name, table, on, reason) in WALKS {
            assert!(reason.len() > 20, "{name} has no reason");
            if on.contains(&engine) && !walked.contains(&(*name, (*table).to_owned())) {
                wrong.push(format!("{name} does not walk through {table} any more: take it out of WALKS"));
            }
        }
        assert!(wrong.is_empty(), "{} findings:\n{}", wrong.len(), wrong.join("\n"));
    }
}

/// A clause of the audit, which counts rows and then those that break its rule, or names the latter.
fn is_clause(sql: &Sql) -> bool {
    let text = sql.render(Dialect::Sqlite);
    text.starts_with("select (select count(*) from ") || text.starts_with("select '' as found_in")
}

/// How an engine means to run one statement.
struct Plan {
    name: &'static str,
    /// Tables it reads from end to end.
    walks: Vec<String>,
    /// Indexes of which it needs nothing but themselves.
    covering: BTreeSet<String>,
    text: String,
}

/// Fills every table; answers their names.
pub(super) async fn fill(db: &TestDatabase) -> BTreeSet<String> {
    db.without_audit("its tables are full of whatever they take");
    let columns = "select m.name, c.name, c.type, c.\"notnull\" from sqlite_master m join pragma_table_xinfo(m.name) c \
         where m.type = 'table' and m.name not like 'sqlite_%' and c.hidden = 0";
    let mut tables: BTreeMap<String, Vec<(String, String, bool)>> = BTreeMap::new();
    let mut add =
        |table: String, column: (String, String, bool)| tables.entry(table).or_default().push(column);
    match db.url().strip_prefix("sqlite:") {
        Some(path) => {
            let file = rusqlite::Connection::open(path).unwrap();
            let mut rows = file.prepare(columns).unwrap();
            let mut rows = rows.query([]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                let kind: String = row.get(2).unwrap();
                add(row.get(0).unwrap(), (row.get(1).unwrap(), kind.to_lowercase(), row.get(3).unwrap()));
            }
        }
        None => {
            let columns = "select table_name::text, column_name::text, data_type::text, is_nullable = 'NO' \
                 from information_schema.columns where table_schema = 'public' and is_generated = 'NEVER' \
                 and not exists (select from pg_class where relname = table_name and relispartition)";
            for row in connect(db.url()).await.query(columns, &[]).await.unwrap() {
                add(row.get(0), (row.get(1), row.get(2), row.get(3)));
            }
        }
    }
    let inserts: String = tables.iter().map(|(table, columns)| insert(table, columns)).collect();
    match db.url().strip_prefix("sqlite:") {
        Some(path) => {
            let file = rusqlite::Connection::open(path).unwrap();
            let text = format!("pragma foreign_keys = off; begin; {inserts} commit;");
            file.execute_batch(&text.replace("bytea", "blob")).unwrap();
        }
        None => {
            let client = connect(db.url()).await;
            let text = format!("set session_replication_role = replica; {inserts}");
            client.batch_execute(&text).await.unwrap();
            // The second part of a table in parts, too: of an empty one the server knows nothing.
            for (table, key) in PARTED {
                let names: Vec<&str> = tables[table].iter().map(|(column, ..)| column.as_str()).collect();
                let ahead = format!("{key} + 50000000");
                let values: Vec<&str> =
                    names.iter().map(|name| if *name == key { ahead.as_str() } else { *name }).collect();
                let (names, values) = (names.join(", "), values.join(", "));
                let text = format!(
                    "insert into {table} ({names}) select {values} from {table} where {key} % 10 = 0"
                );
                client.batch_execute(&text).await.unwrap();
            }
        }
    }
    tables.into_keys().collect()
}

/// As the server does it by itself: of a table in parts it looks at each part, and never at the whole. That is the program's to do.
async fn analyze(db: &TestDatabase) {
    let client = connect(db.url()).await;
    let tables =
        "select relname::text from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace";
    for row in client.query(tables, &[]).await.unwrap() {
        client.batch_execute(&format!("vacuum analyze {}", row.get::<_, String>(0))).await.unwrap();
    }
    open(db.url()).await.keep_parts(Timestamp(0)).await.unwrap();
}

fn insert(table: &str, columns: &[(String, String, bool)]) -> String {
    let rows = SMALL.iter().find(|(small, _)| *small == table).map_or(ROWS, |(_, rows)| *rows);
    if rows == 0 {
        return String::new();
    }
    let known = |column: &str| {
        let full = format!("{table}.{column}");
        let value = VALUES.iter().find(|(name, _)| *name == full);
        value.or_else(|| VALUES.iter().find(|(name, _)| *name == column)).map(|(_, value)| *value)
    };
    let (names, values): (Vec<&str>, Vec<&str>) = columns
        .iter()
        .filter_map(|(column, kind, is_needed)| {
            let usual = match kind.as_str() {
                _ if !is_needed => None,
                _ if column.starts_with("is_") => Some("n % 2"),
                "bigint" | "integer" => Some("n"),
                "text" => Some("'t' || cast(n as text)"),
                "bytea" | "blob" => Some("cast(cast(n as text) as bytea)"),
                other => panic!("{table}.{column} is {other}"),
            };
            known(column).or(usual).map(|value| (column.as_str(), value))
        })
        .unzip();
    format!(
        "with recursive numbers(n) as (select cast(1 as bigint) union all select n + 1 from numbers where n < {rows}) \
         insert into {table} ({}) select {} from numbers;\n",
        names.join(", "),
        values.join(", ")
    )
}

fn sqlite_plans(db: &TestDatabase, asked: &[&'static Sql], tables: &BTreeSet<String>) -> Vec<Plan> {
    let file = rusqlite::Connection::open(db.url().strip_prefix("sqlite:").unwrap()).unwrap();
    let plan = |sql: &&'static Sql| {
        let text = sql.render(Dialect::Sqlite);
        let mut explain = file.prepare(&format!("explain query plan {text}")).unwrap();
        let places = vec![1i64; explain.parameter_count()];
        let lines =
            explain.query_map(rusqlite::params_from_iter(places), |row| row.get::<_, String>(3)).unwrap();
        let lines: Vec<String> = lines.map(Result::unwrap).collect();
        let names = aliases(&text);
        let scanned = |line: &String| {
            let rest = line.strip_prefix("SCAN ").or_else(|| {
                let narrowed = line.strip_suffix("=?)")?.rsplit_once('(')?.1;
                line.strip_prefix("SEARCH ").filter(|_| WIDE.contains(&narrowed))
            });
            let alias = rest?.split(' ').next()?;
            // What SQLite looks through for a foreign key has its own name.
            Some(names.get(alias).map_or(alias, String::as_str))
                .filter(|table| tables.contains(*table))
                .map(str::to_owned)
        };
        let covering =
            lines.iter().filter_map(|line| line.split_once("COVERING INDEX ")?.1.split(' ').next());
        Plan {
            name: sql.name,
            walks: lines.iter().filter_map(scanned).collect(),
            covering: covering.map(str::to_owned).collect(),
            text: lines.join("\n"),
        }
    };
    asked.iter().map(plan).collect()
}

/// What the tables of a text are called in its plan.
fn aliases(text: &str) -> BTreeMap<String, String> {
    let words: Vec<&str> = text
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
        .collect();
    let mut names = BTreeMap::new();
    for (n, word) in words.iter().enumerate() {
        if ["from", "join", "update", "into"].contains(word) {
            let Some(table) = words.get(n + 1) else { continue };
            names.insert((*table).to_owned(), (*table).to_owned());
            let alias = words.get(n + 2).filter(|word| **word != "as").or(words.get(n + 3));
            names.extend(alias.map(|alias| ((*alias).to_owned(), (*table).to_owned())));
        }
    }
    names
}

async fn postgres_plans(db: &TestDatabase, asked: &[&'static Sql]) -> Vec<Plan> {
    let client = connect(db.url()).await;
    // As the program's connections; a plan it would keep must be good whatever is asked.
    client
        .batch_execute(
            "set jit = off; set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off; \
             set plan_cache_mode = force_generic_plan",
        )
        .await
        .unwrap();
    let mut plans = Vec::new();
    for sql in asked {
        let texts = [Some(sql.render(Dialect::Postgres)), sql.render_arrays()];
        for text in texts.into_iter().flatten() {
            let places = client.prepare(&text).await.unwrap().params().len();
            let nulls = vec!["null"; places].join(", ");
            let execute =
                if places == 0 { "execute asked".to_owned() } else { format!("execute asked({nulls})") };
            client.batch_execute(&format!("prepare asked as {text}")).await.unwrap();
            let rows =
                client.simple_query(&format!("explain (format json, costs off) {execute}")).await.unwrap();
            client.batch_execute("deallocate asked").await.unwrap();
            let json: String = rows
                .iter()
                .filter_map(|row| match row {
                    tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0),
                    _ => None,
                })
                .collect();
            let told: Value = serde_json::from_str(&json).unwrap();
            let mut plan =
                Plan { name: sql.name, walks: Vec::new(), covering: BTreeSet::new(), text: String::new() };
            look(&told[0]["Plan"], None, 0, &mut plan);
            plans.push(plan);
        }
    }
    plans
}

/// Whether a condition asks for what very many rows share and nothing else.
fn is_wide(cond: &str) -> bool {
    let column = |part: &str| part.trim_matches(['(', ')']).split(' ').next().map(str::to_owned);
    !cond.contains(" AND ") && column(cond).is_some_and(|name| WIDE.contains(&name.as_str()))
}

/// Notes what a node and those below it read. A Bitmap Index Scan reads for the table of the node above.
fn look<'a>(node: &'a Value, above: Option<&'a str>, depth: usize, plan: &mut Plan) {
    let text = |key: &str| node[key].as_str();
    // A part counts as its table.
    let whole = |name: &'a str| name.split_once("_to_").map_or(name, |(table, _)| table);
    let (kind, table, index) =
        (text("Node Type").unwrap(), text("Relation Name").map(whole).or(above), text("Index Name"));
    let cond = text("Index Cond");
    let line = [Some(kind), table, index, cond, text("Filter")].into_iter().flatten().collect::<Vec<_>>();
    plan.text.push_str(&format!("{}{}\n", " ".repeat(depth), line.join(" | ")));
    let is_walk = match kind {
        "Seq Scan" => true,
        "Index Scan" | "Index Only Scan" | "Bitmap Index Scan" => cond.is_none_or(is_wide),
        _ => false,
    };
    plan.walks.extend(table.filter(|_| is_walk).map(str::to_owned));
    plan.covering.extend(index.filter(|_| kind == "Index Only Scan").map(str::to_owned));
    for below in node["Plans"].as_array().into_iter().flatten() {
        look(below, table, depth + 1, plan);
    }
}
