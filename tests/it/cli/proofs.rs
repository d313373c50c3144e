//! What the commands say about proofs: `bank try`, `alert ingest` and `alert show`, with a name server
//! that answers, one that is in trouble, and a signature that fails.

use tillbell::clock::{Clock, SystemClock};
use tillbell::domain::time::Span;

use super::Desk;
use crate::harness::app::ACCOUNT;
use crate::harness::mails::Alert;
use crate::harness::name_server::{NameServer, Say};
use crate::harness::signing::{Signer, record};

const KEY_NAME: &str = "mail._domainkey.gtbank.com";

/// Today's alert, signed, and the same with another amount.
fn mails() -> (String, String) {
    let at = SystemClock.now() - Span::minutes(10);
    let signed = Signer::bank().sign(&Alert::credit(ACCOUNT, 5_000, "Halima Garba", at).text());
    let altered = signed.replace("NGN 5000<", "NGN 9000<");
    assert_ne!(signed, altered);
    (signed, altered)
}

fn write(desk: &Desk<'_>) {
    let (signed, altered) = mails();
    std::fs::write(desk.path().join("signed.eml"), signed).unwrap();
    std::fs::write(desk.path().join("altered.eml"), altered).unwrap();
}

fn why(json: &serde_json::Value) -> String {
    json["why"].as_array().unwrap().iter().map(|one| format!("{};", one.as_str().unwrap())).collect()
}

on_both! {
    async fn bank_try_tells_a_proof_a_failure_and_what_it_could_not_check(db: TestDatabase) {
        let names = NameServer::start().await;
        names.say(KEY_NAME, Say::Text(record("rsa2048")));
        let mut desk = Desk::new(&db);
        desk.dns = Some(names.address);
        write(&desk);
        let proven = desk.json(&["bank", "try", "signed.eml"]);
        assert_eq!((&proven["outcome"], &proven["authentic"]), (&"read".into(), &"proven".into()), "{proven}");
        let failed = desk.json(&["bank", "try", "altered.eml"]);
        assert_eq!((&failed["outcome"], &failed["authentic"]), (&"quarantined".into(), &"refuted".into()));
        assert!(why(&failed).contains("not what was signed"), "{failed}");
        for (said, told) in [(Say::ServFail, "could not be checked"), (Say::Nothing, "DNS has no key")] {
            names.say(KEY_NAME, said);
            let open = desk.json(&["bank", "try", "altered.eml"]);
            assert_eq!((&open["outcome"], &open["authentic"]), (&"read".into(), &"unproven".into()), "{open}");
            assert!(why(&open).contains(told), "{open}");
        }
    }

    async fn bank_try_tells_what_the_service_would_make_of_it(db: TestDatabase) {
        let names = NameServer::start().await;
        names.say(KEY_NAME, Say::Text(record("rsa2048")));
        let mut desk = Desk::new(&db);
        desk.dns = Some(names.address);
        write(&desk);
        let good = desk.json(&["bank", "try", "signed.eml"]);
        assert_eq!((&good["live_outcome"], &good["unsigned_headers"]), (&"approvable".into(), &serde_json::json!([])));
        // Proven, and a person would have to look at every one of them.
        let at = SystemClock.now() - Span::minutes(10);
        let fields = vec!["from", "to", "date"];
        let bare = Signer { fields, ..Signer::bank() }.sign(&Alert::credit(ACCOUNT, 5_000, "Halima Garba", at).text());
        std::fs::write(desk.path().join("bare.eml"), bare).unwrap();
        let open = desk.json(&["bank", "try", "bare.eml"]);
        assert_eq!((&open["authentic"], &open["outcome"]), (&"proven".into(), &"read".into()));
        assert_eq!(open["live_outcome"], "review", "{open}");
        assert!(open["live_reasons"][0].as_str().unwrap().contains("does not cover Content-Type"), "{open}");
        assert_eq!(open["unsigned_headers"], serde_json::json!(["Subject", "Message-ID", "Content-Type"]));
        let text = desk.text(&["bank", "try", "bare.eml"]);
        assert!(text.contains("review") && text.contains("Content-Type"), "{text}");
        // The bank's template says so, in a folder of the operator's.
        let folder = desk.path().join("banks");
        std::fs::create_dir(&folder).unwrap();
        let template = include_str!("../../../banks/gtbank.toml");
        std::fs::write(folder.join("gtbank.toml"), format!("signs_content_type = false\n{template}")).unwrap();
        let output = desk
            .command(&["--json", "bank", "try", "bare.eml"])
            .env("TILLBELL_BANKS__FOLDER", &folder)
            .output()
            .unwrap();
        let taught: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(taught["live_outcome"], "approvable", "{taught}");
        for (file, outcome) in [("altered.eml", "quarantined"), ("plain.eml", "quarantined"), ("empty.eml", "unreadable")] {
            let mail = if file == "plain.eml" { Alert::credit(ACCOUNT, 5_000, "Halima Garba", at).text() } else { String::new() };
            if file != "altered.eml" {
                std::fs::write(desk.path().join(file), mail).unwrap();
            }
            assert_eq!(desk.json(&["bank", "try", file])["live_outcome"], outcome, "{file}");
        }
    }

    async fn alert_ingest_says_that_it_waits_and_alert_show_what_proved_it(db: TestDatabase) {
        let names = NameServer::start().await;
        names.say(KEY_NAME, Say::ServFail);
        let mut desk = Desk::new(&db);
        desk.dns = Some(names.address);
        write(&desk);
        let waits = desk.json(&["alert", "ingest", "signed.eml"])["results"][0].clone();
        assert_eq!(waits["outcome"], "quarantined");
        assert!(waits["reason"].as_str().unwrap().starts_with("it waits for a name server"), "{waits}");
        let refuted = desk.json(&["alert", "ingest", "altered.eml"])["results"][0].clone();
        assert!(refuted["reason"].as_str().unwrap().contains("not what was signed"), "{refuted}");
        names.say(KEY_NAME, Say::Text(record("rsa2048")));
        let proven = desk.json(&["alert", "ingest", "signed.eml"])["results"][0].clone();
        // There is no such account here, so a person must look; but the mail is the bank's.
        assert_eq!(proven["outcome"], "review", "{proven}");
        let shown = desk.json(&["alert", "show", &proven["alert_id"].to_string()]);
        assert_eq!(shown["authentic"], "proven");
        assert!(shown["authentic_by"].as_str().unwrap().starts_with("dkim d=gtbank.com s=mail key=sha256:"));
        let text = desk.text(&["alert", "show", &proven["alert_id"].to_string()]);
        assert!(text.contains("dkim d=gtbank.com"), "{text}");
        assert!(desk.json(&["alert", "show", &waits["alert_id"].to_string()])["authentic_by"].is_null());
    }
}
