//! `tillbell listen`: brings the webhooks of test mode to a program on this machine, which no webhook reaches.
//!
//! It follows `GET /events/stream` of a service, posts each delivery's bytes and headers to a local address, and prints a line
//! for each. A connection that is lost is made anew, after the last delivery that was had. No database is opened.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use bytes::Bytes;
use clap::Args;
use http::{HeaderName, HeaderValue};
use serde_json::Value;

use super::print::{Object, Printer};
use super::test_api::{api_of, own_address, test_key};
use crate::domain::event::EventKind;
use crate::domain::weburl::TargetUrl;
use crate::outbound::follow::Followed;
use crate::outbound::{Outbound, OutboundConfig};

/// How long the service may take to answer, and the program to take a delivery.
const WITHIN: Duration = Duration::from_secs(30);
/// A comment comes every 15 s: after three that did not, nobody is there any more.
const SILENT_MAX: Duration = Duration::from_secs(45);
/// Pauses before a connection is made anew.
const PAUSE_FIRST: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// Bytes of one event; a delivery's body has 64 KiB at most, and JSON may double it.
const EVENT_MAX: usize = 1024 * 1024;
/// Of an answer that refuses.
const TOLD_MAX: usize = 16 * 1024;

#[derive(Args)]
pub(super) struct ListenArgs {
    /// Address of the service, or of its API
    #[arg(long, value_name = "URL")]
    url: String,
    /// Test key of the business: tb_test_...
    #[arg(long, value_name = "KEY")]
    key: String,
    /// Where your program takes webhooks
    #[arg(long, value_name = "URL")]
    forward: String,
    /// Only these events, with commas between them
    #[arg(long, value_name = "EVENTS", value_delimiter = ',')]
    events: Vec<String>,
    /// Begin with what was told after the event with this id, instead of with what is told from now on
    #[arg(long, value_name = "ID")]
    after: Option<String>,
    /// End after so many deliveries
    #[arg(long, value_name = "NUMBER")]
    count: Option<u64>,
}

/// A delivery of the stream.
#[derive(Debug, PartialEq, Eq)]
struct Delivery {
    id: String,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: String,
    event: String,
    transaction_id: Option<String>,
}

/// Why a stream came to its end.
enum Ended {
    /// So many deliveries as were wanted.
    Enough,
    Lost(String),
}

struct Listener<'a> {
    outbound: Outbound,
    stream: String,
    key: HeaderValue,
    forward: TargetUrl,
    events: &'a [String],
    left: Option<u64>,
    last: Option<String>,
    printer: &'a Printer,
}

pub(super) async fn run(args: &ListenArgs, printer: &Printer) -> anyhow::Result<()> {
    for word in &args.events {
        if EventKind::parse(word).is_none() {
            let known: Vec<&str> = EventKind::ALL.iter().map(|kind| kind.as_str()).collect();
            bail!("--events: {word:?} is no event; use any of: {}", known.join(", "));
        }
    }
    let mut listener = Listener {
        outbound: Outbound::new(&OutboundConfig::anywhere(WITHIN))?,
        stream: format!("{}/events/stream", api_of(&args.url)),
        key: test_key(&args.key)?,
        forward: own_address(&args.forward, "--forward")?,
        events: &args.events,
        left: args.count,
        last: args.after.clone(),
        printer,
    };
    let mut pause = PAUSE_FIRST;
    loop {
        match listener.connect().await? {
            Ok(stream) => {
                pause = PAUSE_FIRST;
                match listener.follow(stream).await? {
                    Ended::Enough => return Ok(()),
                    Ended::Lost(why) => listener.tell(&format!("{why}; connecting again")),
                }
            }
            Err(why) => listener.tell(&format!("{why}; trying again in {} s", pause.as_secs())),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

impl Listener<'_> {
    /// Beside the deliveries, for people alone.
    fn tell(&self, what: &str) {
        if !self.printer.json {
            eprintln!("{what}");
        }
    }

    /// The stream; `Err` inside: not now, and why.
    async fn connect(&self) -> anyhow::Result<Result<Followed, String>> {
        let after = self.last.as_ref().map(|id| format!("?after={}", encoded(id))).unwrap_or_default();
        let target = own_address(&format!("{}{after}", self.stream), "--url")?;
        let headers = [(HeaderName::from_static("x-api-key"), self.key.clone())];
        let mut stream = match self.outbound.follow(&target, &headers).await {
            Ok(stream) => stream,
            Err(error) => return Ok(Err(format!("{}: {error}", self.stream))),
        };
        match stream.status {
            200 => Ok(Ok(stream)),
            429 | 500.. => Ok(Err(format!("{}: HTTP {}", self.stream, stream.status))),
            status => bail!("{}: HTTP {status}: {}", self.stream, refusal(&mut stream).await),
        }
    }

    async fn follow(&mut self, mut stream: Followed) -> anyhow::Result<Ended> {
        let (mut read, mut is_heard) = (Vec::new(), false);
        loop {
            let piece = match tokio::time::timeout(SILENT_MAX, stream.next()).await {
                Err(_) => return Ok(Ended::Lost("nothing came for 45 s".into())),
                Ok(None) => return Ok(Ended::Lost("the service ended the stream".into())),
                Ok(Some(Err(error))) => return Ok(Ended::Lost(format!("the connection was lost: {error}"))),
                Ok(Some(Ok(piece))) => piece,
            };
            read.extend_from_slice(&piece);
            while let Some(end) = read.windows(2).position(|two| two == b"\n\n") {
                let event: Vec<u8> = read.drain(..end + 2).collect();
                let delivery = delivery(&event)?;
                if delivery.is_none() {
                    // From where it began, until an event was had.
                    self.last = mark_in(&event).or(self.last.take());
                }
                if !std::mem::replace(&mut is_heard, true) {
                    self.tell(&format!("listening; deliveries go to {}", self.forward.as_str()));
                }
                let Some(delivery) = delivery else { continue };
                self.deliver(&delivery).await?;
                self.last = Some(delivery.id);
                if self.left == Some(0) {
                    return Ok(Ended::Enough);
                }
            }
            if read.len() > EVENT_MAX {
                bail!(
                    "{}: an event has more than {EVENT_MAX} bytes: is this tillbell's address?",
                    self.stream
                );
            }
        }
    }

    async fn deliver(&mut self, delivery: &Delivery) -> anyhow::Result<()> {
        if !self.events.is_empty() && !self.events.contains(&delivery.event) {
            return Ok(());
        }
        let begun = Instant::now();
        let body = Bytes::from(delivery.body.clone());
        let outcome = self.outbound.post(&self.forward, &delivery.headers, body).await;
        let took = i64::try_from(begun.elapsed().as_millis()).unwrap_or(i64::MAX);
        let error = outcome.error.as_ref().map(ToString::to_string);
        self.left = self.left.map(|left| left.saturating_sub(1));
        if self.printer.json {
            return self.printer.object(
                &Object::new()
                    .with("event", delivery.event.as_str())
                    .with("id", delivery.id.as_str())
                    .with("transaction_id", delivery.transaction_id.as_deref())
                    .with("status", outcome.status.map(i64::from))
                    .with("error", error.as_deref())
                    .with("ms", took),
            );
        }
        let answered = match (outcome.status, error) {
            (Some(status), None) => format!("HTTP {status}"),
            (Some(status), Some(error)) => format!("HTTP {status}, then {error}"),
            (None, error) => error.unwrap_or_else(|| "no answer".into()),
        };
        let about = delivery.transaction_id.as_deref().unwrap_or("-");
        let line = format!("{}  {about}  {answered} in {took} ms  {}", delivery.event, delivery.id);
        println!("{}", crate::terminal::harmless_line(&line));
        Ok(())
    }
}

/// The id that an event without data bears.
fn mark_in(event: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(event).ok()?;
    let id = text.lines().find_map(|line| line.strip_prefix("id: "))?;
    (!text.lines().any(|line| line.starts_with("data:"))).then(|| id.to_owned())
}

/// An id as it stands in a query, whatever somebody typed.
fn encoded(id: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    id.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// What the service says of a request that it refuses.
async fn refusal(stream: &mut Followed) -> String {
    let mut read = Vec::new();
    while let Ok(Some(Ok(piece))) = tokio::time::timeout(WITHIN, stream.next()).await {
        read.extend_from_slice(&piece);
        if read.len() > TOLD_MAX {
            break;
        }
    }
    let told: Option<Value> = serde_json::from_slice(&read).ok();
    let message = told.as_ref().and_then(|told| told["message"].as_str());
    message.unwrap_or("is this tillbell's address?").to_owned()
}

/// An event as the stream writes it; `None` for a comment, and for events of other kinds, which a later service may send.
fn delivery(event: &[u8]) -> anyhow::Result<Option<Delivery>> {
    let text = std::str::from_utf8(event).context("the stream is no text")?;
    let field = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim_start))
    };
    let (Some(id), Some("delivery"), Some(data)) = (field("id"), field("event"), field("data")) else {
        return Ok(None);
    };
    let data: Value = serde_json::from_str(data).context("a delivery that is no JSON")?;
    let body = data["body"].as_str().context("a delivery without a body")?.to_owned();
    let mut headers = Vec::new();
    for (name, value) in data["headers"].as_object().context("a delivery without headers")? {
        let value = value.as_str().unwrap_or_default();
        headers.push((HeaderName::try_from(name.as_str())?, HeaderValue::try_from(value)?));
    }
    let told: Value = serde_json::from_str(&body).context("a delivery whose body is no JSON")?;
    let text = |name: &str| told[name].as_str().map(str::to_owned);
    Ok(Some(Delivery {
        id: id.to_owned(),
        headers,
        event: text("event").unwrap_or_default(),
        transaction_id: text("transaction_id"),
        body,
    }))
}
