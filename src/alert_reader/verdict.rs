//! Authentication-Results: what a server on the way says about a mail, parsed by the grammar of RFC 8601 with
//! the whitespace, comments and quotes of RFC 5322.
//!
//! Anybody can write such a header. Evidence against a mail counts whoever wrote it ([`against`]), and is read
//! as far as it can be. Evidence for a mail counts only if the operator named the writer (see `mail_proof`) and if
//! the whole header is well formed: whoever controls a part of it (a domain, a HELO that the provider repeats)
//! must not be able to add to it. One thing is stricter than the grammar: whitespace must separate properties,
//! a comment alone does not. One is more lenient: a value without quotes may hold `/`, `=`, `+`, `@`, `:`, as
//! honest programs write them. ARC is not read. Bounded and pure. Called by `authentic` and `mail_proof`.

use super::template::Bank;

/// Bytes of one header that are read; a longer one is not read at all.
const MAX_BYTES: usize = 16 * 1024;
/// Results of one header, and properties of one result.
const MAX_FINDINGS: usize = 100;
const MAX_PROPERTIES: usize = 50;
/// Depth of nested comments.
const MAX_DEPTH: u32 = 20;
/// What a DKIM result may tell of (the registry of RFC 8601).
const OF_DKIM: [&str; 5] = ["header.d", "header.i", "header.b", "header.a", "header.s"];

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
pub struct ProviderVerdict {
    pub authserv_id: String,
    pub findings: Vec<Finding>,
    /// All of it follows the grammar, and no property is there twice or under another method.
    pub is_sound: bool,
}

impl Finding {
    pub fn property(&self, name: &str) -> Option<&str> {
        self.properties.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The domain whose signature a DKIM result is about, lower case, as far as it tells one.
    pub fn signer(&self) -> Option<String> {
        let of = self.property("header.d").or(self.property("header.i"));
        of.map(|d| d.rsplit('@').next().unwrap_or_default().to_ascii_lowercase())
    }

    /// Its properties are those of its method, and no place for a stranger's domain.
    fn is_of_its_method(&self) -> bool {
        self.properties.iter().all(|(name, value)| match self.method.as_str() {
            "dkim" if name == "header.b" => value.chars().all(is_base64),
            "dkim" if name == "header.a" => value.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'),
            "dkim" => OF_DKIM.contains(&name.as_str()),
            "dmarc" => name == "header.from" || name.starts_with("policy."),
            "spf" => name.starts_with("smtp.") || name.starts_with("policy."),
            _ => true,
        })
    }
}

/// Reads a header's value. `None`: it cannot be read (a comment or a quote without its end, no name of
/// whoever wrote it), and says nothing.
pub fn parse(value: &str) -> Option<ProviderVerdict> {
    if value.len() > MAX_BYTES {
        return None;
    }
    let mut reader = Reader { rest: value };
    reader.blank()?;
    let authserv_id = reader.value()?.filter(|id| !id.is_empty())?;
    reader.blank()?;
    let version = reader.run(|c| c.is_ascii_digit());
    reader.blank()?;
    let mut verdict =
        ProviderVerdict { authserv_id, findings: Vec::new(), is_sound: matches!(version, "" | "1") };
    let says_none = reader.says_none()?;
    while !says_none && !reader.rest.is_empty() {
        if !reader.take(';') || verdict.findings.len() >= MAX_FINDINGS {
            return None;
        }
        let (finding, is_sound) = reader.finding()?;
        verdict.is_sound &= is_sound;
        verdict.findings.extend(finding);
    }
    verdict.is_sound &= says_none || !verdict.findings.is_empty();
    Some(verdict)
}

/// The input that is left. Any method returns `None` if a comment or quote never ends.
#[derive(Clone, Copy)]
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn take(&mut self, c: char) -> bool {
        let after = self.rest.strip_prefix(c);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    /// The longest prefix of such characters; it may be empty.
    fn run(&mut self, is_wanted: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !is_wanted(c)).unwrap_or(self.rest.len());
        let (found, rest) = self.rest.split_at(end);
        self.rest = rest;
        found
    }

    fn keyword(&mut self) -> String {
        self.run(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_').to_ascii_lowercase()
    }

    /// Skips whitespace and comments. Returns whether there was whitespace.
    fn blank(&mut self) -> Option<bool> {
        let mut is_apart = false;
        loop {
            is_apart |= !self.run(|c| matches!(c, ' ' | '\t' | '\r' | '\n')).is_empty();
            if !self.take('(') {
                return Some(is_apart);
            }
            let mut depth = 1;
            while depth > 0 {
                match self.next()? {
                    '(' if depth >= MAX_DEPTH => return None,
                    '(' => depth += 1,
                    ')' => depth -= 1,
                    '\\' => drop(self.next()?),
                    _ => {}
                }
            }
        }
    }

    /// A quoted string or a bare word; `Some(None)` if neither is next.
    fn value(&mut self) -> Option<Option<String>> {
        if !self.take('"') {
            let word = self.run(is_bare);
            return Some((!word.is_empty()).then(|| word.to_owned()));
        }
        let mut text = String::new();
        loop {
            match self.next()? {
                '"' => return Some(Some(text)),
                '\\' => text.push(self.next()?),
                c => text.push(c),
            }
        }
    }

    /// `; none` to the end: nothing was checked.
    fn says_none(&mut self) -> Option<bool> {
        let mut ahead = *self;
        if !ahead.take(';') {
            return Some(false);
        }
        ahead.blank()?;
        let is_none = ahead.keyword() == "none";
        ahead.blank()?;
        Some(is_none && ahead.rest.is_empty())
    }

    /// `method[/version] = result [reason = value] *(ptype.property = value)` up to the next semicolon.
    /// What does not fit is skipped, and the header is then not well formed.
    fn finding(&mut self) -> Option<(Option<Finding>, bool)> {
        let mut is_sound = true;
        self.blank()?;
        let method = self.keyword();
        self.blank()?;
        if self.take('/') {
            self.blank()?;
            is_sound &= self.run(|c| c.is_ascii_digit()) == "1";
            self.blank()?;
        }
        let is_result = self.take('=');
        self.blank()?;
        let result = if is_result { self.keyword() } else { String::new() };
        let mut finding = Finding { method, result, properties: Vec::new() };
        let mut has_reason = false;
        loop {
            let is_apart = self.blank()?;
            if self.rest.is_empty() || self.rest.starts_with(';') {
                break;
            }
            match self.property()? {
                Some((name, value)) => {
                    let is_reason = name == "reason";
                    is_sound &= is_apart && !(is_reason && (has_reason || !finding.properties.is_empty()));
                    has_reason |= is_reason;
                    is_sound &= finding.property(&name).is_none();
                    if finding.properties.len() >= MAX_PROPERTIES {
                        return None;
                    }
                    if !is_reason {
                        finding.properties.push((name, value));
                    }
                }
                None => {
                    is_sound = false;
                    self.pass_over()?;
                }
            }
        }
        let is_finding = !finding.method.is_empty() && !finding.result.is_empty();
        is_sound &= is_finding && finding.is_of_its_method();
        Some((is_finding.then_some(finding), is_sound))
    }

    /// One property, or the reason; `Some(None)` with nothing read if something else is next.
    fn property(&mut self) -> Option<Option<(String, String)>> {
        let mut ahead = *self;
        let mut name = ahead.keyword();
        ahead.blank()?;
        if name.is_empty() {
            return Some(None);
        }
        if ahead.take('.') {
            ahead.blank()?;
            name = format!("{name}.{}", ahead.keyword());
            ahead.blank()?;
        } else if name != "reason" {
            return Some(None);
        }
        if name.ends_with('.') || !ahead.take('=') {
            return Some(None);
        }
        ahead.blank()?;
        let Some(value) = ahead.value()? else { return Some(None) };
        *self = ahead;
        Some(Some((name, value)))
    }

    /// Skips one thing that does not fit. A bracket that closes nothing cannot be skipped.
    fn pass_over(&mut self) -> Option<()> {
        match self.rest.chars().next()? {
            ')' => None,
            '"' => self.value().map(drop),
            _ => {
                self.next()?;
                self.run(|c| is_bare(c) && c != '=');
                Some(())
            }
        }
    }
}

fn is_base64(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=')
}

/// Characters of a value without quotes.
fn is_bare(c: char) -> bool {
    !c.is_whitespace() && !c.is_control() && !matches!(c, '(' | ')' | '"' | ';' | ',' | '<' | '>' | '\\')
}

/// What a header says against this bank having sent the mail, if anything.
pub fn against(value: &str, bank: &Bank) -> Option<String> {
    let verdict = parse(value)?;
    let mut signed_by_bank = false;
    let mut signed_by_other = None;
    let (mut dkim, mut dmarc, mut spf) = (None, None, None);
    for finding in &verdict.findings {
        let result = finding.result.clone();
        match finding.method.as_str() {
            "dkim" if result == "pass" => match finding.signer() {
                Some(d) if !belongs(&d, bank) => signed_by_other = Some(d),
                _ => signed_by_bank = true,
            },
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

/// What sound findings say besides that keeps them from speaking for the bank's signature on a mail from
/// `from_domain`: a result about the bank that is no pass, or about nobody; DMARC that is no pass for it.
pub fn besides(findings: &[Finding], bank: &Bank, from_domain: &str) -> Option<String> {
    findings.iter().find_map(|finding| match finding.method.as_str() {
        "dkim" if finding.result != "pass" => {
            let is_the_banks = finding.signer().is_none_or(|domain| belongs(&domain, bank));
            is_the_banks.then(|| format!("dkim={}", finding.result))
        }
        "dmarc" => {
            let of = finding.property("header.from").map(str::to_ascii_lowercase);
            let is_it = of.as_deref().is_some_and(|of| of == from_domain);
            let words = format!("dmarc={} for {}", finding.result, of.as_deref().unwrap_or("no domain"));
            (finding.result != "pass" || !is_it).then_some(words)
        }
        _ => None,
    })
}

fn belongs(domain: &str, bank: &Bank) -> bool {
    bank.dkim_domains
        .iter()
        .any(|d| domain == d || domain.strip_suffix(d.as_str()).is_some_and(|rest| rest.ends_with('.')))
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
