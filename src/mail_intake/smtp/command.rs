//! Parses one line of a client as a command: what smtp-proto understands, limited to what we offer.
//!
//! The caller has checked that the line ends in CRLF, and passes it without. What is not offered is refused by
//! name, so that the log of the sending server says why. Pure; called by `session` alone.

use smtp_proto::{Error, MAIL_BODY_7BIT, MAIL_BODY_8BITMIME, Request};

use crate::config::SmtpProtocol;

/// What a client may say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// EHLO or LHLO: the answer lists what is offered.
    Hello,
    Helo,
    /// MAIL FROM; the size if it was announced.
    Mail {
        size: Option<usize>,
    },
    /// RCPT TO; the address as it was written.
    Rcpt {
        address: String,
    },
    Data,
    Reset,
    Noop,
    Verify,
    Help,
    StartTls,
    Quit,
}

/// Why a line is not a command, as an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Answer(&'static str),
    /// It is HTTP, perhaps sent by a web page. Nothing more may be read.
    Web,
}

/// First words of lines that only a web browser sends.
const WEB_WORDS: &[&str] = &["GET", "POST", "HEAD", "PUT", "OPTIONS", "CONNECT", "DELETE", "HOST:"];

const UNKNOWN: Refusal = Refusal::Answer("500 5.5.2 unknown command");
const NOT_OFFERED: Refusal = Refusal::Answer("502 5.5.1 command not supported");
const PARAMETER: Refusal = Refusal::Answer("555 5.5.4 parameter not supported");
const NO_WORDS: Refusal = Refusal::Answer("501 5.5.4 this command has no arguments");

/// Reads a line without its CRLF.
pub(super) fn parse(line: &[u8], protocol: SmtpProtocol) -> Result<Command, Refusal> {
    if line.iter().any(|byte| byte.is_ascii_control()) {
        return Err(Refusal::Answer("500 5.5.2 a command must not contain control characters"));
    }
    let word = line.split(|byte| *byte == b' ').next().unwrap_or_default();
    if WEB_WORDS.iter().any(|web| word.eq_ignore_ascii_case(web.as_bytes())) {
        return Err(Refusal::Web);
    }
    if !line.is_ascii() {
        return Err(Refusal::Answer("553 5.6.7 SMTPUTF8 is not offered: addresses must be ASCII"));
    }
    let whole = [line, b"\r\n"].concat();
    let alone = word.len() == line.trim_ascii_end().len();
    let simple = |command| if alone { Ok(command) } else { Err(NO_WORDS) };
    match Request::parse(&mut whole.iter()).map_err(|error| refusal(&error))? {
        Request::Ehlo { .. } if protocol == SmtpProtocol::Smtp => Ok(Command::Hello),
        Request::Helo { .. } if protocol == SmtpProtocol::Smtp => Ok(Command::Helo),
        Request::Lhlo { .. } if protocol == SmtpProtocol::Lmtp => Ok(Command::Hello),
        Request::Ehlo { .. } | Request::Helo { .. } => {
            Err(Refusal::Answer("500 5.5.1 this is LMTP: send LHLO"))
        }
        Request::Lhlo { .. } => Err(Refusal::Answer("500 5.5.1 this is SMTP: send EHLO")),
        Request::Mail { from } => {
            let plain = from.flags & !(MAIL_BODY_7BIT | MAIL_BODY_8BITMIME) == 0;
            let others = from.trans_id.is_some()
                || from.env_id.is_some()
                || from.solicit.is_some()
                || from.mtrk.is_some()
                || from.auth.is_some()
                || from.by != 0
                || from.hold_for != 0
                || from.hold_until != 0
                || from.mt_priority != 0;
            if !plain || others {
                return Err(PARAMETER);
            }
            Ok(Command::Mail { size: (from.size > 0).then_some(from.size) })
        }
        Request::Rcpt { to } => {
            if to.flags != 0 || to.orcpt.is_some() || to.rrvs != 0 {
                return Err(PARAMETER);
            }
            Ok(Command::Rcpt { address: to.address.into_owned() })
        }
        Request::Data => simple(Command::Data),
        Request::Rset => simple(Command::Reset),
        Request::Quit => simple(Command::Quit),
        Request::StartTls => simple(Command::StartTls),
        Request::Noop { .. } => Ok(Command::Noop),
        Request::Vrfy { .. } => Ok(Command::Verify),
        Request::Help { .. } => Ok(Command::Help),
        Request::Bdat { .. }
        | Request::Auth { .. }
        | Request::Expn { .. }
        | Request::Etrn { .. }
        | Request::Atrn { .. }
        | Request::Burl { .. } => Err(NOT_OFFERED),
    }
}

fn refusal(error: &Error) -> Refusal {
    match error {
        Error::InvalidSenderAddress => Refusal::Answer("501 5.1.7 invalid sender address"),
        Error::InvalidRecipientAddress => Refusal::Answer("501 5.1.3 invalid recipient address"),
        Error::SyntaxError { .. } => {
            Refusal::Answer("501 5.5.4 syntax error: the command is incomplete or malformed")
        }
        Error::InvalidParameter { .. } => Refusal::Answer("501 5.5.4 invalid parameter value"),
        Error::UnsupportedParameter { .. } => PARAMETER,
        _ => UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn smtp(line: &str) -> Result<Command, Refusal> {
        parse(line.as_bytes(), SmtpProtocol::Smtp)
    }

    #[test]
    fn commands_are_read() {
        for (line, command) in [
            ("EHLO mx.till.example", Command::Hello),
            ("ehlo [127.0.0.1]", Command::Hello),
            ("HELO x", Command::Helo),
            ("MAIL FROM:<>", Command::Mail { size: None }),
            ("mail from:<a@b.example> SIZE=1000 BODY=8BITMIME", Command::Mail { size: Some(1000) }),
            ("MAIL FROM: <a@b.example> body=7bit", Command::Mail { size: None }),
            ("RCPT TO:<Alerts@Till.example>", Command::Rcpt { address: "Alerts@Till.example".into() }),
            ("DATA", Command::Data),
            ("data ", Command::Data),
            ("RSET", Command::Reset),
            ("NOOP whatever", Command::Noop),
            ("VRFY till", Command::Verify),
            ("STARTTLS", Command::StartTls),
            ("QUIT", Command::Quit),
        ] {
            assert_eq!(smtp(line), Ok(command), "{line}");
        }
        assert_eq!(parse(b"LHLO x", SmtpProtocol::Lmtp), Ok(Command::Hello));
    }

    #[test]
    fn everything_else_is_refused() {
        for (line, code) in [
            ("", "500"),
            ("HELLO x", "500"),
            ("EHLO", "501"),
            ("LHLO x", "500"),
            ("MAIL FROM:<a@b.example> SMTPUTF8", "555"),
            ("MAIL FROM:<a@b.example> BODY=BINARYMIME", "555"),
            ("MAIL FROM:<a@b.example> RET=FULL", "555"),
            ("MAIL FROM:<a@b.example> AUTH=<>", "555"),
            ("MAIL FROM:<a@b.example> BY=120;R", "555"),
            ("MAIL FROM:<a@b.example> SIZE=many", "501"),
            ("MAIL FROM:<a@b@c>", "501"),
            ("MAIL TO:<a@b.example>", "501"),
            ("RCPT TO:alerts@till.example", "501"),
            ("RCPT TO:<alerts@till.example> NOTIFY=NEVER", "555"),
            ("DATA now", "501"),
            ("QUIT now", "501"),
            ("BDAT 100 LAST", "502"),
            ("AUTH PLAIN AAAA", "502"),
            ("EXPN staff", "502"),
            ("MAIL FROM:<caf\u{e9}@b.example>", "553"),
            ("RCPT TO:<a\u{0}b@till.example>", "500"),
            ("NOOP \r.", "500"),
        ] {
            match smtp(line) {
                Err(Refusal::Answer(text)) => assert!(text.starts_with(code), "{line}: {text}"),
                other => panic!("{line}: {other:?}"),
            }
        }
        for line in ["POST / HTTP/1.1", "get / HTTP/1.1", "Host: 127.0.0.1:25"] {
            assert_eq!(smtp(line), Err(Refusal::Web), "{line}");
        }
        assert!(parse(b"EHLO x", SmtpProtocol::Lmtp).is_err());
    }
}
