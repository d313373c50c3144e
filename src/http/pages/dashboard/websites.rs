//! `/dashboard/websites`: the websites of a business, how each is proven, and where its webhooks go.

use askama::Template;
use axum::response::Response;

use super::export::csv;
use super::form::{Acted, Forms, Refusal, done, in_row, named, password_first, row_of, sent};
use super::frame::{frame, pager};
use crate::domain::merchant::{Website, WebsiteStatus};
use crate::domain::user::MemberRight;
use crate::http::pages::ask::Ask;
use crate::http::pages::export::is_csv;
use crate::http::pages::field::{Form, Kind, Look};
use crate::http::pages::here::Here;
use crate::http::pages::layout::Frame;
use crate::http::pages::parts::{Badge, Empty, Pager, Secret, Tone};
use crate::http::pages::plain::unknown;
use crate::http::pages::text::Text;
use crate::http::pages::text::sentence;
use crate::http::paths::DASHBOARD_WEBSITES;
use crate::ops::OpError;
use crate::ops::csv::CsvSource;
use crate::ops::merchants::businesses::ChargeChange;
use crate::ops::merchants::prove_website::{NotProven, ProofPlaces, Proved, proof_places, prove_website};
use crate::ops::merchants::websites::{
    NewWebsite, WebsiteChange, WebsiteRefusal, add_website, list_websites, set_website,
};
use crate::ops::paging::{Page, page_of_whole};

const ADD: &str = "add-website";
const PROVE: &str = "prove-website";
const SET: &str = "set-website";
/// Where a file with the token is told: its address is long.
const RECORD_VALUE: &str = "Its value";

#[derive(Template)]
#[template(path = "dashboard/websites.html")]
struct Websites {
    frame: Frame,
    csv: String,
    pager: Option<Pager>,
    approves_itself: bool,
    websites: Vec<Shown>,
    empty: Empty,
    add: Form,
}

struct Shown {
    number: usize,
    host: Text,
    url: Text,
    badge: Badge,
    /// Why it was rejected.
    reason: Option<Text>,
    proof: Option<Proof>,
    set: Form,
}

/// How a website is proven.
struct Proof {
    record: Text,
    file: Option<Text>,
    token: Secret,
    form: Form,
}

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let Some(here) = &ask.here else { return Ok(unknown(ask)) };
    if is_csv(ask)
        && let Ok(file) = csv(ask, here, "websites", MemberRight::Integrate, CsvSource::Websites(here.id()))
    {
        return Ok(file);
    }
    let all = list_websites(ask.app(), here.id()).await?.unwrap_or_default();
    let page = page_of_whole(all, ask.cursor(), named(ask), |website| website.id);
    let refusal = match sent(ask, act(ask, here, &page.rows)).await? {
        Ok(refusal) => refusal,
        Err(response) => return Ok(response),
    };
    Ok(show(ask, here, &page, refusal.as_ref()))
}

async fn act(ask: &Ask, here: &Here, websites: &[Website]) -> Result<Acted, OpError> {
    if ask.field("act") == ADD {
        return add(ask, here).await;
    }
    let id = ask.field("id").parse::<i64>().unwrap_or(0);
    let Some((number, website)) = row_of(websites, |website| website.id == id) else {
        return Ok(if matches!(ask.field("act"), PROVE | SET) {
            Ok(unknown(ask))
        } else {
            Err(Refusal::unknown())
        });
    };
    match ask.field("act") {
        PROVE => prove(ask, here, website, number).await,
        SET => set(ask, here, website, number).await,
        _ => Ok(Err(Refusal::unknown())),
    }
}

async fn add(ask: &Ask, here: &Here) -> Result<Acted, OpError> {
    if let Some(first) = password_first(ask, here, DASHBOARD_WEBSITES, &["url", "webhook_url"]) {
        return Ok(Ok(first));
    }
    let webhook_url = ask.field("webhook_url").trim();
    let new = NewWebsite {
        business_id: here.id(),
        url: ask.field("url").trim().to_owned(),
        webhook_url: (!webhook_url.is_empty()).then(|| webhook_url.to_owned()),
        charges: ChargeChange::default(),
        approve: false,
    };
    Ok(match add_website(ask.app(), ask.operator(), &new).await? {
        Ok(website) => {
            let told = match ask.app().config.websites.self_approval {
                true => {
                    format!("{} is added. Prove that it is yours, and it is approved at once.", website.host)
                }
                false => format!("{} is added. It waits for the operator's approval.", website.host),
            };
            Ok(done(ask, here, DASHBOARD_WEBSITES, told))
        }
        Err(refusal) => Err(told_of(ADD.to_owned(), "url", &refusal)),
    })
}

async fn prove(ask: &Ask, here: &Here, website: &Website, number: usize) -> Result<Acted, OpError> {
    let form = in_row(PROVE, number);
    let refused = |why: String| Ok(Err(Refusal::new(form.clone(), "", why)));
    match prove_website(ask.app(), ask.operator(), here.id(), website.id).await? {
        Ok(Proved::Approved(website)) => {
            let told = format!("{} is proven and approved. Payments can name it from now on.", website.host);
            Ok(Ok(done(ask, here, DASHBOARD_WEBSITES, told)))
        }
        Ok(Proved::Noted(website)) => {
            let told = format!("{} is proven. The operator approves it.", website.host);
            Ok(Ok(done(ask, here, DASHBOARD_WEBSITES, told)))
        }
        Ok(Proved::Already(website)) => {
            Ok(Ok(done(ask, here, DASHBOARD_WEBSITES, format!("{} is approved already.", website.host))))
        }
        Err(NotProven::Unknown) => Ok(Ok(unknown(ask))),
        Err(NotProven::NotThere { record, file }) => refused(format!(
            "{} is not proven yet. {record} {file} New records may take an hour to be seen everywhere.",
            website.host
        )),
        Err(NotProven::Refused(refusal)) => Ok(Err(told_of(form, "", &refusal))),
    }
}

async fn set(ask: &Ask, here: &Here, website: &Website, number: usize) -> Result<Acted, OpError> {
    if let Some(first) = password_first(ask, here, DASHBOARD_WEBSITES, &[]) {
        return Ok(Ok(first));
    }
    let url = ask.field("webhook_url").trim();
    let change = WebsiteChange {
        webhook_url: Some((!url.is_empty()).then(|| url.to_owned())),
        ..WebsiteChange::default()
    };
    Ok(match set_website(ask.app(), ask.operator(), website.id, &change).await? {
        Ok(website) => {
            let told = match &website.webhook_url {
                Some(url) => format!("Webhooks of {} go to {url} now.", website.host),
                None => format!("{} has no webhook address of its own now.", website.host),
            };
            Ok(done(ask, here, DASHBOARD_WEBSITES, told))
        }
        Err(refusal) => Err(told_of(in_row(SET, number), "webhook_url", &refusal)),
    })
}

/// A refusal in words for a merchant: nothing of others is told.
fn told_of(form: String, field: &'static str, refusal: &WebsiteRefusal) -> Refusal {
    match refusal {
        WebsiteRefusal::Taken { host, .. } => {
            let why = format!(
                "{host}, or a domain above or below it, belongs to another business here. Ask the operator if it is yours."
            );
            Refusal::new(form, field, why)
        }
        WebsiteRefusal::OwnTwice(_) => Refusal::new(form, field, "You have this website already."),
        WebsiteRefusal::WebhookUrl(_) => Refusal::new(form, "webhook_url", sentence(&refusal.to_string())),
        WebsiteRefusal::Elsewhere { host, own } => {
            let why = format!(
                "{host} is neither {own} nor an approved website of yours, so nothing would be sent there. Write an \
                 address on {own}, or add {host} first."
            );
            Refusal::new(form, "webhook_url", why)
        }
        other => Refusal::new(form, field, sentence(&other.to_string())),
    }
}

fn show(ask: &Ask, here: &Here, page: &Page<Website>, refusal: Option<&Refusal>) -> Response {
    let forms = Forms::new(ask, here, DASHBOARD_WEBSITES, refusal);
    let shown = (1..).zip(&page.rows).map(|(number, website)| shown(ask, &forms, number, website)).collect();
    let add = forms
        .making(ADD, "Add the website")
        .field(
            forms
                .field(ADD, "url", "Address", Kind::Text)
                .hint("Such as https://shop.example. Payments and webhooks belong to it."),
        )
        .field(
            forms
                .field(ADD, "webhook_url", "Webhook address", Kind::Url)
                .optional()
                .hint("Where your program is told of approved payments, on this website."),
        );
    let pager = pager(ask, here, DASHBOARD_WEBSITES, page, &[]).map(Pager::not_by_time);
    let page = Websites {
        csv: here.link(DASHBOARD_WEBSITES, &[("format", "csv")]),
        pager,
        frame: forms.told(frame(ask, here, "Websites", DASHBOARD_WEBSITES)),
        approves_itself: ask.app().config.websites.self_approval,
        websites: shown,
        empty: Empty::new(
            "No websites yet",
            "Add the one on which you sell. Payments need an approved website.",
        ),
        add,
    };
    ask.html(forms.status(), &page)
}

fn shown(ask: &Ask, forms: &Forms<'_>, number: usize, website: &Website) -> Shown {
    let badge = match website.status {
        WebsiteStatus::Approved => Badge::new(Tone::Good, "Approved"),
        WebsiteStatus::Pending => Badge::new(Tone::Warn, "Waits for approval"),
        WebsiteStatus::Rejected => Badge::new(Tone::Bad, "Rejected"),
    };
    let id = website.id.to_string();
    let url = website.webhook_url.as_deref().unwrap_or_default();
    let form = in_row(SET, number);
    let field = forms
        .field_of(&form, "webhook_url", "Webhook address", Kind::Url, url)
        .optional()
        .hint("Left empty, each payment's own webhook address counts, then that of the business.");
    let proof = (website.status == WebsiteStatus::Pending).then(|| {
        let ProofPlaces { token, record, file } = proof_places(ask.app(), website);
        let hint = "Everybody may see it. It is of use for this website alone.".into();
        Proof {
            record: record.into(),
            file: file.map(Text::from),
            token: Secret { id: format!("token-{number}"), label: RECORD_VALUE.into(), value: token, hint },
            form: forms.in_row(PROVE, number, "Look for it now").hidden("id", &id).look(Look::Plain),
        }
    });
    Shown {
        number,
        host: (&website.host).into(),
        url: (&website.url).into(),
        badge,
        reason: website.reject_reason.as_ref().map(|why| sentence(why).into()),
        proof,
        set: forms.in_row(SET, number, "Save").hidden("id", &id).look(Look::Plain).field(field),
    }
}
