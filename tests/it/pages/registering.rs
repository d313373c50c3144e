//! Opening a business oneself: proven by a real mail, told to nobody, used once, and looked at before it takes real money.

use tillbell::domain::merchant::Mode;
use tillbell::domain::money::Money;
use tillbell::domain::time::Span;
use tillbell::domain::user::{MemberRole, StaffRole};
use tillbell::ops::activity::browse_acts;
use tillbell::ops::merchants::businesses::{BusinessChange, list_businesses, set_business};
use tillbell::ops::merchants::keys::{KeyRefusal, add_key};
use tillbell::ops::payments::by_hand::{AskedAt, ByHand, ByHandRefused, ask_for_payment};
use tillbell::ops::people::invite::invite_member;
use tillbell::ops::people::register::{OpenRefused, Wanted, open_business, register};
use tillbell::ops::people::users::{Place, Which, add_user, browse_users};
use tillbell::ops::retention::forget_old;
use tillbell::vault::Vault;
use tillbell::work::run_due;

use super::visitor::{Pages, Seen, Visitor};
use crate::harness::app::TestApp;
use crate::harness::databases::TestDatabase;
use crate::harness::mta::Exim;
use crate::people::PASSWORD;
use crate::wallet_pages::site::DEV;

const EMAIL: &str = "ngozi@zobo.example";
const BUSINESS: &str = "Zobo Corner";
const OTHER: &str = "a lagoon of kites";
const FROM: &str = "198.51.100.7";
const OPEN: &str = "[users]\nregistration = \"open\"\n";

/// A gateway whose mails this server takes.
fn mailed(mta: &Exim, how: &str) -> String {
    let smtp = mta.address;
    format!(
        "{DEV}[users]\nregistration = \"{how}\"\n[notify]\nsmtp_url = \"smtp://{smtp}\"\nfrom = \"till@kudu.example\"\n"
    )
}

async fn shown(db: TestDatabase) -> TestApp {
    TestApp::start_with(db, &format!("{DEV}{OPEN}")).await
}

fn fields<'a>(email: &'a str, password: &'a str) -> [(&'static str, &'a str); 4] {
    [("business", BUSINESS), ("email", email), ("password", password), ("password_again", password)]
}

async fn asked(visitor: &mut Visitor, email: &str) -> Seen {
    let page = visitor.get("/register").await;
    page.is(200, "Open a business");
    visitor.submit(&page, "register", &fields(email, PASSWORD)).await
}

/// The path of the link in a mail or on a page.
fn path_in(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace("=\n", "");
    let at = text.find("/register/").unwrap_or_else(|| panic!("no link in {text}"));
    let end = text[at..].find(|c: char| c.is_whitespace() || c == '<').map_or(text.len(), |end| at + end);
    text[at..end].to_owned()
}

fn told(page: &Seen) -> String {
    page.text_of("[role=status], [role=alert]")
}

/// The token of a registration where the link is answered.
async fn token(t: &TestApp, email: &str) -> String {
    let wanted = Wanted { business: BUSINESS, email, password: PASSWORD };
    let link = register(&t.app, wanted, FROM).await.unwrap().unwrap().unwrap();
    link.rsplit('/').next().unwrap().to_owned()
}

fn by_hand(business_id: i64, mode: Mode) -> ByHand<'static> {
    ByHand {
        business_id,
        mode,
        amount: Money(10_000),
        payer_name: "Ada Obi",
        service: "",
        transaction_id: "",
        at: AskedAt::Website(0),
    }
}

async fn people(t: &TestApp) -> Vec<String> {
    let page = browse_users(&t.app, Which::All, None, 100).await.unwrap();
    page.rows.into_iter().map(|one| one.user.email).collect()
}

on_both! {
    async fn nobody_opens_a_business_where_the_operator_did_not_say_so(db: TestDatabase) {
        let site = Pages::start(TestApp::start_with(db, DEV).await).await;
        let mut visitor = site.visitor();
        for path in ["/register", "/register/abc"] {
            visitor.get(path).await.is(404, "Nothing is here");
        }
        let sign_in = visitor.get("/sign-in").await;
        assert!(!sign_in.body.contains("/register"), "{}", sign_in.body);
        let mut form = sign_in.form("sign-in").fields;
        form.extend(fields(EMAIL, PASSWORD).map(|(name, value)| (name.to_owned(), value.to_owned())));
        visitor.post_fields("/register", &form).await.is(404, "Nothing is here");
        assert!(people(&site.t).await.is_empty());
        site.close().await;
    }

    async fn a_business_opens_by_the_mailed_link_and_takes_real_money_when_the_operator_says_so(db: TestDatabase) {
        let mta = Exim::keeping(None).await;
        let site = Pages::start(TestApp::start_with(db, &mailed(&mta, "open")).await).await;
        let app = &site.t.app;
        let mut visitor = site.visitor();
        let sent = asked(&mut visitor, " Ngozi@zobo.example").await;
        assert!(told(&sent).contains("A mail with a link is on its way") && !sent.body.contains("/register/"), "{}", sent.body);
        run_due(app).await.unwrap();
        let [mail] = &mta.keeps(1).await[..] else { panic!("one mail") };
        assert!(mail.contains("To: ngozi@zobo.example") && !mail.contains(PASSWORD), "{mail}");
        assert!(!mail.contains(BUSINESS), "no words of strangers to whomever they like: {mail}");
        let path = path_in(mail);
        // Nothing is there, and the one who only looks changes nothing.
        visitor.get(&path).await.is(200, "Open Zobo Corner");
        visitor.sign_in(EMAIL, PASSWORD).await.is(422, "Sign in");
        assert!(people(&site.t).await.is_empty() && list_businesses(app).await.unwrap().is_empty());
        let row = app.store.registration(&Vault::token_hash(path.rsplit('/').next().unwrap())).await.unwrap().unwrap();
        let kept = row.password.unwrap();
        assert!(!kept.windows(PASSWORD.len()).any(|part| part == PASSWORD.as_bytes()), "hashed");

        // Whoever has the mail alone, and did not ask, opens nothing.
        let page = visitor.get(&path).await;
        let wrong = visitor.submit(&page, "open-business", &[("password", OTHER)]).await;
        wrong.is(422, "Open Zobo Corner");
        assert!(people(&site.t).await.is_empty());
        let home = visitor.submit(&wrong, "open-business", &[("password", PASSWORD)]).await;
        home.is(200, "Overview");
        assert!(told(&home).contains("Zobo Corner is open, in test mode"), "{}", told(&home));
        assert!(home.text_of("main").contains("The operator looks at it before"), "{}", home.text_of("main"));
        assert!(home.text_of(".testing").contains("Test data"), "{}", home.text_of("body"));
        let used = app.store.registration(&Vault::token_hash(path.rsplit('/').next().unwrap())).await.unwrap().unwrap();
        assert!(used.used_at.is_some() && used.password.is_none());
        visitor.get(&path).await.is(410, "This link is used up or has expired");
        visitor.get("/register/unknown").await.is(404, "Nothing is here");

        // Test mode works at once, real money does not.
        let keys = visitor.get("/dashboard/keys").await;
        let add = [("label", "till"), ("mode", "live"), ("rights", "write")];
        let refused = visitor.submit(&keys, "add-key", &add).await;
        refused.is(422, "Keys");
        assert!(refused.text_of(".wrong").contains("waits for the operator"), "{}", refused.text_of("main"));
        let made = visitor.submit(&keys, "add-key", &[("label", "till"), ("mode", "test"), ("rights", "write")]).await;
        let key = made.text_of(".secret code");
        assert!(key.starts_with("tb_test_") && app.directory.caller(&key).await.unwrap().is_some(), "{key}");

        // Nor are they sent by inviting people.
        let id = list_businesses(app).await.unwrap()[0].id;
        invite_member(app, EMAIL, id, "dev@zobo.example", MemberRole::Developer).await.unwrap().unwrap();
        run_due(app).await.unwrap();
        let mails = mta.keeps(2).await;
        let invitation = mails.iter().find(|mail| mail.contains("To: dev@zobo.example")).unwrap();
        assert!(invitation.contains("invited to a new business") && !invitation.contains(BUSINESS), "{invitation}");

        // The operator decides.
        add_user(app, "root", "ops@kudu.example", Place::Staff(StaffRole::Admin), Some(PASSWORD)).await.unwrap().unwrap();
        let mut desk = site.visitor();
        let overview = desk.sign_in("ops@kudu.example", PASSWORD).await;
        assert!(overview.text_of(".tile").contains("New businesses 1"), "{}", overview.text_of("main"));
        let list = desk.get("/operator/businesses").await;
        assert!(list.text_of("main").contains("Businesses that wait for you"), "{}", list.text_of("main"));
        let one = desk.get(&format!("/operator/businesses/{id}")).await;
        let rate = desk.submit(&one, "set-business", &[("rate_limit", "90"), ("active", "waits")]).await;
        let waits = app.store.business(id).await.unwrap().unwrap();
        assert!(told(&rate).contains("is changed") && waits.waits() && waits.rate_limit == Some(90), "it still waits");
        let active = desk.submit(&one, "activate-business", &[]).await;
        assert!(told(&active).contains("Zobo Corner is changed"), "{}", told(&active));
        assert!(!desk.get("/operator").await.text_of(".tile").contains("New businesses"));
        run_due(app).await.unwrap();
        let mails = mta.keeps(3).await;
        assert!(mails.iter().any(|mail| mail.contains("Subject: Your business takes real money now")), "{mails:?}");
        let keys = visitor.get("/dashboard/keys").await;
        let made = visitor.submit(&keys, "add-key", &add).await;
        let key = made.text_of(".secret code");
        assert!(key.starts_with("tb_live_") && app.directory.caller(&key).await.unwrap().is_some(), "{key}");
        let acts = browse_acts(app, None, None).await.unwrap().rows;
        let told: Vec<String> = acts.iter().map(|act| format!("{} {} {}", act.operator, act.act, act.reason)).collect();
        assert!(told.iter().any(|act| act.starts_with("ngozi@zobo.example user register")), "{told:?}");
        assert!(told.iter().any(|act| act.starts_with("ops@kudu.example business set") && act.contains("live mode from off to on")), "{told:?}");
        site.close().await;
    }

    async fn who_has_an_account_is_told_nothing_on_the_page_and_signs_in_to_open_a_business(db: TestDatabase) {
        let mta = Exim::keeping(None).await;
        let t = TestApp::start_with(db, &mailed(&mta, "live")).await;
        let shop = t.merchant("kudu.example").await;
        add_user(&t.app, "ada", EMAIL, Place::Member(shop.id, MemberRole::Finance), Some(OTHER)).await.unwrap().unwrap();
        let site = Pages::start(t).await;
        let mut seen = Vec::new();
        for email in [EMAIL, "stranger@zobo.example"] {
            let page = asked(&mut site.visitor(), email).await;
            seen.push((page.status, told(&page), page.text_of("main")));
        }
        assert_eq!(seen[0], seen[1], "nobody can tell who has an account");
        run_due(&site.t.app).await.unwrap();
        let mails = mta.keeps(2).await;
        let mail = mails.iter().find(|mail| mail.contains("To: ngozi@zobo.example")).unwrap();
        let path = path_in(mail);
        let mut visitor = site.visitor();
        visitor.get(&path).await.is(200, "You have an account already");
        // What was chosen when asking opens nothing that was there.
        visitor.sign_in(EMAIL, PASSWORD).await.is(422, "Sign in");
        let csrf = visitor.get("/sign-in").await.form("sign-in").fields["csrf"].clone();
        let forced = [("csrf".to_owned(), csrf), ("password".to_owned(), PASSWORD.to_owned())].into();
        visitor.post_fields(&path, &forced).await.is(200, "You have an account already");
        // Neither does another one's session.
        add_user(&site.t.app, "ada", "other@kudu.example", Place::Member(shop.id, MemberRole::Owner), Some(OTHER)).await.unwrap().unwrap();
        let mut other = site.visitor();
        other.sign_in("other@kudu.example", OTHER).await.is(200, "Overview");
        other.get(&path).await.is(200, "You have an account already");
        assert_eq!(list_businesses(&site.t.app).await.unwrap().len(), 1);

        visitor.sign_in(EMAIL, OTHER).await.is(200, "Overview");
        let page = visitor.get(&path).await;
        page.is(200, "Open Zobo Corner");
        let home = visitor.submit(&page, "open-business", &[]).await;
        assert!(told(&home).contains("Zobo Corner is open."), "{}", told(&home));
        let businesses = list_businesses(&site.t.app).await.unwrap();
        let new = businesses.iter().find(|one| one.name == BUSINESS).unwrap();
        assert!(new.live, "it takes real money at once");
        assert!(add_key(&site.t.app, "ada", new.id, Mode::Live, None, None).await.unwrap().is_ok());
        visitor.get(&path).await.is(410, "This link is used up or has expired");
        visitor.sign_in(EMAIL, OTHER).await.is(200, "Overview");
        site.close().await;
    }

    async fn two_links_of_one_address_make_one_user(db: TestDatabase) {
        let t = shown(db).await;
        let other = t.another_node().await;
        let tokens = [token(&t, EMAIL).await, token(&t, EMAIL).await];
        let (here, there) = tokio::join!(
            open_business(&t.app, &tokens[0], (None, PASSWORD), FROM),
            open_business(&other, &tokens[1], (None, PASSWORD), FROM)
        );
        let opened: Vec<_> = [here.unwrap(), there.unwrap()].into_iter().map(|one| one.map(|one| one.business)).collect();
        assert!(opened.contains(&Ok(BUSINESS.to_owned())) && opened.contains(&Err(OpenRefused::SignInFirst)), "{opened:?}");
        assert_eq!((people(&t).await, list_businesses(&t.app).await.unwrap().len()), (vec![EMAIL.to_owned()], 1));
    }

    async fn one_link_used_twice_at_once_counts_once(db: TestDatabase) {
        let t = shown(db).await;
        let other = t.another_node().await;
        let token = token(&t, EMAIL).await;
        let (here, there) = tokio::join!(
            open_business(&t.app, &token, (None, PASSWORD), FROM),
            open_business(&other, &token, (None, PASSWORD), FROM)
        );
        let opened = [here.unwrap(), there.unwrap()];
        assert_eq!(opened.iter().filter(|one| one.is_ok()).count(), 1, "{opened:?}");
        assert!(opened.contains(&Err(OpenRefused::Over)), "{opened:?}");
        assert_eq!((people(&t).await.len(), list_businesses(&t.app).await.unwrap().len()), (1, 1));
    }

    async fn a_link_of_an_address_that_became_a_users_takes_nothing_over(db: TestDatabase) {
        let t = shown(db).await;
        let early = token(&t, EMAIL).await;
        let shop = t.merchant("kudu.example").await;
        add_user(&t.app, "ada", EMAIL, Place::Member(shop.id, MemberRole::Viewer), Some(OTHER)).await.unwrap().unwrap();
        let opened = open_business(&t.app, &early, (None, PASSWORD), FROM).await.unwrap();
        assert_eq!(opened, Err(OpenRefused::SignInFirst));
        assert_eq!(list_businesses(&t.app).await.unwrap().len(), 1);
    }

    async fn half_done_registrations_end_and_are_forgotten(db: TestDatabase) {
        let t = shown(db).await;
        let token = token(&t, EMAIL).await;
        let hash = Vault::token_hash(&token);
        t.advance(Span::hours(24));
        assert_eq!(open_business(&t.app, &token, (None, PASSWORD), FROM).await.unwrap(), Err(OpenRefused::Over));
        forget_old(&t.app).await.unwrap();
        assert!(t.app.store.registration(&hash).await.unwrap().is_some(), "it still says that it is over");
        t.advance(Span::days(6) + Span::seconds(1));
        forget_old(&t.app).await.unwrap();
        assert!(t.app.store.registration(&hash).await.unwrap().is_none());
        assert_eq!(open_business(&t.app, &token, (None, PASSWORD), FROM).await.unwrap(), Err(OpenRefused::Unknown));
    }

    async fn asking_too_often_is_refused_for_the_address_and_for_the_network(db: TestDatabase) {
        let site = Pages::start(shown(db).await).await;
        let mut visitor = site.visitor();
        for _ in 0..5 {
            let page = asked(&mut visitor, EMAIL).await;
            assert!(path_in(&page.text_of(".secret")).len() > "/register/".len() + 20, "dev mode shows it");
        }
        let page = asked(&mut visitor, EMAIL).await;
        assert_eq!(page.status, 429);
        assert!(page.header("retry-after").is_some() && !page.body.contains(PASSWORD));
        assert_eq!(page.form("register").fields["business"], BUSINESS, "what was typed is kept");
        asked(&mut visitor, "another@zobo.example").await.is(200, "Open a business");
        for n in 0..93 {
            let email = format!("n{n}@zobo.example");
            assert!(register(&site.t.app, Wanted { business: BUSINESS, email: &email, password: PASSWORD }, "127.0.0.1").await.unwrap().is_ok(), "{n}");
        }
        assert_eq!(asked(&mut visitor, "more@zobo.example").await.status, 200);
        assert_eq!(asked(&mut visitor, "last@zobo.example").await.status, 429, "a hundred of one address");
        site.close().await;
    }

    async fn what_does_not_fit_is_told_beside_its_field(db: TestDatabase) {
        let site = Pages::start(shown(db).await).await;
        let mut visitor = site.visitor();
        let page = visitor.get("/register").await;
        for (name, value, why) in [
            ("business", " ", "1 to 255 characters"),
            ("business", "Zobo\u{202e}", "none of them invisible"),
            ("email", "nobody", "not an e-mail address"),
            ("password_again", "another one here", "not the same"),
        ] {
            let mut filled = fields(EMAIL, PASSWORD);
            filled.iter_mut().filter(|(field, _)| *field == name).for_each(|field| field.1 = value);
            let refused = visitor.submit(&page, "register", &filled).await;
            refused.is(422, "Open a business");
            assert!(refused.text_of(&format!("#register-{name}-error")).contains(why), "{name}: {}", refused.text_of("form"));
            assert!(!refused.body.contains(PASSWORD), "{}", refused.body);
        }
        for weak in ["short", "ngozi@zobo.example"] {
            let refused = visitor.submit(&page, "register", &fields(EMAIL, weak)).await;
            refused.is(422, "Open a business");
            assert!(refused.text_of("#register-password-error").contains("Choose another password"));
        }
        site.close().await;
    }

    async fn the_operator_may_decline_and_the_command_lines_switch_activates(db: TestDatabase) {
        let t = shown(db).await;
        let opened = open_business(&t.app, &token(&t, EMAIL).await, (None, PASSWORD), FROM).await.unwrap().unwrap();
        let (id, active) = (opened.business_id, |on| BusinessChange { active: Some(on), ..BusinessChange::default() });
        let key = |mode| add_key(&t.app, "ada", id, mode, None, None);
        assert_eq!(key(Mode::Live).await.unwrap().unwrap_err(), KeyRefusal::Waits);
        let text = key(Mode::Test).await.unwrap().unwrap().text;
        let wanted = by_hand(id, Mode::Live);
        assert_eq!(ask_for_payment(&t.app, "ada", &wanted).await.unwrap().unwrap_err(), ByHandRefused::Waits);
        let off = set_business(&t.app, "ada", id, &active(false)).await.unwrap().unwrap();
        assert!(!off.live && t.app.directory.caller(&text).await.unwrap().is_none(), "nothing works");
        assert!(t.app.store.businesses_waiting(10).await.unwrap().is_empty(), "it is decided");
        let on = set_business(&t.app, "ada", id, &active(true)).await.unwrap().unwrap();
        assert!(on.live && key(Mode::Live).await.unwrap().is_ok());
    }
}
