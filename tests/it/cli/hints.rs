//! What a command says beside its result: about a setting that will not do what its writer expects, and what never
//! gets into its messages.

use super::Desk;
use crate::harness::receiver::Receiver;

/// Stands in a URL, as a merchant's token does.
const TOKEN: &str = "tk-7c1f9e02";

on_both! {
    async fn no_filter_brings_values_of_statements_into_the_log(db: TestDatabase) {
        let desk = Desk::new(&db);
        let url = format!("https://till.example/in?token={TOKEN}");
        for (at, filter) in ["debug", "trace", "tokio_postgres=trace", "info,tokio_postgres::query=debug"].iter().enumerate() {
            let (name, email) = (format!("Shop {at}"), "till@shop.example");
            let args = ["business", "add", "--name", &name, "--email", email, "--webhook-url", &url];
            let output = desk.command(&args).env("TILLBELL_LOG", filter).output().unwrap();
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{told}");
            assert!(!told.contains(TOKEN) && !told.contains("tokio_postgres"), "{filter}: {told}");
        }
    }

    async fn a_websites_webhook_url_is_on_a_website_of_its_business(db: TestDatabase) {
        let desk = Desk::new(&db);
        let one = desk.business("Kuli Kuli House");
        let added = desk.refused(&["website", "add", &one, "kuli.example", "--webhook-url", "https://till.example/in"]);
        assert!(added.contains("the webhook URL is on till.example, which is neither this website (kuli.example)"), "{added}");
        assert_eq!(desk.json(&["website", "list", &one])["websites"], serde_json::json!([]));
        desk.json(&["website", "add", &one, "kuli.example", "--approve", "--webhook-url", "https://pay.kuli.example/in"]);
        let set = ["website", "set", "1", "--webhook-url", "https://till.example/in"];
        let refused = desk.refused(&set);
        assert!(refused.contains("Approve a website for till.example first"), "{refused}");
        assert_eq!(desk.json(&["website", "list", &one])["websites"][0]["webhook_url"], "https://pay.kuli.example/in");
        // One that is not approved yet does not help; an approved one does.
        desk.json(&["website", "add", &one, "till.example"]);
        desk.refused(&set);
        desk.json(&["website", "approve", "2"]);
        assert_eq!(desk.json(&set)["webhook_url"], "https://till.example/in");
    }

    async fn a_test_event_says_where_bank_transfers_go(db: TestDatabase) {
        let desk = Desk::dev(&db);
        let (receiver, other) = (Receiver::start().await, Receiver::start().await);
        let one = desk.business("Ijo Fabrics");
        desk.json(&["website", "add", &one, &receiver.url(""), "--approve", "--webhook-url", &other.url("/transfers")]);
        desk.json(&["business", "set", &one, "--webhook-url", &receiver.url("/own")]);
        let told = desk.text(&["webhook", "test", &one]);
        let instead = format!("bank transfers of website 1 go to {} instead", other.url("/transfers"));
        assert!(told.contains(&instead) && told.contains("`webhook test 1 --website 1`"), "{told}");
        assert!(other.received().is_empty());
        let told = desk.text(&["webhook", "test", &one, "--website", "1"]);
        assert!(told.contains(&other.url("/transfers")) && !told.contains("instead"), "{told}");
        assert_eq!(other.received().len(), 1);
        assert!(desk.refused(&["webhook", "test", &one, "--website", "9"]).contains("has no website 9"));
        desk.json(&["website", "set", "1", "--no-webhook-url"]);
        let none = desk.refused(&["webhook", "test", &one, "--website", "1"]);
        assert!(none.contains("each of its bank transfers goes to its own webhook_url"), "{none}");
        assert!(!desk.text(&["webhook", "test", &one]).contains("instead"));
    }

    async fn wallets_without_an_address_for_links_are_told(db: TestDatabase) {
        let desk = Desk::new(&db);
        let one = desk.business("Ijo Fabrics");
        let on = ["business", "set", &one, "--wallet", "on"];
        let told = |more: &[(&str, &str)]| {
            let output = desk.command(&on).envs(more.iter().copied()).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stderr).unwrap()
        };
        let warning = told(&[]);
        assert!(warning.contains("server.public_url is not set") && warning.contains("http://127.0.0.1:8080"), "{warning}");
        assert_eq!(told(&[("TILLBELL_SERVER__PUBLIC_URL", "https://pay.ijo.example")]), "");
    }
}
