//! The large tables lie in parts on PostgreSQL, by the ids of their rows: what comes finds one, whatever is kept stays guarded,
//! and what retention has emptied goes.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::time::{Span, Timestamp};
use tokio_postgres::Client;

use super::*;
use crate::harness::app::world;
use crate::harness::databases::connect;
use crate::spoken_for::came;

const NOW: Timestamp = Timestamp(1_773_129_600_000_000);
/// Ids of a part.
const PART: i64 = 50_000_000;
const TABLES: [&str; 4] = ["attempts", "mails", "postings", "sealed_entries"];

static SEALED: Sql = query("SEALED", "insert into sealed_entries (entry_id, seal_id) values ($1, 1)");

/// Names of all parts, in their order.
async fn parts(client: &Client) -> Vec<String> {
    let text = "select inhrelid::regclass::text from pg_inherits i join pg_class c on c.oid = i.inhparent \
         where c.relkind = 'p' order by c.relname, length(inhrelid::regclass::text), 1";
    client.query(text, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

fn named(ends: &[i64]) -> Vec<String> {
    let of = |table: &&str| ends.iter().map(|end| format!("{table}_to_{end}")).collect::<Vec<_>>();
    TABLES.iter().flat_map(of).collect()
}

async fn run(client: &Client, text: &str) {
    client.batch_execute(&format!("set session_replication_role = replica; {text}")).await.unwrap();
    client.batch_execute("set session_replication_role = origin").await.unwrap();
}

/// So many ids have been taken.
async fn taken(client: &Client, ids: i64) {
    let text =
        format!("update counters set value = {ids} where name in ('entry', 'attempt', 'alert', 'payment')");
    run(client, &text).await;
}

async fn count(client: &Client, table: &str) -> i64 {
    client.query_one(&format!("select count(*) from {table}"), &[]).await.unwrap().get(0)
}

/// The schema of before, of which nothing lies in parts.
pub async fn whole_again(client: &Client) {
    for table in TABLES {
        let text = format!(
            "drop view people.{table}; create table plain (like {table} including all); drop table {table}; \
             alter table plain rename to {table}"
        );
        client.batch_execute(&text).await.unwrap();
    }
    let text = "alter table mails add foreign key (alert_id) references alerts (id);
        alter table attempts add foreign key (job_id) references jobs (id);
        alter index plain_job_id_attempted_at_id_idx rename to attempts_newest;
        create trigger attempts_append_only before update or truncate on attempts for each statement execute function tillbell_append_only();
        create trigger attempts_open_stay before delete on attempts for each row execute function tillbell_open_jobs();
        create trigger postings_append_only before update or delete or truncate on postings for each statement execute function tillbell_append_only();
        create trigger sealed_entries_append_only before update or delete or truncate on sealed_entries for each statement execute function tillbell_append_only();
        grant select on attempts to public;
        drop index alerts_name_begins;
        delete from schema_migrations where name >= '0059'";
    client.batch_execute(text).await.unwrap();
}

const ROWS: &str = "insert into mails (alert_id, raw, kept_until_at) select n, 'm', n from generate_series(1, 100) n;
    insert into attempts (id, job_id, try, duration_ms, attempted_at) select n, n, 1, 1, n from generate_series(1, 100) n;
    insert into postings (entry_id, line, account, side, amount_kobo) select n, 0, 'merchant:7', 'debit', n from generate_series(1, 100) n;
    insert into sealed_entries (entry_id, seal_id) select n, 1 from generate_series(1, 100) n;";

on_postgres! {
    async fn the_large_tables_are_in_parts_and_there_is_room_ahead(db: TestDatabase) {
        let client = connect(db.url()).await;
        assert_eq!(parts(&client).await, named(&[PART, 2 * PART]));
        let store = open(db.url()).await;
        assert_eq!(store.keep_parts(NOW).await.unwrap().made, Vec::<String>::new());
        taken(&client, PART - 1).await;
        assert_eq!(store.keep_parts(NOW).await.unwrap().made, Vec::<String>::new());
        taken(&client, PART).await;
        let made = store.keep_parts(NOW).await.unwrap().made;
        assert_eq!(made.len(), 4, "{made:?}");
        assert_eq!(parts(&client).await, named(&[PART, 2 * PART, 3 * PART]));
    }

    async fn of_two_nodes_at_once_one_makes_each_part(db: TestDatabase) {
        let client = connect(db.url()).await;
        taken(&client, 3 * PART).await;
        let (one, other) = (open(db.url()).await, open(db.url()).await);
        let (first, second) = tokio::join!(one.keep_parts(NOW), other.keep_parts(NOW));
        let mut made = [first.unwrap().made, second.unwrap().made].concat();
        made.sort();
        let mut all = named(&[3 * PART, 4 * PART, 5 * PART]);
        all.sort();
        assert_eq!(made, all);
    }

    async fn a_node_that_was_away_for_long_makes_all_that_is_missing(db: TestDatabase) {
        let client = connect(db.url()).await;
        taken(&client, 20 * PART).await;
        let store = open(db.url()).await;
        while !store.keep_parts(NOW).await.unwrap().made.is_empty() {}
        assert_eq!(parts(&client).await.len(), 4 * 22);
    }

    async fn tables_of_before_become_first_parts_with_all_that_they_had(db: TestDatabase) {
        let client = connect(db.url()).await;
        whole_again(&client).await;
        assert_eq!(parts(&client).await, Vec::<String>::new());
        run(&client, ROWS).await;
        let before: i64 = client.query_one("select 'attempts'::regclass::oid::bigint", &[]).await.unwrap().get(0);
        taken(&client, 2 * PART + 1).await;
        let store = open(db.url()).await;
        let ran = store.migrate(NOW).await.unwrap();
        assert_eq!(ran, ["0059_bounds_of_first_parts", "0060_first_parts_checked", "0061_large_tables_in_parts", "0062_names_cut"]);
        assert_eq!(parts(&client).await, named(&[4 * PART]));
        for table in TABLES {
            assert_eq!((count(&client, table).await, count(&client, &format!("{table}_to_{}", 4 * PART)).await), (100, 100));
        }
        // The rows lie where they lay, and the index of before is found by its name.
        let text = format!("select 'attempts_to_{}'::regclass::oid::bigint, i.indrelid::regclass::text, \
             has_table_privilege('pg_monitor', 'attempts', 'select'), \
             (select count(*) from pg_constraint where conrelid = 'attempts'::regclass and contype = 'f') \
             from pg_index i where i.indexrelid = 'attempts_newest'::regclass", 4 * PART);
        let row = client.query_one(&text, &[]).await.unwrap();
        assert_eq!((row.get::<_, i64>(0), row.get::<_, String>(1)), (before, "attempts".to_owned()));
        assert_eq!((row.get::<_, bool>(2), row.get::<_, i64>(3)), (true, 1));
        assert_eq!(count(&client, "people.postings").await, 100);
        assert!(store.append_only_guards().await.unwrap().1.is_empty());
        assert!(store.migrate(NOW).await.unwrap().is_empty());
    }

    async fn what_somebody_built_on_such_a_table_stays_with_no_part_unasked(db: TestDatabase) {
        let client = connect(db.url()).await;
        whole_again(&client).await;
        let store = open(db.url()).await;
        for (make, drop, what) in [
            ("create view our_tries as select id, status from attempts", "drop view our_tries", "view our_tries"),
            ("create rule our_rule as on insert to mails do also notify mails", "drop rule our_rule on mails", "rule our_rule"),
            ("create policy our_policy on mails using (true)", "drop policy our_policy on mails", "policy our_policy"),
            ("alter table mails enable row level security", "alter table mails disable row level security", "row level security"),
            ("create publication our_copy for table postings", "drop publication our_copy", "publication our_copy"),
            (
                "create table our_marks (id bigint references mails (alert_id))",
                "drop table our_marks",
                "foreign key our_marks_id_fkey of our_marks",
            ),
            (
                "create function our_count() returns bigint begin atomic select count(*) from postings; end",
                "drop function our_count",
                "function our_count",
            ),
        ] {
            client.batch_execute(make).await.unwrap();
            let refused = store.migrate(NOW).await;
            let Err(StoreError::Occupied(why)) = &refused else { panic!("{what} {refused:?}") };
            assert!(why.contains(what), "{why}");
            assert_eq!(parts(&client).await, Vec::<String>::new());
            client.batch_execute(drop).await.unwrap();
        }
        assert_eq!(store.migrate(NOW).await.unwrap().last().unwrap(), "0062_names_cut");
    }

    async fn owner_grants_and_what_was_put_out_of_force_go_over(db: TestDatabase) {
        let client = connect(db.url()).await;
        let role = format!("owner_{}", db.url().rsplit('_').next().unwrap());
        whole_again(&client).await;
        let text = format!(
            "create role {role}; grant all on schema public to {role}; alter table mails owner to {role};
             grant select (entry_id) on sealed_entries to {role} with grant option;
             alter table postings disable trigger postings_append_only"
        );
        client.batch_execute(&text).await.unwrap();
        let store = open(db.url()).await;
        store.migrate(NOW).await.unwrap();
        taken(&client, PART).await;
        assert_eq!(store.keep_parts(NOW).await.unwrap().made.len(), 4);
        let owners = "select distinct pg_get_userbyid(relowner)::text from pg_class where relkind in ('r', 'p') and (relname = 'mails' or relname like 'mails\\_to\\_%')";
        let owners: Vec<String> = client.query(owners, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
        let text = format!(
            "select has_column_privilege('{role}', 'sealed_entries', 'entry_id', 'select with grant option'), \
             has_column_privilege('{role}', 'sealed_entries', 'seal_id', 'select'), \
             (select tgenabled::text from pg_trigger where tgrelid = 'postings'::regclass and tgname = 'postings_append_only')"
        );
        let row = client.query_one(&text, &[]).await.unwrap();
        let (may, may_not, enabled): (bool, bool, String) = (row.get(0), row.get(1), row.get(2));
        let lost = store.append_only_guards().await.unwrap().1;
        // A role is the whole server's.
        let gone = format!("alter table mails owner to current_user; reassign owned by {role} to current_user; drop owned by {role}; drop role {role}");
        client.batch_execute(&gone).await.unwrap();
        assert_eq!(owners, [role]);
        assert_eq!((may, may_not, enabled.as_str()), (true, false, "D"));
        assert_eq!(lost, ["postings"], "what somebody switched off is told as before");
    }

    async fn what_is_in_the_way_of_one_part_is_told_and_hinders_no_other(db: TestDatabase) {
        let client = connect(db.url()).await;
        let detach = format!("alter table attempts detach partition attempts_to_{}", 2 * PART);
        client.batch_execute(&detach).await.unwrap();
        taken(&client, PART).await;
        let store = open(db.url()).await;
        let kept = store.keep_parts(NOW).await.unwrap();
        let expected: Vec<String> =
            ["mails", "postings", "sealed_entries"].iter().map(|table| format!("{table}_to_{}", 3 * PART)).collect();
        assert_eq!(kept.made, expected);
        let why = kept.trouble.unwrap();
        assert!(why.contains(&format!("attempts_to_{}", 2 * PART)) && why.contains("Attach it again"), "{why}");
        assert_eq!(kept.room.iter().find(|(table, _)| *table == "attempts").unwrap().1, 0);
        // Nobody is kept from starting by it.
        assert_eq!(store.migrate(NOW).await.unwrap(), Vec::<String>::new());
        // A part for the rest is not ours; it is left alone.
        let rest = format!(
            "alter table attempts attach partition attempts_to_{0} for values from ({1}) to ({0}); \
             create table rest partition of attempts default",
            2 * PART, PART
        );
        client.batch_execute(&rest).await.unwrap();
        let kept = store.keep_parts(NOW).await.unwrap();
        assert_eq!((kept.made, kept.trouble), (vec![format!("attempts_to_{}", 3 * PART)], None));
    }

    async fn money_is_booked_and_audited_across_the_end_of_a_part(db: TestDatabase) {
        let client = connect(db.url()).await;
        // A service takes thousands of ids at once: the first of them lie in the one part, the others beyond it.
        taken(&client, PART - 3).await;
        let (t, merchant) = world(db).await;
        for n in 0..6 {
            let payment = t.create(&merchant, 4_000 + n, "Ronke Bassey").await;
            let alert = came(&t, 4_000 + n, "RONKE BASSEY").await;
            assert_eq!((alert.status, alert.transaction_id), (AlertStatus::Matched, Some(payment.transaction_id)));
        }
        t.audited().await;
        for table in ["mails", "postings", "sealed_entries"] {
            for end in [PART, 2 * PART] {
                assert!(count(&client, &format!("{table}_to_{end}")).await > 0, "{table} {end}");
            }
        }
    }

    async fn a_part_is_guarded_as_its_table_and_the_audit_sees_one_that_is_not(db: TestDatabase) {
        let client = connect(db.url()).await;
        run(&client, ROWS).await;
        let store = open(db.url()).await;
        taken(&client, PART).await;
        assert_eq!(store.keep_parts(NOW).await.unwrap().made.len(), 4);
        for end in [PART, 2 * PART, 3 * PART] {
            for table in ["postings", "sealed_entries", "attempts"] {
                let part = format!("{table}_to_{end}");
                let by_hand = if table == "attempts" { "truncate" } else { "delete from" };
                client.batch_execute(&format!("{by_hand} {part}")).await.expect_err(&part);
                assert!(store.append_only_guards().await.unwrap().1.is_empty());
                client.batch_execute(&format!("alter table {part} disable trigger {table}_append_only")).await.unwrap();
                assert_eq!(store.append_only_guards().await.unwrap().1, [table]);
                client.batch_execute(&format!("alter table {part} enable trigger {table}_append_only")).await.unwrap();
            }
            let part = format!("attempts_to_{end}");
            client.batch_execute(&format!("alter table {part} disable trigger attempts_open_stay")).await.unwrap();
            assert_eq!(store.append_only_guards().await.unwrap().1, ["attempts"]);
            client.batch_execute(&format!("alter table {part} enable trigger attempts_open_stay")).await.unwrap();
        }
        assert!(store.append_only_guards().await.unwrap().1.is_empty());
        // A part in parts is as good as its leaves.
        let leaf = format!(
            "create table deep (like postings including all) partition by range (entry_id); \
             create table leaf partition of deep for values from ({0}) to ({1}); \
             create trigger postings_append_only before update or delete or truncate on deep for each statement \
                 execute function tillbell_append_only(); \
             alter table postings attach partition deep for values from ({0}) to ({1})",
            3 * PART, 4 * PART
        );
        client.batch_execute(&leaf).await.unwrap();
        assert_eq!(store.append_only_guards().await.unwrap().1, ["postings"]);
    }

    async fn where_no_part_is_left_the_database_counts_as_away_until_one_is_made(db: TestDatabase) {
        let client = connect(db.url()).await;
        run(&client, "insert into entries (id, kind, memo, posted_at) values (200000000, 'adjustment', 'm', 1)").await;
        db.without_audit("an entry that books nothing is written by hand");
        let store = open(db.url()).await;
        let nowhere = store.write(&SEALED, vec![200_000_000.into()]).await;
        let Err(StoreError::Unavailable(why)) = &nowhere else { panic!("{nowhere:?}") };
        assert!(why.contains("no partition"), "{why}");
    }

    async fn a_part_goes_when_it_is_empty_and_nobody_holds_an_id_of_it(db: TestDatabase) {
        let client = connect(db.url()).await;
        let store = open(db.url()).await;
        taken(&client, PART).await;
        store.keep_parts(NOW).await.unwrap();
        let removed = async |now| store.keep_parts(now).await.unwrap().removed;
        assert_eq!(removed(NOW).await, Vec::<String>::new(), "nothing says since when its ids are over");
        let attempt = |id: i64, at: Timestamp| {
            format!("insert into attempts (id, job_id, try, duration_ms, attempted_at) values ({id}, 1, 1, 1, {})", at.0)
        };
        run(&client, &attempt(PART - 1, NOW)).await;
        run(&client, &attempt(PART, NOW)).await;
        let later = NOW + Span::days(2);
        assert_eq!(removed(later).await, Vec::<String>::new(), "an attempt lies in it");
        run(&client, &format!("delete from attempts where id = {}", PART - 1)).await;
        assert_eq!(removed(later - Span::seconds(1)).await, Vec::<String>::new(), "a block of its ids may be in use");
        assert_eq!(removed(later).await, [format!("attempts_to_{PART}")]);
        assert_eq!(removed(later).await, Vec::<String>::new());
        // The others are untouched: those of the ledger stay for ever, and of mails nothing says that ids are over.
        let left = parts(&client).await;
        let mut expected = named(&[PART, 2 * PART, 3 * PART]);
        expected.retain(|name| *name != format!("attempts_to_{PART}"));
        assert_eq!(left, expected);
        assert_eq!(count(&client, "attempts").await, 1);
    }

    async fn a_part_in_use_is_left_for_the_next_time(db: TestDatabase) {
        let (client, reader) = (connect(db.url()).await, connect(db.url()).await);
        let store = open(db.url()).await;
        run(&client, &format!("insert into attempts (id, job_id, try, duration_ms, attempted_at) values ({}, 1, 1, 1, {})", PART + 7, NOW.0)).await;
        reader.batch_execute("begin; select count(*) from attempts").await.unwrap();
        let later = NOW + Span::days(3);
        let held = store.keep_parts(later).await.unwrap();
        assert!(held.trouble.as_deref().is_some_and(|why| why.contains("attempts")), "{held:?}");
        assert_eq!(held.removed, Vec::<String>::new());
        reader.batch_execute("commit").await.unwrap();
        assert_eq!(store.keep_parts(later).await.unwrap().removed, [format!("attempts_to_{PART}")]);
    }
}
