//! The files of the embedded database are its owner's alone: they hold customers' money and mails.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tillbell::domain::time::Timestamp;
use tillbell::store::{Store, StoreOptions};

use super::Desk;
use crate::harness::databases::{Engine, TestDatabase, run_on};

/// The file of a database and the two beside it.
fn files(url: &str) -> [PathBuf; 3] {
    let path = url.strip_prefix("sqlite:").expect("a file");
    ["", "-wal", "-shm"].map(|end| PathBuf::from(format!("{path}{end}")))
}

fn mode(path: &Path) -> Option<u32> {
    std::fs::metadata(path).ok().map(|meta| meta.permissions().mode() & 0o777)
}

#[tokio::test]
async fn a_new_database_is_its_owners_alone() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("new.db").display());
    let store = Store::open(&StoreOptions::command(&url)).await.unwrap();
    store.migrate(Timestamp(0)).await.unwrap();
    assert_eq!(files(&url).map(|path| mode(&path)), [Some(0o600); 3], "while it is in use");
}

#[test]
fn files_that_others_may_read_are_closed_and_told() {
    run_on(Engine::Sqlite, |db: TestDatabase| async move {
        let desk = Desk::new(&db);
        desk.business("Kola Stores");
        let all = files(db.url());
        // A process that died leaves all three.
        for path in &all {
            if !path.exists() {
                std::fs::write(path, b"").unwrap();
            }
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o664)).unwrap();
        }
        let output = desk.run(&["business", "list"]);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{told}");
        assert!(told.contains("could read or write a database file"), "{told}");
        assert_eq!(mode(&all[0]), Some(0o600));
        assert!(all.iter().all(|path| mode(path).is_none_or(|mode| mode == 0o600)));
        let quiet = desk.run(&["business", "list"]);
        assert!(quiet.stderr.is_empty(), "told once: {}", String::from_utf8_lossy(&quiet.stderr));
    });
}

#[test]
fn a_wide_umask_opens_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let status = Command::new("sh")
        .args(["-c", "umask 000; exec \"$0\" migrate", env!("CARGO_BIN_EXE_tillbell")])
        .env_clear()
        .current_dir(folder.path())
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(mode(&folder.path().join("tillbell.db")), Some(0o600));
}
