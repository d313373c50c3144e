//! The keys of a database change while it is in use: what was sealed before opens after, on every node and under either root key,
//! and what is over opens nothing.

use std::sync::Arc;

use tillbell::app::keys::read_keys;
use tillbell::app::{App, StartError, StoreOptions};
use tillbell::clock::SeededRandom;
use tillbell::config::{Config, Secret};
use tillbell::domain::time::Span;
use tillbell::domain::user::MemberRole;
use tillbell::ops::data_keys::reseal::{Progress, SECOND_PASS_AFTER, step};
use tillbell::ops::data_keys::{
    KNOWN_WITHIN, KeysRefused, Stays, add_root, drop_other_roots, rotate, standing,
};
use tillbell::ops::payments::create::{Created, create_payment};
use tillbell::ops::people::links::forgot;
use tillbell::ops::people::users::{Place, add_user};
use tillbell::store::tables::sealed::SEALED;
use tillbell::vault::Vault;

use crate::audits::by_hand;
use crate::harness::app::TestApp;
use crate::harness::databases::{Engine, connect};
use crate::payouts::world::{GIVEN, ready_account};
use crate::people::PASSWORD;
use crate::wallet::world::{World, token};

const STEPS_MAX: usize = 100;

/// Whether what is sealed in the database opens, and how much of it is under another key than the one that seals.
async fn older_values(app: &App) -> usize {
    let (mut seen, mut older) = (0, 0);
    for table in &SEALED {
        let mut after = 0;
        loop {
            let rows = app.store.sealed_rows(table, after, 50).await.unwrap();
            let Some(last) = rows.last() else { break };
            after = last.id;
            for row in rows {
                for (column, sealed) in table.columns.iter().zip(row.values) {
                    let Some(sealed) = sealed else { continue };
                    seen += 1;
                    let place = table.place(row.id, column);
                    let anew = app.vault.reseal(&place, &sealed, app.random.as_ref());
                    older += usize::from(anew.unwrap_or_else(|error| panic!("{place}: {error}")).is_some());
                }
            }
        }
    }
    assert!(seen >= 5, "{seen} values");
    older
}

/// Works until there is nothing to do.
async fn pass(app: &App) -> i64 {
    for _ in 0..STEPS_MAX {
        match step(app).await.unwrap() {
            Progress::Ended(key) => return key.resealed,
            Progress::Went { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    panic!("the pass does not end")
}

/// A wallet with a PIN, messages, mails that have yet to go, a payment with a bank verification number, and a secret for webhooks.
async fn filled(db: crate::harness::databases::TestDatabase) -> (World, String) {
    let w = World::with(
        db,
        "[server]\ndev = true\n[notify]\nsmtp_url = \"smtp://127.0.0.1:9\"\nfrom = \"till@till.example\"\n",
    )
    .await;
    let place = Place::Member(w.shop.id, MemberRole::Owner);
    let added = add_user(&w.t.app, "ada", "ada@kudu.example", place, Some(PASSWORD)).await.unwrap().unwrap();
    ready_account(&w.t, &w.shop, added.user.id, &GIVEN).await;
    forgot(&w.t.app, "ada@kudu.example", "127.0.0.1").await.unwrap().unwrap();
    let (started, link) = w.ready(10_000, 500).await;
    assert_eq!(token(&started), link);
    w.t.account("9120000104").await;
    let mut request = w.t.request(&w.shop, 4_000, "Zainab Aliyu");
    request.bvn = Some("22298765432".into());
    let created = create_payment(&w.t.app, &w.shop.caller, request, None).await.unwrap();
    assert!(matches!(created, Created::Payment(_)), "{created:?}");
    (w, link)
}

fn with_key(t: &TestApp, key: &Secret) -> Config {
    let Secret::File(path) = key else { panic!("a file") };
    let text = format!(
        "[database]\nurl = {:?}\n[secret]\nkey_file = {path:?}\n[server]\ndev = true\n",
        t.database().url()
    );
    Config::load(&text, std::iter::empty()).unwrap()
}

/// A program that starts with this root key.
async fn started(t: &TestApp, key: &Secret) -> Result<App, StartError> {
    let options = StoreOptions::service(t.database().url());
    let random = Arc::new(SeededRandom::new(77));
    let app = App::open_with(with_key(t, key), &options, t.app.clock.clone(), random).await?;
    app.prepare().await.map(|_| app)
}

on_both! {
    async fn what_was_sealed_before_a_rotation_opens_after_it(db: TestDatabase) {
        let (w, link) = filled(db).await;
        let (app, other) = (&w.t.app, w.t.another_node().await);
        assert_eq!(older_values(app).await, 0);
        let key = rotate(app, "ada").await.unwrap().unwrap();
        assert_eq!(rotate(app, "ada").await.unwrap().unwrap_err(), KeysRefused::UnderWay(key.made_at));
        assert_eq!(step(app).await.unwrap(), Progress::Waits, "other nodes may not know it yet");
        w.t.advance(KNOWN_WITHIN);
        // The other node has not read it again, and writes under the key of before.
        let before = other.vault.sealing();
        read_keys(app).await.unwrap();
        assert_eq!((app.vault.sealing(), other.vault.sealing() < key.id), (key.id, true));
        let values = older_values(app).await;
        assert_eq!(pass(app).await, values as i64);
        assert_eq!(older_values(app).await, 0);
        assert_eq!(step(app).await.unwrap(), Progress::Idle);
        let late = tillbell::domain::phone::Phone::parse("08039990001").unwrap();
        tillbell::ops::wallets::find::ensure(&other, &late).await.unwrap();
        assert_eq!(other.vault.sealing(), before);
        assert_eq!(older_values(app).await, 1, "a node that stood still");
        // The PIN and the link are as they were, on a node that knows the new key and on one that reads it now.
        assert!(matches!(w.confirm(&link, crate::wallet::world::PIN).await, tillbell::ops::wallet_payments::confirm::Confirmed::Paid { .. }));
        assert!(other.vault.unseal("wallets/0/phone", b"").is_err());
        read_keys(&other).await.unwrap();
        older_values(&other).await;
        // A week later the rest is found, and what sealed before is forgotten.
        w.t.advance(SECOND_PASS_AFTER);
        assert_eq!(step(app).await.unwrap(), Progress::Waits);
        assert_eq!(pass(&other).await, values as i64 + 1);
        assert_eq!(standing(app).await.unwrap().unwrap().sealing_keys, 2);
        assert_eq!(step(app).await.unwrap(), Progress::Idle);
        assert_eq!(standing(app).await.unwrap().unwrap().sealing_keys, 1);
        read_keys(app).await.unwrap();
        assert_eq!(older_values(app).await, 0);
        let again = rotate(app, "ada").await.unwrap().unwrap();
        assert!(again.id > key.id);
        w.t.audited().await;
    }

    async fn two_nodes_seal_anew_at_once_and_none_is_left_out(db: TestDatabase) {
        let (w, _) = filled(db).await;
        let (one, two) = (w.t.app.clone(), w.t.another_node().await);
        for nth in 0..40 {
            let phone = tillbell::domain::phone::Phone::parse(&format!("080355500{nth:02}")).unwrap();
            tillbell::ops::wallets::find::ensure(&one, &phone).await.unwrap();
        }
        rotate(&one, "ada").await.unwrap().unwrap();
        w.t.advance(KNOWN_WITHIN);
        for node in [&one, &two] {
            read_keys(node).await.unwrap();
        }
        let values = older_values(&one).await as i64;
        let working = async |node: &App| while standing(node).await.unwrap().unwrap().newest.pass_ended.is_none() {
            let _ = step(node).await.unwrap();
        };
        tokio::join!(working(&one), working(&two), working(&one), working(&two));
        assert_eq!(standing(&one).await.unwrap().unwrap().newest.resealed, values);
        assert_eq!(older_values(&two).await, 0);
    }

    async fn a_root_key_is_replaced_node_by_node(db: TestDatabase) {
        let (w, link) = filled(db).await;
        let t = &w.t;
        let old = Secret::File(t.key_file());
        let new = Secret::File(t.key_file().with_extension("new"));
        let root = Vault::open(&new, &SeededRandom::new(9)).unwrap();
        assert!(matches!(started(t, &new).await, Err(StartError::OtherKey { .. })), "not before it was added");
        assert_eq!(drop_other_roots(&t.app, Stays::New, "ada").await.unwrap(), Err(KeysRefused::OneRoot));
        let own = Vault::open(&old, &SeededRandom::new(9)).unwrap();
        assert_eq!(add_root(&t.app, &own, "ada").await.unwrap(), Err(KeysRefused::SameRoot));
        add_root(&t.app, &root, "ada").await.unwrap().unwrap();
        assert_eq!(rotate(&t.app, "ada").await.unwrap().unwrap_err(), KeysRefused::TwoRoots);
        assert_eq!(add_root(&t.app, &root, "ada").await.unwrap(), Err(KeysRefused::TwoRoots));
        // Either opens it, to the same keys.
        let with_new = started(t, &new).await.unwrap();
        let with_old = started(t, &old).await.unwrap();
        assert_eq!((older_values(&with_new).await, older_values(&with_old).await), (0, 0));
        // Who forgot to change the configuration does not throw the new one away; who means to, can.
        let forgot = drop_other_roots(&with_old, Stays::New, "ada").await.unwrap().unwrap_err();
        assert!(matches!(forgot, KeysRefused::OlderRoot { .. }), "{forgot}");
        let wrong = drop_other_roots(&with_new, Stays::Before, "ada").await.unwrap().unwrap_err();
        assert!(matches!(wrong, KeysRefused::NewerRoot(_)), "{wrong}");
        drop_other_roots(&with_old, Stays::Before, "ada").await.unwrap().unwrap();
        assert!(matches!(started(t, &new).await, Err(StartError::OtherKey { .. })), "it was taken back");
        add_root(&t.app, &root, "ada").await.unwrap().unwrap();
        drop_other_roots(&with_new, Stays::New, "ada").await.unwrap().unwrap();
        let Err(refused) = started(t, &old).await else { panic!("the old root key opens it") };
        assert!(matches!(refused, StartError::OtherKey { .. }), "{refused}");
        let again = started(t, &new).await.unwrap();
        assert_eq!(older_values(&again).await, 0);
        rotate(&again, "ada").await.unwrap().unwrap();
        // A node that was not restarted goes on, but learns of no key any more; it says so and seals as before.
        assert!(read_keys(&t.app).await.is_err());
        assert!(matches!(w.confirm(&link, crate::wallet::world::PIN).await, tillbell::ops::wallet_payments::confirm::Confirmed::Paid { .. }));
    }

    async fn a_database_of_before_keeps_what_it_sealed(db: TestDatabase) {
        // Everything as a program without keys of the database has left it: sealed under the root key.
        let (w, _) = filled(db).await;
        let t = &w.t;
        let root = Secret::File(t.key_file());
        let legacy = Vault::open(&root, &SeededRandom::new(9)).unwrap();
        for table in &SEALED {
            for row in t.app.store.sealed_rows(table, 0, 1_000).await.unwrap() {
                for (column, sealed) in table.columns.iter().zip(row.values) {
                    let Some(sealed) = sealed else { continue };
                    let place = table.place(row.id, column);
                    let plain = t.app.vault.unseal(&place, &sealed).unwrap();
                    let by_root = legacy.seal(&place, &plain, t.app.random.as_ref()).unwrap();
                    let unit = t.app.store.unit(0).await.unwrap().step(column.replace(row.id, sealed, by_root));
                    assert!(t.app.store.apply(unit).await.unwrap().is_done());
                }
            }
        }
        let gone = "delete from wrapped_keys; delete from data_keys";
        by_hand(t, gone, gone).await;
        let other = Secret::File(t.key_file().with_extension("other"));
        let Err(refused) = started(t, &other).await else { panic!("another root key opens it") };
        assert!(matches!(refused, StartError::OtherKey { .. }), "{refused}");
        let app = started(t, &root).await.unwrap();
        assert_eq!(older_values(&app).await, 0);
        // From the first rotation on nothing is under the root key.
        rotate(&app, "ada").await.unwrap().unwrap();
        t.advance(KNOWN_WITHIN + Span::seconds(1));
        read_keys(&app).await.unwrap();
        assert!(pass(&app).await >= 5);
        t.advance(SECOND_PASS_AFTER);
        assert_eq!(step(&app).await.unwrap(), Progress::Waits);
        pass(&app).await;
        step(&app).await.unwrap();
        let row = app.store.sealed_rows(&SEALED[0], 0, 1).await.unwrap().remove(0);
        let sealed = row.values[0].clone().unwrap();
        assert!(legacy.unseal(&SEALED[0].place(row.id, &SEALED[0].columns[0]), &sealed).is_err());
    }

    async fn every_sealed_column_is_sealed_anew(db: TestDatabase) {
        /// Bytes that are no sealed values, or are gone before the keys of before are.
        const OTHERS: [&str; 34] = [
            // Hashes, random numbers and ids.
            "api_keys.hash", "code_tries.form_key", "idempotency_keys.fingerprint", "mailbox_mails.digest", "mails.digest",
            "message_quotas.key", "messages.phone_hash", "passkey_challenges.hash", "passkeys.credential_id",
            "payment_intents.fingerprint", "payment_intents.nonce", "payment_intents.token_hash", "payments.link_nonce",
            "pin_codes.form_key", "pin_codes.nonce", "pin_tries.form_key", "recovery_codes.hash", "registrations.hash",
            "registrations.password", "seals.hash", "sent_forms.hash", "sessions.hash", "sign_in_counts.key", "user_links.hash",
            "users.password", "wallets.phone_hash", "wallets.pin",
            // Texts.
            "events.body", "idempotency_keys.answer", "mails.raw",
            // Under the root key itself.
            "key_checks.sealed", "wrapped_keys.wrapped",
            // Sealed, and forgotten within a day.
            "passkey_challenges.state", "sent_forms.answer",
        ];
        let columns: Vec<String> = match db.engine() {
            Engine::Postgres => {
                let client = connect(db.url()).await;
                let sql = "select table_name || '.' || column_name from information_schema.columns \
                           where table_schema = current_schema() and data_type = 'bytea' \
                           and not exists (select from pg_class where relname = table_name and relispartition) order by 1";
                client.query(sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
            }
            Engine::Sqlite => {
                let file = rusqlite::Connection::open(db.url().strip_prefix("sqlite:").unwrap()).unwrap();
                let sql = "select t.name || '.' || c.name from sqlite_schema t, pragma_table_info(t.name) c \
                           where t.type = 'table' and lower(c.type) = 'blob' order by 1";
                let mut asked = file.prepare(sql).unwrap();
                asked.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
            }
        };
        let listed = |column: &String| {
            SEALED.iter().any(|table| table.columns.iter().any(|c| format!("{}.{}", table.table, c.column) == *column))
        };
        let left: Vec<&String> = columns.iter().filter(|column| !listed(column) && !OTHERS.contains(&column.as_str())).collect();
        assert_eq!(left, Vec::<&String>::new(), "sealed values, or not?");
    }
}
