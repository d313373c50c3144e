//! What an operator meets day by day: who did what, what waits, what a command answers and refuses.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use tillbell::ops::mailboxes;
use tillbell::store::tables::mailboxes::MailboxKey;

use super::Desk;
use super::money::{furnish, now, pay};
use crate::harness::mails::Alert;

const ACCOUNT: &str = "0123456781";

fn write(desk: &Desk<'_>, file: &str, mail: &str) {
    std::fs::write(desk.path().join(file), mail).unwrap();
}

/// Takes a mail in; answers its result.
fn trusted(desk: &Desk<'_>, file: &str, mail: &str) -> serde_json::Value {
    write(desk, file, mail);
    desk.json(&["alert", "ingest", file, "--trusted"])["results"][0].clone()
}

/// Acts as `operator is left out: act, about, reason`, the newest first.
fn acts(desk: &Desk<'_>, args: &[&str]) -> Vec<String> {
    let told = desk.json(&[&["activity"], args].concat());
    let acts = told["acts"].as_array().unwrap().iter();
    acts.map(|act| {
        let text = |key: &str| act[key].as_str().unwrap_or("-").to_owned();
        format!("{}, {}, {}", text("act"), text("about"), text("reason"))
    })
    .collect()
}

/// A bank's mail in a layout that no template has.
fn new_layout(words: &str) -> String {
    format!("From: GeNS@gtbank.com\r\nSubject: Your account\r\n\r\n{words}\r\n")
}

on_both! {
    async fn a_person_who_vouches_for_a_mail_leaves_a_name(db: TestDatabase) {
        let desk = Desk::new(&db);
        let key = furnish(&desk);
        let txn = pay(&desk, &key, 6_400, "Ngozi Bala Eze").await;
        let mail = Alert::credit(ACCOUNT, 6_400, "Eze Ngozi Bala", now()).text();
        let taken = trusted(&desk, "vouched.eml", &mail);
        assert_eq!((&taken["outcome"], &taken["transaction_id"]), (&"matched".into(), &txn.clone().into()));
        let id = taken["alert_id"].to_string();
        let about = format!("alert {id}");
        assert_eq!(acts(&desk, &["--about", &about]), [format!("ingest --trusted, {about}, vouched.eml")]);
        let by = desk.json(&["activity", "--about", &about])["acts"][0]["operator"].as_str().unwrap().to_owned();
        let shown = desk.json(&["alert", "show", &id]);
        assert_eq!(shown["authentic_by"], format!("ingested with --trusted by {by}"));
        // Without the flag nobody vouches.
        let other = Alert::credit(ACCOUNT, 6_500, "Eze Ngozi Bala", now()).text();
        write(&desk, "other.eml", &other);
        let other = desk.json(&["alert", "ingest", "other.eml"])["results"][0]["alert_id"].to_string();
        assert!(acts(&desk, &["--about", &format!("alert {other}")]).is_empty());
        assert_eq!(desk.json(&["audit"])["ok"], true);
    }

    async fn resending_and_forgetting_leave_a_name(db: TestDatabase) {
        let desk = Desk::new(&db);
        let key = furnish(&desk);
        pay(&desk, &key, 6_400, "Ngozi Bala Eze").await;
        trusted(&desk, "one.eml", &Alert::credit(ACCOUNT, 6_400, "Eze Ngozi Bala", now()).text());
        let id = desk.json(&["webhook", "list"])["webhooks"][0]["id"].to_string();
        desk.json(&["webhook", "resend", &id]);
        let about = format!("webhook {id}");
        assert_eq!(acts(&desk, &["--about", &about]), [format!("webhook resend, {about}, -")]);
        let app = desk.app().await;
        let key = MailboxKey {
            host: "mail.example".into(), port: 993, login: "till".into(), folder: "INBOX".into(),
        };
        let row = mailboxes::configure(&app, &key, "alerts").await.unwrap();
        desk.json(&["mailbox", "forget", &row.id.to_string()]);
        let about = format!("mailbox {}", row.id);
        assert_eq!(acts(&desk, &["--about", &about]), [format!("mailbox forget, {about}, -")]);
    }

    async fn an_approval_is_found_by_its_alert_and_by_its_payment(db: TestDatabase) {
        let desk = Desk::new(&db);
        let key = furnish(&desk);
        let txn = pay(&desk, &key, 9_000, "Sade Ayo Balogun").await;
        let mail = Alert::credit(ACCOUNT, 8_500, "Balogun Sade Ayo", now()).text();
        let id = trusted(&desk, "short.eml", &mail)["alert_id"].to_string();
        let args = ["alert", "approve", &id, "--payment", &txn, "--despite", "the rest in cash"];
        let told = desk.text(&args);
        assert!(told.ends_with("received NGN 500.00 less than requested"), "{told}");
        let approval = format!("approve, alert {id} onto payment {txn}, the rest in cash (received NGN 500.00 less than requested)");
        assert_eq!(acts(&desk, &["--about", &format!("alert {id}")])[0], approval);
        assert_eq!(acts(&desk, &["--about", &format!("payment {txn}")]), [approval]);
        for nothing in [format!("alert {id}0"), "payment NO-SUCH".to_owned()] {
            let refused = desk.refused(&["activity", "--about", &nothing]);
            assert!(refused.contains(&format!("there is no {nothing}")), "{refused}");
        }
        for garbage in [&id[..], "garbage", "alert", "alert x", "payment ", "wallet x"] {
            let output = desk.run(&["activity", "--about", garbage]);
            assert_eq!(output.status.code(), Some(2), "{garbage}");
            let told = String::from_utf8(output.stderr).unwrap();
            assert!(told.contains("alert 42") && told.contains("payment ORDER-81"), "{told}");
        }
        // The money that differs is seen in the list.
        let list = desk.text(&["payment", "list"]);
        assert!(list.contains("RECEIVED") && list.contains("8,500.00"), "{list}");
        desk.json(&["payment", "reverse", &txn, "--reason", "wrong"]);
        let list = desk.text(&["payment", "list"]);
        assert!(list.contains("reversed") && !list.contains("approved"), "{list}");
        let one = &desk.json(&["payment", "list"])["payments"][0];
        assert_eq!((&one["status"], one["reversed_at"].is_string()), (&"approved".into(), true));
    }

    async fn settings_and_wallets_are_told_as_they_changed(db: TestDatabase) {
        let desk = Desk::new(&db);
        let business = desk.business("Ijo Fabrics");
        desk.json(&["business", "set", &business, "--name", "Ijo Cloth", "--rate-limit", "90"]);
        let about = format!("business {business}");
        let told = acts(&desk, &["--about", &about]);
        assert!(
            told[0].ends_with("name from \"Ijo Fabrics\" to \"Ijo Cloth\", rate_limit from default to 90"), "{told:?}"
        );
        desk.json(&["business", "set", &business, "--percentage", "1.5"]);
        let told = acts(&desk, &["--about", &about]);
        assert!(told[0].contains("charges from ") && told[0].contains("1.50%"), "{told:?}");
        let app = desk.app().await;
        let phone = tillbell::domain::phone::Phone::parse("08031230045").unwrap();
        tillbell::ops::wallets::find::ensure(&app, &phone).await.unwrap();
        desk.json(&["wallet", "credit", "08031230045", "250", "--reason", "goodwill"]);
        let masked = phone.masked();
        let told = acts(&desk, &["--about", "wallet 08031230045"]);
        assert_eq!(told, [format!("wallet credit, wallet {masked}, NGN 250.00: goodwill")]);
        let told = desk.text(&["activity"]);
        assert!(told.contains(&masked) && !told.contains("wallet 1"), "{told}");
        desk.json(&["wallet", "suspend", "08031230045", "--reason", "stolen"]);
        let again = desk.refused(&["wallet", "suspend", "08031230045", "--reason", "stolen"]);
        assert!(again.contains("already suspended"), "{again}");
        desk.json(&["wallet", "resume", "08031230045", "--reason", "found"]);
        assert!(desk.refused(&["wallet", "resume", "08031230045", "--reason", "found"]).contains("not suspended"));
    }

    async fn a_mail_in_a_new_layout_is_counted(db: TestDatabase) {
        let desk = Desk::new(&db);
        let taken = trusted(&desk, "new.eml", &new_layout("A transfer of NGN 7,300.00 has reached you"));
        assert_eq!(taken["outcome"], "unreadable", "{taken}");
        assert_eq!(desk.json(&["alert", "list"])["waiting"]["by_status"]["unreadable"]["count"], 1);
        let told = desk.text(&["alert", "list"]);
        assert!(told.contains("1 mail could not be read"), "{told}");
        desk.json(&["alert", "dismiss", "1", "--reason", "seen"]);
        assert_eq!(desk.json(&["alert", "list"])["waiting"]["by_status"]["unreadable"]["count"], 0);
        assert!(!desk.text(&["alert", "list"]).contains("mail could not be read"));
    }

    async fn a_credit_that_a_rule_sets_aside_says_so_and_can_be_approved(db: TestDatabase) {
        let desk = Desk::new(&db);
        let key = furnish(&desk);
        let txn = pay(&desk, &key, 3_200, "Amaka Dike Obi").await;
        let mut alert = Alert::credit(ACCOUNT, 3_200, "X", now());
        alert.session = String::new();
        let mail = alert.text().replace("VIA GAPS PAYMENT FROM X", "NIP CHARGES REFUND TO AMAKA DIKE OBI");
        let taken = trusted(&desk, "fee.eml", &mail);
        let (id, reason) = (taken["alert_id"].to_string(), taken["reason"].as_str().unwrap());
        assert_eq!(taken["outcome"], "ignored", "{taken}");
        assert!(reason.starts_with("not an incoming payment: a fee: the narration matches") && reason.contains("NIP CHARGES REFUND"), "{reason}");
        let tried = desk.json(&["bank", "try", "fee.eml"]).to_string();
        assert!(tried.contains("a fee: the narration matches"), "{tried}");
        let approve = ["alert", "approve", &id, "--payment", &txn];
        let refused = desk.refused(&approve);
        assert!(refused.contains("was set aside as a fee") && refused.contains("--despite"), "{refused}");
        let done = desk.json(&[&approve[..], &["--despite", "she typed that"]].concat());
        assert_eq!(done["status"], "approved");
        let shown = desk.json(&["alert", "show", &id]);
        assert_eq!((&shown["outcome"], &shown["kind"]), (&"matched".into(), &"payment".into()));
        // The same money does not pay a second time unseen.
        let other = pay(&desk, &key, 3_200, "Amaka Dike Obi").await;
        let copy = trusted(&desk, "copy.eml", &mail.replace("Message-ID: <", "Message-ID: <again."))["alert_id"].to_string();
        let refused = desk.refused(&["alert", "approve", &copy, "--payment", &other]);
        assert!(refused.contains(&format!("alert {id}")), "{refused}");
        assert_eq!(desk.json(&["audit"])["ok"], true);
        // The next one is put aside.
        let mut next = Alert::credit(ACCOUNT, 3_300, "X", now());
        next.session = String::new();
        let mail = next.text().replace("VIA GAPS PAYMENT FROM X", "NIP CHARGES REFUND TO AMAKA DIKE OBI");
        let id = trusted(&desk, "next.eml", &mail)["alert_id"].to_string();
        let done = desk.json(&["alert", "dismiss", &id, "--reason", "a refund of the bank's"]);
        assert_eq!((&done["outcome"], &done["was"]), (&"dismissed".into(), &"ignored".into()));
        assert_eq!(desk.json(&["alert", "show", &id])["dismissed_from"], "ignored");
        // A debit is nothing to approve.
        let mut debit = Alert::credit(ACCOUNT, 3_400, "X", now());
        debit.direction = "DEBIT";
        let id = trusted(&desk, "debit.eml", &debit.text())["alert_id"].to_string();
        assert!(desk.refused(&["alert", "approve", &id, "--payment", &txn, "--despite", "x"]).contains("ignored"));
    }

    async fn a_level_that_is_none_is_refused(db: TestDatabase) {
        let desk = Desk::new(&db);
        for command in [&["account", "list"][..], &["serve"]] {
            for level in ["verbose", "bogus", "info,tillbell=loud"] {
                let output = desk.command(command).env("TILLBELL_LOG", level).output().unwrap();
                let told = String::from_utf8(output.stderr).unwrap();
                assert_eq!(output.status.code(), Some(1), "{command:?} {level}");
                assert!(
                    told.contains("TILLBELL_LOG") && told.contains("error, warn, info, debug, trace, off"), "{told}"
                );
            }
        }
        for level in ["warning", "WARN", "info,tillbell::store=warning", "", "off"] {
            let output = desk.command(&["account", "list"]).env("TILLBELL_LOG", level).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{level}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }

    async fn small_answers_are_said_well(db: TestDatabase) {
        let desk = Desk::new(&db);
        std::fs::create_dir(desk.path().join("nothing")).unwrap();
        write(&desk, "nothing/readme.txt", "no mail");
        let told = desk.refused(&["alert", "ingest", "nothing"]);
        assert!(told.contains("nothing cannot be opened: no mails were found"), "{told}");
        let told = desk.refused(&["alert", "ingest", "-"]);
        assert!(told.contains("standard input is empty"), "{told}");
        let help = desk.text(&["alert", "list", "--help"]);
        assert!(help.contains("quarantined, ignored, unreadable, dismissed, reversed"), "{help}");
        let help = desk.text(&["payment", "reverse", "--help"]);
        assert!(help.contains("Why you reverse it although the alert does not fit this transfer"), "{help}");
        let help = desk.text(&["business", "add", "--help"]);
        assert!(help.contains("1 percent plus NGN 50.00"), "{help}");
        let mail = Alert::credit(ACCOUNT, 700, "Ene Agaba", now()).text();
        write(&desk, "open.eml", &mail);
        let reason = desk.json(&["alert", "ingest", "open.eml"])["results"][0]["reason"].as_str().unwrap().to_owned();
        assert!(!reason.contains("Authentication-Results"), "{reason}");
        std::fs::create_dir(desk.path().join("templates")).unwrap();
        write(&desk, "templates/bad.toml", "code = 3\nname =\n");
        let mut command = desk.command(&["bank", "list"]);
        let output = command.env("TILLBELL_BANKS__FOLDER", desk.path().join("templates")).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains("banks.folder"), "{told}");
        let mut command = desk.command(&["account", "list"]);
        let url = "postgres://till:p@ss/w@127.0.0.1:1/none";
        let told = String::from_utf8(command.env("TILLBELL_DATABASE__URL", url).output().unwrap().stderr).unwrap();
        assert!(!told.contains("ss/w") && !told.contains("p@ss"), "{told}");
    }

    async fn which_files_are_used_is_said(db: TestDatabase) {
        let desk = Desk::bare(&db);
        let output = desk.run(&["migrate"]);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains("configuration file: none") && told.contains("database: "), "{told}");
        assert!(!told.contains("p@ss"), "{told}");
        std::fs::write(desk.path().join("own.toml"), "").unwrap();
        let told = desk.run(&["--config", "own.toml", "migrate"]).stderr;
        let told = String::from_utf8(told).unwrap();
        assert!(told.contains("configuration file: own.toml; database: "), "{told}");
    }
}

#[test]
fn a_new_database_that_nobody_named_is_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tillbell"));
        command
            .args(args)
            .current_dir(folder.path())
            .env_clear()
            .env("TILLBELL_SERVER__LISTEN", "127.0.0.1:0");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut child = run(&["serve"]);
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("listening on"), "{line}");
    child.kill().unwrap();
    let told = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
    for part in
        ["a new, empty database was created", "tillbell.db", "no configuration file", "no mails will arrive"]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
    // It is there now.
    let told = run(&["migrate"]).wait_with_output().unwrap();
    let told = String::from_utf8(told.stderr).unwrap();
    assert!(!told.contains("was created") && told.contains("tillbell.db"), "{told}");
}
