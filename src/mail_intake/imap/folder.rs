//! Names of folders as IMAP writes them: modified UTF-7 (RFC 3501, 5.1.3).
//!
//! Printable ASCII stands for itself, `&` is written `&-`, everything else as base64 of UTF-16
//! between `&` and `-`. Pure. Used by `session`.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+,";

/// The encoded name.
pub fn encode(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut foreign = String::new();
    for c in name.chars() {
        if (' '..='~').contains(&c) {
            flush(&mut foreign, &mut out);
            out.push(c);
            if c == '&' {
                out.push('-');
            }
        } else {
            foreign.push(c);
        }
    }
    flush(&mut foreign, &mut out);
    out
}

fn flush(foreign: &mut String, out: &mut String) {
    if foreign.is_empty() {
        return;
    }
    out.push('&');
    let (mut bits, mut count) = (0_u32, 0);
    let mut digit = |value: u32| out.push(char::from(DIGITS[(value & 63) as usize]));
    for unit in foreign.encode_utf16() {
        bits = (bits << 16) | u32::from(unit);
        count += 16;
        while count >= 6 {
            count -= 6;
            digit(bits >> count);
        }
        bits &= (1 << count) - 1;
    }
    if count > 0 {
        digit(bits << (6 - count));
    }
    out.push('-');
    foreign.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_standard() {
        assert_eq!(encode("INBOX"), "INBOX");
        assert_eq!(encode("~peter/mail/台北/日本語"), "~peter/mail/&U,BTFw-/&ZeVnLIqe-");
        assert_eq!(encode("Jumping & Jacks"), "Jumping &- Jacks");
        assert_eq!(encode("Envoyés"), "Envoy&AOk-s");
        assert_eq!(encode("☺!"), "&Jjo-!");
    }
}
