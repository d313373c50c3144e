//! A small IMAP server that misbehaves as it is told: the faults that no real one shows on demand.
//!
//! One folder, whatever its name; its mails and faults can be changed at any time. It speaks what the
//! reader asks and records every line it hears. A connection can be cut after any byte.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;

/// How often a waiting connection looks whether something changed.
const TICK: Duration = Duration::from_millis(5);

#[derive(Clone, Debug)]
pub struct FakeMail {
    pub uid: u32,
    /// As INTERNALDATE.
    pub date: String,
    pub raw: String,
}

/// What the server has and how it behaves.
#[derive(Clone, Debug)]
pub struct Folder {
    pub mails: Vec<FakeMail>,
    pub uidvalidity: u32,
    pub uidnext: Option<u32>,
    pub greeting: String,
    pub capabilities: String,
    /// Refuses logins with this text.
    pub refuse_login: Option<String>,
    /// Answers NO to a FETCH of the body of these.
    pub refused: HashSet<u32>,
    /// Closes the connection at the body of these.
    pub breaking: HashSet<u32>,
    /// Announces this length for every body, and sends what there is.
    pub announce: Option<u64>,
    /// Sends half of every body and then nothing.
    pub stall: bool,
    /// Says BYE in place of the answer to this many FETCHes.
    pub byes: usize,
    /// Sent in one piece with the consent to STARTTLS.
    pub inject: String,
    /// The first connection ends after so many bytes of ours, or of theirs.
    pub cut_out: Option<usize>,
    pub cut_in: Option<usize>,
    /// Every line that was heard.
    pub heard: Vec<String>,
    pub connections: usize,
    /// Bytes sent and heard in all.
    pub sent: usize,
    pub read: usize,
}

impl Default for Folder {
    fn default() -> Folder {
        Folder {
            mails: Vec::new(),
            uidvalidity: 7,
            uidnext: Some(1),
            greeting: "* OK ready".into(),
            capabilities: "IMAP4rev1 IDLE AUTH=PLAIN STARTTLS".into(),
            refuse_login: None,
            refused: HashSet::new(),
            breaking: HashSet::new(),
            announce: None,
            stall: false,
            byes: 0,
            inject: String::new(),
            cut_out: None,
            cut_in: None,
            heard: Vec::new(),
            connections: 0,
            sent: 0,
            read: 0,
        }
    }
}

impl Folder {
    /// Adds a mail under the next UID, which it tells.
    pub fn add(&mut self, raw: &str) -> u32 {
        let uid = self.uidnext.unwrap_or_else(|| self.mails.iter().map(|m| m.uid).max().unwrap_or(0) + 1);
        self.add_at(uid, "10-Mar-2026 09:00:00 +0100", raw);
        self.uidnext = self.uidnext.map(|_| uid + 1);
        uid
    }

    pub fn add_at(&mut self, uid: u32, date: &str, raw: &str) {
        self.mails.push(FakeMail { uid, date: date.into(), raw: raw.into() });
        self.mails.sort_by_key(|mail| mail.uid);
    }
}

pub struct FakeServer {
    pub address: SocketAddr,
    folder: Arc<Mutex<Folder>>,
    _accepting: AbortOnDropHandle<()>,
}

impl FakeServer {
    pub async fn start(folder: Folder) -> FakeServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let folder = Arc::new(Mutex::new(folder));
        let shared = folder.clone();
        let accepting = tokio::spawn(async move {
            let mut open = tokio::task::JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                stream.set_nodelay(true).unwrap();
                let folder = shared.clone();
                folder.lock().unwrap().connections += 1;
                let first = folder.lock().unwrap().connections == 1;
                let (out, heard) = {
                    let folder = folder.lock().unwrap();
                    if first { (folder.cut_out, folder.cut_in) } else { (None, None) }
                };
                open.spawn(async move {
                    let mut talk = Talk { stream, folder, held: Vec::new(), out, heard, known: 0 };
                    // An end is an end, whoever made it.
                    let _ = talk.run().await;
                });
            }
        });
        FakeServer { address, folder, _accepting: AbortOnDropHandle::new(accepting) }
    }

    pub fn folder(&self) -> MutexGuard<'_, Folder> {
        self.folder.lock().unwrap()
    }

    /// As `[[mail.imap]]` without a secret.
    pub fn configured(&self) -> String {
        format!(
            "[[mail.imap]]\nhost = \"127.0.0.1\"\nport = {}\ntls = \"none\"\nuser = \"till\"\n",
            self.address.port()
        )
    }
}

/// Year, month and day of `1-Mar-2026 ...`, to be compared.
fn day(date: &str) -> (u32, u32, u32) {
    const MONTHS: &str = "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC";
    let mut parts = date.split(' ').next().unwrap().split('-');
    let day = parts.next().unwrap().parse().unwrap();
    let month = MONTHS.find(&parts.next().unwrap().to_ascii_uppercase()).unwrap() as u32;
    (parts.next().unwrap().parse().unwrap(), month, day)
}

struct Talk {
    stream: TcpStream,
    folder: Arc<Mutex<Folder>>,
    held: Vec<u8>,
    /// Bytes left until the cut.
    out: Option<usize>,
    heard: Option<usize>,
    /// Mails the client was told of.
    known: usize,
}

type End = Result<(), ()>;

impl Talk {
    fn folder(&self) -> MutexGuard<'_, Folder> {
        self.folder.lock().unwrap()
    }

    async fn say(&mut self, text: &str) -> End {
        let bytes = text.as_bytes();
        let count = self.out.map_or(bytes.len(), |left| left.min(bytes.len()));
        self.stream.write_all(&bytes[..count]).await.map_err(drop)?;
        self.folder().sent += count;
        if let Some(left) = &mut self.out {
            *left -= count;
            if *left == 0 {
                return Err(());
            }
        }
        Ok(())
    }

    /// A line, or nothing when `patience` is over.
    async fn line(&mut self, patience: Duration) -> Result<Option<String>, ()> {
        let deadline = tokio::time::Instant::now() + patience;
        loop {
            if let Some(end) = self.held.iter().position(|b| *b == b'\n') {
                let line: Vec<u8> = self.held.drain(..=end).collect();
                let line = String::from_utf8_lossy(&line).trim_end().to_owned();
                self.folder().heard.push(line.clone());
                return Ok(Some(line));
            }
            let mut chunk = [0; 4096];
            let limit = self.heard.map_or(chunk.len(), |left| left.min(chunk.len()));
            if limit == 0 {
                return Err(());
            }
            let read = tokio::time::timeout_at(deadline, self.stream.read(&mut chunk[..limit])).await;
            let Ok(read) = read else { return Ok(None) };
            let read = read.map_err(drop)?;
            if read == 0 {
                return Err(());
            }
            if let Some(left) = &mut self.heard {
                *left -= read;
            }
            self.folder().read += read;
            self.held.extend_from_slice(&chunk[..read]);
        }
    }

    async fn run(&mut self) -> End {
        let greeting = format!("{}\r\n", self.folder().greeting);
        self.say(&greeting).await?;
        loop {
            let Some(line) = self.line(Duration::from_secs(60)).await? else { return Err(()) };
            let Some((tag, command)) = line.split_once(' ') else { return Err(()) };
            let (tag, command) = (tag.to_owned(), command.to_owned());
            let word = command.to_ascii_uppercase();
            if word == "CAPABILITY" {
                let text = format!("* CAPABILITY {}\r\n{tag} OK\r\n", self.folder().capabilities);
                self.say(&text).await?;
            } else if word == "STARTTLS" {
                let text = format!("{tag} OK begin\r\n{}", self.folder().inject);
                self.say(&text).await?;
            } else if word.starts_with("AUTHENTICATE") {
                self.say("+ \r\n").await?;
                self.line(Duration::from_secs(60)).await?;
                self.logged_in(&tag, word.contains("XOAUTH2")).await?;
            } else if word.starts_with("LOGIN") {
                self.logged_in(&tag, false).await?;
            } else if word.starts_with("EXAMINE") {
                self.examine(&tag).await?;
            } else if word.starts_with("UID SEARCH") {
                self.search(&tag, &word).await?;
            } else if word.starts_with("UID FETCH") {
                self.fetch(&tag, &word).await?;
            } else if word == "IDLE" {
                self.idle(&tag).await?;
            } else {
                self.say(&format!("{tag} BAD what?\r\n")).await?;
            }
        }
    }

    async fn logged_in(&mut self, tag: &str, challenge: bool) -> End {
        let refused = self.folder().refuse_login.clone();
        match refused {
            None => self.say(&format!("{tag} OK in\r\n")).await,
            Some(text) => {
                if challenge {
                    self.say("+ eyJzdGF0dXMiOiI0MDAifQ==\r\n").await?;
                    self.line(Duration::from_secs(60)).await?;
                }
                self.say(&format!("{tag} NO {text}\r\n")).await
            }
        }
    }

    async fn examine(&mut self, tag: &str) -> End {
        let text = {
            let folder = self.folder();
            let next = folder.uidnext.map_or(String::new(), |n| format!("* OK [UIDNEXT {n}] next\r\n"));
            let exists = folder.mails.len();
            format!(
                "* FLAGS (\\Seen)\r\n* {exists} EXISTS\r\n* 0 RECENT\r\n* OK [UIDVALIDITY {}] valid\r\n{next}{tag} OK [READ-ONLY] done\r\n",
                folder.uidvalidity
            )
        };
        let known = self.folder().mails.len();
        self.known = known;
        self.say(&text).await
    }

    async fn search(&mut self, tag: &str, word: &str) -> End {
        let range = word.split(' ').nth(3).unwrap().split_once(':').unwrap();
        let (low, high): (u32, u32) = (range.0.parse().unwrap(), range.1.parse().unwrap());
        let uids: Vec<String> = {
            let folder = self.folder();
            let since = word.split("SINCE ").nth(1).map(day);
            let inside = folder.mails.iter().filter(|mail| {
                (low..=high).contains(&mail.uid) && since.is_none_or(|since| day(&mail.date) >= since)
            });
            inside.map(|mail| mail.uid.to_string()).collect()
        };
        self.say(&format!("* SEARCH {}\r\n{tag} OK done\r\n", uids.join(" ")).replace(" \r\n", "\r\n")).await
    }

    async fn fetch(&mut self, tag: &str, word: &str) -> End {
        let uids: Vec<u32> = word
            .split(' ')
            .nth(2)
            .unwrap()
            .split(',')
            .flat_map(|part| {
                let highest = self.folder().mails.last().map_or(0, |mail| mail.uid).to_string();
                let part = part.replace('*', &highest);
                let (low, high) = part.split_once(':').unwrap_or((&part, &part));
                low.parse::<u32>().unwrap()..=high.parse().unwrap()
            })
            .collect();
        let is_body = word.contains("BODY.PEEK[]");
        let partial = word.split("<0.").nth(1).and_then(|rest| rest.split('>').next()?.parse::<usize>().ok());
        let folder = self.folder().clone();
        if is_body && folder.byes > 0 {
            self.folder().byes -= 1;
            self.say("* BYE going down\r\n").await?;
            return Err(());
        }
        for (n, mail) in folder.mails.iter().enumerate().filter(|(_, mail)| uids.contains(&mail.uid)) {
            let (seq, uid) = (n + 1, mail.uid);
            if !is_body {
                let (size, date) = (mail.raw.len(), &mail.date);
                self.say(&format!(
                    "* {seq} FETCH (UID {uid} RFC822.SIZE {size} INTERNALDATE \"{date}\")\r\n"
                ))
                .await?;
                continue;
            }
            if folder.refused.contains(&uid) {
                return self.say(&format!("{tag} NO internal error\r\n")).await;
            }
            if folder.breaking.contains(&uid) {
                return Err(());
            }
            let raw = &mail.raw[..mail.raw.len().min(partial.unwrap_or(usize::MAX))];
            let announced = folder.announce.unwrap_or(raw.len() as u64);
            self.say(&format!("* {seq} FETCH (UID {uid} BODY[] {{{announced}}}\r\n")).await?;
            if folder.stall {
                self.say(&raw[..raw.len() / 2]).await?;
                // Until the other side has enough of it.
                self.line(Duration::from_secs(600)).await?;
                return Err(());
            }
            self.say(raw).await?;
            self.say(")\r\n").await?;
        }
        self.say(&format!("{tag} OK done\r\n")).await
    }

    async fn idle(&mut self, tag: &str) -> End {
        self.say("+ idling\r\n").await?;
        loop {
            if self.line(TICK).await?.is_some() {
                return self.say(&format!("{tag} OK done\r\n")).await;
            }
            let count = self.folder().mails.len();
            if count != self.known {
                self.known = count;
                self.say(&format!("* {count} EXISTS\r\n")).await?;
            }
        }
    }
}
