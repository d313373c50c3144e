//! Payouts on the command line: listed, shown, marked, written as a file for the bank.

use tillbell::domain::money::Money;
use tillbell::domain::user::MemberRole;
use tillbell::ops::payouts::request::{Actor, PayoutRequest, request_payout};

use super::Desk;
use crate::audits::by_hand_on;

on_both! {
    async fn payouts_are_listed_marked_and_handed_to_the_bank_once(db: TestDatabase) {
        let desk = Desk::new(&db);
        desk.json(&["business", "add", "--name", "Kudu Stores", "--email", "till@kudu.example", "--owner", "halima@kudu.example"]);
        let app = super::open_app(&db, desk.path()).await;
        // Money and an account that has waited.
        let money = "insert into entries values (900, 'settlement', null, 1, 'gift', 1); insert into unsealed_entries values (900); \
             insert into postings values (900, 0, 'clearing', 'debit', 500000), (900, 1, 'merchant:1', 'credit', 500000); \
             update merchant_balances set balance_kobo = 500000; \
             insert into payout_accounts (id, business_id, bank, number, name, added_by, created_at, usable_at) \
             values (7, 1, 'GTBank', '0040003311', '=KUDU', 'halima@kudu.example', 1, 1)";
        by_hand_on(&db, money, money).await;
        db.without_audit("its money is written by hand");
        assert_eq!(app.store.members(1).await.unwrap()[0].role, MemberRole::Owner);
        let mut ids = Vec::new();
        for kobo in [100_000, 200_050] {
            let request = PayoutRequest { business_id: 1, amount: Money(kobo), account_id: 7, reference: None };
            ids.push(request_payout(&app, Actor::Key, &request, None).await.unwrap().unwrap().payout);
        }
        let listed = desk.json(&["payout", "list", "--status", "pending"]);
        assert_eq!((listed["payouts"].as_array().unwrap().len(), &listed["more"]), (2, &false.into()));
        let first = ids[0].id.to_string();
        let shown = desk.json(&["payout", "show", &first]);
        assert_eq!((&shown["status"], &shown["transfer_reference"]), (&"pending".into(), &ids[0].code.clone().into()));
        let marked = desk.json(&["payout", "mark", &first, "--outcome", "paid", "--reference", "FT1"]);
        assert_eq!((&marked["status"], &marked["bank_reference"]), (&"paid".into(), &"FT1".into()));
        assert!(desk.refused(&["payout", "mark", &first, "--outcome", "paid"]).contains("the payout is paid already"));
        let second = ids[1].id.to_string();
        assert!(desk.refused(&["payout", "mark", &second, "--outcome", "refused"]).contains("say why"));
        assert!(desk.refused(&["payout", "show", "99"]).contains("there is no payout 99"));
        let file = desk.text(&["payout", "export", "--format", "csv"]);
        let lines: Vec<&str> = file.trim_end().lines().collect();
        let expected = format!("0040003311,GTBank,\"'=KUDU\",2000.50,{},{second},1", ids[1].code);
        assert_eq!(lines, ["account_number,bank,account_name,amount_naira,narration,payout_id,business_id", &expected]);
        assert_eq!(desk.text(&["payout", "export", "--format", "csv"]).lines().count(), 1, "once");
        assert_eq!(desk.text(&["payout", "export", "--format", "csv", "--again"]), file);
        let acts = desk.json(&["activity", "--about", &format!("payout {first}")]);
        assert_eq!(acts["acts"][0]["act"], "payout paid");
    }
}
