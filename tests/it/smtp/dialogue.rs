//! What is answered to what: the order of commands, recipients, sizes, TLS, LMTP.

use std::sync::Arc;

use tillbell::alert_reader::mime::MAX_MAIL_BYTES;
use tokio_rustls::TlsConnector;

use super::{Client, DEV, House, SMTP, on_sqlite};
use crate::harness::logs::Logs;

#[test]
fn commands_have_an_order() {
    on_sqlite(|db| async {
        let house = House::open(db, SMTP).await;
        let mut client = house.client().await;
        client.gets("MAIL FROM:<a@b.example>", "503").await;
        client.gets("LHLO b.example", "500").await;
        let offers = client.gets("EHLO b.example", "250").await;
        let lines: Vec<&str> = offers.lines().collect();
        let expected =
            ["250-tillbell", "250-PIPELINING", "250-SIZE 1048576", "250-8BITMIME", "250 ENHANCEDSTATUSCODES"];
        assert_eq!(lines, expected);
        client.gets("RCPT TO:<alerts@till.example>", "503").await;
        client.gets("DATA", "503").await;
        client.gets("MAIL FROM:<> BODY=8BITMIME SIZE=200", "250").await;
        client.gets("MAIL FROM:<a@b.example>", "503").await;
        client.gets("DATA", "503").await;
        client.gets("RSET", "250").await;
        client.gets("RCPT TO:<alerts@till.example>", "503").await;
        client.gets("NOOP", "250").await;
        client.gets("VRFY alerts", "252").await;
        client.gets("STARTTLS", "502").await;
        client.gets("BDAT 5 LAST", "502").await;
        client.gets("MAIL FROM:<a@b.example> SMTPUTF8", "555").await;
        client.gets("HELO b.example", "250").await;
        client.gets("QUIT", "221").await;
        client.is_closed().await;
        assert!(house.alerts().await.is_empty());
    });
}

#[test]
fn only_our_recipients_are_taken_and_a_mail_is_taken_once() {
    on_sqlite(|db| async {
        let settings = SMTP.replace("[\"", "[\"cash@till.example\", \"");
        let house = House::open(db, &settings).await;
        let mut client = house.greeted().await;
        client.gets("MAIL FROM:<a@b.example>", "250").await;
        for other in
            ["alerts@other.example", "alert@till.example", "alerts@till.example.b.example", "postmaster"]
        {
            client.gets(&format!("RCPT TO:<{other}>"), "550").await;
        }
        client.gets("DATA", "503").await;
        client.gets("RCPT TO:<Alerts@TILL.example>", "250").await;
        client.gets("RCPT TO:<cash@till.example>", "250").await;
        client.gets("RCPT TO:<nobody@till.example>", "550").await;
        client.gets("DATA", "354").await;
        client.send("Subject: twice\r\n\r\nonce\r\n.\r\n").await;
        client.expect("250").await;
        assert_eq!(house.alerts().await.len(), 1);

        client.gets("MAIL FROM:<a@b.example>", "250").await;
        for _ in 0..100 {
            client.gets("RCPT TO:<alerts@till.example>", "250").await;
        }
        client.gets("RCPT TO:<alerts@till.example>", "452").await;
        client.gets("DATA", "354").await;
        client.send("Subject: many\r\n\r\nmany\r\n.\r\n").await;
        client.expect("250").await;
    });
}

#[test]
fn a_refused_recipient_is_told_without_its_name_and_not_without_end() {
    on_sqlite(|db| async {
        let logs = Logs::keep();
        let house = House::open(db, SMTP).await;
        let mut client = house.greeted().await;
        client.gets("MAIL FROM:<a@b.example>", "250").await;
        for _ in 0..4 {
            client.gets("RCPT TO:<funmilayo@other.example>", "550").await;
        }
        let text = logs.text();
        let said: Vec<&str> = text.lines().filter(|line| line.contains("a recipient was refused")).collect();
        assert_eq!(said.len(), 4, "{said:#?}");
        assert!(said[0].contains("WARN") && said[0].contains("f***@other.example"), "{}", said[0]);
        assert!(said.iter().all(|line| !line.contains("funmilayo")), "{said:#?}");
    });
}

#[test]
fn without_a_list_every_recipient_is_taken() {
    on_sqlite(|db| async {
        let house = House::open(db, "[server]\ndev = true\n[mail.smtp]\nlisten = \"127.0.0.1:0\"\n").await;
        let mut client = house.greeted().await;
        client.gets("MAIL FROM:<a@b.example>", "250").await;
        client.gets("RCPT TO:<whoever@where.example>", "250").await;
        client.gets("RCPT TO:<>", "550").await;
    });
}

#[test]
fn lmtp_answers_for_each_recipient() {
    on_sqlite(|db| async {
        let settings = SMTP.replace("[\"", "[\"cash@till.example\", \"") + "protocol = \"lmtp\"\n";
        let house = House::open(db, &settings).await;
        let mut client = house.client().await;
        client.gets("EHLO b.example", "500").await;
        client.gets("HELO b.example", "500").await;
        client.gets("LHLO b.example", "250").await;
        client.gets("MAIL FROM:<a@b.example>", "250").await;
        client.gets("RCPT TO:<nobody@till.example>", "550").await;
        client.gets("DATA", "503").await;
        client.gets("RCPT TO:<alerts@till.example>", "250").await;
        client.gets("RCPT TO:<cash@till.example>", "250").await;
        client.gets("DATA", "354").await;
        client.send("Subject: x\r\n\r\nx\r\n.\r\nNOOP\r\n").await;
        let first = client.expect("250").await;
        assert!(first.contains("kept as alert"), "{first}");
        assert_eq!(client.expect("250").await, first);
        assert!(client.expect("250").await.contains("OK"), "a third answer to two recipients");
        let alerts = house.alerts().await;
        assert_eq!((alerts.len(), alerts[0].source.as_str()), (1, "lmtp 127.0.0.1"));
    });
}

#[test]
fn pipelined_commands_are_answered_in_order() {
    on_sqlite(|db| async {
        let house = House::open(db, SMTP).await;
        let mut client = house.client().await;
        client.send("EHLO b.example\r\n").await;
        client.expect("250").await;
        client
            .send(
                "MAIL FROM:<a@b.example>\r\nRCPT TO:<x@y.example>\r\nRCPT TO:<alerts@till.example>\r\nDATA\r\n",
            )
            .await;
        for code in ["250", "550", "250", "354"] {
            client.expect(code).await;
        }
        // The next mail's commands follow the end of this one at once.
        client
            .send("Subject: one\r\n\r\n1\r\n.\r\nMAIL FROM:<a@b.example>\r\nRCPT TO:<alerts@till.example>\r\nDATA\r\n")
            .await;
        for code in ["250", "250", "250", "354"] {
            client.expect(code).await;
        }
        client.send("Subject: two\r\n\r\n2\r\n.\r\nQUIT\r\n").await;
        client.expect("250").await;
        client.expect("221").await;
        client.is_closed().await;
        let subjects: Vec<String> = house.alerts().await.into_iter().filter_map(|a| a.subject).collect();
        assert_eq!(subjects, ["one", "two"]);
    });
}

#[test]
fn a_mail_may_have_a_mebibyte_and_not_a_byte_more() {
    on_sqlite(|db| async {
        let house = House::open(db, SMTP).await;
        let mut client = house.greeted().await;
        client.gets(&format!("MAIL FROM:<a@b.example> SIZE={}", MAX_MAIL_BYTES + 1), "552").await;
        client.gets("MAIL FROM:<a@b.example> SIZE=99999999999999999999", "501").await;
        client.gets(&format!("MAIL FROM:<a@b.example> SIZE={MAX_MAIL_BYTES}"), "250").await;
        client.gets("RSET", "250").await;

        let head = "Subject: large\r\n\r\n";
        let line = format!("{}\r\n", "x".repeat(1_022));
        let mut mail = head.to_owned();
        while mail.len() + line.len() <= MAX_MAIL_BYTES {
            mail.push_str(&line);
        }
        mail.push_str(&"y".repeat(MAX_MAIL_BYTES - mail.len() - 2));
        mail.push_str("\r\n");
        assert_eq!(mail.len(), MAX_MAIL_BYTES);
        let answer = client.hand_in(&mail).await;
        assert!(answer.starts_with("250"), "{answer}");
        let answer = client.hand_in(&mail.replace("large", "larger")).await;
        assert!(answer.starts_with("552"), "{answer}");
        client.gets("NOOP", "250").await;
        let alerts = house.alerts().await;
        assert_eq!(alerts.len(), 1);
        assert!(house.raw(alerts[0].id).await == mail.as_bytes());
        // So large that its end is not waited for.
        client.begin().await;
        let mut sent = 0;
        while sent < 20 * MAX_MAIL_BYTES {
            // It may be refused while it is still being sent.
            let Ok(()) = client.try_send(mail.as_bytes()).await else { break };
            sent += mail.len();
        }
        client.expect("552").await;
        client.is_closed().await;
    });
}

/// A folder with a certificate, the settings that name it, and a client that trusts it.
pub fn certificate() -> (tempfile::TempDir, String, TlsConnector) {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["mx.till.example".to_owned()]).unwrap();
    let (cert, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let provider = rustls::crypto::aws_lc_rs::default_provider().into();
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    (folder, format!("tls_cert = {cert:?}\ntls_key = {key:?}\n"), TlsConnector::from(Arc::new(config)))
}

#[test]
fn what_was_said_before_tls_does_not_count_inside() {
    on_sqlite(|db| async {
        let (_folder, files, connector) = certificate();
        let house = House::open(db, &format!("{SMTP}{files}")).await;
        let mut client = house.greeted().await;
        client.gets("STARTTLS now", "501").await;
        client.gets("MAIL FROM:<a@b.example>", "250").await;
        client.gets("RCPT TO:<alerts@till.example>", "250").await;
        // Somebody on the way adds commands of his own behind STARTTLS.
        client.send("STARTTLS\r\nEHLO evil.example\r\nMAIL FROM:<evil@b.example>\r\n").await;
        client.expect("220").await;
        let name = rustls::pki_types::ServerName::try_from("mx.till.example").unwrap();
        let stream = connector.connect(name, client.into_inner()).await.unwrap();
        let mut client = Client::over(stream);
        client.gets("MAIL FROM:<a@b.example>", "503 5.5.1 send a greeting").await;
        let offers = client.gets("EHLO b.example", "250").await;
        assert!(!offers.contains("STARTTLS") && offers.contains("SIZE"), "{offers}");
        client.gets("RCPT TO:<alerts@till.example>", "503").await;
        client.gets("STARTTLS", "503").await;
        let answer = client.hand_in("Subject: inside\r\n\r\nx\r\n").await;
        assert!(answer.starts_with("250"), "{answer}");
        client.gets("QUIT", "221").await;
        client.is_closed().await;
        assert_eq!(house.alerts().await.len(), 1);
    });
}

on_both! {
    async fn bytes_are_kept_as_they_came(db: TestDatabase) {
        let house = House::open(db, &format!("{DEV}{SMTP}")).await;
        let mut client = house.greeted().await;
        client.begin().await;
        let long = "z".repeat(70_000);
        let text = format!("Subject: caf\u{e9}\r\n\r\n.a dot\r\n..\r\n.\r\n\r\n{long}\r\nlast\r\n");
        let mut mail = text.into_bytes();
        mail.extend_from_slice(b"\0 a nul \xff\xfe no utf-8\r\n");
        let mut sent = Vec::new();
        for line in mail.split_inclusive(|byte| *byte == b'\n') {
            if line.starts_with(b".") {
                sent.push(b'.');
            }
            sent.extend_from_slice(line);
        }
        client.send(&sent).await;
        client.send(".\r\n").await;
        client.expect("250").await;
        let alerts = house.alerts().await;
        assert_eq!((alerts.len(), alerts[0].source.as_str()), (1, "smtp 127.0.0.1"));
        assert_eq!(house.raw(alerts[0].id).await, mail);
    }
}
