//! Forms that make something count once: pressed twice, sent to two nodes at one moment, or cut short by a browser that goes
//! on to the second press.

use std::collections::BTreeMap;

use tillbell::domain::time::Span;
use tillbell::domain::user::StaffRole;
use tillbell::ops::people::users::{Place, add_user};
use tillbell::ops::retention::forget_old;
use tillbell::serve::{Roles, start};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::dashboard_world::{Shops, rows, told};
use super::desk::ADMIN;
use super::visitor::{Seen, Visitor};
use crate::payouts::world::{GIVEN, ready_account, standing};
use crate::people::PASSWORD;

const KEY: [(&str, &str); 2] = [("mode", "live"), ("rights", "write")];

fn keys_of(page: &Seen) -> Vec<String> {
    let text = page.text_of(".secret code");
    text.split_whitespace().map(str::to_owned).collect()
}

fn filled(page: &Seen, form: &str, with: &[(&str, &str)]) -> (String, BTreeMap<String, String>) {
    let mut form = page.form(form);
    form.fields.extend(with.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    (form.action, form.fields)
}

async fn same_browser(visitor: &Visitor) -> Visitor {
    Visitor { address: visitor.address, cookies: visitor.cookies.clone(), sends: Vec::new() }
}

/// Sends a form and goes away before the answer.
async fn send_and_leave(visitor: &Visitor, path: &str, fields: &BTreeMap<String, String>) {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let cookies: Vec<String> =
        visitor.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let text = format!(
        "POST {path} HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: {}\r\n\r\n{body}",
        visitor.address,
        cookies.join("; "),
        body.len()
    );
    let mut stream = TcpStream::connect(visitor.address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
}

on_both! {
    async fn a_key_form_that_is_sent_again_makes_one_key_and_shows_it_again(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let mut owner = shops.owner().await;
        let page = owner.get("/dashboard/keys").await;
        let before = rows(&page);
        let first = owner.submit(&page, "add-key", &KEY).await;
        let again = owner.submit(&page, "add-key", &KEY).await;
        assert_eq!((keys_of(&first).len(), keys_of(&again)), (1, keys_of(&first)), "{}", again.text_of("main"));
        assert_eq!(rows(&again), before + 1);
        // Another one by the same page is another wish.
        let other = owner.submit(&page, "add-key", &[("label", "till 2"), ("mode", "live"), ("rights", "read")]).await;
        assert_eq!(rows(&other), before + 2);
        shops.t().advance(Span::seconds(61));
        let late = owner.submit(&page, "add-key", &KEY).await;
        late.is(422, "This form was sent before");
        assert!(told(&late).contains("nothing was done again") && keys_of(&late).is_empty());
        // A form of a page that was opened anew counts.
        let page = owner.get("/dashboard/keys").await;
        assert_eq!(rows(&owner.submit(&page, "add-key", &KEY).await), before + 3);
        shops.t().advance(Span::days(2));
        forget_old(&shops.t().app).await.unwrap();
        shops.close().await;
    }

    async fn what_was_refused_may_be_sent_again_and_a_stranger_gets_no_answer_of_anothers(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let mut owner = shops.owner().await;
        let page = owner.get("/dashboard/keys").await;
        let bad = [("mode", "live"), ("rights", "write"), ("expires", "soon")];
        for _ in 0..2 {
            owner.submit(&page, "add-key", &bad).await.is(422, "Keys");
        }
        let made = owner.submit(&page, "add-key", &KEY).await;
        assert_eq!(keys_of(&made).len(), 1);
        // The same form under other cookies: the mark is good for nothing there.
        let mut other = shops.owner().await;
        let own = other.get("/dashboard/keys").await;
        let (path, mut fields) = filled(&page, "add-key", &KEY);
        fields.insert("csrf".to_owned(), own.form("add-key").fields["csrf"].clone());
        let answer = other.post_fields(&path, &fields).await;
        assert_eq!(answer.status, 303);
        let shown = other.get(answer.header("location").unwrap()).await;
        assert_ne!(keys_of(&shown), keys_of(&made), "a key of its own");
        shops.close().await;
    }

    async fn of_many_presses_on_two_nodes_at_one_moment_one_counts(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let roles = Roles { api: true, pages: true, mail: false, work: false };
        let second = start(shops.t().another_node().await, roles).await.unwrap();
        let mut owner = shops.owner().await;
        let page = owner.get("/dashboard/keys").await;
        let before = rows(&page);
        let (path, fields) = filled(&page, "add-key", &KEY);
        let mut sent = Vec::new();
        for number in 0..8 {
            let mut tab = same_browser(&owner).await;
            if number % 2 == 1 {
                tab.address = second.address;
            }
            let (path, fields) = (path.clone(), fields.clone());
            sent.push(tokio::spawn(async move {
                let answer = tab.post_fields(&path, &fields).await;
                assert_eq!(answer.status, 303, "{}", answer.text_of("main"));
                keys_of(&tab.get(answer.header("location").unwrap()).await)
            }));
        }
        let mut shown = Vec::new();
        for one in sent {
            shown.push(one.await.unwrap());
        }
        assert!(shown[0].len() == 1 && shown.iter().all(|one| *one == shown[0]), "{shown:?}");
        assert_eq!(rows(&owner.get("/dashboard/keys").await), before + 1);
        second.stop().await;
        shops.close().await;
    }

    async fn a_first_press_that_the_browser_cut_short_is_finished_and_shown_by_the_second(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let mut owner = shops.owner().await;
        let page = owner.get("/dashboard/keys").await;
        let before = rows(&page);
        let (path, fields) = filled(&page, "add-key", &KEY);
        for _ in 0..5 {
            send_and_leave(&owner, &path, &fields).await;
        }
        let answer = owner.post_fields(&path, &fields).await;
        assert_eq!(answer.status, 303, "{}", answer.text_of("main"));
        let shown = owner.get(answer.header("location").unwrap()).await;
        assert_eq!((keys_of(&shown).len(), rows(&shown)), (1, before + 1));
        shops.close().await;
    }

    async fn a_payout_a_credit_a_colleague_and_a_business_are_made_once(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let app = &shops.t().app;
        shops.paid(&shops.shop, 20_000, "Musa Danladi").await;
        let owner_id = app.store.members(shops.shop.id).await.unwrap()[0].user_id;
        let account = ready_account(shops.t(), &shops.shop, owner_id, &GIVEN).await.id.to_string();
        let mut owner = shops.owner().await;
        let page = owner.get("/dashboard/payouts").await;
        for _ in 0..2 {
            let asked = owner.submit(&page, "request-payout", &[("amount", "5000"), ("account", &account)]).await;
            assert_eq!(asked.status, 200, "{}", asked.text_of("main"));
        }
        assert_eq!(standing(shops.t(), &shops.shop).await.1, 500_000, "set aside once");
        let page = owner.get("/dashboard/team").await;
        let first = owner.submit(&page, "invite", &[("email", "uche@kudu.example"), ("role", "viewer")]).await;
        let again = owner.submit(&page, "invite", &[("email", "uche@kudu.example"), ("role", "viewer")]).await;
        assert_eq!((first.status, keys_of(&first).len()), (200, 1), "{}", first.text_of("main"));
        assert_eq!((again.status, keys_of(&again)), (200, keys_of(&first)), "the link once more");

        add_user(app, "root", ADMIN, Place::Staff(StaffRole::Admin), Some(PASSWORD)).await.unwrap().unwrap();
        let mut admin = shops.signed_in(ADMIN).await;
        let page = admin.get("/operator/businesses").await;
        let before = rows(&page);
        for _ in 0..2 {
            let fields = [("name", "Kola and Sons"), ("email", "till@kola.example"), ("owner", "bola@kola.example")];
            let added = admin.submit(&page, "add-business", &fields).await;
            assert!(added.status == 200 && added.body.contains("/welcome/"), "the link, shown again: {}", added.text_of("main"));
        }
        assert_eq!(rows(&admin.get("/operator/businesses").await), before + 1);
        shops.close().await;
    }
}
