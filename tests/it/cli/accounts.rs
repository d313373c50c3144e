//! Receiving accounts.

use super::{Desk, fields};

/// A number with GTBank's check digit (bank code 058), worked out by hand: 0123456781.
const GTB: [&str; 7] = ["account", "add", "--name", "IJO FABRICS LTD", "--bank", "gtb", "--number"];

fn add<'a>(number: &'a str, extra: &[&'a str]) -> Vec<&'a str> {
    [&GTB[..], &[number], extra].concat()
}

on_both! {
    async fn an_account_is_added_listed_retired_and_reopened(db: TestDatabase) {
        let desk = Desk::new(&db);
        let added = desk.json_text(&add("0123456789", &[]));
        assert!(added.starts_with(r#"{"id":1,"bank":"GTBank","bank_code":"gtbank","number":"0123456789","#), "{added}");
        assert_eq!(
            fields(&added),
            [
                "id", "bank", "bank_code", "number", "name", "business_id", "via_account_id", "mode", "forced",
                "mask_shared", "retired", "created_at", "retired_at", "reopened",
            ]
        );
        assert!(desk.refused(&add("0123456789", &[])).contains("account 1"));
        let retired = desk.json(&["account", "retire", "1"]);
        assert_eq!(retired["retired"], true);
        assert_eq!(desk.json(&["account", "retire", "1"])["retired_at"], retired["retired_at"]);
        let business = desk.business("Ijo");
        let again = desk.json(&add("0123456789", &["--business", &business]));
        assert_eq!((&again["id"], &again["reopened"], &again["retired"]), (&1.into(), &true.into(), &false.into()));
        let list = desk.json(&["account", "list"]);
        let all = list["accounts"].as_array().unwrap();
        assert_eq!((all.len(), &all[0]["retired_at"], &all[0]["business_id"]), (1, &serde_json::Value::Null, &1.into()));
        assert_eq!(desk.refused(&["account", "retire", "5"]), "tillbell: there is no account 5");
        assert!(desk.refused(&add("0123456788", &["--business", "9"])).contains("business 9"));
    }

    async fn a_look_alike_and_an_unknown_bank_need_force(db: TestDatabase) {
        let desk = Desk::new(&db);
        desk.json(&add("0123456789", &[]));
        let said = desk.refused(&add("9876546789", &[]));
        assert!(said.contains("account 1") && said.contains("--force"), "{said}");
        let forced = desk.json(&add("9876546789", &["--force"]));
        assert_eq!((&forced["id"], &forced["mask_shared"]), (&2.into(), &true.into()));
        let list = desk.json(&["account", "list"]);
        assert_eq!(list["accounts"][0]["mask_shared"], true, "the other one is marked too");
        let unknown = ["account", "add", "--name", "IJO", "--number", "5555555555", "--bank", "Moon Bank"];
        assert!(desk.refused(&unknown).contains("bank list"));
        let forced = desk.json(&[&unknown[..], &["--force"]].concat());
        assert_eq!((&forced["bank"], &forced["forced"]), (&"Moon Bank".into(), &true.into()));
        assert!(desk.refused(&add("12345", &[])).contains("10 digits"));
    }

    async fn a_wrong_check_digit_warns_and_adds(db: TestDatabase) {
        let desk = Desk::new(&db);
        let warned = (0..10)
            .filter(|digit| {
                let number = format!("012345{digit}78{digit}");
                let output = desk.run(&[&["--json"], add(&number, &["--force"]).as_slice()].concat());
                assert!(output.status.success());
                assert!(serde_json::from_slice::<serde_json::Value>(&output.stdout).is_ok(), "stdout is JSON alone");
                String::from_utf8_lossy(&output.stderr).contains("check digit")
            })
            .count();
        assert!((5..=10).contains(&warned), "{warned}");
    }

    async fn a_virtual_account_names_the_one_behind_it(db: TestDatabase) {
        let desk = Desk::new(&db);
        desk.json(&add("0123456789", &[]));
        let behind = desk.json(&add("7123450001", &["--via", "0123456789"]));
        assert_eq!(behind["via_account_id"], 1);
        assert!(desk.refused(&add("7123450002", &["--via", "7123450001"])).contains("virtual"));
        assert!(desk.refused(&add("7123450002", &["--via", "1111111111"])).contains("1111111111"));
        assert!(desk.refused(&add("7123450002", &["--via", "0123456789", "--test"])).contains("0123456789"), "modes never meet");
    }
}
