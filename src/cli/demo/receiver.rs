//! The demo shop's own side: a receiver of webhooks that checks their signatures as a shop should.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::domain::webhook::{Secret, sign};

/// More than any webhook of ours.
const BODY_MAX: usize = 256 * 1024;

/// One webhook as it arrived, its signature checked.
pub(super) struct Delivery {
    pub id: String,
    pub verified: bool,
    pub body: Bytes,
}

/// The shop's own side: takes webhooks, checks them as a shop should, answers 200.
pub(super) async fn receive(
    listener: TcpListener,
    secret: Secret,
    is_down: Arc<AtomicBool>,
    deliveries: mpsc::Sender<Delivery>,
) {
    let secret = Arc::new(secret);
    loop {
        let Ok((stream, _)) = listener.accept().await else { return };
        let (secret, is_down, deliveries) = (secret.clone(), is_down.clone(), deliveries.clone());
        tokio::spawn(async move {
            let answer = service_fn(move |request| {
                let (secret, is_down, deliveries) = (secret.clone(), is_down.clone(), deliveries.clone());
                async move {
                    if is_down.load(Ordering::Relaxed) {
                        let answer =
                            hyper::Response::new(Full::new(Bytes::from_static(b"the shop is closed")));
                        let (mut head, body) = answer.into_parts();
                        head.status = http::StatusCode::INTERNAL_SERVER_ERROR;
                        return Ok(hyper::Response::from_parts(head, body));
                    }
                    take_webhook(request, &secret, &deliveries).await
                }
            });
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), answer)
                .await;
        });
    }
}

async fn take_webhook(
    request: hyper::Request<Incoming>,
    secret: &Secret,
    deliveries: &mpsc::Sender<Delivery>,
) -> Result<hyper::Response<Full<Bytes>>, std::convert::Infallible> {
    let header =
        |name| request.headers().get(name).and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned();
    let (id, at, signature) =
        (header("webhook-id"), header("webhook-timestamp"), header("webhook-signature"));
    let mut answer = hyper::Response::new(Full::new(Bytes::new()));
    match Limited::new(request.into_body(), BODY_MAX).collect().await {
        Ok(body) => {
            let body = body.to_bytes();
            let expected = sign(std::slice::from_ref(secret), &id, at.parse().unwrap_or_default(), &body);
            let verified = signature.split(' ').any(|one| one == expected);
            let _ = deliveries.try_send(Delivery { id, verified, body });
        }
        Err(_) => *answer.status_mut() = http::StatusCode::BAD_REQUEST,
    }
    Ok(answer)
}
