//! What an operator meets in the first week: accounts added by mistake, the same mail twice, files that are no
//! mails, settings with a slip, and answers that say what there is to know.

use tillbell::ops::mailboxes;
use tillbell::store::Step;
use tillbell::store::engine::sql::{Sql, Text};
use tillbell::store::tables::mailboxes::MailboxKey;

use super::Desk;
use super::payments::{now, pay, shop};
use crate::harness::mails::Alert;

const NUMBER: &str = "0123452215";
const ALIKE: &str = "9876542215";

fn ingest(desk: &Desk<'_>, mail: &str, options: &[&str]) -> serde_json::Value {
    std::fs::write(desk.path().join("one.eml"), mail).unwrap();
    desk.json(&[&["alert", "ingest", "one.eml"], options].concat())["results"][0].clone()
}

fn listed(desk: &Desk<'_>, options: &[&str]) -> Vec<String> {
    let list = desk.json(&[&["payment", "list"], options].concat());
    let rows = list["payments"].as_array().unwrap();
    rows.iter().map(|row| row["transaction_id"].as_str().unwrap().to_owned()).collect()
}

fn std_err(desk: &Desk<'_>, args: &[&str]) -> (Option<i32>, String) {
    let output = desk.run(args);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

on_both! {
    async fn a_forced_account_says_whose_alerts_it_makes_unclear(db: TestDatabase) {
        let desk = Desk::new(&db);
        desk.account(NUMBER);
        assert!(!desk.text(&["account", "list"]).contains("MASK SHARED"));
        let add = ["account", "add", "--number", ALIKE, "--name", "TILL AND BELL LTD", "--bank", "GTBank"];
        assert!(desk.refused(&add).contains("alerts of account 1 go to review too"));
        let (code, said) = std_err(&desk, &[&add[..], &["--force"]].concat());
        assert!(code == Some(0) && said.contains(&format!("account 1 ({NUMBER}); from now on alerts of account 1 go to review too")), "{said}");
        assert!(desk.text(&["account", "list"]).to_uppercase().replace('_', " ").contains("MASK SHARED"));
    }

    async fn an_alert_of_an_account_that_was_added_later_is_read_again(db: TestDatabase) {
        let desk = Desk::new(&db);
        let taken = ingest(&desk, &Alert::credit(NUMBER, 6_450, "Kelechi Umeh", now()).text(), &["--trusted"]);
        assert_eq!(taken["outcome"], "review", "{taken}");
        let same = desk.json(&["alert", "reread", "1"]);
        assert_eq!(same["results"][0]["outcome"], "review", "{same}");
        assert!(same["results"][0]["reason"].as_str().unwrap().starts_with("it reads as before"), "{same}");
        let told = desk.text(&["alert", "reread", "--bank", "GTBank", "--since", "7d"]);
        assert!(told.contains("1 alert reads as before") && !told.contains("no registered account"), "{told}");
        desk.account(NUMBER);
        let again = desk.json(&["alert", "reread", "--bank", "GTBank", "--since", "7d"]);
        let result = &again["results"][0];
        assert_eq!((&result["before"], &result["outcome"]), (&"review".into(), &"unmatched".into()), "{again}");
        assert_eq!(desk.json(&["alert", "show", "1"])["account_id"], 1);
        assert!(desk.refused(&["alert", "reread", "1"]).contains("unmatched"), "its account is known now");
    }

    async fn a_mailbox_is_configured_while_the_file_has_it(db: TestDatabase) {
        let desk = Desk::new(&db);
        let app = desk.app().await;
        let key = |login: &str| MailboxKey { host: "imap.shop.example".into(), port: 993, login: login.into(), folder: "INBOX".into() };
        mailboxes::configure(&app, &key("till"), "alerts").await.unwrap();
        mailboxes::configure(&app, &key("old"), "before").await.unwrap();
        std::fs::write(
            desk.path().join("till.toml"),
            "[[mail.imap]]\nname = \"alerts\"\nhost = \"imap.shop.example\"\nuser = \"till\"\npassword = \"p\"\n",
        )
        .unwrap();
        let list = desk.json(&["--config", "till.toml", "mailbox", "list"]);
        let told: Vec<_> = list["mailboxes"].as_array().unwrap().iter().map(|row| (row["configured"].clone(), row["status"].clone())).collect();
        assert_eq!(told, [(true.into(), "configured".into()), (false.into(), "removed".into())], "{list}");
        let text = desk.text(&["--config", "till.toml", "mailbox", "list"]);
        assert!(text.contains("configured") && text.contains("removed"), "{text}");
        let refused = desk.refused(&["--config", "till.toml", "mailbox", "forget", "1"]);
        assert!(refused.contains("mailbox 1 (alerts) is in the configuration"), "{refused}");
        desk.json(&["--config", "till.toml", "mailbox", "forget", "2"]);
        let list = desk.json(&["--config", "till.toml", "mailbox", "list"]);
        assert_eq!(list["mailboxes"][1]["status"], "forgotten", "{list}");
        // Two of one name are told apart.
        assert!(!text.contains("imap.shop.example"), "{text}");
        mailboxes::configure(&app, &key("tlil"), "alerts").await.unwrap();
        let text = desk.text(&["--config", "till.toml", "mailbox", "list"]);
        assert!(text.contains("HOST") && text.contains("USER") && text.contains("tlil"), "{text}");
    }

    async fn a_reversed_payment_is_told_as_reversed_and_found_so(db: TestDatabase) {
        let desk = Desk::new(&db);
        let key = shop(&desk, "Ijo Fabrics", "ijo.example", &[]);
        desk.account(NUMBER);
        let app = desk.app().await;
        for (id, naira) in [("r-1", 6_450), ("r-2", 7_150)] {
            pay(&app, &key, id, naira, "Kelechi Umeh").await;
            assert_eq!(ingest(&desk, &Alert::credit(NUMBER, naira, "Kelechi Umeh", now()).text(), &["--trusted"])["transaction_id"], id);
        }
        let told = desk.text(&["payment", "reverse", "r-1", "--reason", "wrong match"]);
        assert!(told.lines().count() <= 11 && told.contains("reversed") && told.contains("payment show r-1 --business 1"), "{told}");
        let text = desk.text(&["payment", "show", "r-1"]);
        assert!(text.lines().any(|line| line.starts_with("status:") && line.ends_with("reversed")), "{text}");
        let json = desk.json(&["payment", "show", "r-1"]);
        assert_eq!((&json["status"], &json["is_reversed"]), (&"approved".into(), &true.into()));
        assert_eq!(listed(&desk, &["--status", "reversed"]), ["r-1"]);
        assert_eq!(listed(&desk, &["--status", "reversed", "--name", "umeh"]), ["r-1"]);
        assert_eq!(listed(&desk, &["--status", "approved"]), ["r-2"]);
        assert_eq!(desk.json(&["audit"])["ok"], true);
    }

    async fn an_approval_is_told_in_a_few_lines(db: TestDatabase) {
        let desk = Desk::new(&db);
        let key = shop(&desk, "Ijo Fabrics", "ijo.example", &[]);
        desk.account(NUMBER);
        pay(&desk.app().await, &key, "r-1", 6_450, "Kelechi Umeh").await;
        ingest(&desk, &Alert::credit(NUMBER, 6_400, "Kelechi Umeh", now()).text(), &["--trusted"]);
        let told = desk.text(&["alert", "approve", "1", "--payment", "r-1"]);
        assert!(told.lines().count() <= 8 && told.contains("NGN 6,400.00") && told.contains("payment show r-1"), "{told}");
        assert!(!told.contains("deliveries"), "{told}");
    }

    async fn activity_names_the_business_and_is_narrowed_by_it(db: TestDatabase) {
        let desk = Desk::new(&db);
        for (name, host, naira) in [("Ijo Fabrics", "ijo.example", 5_000), ("Kola Foods", "kola.example", 7_000)] {
            let key = shop(&desk, name, host, &[]);
            if name == "Ijo Fabrics" {
                desk.account(NUMBER);
            }
            pay(&desk.app().await, &key, "order-1", naira, "Kelechi Umeh").await;
        }
        for business in ["1", "2"] {
            desk.json(&["payment", "reject", "order-1", "--business", business, "--reason", "left"]);
        }
        let text = desk.text(&["activity", "--about", "payment order-1"]);
        assert!(text.contains("payment order-1 (business 1)") && text.contains("payment order-1 (business 2)"), "{text}");
        let one = desk.json(&["activity", "--about", "payment order-1", "--business", "2"]);
        let acts = one["acts"].as_array().unwrap();
        assert_eq!((acts.len(), &acts[0]["business_id"], &acts[0]["about"]), (1, &2.into(), &"payment order-1".into()));
        let of_two = desk.json(&["activity", "--business", "2"]);
        let acts: Vec<_> = of_two["acts"].as_array().unwrap().iter().map(|act| act["act"].as_str().unwrap()).collect();
        assert_eq!(acts, ["reject", "key add", "website add --approve", "business add"], "{of_two}");
        assert!(desk.refused(&["activity", "--business", "9"]).contains("no business 9"));
    }

    async fn the_same_bytes_are_no_new_work(db: TestDatabase) {
        let desk = Desk::new(&db);
        desk.account(NUMBER);
        let mail = Alert::credit(NUMBER, 6_450, "Kelechi Umeh", now()).text();
        let first = ingest(&desk, &mail, &[]);
        assert_eq!(first["outcome"], "quarantined");
        desk.json(&["alert", "dismiss", "1", "--reason", "spam"]);
        let again = ingest(&desk, &mail, &[]);
        assert_eq!(again["outcome"], "duplicate", "{again}");
        assert!(again["reason"].as_str().unwrap().contains("the same mail as alert 1, which is dismissed"), "{again}");
        // A person's word is another verdict: what nobody vouched for makes no genuine mail a copy.
        let vouched = ingest(&desk, &mail, &["--trusted"]);
        assert_eq!(vouched["outcome"], "unmatched", "{vouched}");
        let unread = "From: gens@gtbank.com\r\nSubject: Hello\r\n\r\nA CREDIT of NGN 750.00 on your account\r\n";
        assert_eq!(ingest(&desk, unread, &[])["outcome"], "unreadable");
        let again = ingest(&desk, unread, &[]);
        assert_eq!(again["outcome"], "duplicate", "{again}");
        assert_eq!(ingest(&desk, &unread.replace("750", "760"), &[])["outcome"], "unreadable");
        let waiting = &desk.json(&["alert", "list"])["waiting"]["by_status"];
        assert_eq!((&waiting["quarantined"]["count"], &waiting["unreadable"]["count"]), (&0.into(), &2.into()));
        assert_eq!(desk.json(&["audit"])["ok"], true);
    }

    async fn a_file_that_is_no_mail_is_refused(db: TestDatabase) {
        let desk = Desk::new(&db);
        std::fs::write(desk.path().join("notes.txt"), "dear bank, please\n").unwrap();
        let output = desk.run(&["--json", "alert", "ingest", "--trusted", "notes.txt"]);
        assert_eq!(output.status.code(), Some(1));
        let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&told["results"][0]["outcome"], &told["results"][0]["alert_id"]), (&"refused".into(), &serde_json::Value::Null));
        assert!(String::from_utf8_lossy(&output.stderr).contains("notes.txt: this is not a mail"), "{output:?}");
        assert!(desk.json(&["alert", "list"])["alerts"].as_array().unwrap().is_empty());
    }

    async fn a_file_without_a_to_header_is_told_so(db: TestDatabase) {
        let desk = Desk::new(&db);
        desk.account(NUMBER);
        let mail = Alert::credit(NUMBER, 6_450, "Kelechi Umeh", now()).text().replace("To: alerts@till.example\r\n", "");
        std::fs::write(desk.path().join("one.eml"), mail).unwrap();
        let mut command = desk.command(&["--json", "alert", "ingest", "--trusted", "one.eml"]);
        let output = command.env("TILLBELL_MAIL__RECIPIENTS", "[\"alerts@till.example\"]").output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("no To header has an address in mail.recipients") && !said.contains("signed To"), "{said}");
    }

    async fn a_single_word_finds_names_that_are_close_to_it(db: TestDatabase) {
        let desk = Desk::new(&db);
        let key = shop(&desk, "Ijo Fabrics", "ijo.example", &[]);
        desk.account(NUMBER);
        let app = desk.app().await;
        pay(&app, &key, "n-1", 6_450, "Chizoba Okereke").await;
        pay(&app, &key, "n-2", 6_450, "Bashir Lawal").await;
        for word in ["okerekee", "okereke", "chizobah"] {
            let verdict = desk.json(&["name", "compare", word, "Chizoba Okereke"]);
            let found = listed(&desk, &["--name", word]);
            assert_eq!(found == ["n-1"], verdict["verdict"] != "different" || word == "okereke", "{word}: {verdict} {found:?}");
        }
        assert_eq!(listed(&desk, &["--name", "okerekee"]), ["n-1"]);
    }

    async fn wallet_payments_are_found_by_the_shops_own_reference(db: TestDatabase) {
        let desk = Desk::new(&db);
        let key = shop(&desk, "Ijo Fabrics", "ijo.example", &[]);
        desk.account(NUMBER);
        let app = desk.app().await;
        pay(&app, &key, "w-1", 6_450, "Chizoba Okereke").await;
        pay(&app, &key, "w-2", 6_450, "Bashir Lawal").await;
        static REFER: Sql = Sql::new(
            "REFER",
            Text::Plain("update payments set external_reference = 'basket 17' where transaction_id = $1"),
        );
        let unit = app.store.unit(1).await.unwrap().step(Step::one(&REFER, vec!["w-1".into()]));
        assert!(app.store.apply(unit).await.unwrap().is_done());
        assert_eq!(listed(&desk, &["--reference", "basket 17"]), ["w-1"]);
        assert_eq!(listed(&desk, &["--reference", "basket 17", "--name", "lawal"]), Vec::<String>::new());
        assert_eq!(desk.json(&["payment", "show", "basket 17"])["transaction_id"], "w-1");
        assert!(desk.refused(&["payment", "show", "basket 18"]).contains("no business has a payment basket 18"));
    }

    async fn settings_with_a_slip_are_named_before_anything_is_made(db: TestDatabase) {
        let desk = Desk::new(&db);
        let try_with = |toml: &str| {
            std::fs::write(desk.path().join("till.toml"), format!("[database]\nurl = \"sqlite:fresh.db\"\n{toml}")).unwrap();
            let mut command = desk.command(&["--config", "till.toml", "serve"]);
            command.env_remove("TILLBELL_DATABASE__URL").env_remove("TILLBELL_SECRET__KEY_FILE");
            let output = command.output().unwrap();
            assert_eq!(output.status.code(), Some(1), "{toml}");
            assert!(!desk.path().join("fresh.db").exists(), "{toml}");
            String::from_utf8_lossy(&output.stderr).into_owned()
        };
        let imap = "[[mail.imap]]\nhost = \"a.example\"\nuser = \"a\"\n";
        for (toml, expected) in [
            (format!("{imap}password = \"x\"\n{imap}password = \"p\"\npassword_file = \"f\"\n"), "mail.imap[2] has more than one of"),
            (format!("{imap}password = \"x\"\nport = 0\n"), "mail.imap[1].port"),
            ("[limits]\nrequests_per_minute = 0\n".to_owned(), "limits.requests_per_minute = 0 would refuse every request"),
            ("[server]\ntls_cert = \"no.pem\"\ntls_key = \"no.key\"\n".to_owned(), "till.toml: the TLS certificate file no.pem"),
            ("[pages]\noperator_name = \"Kudi\"\nlogo_file = \"no.png\"\n".to_owned(), "till.toml: pages.logo_file = no.png"),
            ("[webhooks]\nextra_ca_file = \"no.pem\"\n".to_owned(), "till.toml: webhooks.extra_ca_file: no.pem"),
        ] {
            let said = try_with(&toml);
            assert!(said.contains(expected), "{expected}: {said}");
        }
    }

    async fn a_template_with_a_slip_is_told(db: TestDatabase) {
        let desk = Desk::new(&db);
        let folder = desk.path().join("banks");
        std::fs::create_dir(&folder).unwrap();
        let (_, good) = tillbell::alert_reader::template::embedded::TEMPLATES.iter().find(|(file, _)| file.contains("gtbank")).unwrap();
        let check = |text: &str| {
            std::fs::write(folder.join("own.toml"), text).unwrap();
            let output = desk.run(&["bank", "check", "banks"]);
            (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr).into_owned())
        };
        let (code, _, said) = check(good);
        assert!(code == Some(0) && said.contains("own.toml replaces the template of \"gtbank\""), "{said}");
        let (code, _, said) = check(&good.replacen("name = ", "currency = \"NGA\"\nname = ", 1).replacen("currency = \"NGN\"\n", "", 1));
        assert!(code == Some(1) && said.contains("\"NGA\" is not an ISO 4217 code"), "{said}");
        let at = good.find("\ndate = \"").unwrap();
        let end = at + 9 + good[at + 9..].find('"').unwrap();
        let (code, out, _) = check(&format!("{}\ndate = \"yesterday{}", &good[..at], &good[end..]));
        assert!(code == Some(1) && out.contains("date: \"yesterday\" is not a mail's date"), "{out}");
    }

    async fn a_business_is_warned_of_twice_and_set_needs_a_setting(db: TestDatabase) {
        let desk = Desk::new(&db);
        desk.business("Ijo Fabrics");
        let (code, said) = std_err(&desk, &["business", "add", "--name", "ijo fabrics", "--email", "till@shop.example"]);
        assert!(code == Some(0) && said.contains("business 1 has the same name and e-mail address"), "{said}");
        let (code, said) = std_err(&desk, &["business", "add", "--name", "Kola", "--email", "till@shop.example"]);
        assert!(code == Some(0) && !said.contains("same name"), "{said}");
        assert!(desk.refused(&["business", "set", "1"]).contains("nothing was changed"));
    }

    async fn a_delivery_is_shown_with_its_attempts(db: TestDatabase) {
        let desk = Desk::new(&db);
        let key = shop(&desk, "Ijo Fabrics", "ijo.example", &[]);
        desk.account(NUMBER);
        pay(&desk.app().await, &key, "r-1", 6_450, "Kelechi Umeh").await;
        ingest(&desk, &Alert::credit(NUMBER, 6_450, "Kelechi Umeh", now()).text(), &["--trusted"]);
        let id = desk.json(&["webhook", "list"])["webhooks"][0]["id"].to_string();
        let shown = desk.json(&["webhook", "show", &id]);
        assert_eq!((&shown["transaction_id"], shown["attempts"].is_array()), (&"r-1".into(), true), "{shown}");
        assert!(desk.refused(&["webhook", "show", "99999"]).contains("there is no delivery 99999"));
    }
}
