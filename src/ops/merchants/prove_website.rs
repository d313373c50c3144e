//! Proves that a website is a business's: a token of ours stands in a TXT record of its domain, or in a file on it. Where
//! the operator has set it so, that approves the website; otherwise it is noted for the operator who does.
//!
//! Both places are asked at once, from this process, before anything is written. The file is fetched by the client that
//! refuses private addresses and follows no redirect.

use std::time::Duration;

use super::websites::{WebsiteRefusal, approve_proven_website};
use crate::app::App;
use crate::domain::merchant::{Website, WebsiteStatus};
use crate::domain::weburl::{TargetUrl, is_dev_host, parse_target, website_address};
use crate::ops::OpError;
use crate::outbound::txt::{Answer, TxtRecords};
use crate::outbound::{PostError, PostOutcome};
use crate::store::tables::acts;
use crate::store::{Applied, IdKind};

/// A name server's answer takes some milliseconds.
const DNS_WITHIN: Duration = Duration::from_secs(5);
/// Of what came instead of the token so many characters are told.
const TOLD_MAX: usize = 80;

/// Where the token is to stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProofPlaces {
    pub token: String,
    /// The name of the TXT record.
    pub record: String,
    /// The address of the file; `None` where the website has none that is asked.
    pub file: Option<String>,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Proved {
    /// And approved with it.
    Approved(Website),
    /// The operator approves it.
    Noted(Website),
    /// It was approved before.
    Already(Website),
}

/// Why it is not proven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotProven {
    /// The business has no such website.
    Unknown,
    /// The token stands in neither place; each with what was looked up and what came, in a sentence.
    NotThere { record: String, file: String },
    /// It is proven, and cannot be approved.
    Refused(WebsiteRefusal),
}

/// Where the token of a website is to stand.
pub fn proof_places(app: &App, website: &Website) -> ProofPlaces {
    let token = app.vault.website_token(website.id, &website.host);
    let file = file_of(app, website, &token).map(|url| url.as_str().to_owned());
    ProofPlaces { record: format!("_tillbell.{}", website.host), file, token }
}

/// The file's address, on the website as its merchant wrote it; by https, but for dev mode's own hosts.
fn file_of(app: &App, website: &Website, token: &str) -> Option<TargetUrl> {
    let dev = app.config.server.dev;
    let (address, host) = website_address(&website.url)?;
    let written = address.split_once("://")?;
    let scheme = if dev && is_dev_host(&host) { written.0 } else { "https" };
    let authority = written.1.split(['/', '?', '#']).next()?;
    parse_target(&format!("{scheme}://{authority}/.well-known/tillbell-{token}.txt"), dev).ok()
}

/// Looks for the token of a website of the business.
pub async fn prove_website(
    app: &App,
    operator: &str,
    business_id: i64,
    id: i64,
) -> Result<Result<Proved, NotProven>, OpError> {
    let row = app.store.website(id).await?.filter(|row| row.website.business_id == business_id);
    let Some(website) = row.map(|row| row.website) else { return Ok(Err(NotProven::Unknown)) };
    if website.status == WebsiteStatus::Approved {
        return Ok(Ok(Proved::Already(website)));
    }
    let places = proof_places(app, &website);
    let (record, file) = tokio::join!(
        in_record(app, &places),
        in_file(app, file_of(app, &website, &places.token), &places.token)
    );
    let place = match (record, file) {
        (Ok(()), _) => &places.record,
        (_, Ok(())) => "the file",
        (Err(record), Err(file)) => return Ok(Err(NotProven::NotThere { record, file })),
    };
    if app.config.websites.self_approval {
        match approve_proven_website(app, operator, id).await? {
            Ok(website) => return Ok(Ok(Proved::Approved(website))),
            // What the operator rejected, only he approves.
            Err(WebsiteRefusal::RejectedBefore) => {}
            Err(refusal) => return Ok(Err(NotProven::Refused(refusal))),
        }
    }
    let (act, subject) = (app.store.id(IdKind::Act).await?, format!("website {id}"));
    let told = format!("{}: the token stands in {place}", website.host);
    let noted = acts::record_of(business_id, act, operator, "website prove", &subject, &told, app.now());
    match app.store.apply(app.store.unit(business_id).await?.step(noted)).await? {
        Applied::Done(_) => Ok(Ok(Proved::Noted(website))),
        other => Err(OpError::Fault(format!("an act was refused: {other:?}"))),
    }
}

/// A resolver of its own, which remembers nothing: a record that was put there just now is found.
async fn in_record(app: &App, places: &ProofPlaces) -> Result<(), String> {
    let name = &places.record;
    let resolver = TxtRecords::new(&app.config.mail.dns);
    match resolver.ask(&format!("{name}."), DNS_WITHIN, false).await {
        Answer::Records(all) => {
            let is_it = |text: &Vec<u8>| text.trim_ascii() == places.token.as_bytes();
            if all.iter().any(is_it) {
                return Ok(());
            }
            let first = all.first().map(|text| told(&String::from_utf8_lossy(text))).unwrap_or_default();
            Err(format!("The TXT record {name} holds {first:?} instead."))
        }
        Answer::Absent => Err(format!("There is no TXT record {name}.")),
        Answer::Trouble(why) => Err(format!("The TXT record {name} could not be asked for: {why}.")),
    }
}

async fn in_file(app: &App, url: Option<TargetUrl>, token: &str) -> Result<(), String> {
    let Some(url) = url else { return Err("The website's address has no place for a file.".to_owned()) };
    let outcome = app.outbound.get(&url, &[]).await;
    if outcome.answered() == Some(200) && outcome.body_excerpt.trim() == token {
        return Ok(());
    }
    Err(format!("{} {}", url.as_str(), instead(&outcome)))
}

fn instead(outcome: &PostOutcome) -> String {
    match (&outcome.error, outcome.status) {
        // Which address the name has here is nobody's but the operator's to know.
        (Some(PostError::AddressRefused { .. }), _) => "leads to an address that is not asked.".to_owned(),
        (Some(error), _) => format!("could not be fetched: {error}."),
        (None, Some(200)) => format!("holds {:?} instead.", told(outcome.body_excerpt.trim())),
        (None, Some(status @ 300..400)) => format!("answered {status}; redirects are not followed."),
        (None, status) => format!("answered {}.", status.unwrap_or(0)),
    }
}

fn told(text: &str) -> String {
    text.chars().take(TOLD_MAX).collect()
}
