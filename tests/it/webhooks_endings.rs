//! How a receiver ends its answer, and what a person is told: the status line decides, and every failure is in
//! plain words.

use tillbell::domain::time::Span;
use tillbell::store::tables::deliveries::Delivery;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use crate::harness::receiver::Answer;
use crate::harness::tls_receiver::{End, TlsReceiver};
use crate::webhooks_world::World;

/// What a person reads must not hold.
const NO_WORDS_OF_LIBRARIES: [&str; 10] =
    ["http://", "https://", "docs.rs", "rustls", "hyper", "os error", "error: ", "Error(", "{", "::"];

fn is_plain(text: &str) -> bool {
    NO_WORDS_OF_LIBRARIES.iter().all(|word| !text.contains(word))
}

/// An answer without a length, one with it, one that is cut, one in chunks that is cut, and one with a broken
/// chunk.
fn bodies(status: &str) -> [String; 5] {
    [
        format!("HTTP/1.0 {status}\r\nretry-after: 600\r\n\r\nnoted"),
        format!("HTTP/1.1 {status}\r\nretry-after: 600\r\ncontent-length: 5\r\n\r\nnoted"),
        format!("HTTP/1.1 {status}\r\nretry-after: 600\r\ncontent-length: 900\r\n\r\nnoted"),
        format!(
            "HTTP/1.1 {status}\r\nretry-after: 600\r\ntransfer-encoding: chunked\r\n\r\n5\r\nnoted\r\n7\r\ncu"
        ),
        format!(
            "HTTP/1.1 {status}\r\nretry-after: 600\r\ntransfer-encoding: chunked\r\n\r\n5\r\nnoted\r\nno size\r\n"
        ),
    ]
}

/// Posts one event to a receiver that answers so, and answers what became of it.
async fn outcome(world: &World, receiver: &TlsReceiver, answer: &str, end: End) -> Delivery {
    receiver.answer(answer, end);
    // A path of its own, so that a pause of one is none of another.
    let told = world.tell_at(&receiver.url(&format!("/{}", world.app.now().0)), None).await;
    assert_eq!(world.work().await, 1, "{answer:?} {end:?}");
    let delivery = world.delivery(&told).await;
    assert_eq!(delivery.attempts.len(), 1);
    let note = delivery.attempts[0].error.clone().unwrap_or_default();
    assert!(is_plain(&note), "{answer:?} {end:?}: {note}");
    // So little that no retry becomes due.
    world.advance(Span(1));
    delivery
}

on_both! {
    async fn the_status_line_decides_however_the_connection_ends(db: TestDatabase) {
        let receiver = TlsReceiver::start().await;
        let world = World::with(&db, &receiver.trusted()).await;
        for (status, code, expected) in [
            ("200 OK", 200, Some("delivered")),
            ("410 Gone", 410, Some("paused")),
            ("429 Slow down", 429, None),
            ("503 Later", 503, None),
            ("500 Broken", 500, None),
        ] {
            for answer in bodies(status) {
                for end in [End::Polite, End::Abrupt, End::Reset] {
                    let now = world.app.now();
                    let delivery = outcome(&world, &receiver, &answer, end).await;
                    let attempt = &delivery.attempts[0];
                    let case = format!("{answer:?} {end:?}: {attempt:?}");
                    assert_eq!(delivery.outcome.as_deref(), expected, "{case}");
                    assert_eq!(attempt.status, Some(code), "{case}");
                    assert!(attempt.answer.as_deref().unwrap().starts_with("noted"), "{case}");
                    if expected.is_none() {
                        assert_eq!(delivery.run_at.since(now), Span::seconds(600), "it may ask to wait: {case}");
                        assert!(delivery.note.unwrap().starts_with(&format!("HTTP {code} ")), "{case}");
                    }
                }
            }
        }
        assert_eq!(world.app.store.paused_targets().await.unwrap().len(), 15);
    }

    async fn what_follows_the_status_is_only_noted(db: TestDatabase) {
        let receiver = TlsReceiver::start().await;
        let world = World::with(&db, &receiver.trusted()).await;
        let [unbounded, whole, cut, ..] = bodies("200 OK");
        for (answer, end, expected) in [
            (&whole, End::Abrupt, None),
            (&unbounded, End::Polite, None),
            (&unbounded, End::Abrupt, Some("the connection was closed without close_notify")),
            (&unbounded, End::Reset, Some("the connection was reset")),
            (&cut, End::Polite, Some("the connection was closed before the end of the response")),
        ] {
            let delivery = outcome(&world, &receiver, answer, end).await;
            let note = delivery.note.clone();
            assert_eq!(note, delivery.attempts[0].error);
            match expected {
                None => assert_eq!(note, None, "{answer:?} {end:?}"),
                Some(words) => {
                    let note = note.unwrap();
                    assert!(note.starts_with("HTTP 200 OK, then: "), "{note}");
                    assert!(note.ends_with(words), "{answer:?} {end:?}: {note}");
                }
            }
        }
    }

    async fn an_answer_whose_end_never_comes_counts_by_its_status(db: TestDatabase) {
        let receiver = TlsReceiver::start().await;
        let world = World::with(&db, &format!("{}\ntimeout = \"3s\"", receiver.trusted())).await;
        let [unbounded, ..] = bodies("200 OK");
        let delivery = outcome(&world, &receiver, &unbounded, End::Open).await;
        assert_eq!(delivery.outcome.as_deref(), Some("delivered"));
        assert_eq!(delivery.note.unwrap(), "HTTP 200 OK, then: the body did not end within 1 s");
        assert!(delivery.attempts[0].answer.as_deref().unwrap().starts_with("noted"));
        let [unbounded, ..] = bodies("410 Gone");
        let delivery = outcome(&world, &receiver, &unbounded, End::Open).await;
        assert_eq!(delivery.outcome.as_deref(), Some("paused"));
        // No head, no answer.
        let delivery = outcome(&world, &receiver, "HTTP/1.1 200 OK\r\ncontent-le", End::Open).await;
        let note = delivery.note.unwrap();
        assert_eq!((delivery.outcome, delivery.attempts[0].status), (None, None));
        assert!(note.starts_with("timed out: no answer within 3.") && note.ends_with(" s"), "{note}");
    }

    async fn bodies_that_are_held_open_free_their_places(db: TestDatabase) {
        let receiver = TlsReceiver::start().await;
        let world = World::with(&db, &format!("{}\ntimeout = \"5s\"", receiver.trusted())).await;
        let [_, _, held, ..] = bodies("200 OK");
        receiver.answer(held.as_str(), End::Open);
        for n in 0..10 {
            world.tell_at(&receiver.url(&format!("/{n}")), None).await;
        }
        let mut done = 0;
        while done < 10 {
            done += world.work().await;
            world.advance(Span::seconds(1));
        }
        for delivery in world.deliveries().await {
            assert_eq!((delivery.outcome.as_deref(), delivery.tries), (Some("delivered"), 1), "{delivery:?}");
            let note = delivery.note.unwrap_or_default();
            assert!(!note.contains("timed out"), "the status was there at once: {note}");
        }
    }

    async fn without_a_whole_head_there_is_no_answer(db: TestDatabase) {
        let receiver = TlsReceiver::start().await;
        let world = World::with(&db, &receiver.trusted()).await;
        for answer in ["", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\ncontent-le", "HTTP/1.1 410 Gone\r\n"] {
            for end in [End::Polite, End::Abrupt, End::Reset] {
                let delivery = outcome(&world, &receiver, answer, end).await;
                assert_eq!((&delivery.outcome, delivery.tries, delivery.attempts[0].status), (&None, 1, None));
                let note = delivery.note.unwrap();
                let expected = ["closed before the response headers were complete", "the connection was reset"];
                assert!(expected.iter().any(|words| note.contains(words)), "{answer:?} {end:?}: {note}");
            }
        }
        assert!(world.app.store.paused_targets().await.unwrap().is_empty());
    }

    async fn many_short_headers_are_no_failure(db: TestDatabase) {
        let receiver = TlsReceiver::start().await;
        let world = World::with(&db, &receiver.trusted()).await;
        for count in [150, 490] {
            let answer = format!("HTTP/1.1 200 OK\r\n{}content-length: 0\r\n\r\n", "x-tag: a\r\n".repeat(count));
            let delivery = outcome(&world, &receiver, &answer, End::Polite).await;
            assert_eq!(delivery.outcome.as_deref(), Some("delivered"), "{count}: {:?}", delivery.note);
        }
    }

    async fn every_failure_is_told_in_plain_words(db: TestDatabase) {
        let (trusted, stranger) = (TlsReceiver::start().await, TlsReceiver::start().await);
        let world = World::with(&db, &trusted.trusted()).await;
        let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let (ssh, _ssh) = saying(b"SSH-2.0-OpenSSH_9.2\r\n\r\n".to_vec()).await;
        let (large, _large) = saying(format!("HTTP/1.1 200 OK\r\n{}", "x-more: 1\r\n".repeat(90_000)).into()).await;
        let (silent, _silent) = saying(Vec::new()).await;
        world.receiver.answer_next(Answer::status(307).header("location", "https://elsewhere.example/"));
        world.receiver.answer_next(Answer::status(404).body("<html>no such page</html>"));
        for (url, status, expected) in [
            (world.receiver.url("/1"), Some(307), "HTTP 307 Temporary Redirect, redirects are not followed"),
            (world.receiver.url("/2"), Some(404), "HTTP 404 Not Found"),
            (format!("http://{nobody}/"), None, "could not connect: the connection was refused: nothing listens there"),
            (stranger.url("/"), None, "is not trusted here (UnknownIssuer)"),
            (stranger.url("/"), None, "must be listed in webhooks.extra_ca_file"),
            (world.receiver.url("/").replace("http:", "https:"), None, "the server does not speak TLS on this port"),
            (trusted.plain_url("/"), None, "the response is not valid HTTP"),
            (ssh, None, "the response is not valid HTTP"),
            (large, None, "the response is too large: endless headers, interim responses or framing"),
            (silent, None, "the connection was closed before the response headers were complete"),
        ] {
            let told = world.tell_at(&url, None).await;
            assert_eq!(world.work().await, 1);
            let delivery = world.delivery(&told).await;
            let note = delivery.note.unwrap();
            assert!(note.contains(expected) && is_plain(&note), "{url}: {note}");
            assert_eq!((delivery.outcome, delivery.attempts[0].status), (None, status));
            assert_eq!(delivery.attempts[0].error.as_ref(), Some(&note));
        }
    }
}

/// Reads a request, says this whatever was asked, and hangs up.
async fn saying(bytes: Vec<u8>) -> (String, AbortOnDropHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let bytes = bytes.clone();
            tokio::spawn(async move {
                drop(socket.read(&mut [0; 16 * 1024]).await);
                drop(socket.write_all(&bytes).await);
            });
        }
    });
    (url, AbortOnDropHandle::new(serving))
}
