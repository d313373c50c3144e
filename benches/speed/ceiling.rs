//! What the machine could do at best: axum, one SQLite writer thread with group commit that inserts
//! one row per request, nothing else; and a route that does nothing. The yardstick of our HTTP
//! figures, run as a process of its own like the program it is compared with.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use bytes::Bytes;
use http::{StatusCode, header};
use tokio::sync::oneshot;

/// As many as our own writer takes at once.
const BATCH_MAX: usize = 512;
const QUEUE_MAX: usize = 16_384;
const ANSWER: &str = r#"{"success":true,"message":"Payment request created"}"#;

type Job = (Bytes, oneshot::Sender<i64>);

pub async fn serve(address: SocketAddr, file: &str) {
    let (sender, jobs) = crossbeam_channel::bounded::<Job>(QUEUE_MAX);
    let file = file.to_owned();
    std::thread::spawn(move || write(&file, &jobs));
    let router = Router::new()
        .route("/insert", post(insert))
        .route("/nothing", get(|| async { ([(header::CONTENT_TYPE, "application/json")], ANSWER) }))
        .with_state(Arc::new(sender));
    let listener = tokio::net::TcpListener::bind(address).await.expect("listen");
    let listener = listener.tap_io(|stream| stream.set_nodelay(true).expect("nodelay"));
    axum::serve(listener, router).await.expect("serve");
}

async fn insert(
    State(sender): State<Arc<crossbeam_channel::Sender<Job>>>,
    body: Bytes,
) -> (StatusCode, [(header::HeaderName, &'static str); 1], &'static str) {
    let (answer, wait) = oneshot::channel();
    sender.try_send((body, answer)).expect("room in the queue");
    wait.await.expect("a commit");
    (StatusCode::CREATED, [(header::CONTENT_TYPE, "application/json")], ANSWER)
}

fn write(file: &str, jobs: &crossbeam_channel::Receiver<Job>) {
    let connection = rusqlite::Connection::open(file).expect("open the file");
    connection.pragma_update(None, "journal_mode", "wal").expect("wal");
    connection.pragma_update(None, "synchronous", "full").expect("full");
    connection.pragma_update(None, "wal_autocheckpoint", 8000).expect("checkpoint");
    connection
        .execute_batch("create table if not exists rows (id integer primary key, body blob not null)")
        .expect("create the table");
    let mut id: i64 = connection
        .query_row("select coalesce(max(id), 0) from rows", [], |row| row.get(0))
        .expect("the last id");
    let mut done = Vec::with_capacity(BATCH_MAX);
    while let Ok(first) = jobs.recv() {
        connection.execute_batch("begin immediate").expect("begin");
        let mut next = Some(first);
        while let Some((body, answer)) = next.take() {
            id += 1;
            let mut insert =
                connection.prepare_cached("insert into rows (id, body) values (?1, ?2)").expect("prepare");
            insert.execute(rusqlite::params![id, &body[..]]).expect("insert");
            done.push((answer, id));
            if done.len() < BATCH_MAX {
                next = jobs.try_recv().ok();
            }
        }
        connection.execute_batch("commit").expect("commit");
        for (answer, id) in done.drain(..) {
            let _ = answer.send(id);
        }
    }
}
