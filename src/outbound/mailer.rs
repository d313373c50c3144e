//! Mails to people who sign in and to operators, handed to one mail server that takes them for everybody (`notify.smtp_url`).
//!
//! Text alone, no HTML. A mail that is sent again after a crash has the id of the first, so that mail programs show it
//! once. What the server answers is kept in words: a code about
//! the mail or its address is never, all else is later.

use std::time::{Duration, SystemTime};

use lettre::message::header::{ContentType, Header, HeaderName, HeaderValue};
use lettre::message::{Mailbox, Message};
use lettre::transport::smtp::PoolConfig;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, CertificateStore, Tls, TlsParameters};
use lettre::{Address, AsyncSmtpTransport, AsyncTransport, Tokio1Executor};
use secrecy::ExposeSecret;

use super::authorities;
use crate::config::{MailServer, MailTls};

/// For each step of the dialogue.
const TIMEOUT: Duration = Duration::from_secs(15);
/// For a whole mail.
const SEND_WITHIN: Duration = Duration::from_secs(45);
/// Connections at once, and how long one is kept without a mail.
const CONNECTIONS_MAX: u32 = 4;
const IDLE: Duration = Duration::from_secs(20);

/// Why no mails can be sent at all.
#[derive(Debug, thiserror::Error)]
#[error("notify: {0}")]
pub struct MailerProblem(String);

/// What became of a mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MailOutcome {
    Sent,
    /// Not now: nobody answered, or the server said so.
    Later {
        why: String,
    },
    /// Never: the server does not take it.
    Refused {
        why: String,
    },
}

/// A mail as it goes out.
#[derive(Clone, Debug)]
pub struct OutgoingMail<'a> {
    /// Unique in this database.
    pub id: i64,
    pub to: &'a str,
    pub subject: &'a str,
    pub text: &'a str,
    pub at: SystemTime,
}

pub struct Mailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

/// RFC 3834: nobody's holiday note answers it.
#[derive(Clone)]
struct AutoSubmitted;

impl Header for AutoSubmitted {
    fn name() -> HeaderName {
        HeaderName::new_from_ascii_str("Auto-Submitted")
    }

    fn parse(_: &str) -> Result<AutoSubmitted, Box<dyn std::error::Error + Send + Sync>> {
        Ok(AutoSubmitted)
    }

    fn display(&self) -> HeaderValue {
        HeaderValue::new(AutoSubmitted::name(), "auto-generated".to_owned())
    }
}

impl Mailer {
    /// `name`: whose mails they are, as people know them.
    pub fn new(server: &MailServer, name: Option<&str>) -> Result<Mailer, MailerProblem> {
        let problem = |error: &dyn std::fmt::Display| MailerProblem(error.to_string());
        let address = server.from.parse::<Address>().map_err(|error| problem(&error))?;
        let tls = match server.tls {
            MailTls::None => Tls::None,
            MailTls::Tls => Tls::Wrapper(parameters(server)?),
            MailTls::Starttls => Tls::Required(parameters(server)?),
        };
        let builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&server.host)
            .port(server.port)
            .tls(tls)
            .timeout(Some(TIMEOUT))
            .pool_config(PoolConfig::new().max_size(CONNECTIONS_MAX).idle_timeout(IDLE));
        let builder = match &server.login {
            Some((user, password)) => {
                builder.credentials(Credentials::new(user.clone(), password.expose_secret().to_owned()))
            }
            None => builder,
        };
        Ok(Mailer { transport: builder.build(), from: Mailbox::new(name.map(str::to_owned), address) })
    }

    /// Sends a mail once.
    pub async fn send(&self, mail: &OutgoingMail<'_>) -> MailOutcome {
        let message = match self.written(mail) {
            Ok(message) => message,
            Err(why) => return MailOutcome::Refused { why },
        };
        match tokio::time::timeout(SEND_WITHIN, self.transport.send(message)).await {
            Ok(Ok(_)) => MailOutcome::Sent,
            Ok(Err(error)) if is_about_the_mail(&error) => MailOutcome::Refused { why: told(&error) },
            Ok(Err(error)) => MailOutcome::Later { why: told(&error) },
            Err(_) => MailOutcome::Later { why: "the mail server took too long".to_owned() },
        }
    }

    /// Connects and signs in, and sends nothing; or why not.
    pub async fn try_it(&self) -> Result<(), String> {
        match tokio::time::timeout(SEND_WITHIN, self.transport.test_connection()).await {
            Ok(Ok(true)) => Ok(()),
            Ok(Ok(false)) => Err("the mail server ended the connection".to_owned()),
            Ok(Err(error)) => Err(told(&error)),
            Err(_) => Err("the mail server took too long".to_owned()),
        }
    }

    fn written(&self, mail: &OutgoingMail<'_>) -> Result<Message, String> {
        let to = mail.to.parse::<Address>().map_err(|error| format!("{error}: {:?}", mail.to))?;
        let subject: String = mail.subject.chars().filter(|c| !c.is_control()).collect();
        let since = mail.at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to))
            .subject(subject)
            .date(mail.at)
            .message_id(Some(format!("<{since}.{}@{}>", mail.id, self.from.email.domain())))
            .header(AutoSubmitted)
            .header(ContentType::TEXT_PLAIN)
            .body(mail.text.to_owned())
            .map_err(|error| error.to_string())
    }
}

/// The server judged this mail or its address, and would again (RFC 5321 4.2.3). That we may not send at all, as with a wrong
/// password, says nothing about a mail.
fn is_about_the_mail(error: &lettre::transport::smtp::Error) -> bool {
    let code = error.status().map(u16::from);
    error.is_permanent() && code.is_some_and(|code| matches!(code, 550..=554))
}

/// The machine's authorities, or those of the file alone.
fn parameters(server: &MailServer) -> Result<TlsParameters, MailerProblem> {
    let problem = |error: &dyn std::fmt::Display| MailerProblem(error.to_string());
    let builder = TlsParameters::builder(server.host.clone());
    let builder = match &server.ca_file {
        None => builder,
        Some(path) => {
            let pem = authorities::read(path).map_err(|why| MailerProblem(format!("ca_file: {why}")))?;
            let all = Certificate::from_pem(&pem).map_err(|error| problem(&error))?;
            builder.certificate_store(CertificateStore::None).add_root_certificate(all)
        }
    };
    builder.build_rustls().map_err(|error| problem(&error))
}

/// With its causes: "Connection error" alone helps nobody.
fn told(error: &lettre::transport::smtp::Error) -> String {
    let mut told = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(one) = cause {
        let words = one.to_string();
        if !told.contains(&words) {
            told = format!("{told}: {words}");
        }
        cause = one.source();
    }
    told.chars().filter(|c| !c.is_control()).take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mailer() -> Mailer {
        let server = MailServer {
            host: "127.0.0.1".to_owned(),
            port: 9,
            tls: MailTls::None,
            login: None,
            from: "till@kudu.example".to_owned(),
            ca_file: None,
        };
        Mailer::new(&server, Some("Kudu Páy")).unwrap()
    }

    #[tokio::test]
    async fn a_mail_is_text_with_one_id_and_no_line_that_others_wrote() {
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let mail = OutgoingMail {
            id: 57,
            to: "halima@kudu.example",
            subject: "Pay\r\nBcc: evil@example.com",
            text: "Ọ̀ṣun: 5,000\n.\nend",
            at,
        };
        let written =
            |mail: &OutgoingMail<'_>| String::from_utf8(mailer().written(mail).unwrap().formatted()).unwrap();
        let text = written(&mail);
        assert!(text.contains("Message-ID: <1700000000.57@kudu.example>\r\n"), "{text}");
        assert!(
            text.contains("Auto-Submitted: auto-generated\r\n")
                && text.contains("To: halima@kudu.example\r\n")
        );
        assert!(
            !text.contains("\r\nBcc") && text.contains("Subject: PayBcc: evil@example.com\r\n"),
            "{text}"
        );
        assert!(text.contains("Date: Tue, 14 Nov 2023 22:13:20 +0000\r\n"), "{text}");
        assert_eq!(text, written(&mail), "sent again it is the same");
        assert!(mailer().written(&OutgoingMail { to: "halima", ..mail }).is_err());
    }

    #[tokio::test]
    async fn nobody_who_answers_is_a_reason_to_come_again() {
        let mail =
            OutgoingMail { id: 1, to: "a@kudu.example", subject: "s", text: "t", at: SystemTime::UNIX_EPOCH };
        let MailOutcome::Later { why } = mailer().send(&mail).await else { panic!() };
        assert!(why.to_lowercase().contains("refused"), "{why}");
    }
}
