//! The API to read and to try, at `/docs`: made of its own document (`http::openapi`), for anybody.
//!
//! Reading needs no script. Where there are scripts, each route can be tried with a key that is typed into the page and is
//! nowhere else: not in an address, not in storage, not in a form that could be sent.

mod shape;
mod shown;
mod words;

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use self::shown::{Event, Failure, Shown, all_failures};
use self::words::Words;
use super::ask::Ask;
use super::assets::{DOCS_SCRIPT, DOCS_STYLE};
use super::layout::{Frame, Way};
use super::plain;
use super::text::Text;
use crate::http::describe::operation::Tag;
use crate::http::openapi::meanings;
use crate::http::paths::{DOCS, OPENAPI};

const WEBHOOKS: &str = "webhooks";
const ERRORS: &str = "errors";

#[derive(Template)]
#[template(path = "docs/start.html")]
struct StartPage {
    frame: Frame,
    style: String,
    script: String,
    base: Text,
    document: &'static str,
    parts: Vec<Part>,
}

struct Part {
    href: String,
    title: Text,
    about: Words,
}

#[derive(Template)]
#[template(path = "docs/part.html")]
struct PartPage {
    frame: Frame,
    style: String,
    script: String,
    title: Text,
    about: Words,
    operations: Vec<Shown>,
}

#[derive(Template)]
#[template(path = "docs/webhooks.html")]
struct WebhooksPage {
    frame: Frame,
    style: String,
    script: String,
    events: Vec<Event>,
}

#[derive(Template)]
#[template(path = "docs/errors.html")]
struct ErrorsPage {
    frame: Frame,
    style: String,
    script: String,
    failures: Vec<Failure>,
    fields: Vec<(Text, Words)>,
}

fn address(part: &str) -> String {
    format!("{DOCS}/{part}")
}

pub fn answer(ask: &Ask) -> Response {
    let asked = ask.behind(DOCS).trim_matches('/').to_owned();
    if ask.is_form() {
        return plain::unknown(ask);
    }
    let tag = Tag::ALL.into_iter().find(|tag| tag.slug() == asked);
    match (tag, asked.as_str()) {
        (Some(tag), _) => part(ask, tag),
        (None, "") => start(ask),
        (None, WEBHOOKS) => webhooks(ask),
        (None, ERRORS) => errors(ask),
        _ => plain::unknown(ask),
    }
}

/// The ways through the document, the same on each of its pages.
fn frame(ask: &Ask, title: &str, here: &str) -> Frame {
    let api = ask.http.api();
    let way = |part: &str, text: &str| Way::new(address(part), text).current(part == here);
    let mut ways = vec![
        Way::new(DOCS, "Start").current(here.is_empty()),
        way(ERRORS, "Errors"),
        way(WEBHOOKS, "Webhooks"),
    ];
    for tag in Tag::ALL {
        let of = api.operations.iter().filter(|operation| operation.tag == tag);
        for (at, operation) in of.enumerate() {
            let way = Way::new(format!("{}#{}", address(tag.slug()), operation.id), operation.title);
            ways.push(if at == 0 { way.heading(tag.name()) } else { way });
        }
    }
    Frame { ways, home: DOCS.to_owned(), boosts: true, ..ask.frame(title) }
}

fn start(ask: &Ask) -> Response {
    let api = ask.http.api();
    let has = |tag: &Tag| api.operations.iter().any(|operation| operation.tag == *tag);
    let parts = Tag::ALL.into_iter().filter(has).map(|tag| Part {
        href: address(tag.slug()),
        title: tag.name().into(),
        about: Words::new(tag.about()),
    });
    let page = StartPage {
        frame: frame(ask, "API", ""),
        style: DOCS_STYLE.address(),
        script: DOCS_SCRIPT.address(),
        base: format!("{}/api/v1", ask.app().public_url()).into(),
        document: OPENAPI,
        parts: parts.collect(),
    };
    ask.html(StatusCode::OK, &page)
}

fn part(ask: &Ask, tag: Tag) -> Response {
    let api = ask.http.api();
    let base = ask.app().public_url();
    let operations = api.operations.iter().filter(|operation| operation.tag == tag);
    let page = PartPage {
        frame: frame(ask, tag.name(), tag.slug()),
        style: DOCS_STYLE.address(),
        script: DOCS_SCRIPT.address(),
        title: tag.name().into(),
        about: Words::new(tag.about()),
        operations: operations.map(|operation| Shown::new(operation, api, &base)).collect(),
    };
    ask.html(StatusCode::OK, &page)
}

fn webhooks(ask: &Ask) -> Response {
    let api = ask.http.api();
    let page = WebhooksPage {
        frame: frame(ask, "Webhooks", WEBHOOKS),
        style: DOCS_STYLE.address(),
        script: DOCS_SCRIPT.address(),
        events: api.webhooks.iter().map(|webhook| Event::new(webhook, api)).collect(),
    };
    ask.html(StatusCode::OK, &page)
}

fn errors(ask: &Ask) -> Response {
    let page = ErrorsPage {
        frame: frame(ask, "Errors", ERRORS),
        style: DOCS_STYLE.address(),
        script: DOCS_SCRIPT.address(),
        failures: all_failures(),
        fields: meanings::of_fields()
            .map(|row| (row.code.as_str().into(), Words::new(&row.meaning)))
            .collect(),
    };
    ask.html(StatusCode::OK, &page)
}
