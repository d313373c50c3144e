//! Rate limits over two nodes that share them in a real Redis: exact, and no error when it is away.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tillbell::domain::merchant::Mode;
use tillbell::ops::merchants::businesses::{BusinessChange, set_business};
use tillbell::ops::merchants::keys::add_key;
use tillbell::serve::{Roles, Running, start};

use crate::harness::app::TestApp;
use crate::harness::until::{until, until_true};
use crate::wallet_pages::site::exchange;

/// A Redis server that keeps nothing, ended when dropped.
struct Redis {
    child: Child,
    port: u16,
    folder: PathBuf,
}

impl Redis {
    fn start(port: u16, folder: PathBuf) -> Redis {
        let child = Command::new("redis-server")
            .args([
                "--port",
                &port.to_string(),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--appendonly",
                "no",
                "--dir",
            ])
            .arg(&folder)
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is missing: ./test installs it");
        Redis { child, port, folder }
    }

    async fn answers(&self) {
        let address = SocketAddr::from(([127, 0, 0, 1], self.port));
        until_true("Redis listens", || TcpStream::connect(address).is_ok()).await;
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Statuses of requests that are made at once, turn by turn on each of the nodes.
async fn ask(nodes: &[Running; 2], key: &str, count: usize) -> Vec<u16> {
    let line = format!("X-API-Key: {key}");
    let asked = (0..count).map(|n| {
        let (address, line) = (nodes[n % 2].address, line.clone());
        async move { exchange(address, "GET", "/api/v1/payments", &[&line], None).await.0 }
    });
    futures_util::future::join_all(asked).await
}

fn of(statuses: &[u16], status: u16) -> usize {
    statuses.iter().filter(|one| **one == status).count()
}

on_both! {
    async fn limits_hold_over_all_nodes_and_nobody_gets_an_error_without_redis(db: TestDatabase) {
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let redis = Redis::start(port, folder.path().to_owned());
        redis.answers().await;
        let settings = format!(
            "[server]\ndev = true\nlisten = \"127.0.0.1:0\"\n[redis]\nurl = \"redis://127.0.0.1:{port}/3\"\n"
        );
        let t = TestApp::start_with(db, &settings).await;
        let mut keys = Vec::new();
        for host in ["adire.example", "bolu.example", "chike.example"] {
            let shop = t.merchant(host).await;
            let change = BusinessChange { rate_limit: Some(Some(20)), ..BusinessChange::default() };
            set_business(&t.app, "test", shop.id, &change).await.unwrap().unwrap();
            let key = add_key(&t.app, "test", shop.id, Mode::Live, None, None).await.unwrap().unwrap();
            keys.push(key.text.to_string());
        }
        t.app.directory.forget();
        let roles = Roles { api: true, pages: false, mail: false, work: false };
        let nodes = [
            start(t.app.clone(), roles).await.unwrap(),
            start(t.another_node().await, roles).await.unwrap(),
        ];
        let exact = ask(&nodes, &keys[0], 50).await;
        assert_eq!((of(&exact, 200), of(&exact, 429)), (20, 30), "over both nodes together");
        // Away: each node has its own count, and nobody gets anything else than an answer or its limit.
        let folder_of_redis = redis.folder.clone();
        drop(redis);
        let apart = ask(&nodes, &keys[1], 60).await;
        assert_eq!((of(&apart, 200), of(&apart, 429)), (40, 20), "{apart:?}");
        assert!(nodes.iter().all(|node| node.limits_apart_for().is_some()));
        // And back, without anybody's doing.
        let redis = Redis::start(port, folder_of_redis);
        redis.answers().await;
        until("both nodes share again", async || {
            ask(&nodes, &keys[2], 2).await;
            nodes.iter().all(|node| node.limits_apart_for().is_none()).then_some(())
        })
        .await;
        let rest = ask(&nodes, &keys[2], 60).await;
        assert!(of(&rest, 200) <= 20 && of(&rest, 200) + of(&rest, 429) == 60, "{rest:?}");
        for node in nodes {
            tokio::time::timeout(Duration::from_secs(30), node.stop()).await.unwrap();
        }
    }
}
