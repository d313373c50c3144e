//! What a command says beside its result: about a setting that will not do what its writer expects, and what never
//! gets into its messages.

use tillbell::domain::phone::Phone;
use tillbell::ops::wallets::find::ensure;

use super::Desk;
use super::money::{furnish, now, pay};
use super::terminal::typed_on_terminal;
use crate::harness::mails::Alert;
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

    async fn a_service_that_cannot_start_names_the_setting(db: TestDatabase) {
        let desk = Desk::bare(&db);
        std::fs::write(desk.path().join("one.toml"), "[mail.imap]\nhost = \"imap.shop.example\"\n").unwrap();
        let refused = desk.refused(&["--config", "one.toml", "serve"]);
        assert!(refused.contains("mail.imap is a list: write [[mail.imap]]"), "{refused}");
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let mail = "[mail]\nrecipients = \"a@shop.example\"\n[[mail.imap]]\nhost = \"imap.shop.example\"\nuser = \"till\"\n";
        let text = format!("[server]\nlisten = \"{address}\"\n{mail}password_file = \"gone.password\"\n");
        std::fs::write(desk.path().join("two.toml"), text).unwrap();
        let output = desk.run(&["--config", "two.toml", "serve"]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains(&format!("server.listen: cannot listen on {address}")), "{told}");
        assert!(told.contains("mail.imap[1].password_file = ") && told.contains("cannot be read"), "{told}");
    }

    async fn an_empty_reason_names_its_option(db: TestDatabase) {
        let desk = Desk::new(&db);
        let key = furnish(&desk);
        let txn = pay(&desk, &key, 4_100, "Sade Ayo Balogun").await;
        let refused = desk.refused(&["alert", "approve", "1", "--payment", &txn, "--despite", " "]);
        assert!(refused.contains("--despite: a reason is required"), "{refused}");
    }

    async fn a_rejection_and_a_credit_are_confirmed_on_a_terminal(db: TestDatabase) {
        let desk = Desk::new(&db);
        let key = furnish(&desk);
        let txn = pay(&desk, &key, 4_100, "Sade Ayo Balogun").await;
        let reject = ["payment", "reject", &txn, "--reason", "the customer cancelled"];
        for (typed, status) in [("no\n", "pending"), ("yes\n", "rejected")] {
            let shown = typed_on_terminal(&desk, &reject, typed);
            assert!(shown.contains("NGN 4,100.00 from Sade Ayo Balogun? Nobody can approve it afterwards"), "{shown}");
            assert_eq!(desk.json(&["payment", "show", &txn])["status"], status, "{typed:?}: {shown}");
        }
        let app = desk.app().await;
        ensure(&app, &Phone::parse("08035550142").unwrap()).await.unwrap();
        desk.json(&["wallet", "suspend", "08035550142", "--reason", "stolen"]);
        let credit = ["wallet", "credit", "08035550142", "900", "--reason", "goodwill"];
        for (typed, balance) in [("\n", 0.0), ("yes\n", 900.0)] {
            let shown = typed_on_terminal(&desk, &credit, typed);
            assert!(shown.contains("Credit NGN 900.00 to the wallet of +2348035550142, which is suspended?"), "{shown}");
            assert_eq!(desk.json(&["wallet", "show", "08035550142"])["balance"].as_f64(), Some(balance), "{shown}");
        }
        // A script is asked nothing.
        let credited = desk.text(&["wallet", "credit", "08035550142", "40", "--reason", "goodwill"]);
        assert!(credited.contains("nobody can spend the money until `wallet resume`"), "{credited}");
    }

    async fn a_banks_own_quarantine_is_cleared_after_a_question(db: TestDatabase) {
        let desk = Desk::new(&db);
        desk.account("0123456781");
        for (at, naira) in [(1, 7_300), (2, 250)] {
            let file = format!("{at}.eml");
            let mail = Alert::credit("0123456781", naira, "Sade Ayo Balogun", now()).text();
            std::fs::write(desk.path().join(&file), mail).unwrap();
            let taken = desk.json(&["alert", "ingest", &file]);
            assert_eq!(taken["results"][0]["outcome"], "quarantined", "{taken}");
        }
        let sender = desk.json(&["alert", "show", "1"])["mail_from"].as_str().unwrap().to_owned();
        let clear = ["alert", "dismiss", "--from", &sender, "--reason", "forged"];
        for (typed, outcome) in [("no\n", "quarantined"), ("yes\n", "dismissed")] {
            let shown = typed_on_terminal(&desk, &clear, typed);
            assert!(shown.contains("quarantined alerts (2, NGN 7,550.00 in all) may be genuine payments"), "{shown}");
            assert_eq!(desk.json(&["alert", "show", "2"])["outcome"], outcome, "{typed:?}: {shown}");
        }
        // Nobody else's alerts need a question.
        let shown = typed_on_terminal(&desk, &["alert", "dismiss", "--from", "promo@shop.example", "--reason", "forged"], "no\n");
        assert!(!shown.contains("Type yes"), "{shown}");
    }
}
