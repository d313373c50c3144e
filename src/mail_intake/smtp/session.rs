//! The dialogue with one client, from the greeting to QUIT.
//!
//! A mail is answered with 250 only after `mail_intake::ingest` has returned, so after it is committed; what
//! cannot be stored now is answered with 451, and the client keeps it. Whether a mail is readable or
//! genuine makes no difference to the answer: it is kept as what it is. Called by `listen` alone.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::command::{Command, Refusal, parse};
use super::entrance::Entrance;
use super::wire::{ContentWait, Line, Lost, Received, SmtpStream};
use crate::alert_reader::mime::MAX_MAIL_BYTES;
use crate::app::App;
use crate::config::{Smtp, SmtpProtocol};
use crate::log_limit::{Sort, warn_of};
use crate::mail_intake::ingest::{Arrival, MailIngestor, Origin, ingest};
use crate::slots::Peer;
use crate::terminal::harmless_line;
use crate::tls::Tls;

/// Recipients of one mail; RFC 5321 requires at least 100.
const RECIPIENTS_MAX: usize = 100;
/// Commands since the last mail that was taken, or since the beginning.
const COMMANDS_MAX: usize = 300;
/// Refused commands since the last mail that was taken: an MTA that keeps its connection must not be
/// turned away in the middle of a good mail for the bad recipients of others.
const ERRORS_MAX: usize = 20;
/// Characters of a refused recipient's domain in a log line.
const MASKED_DOMAIN_MAX: usize = 100;
/// Storing a mail takes milliseconds. A client that has waited this long is told to send the mail again: a copy
/// does no harm, and the work goes on.
const STORE_WAIT: Duration = Duration::from_secs(120);

const STOPPING: CloseReply = CloseReply::new("421 4.3.2 shutting down; try again later", "stopping");
const TOO_SLOW: CloseReply = CloseReply::new("421 4.4.2 timeout: nothing was received for too long", "slow");
const TOO_LONG: CloseReply =
    CloseReply::new("421 4.4.2 timeout: the connection was open for too long", "old");
const TOO_MANY: CloseReply = CloseReply::new("421 4.7.0 too many commands without a mail", "commands");
const TOO_WRONG: CloseReply = CloseReply::new("421 4.7.0 too many errors", "errors");
const WEB: CloseReply = CloseReply::new("421 4.7.0 this is not an HTTP server", "errors");
const BARE: CloseReply = CloseReply::new("550 5.5.2 a line must end with CR LF", "bare_newline");
const EAGER: CloseReply = CloseReply::new("554 5.5.0 data was sent before the 354 reply", "errors");
const QUIT: CloseReply = CloseReply::new("221 2.0.0 bye", "quit");
/// The handshake failed.
const NO_TLS: &str = "tls";
const TOO_LARGE: &str = "552 5.3.4 the mail is too large";
const NOT_NOW: &str = "451 4.3.0 the mail cannot be stored at the moment; try again later";

/// How long to wait for a client.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// For a whole command line. RFC 5321 recommends five minutes.
    pub command: Duration,
    /// For each next piece of a mail; RFC 5321 recommends three minutes.
    pub piece: Duration,
    /// For the whole of a mail.
    pub mail: Duration,
    /// For a command or a piece while most places are taken.
    pub crowded: Duration,
    /// A connection older than this ends before its next command. Longer than servers keep one open
    /// for further mails (Postfix: five minutes), because this end delays a mail.
    pub session: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            command: Duration::from_secs(300),
            piece: Duration::from_secs(180),
            mail: Duration::from_secs(600),
            crowded: Duration::from_secs(10),
            session: Duration::from_secs(1_200),
        }
    }
}

/// What all dialogues share.
pub(super) struct ServerContext {
    pub app: Arc<App>,
    pub ingestor: MailIngestor,
    pub smtp: Smtp,
    pub tls: Option<Arc<Tls>>,
    pub timeouts: Timeouts,
    pub entrance: Entrance,
    /// Mails being read and stored at once; each may need several times its size in memory.
    pub ingest_permits: Arc<Semaphore>,
    pub stop: CancellationToken,
}

/// The last answer of a connection (empty: it was sent already), and the name of this kind of end for the
/// metrics.
#[derive(Clone, Copy, Debug)]
struct CloseReply {
    text: &'static str,
    end: &'static str,
}

impl CloseReply {
    const fn new(text: &'static str, end: &'static str) -> CloseReply {
        CloseReply { text, end }
    }
}

/// What follows a command.
enum Next {
    Go,
    End(CloseReply),
    /// The client asked for TLS and was told to begin.
    Secure,
}

pub(super) struct Session {
    context: Arc<ServerContext>,
    peer: Peer,
    opened: Instant,
    is_greeted: bool,
    is_secure: bool,
    /// A MAIL FROM was taken; how many recipients followed.
    envelope: Option<usize>,
    commands: usize,
    errors: usize,
}

impl Session {
    pub fn new(context: Arc<ServerContext>, peer: Peer) -> Session {
        Session {
            context,
            peer,
            opened: Instant::now(),
            is_greeted: false,
            is_secure: false,
            envelope: None,
            commands: 0,
            errors: 0,
        }
    }

    /// Runs until one side ends it; returns the name of the end.
    pub async fn run(mut self, mut wire: SmtpStream) -> &'static str {
        let smtp = &self.context.smtp;
        let greeting = match smtp.protocol {
            SmtpProtocol::Smtp => format!("220 {} ESMTP tillbell", smtp.hostname),
            SmtpProtocol::Lmtp => format!("220 {} LMTP tillbell", smtp.hostname),
        };
        let mut talked = match wire.say(&[greeting]).await {
            Ok(()) => self.talk(&mut wire).await,
            Err(lost) => Err(lost),
        };
        while let (Ok(Next::Secure), Some(tls)) = (&talked, &self.context.tls) {
            let Some(secured) = wire.secure(tls).await else { return NO_TLS };
            wire = secured;
            // What was sent before TLS does not count (RFC 3207).
            (self.is_secure, self.is_greeted, self.envelope) = (true, false, None);
            talked = self.talk(&mut wire).await;
        }
        let farewell = match talked {
            Ok(Next::End(farewell)) => farewell,
            Err(Lost::Late) => TOO_SLOW,
            Ok(Next::Go | Next::Secure) | Err(Lost::Gone) => return "gone",
        };
        if farewell.text.is_empty() || wire.say(&[farewell.text]).await.is_ok() {
            wire.close().await;
        }
        farewell.end
    }

    async fn talk(&mut self, wire: &mut SmtpStream) -> Result<Next, Lost> {
        loop {
            if self.opened.elapsed() > self.context.timeouts.session {
                return Ok(Next::End(TOO_LONG));
            }
            let deadline = Instant::now() + self.wait(self.context.timeouts.command);
            let line = tokio::select! {
                biased;
                () = self.context.stop.cancelled() => return Ok(Next::End(STOPPING)),
                line = wire.line(deadline) => line?,
            };
            self.commands += 1;
            if self.commands > COMMANDS_MAX {
                return Ok(Next::End(TOO_MANY));
            }
            let parsed = match line {
                Line::Text(text) => parse(&text, self.context.smtp.protocol),
                Line::TooLong => Err(Refusal::Answer("500 5.5.2 the line is too long")),
                Line::BareNewline => return Ok(Next::End(BARE)),
            };
            let next = match parsed {
                Ok(command) => self.obey(command, wire).await?,
                Err(Refusal::Web) => Next::End(WEB),
                Err(Refusal::Answer(text)) => self.refuse(wire, text).await?,
            };
            match next {
                Next::Go if self.errors >= ERRORS_MAX => return Ok(Next::End(TOO_WRONG)),
                Next::Go => {}
                other => return Ok(other),
            }
        }
    }

    /// Less when many others wait for the place.
    fn wait(&self, usual: Duration) -> Duration {
        if self.context.entrance.is_crowded() { usual.min(self.context.timeouts.crowded) } else { usual }
    }

    async fn obey(&mut self, command: Command, wire: &mut SmtpStream) -> Result<Next, Lost> {
        let answer: Cow<'static, str> = match command {
            Command::Hello => return self.hello(wire).await,
            Command::Helo => {
                (self.is_greeted, self.envelope) = (true, None);
                format!("250 {}", self.context.smtp.hostname).into()
            }
            Command::Mail { size } => match self.mail(size) {
                Ok(answer) => answer.into(),
                Err(answer) => return self.refuse(wire, answer).await,
            },
            Command::Rcpt { address } => match self.recipient(&address) {
                Ok(answer) => answer.into(),
                Err(answer) => return self.refuse(wire, answer).await,
            },
            Command::Data => return self.data(wire).await,
            Command::Reset => {
                self.envelope = None;
                "250 2.0.0 reset".into()
            }
            Command::Noop => "250 2.0.0 OK".into(),
            Command::Verify => "252 2.1.5 cannot verify the address; send the mail".into(),
            Command::Help => "214 2.0.0 this server accepts bank alert mails".into(),
            Command::StartTls => return self.start_tls(wire).await,
            Command::Quit => return Ok(Next::End(QUIT)),
        };
        wire.say(&[answer]).await?;
        Ok(Next::Go)
    }

    /// Answers a command with a refusal, which counts.
    async fn refuse(&mut self, wire: &mut SmtpStream, answer: &str) -> Result<Next, Lost> {
        self.errors += 1;
        wire.say(&[answer]).await?;
        Ok(Next::Go)
    }

    async fn hello(&mut self, wire: &mut SmtpStream) -> Result<Next, Lost> {
        (self.is_greeted, self.envelope) = (true, None);
        let mut offers = vec![
            self.context.smtp.hostname.clone(),
            "PIPELINING".to_owned(),
            format!("SIZE {MAX_MAIL_BYTES}"),
            "8BITMIME".to_owned(),
            "ENHANCEDSTATUSCODES".to_owned(),
        ];
        if self.context.tls.is_some() && !self.is_secure {
            offers.push("STARTTLS".to_owned());
        }
        let last = offers.len() - 1;
        let lines: Vec<String> = offers
            .iter()
            .enumerate()
            .map(|(at, offer)| format!("250{}{offer}", if at == last { ' ' } else { '-' }))
            .collect();
        wire.say(&lines).await?;
        Ok(Next::Go)
    }

    fn mail(&mut self, size: Option<usize>) -> Result<&'static str, &'static str> {
        if !self.is_greeted {
            return Err("503 5.5.1 send a greeting first");
        }
        if self.envelope.is_some() {
            return Err("503 5.5.1 MAIL FROM was already sent");
        }
        if size.is_some_and(|size| size > MAX_MAIL_BYTES) {
            metrics::counter!("tillbell_smtp_mails_total", "answer" => "552").increment(1);
            return Err(TOO_LARGE);
        }
        self.envelope = Some(0);
        Ok("250 2.1.0 sender OK")
    }

    fn recipient(&mut self, address: &str) -> Result<&'static str, &'static str> {
        let recipients = &self.context.app.config.mail.recipients;
        let Some(count) = &mut self.envelope else { return Err("503 5.5.1 send MAIL FROM first") };
        if *count >= RECIPIENTS_MAX {
            return Err("452 4.5.3 too many recipients; send the mail to the others separately");
        }
        let is_ours =
            recipients.is_empty() || recipients.iter().any(|ours| ours.eq_ignore_ascii_case(address));
        if address.is_empty() || !is_ours {
            metrics::counter!("tillbell_smtp_mails_total", "answer" => "550").increment(1);
            let app = &self.context.app;
            let sort = Sort { what: "refused recipients", whose: 0 };
            if let Some(left_out) = app.log_limit.admit(sort, app.now()) {
                tracing::warn!(
                    from = self.source(),
                    recipient = masked(address),
                    left_out = (left_out > 0).then_some(left_out),
                    "a recipient was refused: it is not in mail.recipients"
                );
            }
            return Err("550 5.1.1 no such recipient here");
        }
        *count += 1;
        Ok("250 2.1.5 recipient OK")
    }

    async fn start_tls(&mut self, wire: &mut SmtpStream) -> Result<Next, Lost> {
        if self.is_secure {
            return self.refuse(wire, "503 5.5.1 TLS is already active").await;
        }
        if self.context.tls.is_none() {
            return self.refuse(wire, "502 5.5.1 STARTTLS is not available: there is no certificate").await;
        }
        wire.say(&["220 2.0.0 ready to start TLS"]).await?;
        Ok(Next::Secure)
    }

    async fn data(&mut self, wire: &mut SmtpStream) -> Result<Next, Lost> {
        let recipients = match self.envelope {
            None => return self.refuse(wire, "503 5.5.1 send MAIL FROM first").await,
            Some(0) => return self.refuse(wire, "503 5.5.1 send RCPT TO first").await,
            Some(count) => count,
        };
        if wire.has_more() {
            // Behind a refused DATA it would have been taken for commands.
            return Ok(Next::End(EAGER));
        }
        wire.say(&["354 send the mail, then a line with only a dot"]).await?;
        self.envelope = None;
        let timeouts = self.context.timeouts;
        let wait = ContentWait { step: self.wait(timeouts.piece), whole: timeouts.mail };
        let (answer, next): (Cow<'static, str>, Next) = match wire.content(MAX_MAIL_BYTES, wait).await? {
            Received::Mail(raw) => (self.store(raw).await, Next::Go),
            Received::TooLarge => (TOO_LARGE.into(), Next::Go),
            Received::TooMuch => (TOO_LARGE.into(), Next::End(CloseReply::new("", "size"))),
            Received::BareNewline => (
                "554 5.6.0 the mail has a bare CR or LF; lines must end with CR LF".into(),
                Next::End(CloseReply::new("", "bare_newline")),
            ),
        };
        let code = answer.get(..3).unwrap_or_default().to_owned();
        tracing::info!(from = self.source(), answer = &*answer, "smtp mail");
        metrics::counter!("tillbell_smtp_mails_total", "answer" => code).increment(1);
        if answer.starts_with('2') {
            (self.commands, self.errors) = (0, 0);
        } else {
            self.errors += 1;
        }
        // LMTP has an answer for each recipient; the mail was taken once.
        let answers = match self.context.smtp.protocol {
            SmtpProtocol::Smtp => 1,
            SmtpProtocol::Lmtp => recipients,
        };
        wire.say(&vec![answer; answers]).await?;
        Ok(next)
    }

    /// Has the mail stored and decided; the answer.
    async fn store(&self, raw: Vec<u8>) -> Cow<'static, str> {
        let arrival = Arrival {
            raw,
            source: self.source(),
            origin: Origin::Smtp { from_loopback: self.peer.is_loopback() },
            in_mailbox: None,
        };
        let context = self.context.clone();
        // In a task of its own, so that the client gets an answer even after a panic.
        let work = tokio::spawn(async move {
            let Ok(_permit) = context.ingest_permits.acquire().await else { return None };
            Some(ingest(&context.app, &context.ingestor, arrival).await)
        });
        match timeout(STORE_WAIT, work).await {
            Ok(Ok(Some(Ok(ingested)))) => {
                crate::crash::point("smtp.before_answer");
                return format!("250 2.0.0 kept as alert {}", ingested.outcome.alert_id).into();
            }
            Ok(Ok(Some(Err(error)))) => {
                warn_of!(self.context.app, &error, "a mail could not be stored; its sender will retry");
            }
            Ok(Ok(None) | Err(_)) => tracing::error!("a mail could not be processed; its sender will retry"),
            Err(_) => tracing::warn!("storing a mail took too long; its sender will retry"),
        }
        NOT_NOW.into()
    }

    /// Where the mail came from, for people.
    fn source(&self) -> String {
        let protocol = match self.context.smtp.protocol {
            SmtpProtocol::Smtp => "smtp",
            SmtpProtocol::Lmtp => "lmtp",
        };
        match self.peer {
            Peer::Network(ip) => format!("{protocol} {ip}"),
            Peer::Local => format!("{protocol} socket"),
        }
    }
}

/// An address with only the first character of its local part; the domain says which setting is meant.
fn masked(address: &str) -> String {
    let (local, domain) = address.rsplit_once('@').unwrap_or((address, ""));
    let first = local.chars().next().map(String::from).unwrap_or_default();
    let domain: String = domain.chars().take(MASKED_DOMAIN_MAX).collect();
    harmless_line(&format!("{first}***@{domain}"))
}
