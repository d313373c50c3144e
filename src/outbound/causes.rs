//! Why a POST failed, in plain words: the causes that the libraries below know, told so that an operator can
//! act on them.
//!
//! The texts of libraries are never passed on: they change with the library, and some contain the address of a
//! manual. Pure. Used by `connect` and `client`, and for TLS by `mail_intake::imap`.

use std::error::Error;
use std::io::{self, ErrorKind};

use rustls::{AlertDescription, CertificateError};

use super::PostError;
use super::meter::TooMuch;

/// Where the operator of this client names a private authority.
const CA_SETTING: &str = "webhooks.extra_ca_file";

/// What was expected when an exchange ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Status line and headers.
    Head,
    Body,
}

/// A look-up that failed. The system's resolver tells its cause by its text alone.
pub(super) fn dns(error: &io::Error) -> PostError {
    let text = error.to_string();
    let is = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
    PostError::Dns(if is(&["Name or service not known", "No address associated", "Name does not resolve"]) {
        "the host name does not exist or has no address"
    } else if is(&["Temporary failure", "Try again"]) {
        "the host name could not be looked up: no name server answered"
    } else {
        "the host name could not be looked up"
    })
}

/// A TCP connection that failed.
pub(super) fn connect(error: &io::Error) -> PostError {
    PostError::Connect(match error.kind() {
        ErrorKind::ConnectionRefused => "the connection was refused: nothing listens there".into(),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => "there is no route to the host".into(),
        ErrorKind::TimedOut => "the host did not respond".into(),
        ErrorKind::ConnectionReset => "the connection was reset".into(),
        ErrorKind::PermissionDenied => "this machine does not allow the connection (a firewall?)".into(),
        ErrorKind::AddrNotAvailable => "this machine has no free address or port".into(),
        _ => system(error),
    })
}

/// A TLS handshake that failed.
pub(super) fn handshake(error: &io::Error) -> PostError {
    if is_too_much(error) {
        return PostError::TooLarge;
    }
    PostError::Tls(tls_cause(error, CA_SETTING))
}

/// An answer that did not come, or not to its end.
pub(super) fn exchange(error: &hyper::Error, part: Part) -> PostError {
    let io = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    if error.is_parse_too_large() || io.is_some_and(is_too_much) {
        return PostError::TooLarge;
    }
    let closed = match part {
        Part::Head => "the connection was closed before the response headers were complete",
        Part::Body => "the connection was closed before the end of the response",
    };
    let malformed = match part {
        Part::Head => "the response is not valid HTTP",
        Part::Body => "the body of the response is malformed",
    };
    if error.is_parse() {
        return PostError::Protocol(malformed.into());
    }
    let Some(io) = io else { return PostError::Protocol(closed.into()) };
    if tls_error(io).is_some() {
        return PostError::Tls(tls_cause(io, CA_SETTING));
    }
    PostError::Protocol(match io.kind() {
        // This end can be recognised only by its text.
        ErrorKind::UnexpectedEof if part == Part::Body && io.to_string().contains("close_notify") => {
            "the connection was closed without close_notify".into()
        }
        ErrorKind::UnexpectedEof => closed.into(),
        ErrorKind::ConnectionReset => "the connection was reset".into(),
        ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe | ErrorKind::NotConnected => closed.into(),
        ErrorKind::InvalidData | ErrorKind::InvalidInput => malformed.into(),
        ErrorKind::TimedOut => "the connection timed out".into(),
        _ => system(io),
    })
}

/// Why there is no TLS with a server. `setting` is where a private authority of such servers is named.
pub fn tls_cause(error: &io::Error, setting: &str) -> String {
    match tls_error(error) {
        Some(error) => tls(error, setting),
        None => match error.kind() {
            ErrorKind::UnexpectedEof => "the server closed the connection during the TLS handshake".into(),
            ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => {
                "the server reset the connection during the TLS handshake".into()
            }
            _ => system(error),
        },
    }
}

fn tls_error(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>())
}

fn tls(error: &rustls::Error, setting: &str) -> String {
    use rustls::Error as Tls;
    let words = match error {
        Tls::InvalidCertificate(CertificateError::UnknownIssuer) => {
            return format!(
                "the issuer of its certificate is not trusted here (UnknownIssuer); {}",
                hint(setting)
            );
        }
        // An authority of that name is trusted, but with another key: an older one of the same owner, for
        // example.
        Tls::InvalidCertificate(why @ CertificateError::BadSignature) => {
            return format!("{}; {}", certificate(why), hint(setting));
        }
        Tls::InvalidCertificate(why) => certificate(why),
        Tls::AlertReceived(alert) => refused(*alert),
        Tls::InvalidMessage(_) | Tls::InappropriateMessage { .. } | Tls::PeerSentOversizedRecord => {
            "the server does not speak TLS on this port"
        }
        Tls::PeerIncompatible(_) => "the server offers neither TLS 1.2 nor 1.3 with secure ciphers",
        Tls::NoApplicationProtocol => "the server does not offer HTTP/1.1",
        _ => "the TLS handshake failed",
    };
    words.to_owned()
}

/// What helps where the issuer is not one that is trusted.
fn hint(setting: &str) -> String {
    format!(
        "the server must send its intermediate certificates, or its private authority must be listed in {setting}"
    )
}

fn certificate(why: &CertificateError) -> &'static str {
    use CertificateError as Bad;
    match why {
        Bad::Expired | Bad::ExpiredContext { .. } => "its certificate has expired",
        Bad::NotValidYet | Bad::NotValidYetContext { .. } => {
            "its certificate is not valid yet, or the clock of this machine is wrong"
        }
        Bad::NotValidForName | Bad::NotValidForNameContext { .. } => {
            "its certificate is for another host name"
        }
        Bad::Revoked => "its certificate has been revoked",
        Bad::InvalidPurpose | Bad::InvalidPurposeContext { .. } => "its certificate is not for servers",
        Bad::BadSignature => "its certificate is not signed by the issuer that it names",
        Bad::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
            "its certificate is an authority's own (CA:TRUE), which a server cannot use"
        }
        _ => "its certificate is not valid",
    }
}

fn refused(alert: AlertDescription) -> &'static str {
    match alert {
        AlertDescription::HandshakeFailure | AlertDescription::InsufficientSecurity => {
            "the server and tillbell have no TLS settings in common"
        }
        AlertDescription::ProtocolVersion => "the server supports neither TLS 1.2 nor 1.3",
        AlertDescription::UnrecognisedName => "the server does not know the host name",
        AlertDescription::NoApplicationProtocol => "the server does not offer HTTP/1.1",
        AlertDescription::CertificateRequired | AlertDescription::BadCertificate => {
            "the server asks for a client certificate"
        }
        AlertDescription::InternalError => "the server reports an internal TLS error",
        _ => "the server aborted the TLS handshake",
    }
}

/// Other errors, by the system's number.
fn system(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(number) => format!("the connection failed (system error {number})"),
        None => "the connection failed".into(),
    }
}

/// Whether the reading was cut off by the limit on an exchange.
fn is_too_much(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|cause| cause.is::<TooMuch>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_tls(error: rustls::Error) -> String {
        handshake(&io::Error::new(ErrorKind::InvalidData, error)).to_string()
    }

    #[test]
    fn a_name_that_is_not_there_is_told_from_a_name_server_that_is_not() {
        let told = |text: &'static str| {
            dns(&io::Error::other(format!("failed to lookup address information: {text}"))).to_string()
        };
        for absent in ["Name or service not known", "No address associated with hostname"] {
            assert_eq!(told(absent), "the host name does not exist or has no address");
        }
        assert!(told("Temporary failure in name resolution").ends_with("no name server answered"));
        assert_eq!(told("something new"), "the host name could not be looked up");
    }

    #[test]
    fn a_connection_tells_its_kind_and_not_the_systems_words() {
        let told = |number| connect(&io::Error::from_raw_os_error(number)).to_string();
        assert_eq!(told(111), "could not connect: the connection was refused: nothing listens there");
        assert_eq!(told(113), "could not connect: there is no route to the host");
        assert_eq!(told(110), "could not connect: the host did not respond");
        assert_eq!(told(24), "could not connect: the connection failed (system error 24)");
    }

    #[test]
    fn every_certificate_that_is_refused_is_told_in_words() {
        for (why, expected) in [
            (CertificateError::UnknownIssuer, "(UnknownIssuer)"),
            (CertificateError::UnknownIssuer, "webhooks.extra_ca_file"),
            (CertificateError::BadSignature, "webhooks.extra_ca_file"),
            (CertificateError::BadSignature, "is not signed by the issuer that it names"),
            (CertificateError::Expired, "has expired"),
            (CertificateError::NotValidYet, "not valid yet"),
            (CertificateError::NotValidForName, "another host name"),
            (CertificateError::BadEncoding, "not valid"),
        ] {
            let told = of_tls(rustls::Error::InvalidCertificate(why));
            assert!(told.starts_with("no secure connection: ") && told.contains(expected), "{told}");
        }
        let imap = io::Error::other(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer));
        assert!(tls_cause(&imap, "mail.imap[].ca_file").ends_with("listed in mail.imap[].ca_file"));
    }

    #[test]
    fn a_server_that_ends_the_handshake_is_told_in_words() {
        for (error, expected) in [
            (rustls::Error::AlertReceived(AlertDescription::HandshakeFailure), "no TLS settings in common"),
            (rustls::Error::AlertReceived(AlertDescription::UnrecognisedName), "does not know the host name"),
            (rustls::Error::AlertReceived(AlertDescription::Unknown(250)), "aborted the TLS handshake"),
            (
                rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType),
                "does not speak TLS on this port",
            ),
            (rustls::Error::General("see https://manual.example".into()), "the TLS handshake failed"),
        ] {
            let told = of_tls(error);
            assert!(told.ends_with(expected), "{told}");
        }
        let closed = handshake(&ErrorKind::UnexpectedEof.into()).to_string();
        assert!(closed.ends_with("the server closed the connection during the TLS handshake"), "{closed}");
        assert_eq!(handshake(&io::Error::other(TooMuch)), PostError::TooLarge);
    }
}
