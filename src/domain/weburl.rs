//! Web addresses merchants give us: websites they register and URLs webhooks go to.
//!
//! One parser (the `url` crate, which follows the WHATWG rules) reads an address once; the
//! `TargetUrl` it makes is what is checked and what is sent to, so that no second reading
//! can disagree. Which IP addresses a name may resolve to is not decided here but when
//! connecting (`crate::outbound`). Used by ops when a URL comes in, by work before a send.

use std::net::Ipv4Addr;

use url::{Host, Url};

/// The most characters a URL may have (contract/limits.md#x6).
pub const MAX_URL_CHARS: usize = 500;
/// The most characters a host name may have in DNS, and a label of it.
const MAX_HOST_CHARS: usize = 253;
const MAX_LABEL_CHARS: usize = 63;

/// Ports of other protocols, which somebody who chooses a URL could have spoken to in ours: the bad
/// ports of WHATWG's fetch standard, and below them databases, caches, brokers and consoles.
const FOREIGN_PORTS: [u16; 110] = [
    1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
    109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
    526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049,
    3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
    // Kerberos, SMB, IPP, rsync, MS SQL, Oracle, MQTT, Docker, etcd.
    88, 445, 631, 873, 1433, 1521, 1883, 2375, 2376, 2379, 2380,
    // MySQL, RDP, Subversion, PostgreSQL, AMQP, VNC, Redis, Cassandra, Kafka.
    3306, 3389, 3690, 5432, 5671, 5672, 5900, 6379, 9042, 9092,
    // Nodes of Elasticsearch, memcached, Redis Sentinel, MongoDB, X of MySQL.
    9300, 11211, 26379, 27017, 27018, 27019, 33060,
];

pub const HTTP_OR_HTTPS: &str = "must use http or https";

/// Why a text is not taken as an address; the reason completes the sentence "the URL ...".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlProblem {
    /// Not a URL at all: a fault of form (422).
    NotAUrl(&'static str),
    /// A URL, but one that can never be of an approved website (400).
    NotAllowed(&'static str),
}

impl UrlProblem {
    /// The reason in words, as "must use https".
    pub const fn reason(self) -> &'static str {
        match self {
            UrlProblem::NotAUrl(reason) | UrlProblem::NotAllowed(reason) => reason,
        }
    }
}

/// An address that may be posted to. Its host is IDNA-mapped, lower case, without a trailing dot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TargetUrl {
    url: Url,
}

impl TargetUrl {
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The normal form, without a fragment.
    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }

    /// The host to compare by `host_is_within`; an IPv6 literal is in brackets.
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// The port, the scheme's own if none was written.
    pub fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or(443)
    }

    pub fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }
}

/// A webhook URL with everything that is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookedAt {
    /// As far as it could be read; its host tells whose it is, whatever else is wrong.
    pub target: Option<TargetUrl>,
    pub problems: Vec<UrlProblem>,
}

/// Reads a webhook URL. https only; `dev` also takes http, and the hosts `localhost` and
/// `127.0.0.1` on any port. Refuses userinfo, IP literals in any notation, backslashes, public
/// suffixes, and ports of other protocols. A fragment is dropped: it is never sent.
pub fn parse_target(text: &str, dev: bool) -> Result<TargetUrl, UrlProblem> {
    let LookedAt { target, problems } = look_at_target(text, dev);
    match (problems.into_iter().next(), target) {
        (None, Some(target)) => Ok(target),
        (problem, _) => Err(problem.unwrap_or(UrlProblem::NotAUrl("must be a valid URL"))),
    }
}

/// The same, for callers who tell all that is wrong.
pub fn look_at_target(text: &str, dev: bool) -> LookedAt {
    let (target, user) = match read_with_user(text) {
        Ok(read) => read,
        Err(problem) => return LookedAt { target: None, problems: vec![problem] },
    };
    let mut problems = Vec::from_iter(user);
    // Told before anything else: with https it would not do either.
    let localhost = refuse_localhost(&target.url, dev).err();
    problems.extend(localhost);
    if !(target.is_https() || (dev && target.url.scheme() == "http")) {
        problems.push(UrlProblem::NotAllowed(if dev { HTTP_OR_HTTPS } else { "must use https" }));
    }
    if localhost.is_none() {
        problems.extend(check_host(&target.url, dev).err());
    }
    // Dev mode's own hosts may use any port there is.
    let is_foreign =
        |port| port == 0 || (FOREIGN_PORTS.contains(&port) && !(dev && is_dev_host(target.host())));
    // The scheme's own port is the scheme's fault.
    if target.url.port().is_some_and(is_foreign) {
        problems.push(UrlProblem::NotAllowed("must not use a port that is reserved for another protocol"));
    }
    LookedAt { target: Some(target), problems }
}

/// Reads a URL an operator wrote into the configuration (a messenger's base address): http
/// or https, any host, literals too. What it resolves to is still checked when connecting.
pub fn parse_operator_url(text: &str) -> Result<TargetUrl, UrlProblem> {
    let target = read_url(text)?;
    if !matches!(target.url.scheme(), "http" | "https") {
        return Err(UrlProblem::NotAllowed(HTTP_OR_HTTPS));
    }
    Ok(target)
}

/// Reads a website, a bare host (`shop.example`) or a URL of it with http or https, and gives
/// its host as it is stored and compared: IDNA, lower case, no trailing dot, no leading `www.`.
pub fn parse_website(text: &str, dev: bool) -> Result<String, UrlProblem> {
    let text = text.trim();
    let target = if text.contains("://") { read_url(text)? } else { read_url(&format!("https://{text}"))? };
    if !matches!(target.url.scheme(), "http" | "https") {
        return Err(UrlProblem::NotAllowed(HTTP_OR_HTTPS));
    }
    check_host(&target.url, dev)?;
    Ok(comparable(target.host()))
}

/// A website as a link to it: its full address and the host that it shows. `None` if the text is none any more.
pub fn website_address(text: &str) -> Option<(String, String)> {
    let text = text.trim();
    let full = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
    let target = read_url(&full).ok()?;
    let host = target.host().to_owned();
    matches!(target.url.scheme(), "http" | "https").then(|| (target.as_str().to_owned(), host))
}

/// An address with more in its query, behind what is there; `None` if the text is none.
pub fn with_query(text: &str, pairs: &[(&str, &str)]) -> Option<String> {
    let mut target = read_url(text).ok()?;
    target.url.query_pairs_mut().extend_pairs(pairs);
    Some(target.as_str().to_owned())
}

/// Whether `host` is `approved_host` or a sub-domain of it, label by label; case, a trailing
/// dot, a leading `www.` and a port on either side do not matter.
pub fn host_is_within(host: &str, approved_host: &str) -> bool {
    let (host, approved) = (comparable(host), comparable(approved_host));
    if host.is_empty() || approved.is_empty() {
        return false;
    }
    if host == approved {
        return true;
    }
    // Addresses have no sub-domains, and none slip in here: 5.127.0.0.1 is not a host at all.
    host.strip_suffix(approved.as_str()).is_some_and(|above| above.len() > 1 && above.ends_with('.'))
}

/// Whether one host is equal to, above or below the other; two such hosts cannot be approved
/// for two businesses, for each could send the other's webhooks.
pub fn hosts_overlap(a: &str, b: &str) -> bool {
    host_is_within(a, b) || host_is_within(b, a)
}

/// The hosts dev mode takes besides real ones, and which several businesses may share there.
pub fn is_dev_host(host: &str) -> bool {
    matches!(comparable(host).as_str(), "localhost" | "127.0.0.1")
}

/// Whether two URLs are the same after normalisation (case of scheme and host, IDNA, default
/// port, dot segments, trailing dot of the host; fragments are not sent and do not count).
pub fn same_url(a: &str, b: &str) -> bool {
    match (read_url(a), read_url(b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

/// Parses and brings to normal form; knows nothing yet of which hosts are good.
fn read_url(text: &str) -> Result<TargetUrl, UrlProblem> {
    match read_with_user(text)? {
        (target, None) => Ok(target),
        (_, Some(problem)) => Err(problem),
    }
}

/// The same; a user name is told beside the rest.
fn read_with_user(text: &str) -> Result<(TargetUrl, Option<UrlProblem>), UrlProblem> {
    use UrlProblem::{NotAUrl, NotAllowed};
    let text = text.trim();
    if text.chars().nth(MAX_URL_CHARS).is_some() {
        return Err(NotAUrl("must not be longer than 500 characters"));
    }
    // The parser would silently drop tabs and line ends, and read a backslash as a slash;
    // other programs do not, so neither is let through.
    if text.chars().any(char::is_control) {
        return Err(NotAUrl("must not contain control characters"));
    }
    let mut url = Url::parse(text).map_err(|_| NotAUrl("must be a valid URL"))?;
    if text.contains('\\') {
        return Err(NotAllowed("must not contain a backslash"));
    }
    // `https:shop.example` and `https:///shop.example` parse, but nobody means them.
    let written_out =
        text.split_once("://").is_some_and(|(_, rest)| !rest.is_empty() && !rest.starts_with('/'));
    let Some(host) = url.host_str().filter(|host| !host.is_empty() && written_out) else {
        return Err(NotAUrl("must be a full URL with a host name"));
    };
    let has_user = !url.username().is_empty() || url.password().is_some() || authority_of(text).contains('@');
    let user = has_user.then_some(NotAllowed("must not contain a user name or password"));
    if let Some(plain) = host.strip_suffix('.') {
        let plain = plain.to_owned();
        url.set_host(Some(&plain)).map_err(|_| NotAUrl("must have a valid host name"))?;
    }
    if matches!(url.host(), Some(Host::Domain(name)) if !is_dns_name(name)) {
        return Err(NotAUrl("must have a valid host name"));
    }
    url.set_fragment(None);
    Ok((TargetUrl { url }, user))
}

/// What stands between `://` and the path; for the userinfo the parser forgets when it is empty.
fn authority_of(text: &str) -> &str {
    let rest = text.split_once("://").map_or("", |(_, rest)| rest);
    rest.split(['/', '?', '#', '\\']).next().unwrap_or_default()
}

fn is_dns_name(name: &str) -> bool {
    name.len() <= MAX_HOST_CHARS
        && name.split('.').all(|label| !label.is_empty() && label.len() <= MAX_LABEL_CHARS)
}

fn refuse_localhost(url: &Url, dev: bool) -> Result<(), UrlProblem> {
    match url.host() {
        Some(Host::Domain("localhost")) if !dev => Err(UrlProblem::NotAllowed(
            "must not use localhost, which is allowed in dev mode only (server.dev)",
        )),
        _ => Ok(()),
    }
}

fn check_host(url: &Url, dev: bool) -> Result<(), UrlProblem> {
    match url.host() {
        Some(Host::Domain("localhost")) => refuse_localhost(url, dev),
        Some(Host::Ipv4(address)) if dev && address == Ipv4Addr::LOCALHOST => Ok(()),
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => {
            Err(UrlProblem::NotAllowed("must not use an IP address as its host"))
        }
        Some(Host::Domain(name)) if !name.contains('.') => {
            Err(UrlProblem::NotAllowed("must have a full domain name, such as shop.example.com"))
        }
        Some(Host::Domain(name)) if is_public_suffix(name) => Err(UrlProblem::NotAllowed(
            "must be on a registered domain, not on a public suffix such as com.ng",
        )),
        Some(Host::Domain(_)) => Ok(()),
        None => Err(UrlProblem::NotAUrl("must be a full URL with a host name")),
    }
}

/// `com`, `com.ng`, `github.io`: names under which strangers register theirs. A single label
/// that no list knows counts as one. `name` is lower case and without a trailing dot.
fn is_public_suffix(name: &str) -> bool {
    psl::domain(name.as_bytes()).is_none()
}

/// A host as it is compared. `www.` goes unless what is left belongs to everybody: `www.com.ng`
/// is one shop's name, and without its `www.` it would stand for all of `com.ng`.
fn comparable(host: &str) -> String {
    let host = host.trim();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !name.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    // A bracketed literal has colons of its own; its last one may not have been a port's.
    let name = if host.starts_with('[') && !name.ends_with(']') { host } else { name };
    // Stored hosts are ASCII already; one written by hand goes the way a URL's host does.
    let mut name = match Host::parse(name) {
        Ok(host) => host.to_string(),
        Err(_) => return String::new(),
    };
    if name.ends_with('.') {
        name.pop();
    }
    if !name.starts_with('[') && !is_dns_name(&name) {
        return String::new();
    }
    match name.strip_prefix("www.") {
        Some(rest) if !is_public_suffix(rest) => rest.to_owned(),
        _ => name,
    }
}

#[cfg(test)]
mod tests;
