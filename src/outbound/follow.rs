//! An answer that goes on, such as server-sent events: asked for under the rules of every other request (`client`), and read
//! piece by piece. Used by `tillbell listen`.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};

use super::causes::{self, Part};
use super::client::{Call, handshake, request};
use super::pool::Conn;
use super::{Outbound, PostError};
use crate::domain::weburl::TargetUrl;

/// An answer whose head is there; dropping it closes the connection.
pub struct Followed {
    pub status: u16,
    body: Incoming,
    conn: Conn,
}

impl Outbound {
    /// Asks for what is at `url`; its head must come before the client's deadline.
    pub async fn follow(
        &self,
        url: &TargetUrl,
        headers: &[(HeaderName, HeaderValue)],
    ) -> Result<Followed, PostError> {
        let deadline = Instant::now() + self.shared.timeout;
        let begun = async {
            let call = Call { method: Method::GET, url, headers, body: Bytes::new() };
            let mut conn = handshake(self.shared.connector.open(url, deadline).await?).await?;
            let sent = conn.sender.send_request(request(&call)?).await;
            let answer = sent.map_err(|error| causes::exchange(&error, Part::Head))?;
            Ok(Followed { status: answer.status().as_u16(), body: answer.into_body(), conn })
        };
        timeout_at(deadline, begun).await.unwrap_or(Err(PostError::Timeout))
    }
}

impl Followed {
    /// The next piece; `None` at the end. Waits for as long as it takes.
    pub async fn next(&mut self) -> Option<Result<Bytes, PostError>> {
        loop {
            // Of an answer without an end each piece may be as long as another's whole answer.
            self.conn.allowance.renew();
            match self.body.frame().await? {
                Ok(frame) => {
                    if let Ok(data) = frame.into_data() {
                        return Some(Ok(data));
                    }
                }
                Err(error) => return Some(Err(causes::exchange(&error, Part::Body))),
            }
        }
    }
}
