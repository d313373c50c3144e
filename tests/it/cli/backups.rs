//! `backup` and `restore`: a copy made under load is a database, nothing is overwritten, and what was restored tells nobody of the
//! past until an operator has looked.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::Value;
use tillbell::app::App;
use tillbell::app::copies::file_of;

use super::Desk;
use super::payments::{now, pay, shop};
use crate::harness::databases::Engine;
use crate::harness::mails::Alert;

const NUMBER: &str = "0123452215";

/// Commands over a database in this file, with the desk's key.
fn at(desk: &Desk<'_>, file: &Path, args: &[&str]) -> (bool, String, String) {
    let output = desk
        .command(&[&["--json"], args].concat())
        .env("TILLBELL_DATABASE__URL", format!("sqlite:{}", file.display()))
        .env("TILLBELL_SERVER__DEV", "true")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout), text(&output.stderr))
}

fn told(desk: &Desk<'_>, file: &Path, args: &[&str]) -> Value {
    let (is_good, out, err) = at(desk, file, args);
    assert!(is_good, "{args:?}: {err}");
    serde_json::from_str(&out).unwrap()
}

fn refused(desk: &Desk<'_>, file: &Path, args: &[&str]) -> String {
    let (is_good, out, err) = at(desk, file, args);
    assert!(!is_good && out.is_empty(), "{args:?}: {out}");
    err
}

/// A shop whose payment is paid, with its webhook still to be sent to the receiver.
async fn paid(desk: &Desk<'_>) -> (App, String) {
    let key = shop(desk, "Ijo Fabrics", "ijo.example", &[]);
    desk.account(NUMBER);
    let app = desk.app().await;
    pay(&app, &key, "a-1", 7_500, "Sade Ayo Balogun").await;
    std::fs::write(desk.path().join("one.eml"), Alert::credit(NUMBER, 7_500, "BALOGUN SADE", now()).text())
        .unwrap();
    let taken = desk.json(&["alert", "ingest", "one.eml", "--trusted"]);
    assert_eq!(taken["results"][0]["transaction_id"], "a-1", "{taken}");
    (app, key)
}

on_both! {
    async fn a_copy_made_under_load_is_a_database(db: TestDatabase) {
        let desk = Desk::dev(&db);
        if db.engine() == Engine::Postgres {
            for args in [["backup", "x.db"], ["restore", "x.db"]] {
                let said = desk.refused(&args);
                assert!(said.contains("pg_dump") && said.contains("tillbell hold"), "{said}");
            }
            return;
        }
        let (app, key) = paid(&desk).await;
        let (app, made, stop) = (Arc::new(app), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let writing = {
            let (app, made, stop) = (app.clone(), made.clone(), stop.clone());
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let n = made.load(Ordering::Relaxed);
                    pay(&app, &key, &format!("b-{n}"), 300 + n as i64, "Chidinma Okoro").await;
                    made.fetch_add(1, Ordering::Relaxed);
                }
            })
        };
        while made.load(Ordering::Relaxed) < 20 {
            tokio::task::yield_now().await;
        }
        let before = made.load(Ordering::Relaxed);
        let copy = desk.path().join("monday.db");
        let args = ["backup", copy.to_str().unwrap()].map(str::to_owned);
        let backup = tokio::task::block_in_place(|| desk.json(&[&args[0], &args[1]]));
        assert!(backup["bytes"].as_i64().unwrap() > 100_000, "{backup}");
        stop.store(true, Ordering::Relaxed);
        writing.await.unwrap();
        assert_eq!(desk.json(&["backup", "--verify", &args[1]])["ok"], true);
        let said = desk.refused(&["backup", &args[1]]);
        assert!(said.contains("is there already"), "{said}");
        // Restored elsewhere: all that was acknowledged before it began is there, and the books are in order.
        let target = desk.path().join("elsewhere").join("till.db");
        std::fs::create_dir(target.parent().unwrap()).unwrap();
        let restored = told(&desk, &target, &["restore", &args[1]]);
        assert_eq!((&restored["held"], restored["waiting"].as_i64()), (&true.into(), Some(1)), "{restored}");
        let list = told(&desk, &target, &["payment", "list", "--limit", "100000"]);
        assert!(list["payments"].as_array().unwrap().len() > before, "{before}");
        assert_eq!(told(&desk, &target, &["audit"])["ok"], true);
        // A second one overwrites nothing.
        let said = refused(&desk, &target, &["restore", &args[1]]);
        assert!(said.contains("nothing is overwritten"), "{said}");
        let names = |folder: &Path| -> Vec<String> {
            let mut all: Vec<String> = std::fs::read_dir(folder).unwrap().map(|one| one.unwrap().file_name().into_string().unwrap()).collect();
            all.sort();
            all
        };
        assert!(names(desk.path()).iter().chain(&names(target.parent().unwrap())).all(|name| !name.contains("partial")));
        assert_eq!(told(&desk, &target, &["resume"])["held_since"], Value::Null);
        assert!(std::fs::metadata(&copy).unwrap().permissions().readonly() || mode_of(&copy) == 0o600);
    }

    async fn what_is_no_good_copy_is_not_put_in_place(db: TestDatabase) {
        if db.engine() == Engine::Postgres {
            return;
        }
        let desk = Desk::dev(&db);
        drop(paid(&desk).await);
        desk.json(&["backup", "good.db"]);
        let good = std::fs::read(desk.path().join("good.db")).unwrap();
        let target = desk.path().join("till.db");
        let half = &good[..good.len() / 2 / 4096 * 4096];
        for (name, bytes, words) in [
            ("none.db", None, "there is no file"),
            ("text.db", Some(b"not a database at all, whatever its name says".as_slice()), "not a database"),
            ("half.db", Some(half), "damaged"),
        ] {
            if let Some(bytes) = bytes {
                std::fs::write(desk.path().join(name), bytes).unwrap();
            }
            for args in [["restore", name].as_slice(), &["backup", "--verify", name]] {
                let said = refused(&desk, &target, args);
                assert!(said.contains(words) || said.contains("malformed"), "{args:?}: {said}");
            }
            assert!(!target.exists());
        }
        // With another key nothing is put in place; with the right one a copy that was cut off is no hindrance.
        let (key, aside) = (desk.path().join("test.key"), desk.path().join("aside.key"));
        std::fs::rename(&key, &aside).unwrap();
        let said = refused(&desk, &target, &["restore", "good.db"]);
        assert!(said.contains("nothing was put in place") && said.contains("key"), "{said}");
        std::fs::rename(&aside, &key).unwrap();
        assert!(desk.path().join("till.db.partial").exists() && !target.exists());
        assert_eq!(told(&desk, &target, &["restore", "good.db", "--resume"])["held"], false);
        // Books that somebody changed are told.
        let broken = desk.path().join("broken.db");
        std::fs::copy(desk.path().join("good.db"), &broken).unwrap();
        let by_hand = rusqlite::Connection::open(&broken).unwrap();
        by_hand.execute_batch("update merchant_balances set balance_kobo = balance_kobo + 1").unwrap();
        drop(by_hand);
        let other = desk.path().join("other.db");
        let said = refused(&desk, &other, &["restore", "broken.db"]);
        assert!(said.contains("not in order") && said.contains("balances_equal_postings"), "{said}");
        assert!(!other.exists());
    }

    async fn what_goes_out_is_held_until_somebody_has_looked(db: TestDatabase) {
        let desk = Desk::dev(&db);
        let (app, _) = paid(&desk).await;
        let app = Arc::new(app);
        let held = desk.json(&["hold", "--reason", "restored to Monday noon"]);
        assert!(held["held_since"].is_string() && held["waiting"].as_i64() == Some(1), "{held}");
        assert_eq!(desk.json(&["hold"])["held_since"], held["held_since"], "held since then");
        let tries = async || app.store.deliveries(false, 10).await.unwrap()[0].attempts.len();
        // Other work goes on meanwhile; on a slow day some is due.
        tillbell::work::run_due(&app).await.unwrap();
        assert_eq!(tries().await, 0);
        let resumed = desk.json(&["resume"]);
        assert_eq!((&resumed["held_since"], &resumed["waiting"]), (&Value::Null, &Value::from(1)));
        // The shop's host is nobody's, and still it is tried.
        assert!(tillbell::work::run_due(&app).await.unwrap() > 0);
        assert_eq!(tries().await, 1, "once it is let go");
        let done = desk.json(&["activity", "--since", "1h"]);
        let acts: Vec<&str> = done["acts"].as_array().unwrap().iter().map(|one| one["act"].as_str().unwrap()).collect();
        assert!(acts.contains(&"hold") && acts.contains(&"resume"), "{acts:?}");
    }
}

fn mode_of(file: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_url_names_its_file() {
    assert_eq!(file_of("sqlite:/var/lib/till.db").as_deref(), Some(Path::new("/var/lib/till.db")));
    assert_eq!(file_of("sqlite:till.db").as_deref(), Some(Path::new("till.db")));
    assert_eq!(file_of("postgres://till@db.example/till"), None);
}
