//! A real HTTP server that plays the merchant's webhook receiver.
//!
//! Listens on a free port of 127.0.0.1, records every complete request with its raw body
//! before it answers, and answers 200 unless it was told otherwise. Tests wait for a
//! number of requests with a deadline. It judges nothing: whether a signature is right is
//! for the test to say.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, Method};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::document::check_webhook;

/// A webhook is some kilobytes; anything near this is a bug of the sender.
const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;
/// Requests kept; a sender gone wild fails the test instead of eating the memory.
const MAX_REQUESTS: usize = 200_000;

/// Events held to the API's document; floods are of one kind.
const CHECKED_MAX: usize = 100;

/// One request as it came.
#[derive(Clone, Debug)]
pub struct Received {
    pub method: Method,
    /// Path and query.
    pub target: String,
    pub headers: HeaderMap,
    /// The bytes that were signed.
    pub body: Bytes,
    /// When it was complete.
    pub at: Instant,
}

impl Received {
    /// The header's value, or a panic that lists what there is.
    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name).unwrap_or_else(|| panic!("no {name} in {:?}", self.headers));
        value.to_str().expect("a header of plain text")
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }
}

/// What the receiver answers.
#[derive(Clone, Debug)]
pub struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Bytes,
    delay: Duration,
}

impl Answer {
    pub fn status(status: u16) -> Answer {
        Answer { status, headers: Vec::new(), body: Bytes::new(), delay: Duration::ZERO }
    }

    pub fn header(mut self, name: &str, value: &str) -> Answer {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn body(mut self, body: impl Into<Bytes>) -> Answer {
        self.body = body.into();
        self
    }

    /// Waits this long between the request's end and the answer's begin.
    pub fn after(mut self, delay: Duration) -> Answer {
        self.delay = delay;
        self
    }
}

/// A running receiver; dropped, it closes its port. Connections that are open then end with the
/// test's runtime; to break those as well, put a `Proxy` in front.
pub struct Receiver {
    address: SocketAddr,
    book: Arc<Book>,
    _serving: AbortOnDropHandle<()>,
}

struct Book {
    received: Mutex<Vec<Received>>,
    count: watch::Sender<usize>,
    answers: Mutex<Answers>,
}

struct Answers {
    next: VecDeque<Answer>,
    otherwise: Answer,
}

impl Receiver {
    pub async fn start() -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind a free port");
        let address = listener.local_addr().expect("own address");
        let answers = Answers { next: VecDeque::new(), otherwise: Answer::status(200) };
        let book = Arc::new(Book {
            received: Mutex::default(),
            count: watch::Sender::new(0),
            answers: Mutex::new(answers),
        });
        let routes = axum::Router::new().fallback(take).with_state(book.clone());
        let serving = tokio::spawn(async move { drop(axum::serve(listener, routes).await) });
        Receiver { address, book, _serving: AbortOnDropHandle::new(serving) }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:PORT` with this path (which begins with a slash).
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The next request that has no answer yet gets this one; several queue up in order.
    pub fn answer_next(&self, answer: Answer) {
        self.book.answers.lock().expect("answers").next.push_back(answer);
    }

    /// Every request without a queued answer gets this one, from now on.
    pub fn answer_otherwise(&self, answer: Answer) {
        self.book.answers.lock().expect("answers").otherwise = answer;
    }

    /// All requests so far, in the order in which they were complete. Events are as the API's document says.
    pub fn received(&self) -> Vec<Received> {
        let received = self.book.received.lock().expect("requests").clone();
        let signed = received.iter().filter(|one| one.headers.contains_key("webhook-signature"));
        for event in signed.take(CHECKED_MAX) {
            check_webhook(&event.body);
        }
        received
    }

    /// Waits until there were at least `count` requests since the start and returns them all;
    /// panics at the deadline, saying what came.
    pub async fn wait_for(&self, count: usize, deadline: Duration) -> Vec<Received> {
        let mut seen = self.book.count.subscribe();
        let came = tokio::time::timeout(deadline, seen.wait_for(|seen| *seen >= count)).await.is_ok();
        let received = self.received();
        if !came {
            let list: Vec<String> =
                received.iter().map(|one| format!("{} {}", one.method, one.target)).collect();
            panic!("{} of {count} requests came within {deadline:?}: {list:?}", received.len());
        }
        received
    }
}

async fn take(State(book): State<Arc<Book>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    // A body that breaks off is no request; nothing is recorded and no answer is used up.
    let Ok(body) = to_bytes(body, MAX_BODY_BYTES).await else { return plain(400) };
    // The answer is chosen together with the recording: request n gets answer n.
    let answer = {
        let mut received = book.received.lock().expect("requests");
        assert!(received.len() < MAX_REQUESTS, "more than {MAX_REQUESTS} requests");
        let target = parts.uri.path_and_query().map_or_else(String::new, |target| target.to_string());
        let at = Instant::now();
        received.push(Received { method: parts.method, target, headers: parts.headers, body, at });
        book.count.send_replace(received.len());
        let mut answers = book.answers.lock().expect("answers");
        answers.next.pop_front().unwrap_or_else(|| answers.otherwise.clone())
    };
    tokio::time::sleep(answer.delay).await;
    let mut response = Response::builder().status(answer.status);
    for (name, value) in &answer.headers {
        response = response.header(name, value);
    }
    response.body(Body::from(answer.body)).unwrap_or_else(|_| plain(500))
}

fn plain(status: u16) -> Response {
    let mut response = Response::default();
    *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or_default();
    response
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};
    use tillbell::domain::address::AddressPolicy;
    use tillbell::domain::weburl::parse_operator_url;
    use tillbell::outbound::{Outbound, OutboundConfig, PostOutcome};

    use super::*;

    const DEADLINE: Duration = Duration::from_secs(10);

    fn client() -> Outbound {
        let policy = AddressPolicy { allow_loopback: true, ..AddressPolicy::default() };
        Outbound::new(&OutboundConfig { timeout: DEADLINE, policy, extra_roots_pem: Vec::new() }).unwrap()
    }

    async fn post(client: &Outbound, url: &str, id: &'static str, body: &'static str) -> PostOutcome {
        let headers = [(HeaderName::from_static("webhook-id"), HeaderValue::from_static(id))];
        client.post(&parse_operator_url(url).unwrap(), &headers, body.into()).await
    }

    #[tokio::test]
    async fn records_method_target_headers_and_raw_body() {
        let receiver = Receiver::start().await;
        let url = receiver.url("/hook/7?shop=ada");
        let sent = post(&client(), &url, "msg_1", "{ \"amount\":  5000.00 }\n").await;
        assert_eq!(sent.answered(), Some(200));
        let all = receiver.wait_for(1, DEADLINE).await;
        assert_eq!(all.len(), 1);
        assert_eq!((&all[0].method, all[0].target.as_str()), (&Method::POST, "/hook/7?shop=ada"));
        assert_eq!(all[0].header("webhook-id"), "msg_1");
        assert_eq!(&all[0].body[..], b"{ \"amount\":  5000.00 }\n");
        assert_eq!(all[0].json()["amount"], 5000.0);
    }

    #[tokio::test]
    async fn gives_the_queued_answers_in_order_and_then_the_standing_one() {
        let receiver = Receiver::start().await;
        receiver.answer_next(Answer::status(503).header("retry-after", "120").body("busy"));
        receiver.answer_next(Answer::status(302).header("location", "http://127.0.0.1:1/"));
        let client = client();
        let url = receiver.url("/");
        let post = || post(&client, &url, "msg_2", "");
        let first = post().await;
        assert_eq!((first.answered(), first.retry_after.as_deref()), (Some(503), Some("120")));
        assert_eq!(first.body_excerpt, "busy");
        assert_eq!(post().await.answered(), Some(302));
        assert_eq!(post().await.answered(), Some(200));
        receiver.answer_otherwise(Answer::status(410));
        assert_eq!(post().await.answered(), Some(410));
        assert_eq!(post().await.answered(), Some(410));
        assert_eq!(receiver.received().len(), 5);
    }

    #[tokio::test]
    async fn a_delayed_answer_is_late_and_its_request_is_recorded_before() {
        let receiver = Receiver::start().await;
        receiver.answer_next(Answer::status(200).after(Duration::from_millis(200)));
        let began = Instant::now();
        let url = receiver.url("/slow");
        let sending = tokio::spawn(async move { post(&client(), &url, "msg_3", "x").await });
        let recorded = receiver.wait_for(1, DEADLINE).await.remove(0);
        assert_eq!(sending.await.unwrap().answered(), Some(200));
        assert!(began.elapsed() >= Duration::from_millis(200), "{:?}", began.elapsed());
        assert!(recorded.at < Instant::now() - Duration::from_millis(150), "recorded only with the answer");
    }

    #[tokio::test]
    async fn a_request_that_breaks_off_is_not_recorded_and_uses_no_answer() {
        let receiver = Receiver::start().await;
        receiver.answer_next(Answer::status(202));
        let mut broken = tokio::net::TcpStream::connect(receiver.address()).await.unwrap();
        let half = b"POST /half HTTP/1.1\r\nhost: shop\r\ncontent-length: 10\r\n\r\n12345";
        tokio::io::AsyncWriteExt::write_all(&mut broken, half).await.unwrap();
        drop(broken);
        let whole = post(&client(), &receiver.url("/whole"), "msg_4", "x").await;
        assert_eq!(whole.answered(), Some(202));
        let targets: Vec<String> = receiver.received().into_iter().map(|one| one.target).collect();
        assert_eq!(targets, ["/whole"]);
    }

    #[tokio::test]
    #[should_panic(expected = "1 of 2 requests came")]
    async fn waiting_for_too_many_panics_at_the_deadline() {
        let receiver = Receiver::start().await;
        post(&client(), &receiver.url("/only"), "msg_5", "x").await;
        receiver.wait_for(2, Duration::from_millis(50)).await;
    }
}
