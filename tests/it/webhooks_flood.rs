//! Receivers that answer without end before they answer: what is read of them has a limit. That they get no more
//! attempts at once on another port is tested in `work::hosts`: here all receivers are programs of one machine, and
//! count by port.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use crate::webhooks_world::World;

/// A receiver that answers with `begin` and then `again` until it is hung up on.
async fn endless(begin: &'static str, again: String) -> (String, AbortOnDropHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let again = again.repeat(1 + 65_536 / again.len());
            tokio::spawn(async move {
                let mut request = [0; 16 * 1024];
                drop(socket.read(&mut request).await);
                drop(socket.write_all(begin.as_bytes()).await);
                while socket.write_all(again.as_bytes()).await.is_ok() {}
            });
        }
    });
    (url, AbortOnDropHandle::new(serving))
}

fn early_hints() -> String {
    let headers: String = (0..90).map(|n| format!("x-hint-{n}: {n}\r\n")).collect();
    format!("HTTP/1.1 103 Early Hints\r\n{headers}\r\n")
}

on_both! {
    async fn an_answer_without_end_is_cut_off(db: TestDatabase) {
        // As long as it may be: only the limit can end the attempt before.
        let world = World::with(&db, "timeout = \"60s\"").await;
        let chunk = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        for (begin, again) in [
            ("", early_hints()),
            ("", "HTTP/1.1 100 Continue\r\n\r\n".to_owned()),
            ("", "\r\n".to_owned()),
            // The size of a chunk, all of it noughts.
            (chunk, "0".to_owned()),
        ] {
            let (url, _serving) = endless(begin, again.clone()).await;
            let told = world.tell_at(&url, None).await;
            assert_eq!(world.work().await, 1);
            let delivery = world.delivery(&told).await;
            let error = delivery.attempts[0].error.as_deref().unwrap_or_default();
            assert!(error.contains("too large"), "{again:.30}: {error:?}");
            // Without a status it is tried again later; behind one, the status counts.
            let expected = (begin == chunk).then_some("delivered");
            assert_eq!((delivery.attempts.len(), delivery.outcome.as_deref()), (1, expected), "{again:.30}");
        }
        // A few interim answers are nobody's fault.
        let (url, _serving) = endless(
            "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n\
             HTTP/1.1 200 OK\r\ncontent-length: 900000000\r\n\r\n",
            "a long body, which is cut".to_owned(),
        )
        .await;
        let told = world.tell_at(&url, None).await;
        world.work().await;
        assert_eq!(world.delivery(&told).await.outcome.as_deref(), Some("delivered"));
    }
}
