//! A name server that answers as a test says: records, none, trouble, silence, an answer cut short.
//!
//! Real UDP and TCP on one free port of this machine. Knows TXT alone; every name it was not told of
//! does not exist. Nobody outside the tests is asked.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket};
use tokio::task::JoinSet;

/// Ports tried until one is free for both UDP and TCP.
const PORTS_TRIED: usize = 50;

/// What is said of a name.
#[derive(Clone, Debug)]
pub enum Say {
    Text(String),
    /// The name exists, the record does not.
    Nothing,
    ServFail,
    /// No answer at all.
    Silence,
    /// Over UDP only that the answer is too long; over TCP the text.
    Cut(String),
}

type Zone = Arc<Mutex<HashMap<String, Say>>>;

pub struct NameServer {
    pub address: SocketAddr,
    zone: Zone,
    asked: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

impl NameServer {
    pub async fn start() -> NameServer {
        let (udp, tcp) = both().await;
        let address = udp.local_addr().unwrap();
        let (zone, asked) = (Zone::default(), Arc::new(Mutex::new(Vec::new())));
        let mut tasks = JoinSet::new();
        let (z, a) = (zone.clone(), asked.clone());
        tasks.spawn(async move {
            let mut buffer = [0; 1500];
            while let Ok((length, peer)) = udp.recv_from(&mut buffer).await {
                if let Some(answer) = answer(&buffer[..length], &z, &a, false) {
                    let _ = udp.send_to(&answer, peer).await;
                }
            }
        });
        let (z, a) = (zone.clone(), asked.clone());
        tasks.spawn(async move {
            while let Ok((mut stream, _)) = tcp.accept().await {
                let (z, a) = (z.clone(), a.clone());
                tokio::spawn(async move {
                    while let Ok(length) = stream.read_u16().await {
                        let mut question = vec![0; length.into()];
                        let Ok(_) = stream.read_exact(&mut question).await else { return };
                        let Some(answer) = answer(&question, &z, &a, true) else { return };
                        let length = u16::try_from(answer.len()).unwrap();
                        let _ = stream.write_u16(length).await;
                        let _ = stream.write_all(&answer).await;
                    }
                });
            }
        });
        NameServer { address, zone, asked, _tasks: tasks }
    }

    /// From now on says this of a name (without its final dot).
    pub fn say(&self, name: &str, what: Say) {
        self.zone.lock().unwrap().insert(name.to_lowercase(), what);
    }

    /// The names asked for, in order.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

async fn both() -> (UdpSocket, TcpListener) {
    for _ in 0..PORTS_TRIED {
        let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        if let Ok(tcp) = TcpListener::bind(udp.local_addr().unwrap()).await {
            return (udp, tcp);
        }
    }
    panic!("no port is free for both UDP and TCP");
}

/// The answer to one question, or none where silence was asked for.
fn answer(question: &[u8], zone: &Zone, asked: &Mutex<Vec<String>>, tcp: bool) -> Option<Vec<u8>> {
    let (name, end) = name(question)?;
    asked.lock().unwrap().push(name.clone());
    let said = zone.lock().unwrap().get(&name).cloned();
    let (flags, text): (u16, _) = match said {
        Some(Say::Text(text)) => (0x8580, Some(text)),
        Some(Say::Cut(text)) if tcp => (0x8580, Some(text)),
        Some(Say::Cut(_)) => (0x8780, None),
        Some(Say::Nothing) => (0x8580, None),
        Some(Say::ServFail) => (0x8582, None),
        Some(Say::Silence) => return None,
        None => (0x8583, None),
    };
    let mut out = question[..2].to_vec();
    out.extend(flags.to_be_bytes());
    out.extend([0, 1, 0, u8::from(text.is_some()), 0, 0, 0, 0]);
    out.extend(&question[12..end]);
    if let Some(text) = text {
        out.extend([0xC0, 12, 0, 16, 0, 1, 0, 0, 0, 60]);
        let mut data = Vec::new();
        for chunk in text.as_bytes().chunks(255) {
            data.push(u8::try_from(chunk.len()).unwrap());
            data.extend(chunk);
        }
        out.extend(u16::try_from(data.len()).unwrap().to_be_bytes());
        out.extend(data);
    }
    Some(out)
}

/// The first question's name in lower case, and where its type and class end.
fn name(question: &[u8]) -> Option<(String, usize)> {
    let (mut at, mut labels) = (12, Vec::new());
    loop {
        let length = usize::from(*question.get(at)?);
        at += 1;
        if length == 0 {
            return Some((labels.join("."), at + 4)).filter(|(_, end)| *end <= question.len());
        }
        labels.push(String::from_utf8_lossy(question.get(at..at + length)?).to_lowercase());
        at += length;
    }
}
