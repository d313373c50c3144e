//! Authentication-Results (RFC 8601): what somebody on the way says about a mail, read with its
//! quotes and comments.
//!
//! Anybody can write such a header. It can speak against a mail whoever wrote it ([`against`]); for a
//! mail it speaks only where the operator named the writer, see `proof`. ARC is not read at all.
//! Bounded and pure. Called by `authentic` and `proof`.

use super::template::Bank;

/// Characters of one header that are read.
const MAX_CHARS: usize = 16 * 1024;
/// Words of one header.
const MAX_WORDS: usize = 1_000;

/// One method's result with its properties, such as `("header.d", "bank.example")`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Lower case, without its version.
    pub method: String,
    /// Lower case.
    pub result: String,
    pub properties: Vec<(String, String)>,
}

/// A whole header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub authserv_id: String,
    pub findings: Vec<Finding>,
}

impl Finding {
    pub fn property(&self, name: &str) -> Option<&str> {
        self.properties.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    /// A token or a quoted string.
    Text(String),
    Semicolon,
    Equals,
    Slash,
}

/// Splits into words, comments dropped. `None` where a quote or comment is not closed, or nothing
/// sensible is left.
fn words(value: &str) -> Option<Vec<Word>> {
    let mut words = Vec::new();
    let mut chars = value.chars().take(MAX_CHARS).peekable();
    while let Some(c) = chars.next() {
        if words.len() >= MAX_WORDS {
            return None;
        }
        match c {
            c if c.is_ascii_whitespace() => {}
            '(' => {
                let mut depth = 1_u32;
                while depth > 0 {
                    match chars.next()? {
                        '(' => depth += 1,
                        ')' => depth -= 1,
                        '\\' => drop(chars.next()?),
                        _ => {}
                    }
                }
            }
            ';' => words.push(Word::Semicolon),
            '=' => words.push(Word::Equals),
            '/' if words.last() != Some(&Word::Equals) => words.push(Word::Slash),
            '"' => {
                let mut text = String::new();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '\\' => text.push(chars.next()?),
                        c => text.push(c),
                    }
                }
                words.push(Word::Text(text));
            }
            ')' => return None,
            c => {
                // A value may hold what elsewhere separates words: `header.b=Ab/c=`.
                let is_value = words.last() == Some(&Word::Equals);
                let ends = |c: &char| match c {
                    '=' | '/' => !is_value,
                    c => c.is_ascii_whitespace() || matches!(c, '(' | ')' | ';' | '"'),
                };
                let mut text = String::from(c);
                while let Some(c) = chars.next_if(|c| !ends(c)) {
                    text.push(c);
                }
                words.push(Word::Text(text));
            }
        }
    }
    Some(words)
}

/// Reads a header's value. `None`: it cannot be read, and says nothing for a mail.
pub fn parse(value: &str) -> Option<Verdict> {
    let words = words(value)?;
    let mut sections = words.split(|word| *word == Word::Semicolon);
    // The id may be followed by the header's version, a number.
    let authserv_id = match sections.next()? {
        [Word::Text(id)] => id.clone(),
        [Word::Text(id), Word::Text(version)] if version.bytes().all(|b| b.is_ascii_digit()) => id.clone(),
        _ => return None,
    };
    let findings = sections.filter_map(finding).collect();
    Some(Verdict { authserv_id, findings })
}

/// `method[/version] = result *(name = value)`; a section of another shape says nothing.
fn finding(section: &[Word]) -> Option<Finding> {
    let text = |word: Option<&Word>| match word {
        Some(Word::Text(text)) => Some(text.clone()),
        _ => None,
    };
    let method = text(section.first())?.to_ascii_lowercase();
    let mut at = if section.get(1) == Some(&Word::Slash) { 3 } else { 1 };
    if section.get(at) != Some(&Word::Equals) {
        return None;
    }
    let result = text(section.get(at + 1))?.to_ascii_lowercase();
    at += 2;
    let mut properties = Vec::new();
    while at < section.len() {
        match &section[at..] {
            [Word::Text(name), Word::Equals, Word::Text(value), ..] => {
                properties.push((name.to_ascii_lowercase(), value.clone()));
                at += 3;
            }
            _ => at += 1,
        }
    }
    Some(Finding { method, result, properties })
}

/// What a header says against the mail being this bank's, if anything.
pub fn against(value: &str, bank: &Bank) -> Option<String> {
    let verdict = parse(value)?;
    let mut signed_by_bank = false;
    let mut signed_by_other = None;
    let (mut dkim, mut dmarc, mut spf) = (None, None, None);
    for finding in &verdict.findings {
        let result = finding.result.clone();
        match finding.method.as_str() {
            "dkim" if result == "pass" => {
                let of = finding.property("header.d").or(finding.property("header.i"));
                match of.map(|d| d.rsplit('@').next().unwrap_or_default().to_ascii_lowercase()) {
                    Some(d) if !belongs(&d, bank) => signed_by_other = Some(d),
                    _ => signed_by_bank = true,
                }
            }
            "dkim" => dkim = Some(result),
            "dmarc" => dmarc = Some(result),
            "spf" => spf = Some(result),
            _ => {}
        }
    }
    if dmarc.as_deref() == Some("fail") {
        return Some("Authentication-Results: dmarc=fail".into());
    }
    if signed_by_bank || dmarc.as_deref() == Some("pass") {
        return None;
    }
    // A name server in trouble proves nothing against the mail.
    if let Some(result) = dkim.filter(|v| v != "temperror") {
        return Some(format!("Authentication-Results: dkim={result}"));
    }
    if let Some(other) = signed_by_other {
        return Some(format!("Authentication-Results: signed by {other}, not by the bank"));
    }
    (spf.as_deref() == Some("fail")).then(|| "Authentication-Results: spf=fail".into())
}

fn belongs(domain: &str, bank: &Bank) -> bool {
    bank.dkim_domains
        .iter()
        .any(|d| domain == d || domain.strip_suffix(d.as_str()).is_some_and(|rest| rest.ends_with('.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_comments_are_read_as_the_standard_has_them() {
        let verdict = parse(
            "\"mx.till.example\" (our (inner \\) border)) 1; spf=pass smtp.mailfrom=a@b.example; \
             dkim / 1 = PASS (2048-bit key; \"x\") reason=\"a; dkim=fail\" Header.D=bank.example \
             header.b=ab/c= header.s=mail; none-such",
        )
        .unwrap();
        assert_eq!(verdict.authserv_id, "mx.till.example");
        assert_eq!(verdict.findings.len(), 2);
        let dkim = &verdict.findings[1];
        assert_eq!((dkim.method.as_str(), dkim.result.as_str()), ("dkim", "pass"));
        assert_eq!(dkim.property("header.d"), Some("bank.example"));
        assert_eq!(dkim.property("header.b"), Some("ab/c="));
        assert_eq!(dkim.property("header.s"), Some("mail"));
        assert!(parse("mx.till.example; none").unwrap().findings.is_empty());
    }

    #[test]
    fn what_is_hidden_in_a_comment_or_quote_is_no_result() {
        for value in [
            "mx.till.example; (dkim=pass header.d=bank.example)",
            "mx.till.example; x-note=\"; dkim=pass header.d=bank.example\"",
            "mx.till.example (; dkim=pass header.d=bank.example )",
        ] {
            let verdict = parse(value).unwrap();
            assert!(verdict.findings.iter().all(|f| f.method != "dkim"), "{value}");
        }
        for broken in
            ["", ";", "mx (open; dkim=pass", "mx \"open; dkim=pass", "mx ) ; dkim=pass", "a b; dkim=pass"]
        {
            assert_eq!(parse(broken), None, "{broken}");
        }
    }
}
