//! The directory over a real database: freshness, bounds, single flight, the order of accounts.

use futures_util::FutureExt;

use super::*;
use crate::clock::ManualClock;
use crate::domain::charges::Schedule;
use crate::domain::event::Chosen;
use crate::domain::merchant::{KeyRights, key_text};
use crate::store::{IdKind, StoreOptions};

struct Desk {
    store: Store,
    clock: Arc<ManualClock>,
    directory: Directory,
    _folder: tempfile::TempDir,
}

const NOW: Timestamp = Timestamp(1_800_000_000_000_000);

async fn desk() -> Desk {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("t.db").display());
    let store = Store::open(&StoreOptions::command(&url)).await.unwrap();
    store.migrate(NOW).await.unwrap();
    let clock = Arc::new(ManualClock::new(NOW));
    let directory = Directory::new(store.clone(), clock.clone());
    Desk { store, clock, directory, _folder: folder }
}

async fn apply(store: &Store, steps: impl IntoIterator<Item = Step>) {
    let unit = store.unit(1).await.unwrap().steps(steps);
    assert!(store.apply(unit).await.unwrap().is_done());
}

fn business(id: i64) -> Business {
    Business {
        id,
        name: "Kola Books".into(),
        email: "kola@books.example".into(),
        webhook_url: None,
        active: true,
        live: true,
        wallet_enabled: false,
        rate_limit: None,
        wallet_rate_limit: None,
        events: Chosen::default(),
        schedule: Schedule::DEFAULT,
        created_at: NOW,
        version: 1,
    }
}

/// A business with one key; answers the key's text.
async fn with_key(desk: &Desk, seed: u8, expires_at: Option<Timestamp>) -> (i64, i64, String) {
    let id = desk.store.id(IdKind::Business).await.unwrap();
    let key_id = desk.store.id(IdKind::Key).await.unwrap();
    let text = key_text(Mode::Live, &[seed; 64]).unwrap();
    let key = ApiKey {
        id: key_id,
        business_id: id,
        hint: text[..12].into(),
        label: None,
        mode: Mode::Live,
        rights: KeyRights::Read,
        created_at: NOW,
        expires_at,
        revoked_at: None,
        last_used_at: None,
    };
    let [add, balance] = merchants::add_business(&business(id), vec![1]);
    apply(&desk.store, [add, balance, merchants::add_key(&key, key_hash(&text))]).await;
    (id, key_id, text)
}

#[tokio::test]
async fn a_revoked_key_is_dead_within_a_second() {
    let desk = desk().await;
    let (id, key_id, text) = with_key(&desk, 1, None).await;
    let caller = desk.directory.caller(&text).await.unwrap().unwrap();
    assert_eq!((caller.business.id, caller.mode, caller.rights), (id, Mode::Live, KeyRights::Read));
    apply(&desk.store, [merchants::revoke_key(key_id, NOW)]).await;
    assert!(desk.directory.caller(&text).await.unwrap().is_some(), "answered from memory");
    tokio::time::sleep(FRESH).await;
    assert!(desk.directory.caller(&text).await.unwrap().is_none());
}

#[tokio::test]
async fn expiry_and_a_closed_business_stop_a_key() {
    let desk = desk().await;
    let (_, _, short) = with_key(&desk, 2, Some(NOW + Span::seconds(5))).await;
    assert!(desk.directory.caller(&short).await.unwrap().is_some());
    desk.clock.advance(Span::seconds(5));
    assert!(desk.directory.caller(&short).await.unwrap().is_none(), "expiry needs no reading");
    let (id, _, text) = with_key(&desk, 3, None).await;
    assert!(desk.directory.caller(&text).await.unwrap().is_some());
    let closed = Business { active: false, ..desk.store.business(id).await.unwrap().unwrap() };
    apply(&desk.store, [merchants::set_business(&closed, NOW)]).await;
    desk.directory.forget();
    assert!(desk.directory.caller(&text).await.unwrap().is_none());
}

#[tokio::test]
async fn a_new_key_works_although_it_was_unknown_a_moment_ago() {
    let desk = desk().await;
    let text = key_text(Mode::Live, &[4; 64]).unwrap();
    assert!(desk.directory.caller(&text).await.unwrap().is_none());
    assert!(desk.directory.caller("tb_live_nonsense").await.unwrap().is_none());
    with_key(&desk, 4, None).await;
    tokio::time::sleep(FRESH).await;
    assert!(desk.directory.caller(&text).await.unwrap().is_some());
}

#[tokio::test]
async fn a_flood_of_unknown_keys_is_bounded_and_spares_the_known() {
    let desk = desk().await;
    let (_, _, text) = with_key(&desk, 5, None).await;
    desk.directory.caller(&text).await.unwrap();
    for n in 0..u16::try_from(UNKNOWN_MAX + 200).unwrap() {
        let mut bytes = [9; 64];
        bytes[..2].copy_from_slice(&[(n % 200) as u8, (n / 200) as u8]);
        let stranger = key_text(Mode::Live, &bytes).unwrap();
        assert!(desk.directory.caller(&stranger).await.unwrap().is_none());
    }
    assert!(desk.directory.callers.len() <= UNKNOWN_MAX + 2, "{}", desk.directory.callers.len());
    assert!(desk.directory.callers.peek(&key_hash(&text)).is_some());
}

#[tokio::test]
async fn one_reading_serves_all_who_wait_and_a_failure_is_told_to_all() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let cache: Cache<i64, i64> = Cache::new(10, 10);
    let reads = AtomicUsize::new(0);
    let slow = || async {
        reads.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(20)).await;
        Ok(7)
    };
    let all = futures_util::future::join_all((0..50).map(|_| cache.get(1, |_| false, slow))).await;
    assert!(all.iter().all(|one| matches!(one, Ok((7, _)))));
    assert_eq!(reads.swap(0, Ordering::SeqCst), 1);
    let down = || async {
        reads.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(20)).await;
        Err(StoreError::Unavailable("down".into()))
    };
    let all = futures_util::future::join_all((0..50).map(|_| cache.get(2, |_| false, down))).await;
    assert!(all.iter().all(Result::is_err));
    assert_eq!(reads.load(Ordering::SeqCst), 1);
    assert!(matches!(cache.get(2, |_| false, slow).await, Ok((7, true))), "the next one tries again");
}

#[tokio::test]
async fn what_was_being_read_when_all_was_forgotten_is_answered_to_nobody_later() {
    let cache: Cache<i64, &str> = Cache::new(10, 10);
    let (began, goes_on) = (tokio::sync::Notify::new(), tokio::sync::Notify::new());
    let before = || async {
        began.notify_one();
        goes_on.notified().await;
        Ok("before the change")
    };
    let after = || async { Ok("after the change") };
    let changing = async {
        began.notified().await;
        cache.clear();
        let asked = cache.get(1, |_| false, after).now_or_never();
        assert_eq!(asked.expect("it waits for nobody").unwrap(), ("after the change", true));
        goes_on.notify_one();
    };
    let (first, ()) = futures_util::future::join(cache.get(1, |_| false, before), changing).await;
    assert_eq!(first.unwrap(), ("before the change", true), "it asked before");
    assert_eq!(cache.get(1, |_| false, after).await.unwrap(), ("after the change", false));
}

#[tokio::test]
async fn an_answer_is_as_old_as_the_beginning_of_its_reading() {
    let cache: Cache<i64, i64> = Cache::new(10, 10);
    let slow = || async {
        tokio::time::sleep(FRESH).await;
        Ok(7)
    };
    assert_eq!(cache.get(1, |_| false, slow).await.unwrap(), (7, true));
    assert_eq!(cache.get(1, |_| false, || async { Ok(8) }).await.unwrap(), (8, true));
}

#[tokio::test]
async fn all_who_wait_for_a_slow_database_take_one_reading() {
    let cache: Cache<i64, i64> = Cache::new(10, 10);
    let reads = std::sync::atomic::AtomicUsize::new(0);
    let slow = || async {
        reads.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        tokio::time::sleep(FRESH).await;
        Ok(7)
    };
    let asked = (0..5).map(|_| cache.get(1, |_| false, slow));
    for answer in futures_util::future::join_all(asked).await {
        assert_eq!(answer.unwrap().0, 7);
    }
    assert_eq!(reads.into_inner(), 1);
}

#[tokio::test]
async fn a_full_cache_answers_and_keeps_no_more() {
    let cache: Cache<i64, i64> = Cache::new(3, 3);
    for n in 0..10 {
        let load = || async move { Ok(n) };
        assert_eq!(cache.get(n, |_| false, load).await.unwrap(), (n, true));
    }
    assert_eq!(cache.len(), 3);
    tokio::time::sleep(FRESH).await;
    let load = || async { Ok(99) };
    cache.get(99, |_| false, load).await.unwrap();
    assert_eq!(cache.peek(&99), Some(99), "the old ones made room");
}

#[tokio::test]
async fn the_longest_unused_account_comes_first_also_when_the_clock_stands_still() {
    let desk = desk().await;
    let ids = vec![1, 2, 3];
    assert_eq!(desk.directory.least_recently_used(ids.clone()), [1, 2, 3]);
    desk.directory.touch_account(1, NOW);
    desk.directory.touch_account(3, NOW);
    assert_eq!(desk.directory.least_recently_used(ids.clone()), [2, 1, 3]);
    desk.directory.touch_account(2, NOW);
    assert_eq!(desk.directory.least_recently_used(ids), [1, 3, 2]);
}

#[tokio::test]
async fn uses_are_written_down_but_not_all_the_time() {
    let desk = desk().await;
    let (_, key_id, text) = with_key(&desk, 6, None).await;
    let used = |at: Option<Timestamp>| (at, key_id);
    desk.directory.caller(&text).await.unwrap();
    desk.directory.flush().await.unwrap();
    let read = || async { used(desk.store.api_key(key_id).await.unwrap().unwrap().last_used_at) };
    assert_eq!(read().await, used(Some(NOW)));
    desk.clock.advance(Span::seconds(30));
    desk.directory.forget();
    desk.directory.caller(&text).await.unwrap();
    desk.directory.flush().await.unwrap();
    assert_eq!(read().await, used(Some(NOW)), "once a minute");
    desk.clock.advance(Span::seconds(31));
    desk.directory.flush().await.unwrap();
    assert_eq!(read().await, used(Some(NOW + Span::seconds(30))));
    assert_eq!(desk.directory.due_keys(NOW + Span::hours(1)), []);
    assert!(lock(&desk.directory.used_keys).is_empty(), "what is written and unused is forgotten");
}
