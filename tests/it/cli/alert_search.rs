//! Finding alerts by what a customer or a bank statement tells: amount, name, account, bank and time.

use tillbell::domain::time::Timestamp;

use super::Desk;
use super::terminal::on_terminal_of;
use crate::harness::mails::Alert;

const NUMBER: &str = "0123456103";
const OTHER: &str = "0123457290";
/// No account of ours.
const STRANGE: &str = "0123458487";

fn now() -> Timestamp {
    tillbell::clock::Clock::now(&tillbell::clock::SystemClock)
}

/// Takes a mail in and answers the alert's id.
fn ingest(desk: &Desk<'_>, number: &str, naira: i64, payer: &str) -> i64 {
    std::fs::write(desk.path().join("one.eml"), Alert::credit(number, naira, payer, now()).text()).unwrap();
    let result = desk.json(&["alert", "ingest", "one.eml", "--trusted"])["results"][0].clone();
    result["alert_id"].as_i64().unwrap_or_else(|| panic!("{result}"))
}

fn found(desk: &Desk<'_>, options: &str) -> Vec<i64> {
    let args: Vec<&str> = ["alert", "list"].into_iter().chain(options.split_whitespace()).collect();
    let list = desk.json(&args);
    assert_eq!(list["more"], false, "{list}");
    list["alerts"].as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect()
}

on_both! {
    async fn alerts_are_found_by_amount_name_account_bank_and_time(db: TestDatabase) {
        let desk = Desk::new(&db);
        desk.account(NUMBER);
        desk.account(OTHER);
        let a = ingest(&desk, NUMBER, 8_425, "Ronke Ayodele Sanni");
        let b = ingest(&desk, OTHER, 8_425, "Ibrahim Bala Yakubu");
        let c = ingest(&desk, NUMBER, 310, "Nneka Obiora");
        let d = ingest(&desk, STRANGE, 8_425, "Nneka Obiora");
        for (options, ids) in [
            ("", &[d, c, b, a][..]),
            ("--amount 8425", &[d, b, a]),
            ("--amount 8425.00 --account 0123456103", &[a]),
            ("--amount 8425 --outcome unmatched", &[b, a]),
            ("--amount 1", &[]),
            ("--name sann", &[a]),
            ("--name NNEKA", &[d, c]),
            ("--name nneka --amount 310", &[c]),
            ("--name adeyemi", &[]),
            ("--account 0123457290", &[b]),
            // It shows a part of the number, and is of no account of ours.
            ("--account 0123458487", &[d]),
            ("--account 0123450000", &[]),
            ("--bank GTBank", &[d, c, b, a]),
            ("--bank Zenith", &[]),
            ("--since 1h", &[d, c, b, a]),
            ("--since 2020-02-29 --name nneka", &[d, c]),
            ("--since 2099-01-01", &[]),
            ("--outcome review --since 1h", &[d]),
        ] {
            assert_eq!(found(&desk, options), ids, "{options}");
        }
        let two = desk.text(&["alert", "list", "--amount", "8425", "--limit", "2"]);
        assert!(two.contains("only the newest 2 are shown") && !two.contains("SANNI"), "{two}");
        for columns in [80, 200] {
            let shown = on_terminal_of(&desk, columns, &[], &["alert", "list", "--name", "nneka"]);
            assert!(shown.contains("NNEKA OBIORA") && !shown.contains("SANNI"), "{shown}");
            assert!(shown.lines().all(|line| line.chars().count() <= columns), "{shown}");
        }
        for (wrong, told) in [
            (["--bank", "Nowhere Bank"], "no template knows the bank Nowhere Bank"),
            (["--name", "..."], "--name must contain a letter or a digit"),
            (["--account", "12 34"], "--account must be an account number of 10 digits"),
        ] {
            assert!(desk.refused(&[&["alert", "list"], &wrong[..]].concat()).contains(told), "{wrong:?}");
        }
        for usage in [["--amount", "x"], ["--since", "yesterday"], ["--outcome", "paid"]] {
            assert_eq!(desk.run(&[&["alert", "list"], &usage[..]].concat()).status.code(), Some(2), "{usage:?}");
        }
    }
}
