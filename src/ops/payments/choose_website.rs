//! Which of the business's websites a payment belongs to, and whether its webhook URL is allowed.
//!
//! `business_website_id` wins over the host of `website_url`, which wins over the host of
//! `webhook_url` (contract/payments.md#p21). Where several approved hosts fit, the longest one does: a shop's
//! own sub-domain before the domain. Used by doors before they create a payment.

use crate::domain::merchant::{Website, WebsiteStatus};
use crate::domain::weburl::{UrlProblem, host_is_within, parse_target, parse_website};

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
    /// `webhook_url` is a URL, but not one of an approved website's domain; in words where there
    /// is more to say than that.
    WebhookNotAllowed(Option<&'static str>),
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
        match parse_target(url, dev) {
            Err(UrlProblem::NotAUrl(reason)) => problems.push(WebsiteProblem::WebhookNotAUrl(reason)),
            Err(UrlProblem::NotAllowed(reason)) => {
                problems.push(WebsiteProblem::WebhookNotAllowed(Some(reason)));
            }
            Ok(target) => match closest(approved(), target.host()) {
                Some(site) => chosen = chosen.or(Some(site)),
                None => problems.push(WebsiteProblem::WebhookNotAllowed(None)),
            },
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
                WebsiteProblem::WebhookNotAllowed(None),
            ])
        );
        let named = |webhook_url| chosen(Wanted { webhook_url: Some(webhook_url), ..Wanted::default() });
        assert!(
            matches!(named("no url"), Err(all) if matches!(all[..], [WebsiteProblem::WebhookNotAUrl(_)]))
        );
        assert!(matches!(named("http://ankara.example/"), Err(all)
            if matches!(all[..], [WebsiteProblem::WebhookNotAllowed(Some(_))])));
        assert!(matches!(named("https://evilankara.example/"), Err(all)
            if matches!(all[..], [WebsiteProblem::WebhookNotAllowed(None)])));
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
