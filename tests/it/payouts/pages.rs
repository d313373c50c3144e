//! The pages: an owner adds an account and asks, finance asks, the desk marks; who may not is told so.

use tillbell::domain::payout::PayoutStatus;
use tillbell::domain::time::Span;
use tillbell::domain::user::{MemberRole, StaffRole};
use tillbell::ops::people::users::{Place, add_user};

use super::world::{GIVEN, ask_for, ready_account, standing};
use crate::pages::dashboard_world::{Shops, csv_lines, of_role, rows, told};
use crate::people::PASSWORD;

const PAGE: &str = "/dashboard/payouts";
const ADMIN: &str = "ola@till.example";
const SECOND: &str = "ife@till.example";

async fn staff(shops: &Shops, email: &str, role: StaffRole) {
    add_user(&shops.t().app, "ada", email, Place::Staff(role), Some(PASSWORD)).await.unwrap().unwrap();
}

on_both! {
    async fn an_owner_adds_an_account_and_finance_asks_for_money(db: TestDatabase) {
        let shops = Shops::new(db).await;
        shops.paid(&shops.shop, 52_000, "Musa Danladi").await;
        let (all, _) = standing(shops.t(), &shops.shop).await;
        let mut owner = shops.owner().await;
        let page = owner.get(PAGE).await;
        page.is(200, "Payouts");
        assert!(!page.body.contains("id=\"request-payout\""), "there is no account yet");
        let wrong = owner.submit(&page, "add-payout-account", &[("bank", "GTBank"), ("number", "12"), ("name", "KUDU")]).await;
        assert_eq!(wrong.status, 422);
        assert!(wrong.text_of("#add-payout-account").contains("10 digits") && wrong.body.contains("value=\"KUDU\""), "{}", wrong.text_of("main"));
        let added = owner.submit(&page, "add-payout-account", &[("bank", "GTBank"), ("number", "0040003311"), ("name", "KUDU <b>")]).await;
        assert!(told(&added).contains("0040003311 at GTBank is added"), "{}", told(&added));
        assert!(!added.body.contains("KUDU <b>"), "texts are escaped");
        let mut finance = shops.signed_in(&of_role(MemberRole::Finance)).await;
        let page = finance.get(PAGE).await;
        assert!(!page.body.contains("add-payout-account") && !page.body.contains("remove-payout-account"), "an owner's alone");
        let account = shops.t().app.store.payout_accounts(shops.shop.id, 9).await.unwrap()[0].id.to_string();
        let early = finance.submit(&page, "request-payout", &[("amount", "100"), ("account", &account)]).await;
        assert_eq!(early.status, 422);
        assert!(early.text_of("#request-payout").contains("can be used from"), "{}", early.text_of("main"));
        shops.t().advance(Span::hours(24));
        let mut finance = shops.signed_in(&of_role(MemberRole::Finance)).await;
        let page = finance.get(PAGE).await;
        for (amount, why) in [("100.005", "Write an amount"), ("x", "Write an amount"), ("0", "more than zero"), ("1000000", "You have")] {
            let wrong = finance.submit(&page, "request-payout", &[("amount", amount), ("account", &account)]).await;
            assert_eq!(wrong.status, 422);
            assert!(wrong.text_of("#request-payout").contains(why), "{amount}: {}", wrong.text_of("main"));
        }
        assert_eq!(standing(shops.t(), &shops.shop).await, (all, 0));
        let done = finance.submit(&page, "request-payout", &[("amount", "1500.50"), ("account", &account), ("reference", "=rent")]).await;
        assert!(told(&done).contains("is set aside"), "{}", told(&done));
        assert_eq!(standing(shops.t(), &shops.shop).await, (all - 150_050, 150_050));
        assert!(done.text_of("main").contains("finance@kudu.example") && done.text_of("main").contains("waiting"));
        let file = finance.get("/dashboard/payouts?format=csv").await;
        assert_eq!(csv_lines(&file), 2);
        assert!(file.body.contains("\"'=rent\""), "no formula: {}", file.body);
        // Too long ago: the password first.
        shops.t().advance(Span::minutes(11));
        let page = finance.get(PAGE).await;
        let first = finance.post(&page, "cancel-payout-1", &[]).await;
        assert!(first.status == 303 && first.header("location").unwrap().starts_with("/confirm-password"), "{first:?}");
        assert_eq!(standing(shops.t(), &shops.shop).await.1, 150_050);
        let mut finance = shops.signed_in(&of_role(MemberRole::Finance)).await;
        let page = finance.get(PAGE).await;
        let done = finance.submit(&page, "cancel-payout-1", &[]).await;
        assert!(told(&done).contains("in your balance again"), "{}", told(&done));
        assert_eq!(standing(shops.t(), &shops.shop).await, (all, 0));
        let test = finance.get("/dashboard/payouts?mode=test").await;
        assert!(test.text_of("main").contains("nothing of them is paid out") && !test.body.contains("request-payout"));
        shops.close().await;
    }

    async fn forms_of_payouts_ask_for_their_own_right(db: TestDatabase) {
        let shops = Shops::new(db).await;
        shops.paid(&shops.shop, 52_000, "Musa Danladi").await;
        let owner = shops.t().app.store.members(shops.shop.id).await.unwrap()[0].user_id;
        let account = ready_account(shops.t(), &shops.shop, owner, &GIVEN).await.id.to_string();
        let id = ask_for(&shops.t().app, shops.shop.id, account.parse().unwrap(), 700).await.unwrap().payout.id.to_string();
        for (role, act, status) in [
            (MemberRole::Viewer, "request-payout", 403),
            (MemberRole::Viewer, "cancel-payout", 403),
            (MemberRole::Finance, "add-payout-account", 403),
            (MemberRole::Finance, "remove-payout-account", 403),
            (MemberRole::Developer, "request-payout", 403),
            (MemberRole::Cashier, "request-payout", 403),
        ] {
            let mut visitor = shops.signed_in(&of_role(role)).await;
            let page = visitor.get("/dashboard").await;
            let csrf = page.form("sign-out").fields["csrf"].clone();
            let fields = [("csrf", csrf.as_str()), ("act", act), ("id", &id), ("account", &account), ("amount", "5"),
                ("bank", "GTBank"), ("number", "0040003399"), ("name", "KUDU")];
            let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            let path = format!("{PAGE}?business={}", shops.shop.id);
            assert_eq!(visitor.post_fields(&path, &fields).await.status, status, "{role:?} {act}");
        }
        assert_eq!(standing(shops.t(), &shops.shop).await.1, 700);
        assert_eq!(shops.t().app.store.payout_accounts(shops.shop.id, 9).await.unwrap().len(), 1);
        shops.close().await;
    }

    async fn the_desk_marks_payouts_and_large_ones_twice(db: TestDatabase) {
        let shops = Shops::with(db, "[payouts]\ntwo_persons_above = 1000\n").await;
        shops.paid(&shops.shop, 52_000, "Musa Danladi").await;
        let owner = shops.t().app.store.members(shops.shop.id).await.unwrap()[0].user_id;
        let account = ready_account(shops.t(), &shops.shop, owner, &GIVEN).await.id;
        for (email, role) in [(ADMIN, StaffRole::Admin), (SECOND, StaffRole::Admin), ("bem@till.example", StaffRole::Reviewer)] {
            staff(&shops, email, role).await;
        }
        let small = ask_for(&shops.t().app, shops.shop.id, account, 90_000).await.unwrap().payout;
        shops.t().advance(Span::seconds(1));
        let large = ask_for(&shops.t().app, shops.shop.id, account, 200_000).await.unwrap().payout;
        let status = async |id| shops.t().app.store.payout(id).await.unwrap().unwrap().payout.status;
        let mut admin = shops.signed_in(ADMIN).await;
        let desk = admin.get("/operator").await;
        assert!(desk.text_of(".tiles").contains("Payouts 2"), "{}", desk.text_of(".tiles"));
        let page = admin.get("/operator/payouts").await;
        assert_eq!(rows(&page), 2);
        assert!(page.text_of("main").contains(&large.code) && page.text_of("main").contains("Needs two people"));
        let (mark_small, mark_large) = (format!("mark-payout-{}", small.id), format!("mark-payout-{}", large.id));
        assert_eq!(page.form(&mark_small).fields["id"], small.id.to_string());
        let wrong = admin.submit(&page, &mark_small, &[("outcome", "refused"), ("reason", "")]).await;
        assert_eq!(wrong.status, 422);
        assert!(wrong.text_of(&format!("#{mark_small}")).contains("Say why"), "{}", wrong.text_of("main"));
        let wrong = admin.submit(&page, &mark_small, &[("reason", "the account is closed")]).await;
        assert_eq!((wrong.status, status(small.id).await), (422, PayoutStatus::Pending), "nothing is chosen for anybody");
        let wrong = admin.submit(&page, &mark_small, &[("outcome", "paid"), ("reason", "the account is closed")]).await;
        assert!(wrong.text_of(&format!("#{mark_small}")).contains("is for a payout that is refused"), "{}", wrong.text_of("main"));
        let wrong = admin.submit(&page, &mark_small, &[("outcome", "lost")]).await;
        assert_eq!((wrong.status, status(small.id).await), (422, PayoutStatus::Pending));
        let done = admin.submit(&page, &mark_small, &[("outcome", "paid"), ("reference", "FT1")]).await;
        assert!(told(&done).contains("is paid"), "{}", told(&done));
        assert_eq!(status(small.id).await, PayoutStatus::Paid);
        let stale = admin.submit(&page, &mark_small, &[("outcome", "refused"), ("reason", "no")]).await;
        assert!(stale.status == 422 && told(&stale).contains(&format!("is paid already, by {ADMIN}")), "{}", told(&stale));
        let first = admin.submit(&done, &mark_large, &[("outcome", "paid"), ("reference", "FT2")]).await;
        assert!(told(&first).contains("Another person must say so too"), "{}", told(&first));
        let again = admin.submit(&first, &mark_large, &[("outcome", "paid")]).await;
        assert!(again.status == 422 && told(&again).contains("another person"), "{}", told(&again));
        assert_eq!(status(large.id).await, PayoutStatus::Pending);
        let mut second = shops.signed_in(SECOND).await;
        let page = second.get("/operator/payouts").await;
        assert!(page.text_of("main").contains(&format!("{ADMIN} says that it is paid")));
        let done = second.submit(&page, &mark_large, &[("outcome", "paid")]).await;
        assert_eq!(status(large.id).await, PayoutStatus::Paid, "{}", told(&done));
        assert!(done.text_of("main").contains("Nothing waits"));
        let paid = second.get("/operator/payouts?state=paid").await;
        assert!(rows(&paid) == 2 && paid.text_of("main").contains("FT2"));
        assert_eq!(csv_lines(&second.get("/operator/payouts?state=all&format=csv").await), 3);
        let mut reviewer = shops.signed_in("bem@till.example").await;
        let page = reviewer.get("/operator/payouts?state=all").await;
        page.is(200, "Payouts");
        assert!(!page.body.contains("mark-payout"));
        let csrf = page.form("sign-out").fields["csrf"].clone();
        let fields = [("csrf", csrf.as_str()), ("id", "1"), ("outcome", "paid")];
        let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        assert_eq!(reviewer.post_fields("/operator/payouts", &fields).await.status, 403);
        shops.close().await;
    }
}
