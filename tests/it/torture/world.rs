//! An installation of several nodes, each at an address of its own, with a proxy between them and their database.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Mutex;

use tokio::net::lookup_host;

use crate::crashes::{Installation, Service, request, serve};
use crate::harness::databases::{Engine, TestDatabase};
use crate::harness::ports::own_addresses;
use crate::harness::proxy::{Fault, Proxy};
use crate::harness::receiver::Answer;
use crate::harness::until::until;

pub struct World {
    pub here: Installation,
    pub nodes: Vec<Node>,
    /// Before a server; an embedded database has none.
    pub proxy: Option<Proxy>,
    /// Of the database, through the proxy.
    url: String,
}

pub struct Node {
    pub address: SocketAddr,
    service: Mutex<Option<Service>>,
}

impl World {
    pub async fn new(database: TestDatabase, nodes: usize) -> World {
        let here = Installation::new(database).await;
        let mut url = here.database.url().to_owned();
        let mut proxy = None;
        if here.database.engine() == Engine::Postgres {
            let mut changed = url::Url::parse(&url).unwrap();
            let server = format!("{}:{}", changed.host_str().unwrap(), changed.port().unwrap_or(5432));
            let server = lookup_host(server).await.unwrap().next().unwrap();
            let between = Proxy::start(server).await;
            changed.set_host(Some("127.0.0.1")).unwrap();
            changed.set_port(Some(between.address().port())).unwrap();
            url = changed.into();
            proxy = Some(between);
        }
        let node = |address| Node { address, service: Mutex::new(None) };
        let nodes = own_addresses(nodes).into_iter().map(node).collect();
        let world = World { here, nodes, proxy, url };
        for n in 0..world.nodes.len() {
            world.start(n, None);
        }
        world.until_ready().await;
        world
    }

    /// The program with what all of these nodes and commands have in common.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.here.command(arguments);
        command
            .env("TILLBELL_DATABASE__URL", &self.url)
            .env("TILLBELL_WEBHOOKS__TIMEOUT", "2s")
            .env("TILLBELL_WEBHOOKS__RETRY_SCHEDULE", format!("[\"0s\"{}]", ", \"1s\"".repeat(400)));
        command
    }

    /// Starts a node that is not there. `crash_at`: where it dies by itself.
    pub fn start(&self, n: usize, crash_at: Option<&str>) {
        let node = &self.nodes[n];
        let mut held = node.service.lock().unwrap();
        if held.as_mut().is_some_and(|service| !service.is_over()) {
            return;
        }
        let mut command = self.command(&["serve"]);
        command.env("TILLBELL_SERVER__LISTEN", node.address.to_string());
        if let Some(point) = crash_at {
            command.env("TILLBELL_CRASH_AT", point);
        }
        // Where its database is away it does not start, and is started again later.
        *held = serve(command);
    }

    pub fn kill(&self, n: usize) {
        if let Some(mut service) = self.nodes[n].service.lock().unwrap().take() {
            service.kill();
        }
    }

    /// Sends a signal to a node, if it is there.
    pub fn signal(&self, n: usize, signal: &str) {
        if let Some(service) = self.nodes[n].service.lock().unwrap().as_ref() {
            let _ = Command::new("kill").args([signal, &service.id().to_string()]).status();
        }
    }

    /// Ends all faults, and waits until every node answers.
    pub async fn mend(&self) {
        if let Some(proxy) = &self.proxy {
            proxy.set(Fault::Pass);
        }
        self.here.receiver().answer_otherwise(Answer::status(200));
        for n in 0..self.nodes.len() {
            self.signal(n, "-CONT");
            // One that was armed may die of it later.
            self.kill(n);
            self.start(n, None);
        }
        self.until_ready().await;
    }

    async fn until_ready(&self) {
        for (n, node) in self.nodes.iter().enumerate() {
            until("the node is ready", async || {
                self.start(n, None);
                matches!(request(node.address, "GET /readyz", "", "").await, Some((200, _))).then_some(())
            })
            .await;
        }
    }
}
