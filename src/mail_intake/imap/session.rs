//! One login at an IMAP server: the few commands that reading a folder needs.
//!
//! The folder is opened with EXAMINE and mails are fetched with BODY.PEEK, so the server changes
//! nothing, \Seen included. Every command has a deadline, in addition to that of every read. After any
//! error but [`Trouble::Refused`] the session is in an unknown state and must be dropped.
//! Knows nothing of cursors and alerts. Used by `reader` and its parts.

use std::time::Duration;

use secrecy::ExposeSecret;
use tokio::time::Instant;
use zeroize::Zeroizing;

use super::response::{Condition, Response, code_number, fetched, parse, search_day};
use super::wire::{ImapStream, Limits};
use super::{Timings, Trouble, connect};
use crate::config::{ImapSecret, ImapServer, ImapTls};
use crate::domain::time::Timestamp;

/// Bytes of a line other than a list of UIDs; capabilities are the longest.
const LINE_MAX: usize = 64 * 1024;
/// UIDs that one SEARCH may span, so that its response always fits into [`SEARCH_LINE_MAX`].
pub const SEARCH_SPAN: u32 = 250_000;
const SEARCH_LINE_MAX: usize = 4 * 1024 * 1024;
/// Responses to one command. A server that sends more is cut off.
const RESPONSES_MAX: usize = 100_000;
/// Bytes of a literal that was not asked for: a server may quote a text like this.
const SMALL_LITERAL: usize = 16 * 1024;
/// Bytes that are fetched of a mail over the limit.
pub const BEGINNING: usize = 64 * 1024;

const SMALL: Limits = Limits { line: LINE_MAX, literal: SMALL_LITERAL };

/// A folder as the server describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Examined {
    pub uidvalidity: u32,
    /// The UID that the next mail gets; old servers do not tell it.
    pub uidnext: Option<u32>,
    /// The highest UID in use, or above it.
    pub top: u32,
}

/// What is asked about a mail before its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MailSummary {
    pub uid: u32,
    pub size: u64,
    /// 1970 if the server told no time that can be read.
    pub arrived_at: Timestamp,
}

pub struct Session {
    wire: ImapStream,
    tags: u64,
    capabilities: Vec<String>,
    /// Mails in the folder, as last told.
    exists: u64,
    /// The server told of more mails since the last search.
    news: bool,
    /// Whole commands may take this long.
    patience: Duration,
}

impl Session {
    /// Connects and logs in.
    pub async fn open(server: &ImapServer, timings: &Timings) -> Result<Session, Trouble> {
        let stream = connect::tcp(server, timings).await?;
        let mut stream: Box<dyn super::wire::Stream> = Box::new(stream);
        if server.tls == ImapTls::Tls {
            stream = connect::encrypt(stream, server, timings).await?;
        }
        let wire = ImapStream::new(stream, timings.silence);
        let mut session = Session {
            wire,
            tags: 0,
            capabilities: Vec::new(),
            exists: 0,
            news: false,
            patience: timings.command,
        };
        let is_known = session.greeting().await?;
        if server.tls == ImapTls::StartTls {
            if is_known {
                // Nothing that came before encryption may count, least of all a login.
                return Err(Trouble::Protocol("the server logged us in before STARTTLS".into()));
            }
            session.command("STARTTLS", SMALL, |_| Ok(())).await?;
            let stream = connect::encrypt(session.wire.into_stream()?, server, timings).await?;
            session.wire = ImapStream::new(stream, timings.silence);
        }
        if !is_known {
            session.ask_capabilities().await?;
            session.log_in(server).await?;
        }
        session.ask_capabilities().await?;
        Ok(session)
    }

    /// Whether the server treats us as logged in already.
    async fn greeting(&mut self) -> Result<bool, Trouble> {
        let bytes = self.wire.response(SMALL).await?;
        match parse(&bytes).map_err(Trouble::Protocol)? {
            Response::Status { condition: Condition::Ok, .. } => Ok(false),
            Response::Status { condition: Condition::PreAuth, .. } => Ok(true),
            Response::Status { condition: Condition::Bye, text } => Err(Trouble::Bye(text)),
            _ => Err(Trouble::Protocol(format!(
                "an unexpected greeting: {}",
                super::response::excerpt(&bytes)
            ))),
        }
    }

    async fn ask_capabilities(&mut self) -> Result<(), Trouble> {
        let mut found = Vec::new();
        self.command("CAPABILITY", SMALL, |response| {
            if let Response::Data { word, rest } = response
                && word == "CAPABILITY"
            {
                found = rest.iter().filter_map(|t| t.atom().map(str::to_ascii_uppercase)).collect();
            }
            Ok(())
        })
        .await?;
        self.capabilities = found;
        Ok(())
    }

    fn can(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|known| known == capability)
    }

    pub fn can_idle(&self) -> bool {
        self.can("IDLE")
    }

    async fn log_in(&mut self, server: &ImapServer) -> Result<(), Trouble> {
        let secret = super::secret::read(&server.secret).await.map_err(Trouble::Secret)?;
        let secret = secret.expose_secret();
        let user = &server.user;
        let said = if matches!(server.secret, ImapSecret::TokenFile(_)) {
            let sasl = Zeroizing::new(format!("user={user}\x01auth=Bearer {secret}\x01\x01"));
            self.authenticate("XOAUTH2", &sasl).await
        } else if self.can("AUTH=PLAIN") {
            let sasl = Zeroizing::new(format!("\0{user}\0{secret}"));
            self.authenticate("PLAIN", &sasl).await
        } else if self.can("LOGINDISABLED") {
            return Err(Trouble::Login(
                "the server does not accept a password on this connection (LOGINDISABLED)".into(),
            ));
        } else {
            let line = Zeroizing::new(format!("LOGIN {} {}", quoted(user), quoted(secret)));
            self.command(&line, SMALL, |_| Ok(())).await.map(drop)
        };
        said.map_err(|trouble| match trouble {
            Trouble::Refused(text) => Trouble::Login(text),
            other => other,
        })
    }

    async fn authenticate(&mut self, mechanism: &str, sasl: &str) -> Result<(), Trouble> {
        use base64::Engine;
        let encoded = Zeroizing::new(base64::engine::general_purpose::STANDARD.encode(sasl));
        let mut waiting = Some(encoded.as_str());
        let mut line = Zeroizing::new(format!("AUTHENTICATE {mechanism}"));
        if self.can("SASL-IR") {
            line.push(' ');
            line.push_str(&encoded);
            waiting = None;
        }
        let tag = self.begin(&line).await?;
        let deadline = Instant::now() + self.patience;
        for _ in 0..RESPONSES_MAX {
            match self.next(SMALL, deadline).await? {
                // A second challenge reports an error; an empty answer ends it.
                Response::Continue => {
                    let answer = Zeroizing::new(format!("{}\r\n", waiting.take().unwrap_or_default()));
                    self.wire.send(answer.as_bytes()).await?;
                }
                Response::Tagged { tag: found, condition, text } if found == tag => {
                    return ended(condition, text).map(drop);
                }
                _ => {}
            }
        }
        Err(endless())
    }

    /// How many mails the server says are in the folder that is open.
    pub fn mails(&self) -> u64 {
        self.exists
    }

    /// Opens a folder for reading only, or checks it again.
    pub async fn examine(&mut self, folder: &str) -> Result<Examined, Trouble> {
        let (mut uidvalidity, mut uidnext) = (None, None);
        let command = format!("EXAMINE {}", quoted(&super::folder::encode(folder)));
        self.command(&command, SMALL, |response| {
            if let Response::Status { condition: Condition::Ok, text } = response {
                uidvalidity = code_number(text, "UIDVALIDITY").or(uidvalidity);
                uidnext = code_number(text, "UIDNEXT").or(uidnext);
            }
            Ok(())
        })
        .await?;
        self.news = false;
        let narrow = |n: u64| u32::try_from(n).ok().filter(|n| *n > 0);
        let uidvalidity = uidvalidity
            .and_then(narrow)
            .ok_or_else(|| Trouble::Protocol("the server does not report the folder's UIDVALIDITY".into()))?;
        let uidnext = uidnext.and_then(narrow);
        let top = match uidnext {
            Some(next) => next - 1,
            None => self.highest_uid().await?,
        };
        Ok(Examined { uidvalidity, uidnext, top })
    }

    async fn highest_uid(&mut self) -> Result<u32, Trouble> {
        if self.exists == 0 {
            return Ok(0); // some servers call `*` an error then
        }
        let mut highest = 0;
        self.command("UID FETCH * (UID)", SMALL, |response| {
            if let Response::Numbered { word, rest, .. } = response
                && word == "FETCH"
            {
                highest = fetched(std::mem::take(rest)).uid.unwrap_or(0).max(highest);
            }
            Ok(())
        })
        .await?;
        Ok(highest)
    }

    /// UIDs between two, ends included, in order; `since`: of mails that arrived on that day or later.
    /// The span must not exceed [`SEARCH_SPAN`].
    pub async fn search(&mut self, uids: (u32, u32), since: Option<Timestamp>) -> Result<Vec<u32>, Trouble> {
        let mut command = format!("UID SEARCH UID {}:{}", uids.0, uids.1);
        if let Some(day) = since {
            command.push_str(&format!(" SINCE {}", search_day(day)));
        }
        let limits = Limits { line: SEARCH_LINE_MAX, literal: SMALL_LITERAL };
        self.news = false;
        let mut found: Vec<u32> = Vec::new();
        self.command(&command, limits, |response| {
            if let Response::Data { word, rest } = response
                && word == "SEARCH"
            {
                let numbers = rest.iter().filter_map(|t| t.number().and_then(|n| u32::try_from(n).ok()));
                found.extend(numbers.filter(|uid| (uids.0..=uids.1).contains(uid)));
                if found.len() > SEARCH_SPAN as usize {
                    return Err(Trouble::Protocol("more UIDs than were searched for".into()));
                }
            }
            Ok(())
        })
        .await?;
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// Sizes and times of mails, in the order of their UIDs; those that are gone are left out.
    pub async fn heads(&mut self, uids: &[u32]) -> Result<Vec<MailSummary>, Trouble> {
        let command = format!("UID FETCH {} (UID RFC822.SIZE INTERNALDATE)", set(uids));
        let mut heads: Vec<MailSummary> = Vec::new();
        self.command(&command, SMALL, |response| {
            if let Response::Numbered { word, rest, .. } = response
                && word == "FETCH"
            {
                let mail = fetched(std::mem::take(rest));
                if let (Some(uid), Some(size)) = (mail.uid, mail.size)
                    && uids.contains(&uid)
                    && !heads.iter().any(|head| head.uid == uid)
                {
                    heads.push(MailSummary {
                        uid,
                        size,
                        arrived_at: mail.arrived_at.unwrap_or(Timestamp(0)),
                    });
                }
            }
            Ok(())
        })
        .await?;
        heads.sort_by_key(|head| head.uid);
        Ok(heads)
    }

    /// Whole mails, at most `limit` bytes each and `total` together, as they come; those that came
    /// before an error are in `into` all the same.
    pub async fn bodies(
        &mut self,
        uids: &[u32],
        limit: usize,
        total: usize,
        into: &mut Vec<(u32, Vec<u8>)>,
    ) -> Result<(), Trouble> {
        let command = format!("UID FETCH {} (UID BODY.PEEK[])", set(uids));
        self.fetch_bodies(&command, uids, Limits { line: LINE_MAX, literal: limit }, total, into).await
    }

    /// The first [`BEGINNING`] bytes of a mail; `None` if the server tells none.
    pub async fn beginning(&mut self, uid: u32) -> Result<Option<Vec<u8>>, Trouble> {
        let command = format!("UID FETCH {uid} (UID BODY.PEEK[]<0.{BEGINNING}>)");
        let limits = Limits { line: LINE_MAX, literal: BEGINNING };
        let mut found = Vec::new();
        self.fetch_bodies(&command, &[uid], limits, BEGINNING, &mut found).await?;
        Ok(found.pop().map(|(_, raw)| raw))
    }

    async fn fetch_bodies(
        &mut self,
        command: &str,
        uids: &[u32],
        limits: Limits,
        total: usize,
        into: &mut Vec<(u32, Vec<u8>)>,
    ) -> Result<(), Trouble> {
        let mut bytes = 0_usize;
        self.command(command, limits, |response| {
            if let Response::Numbered { word, rest, .. } = response
                && word == "FETCH"
            {
                let mail = fetched(std::mem::take(rest));
                let (Some(uid), Some(raw)) = (mail.uid, mail.body) else { return Ok(()) };
                bytes = bytes.saturating_add(raw.len());
                if bytes > total {
                    return Err(Trouble::Protocol(format!("more than {total} bytes of mails")));
                }
                if uids.contains(&uid) && !into.iter().any(|(known, _)| *known == uid) {
                    into.push((uid, raw));
                }
            }
            Ok(())
        })
        .await
        .map(drop)
    }

    /// Waits for new mails, up to a time; `true` if the server told of some.
    pub async fn idle(&mut self, patience: Duration, at_news: impl FnOnce() + Send) -> Result<bool, Trouble> {
        if self.news {
            return Ok(true);
        }
        let tag = self.begin("IDLE").await?;
        let until = Instant::now() + patience;
        let mut is_idling = false;
        // The server's `+` must come within the allowed silence; after it, the time to wait is ours to choose.
        while !self.news {
            let left = until.saturating_duration_since(Instant::now());
            if is_idling && !self.wire.wait(left, SMALL).await? {
                break;
            }
            match self.next(SMALL, Instant::now() + self.patience).await? {
                Response::Continue => is_idling = true,
                Response::Tagged { tag: found, condition, text } if found == tag => {
                    return ended(condition, text).map(|_| self.news);
                }
                _ => {}
            }
            if Instant::now() >= until {
                break; // a server that chatters without end
            }
        }
        if !is_idling {
            // A response came before the `+`; DONE must come after the `+`.
            let deadline = Instant::now() + self.patience;
            while !matches!(self.next(SMALL, deadline).await?, Response::Continue) {}
        }
        if self.news {
            at_news();
        }
        self.wire.send(b"DONE\r\n").await?;
        self.finish(&tag, SMALL, |_| Ok(())).await?;
        Ok(self.news)
    }

    async fn begin(&mut self, command: &str) -> Result<String, Trouble> {
        self.tags += 1;
        let tag = format!("T{}", self.tags);
        let line = Zeroizing::new(format!("{tag} {command}\r\n"));
        self.wire.send(line.as_bytes()).await?;
        Ok(tag)
    }

    async fn command(
        &mut self,
        command: &str,
        limits: Limits,
        each: impl FnMut(&mut Response) -> Result<(), Trouble>,
    ) -> Result<String, Trouble> {
        let tag = self.begin(command).await?;
        self.finish(&tag, limits, each).await
    }

    /// Reads to the end of a command, and hands every response to `each`.
    async fn finish(
        &mut self,
        tag: &str,
        limits: Limits,
        mut each: impl FnMut(&mut Response) -> Result<(), Trouble>,
    ) -> Result<String, Trouble> {
        let deadline = Instant::now() + self.patience;
        for _ in 0..RESPONSES_MAX {
            let mut response = self.next(limits, deadline).await?;
            match response {
                Response::Tagged { tag: found, condition, text } if found == tag => {
                    return ended(condition, text);
                }
                Response::Status { condition: Condition::Bye, text } => return Err(Trouble::Bye(text)),
                _ => each(&mut response)?,
            }
        }
        Err(endless())
    }

    async fn next(&mut self, limits: Limits, deadline: Instant) -> Result<Response, Trouble> {
        let Ok(bytes) = tokio::time::timeout_at(deadline, self.wire.response(limits)).await else {
            return Err(Trouble::Silent(self.patience));
        };
        let response = parse(&bytes?).map_err(Trouble::Protocol)?;
        match &response {
            Response::Numbered { number, word, .. } if word == "EXISTS" => {
                self.news |= *number > self.exists;
                self.exists = *number;
            }
            Response::Numbered { word, .. } if word == "EXPUNGE" => {
                self.exists = self.exists.saturating_sub(1);
            }
            _ => {}
        }
        Ok(response)
    }
}

fn ended(condition: Condition, text: String) -> Result<String, Trouble> {
    match condition {
        Condition::Ok => Ok(text),
        Condition::No | Condition::Bad => Err(Trouble::Refused(text)),
        Condition::Bye | Condition::PreAuth => Err(Trouble::Protocol(format!("an unexpected end: {text}"))),
    }
}

fn endless() -> Trouble {
    Trouble::Protocol("a response without end".into())
}

/// A text as a quoted string. Line ends and NULs cannot be in it: the configuration refuses them.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// UIDs in order as a set, neighbours joined: `4:6,9`.
fn set(uids: &[u32]) -> String {
    let mut text = String::new();
    let mut at = 0;
    while let Some(first) = uids.get(at) {
        let mut last = *first;
        at += 1;
        while let Some(next) = uids.get(at).filter(|next| last.checked_add(1) == Some(**next)) {
            last = *next;
            at += 1;
        }
        let comma = if text.is_empty() { "" } else { "," };
        let range = if last > *first { format!(":{last}") } else { String::new() };
        text.push_str(&format!("{comma}{first}{range}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_short() {
        assert_eq!(set(&[4, 5, 6, 9, 11, 12]), "4:6,9,11:12");
        assert_eq!(set(&[u32::MAX]), "4294967295");
        assert_eq!(set(&[]), "");
    }

    #[test]
    fn texts_are_quoted() {
        assert_eq!(quoted("a\"b\\c"), r#""a\"b\\c""#);
    }
}
