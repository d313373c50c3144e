//! Where a webhook goes, decided anew at every attempt, so that a repaired URL works at the next.
//!
//! By contract/webhooks.md#h8: the website's webhook URL, the payment's, the business's. Exactly one of them is
//! chosen; if it may not be sent to there is no second choice, because a merchant who looks for missing
//! webhooks must find them at one place. Whoever wrote the URL, its host must be within an approved website of
//! the business at the time of sending. A wallet payment goes to the URL given to pay/start alone, which may
//! also be the business's saved one: pay/start takes it, an operator wrote it, and an event that is never sent
//! would help nobody. A test event may go there too, and so may the event of a payment that was made without a URL, such
//! as those of a till. Where there is no URL at all the event is kept, for whoever pulls it: that is no failure.
//! Called by the worker that delivers and by `ops::webhooks::deliveries`.

use crate::app::App;
use crate::domain::merchant::{Website, WebsiteStatus};
use crate::domain::payment::Kind;
use crate::domain::weburl::{self, TargetUrl};
use crate::store::StoreError;
use crate::store::tables::events::DeliveryInput;

/// Where an event is to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Addressed {
    Target(TargetUrl),
    /// Nowhere it may be sent to now; `url` is what was looked at.
    Nowhere {
        url: String,
        why: String,
    },
    /// Nobody gave a URL.
    Unasked {
        why: &'static str,
    },
}

/// Decides where the event goes, by what the directory knows now.
pub async fn address(app: &App, input: &DeliveryInput) -> Result<Addressed, StoreError> {
    let websites = app.directory.websites(input.business_id).await?;
    Ok(choose(input, &websites, app.config.server.dev))
}

/// The rule itself.
pub fn choose(input: &DeliveryInput, websites: &[Website], dev: bool) -> Addressed {
    let approved = || websites.iter().filter(|website| website.status == WebsiteStatus::Approved);
    let chosen = match input.payment_kind {
        Some(Kind::Wallet) => input.payment_url.as_deref(),
        Some(Kind::Transfer) => {
            let of_website = input.website_url.as_deref();
            of_website.or(input.payment_url.as_deref()).or(input.business_url.as_deref())
        }
        // About no payment of a customer's: the business's own, else the first of its websites that has one.
        Some(Kind::Topup) | None => input
            .business_url
            .as_deref()
            .or_else(|| approved().find_map(|website| website.webhook_url.as_deref())),
    };
    let Some(url) = chosen else {
        let why = match input.payment_kind {
            Some(Kind::Transfer | Kind::Wallet) => "the business has no webhook URL",
            Some(Kind::Topup) | None => {
                "neither the business nor any of its approved websites has a webhook URL"
            }
        };
        return Addressed::Unasked { why };
    };
    let nowhere = |why: String| Addressed::Nowhere { url: url.to_owned(), why };
    let target = match weburl::parse_target(url, dev) {
        Ok(target) => target,
        Err(problem) => return nowhere(format!("the webhook URL {}", problem.reason())),
    };
    let may_be_saved =
        matches!(input.payment_kind, Some(Kind::Wallet | Kind::Topup) | None) || has_no_url_of_its_own(input);
    let is_saved =
        may_be_saved && input.business_url.as_deref().is_some_and(|saved| weburl::same_url(saved, url));
    if is_saved || is_on_a_website(&target, websites) {
        return Addressed::Target(target);
    }
    nowhere(format!(
        "{} is not on an approved website domain of the business; {}",
        target.host(),
        remedy(input, target.host())
    ))
}

/// A payment that was made without a URL, on no website that has one.
fn has_no_url_of_its_own(input: &DeliveryInput) -> bool {
    input.payment_url.is_none() && input.website_url.is_none()
}

/// What a person can do about a target that may not be sent to. Its path and query stay out: the cause of an attempt
/// is logged.
fn remedy(input: &DeliveryInput, host: &str) -> String {
    match input.payment_kind {
        // Either it never was on a website, and then it was the saved one, or its website lost its approval.
        Some(Kind::Wallet) => format!(
            "a wallet payment's event goes to the URL of its pay/start alone, and that is no longer the business's saved \
             webhook URL: save it again with `business set {} --webhook-url URL`, or approve a website for {host}",
            input.business_id
        ),
        _ if input.website_url.is_some() => format!(
            "it is the webhook URL of the payment's website: set another with `website set ID --webhook-url URL`, or \
             approve a website for {host}"
        ),
        _ => format!("approve a website for {host}, or set the webhook URL of the payment's website"),
    }
}

/// Webhooks of wallet payments that are counted when a saved URL is given up.
const COUNTED_MAX: usize = 10_000;

/// Wallet payments whose webhooks can go nowhere once a URL is not saved any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftBehind {
    /// Payments that customers may still confirm.
    pub open: usize,
    /// Events that are not delivered yet.
    pub undelivered: usize,
}

/// What is left behind at `url` where it is not the business's saved webhook URL any more; nothing where an approved
/// website covers it.
pub async fn left_behind(app: &App, business_id: i64, url: &str) -> Result<LeftBehind, StoreError> {
    let websites = app.store.websites(business_id).await?;
    let target = weburl::parse_target(url, app.config.server.dev);
    if target.is_ok_and(|target| is_on_a_website(&target, &websites)) {
        return Ok(LeftBehind { open: 0, undelivered: 0 });
    }
    let mut coming = app.store.wallet_webhooks_to_come(business_id, COUNTED_MAX).await?;
    coming.retain(|(theirs, _)| weburl::same_url(theirs, url));
    let open = coming.iter().filter(|(_, is_open)| *is_open).count();
    Ok(LeftBehind { open, undelivered: coming.len() - open })
}

/// Whether webhooks of bank transfers may go there: its host is within an approved website.
pub fn is_on_a_website(target: &TargetUrl, websites: &[Website]) -> bool {
    let mut approved = websites.iter().filter(|website| website.status == WebsiteStatus::Approved);
    approved.any(|website| weburl::host_is_within(target.host(), &website.host))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Timestamp;

    fn input(website: Option<&str>, payment: Option<&str>, business: Option<&str>) -> DeliveryInput {
        DeliveryInput {
            event_id: 1,
            business_id: 7,
            kind: "payment.approved".into(),
            webhook_id: "msg_1".into(),
            body: Vec::new(),
            payment_kind: Some(Kind::Transfer),
            payment_status: None,
            payment_url: payment.map(Into::into),
            reversed_at: None,
            is_reduced: false,
            website_url: website.map(Into::into),
            business_url: business.map(Into::into),
            secret: Vec::new(),
            previous_secret: None,
            previous_secret_until: None,
        }
    }

    fn site(host: &str, status: WebsiteStatus) -> Website {
        Website {
            id: 1,
            business_id: 7,
            url: format!("https://{host}"),
            host: host.into(),
            webhook_url: Some(format!("https://{host}/site")),
            status,
            reject_reason: None,
            schedule: None,
            created_at: Timestamp(0),
        }
    }

    fn sent_to(input: &DeliveryInput, sites: &[Website]) -> String {
        match choose(input, sites, false) {
            Addressed::Target(target) => target.as_str().to_owned(),
            Addressed::Nowhere { why, .. } => format!("nowhere: {why}"),
            Addressed::Unasked { why } => format!("kept: {why}"),
        }
    }

    #[test]
    fn website_then_payment_then_business() {
        let sites = [site("ada.example", WebsiteStatus::Approved)];
        let (w, p, b) =
            (Some("https://ada.example/w"), Some("https://ada.example/p"), Some("https://ada.example/b"));
        assert_eq!(sent_to(&input(w, p, b), &sites), "https://ada.example/w");
        assert_eq!(sent_to(&input(None, p, b), &sites), "https://ada.example/p");
        assert_eq!(sent_to(&input(None, None, b), &sites), "https://ada.example/b");
        assert_eq!(sent_to(&input(None, None, None), &sites), "kept: the business has no webhook URL");
        let about_none = DeliveryInput { payment_kind: None, ..input(None, None, None) };
        let nobody = "kept: neither the business nor any of its approved websites has a webhook URL";
        assert_eq!(sent_to(&about_none, &[]), nobody);
    }

    #[test]
    fn every_choice_must_be_on_an_approved_domain_and_there_is_no_second_one() {
        let sites =
            [site("ada.example", WebsiteStatus::Approved), site("old.example", WebsiteStatus::Rejected)];
        let good = Some("https://pay.ada.example/p");
        assert_eq!(sent_to(&input(None, good, None), &sites), "https://pay.ada.example/p");
        for bad in ["https://old.example/w", "https://evil.example/w", "https://notada.example/w"] {
            for input in
                [input(Some(bad), good, good), input(None, Some(bad), good), input(None, Some(bad), None)]
            {
                let said = sent_to(&input, &sites);
                assert!(said.contains("not on an approved website domain"), "{bad}: {said}");
                let is_websites = input.website_url.is_some();
                assert_eq!(said.contains("website set ID --webhook-url URL"), is_websites, "{said}");
            }
        }
        let said = sent_to(&input(None, Some("http://ada.example/p"), None), &sites);
        assert_eq!(said, "nowhere: the webhook URL must use https");
    }

    #[test]
    fn a_wallet_payment_goes_to_its_own_url_only() {
        let sites = [site("ada.example", WebsiteStatus::Approved)];
        let other = Some("https://ada.example/other");
        let mut input = input(other, Some("https://ada.example/own"), other);
        input.payment_kind = Some(Kind::Wallet);
        assert_eq!(sent_to(&input, &sites), "https://ada.example/own");
        // The saved one need not be on a website, as long as it is the saved one.
        input.payment_url = Some("https://till.example/hook".into());
        let said = sent_to(&input, &sites);
        assert!(said.contains("till.example is not on an approved website domain"), "{said}");
        assert!(
            said.contains("no longer the business's saved webhook URL") && said.contains("business set 7"),
            "{said}"
        );
        assert!(!said.contains("/hook"), "the cause is logged: {said}");
        input.business_url = Some("https://TILL.example:443/hook".into());
        assert_eq!(sent_to(&input, &sites), "https://till.example/hook");
        input.payment_kind = Some(Kind::Transfer);
        input.website_url = None;
        assert!(sent_to(&input, &sites).contains("not on an approved website domain"));
    }

    #[test]
    fn a_payment_without_a_url_goes_to_the_saved_one_or_is_kept() {
        let sites = [site("ada.example", WebsiteStatus::Approved)];
        // A shop with a till may have no website at all: the saved one is where it wants to be told.
        let saved = Some("https://till.example/hook");
        assert_eq!(sent_to(&input(None, None, saved), &[]), "https://till.example/hook");
        assert_eq!(
            sent_to(&input(None, None, Some("https://ada.example/b")), &sites),
            "https://ada.example/b"
        );
        let plain = sent_to(&input(None, None, Some("http://till.example/hook")), &[]);
        assert_eq!(plain, "nowhere: the webhook URL must use https");
        // A website's own address goes before it, by its own rule.
        let said = sent_to(&input(Some("https://evil.example/w"), None, saved), &sites);
        assert!(said.contains("not on an approved website domain"), "{said}");
        assert_eq!(sent_to(&input(None, None, None), &sites), "kept: the business has no webhook URL");
    }

    #[test]
    fn a_test_event_finds_the_business_or_its_first_website() {
        let sites =
            [site("old.example", WebsiteStatus::Pending), site("ada.example", WebsiteStatus::Approved)];
        let mut input = input(None, None, Some("https://ada.example/b"));
        input.payment_kind = None;
        assert_eq!(sent_to(&input, &sites), "https://ada.example/b");
        // Where wallet payments may go, a test event may.
        input.business_url = Some("https://till.example/b".into());
        assert_eq!(sent_to(&input, &sites), "https://till.example/b");
        input.business_url = None;
        assert_eq!(sent_to(&input, &sites), "https://ada.example/site");
    }
}
