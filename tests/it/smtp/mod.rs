//! Mails handed in over SMTP and LMTP: a listener on a free port, a client that speaks by hand, and
//! real programs that send mail.
//!
//! What a mail is worth is tested elsewhere; here it matters that it is taken, refused or left with
//! its sender, and that nothing is acknowledged that is not kept.

mod dialogue;
mod hostile;
mod keeping;
mod programs;
mod under_way;

use std::net::SocketAddr;
use std::time::Duration;

use tillbell::config::SmtpAddress;
use tillbell::domain::alert::AlertRow;
use tillbell::mail_intake::ingest::MailIngestor;
use tillbell::mail_intake::smtp::{Receiver, Timeouts};
use tillbell::store::engine::sql::{Sql, Text};
use tillbell::tls::Tls;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::harness::app::TestApp;
use crate::harness::databases::{Engine, TestDatabase, run_on};

/// An answer, or an end, that has not come by then does not come.
const DEADLINE: Duration = Duration::from_secs(60);
/// Between two looks for what may or may not have come.
const MOMENT: Duration = Duration::from_millis(20);
pub const DEV: &str = "[server]\ndev = true\n";
/// A listener whose mails must be for one address.
pub const SMTP: &str = "[mail]\nrecipients = [\"alerts@till.example\"]\n\
                        [mail.smtp]\nlisten = \"127.0.0.1:0\"\n";

static RAW: Sql = Sql::new("RAW", Text::Plain("select raw from mails where alert_id = $1"));

/// Where the database does not matter, one is enough.
fn on_sqlite<F: Future<Output = ()>>(test: fn(TestDatabase) -> F) {
    run_on(Engine::Sqlite, test);
}

/// A world with a listener.
pub struct House {
    pub t: TestApp,
    pub address: SmtpAddress,
    pub stop: CancellationToken,
    pub running: JoinHandle<()>,
}

impl House {
    pub async fn open(db: TestDatabase, settings: &str) -> House {
        House::patient(db, settings, Timeouts::default()).await
    }

    pub async fn patient(db: TestDatabase, settings: &str, timeouts: Timeouts) -> House {
        let t = TestApp::start_with(db, settings).await;
        let room = MailIngestor::new(&t.app.config, t.banks.clone());
        let smtp = t.app.config.mail.smtp.clone().expect("the settings name a listener");
        let tls = smtp.tls.as_ref().map(|files| Tls::load(files, &[]).unwrap().into());
        let stop = CancellationToken::new();
        let receiver = Receiver::bind(t.app.clone(), room, &smtp, tls, timeouts, stop.clone()).await.unwrap();
        let address = receiver.address().clone();
        House { t, address, stop, running: tokio::spawn(receiver.run()) }
    }

    pub fn tcp(&self) -> SocketAddr {
        match &self.address {
            SmtpAddress::Tcp(address) => *address,
            SmtpAddress::Unix(path) => panic!("{path:?} is no port"),
        }
    }

    /// A client that has read the greeting.
    pub async fn client(&self) -> Client {
        let mut client = Client::over(TcpStream::connect(self.tcp()).await.unwrap());
        client.expect("220").await;
        client
    }

    /// A client that has greeted.
    pub async fn greeted(&self) -> Client {
        let mut client = self.client().await;
        client.say("EHLO mx.sender.example").await;
        client
    }

    /// All alerts, oldest first.
    pub async fn alerts(&self) -> Vec<AlertRow> {
        let mut all = self.t.app.store.list_alerts(None, 1_000).await.unwrap();
        all.sort_by_key(|alert| alert.id);
        all
    }

    /// The mail of an alert as it is kept.
    pub async fn raw(&self, alert_id: i64) -> Vec<u8> {
        let row = self.t.app.store.read_one(&RAW, vec![alert_id.into()]).await.unwrap().expect("a mail");
        row.reader("mails").bytes("raw").unwrap()
    }
}

pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// Speaks byte by byte what a test says.
pub struct Client {
    io: Box<dyn Stream>,
    inbox: Vec<u8>,
}

impl Client {
    pub fn over(io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> Client {
        Client { io: Box::new(io), inbox: Vec::new() }
    }

    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.io.write_all(bytes.as_ref()).await.unwrap();
        self.io.flush().await.unwrap();
    }

    /// The same where the other side may have hung up.
    pub async fn try_send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.io.write_all(bytes).await?;
        self.io.flush().await
    }

    /// Whether an answer, or the end, has come within a moment.
    pub async fn has_answer(&mut self) -> bool {
        timeout(MOMENT, self.io.read_buf(&mut self.inbox)).await.is_ok()
    }

    /// The next answer with all its lines; `None` when the connection ended instead.
    pub async fn answer(&mut self) -> Option<String> {
        let mut lines = String::new();
        loop {
            if let Some(end) = self.inbox.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.inbox.drain(..=end).collect();
                let line = String::from_utf8(line).unwrap();
                assert!(line.ends_with("\r\n"), "{line:?}");
                lines.push_str(&line);
                if line.as_bytes()[3] == b' ' {
                    return Some(lines);
                }
                continue;
            }
            let read =
                timeout(DEADLINE, self.io.read_buf(&mut self.inbox)).await.expect("an answer or an end");
            if !matches!(read, Ok(1..)) {
                assert!(
                    self.inbox.is_empty() && lines.is_empty(),
                    "the end of an answer is missing: {lines}"
                );
                return None;
            }
        }
    }

    #[track_caller]
    pub fn expect(&mut self, code: &str) -> impl Future<Output = String> {
        let place = std::panic::Location::caller();
        async move {
            let answer = self.answer().await.unwrap_or_else(|| panic!("{place}: closed, not {code}"));
            assert!(answer.starts_with(code), "{place}: {answer:?} is not {code}");
            answer
        }
    }

    /// Sends one line and answers the answer.
    pub async fn say(&mut self, line: &str) -> String {
        self.send(format!("{line}\r\n")).await;
        self.answer().await.unwrap_or_else(|| panic!("closed after {line:?}"))
    }

    #[track_caller]
    pub fn gets(&mut self, line: &str, code: &str) -> impl Future<Output = String> {
        let place = std::panic::Location::caller();
        async move {
            let answer = self.say(line).await;
            assert!(answer.starts_with(code), "{place}: {line:?} got {answer:?}, not {code}");
            answer
        }
    }

    /// Up to the 354 of DATA.
    pub async fn begin(&mut self) {
        self.gets("MAIL FROM:<gens@bank.example>", "250").await;
        self.gets("RCPT TO:<alerts@till.example>", "250").await;
        self.gets("DATA", "354").await;
    }

    /// Hands in a whole mail, given with its last CRLF and without a dot that needs stuffing.
    pub async fn hand_in(&mut self, mail: &str) -> String {
        self.begin().await;
        self.send(format!("{mail}.\r\n")).await;
        self.answer().await.expect("an answer to the mail")
    }

    /// Nothing more comes.
    pub async fn is_closed(&mut self) {
        let answer = self.answer().await;
        assert_eq!(answer, None);
    }

    /// What is below, for a handshake.
    pub fn into_inner(self) -> Box<dyn Stream> {
        self.io
    }
}
