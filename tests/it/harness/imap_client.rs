//! A mail program in small: logs in over plain text and sends commands as a test writes them.
//!
//! For putting mails into folders, making folders anew and looking at flags. Understands nothing of
//! the answers but where they end.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

const ENOUGH: Duration = Duration::from_secs(30);

pub struct ImapClient {
    stream: BufReader<TcpStream>,
    tags: usize,
}

impl ImapClient {
    pub async fn log_in(port: u16, login: &str, password: &str) -> ImapClient {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.expect("connect");
        stream.set_nodelay(true).unwrap();
        let mut client = ImapClient { stream: BufReader::new(stream), tags: 0 };
        client.line().await;
        client.ok(&format!("LOGIN {login} {password}")).await;
        client
    }

    async fn line(&mut self) -> String {
        let mut line = Vec::new();
        let read = tokio::time::timeout(ENOUGH, self.stream.read_until(b'\n', &mut line));
        assert_ne!(read.await.expect("an answer").expect("a line"), 0, "the server hung up");
        String::from_utf8_lossy(&line).trim_end().to_owned()
    }

    /// Sends a command, which may hold a literal after `{n+}`, and answers the lines that it gets.
    pub async fn ok(&mut self, command: &str) -> Vec<String> {
        self.tags += 1;
        let tag = format!("c{}", self.tags);
        self.stream.get_mut().write_all(format!("{tag} {command}\r\n").as_bytes()).await.unwrap();
        let mut lines = Vec::new();
        loop {
            let line = self.line().await;
            if let Some(end) = line.strip_prefix(&format!("{tag} ")) {
                assert!(end.starts_with("OK"), "{}: {end}", &command[..command.len().min(60)]);
                lines.push(line);
                return lines;
            }
            if let Some(length) = line.strip_suffix('}').and_then(|l| l.rsplit_once('{')) {
                let mut literal = vec![0; length.1.parse().unwrap()];
                self.stream.read_exact(&mut literal).await.unwrap();
            }
            lines.push(line);
        }
    }

    /// Adds a mail to a folder.
    pub async fn append(&mut self, folder: &str, mail: &str) {
        self.ok(&format!("APPEND {folder} {{{}+}}\r\n{mail}", mail.len())).await;
    }
}
