//! Which tables are kept in parts on PostgreSQL, and how migrations bring those of before to it.
//!
//! Ids grow with time, so the newest rows of a table and the indexes over them lie together, whatever lies beneath them for
//! years, and what retention has emptied goes as a file. A key that makes money count once spans all time and must stay whole:
//! those tables are not parted ([0101](../../../docs/decisions/0101-large-tables-in-parts.md)). Used by `schema` and `partitions`.

use super::ids::IdKind;

/// Ids of one part. At a thousand payments a second half a day, at ten two months.
pub(super) const PART_IDS: i64 = 50_000_000;

/// A table that is kept in parts.
pub(super) struct Parted {
    pub table: &'static str,
    /// The id that says in which part a row lies, and the counter that it comes from.
    pub key: &'static str,
    pub counter: IdKind,
    /// When the first row beyond an id came; only where retention empties parts.
    pub used_at: Option<&'static str>,
}

/// Nothing refers to their rows, and no key of theirs but the id must be unique.
pub(super) const PARTED: [Parted; 4] = [
    Parted {
        table: "mails",
        key: "alert_id",
        counter: IdKind::Alert,
        used_at: Some("select first_seen_at from alerts where id >= $1 order by id limit 1"),
    },
    Parted {
        table: "attempts",
        key: "id",
        counter: IdKind::Attempt,
        used_at: Some("select attempted_at from attempts where id >= $1 order by id limit 1"),
    },
    Parted { table: "postings", key: "entry_id", counter: IdKind::Entry, used_at: None },
    Parted { table: "sealed_entries", key: "entry_id", counter: IdKind::Entry, used_at: None },
];

/// The first step towards parts: a bound above every id that is in use or can be taken while the migrations run. Its name is
/// that of the part to be.
pub(super) fn bound_first_parts() -> String {
    let bound = |parted: &Parted| {
        let (table, key, counter) = (parted.table, parted.key, parted.counter.name());
        format!(
            "execute (select format('alter table {table} add constraint {table}_to_%s check ({key} < %s) not valid', b, b) \
             from (select ((value + {PART_IDS} - 1) / {PART_IDS} + 1) * {PART_IDS} as b from counters where name = '{counter}') as bound);\n"
        )
    };
    in_block(PARTED.iter().map(bound))
}

/// The second: that all rows are below it, which reads them while they are in use.
pub(super) fn check_first_parts() -> String {
    let check = |parted: &Parted| {
        let table = parted.table;
        format!(
            "execute (select format('alter table {table} validate constraint %I', conname) from pg_constraint \
             where conrelid = '{table}'::regclass and conname like '{table}\\_to\\_%');\n"
        )
    };
    in_block(PARTED.iter().map(check))
}

/// The third: the table becomes the first part of a new one of its name, whose rows stay where they are.
pub(super) fn make_first_parts() -> String {
    PARTED.map(|parted| FIRST_PART.replace("{table}", parted.table).replace("{key}", parted.key)).concat()
}

fn in_block(statements: impl Iterator<Item = String>) -> String {
    format!("do $$ begin\n{}end $$;\n", statements.collect::<String>())
}

/// Indexes, keys, checks, triggers, grants and the owner of the table go over to the one of its name; the part keeps its own under
/// other names, so that nothing is built anew. Triggers for each row are the server's to copy to the parts. What others built on
/// the table (`people::dependent`) would stay with the first part alone, so it stops the migration.
const FIRST_PART: &str = r"
do $$
declare
    rel oid := '{table}'::regclass;
    part text := (select conname from pg_constraint where conrelid = '{table}'::regclass and conname like '{table}\_to\_%');
    wanted text[];
    built text;
    t record;
begin
    select string_agg(distinct what, ', ') into built from (
        select case when r.ev_class = rel then 'rule ' || r.rulename else 'view ' || r.ev_class::regclass end as what
          from pg_depend d join pg_rewrite r on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid where d.refobjid = rel
        union all select 'function ' || d.objid::regproc from pg_depend d
         where d.classid = 'pg_proc'::regclass and d.refclassid = 'pg_class'::regclass and d.refobjid = rel
        union all select 'policy ' || polname from pg_policy where polrelid = rel
        union all select 'row level security' from pg_class where oid = rel and relrowsecurity
        union all select 'publication ' || p.pubname from pg_publication_rel r join pg_publication p on p.oid = r.prpubid
         where r.prrelid = rel
        union all select 'foreign key ' || conname || ' of ' || conrelid::regclass from pg_constraint
         where confrelid = rel and contype = 'f') as theirs;
    if built is not null then
        raise exception using errcode = 'dependent_objects_still_exist', message = 'in parts: ' || built || ' of {table}';
    end if;
    wanted := array(select format('alter table {table} owner to %I', pg_get_userbyid(relowner)) from pg_class where oid = rel)
        || array(select format('alter table {table} add constraint %I %s', conname, pg_get_constraintdef(oid))
                      from pg_constraint where conrelid = rel and contype in ('p', 'c', 'f') and conname <> part
                     order by contype = 'p' desc, conname)
        || array(select pg_get_indexdef(indexrelid) from pg_index
                  where indrelid = rel and not indisprimary order by indexrelid::regclass::text)
        || array(select pg_get_triggerdef(oid) || case tgenabled when 'O' then '' else
                        format('; alter table {table} %s trigger %I',
                               case tgenabled when 'D' then 'disable' when 'A' then 'enable always' else 'enable replica' end, tgname) end
                   from pg_trigger where tgrelid = rel and not tgisinternal order by tgname)
        || array(select format('grant %s%s on {table} to %s%s', a.privilege_type, a.col,
                               case a.grantee when 0 then 'public' else a.grantee::regrole::text end,
                               case when a.is_grantable then ' with grant option' else '' end)
                   from (select '' as col, c.relowner, g.* from pg_class c, aclexplode(c.relacl) g where c.oid = rel
                         union all select format(' (%I)', n.attname), c.relowner, g.*
                           from pg_attribute n join pg_class c on c.oid = n.attrelid, aclexplode(n.attacl) g
                          where n.attrelid = rel and not n.attisdropped) a
                  where a.grantee <> a.relowner);
    for t in select c.relname from pg_index i join pg_class c on c.oid = i.indexrelid where i.indrelid = rel loop
        execute format('alter index %I rename to %I', t.relname, t.relname || substr(part, length('{table}_')));
    end loop;
    for t in select tgname from pg_trigger where tgrelid = rel and not tgisinternal and (tgtype & 1) = 1 loop
        execute format('drop trigger %I on {table}', t.tgname);
    end loop;
    execute format('alter table {table} rename to %I', part);
    execute format('create table {table} (like %I including all excluding constraints excluding indexes) '
                   'partition by range ({key})', part);
    for t in select unnest(wanted) as statement loop
        execute t.statement;
    end loop;
    execute format('alter table {table} attach partition %I for values from (minvalue) to (%s)',
                   part, split_part(part, '_to_', 2));
    execute format('alter table %I drop constraint %I', part, part);
end $$;
";
