//! Every page of a business, by the route table itself: who may open it, and that ids of another business are nothing on
//! any route and form. A route that is not told of here fails.

use std::collections::BTreeMap;

use tillbell::domain::payment::Payment;
use tillbell::domain::user::{MemberRole, StaffRole};
use tillbell::http::pages::table::{Route, TABLE, Who};
use tillbell::ops::people::members::members;
use tillbell::ops::people::users::{Place, add_user};

use super::dashboard_world::{RIVAL, Shops, of_role, rows};
use super::visitor::{Seen, Visitor};
use crate::harness::app::Merchant;
use crate::payouts::world::{GIVEN, ask_for, ready_account};
use crate::people::PASSWORD;

/// What a form names of another business, and what comes of it.
type Foreign = (&'static str, &'static [(&'static str, &'static str)], u16);

/// Of each page its forms that name something by its id. `{..}` stands for what is another business's.
fn forms(path: &str) -> Vec<Foreign> {
    match path {
        "/dashboard/payments/{transaction_id}" => vec![("resend-webhook", &[("event", "{delivery}")], 404)],
        "/dashboard/payments/new" => vec![(
            "new-payment",
            &[("amount", "100"), ("payer_name", "Ada Obi"), ("website", "{website}")],
            422,
        )],
        "/dashboard/keys" => vec![("revoke-key", &[("id", "{key}")], 404)],
        "/dashboard/websites" => vec![
            ("prove-website", &[("id", "{website}")], 404),
            ("set-website", &[("id", "{website}"), ("webhook_url", "https://adire.example/x")], 404),
        ],
        "/dashboard/webhooks" => vec![("resend", &[("event", "{delivery}")], 404)],
        "/dashboard/team" => vec![
            ("set-role", &[("user", "{member}"), ("role", "viewer")], 404),
            ("remove-member", &[("user", "{member}")], 404),
        ],
        "/dashboard/payouts" => vec![
            ("cancel-payout", &[("id", "{payout}")], 404),
            ("remove-payout-account", &[("id", "{payout_account}")], 404),
            ("request-payout", &[("amount", "5"), ("account", "{payout_account}")], 404),
        ],
        "/dashboard"
        | "/dashboard/payments"
        | "/dashboard/balance"
        | "/dashboard/wallet"
        | "/dashboard/till"
        | "/dashboard/till/events"
        | "/dashboard/requests"
        | "/dashboard/activity"
        | "/dashboard/settings" => Vec::new(),
        other => {
            panic!("{other} is a page of a business: say here which of its forms name something by its id")
        }
    }
}

fn of_members() -> impl Iterator<Item = &'static Route> {
    TABLE.iter().filter(|route| matches!(route.who, Who::Member(_)))
}

fn address(route: &Route, business: i64, payment: &Payment) -> String {
    let path = route.path.replace("{transaction_id}", &payment.transaction_id);
    assert!(!path.contains('{'), "{path}: say here what stands for it");
    format!("{path}?business={business}")
}

/// All that a form could change of a business.
async fn standing(shops: &Shops, merchant: &Merchant, payment: &Payment) -> String {
    let store = &shops.t().app.store;
    let deliveries: Vec<i64> =
        store.deliveries_of_payment(payment.id).await.unwrap().iter().map(|one| one.attempt).collect();
    format!(
        "{:?} {:?} {:?} {:?} {deliveries:?} {:?} {:?} {:?}",
        store.api_keys(merchant.id).await.unwrap(),
        store.websites(merchant.id).await.unwrap(),
        members(&shops.t().app, merchant.id).await.unwrap(),
        store.payment(payment.id).await.unwrap(),
        store.business(merchant.id).await.unwrap(),
        store.balance(merchant.id).await.unwrap(),
        store.payout_accounts(merchant.id, 9).await.unwrap(),
    )
}

async fn csrf(visitor: &mut Visitor) -> String {
    visitor.get("/me").await.form("sign-out").fields["csrf"].clone()
}

async fn post(visitor: &mut Visitor, path: &str, fields: &[(&str, &str)]) -> Seen {
    let fields: BTreeMap<String, String> =
        fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    visitor.post_fields(path, &fields).await
}

on_both! {
    async fn what_is_another_businesss_is_nothing_on_any_route_and_form(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let own = shops.paid(&shops.shop, 5_200, "Musa Danladi").await;
        let theirs = shops.paid(&shops.other, 7_300, "Ngozi Bello").await;
        let store = &shops.t().app.store;
        let rival = members(&shops.t().app, shops.other.id).await.unwrap()[0].user_id;
        let payout_account = ready_account(shops.t(), &shops.other, rival, &GIVEN).await.id;
        let payout = ask_for(&shops.t().app, shops.other.id, payout_account, 100).await.unwrap().payout.id.to_string();
        let payout_account = payout_account.to_string();
        let key = store.api_keys(shops.other.id).await.unwrap()[0].id.to_string();
        let website = shops.other.website.id.to_string();
        let member = members(&shops.t().app, shops.other.id).await.unwrap()[0].user_id.to_string();
        let delivery = store.deliveries_of_payment(theirs.id).await.unwrap()[0].id.to_string();
        let meant = |text: &str| {
            let all = [("{key}", &key), ("{website}", &website), ("{member}", &member), ("{delivery}", &delivery),
                ("{payout}", &payout), ("{payout_account}", &payout_account)];
            all.iter().fold(text.to_owned(), |text, (name, id)| text.replace(name, id))
        };
        let before = standing(&shops, &shops.other, &theirs).await;
        let mut visitor = shops.owner().await;
        let csrf = csrf(&mut visitor).await;
        let unknown = visitor.get("/dashboard?business=999999").await;
        unknown.is(404, "Nothing is here");
        for route in of_members() {
            // The other business by name, with its own payment and with ours.
            for payment in [&own, &theirs] {
                let path = address(route, shops.other.id, payment);
                let seen = visitor.get(&path).await;
                assert_eq!((seen.status, seen.text_of("main")), (404, unknown.text_of("main")), "{path}");
                assert_eq!(post(&mut visitor, &path, &[("csrf", &csrf)]).await.status, 404, "{path}");
            }
            // Its payment under our own business.
            if route.path.contains("{transaction_id}") {
                let path = address(route, shops.shop.id, &theirs);
                let seen = visitor.get(&path).await;
                assert_eq!((seen.status, seen.text_of("main")), (404, unknown.text_of("main")), "{path}");
                let fields = [("csrf", csrf.as_str()), ("act", "correct-amount"), ("new_amount", "1")];
                assert_eq!(post(&mut visitor, &path, &fields).await.status, 404, "{path}");
            }
            for (form, fields, status) in forms(route.path) {
                let path = address(route, shops.shop.id, &own);
                let filled: Vec<(&str, String)> =
                    fields.iter().map(|(name, value)| (*name, meant(value))).collect();
                let mut all = vec![("csrf", csrf.as_str()), ("act", form)];
                all.extend(filled.iter().map(|(name, value)| (*name, value.as_str())));
                let seen = post(&mut visitor, &path, &all).await;
                assert_eq!(seen.status, status, "{form} at {path}: {}", seen.text_of("main"));
                let nobody = post(&mut visitor, &path, &[("csrf", &csrf), ("act", form), ("id", "x"), ("user", "-4"), ("event", "")]).await;
                assert!([404, 422].contains(&nobody.status), "{form} of nothing: {}", nobody.status);
            }
        }
        assert_eq!(standing(&shops, &shops.other, &theirs).await, before, "nothing of it was changed");
        // Nor do lists tell of it.
        for path in [
            format!("/dashboard/webhooks?business={}&transaction={}", shops.shop.id, theirs.transaction_id),
            format!("/dashboard/payments?business={}&q={}", shops.shop.id, theirs.transaction_id),
            format!("/dashboard/webhooks?business={}&transaction={}&format=csv", shops.shop.id, theirs.transaction_id),
            format!("/dashboard/payments?business={}&format=csv", shops.shop.id),
            format!("/dashboard/balance?business={}&format=csv", shops.shop.id),
        ] {
            let seen = visitor.get(&path).await;
            let told = seen.text_of("table, .deliveries");
            assert!(seen.status == 200 && !told.contains(&theirs.transaction_id), "{path}: {told}");
            assert!(!seen.body.contains("Ngozi"), "{path}");
        }
        let filtered = visitor.get(&format!("/dashboard/payments?business={}&website={website}", shops.shop.id)).await;
        assert_eq!((filtered.status, rows(&filtered)), (422, 0));
        shops.close().await;
    }

    async fn each_role_opens_what_it_may_and_nobody_else_anything(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let own = shops.paid(&shops.shop, 5_200, "Musa Danladi").await;
        add_user(&shops.t().app, "ada", "staff@till.example", Place::Staff(StaffRole::Admin), Some(PASSWORD)).await.unwrap().unwrap();
        for role in MemberRole::ALL {
            let mut visitor = shops.signed_in(&of_role(role)).await;
            for route in of_members() {
                let Who::Member(right) = route.who else { continue };
                let path = address(route, shops.shop.id, &own);
                // A stream goes on for an hour; its head tells enough.
                let is_stream = route.path.ends_with("/events") && role.may(right);
                let seen = match is_stream {
                    true => visitor.send("HEAD", &path, None).await,
                    false => visitor.get(&path).await,
                };
                let writes = matches!(role, MemberRole::Owner | MemberRole::Finance);
                let may = role.may(right) && (route.path != "/dashboard/payments/new" || writes);
                assert_eq!(seen.status, if may { 200 } else { 403 }, "{role:?} at {path}: {}", seen.text_of("main"));
                if !may {
                    assert!(seen.text_of("main").contains("owner"), "says who may: {}", seen.text_of("main"));
                }
            }
            let test = visitor.get(&format!("/dashboard/payments/new?business={}&mode=test", shops.shop.id)).await;
            let tries = matches!(role, MemberRole::Owner | MemberRole::Finance | MemberRole::Developer);
            assert_eq!(test.status, if tries { 200 } else { 403 }, "{role:?} makes test payments");
        }
        let (mut staff, mut nobody) = (shops.signed_in("staff@till.example").await, shops.pages.visitor());
        for route in of_members() {
            let path = address(route, shops.shop.id, &own);
            assert_eq!(staff.get(&path).await.status, 404, "{path}");
            assert_eq!(nobody.send("GET", &path, None).await.status, 303, "{path}");
        }
        shops.close().await;
    }

    async fn forms_ask_for_their_own_right(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let own = shops.paid(&shops.shop, 5_200, "Musa Danladi").await;
        let before = standing(&shops, &shops.shop, &own).await;
        let payment = format!("/dashboard/payments/{}?business={}", own.transaction_id, shops.shop.id);
        let webhooks = format!("/dashboard/webhooks?business={}", shops.shop.id);
        for role in [MemberRole::Viewer, MemberRole::Finance] {
            let mut visitor = shops.signed_in(&of_role(role)).await;
            let csrf = csrf(&mut visitor).await;
            let mut forms = vec![
                (&webhooks, "set-webhook"), (&webhooks, "rotate-secret"), (&webhooks, "send-test"), (&webhooks, "resend"),
                (&webhooks, "resend-failed"), (&payment, "resend-webhook"),
            ];
            if role == MemberRole::Viewer {
                forms.push((&payment, "correct-amount"));
            }
            for (path, act) in forms {
                let seen = post(&mut visitor, path, &[("csrf", &csrf), ("act", act), ("webhook_url", "https://kudu.example/h")]).await;
                // Of what is not there nobody is told more.
                let refused = if act == "resend-webhook" { [403, 404] } else { [403, 403] };
                assert!(refused.contains(&seen.status), "{role:?} {act}: {}", seen.status);
            }
            assert!(!visitor.get(&webhooks).await.body.contains("id=\"rotate-secret\""));
        }
        let mut viewer = shops.signed_in(&of_role(MemberRole::Developer)).await;
        let csv = viewer.get(&format!("/dashboard/payments?business={}&format=csv", shops.shop.id)).await;
        csv.is(403, "Your role does not allow this");
        assert_eq!(standing(&shops, &shops.shop, &own).await, before);
        shops.close().await;
    }

    async fn who_belongs_to_two_businesses_goes_from_one_to_the_other(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let place = Place::Member(shops.shop.id, MemberRole::Viewer);
        add_user(&shops.t().app, "ada", RIVAL, place, None).await.unwrap().unwrap();
        let mut visitor = shops.signed_in(RIVAL).await;
        let page = visitor.get(&format!("/dashboard/payments?business={}", shops.other.id)).await;
        page.is(200, "Payments");
        let others = format!("/dashboard?business={}", shops.shop.id);
        assert!(page.text_of(".place-name").contains("adire.example Ltd"), "{}", page.text_of(".place"));
        assert!(page.body.contains(&format!("href=\"{others}\"")), "a way to the other one");
        assert!(page.body.contains(&format!("href=\"/dashboard/keys?business={}\"", shops.other.id)), "links stay here");
        let page = visitor.get(&others).await;
        assert!(page.text_of("footer").contains("viewer") && !page.body.contains("/dashboard/keys"));
        visitor.get(&format!("/dashboard/keys?business={}", shops.shop.id)).await.is(403, "Your role does not allow this");
        let test = visitor.get(&format!("{others}&mode=test")).await;
        assert!(test.text_of(".testing").contains("Test data") && test.body.contains("mode=test"));
        shops.close().await;
    }
}
