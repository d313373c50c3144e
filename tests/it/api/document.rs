//! The API's document: that it tells of every route of the router, and of nothing else; what it says of limits and examples.
//!
//! That answers are as it says is checked where every other test asks (`harness::document`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::server::Server;
use crate::harness::document::{DOCUMENT, check_example};

const PATHS: &str = include_str!("../../../src/http/paths.rs");
/// Paths that are no part of the API for merchants, and why.
const OTHERS: &[(&str, &str)] = &[
    ("/api/v1", "what all of them begin with"),
    ("/whatsapp/webhook", "for Meta, whose document it is"),
    ("/pay/{token}", "a page for customers"),
    ("/brand/logo", "a picture"),
    ("/brand/icon.svg", "a picture"),
    ("/assets/{hash}/{name}", "what pages load"),
    ("/metrics", "on the operator's listener alone"),
    ("/", "leads people to their pages"),
    ("/sign-in", "a page"),
    ("/sign-in/code", "a page"),
    ("/sign-out", "a page"),
    ("/welcome/{token}", "a page"),
    ("/forgot", "a page"),
    ("/register", "a page"),
    ("/register/{token}", "a page"),
    ("/confirm-password", "a page"),
    ("/me", "a page"),
    ("/c/{token}", "a page for customers"),
    ("/docs", "a page"),
    ("/docs/{part}", "a page"),
];
/// All pages of the merchant and of the operator.
const PAGES: [&str; 2] = ["/dashboard", "/operator"];

/// The constants of the file in which all paths stand, and the three that have none.
fn paths() -> BTreeSet<String> {
    let named = PATHS.lines().filter_map(|line| line.strip_prefix("pub const "));
    let texts = named.filter_map(|line| line.split_once(": &str = \"")?.1.strip_suffix("\";"));
    let all = texts.filter(|text| text.starts_with('/')).chain(["/healthz", "/readyz", "/metrics"]);
    all.map(str::to_owned).collect()
}

fn is_other(path: &str) -> bool {
    PAGES.iter().any(|page| path.starts_with(page)) || OTHERS.iter().any(|(other, _)| *other == path)
}

fn documented() -> &'static serde_json::Map<String, Value> {
    DOCUMENT.whole["paths"].as_object().unwrap()
}

#[test]
fn every_path_is_documented_or_said_to_be_no_part_of_the_api() {
    let ours: BTreeSet<String> = paths().into_iter().filter(|path| !is_other(path)).collect();
    let told: BTreeSet<String> = documented().keys().cloned().collect();
    assert_eq!(told, ours, "describe a new route beside its handler, and list it in src/http/openapi/mod.rs");
}

on_one! {
    async fn every_verb_of_every_route_is_documented(db: TestDatabase) {
        let server = Server::start(db).await;
        for (path, item) in documented() {
            let asked = path.replace("{wallet}", "wallet").replace(['{', '}'], "");
            // No route has this verb, so the router tells which it has.
            let reply = server.send("DELETE", &asked, &[], None).await;
            reply.fails(405, "");
            let allowed = reply.header("allow").unwrap();
            let verbs = |all: &mut dyn Iterator<Item = String>| -> BTreeSet<String> {
                all.filter(|verb| verb != "HEAD").collect()
            };
            let told = verbs(&mut item.as_object().unwrap().keys().map(|verb| verb.to_uppercase()));
            assert_eq!(told, verbs(&mut allowed.split(',').map(|verb| verb.trim().to_owned())), "{path}");
        }
    }

    async fn the_document_is_served_with_the_prefix_and_the_address_of_this_service(db: TestDatabase) {
        let settings = "[server]\npublic_url = \"https://pay.till.example\"\n[wallet]\nroute_prefix = \"purse\"\n";
        let server = Server::with(db, settings).await;
        let reply = server.send("GET", "/openapi.json", &[], None).await;
        assert_eq!(reply.status, 200);
        assert_eq!(reply.header("content-type"), Some("application/json"));
        let document = reply.json();
        assert_eq!(document["openapi"], "3.1.1");
        assert_eq!(document["servers"][0]["url"], "https://pay.till.example");
        assert!(document["paths"]["/api/v1/purse/pay/start"]["post"].is_object());
        assert!(document["paths"].as_object().unwrap().keys().all(|path| !path.contains("wallet")));
        let amount = &document["components"]["schemas"]["NewPayment"]["properties"]["amount"];
        assert_eq!(amount["maximum"], 999_999_999.99, "as configured: {amount}");
        assert!(reply.body.contains(r#""amount":12500.00"#), "examples are as they are sent");
    }
}

#[test]
fn examples_are_as_their_schemas_say() {
    let mut seen = 0;
    for item in documented().values() {
        for operation in item.as_object().unwrap().values() {
            let id = operation["operationId"].as_str().unwrap();
            let body = &operation["requestBody"]["content"]["application/json"];
            if !body.is_null() {
                check_example(&format!("{id} request"), body);
            }
            for (status, response) in operation["responses"].as_object().unwrap() {
                check_example(&format!("{id} {status}"), &response["content"]["application/json"]);
                seen += 1;
            }
        }
    }
    for (event, item) in DOCUMENT.whole["webhooks"].as_object().unwrap() {
        check_example(event, &item["post"]["requestBody"]["content"]["application/json"]);
    }
    assert!(seen > 100, "{seen}");
}

/// A schema that nothing refers to is a leftover, and one without words on its fields helps nobody.
#[test]
fn ids_are_unique_and_schemas_are_used() {
    let mut ids = BTreeSet::new();
    for operation in documented().values().flat_map(|item| item.as_object().unwrap().values()) {
        let id = operation["operationId"].as_str().unwrap();
        assert!(ids.insert(id), "{id} twice");
        assert!(operation["summary"].as_str().is_some_and(|text| !text.is_empty()), "{id}");
    }
    let text = DOCUMENT.whole.to_string();
    for name in DOCUMENT.whole["components"]["schemas"].as_object().unwrap().keys() {
        assert!(text.contains(&format!("#/components/schemas/{name}\"")), "nothing uses {name}");
        assert!(!name.ends_with(|last: char| last.is_ascii_digit()), "two schemas are called {name}");
    }
}
