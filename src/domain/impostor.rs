//! Whether a merchant's text poses as a payment request of ours: whether it leads, or seems to lead, to the host of
//! confirm links, holds what looks like one of our codes, or is no plain line in the middle of our own words.
//!
//! Looked for in the text as it is and as a reader or a browser would take it: percent-encoded, in full-width or
//! look-alike letters, with invisible characters or blanks in it, with `[.]` for a dot, as another notation of an
//! address, before or after an `@`. Internationalised hosts in their encoded form are refused whole: nobody can read
//! what they say.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use url::{Host, Url};

use super::text::{is_invisible, is_plain_line, turns};

/// Layers of percent-encoding that are taken off.
const LAYERS_MAX: usize = 3;
/// Characters of a confirm link's token, fewer than which no link of ours has.
const TOKEN_CHARS: usize = 40;

/// The host that merchants' texts must not name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnHost {
    host: String,
    /// Counts only where the host is an address or this machine, which others may share.
    port: Option<u16>,
}

/// Why a text is refused; completes "The message ...".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Impostor {
    #[error("must not contain the address of the payment pages")]
    OwnHost,
    #[error("must not contain anything that looks like a payment link")]
    OwnLink,
    #[error("must not contain a domain name in encoded form (xn--)")]
    EncodedHost,
    #[error("must not contain a link")]
    Link,
    #[error(
        "must not contain invisible characters, line separators or characters that change the direction of text"
    )]
    Invisible,
    #[error("must not contain characters that change the direction of text")]
    Turned,
    #[error(
        "must not contain a six-digit number near the words PIN or wallet: only the payment service sends such codes"
    )]
    Code,
    #[error("must not contain the words PIN, OTP or password")]
    SecretWord,
    #[error("must not contain a phone number")]
    Phone,
    #[error("must not contain a phone number or a link near the words PIN, OTP or password")]
    Lure,
}

/// How far from a number, in words, `PIN` or `wallet` makes a code of ours of it.
const CODE_WORDS: usize = 8;
/// Digits of a code of ours.
const CODE_DIGITS: usize = 6;

/// Refuses characters that make a text read otherwise than it is written.
pub fn check_direction(text: &str) -> Result<(), Impostor> {
    if text.chars().any(turns) { Err(Impostor::Turned) } else { Ok(()) }
}

/// Refuses what is no plain piece of one line: links, invisible characters, separators of lines. A link is `://`,
/// `www.`, or a host with a path, with whatever blanks around its dots; a host alone may be a company's name.
pub fn check_line(text: &str) -> Result<(), Impostor> {
    if !is_plain_line(text) {
        return Err(Impostor::Invisible);
    }
    let folded = folded(text);
    let whole = joined(&folded);
    let has_link = whole.contains("://") || whole.contains("www.");
    if has_link || leads_to_a_path(&whole) {
        return Err(Impostor::Link);
    }
    Ok(())
}

/// A host and behind it, perhaps after a port, a slash.
fn leads_to_a_path(text: &str) -> bool {
    text.match_indices('/').any(|(at, _)| {
        let before = &text[..at];
        let before = match before.rsplit_once(':') {
            Some((host, port)) if port.chars().all(|c| c.is_ascii_digit()) => host,
            _ => before,
        };
        before.rsplit(|c: char| !is_part_of_a_host(c)).next().is_some_and(is_host)
    })
}

fn is_part_of_a_host(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '-')
}

/// Whether a folded word is a host under a suffix that is known.
fn is_host(name: &str) -> bool {
    let name = name.trim_matches(|c| c == '.' || c == '-');
    let Some((_, top)) = name.rsplit_once('.') else { return false };
    top.chars().all(char::is_alphabetic)
        && psl::suffix(name.as_bytes()).is_some_and(|end| end.is_known() && end.as_bytes().len() < name.len())
}

/// Refuses a name that a messenger makes a link of, such as `shop.com` or `shop.com/x`. A dot before a blank
/// ends a sentence: no messenger makes a link across it (`A-7. To follow`). Between two blanks it ends none.
pub fn check_hosts(text: &str) -> Result<(), Impostor> {
    let folded = folded(text);
    let tight =
        folded.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ").replace(" . ", ".");
    let mut sentences = tight.split(". ").map(joined);
    let has_host = sentences.any(|sentence| sentence.split(|c: char| !is_part_of_a_host(c)).any(is_host));
    if has_host { Err(Impostor::Link) } else { Ok(()) }
}

/// Refuses a number of six digits beside a word that makes it a code for the wallet's PIN: those come from us
/// alone, from the same number. A shop's own one-time codes pass (contract/wallet.md#w8).
pub fn check_code(text: &str) -> Result<(), Impostor> {
    let folded = folded(text);
    let words: Vec<&str> = folded.split_whitespace().collect();
    let is_said = |at: usize| {
        let (from, to) = (at.saturating_sub(CODE_WORDS), (at + CODE_WORDS + 1).min(words.len()));
        words[from..to].iter().any(|word| speaks_of_wallets(word))
    };
    let mut run = 0;
    for (at, word) in words.iter().enumerate() {
        // A number may be written in several words; a telephone number has more digits.
        let digits = digits_of(word);
        run += digits.unwrap_or(0);
        let goes_on = digits.is_some() && words.get(at + 1).is_some_and(|next| digits_of(next).is_some());
        let is_whole = digits.is_some() && !goes_on && run == CODE_DIGITS;
        if (is_whole || holds_six(word)) && is_said(at) {
            return Err(Impostor::Code);
        }
        if digits.is_none() {
            run = 0;
        }
    }
    Ok(())
}

/// How many digits a word has that is nothing but digits, with strokes between and signs around them.
fn digits_of(word: &str) -> Option<usize> {
    let inner = word.trim_matches(|c: char| !c.is_alphanumeric());
    let is_plain = !inner.is_empty() && inner.chars().all(|c| c.is_numeric() || c == '-');
    is_plain.then(|| inner.chars().filter(|c| c.is_numeric()).count())
}

/// Six digits as a part of a word: `code:493017`. Amounts are whole parts with their signs.
fn holds_six(word: &str) -> bool {
    word.split(|c: char| !c.is_alphanumeric() && !matches!(c, ',' | '.')).any(|part| {
        let part = part.trim_matches(['.', ',']);
        part.chars().count() == CODE_DIGITS && part.chars().all(char::is_numeric)
    })
}

fn speaks_of_wallets(word: &str) -> bool {
    let parts = word.split(|c: char| !c.is_alphanumeric() && c != '.');
    parts
        .map(|part| part.replace('.', ""))
        .any(|part| matches!(part.as_str(), "pin" | "pins" | "pincode" | "pincodes" | "wallet" | "wallets"))
}

impl OwnHost {
    /// Of the address under which the pages are; `None` if that is no URL.
    pub fn of(public_url: &str) -> Option<OwnHost> {
        let url = Url::parse(public_url).ok()?;
        let shared = match url.host()? {
            Host::Domain(name) => name == "localhost",
            Host::Ipv4(_) | Host::Ipv6(_) => true,
        };
        let port = if shared { url.port_or_known_default() } else { None };
        Some(OwnHost { host: url.host_str()?.to_owned(), port })
    }

    /// Refuses a text that leads here or seems to.
    pub fn check(&self, text: &str) -> Result<(), Impostor> {
        let mut form = text.to_owned();
        for _ in 0..=LAYERS_MAX {
            self.check_form(&form)?;
            let decoded = percent_decoded(&form);
            if decoded == form {
                break;
            }
            form = decoded;
        }
        Ok(())
    }

    fn check_form(&self, text: &str) -> Result<(), Impostor> {
        let folded = joined(&folded(text));
        if self.is_named_in(&folded) {
            return Err(Impostor::OwnHost);
        }
        if folded.contains("xn--") {
            return Err(Impostor::EncodedHost);
        }
        if has_token(text) {
            return Err(Impostor::OwnLink);
        }
        let tokens =
            text.split(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | '(' | ')' | ','));
        if tokens.chain(folded.split(' ')).any(|token| self.is_led_to_by(token)) {
            return Err(Impostor::OwnHost);
        }
        Ok(())
    }

    /// The host stands in the text, not as the end of a longer name.
    fn is_named_in(&self, folded: &str) -> bool {
        let wanted = match self.port {
            Some(port) => format!("{}:{port}", self.host),
            None => self.host.clone(),
        };
        folded.match_indices(&wanted).any(|(at, _)| {
            let before = folded[..at].chars().next_back();
            before.is_none_or(|c| !c.is_alphanumeric() && c != '-')
        })
    }

    /// A browser that is given this goes to the host.
    fn is_led_to_by(&self, token: &str) -> bool {
        let lower = token.to_lowercase();
        let urls = match lower.find("://").or_else(|| lower.find(":\\\\")).or_else(|| lower.find(":/")) {
            Some(at) => {
                let begin = lower[..at].rfind(|c: char| !c.is_ascii_alphanumeric()).map_or(0, |n| n + 1);
                vec![lower[begin..].to_owned()]
            }
            None if lower.contains(['.', ':', '/']) => {
                vec![format!("http://{lower}"), format!("https://{lower}")]
            }
            None => return false,
        };
        urls.iter().filter_map(|url| Url::parse(url).ok()).any(|url| {
            let host = url.host_str().unwrap_or_default().trim_end_matches('.');
            let is_host = host == self.host || host.ends_with(&format!(".{}", self.host));
            is_host && self.port.is_none_or(|port| url.port_or_known_default() == Some(port))
        })
    }
}

/// `%70ay` and `%2570ay` as `pay`; what is no code stays.
fn percent_decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let code = bytes.get(at + 1..at + 3).and_then(|two| std::str::from_utf8(two).ok());
        match code.filter(|_| bytes[at] == b'%').and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Lower case, compatible forms as plain ones, look-alikes as what they look like, invisible characters
/// and marks gone, every blank one blank.
pub(super) fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.nfkd().flat_map(char::to_lowercase) {
        match c {
            _ if is_combining_mark(c) || is_invisible(c) => {}
            _ if c.is_whitespace() => out.push(' '),
            _ => out.push(look_alike(c)),
        }
    }
    out
}

/// Dots written as words or in brackets become dots, blanks around dots, slashes and colons go.
fn joined(folded: &str) -> String {
    let mut text = folded.to_owned();
    for (from, to) in [
        ("[.]", "."),
        ("(.)", "."),
        ("{.}", "."),
        ("[dot]", "."),
        ("(dot)", "."),
        ("{dot}", "."),
        (" dot ", "."),
        ("[punkt]", "."),
    ] {
        text = text.replace(from, to);
    }
    let mut out = String::with_capacity(text.len());
    let is_joint = |c: char| matches!(c, '.' | '/' | ':' | '-');
    for c in text.chars() {
        if is_joint(c) {
            while out.ends_with(' ') {
                out.pop();
            }
        }
        if c == ' ' && out.chars().next_back().is_some_and(is_joint) {
            continue;
        }
        out.push(c);
    }
    out
}

/// Letters of other scripts that are read as Latin ones, and other dots, slashes and colons.
fn look_alike(c: char) -> char {
    match c {
        'а' | 'α' | 'ɑ' => 'a',
        'Ь' | 'ь' | 'в' | 'β' => 'b',
        'с' | 'ϲ' | 'ⅽ' | 'ᴄ' => 'c',
        'ԁ' | 'ɗ' => 'd',
        'е' | 'є' | 'ҽ' | 'ε' | 'ẹ' => 'e',
        'ғ' => 'f',
        'ɡ' | 'ց' => 'g',
        'һ' | 'հ' | 'н' => 'h',
        'і' | 'ї' | 'ι' | 'ı' | 'ӏ' | 'ɩ' => 'i',
        'ј' => 'j',
        'к' | 'κ' | 'ĸ' => 'k',
        'ⅼ' | 'ʟ' | '|' => 'l',
        'м' | 'ⅿ' => 'm',
        'п' | 'ո' | 'η' | 'ŋ' => 'n',
        'о' | 'ο' | 'օ' | 'σ' | 'ᴏ' => 'o',
        'р' | 'ρ' => 'p',
        'ԛ' => 'q',
        'г' | 'ʀ' => 'r',
        'ѕ' | 'ꜱ' => 's',
        'т' | 'τ' => 't',
        'υ' | 'ս' | 'ц' => 'u',
        'ѵ' | 'ν' | 'ⅴ' => 'v',
        'ԝ' | 'ѡ' | 'ω' => 'w',
        'х' | 'χ' | 'ⅹ' => 'x',
        'у' | 'γ' | 'ү' => 'y',
        'ᴢ' => 'z',
        '。' | '．' | '｡' | '․' | '·' | '•' | '٠' | '۔' | '܁' | '܂' | 'ꓸ' => '.',
        '⁄' | '∕' | '╱' | '⧸' | '\\' => '/',
        '։' | '׃' | '∶' | 'ː' | '꞉' | '︰' => ':',
        '‐' | '‑' | '‒' | '–' | '−' | '⁃' | '﹘' => '-',
        _ => c,
    }
}

/// `/pay/` and a token, on whatever host.
fn has_token(text: &str) -> bool {
    let is_token = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    text.match_indices("/pay/")
        .any(|(at, found)| text[at + found.len()..].chars().take_while(is_token).count() >= TOKEN_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(public: &str, text: &str) -> bool {
        OwnHost::of(public).unwrap().check(text).is_err()
    }

    #[test]
    fn links_to_the_confirm_host_are_refused_however_they_are_written() {
        for text in [
            "Pay here: https://pay.tills.example/pay/abc",
            "HTTPS://PAY.TILLS.EXAMPLE",
            "pay.tills.example/x",
            "see(pay.tills.example)",
            "https://user@pay.tills.example/",
            "https://pay.tills.example@evil.example/",
            "https://pay.tills.example.evil.example/",
            "https://a.pay.tills.example/",
            "https://evil.example/?next=https%3A%2F%2Fpay%2Etills%2Eexample",
            "https://%70%61%79.tills.example",
            "https://%2570ay.tills.example",
            "pay . tills . example",
            "pay.\u{200b}tills.ex\u{ad}ample",
            "pay[.]tills[dot]example",
            "pay dot tills dot example",
            "https://ｐａｙ．ｔｉｌｌｓ．ｅｘａｍｐｌｅ",
            "https://рау.tills.example",
            "pay。tills。example",
            "https:\\\\pay.tills.example\\pay",
            "https://páy.tills.example",
            "https://xn--py-4ha.tills.example",
            "http:/pay.tills.example/",
            "https://shop.example/pay/0123456789abcdefghijABCDEFGHIJ0123456789_-x",
        ] {
            assert!(refused("https://pay.tills.example", text), "{text}");
        }
    }

    #[test]
    fn a_line_is_plain() {
        for bad in [
            "https://x",
            "A-7 see ｗｗｗ.x",
            "http : //x",
            "a\u{2028}b",
            "a\u{2029}b",
            "a\u{202e}b",
            "a\u{200b}b",
            "a\u{feff}",
        ] {
            assert!(check_line(bad).is_err(), "{bad:?}");
        }
        for bad in "shop.com/x|Ada shop.com.ng / x|ｓｈｏｐ．ng/7|bit.ly/7|shop[.]com/x|see shop.com:8080/|\
                    shop . com/x|shop. com/x|Ada shop .com/x|shop .  com / x"
            .split('|')
        {
            assert_eq!(check_line(bad), Err(Impostor::Link), "{bad:?}");
        }
        let good = "Ade Ltd. Ikeja/Lagos|Ada . Obi|A-7|INV/2026/11.3|Ẹ̀bùn ❤\u{fe0f}|Order: 12 / 3|Dr. Okoro-Bello|\
                    Ada S/O Bello|A. B/C|shop.com|12.50/3";
        for good in good.split('|') {
            assert_eq!(check_line(good), Ok(()), "{good:?}");
        }
        for bad in
            "a shop.com|shop.com.ng/x|7 ｓｈｏｐ．ｃｏｍ|(bit.ly/7)|A-7. To shop.com|a shop .com|shop[.] com|\
                    see shop . com|see shop  .  com"
                .split('|')
        {
            assert!(check_hosts(bad).is_err(), "{bad:?}");
        }
        for good in
            ["A.7", "INV.2026.11", "No.7", "12.50", "Okoro B. A-7.", "com", "A-7. To follow", "7. In all"]
        {
            assert_eq!(check_hosts(good), Ok(()), "{good:?}");
        }
    }

    #[test]
    fn a_text_does_not_change_its_direction() {
        assert!(check_direction("one\n\u{2066}two").is_err());
        assert_eq!(check_direction("one\ntwo \u{200d}\u{2028}three"), Ok(()));
    }

    #[test]
    fn codes_of_six_digits_are_ours_alone() {
        for bad in [
            "493017 is your code to set your wallet PIN. Send it to our agent.",
            "Your PIN code is 123456.",
            "Your wallet OTP: 493-017",
            "pin:493017",
            "P.I.N. ４９３０１７",
            "your wallet's pass-code 4 9 3 0 1 7",
            "PIN\n493 017",
            "(493017) one-time\nwallet verification",
        ] {
            assert_eq!(check_code(bad), Err(Impostor::Code), "{bad}");
        }
        for good in [
            "Your order 493017 is ready.",
            "Your one-time code is 123456. Never give it to anybody.",
            "5 Allen Avenue, Ikeja, postal code 100271",
            "OTP: 482 913",
            "Use code SAVE10: NGN 5,000.00 off",
            "Code A1B2C3, 4931 pieces",
            "Call 0803 123 4567 or +234 803 123 4567 for the code",
            "Collect it with the pin in 100 days, 20 hours",
            "Your pickup code is 4931.",
        ] {
            assert_eq!(check_code(good), Ok(()), "{good}");
        }
    }

    #[test]
    fn ordinary_texts_pass() {
        for text in [
            "Your order is ready. Pay at the till: 5,000.00!",
            "Your code is 123456.",
            "https://shop.example/orders/7?pay=1",
            "https://notpay.tills.example.org.shop.example",
            "mypay.tills.example",
            "https://shop.example/pay/7",
            "line one\nline two: https://shop.example",
            "tills.example",
            "Ẹ kú àárọ̀, ọjà yín ti dé.",
            "50% off, 100 %",
        ] {
            assert!(!refused("https://pay.tills.example", text), "{text}");
        }
    }

    #[test]
    fn addresses_count_with_their_port_in_every_notation() {
        for text in [
            "http://127.0.0.1:8080/pay/x",
            "http://2130706433:8080/pay/x",
            "http://0x7f.1:8080/",
            "http://0177.0.0.1:8080/",
            "127.0.0.1:8080",
            "http://127.1:8080/x",
        ] {
            assert!(refused("http://127.0.0.1:8080", text), "{text}");
        }
        assert!(!refused("http://127.0.0.1:8080", "http://127.0.0.1:4000/hook"));
        assert_eq!(OwnHost::of("no url"), None);
    }
}
