//! Lists of what a business has, and of what an operator looks after: fifty rows and the way on, and each as CSV.

use tillbell::domain::merchant::Mode;
use tillbell::domain::user::{MemberRole, StaffRole};
use tillbell::ops::merchants::keys::add_key;
use tillbell::ops::people::users::{Place, add_user};

use super::dashboard_world::{Shops, csv_lines, rows};
use super::visitor::Visitor;
use crate::people::PASSWORD;

const ADMIN: &str = "ola@till.example";

/// The address behind the link to the next page.
fn way_on(page: &super::visitor::Seen) -> String {
    let css = scraper::Selector::parse("nav.pager a").unwrap();
    let html = page.html();
    let links: Vec<&str> = html.select(&css).filter_map(|link| link.value().attr("href")).collect();
    let on = links.iter().find(|link| link.contains("cursor="));
    (*on.unwrap_or_else(|| panic!("no way on in {links:?}"))).to_owned()
}

async fn lines(visitor: &mut Visitor, path: &str) -> (usize, String) {
    let file = visitor.get(path).await;
    assert_eq!(file.status, 200, "{path}");
    assert!(file.header("content-type").unwrap().starts_with("text/csv"), "{path}: {:?}", file.headers);
    (csv_lines(&file), file.body)
}

on_both! {
    async fn keys_come_fifty_at_a_time_and_whole_as_csv_without_the_key(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let (app, id) = (&shops.t().app, shops.shop.id);
        let before = app.store.api_keys(id).await.unwrap().len();
        let mut texts = Vec::new();
        for n in 0..60 {
            let label = format!("=key {n}");
            let made = add_key(app, "ada", id, Mode::Live, Some(&label), None).await.unwrap().unwrap();
            texts.push(made.text.to_string());
        }
        let mut owner = shops.owner().await;
        let first = owner.get("/dashboard/keys").await;
        assert_eq!(rows(&first), 50);
        let second = owner.get(&way_on(&first)).await;
        assert_eq!(rows(&second), 10 + before);
        assert!(first.body.contains("=key 59") && !first.body.contains("=key 3<"), "the newest come first");
        let (count, body) = lines(&mut owner, "/dashboard/keys?format=csv").await;
        assert_eq!(count, 1 + 60 + before, "{body}");
        assert!(body.contains("\"'=key 7\""), "no formula: {body}");
        assert!(texts.iter().all(|text| !body.contains(text.as_str())), "no key is in the file");
        shops.close().await;
    }
}

on_both! {
    async fn a_form_on_a_later_page_of_the_team_finds_its_row(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let (app, id) = (&shops.t().app, shops.shop.id);
        let there = app.store.members(id).await.unwrap().len();
        for n in 0..55 {
            let place = Place::Member(id, MemberRole::Viewer);
            add_user(app, "ada", &format!("m{n}@kudu.example"), place, None).await.unwrap().unwrap();
        }
        let mut owner = shops.owner().await;
        let first = owner.get("/dashboard/team").await;
        assert_eq!(rows(&first), 50);
        let second = owner.get(&way_on(&first)).await;
        assert_eq!(rows(&second), 5 + there);
        let number = rows(&second);
        let done = owner.submit(&second, &format!("set-role-{number}"), &[("role", "cashier")]).await;
        assert_eq!(done.status, 200, "{}", done.body);
        let last = app.store.members(id).await.unwrap().pop().unwrap();
        assert_eq!((last.email.as_str(), last.role), ("m54@kudu.example", MemberRole::Cashier));
        let (count, body) = lines(&mut owner, "/dashboard/team?format=csv").await;
        assert_eq!(count, 1 + 55 + there, "{body}");
        shops.close().await;
    }
}

on_both! {
    async fn every_list_of_the_desk_and_the_dashboard_is_there_as_csv(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let app = &shops.t().app;
        add_user(app, "ada", ADMIN, Place::Staff(StaffRole::Admin), Some(PASSWORD)).await.unwrap().unwrap();
        let (payment, other) = (
            shops.paid(&shops.shop, 5_200, "Halima Garba").await,
            shops.paid(&shops.other, 6_300, "Rose Adeyemi").await,
        );
        let mut owner = shops.owner().await;
        let of = |id: &str| format!("/dashboard/webhooks?transaction={id}&format=csv");
        assert_eq!(lines(&mut owner, &of(&payment.transaction_id)).await.0, 2);
        assert_eq!(lines(&mut owner, &of(&other.transaction_id)).await.0, 1, "of another business: none");
        assert_eq!(lines(&mut owner, "/dashboard/websites?format=csv").await.0, 2);
        let mut admin = shops.signed_in(ADMIN).await;
        for (path, count) in [
            ("/operator/webhooks?format=csv".to_owned(), 3),
            (format!("/operator/webhooks?business={}&format=csv", shops.shop.id), 2),
            (format!("/operator/webhooks?transaction={}&format=csv", other.transaction_id), 2),
            ("/operator/businesses?format=csv".to_owned(), 3),
            ("/operator/businesses?q=adire&format=csv".to_owned(), 2),
            ("/operator/accounts?format=csv".to_owned(), 3),
            ("/operator/accounts?state=retired&format=csv".to_owned(), 1),
            ("/operator/users?format=csv".to_owned(), 1 + MemberRole::ALL.len() + 2),
        ] {
            let (lines, body) = lines(&mut admin, &path).await;
            assert_eq!(lines, count, "{path}: {body}");
        }
        let (count, body) = lines(&mut admin, "/operator/activity?format=csv").await;
        assert!(count > 5 && body.contains("business add"), "{body}");
        let subject = format!("/operator/activity?subject=business+{}&format=csv", shops.shop.id);
        assert!(lines(&mut admin, &subject).await.0 >= 2);
        for path in ["/operator/users?format=csv", "/operator/activity?format=csv"] {
            assert_eq!(owner.get(path).await.status, 404, "{path} is no merchant's");
        }
        shops.close().await;
    }
}
