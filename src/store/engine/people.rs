//! The schema `people` on PostgreSQL: a plain view of each of our tables, for human eyes.
//!
//! Migrations take the views away, because they would forbid a change of their tables, and make them anew.
//! Nothing else is ever touched: the schema is known as ours by a comment on it, one that is somebody else's
//! stops the migration before it begins, and what others built on our views stops it too. Used by
//! `migrate` alone.

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::store::StoreError;

/// What the comment on our schema begins with; the schema of our tables follows.
const MARK: &str = "tillbell: views of the tables in schema";

/// The schema's comment, the schema of our tables, and how many views there are over a table of ours, each of
/// its table's name: nobody but a program of before the comment makes those there.
const LOOK: &str = "select obj_description(n.oid, 'pg_namespace'), current_schema()::text, \
     (select count(*) from pg_class c where c.relnamespace = n.oid and c.relkind = 'v' \
        and c.relname = any($1) and exists (select 1 from pg_rewrite r \
          join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid \
             and d.refclassid = 'pg_class'::regclass \
          join pg_class t on t.oid = d.refobjid join pg_namespace s on s.oid = t.relnamespace \
          where r.ev_class = c.oid and t.relname = c.relname and s.nspname = current_schema())) \
     from pg_namespace n where n.nspname = 'people'";

/// Refuses to go on where the schema is somebody else's.
pub(in crate::store) async fn check(client: &Client, tables: &[&str]) -> Result<(), StoreError> {
    let trouble = |error: tokio_postgres::Error| {
        StoreError::Unavailable(format!(
            "schema people: {}",
            crate::store::engine::postgres::describe(&error)
        ))
    };
    let Some(row) = client.query_opt(LOOK, &[&tables]).await.map_err(trouble)? else { return Ok(()) };
    let (comment, schema): (Option<String>, String) = (row.get(0), row.get(1));
    let our_views: i64 = row.get(2);
    let comment = comment.unwrap_or_default();
    let is_ours = comment == format!("{MARK} {schema}") || (our_views > 0 && !comment.starts_with(MARK));
    if is_ours {
        return Ok(());
    }
    Err(StoreError::Occupied(
        "this database has a schema people that is not this tillbell's, where its views for people would go; \
         rename it (alter schema people rename to another), or give tillbell a database of its own; \
         nothing was changed"
            .into(),
    ))
}

/// What an error of a migration means, if it is that somebody built on what is ours.
pub(in crate::store) fn dependent(error: &tokio_postgres::Error) -> Option<StoreError> {
    let db = error.as_db_error().filter(|db| *db.code() == SqlState::DEPENDENT_OBJECTS_STILL_EXIST)?;
    if let Some(what) = db.message().strip_prefix("in parts: ") {
        return Some(StoreError::Occupied(format!(
            "a table of tillbell's is to be kept in parts, and what was built on it would stay with the first part alone: \
             {what}; drop it, start tillbell, and create it again; nothing was changed"
        )));
    }
    let what = db.detail().unwrap_or_else(|| db.message()).replace('\n', ", ");
    Some(StoreError::Occupied(format!(
        "the views in schema people must be recreated, and tillbell drops nothing that it did not create: \
         {what}; drop it, start tillbell, and create it again; nothing was changed"
    )))
}

/// The statements that take our views away; others in the schema stay, and one that is built on ours makes
/// them fail.
pub(in crate::store) fn drop_views(tables: &[&str]) -> String {
    let views: Vec<String> = tables.iter().map(|table| format!("people.{table}")).collect();
    // A view of a schema that is not there is no error either.
    format!("drop view if exists {} restrict;\n", views.join(", "))
}

/// The statements that make them: times as timestamps, money in naira.
pub(in crate::store) fn make_views(tables: &[&str]) -> String {
    VIEWS.replace("{mark}", MARK).replace("{tables}", &tables.join(","))
}

const VIEWS: &str = r"
do $$
declare
    t record;
    columns text;
begin
    create schema if not exists people;
    execute format('comment on schema people is %L', '{mark} ' || current_schema());
    for t in select table_name from information_schema.tables
             where table_schema = current_schema() and table_type = 'BASE TABLE'
               and table_name::text = any(string_to_array('{tables}', ',')) loop
        select string_agg(
            case when column_name like '%\_at' and data_type = 'bigint'
                   then format('to_timestamp(%I / 1000000.0) as %I', column_name, column_name)
                 when column_name like '%\_kobo'
                   then format('(%I / 100.0)::numeric(20,2) as %I', column_name, replace(column_name, '_kobo', ''))
                 else quote_ident(column_name) end, ', ' order by ordinal_position)
          into columns
          from information_schema.columns
         where table_schema = current_schema() and table_name = t.table_name;
        execute format('create view people.%I as select %s from %I.%I',
            t.table_name, columns, current_schema(), t.table_name);
    end loop;
end $$;
";
