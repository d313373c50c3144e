//! Which of the business's websites a payment belongs to, and whether its webhook URL is allowed.
//!
//! `business_website_id` wins over the host of `website_url`, which wins over the host of
//! `webhook_url` (contract/payments.md#p21). Where several approved hosts fit, the longest one does: a shop's
//! own sub-domain before the domain. Used by doors before they create a payment.

use crate::domain::merchant::{Website, WebsiteStatus};
use crate::domain::weburl::{UrlProblem, host_is_within, look_at_target, parse_website};

const NOT_OURS: UrlProblem = UrlProblem::NotAllowed("must be on one of your approved websites");

/// What a request says about its website; texts are trimmed and not empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    pub website_id: Option<i64>,
    pub website_url: Option<&'a str>,
    /// `None` only when the request has none, which the door has complained about already.
    pub webhook_url: Option<&'a str>,
}

/// A field that is wrong, and why; the reason completes "The ... ".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebsiteProblem {
    /// `business_website_id` is not an approved website of this business.
    UnknownId,
    /// `website_url` is no URL, or of no approved website.
    WebsiteUrl(UrlProblem),
    /// `webhook_url` is not a URL at all; in words.
    WebhookNotAUrl(&'static str),
    /// `webhook_url` is a URL, but not one that webhooks may go to.
    WebhookNotAllowed(NotAllowed),
}

/// Why webhooks may not go to a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAllowed {
    /// It is on no approved website's domain.
    pub off_domain: bool,
    /// What else is wrong with it; each completes "The webhook URL ...".
    pub reasons: Vec<&'static str>,
}

impl NotAllowed {
    /// All of it; completes "The webhook URL ...".
    pub fn words(&self) -> String {
        let domain = self.off_domain.then_some("must be from the approved website domain");
        let all: Vec<&str> = domain.into_iter().chain(self.reasons.iter().copied()).collect();
        all.join(", and it ")
    }
}

/// A webhook URL beside the websites of a business.
pub enum Judged<'a> {
    NotAUrl(&'static str),
    NotAllowed(NotAllowed),
    /// Good by itself, with the approved website that is closest to it.
    Good(Option<&'a Website>),
}

/// Looks at a webhook URL: first by itself, then whose it is.
pub fn judge_webhook<'a>(websites: &'a [Website], url: &str, dev: bool) -> Judged<'a> {
    let looked = look_at_target(url, dev);
    let approved = websites.iter().filter(|site| site.status == WebsiteStatus::Approved);
    let site = looked.target.and_then(|target| closest(approved, target.host()));
    let mut reasons = Vec::new();
    for problem in looked.problems {
        match problem {
            UrlProblem::NotAUrl(reason) => return Judged::NotAUrl(reason),
            UrlProblem::NotAllowed(reason) => reasons.push(reason),
        }
    }
    match reasons.is_empty() {
        true => Judged::Good(site),
        false => Judged::NotAllowed(NotAllowed { off_domain: site.is_none(), reasons }),
    }
}

/// Answers the website, or everything that is wrong.
pub fn choose_website(
    websites: &[Website],
    wanted: Wanted<'_>,
    dev: bool,
) -> Result<Website, Vec<WebsiteProblem>> {
    let approved = || websites.iter().filter(|site| site.status == WebsiteStatus::Approved);
    let mut problems = Vec::new();
    let mut chosen = None;
    if let Some(id) = wanted.website_id {
        match approved().find(|site| site.id == id) {
            Some(site) => chosen = Some(site),
            None => problems.push(WebsiteProblem::UnknownId),
        }
    }
    if let Some(url) = wanted.website_url {
        match parse_website(url, dev) {
            Err(problem) => problems.push(WebsiteProblem::WebsiteUrl(problem)),
            Ok(host) => match closest(approved(), &host) {
                Some(site) => chosen = chosen.or(Some(site)),
                None => problems.push(WebsiteProblem::WebsiteUrl(NOT_OURS)),
            },
        }
    }
    if let Some(url) = wanted.webhook_url {
        match judge_webhook(websites, url, dev) {
            Judged::NotAUrl(reason) => problems.push(WebsiteProblem::WebhookNotAUrl(reason)),
            Judged::NotAllowed(why) => problems.push(WebsiteProblem::WebhookNotAllowed(why)),
            Judged::Good(Some(site)) => chosen = chosen.or(Some(site)),
            Judged::Good(None) => {
                let why = NotAllowed { off_domain: true, reasons: Vec::new() };
                problems.push(WebsiteProblem::WebhookNotAllowed(why));
            }
        }
    }
    match chosen {
        Some(site) if problems.is_empty() => Ok(site.clone()),
        _ => Err(problems),
    }
}

/// The approved site with the longest host that `host` is within; the oldest among equals.
fn closest<'a>(sites: impl Iterator<Item = &'a Website>, host: &str) -> Option<&'a Website> {
    sites
        .filter(|site| host_is_within(host, &site.host))
        .max_by_key(|site| (site.host.len(), std::cmp::Reverse(site.id)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Timestamp;

    fn site(id: i64, host: &str, status: WebsiteStatus) -> Website {
        Website {
            id,
            business_id: 1,
            url: format!("https://{host}"),
            host: host.into(),
            webhook_url: None,
            status,
            reject_reason: None,
            schedule: None,
            created_at: Timestamp(0),
        }
    }

    fn sites() -> Vec<Website> {
        use WebsiteStatus::{Approved, Pending};
        vec![
            site(1, "ankara.example", Approved),
            site(2, "bags.ankara.example", Approved),
            site(3, "kiosk.example", Approved),
            site(4, "waiting.example", Pending),
        ]
    }

    fn chosen(wanted: Wanted<'_>) -> Result<i64, Vec<WebsiteProblem>> {
        choose_website(&sites(), wanted, false).map(|site| site.id)
    }

    #[test]
    fn id_beats_website_url_beats_webhook_url() {
        let webhook_url = Some("https://hooks.bags.ankara.example/in");
        let by_webhook = Wanted { webhook_url, ..Wanted::default() };
        assert_eq!(chosen(by_webhook), Ok(2), "the longest host that fits");
        let by_url = Wanted { website_url: Some("https://www.kiosk.example/shop"), ..by_webhook };
        assert_eq!(chosen(by_url), Ok(3));
        assert_eq!(chosen(Wanted { website_id: Some(1), ..by_url }), Ok(1));
    }

    #[test]
    fn everything_wrong_is_told_at_once() {
        let wanted = Wanted {
            website_id: Some(4),
            website_url: Some("waiting.example"),
            webhook_url: Some("https://waiting.example/in"),
        };
        assert_eq!(
            chosen(wanted),
            Err(vec![
                WebsiteProblem::UnknownId,
                WebsiteProblem::WebsiteUrl(NOT_OURS),
                WebsiteProblem::WebhookNotAllowed(NotAllowed { off_domain: true, reasons: Vec::new() }),
            ])
        );
        let named = |webhook_url| chosen(Wanted { webhook_url: Some(webhook_url), ..Wanted::default() });
        assert!(
            matches!(named("no url"), Err(all) if matches!(all[..], [WebsiteProblem::WebhookNotAUrl(_)]))
        );
        for (url, words) in [
            ("http://ankara.example/", "must use https"),
            ("https://evilankara.example/", "must be from the approved website domain"),
            ("http://evilankara.example/", "must be from the approved website domain, and it must use https"),
        ] {
            assert!(matches!(named(url), Err(all)
                if matches!(&all[..], [WebsiteProblem::WebhookNotAllowed(why)] if why.words() == words)));
        }
    }

    #[test]
    fn loopback_is_a_website_in_dev_mode_only_and_only_when_registered() {
        let sites = [site(9, "localhost", WebsiteStatus::Approved)];
        let wanted = Wanted { webhook_url: Some("http://localhost:4000/hook"), ..Wanted::default() };
        assert_eq!(choose_website(&sites, wanted, true).map(|site| site.id), Ok(9));
        assert!(choose_website(&sites, wanted, false).is_err());
        assert!(choose_website(&[], wanted, true).is_err());
    }
}
