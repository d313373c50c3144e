//! The audit of a database at the end of its test, whoever thought of it: where money was booked all of it adds up.

use std::path::Path;
use std::sync::Arc;

use tillbell::app::App;
use tillbell::clock::{SeededRandom, SystemClock};
use tillbell::config::Config;
use tillbell::ops::ledger::audit::audit;
use tillbell::store::StoreOptions;
use tokio_postgres::NoTls;

const BOOKED: &str = "select 1 from entries limit 1";

/// What is wrong with the books that are kept there, if any are. Waits on a thread of its own, so that it can be asked where a
/// value is dropped.
pub fn wrong_in(url: &str) -> Option<String> {
    let url = url.to_owned();
    let asking = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
        runtime.block_on(async { if is_booked(&url).await { violations(&url).await } else { None } })
    });
    asking.join().unwrap_or_else(|_| Some("the audit itself failed".to_owned()))
}

/// A database that is gone, or has no tables, has no books.
async fn is_booked(url: &str) -> bool {
    match url.strip_prefix("sqlite:") {
        Some(path) if !Path::new(path).exists() => false,
        Some(path) => {
            rusqlite::Connection::open(path).is_ok_and(|file| file.query_row(BOOKED, [], |_| Ok(())).is_ok())
        }
        None => match tokio_postgres::connect(url, NoTls).await {
            Ok((client, connection)) => {
                tokio::spawn(connection);
                client.query_opt(BOOKED, &[]).await.is_ok_and(|row| row.is_some())
            }
            Err(_) => false,
        },
    }
}

async fn violations(url: &str) -> Option<String> {
    let folder = tempfile::tempdir().expect("make a temporary folder");
    let key = folder.path().join("audit.key");
    let text = format!("[database]\nurl = {url:?}\n[secret]\nkey_file = {key:?}\n[server]\ndev = true\n");
    let config = Config::load(&text, std::iter::empty()).expect("a configuration");
    let random = Arc::new(SeededRandom::new(1));
    // The audit opens no secret, so the key of the test's world is not asked for.
    let app = App::open_with(config, &StoreOptions::command(url), Arc::new(SystemClock), random).await;
    let app = app.unwrap_or_else(|error| panic!("open {url}: {error}"));
    let checks = audit(&app).await.unwrap_or_else(|error| panic!("audit {url}: {error}"));
    let wrong: Vec<_> = checks.iter().filter(|check| check.violations != 0).collect();
    (!wrong.is_empty()).then(|| format!("{wrong:?}"))
}
