//! Memory of the service: at rest, and under the load of 64 connections that create payments.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::create::{prepare, varied};
use crate::driver::drive;
use crate::report::{Goal, Report};
use crate::server::{Postgres, Server};
use crate::{Size, scratch};

const AT_REST_MB: f64 = 40.0;
const UNDER_LOAD_MB: f64 = 150.0;
const CONNECTIONS: usize = 64;
const CREATED: u16 = 201;

pub async fn run(report: &mut Report, size: &Size, postgres: Option<&Postgres>) {
    let folder = scratch();
    let mut urls = vec![("SQLite", format!("sqlite:{}", folder.path().join("memory.db").display()))];
    urls.extend(postgres.map(|server| ("PostgreSQL", server.database("memory"))));
    for (name, url) in urls {
        let key = prepare(&url).await;
        let server = Server::tillbell(&url, folder.path(), "api,pages,work");
        tokio::time::sleep(Duration::from_secs(3)).await;
        report.add(&format!("memory at rest, {name}"), "MB", server.rss_mb(), AT_REST_MB, Goal::Below, "");
        let requests = varied(&key);
        let time = Duration::from_secs(size.seconds * 3);
        let done = AtomicBool::new(false);
        let most = tokio::task::block_in_place(|| {
            std::thread::scope(|scope| {
                let watch = scope.spawn(|| greatest(&server, &done));
                let load = scope.spawn(|| drive(server.address, CONNECTIONS, time, &requests, CREATED, 5));
                load.join().expect("the driver");
                done.store(true, Ordering::SeqCst);
                watch.join().expect("the watch")
            })
        });
        report.add(
            &format!("memory under load, {name}"),
            "MB",
            most,
            UNDER_LOAD_MB,
            Goal::Below,
            "the greatest seen while 64 connections create payments",
        );
    }
}

/// The most memory seen until `done`.
pub fn greatest(server: &Server, done: &AtomicBool) -> f64 {
    let mut most = 0.0f64;
    while !done.load(Ordering::SeqCst) {
        most = most.max(server.rss_mb());
        std::thread::sleep(Duration::from_millis(50));
    }
    most
}
