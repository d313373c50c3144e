//! What callers of the API feel while webhooks go to receivers that answer without end: interim answers with ninety headers each,
//! as fast as they are read. The same server on the same machine, with receivers that take a webhook and are done, is the yardstick.
//!
//! The receivers run in this process and take processor time too; what is measured is whether attempts leave callers their turn.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::driver::{Requests, get, paced};
use crate::report::{Goal, Report, median};
use crate::server::Server;
use crate::storage::settle_all;
use crate::world::World;
use crate::{Size, scratch};

const RECEIVERS: usize = 24;
const READERS: usize = 8;
const PAUSE: Duration = Duration::from_millis(5);
const TIMES: f64 = 3.0;

/// Where a webhook goes that is answered like this, again and again if it has no end.
async fn receiver(is_endless: bool) -> String {
    let headers: String = (0..90).map(|n| format!("x-hint-{n}: {n}\r\n")).collect();
    let answer = match is_endless {
        true => format!("HTTP/1.1 103 Early Hints\r\n{headers}\r\n").repeat(50),
        false => "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_owned(),
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("listen");
    let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
    let answer: Arc<str> = answer.into();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let answer = answer.clone();
            tokio::spawn(async move {
                let mut request = [0; 16 * 1024];
                while socket.read(&mut request).await.is_ok_and(|read| read > 0) {
                    while socket.write_all(answer.as_bytes()).await.is_ok() && is_endless {}
                }
            });
        }
    });
    url
}

pub async fn run(report: &mut Report, size: &Size) {
    let (mut beside, mut alone) = (Vec::new(), Vec::new());
    for _ in 0..size.runs {
        beside.push(reads(size, true).await);
        alone.push(reads(size, false).await);
    }
    report.add(
        "reading one payment beside endless webhook answers",
        "ms",
        median(beside),
        median(alone),
        Goal::AtMostTimes(TIMES),
        "medians of 8 readers, SQLite, 24 receivers of 103 without end; yardstick: receivers that answer at once",
    );
}

/// The median of reads while webhooks are tried, in ms.
async fn reads(size: &Size, is_endless: bool) -> f64 {
    let folder = scratch();
    let url = format!("sqlite:{}", folder.path().join("floods.db").display());
    let world = World::new(&url, 1, "http://127.0.0.1").await;
    let each = size.of(400, 40);
    let mut known = String::new();
    for n in 0..RECEIVERS {
        let hook = receiver(is_endless).await;
        let pairs = Arc::new(world.pairs(each, (n * each) as i64, &hook).await);
        known.clone_from(&pairs[0].payment.transaction_id);
        settle_all(&world.app, &world.account, pairs, 8).await;
    }
    let key = world.businesses[0].key.clone();
    drop(world);
    let server = Server::tillbell_with(&url, folder.path(), "api,work", &[("SERVER__DEV", "true")]);
    let requests = Requests::fixed(vec![get(&format!("/api/v1/payment/{known}"), &key)]);
    let time = Duration::from_secs(size.seconds);
    let took = tokio::task::block_in_place(|| {
        std::thread::scope(|scope| {
            let run = || paced(server.address, READERS, time, PAUSE, &requests);
            scope.spawn(run).join().expect("the readers")
        })
    });
    median(took.iter().map(|time| time.as_secs_f64() * 1_000.0).collect())
}
