//! Takes webhooks, knows when each was due, and answers after 20 ms as a shop does.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::routing::post;
use axum::serve::ListenerExt;
use bytes::Bytes;

const ANSWERS_AFTER: Duration = Duration::from_millis(20);

/// What is expected and what came.
#[derive(Default)]
pub struct Told {
    /// When the mail of each payment was due that is not told yet.
    pub due: HashMap<String, Instant>,
    /// How long each took that is told.
    pub took: Vec<Duration>,
    /// Webhooks of payments that were told before.
    pub again: u64,
}

pub struct Receiver {
    address: SocketAddr,
    pub told: Arc<Mutex<Told>>,
}

impl Receiver {
    pub async fn start() -> Receiver {
        let told: Arc<Mutex<Told>> = Arc::default();
        let router = Router::new().route("/hook", post(take)).with_state(told.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("listen");
        let address = listener.local_addr().expect("an address");
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).expect("nodelay"));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Receiver { address, told }
    }

    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn with<T>(&self, look: impl FnOnce(&mut Told) -> T) -> T {
        look(&mut self.told.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn take(State(told): State<Arc<Mutex<Told>>>, body: Bytes) {
    let now = Instant::now();
    let body: serde_json::Value = serde_json::from_slice(&body).expect("a webhook is JSON");
    let id = body["transaction_id"].as_str().expect("a webhook names its payment");
    {
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        match told.due.remove(id) {
            Some(due) => told.took.push(now - due),
            None => told.again += 1,
        }
    }
    tokio::time::sleep(ANSWERS_AFTER).await;
}
