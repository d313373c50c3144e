//! Every page of the route table in a real browser, full of what a busy service shows: axe-core finds nothing serious on
//! it, and nothing runs out of it, on a phone and on a desk. A page that is not told of here fails.

use serde_json::json;
use tillbell::domain::merchant::Mode;
use tillbell::domain::payment::Payment;
use tillbell::domain::phone::Phone;
use tillbell::domain::time::Span;
use tillbell::domain::user::{MemberRole, StaffRole};
use tillbell::http::pages::table::{Route, TABLE, Who};
use tillbell::ops::figures::refused::flush;
use tillbell::ops::merchants::businesses::{ChargeChange, NewBusiness, add_business};
use tillbell::ops::merchants::keys::add_key;
use tillbell::ops::payouts::accounts::GivenAccount;
use tillbell::ops::payouts::end::{Outcome, mark_payout};
use tillbell::ops::people::register::{Wanted, register};
use tillbell::ops::people::users::{Place, add_user};
use tillbell::ops::wallets::find::ensure;

use super::axe;
use super::dashboard_world::{OWNER, Shops, told};
use super::desk::{ADMIN, doubtful};
use super::visitor::{Pages, Visitor};
use crate::harness::app::TestApp;
use crate::harness::browser::{Browser, PHONE};
use crate::harness::databases::TestDatabase;
use crate::harness::receiver::{Answer, Receiver};
use crate::payouts::book::marking;
use crate::payouts::world::{GIVEN, ask_for, ready_account};
use crate::people::{self, PASSWORD};
use crate::wallet_pages::site::{DEV, exchange};

const DESK: (u32, u32) = (1280, 800);
const SETTINGS: &str = "[[mail.imap]]\nname = \"alerts\"\nhost = \"127.0.0.1\"\ntls = \"none\"\nuser = \"alerts\"\npassword = \"secret\"\n\
                        [webhooks]\ntimeout = \"1s\"\n[users]\nregistration = \"open\"\n";
const LONG: &str = "Oluwaseun Adebayo-Ogunlesi Chukwuemeka Nwankwo-Okonkwo and Sons Nigeria Limited";
/// As long as a mail of the bank names somebody.
const LONGEST_PAID: &str = "Oluwaseun Chukwuemeka Nwankwo";
/// All in one question: a page has hundreds of them.
const OVERFLOWING: &str = "return [...document.querySelectorAll(arguments[0])]
    .filter(one => one.scrollWidth > one.clientWidth && getComputedStyle(one).display !== 'inline')
    .map(one => one.innerText);";
/// Bytes of the page as they went over the line, and of all that it loaded as if nothing had been kept.
const WEIGHT: &str = "const loaded = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
    return [loaded[0].encodedBodySize, loaded.reduce((sum, one) => sum + one.encodedBodySize, 0)];";
const PAGE_MAX: u64 = 60 * 1024;
const FIRST_VIEW_MAX: u64 = 150 * 1024;
const CUT: &str = "button,.panel,.badge,.tile-value,th,td,dd,.count,.naira";

/// Who looks: each page is asked for as somebody who may see all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Person {
    Nobody,
    /// Has given a password, and owes the code.
    Half,
    Owner,
    Staff,
}

/// What the addresses of pages name.
pub struct World {
    pub shops: Shops,
    pub alert: i64,
    payment: Payment,
    delivery: i64,
    pub wallet: i64,
    welcome: String,
    registration: String,
    /// Of the second factor of the business's owner.
    secret: Vec<u8>,
}

/// An account of a long name, and a payout of each state.
async fn asked_for_payouts(shops: &Shops) {
    let app = &shops.t().app;
    let owner = app.store.members(shops.shop.id).await.unwrap()[0].user_id;
    let given = GivenAccount { name: LONG, ..GIVEN };
    let account = ready_account(shops.t(), &shops.shop, owner, &given).await.id;
    for outcome in [Some(Outcome::Paid), Some(Outcome::Refused), None, None] {
        let id = ask_for(app, shops.shop.id, account, 12_345_678).await.unwrap().payout.id;
        if let Some(outcome) = outcome {
            mark_payout(app, &marking(id, outcome, ADMIN)).await.unwrap().unwrap();
        }
    }
}

impl World {
    pub async fn new(db: TestDatabase) -> World {
        let shops = Shops::with(db, SETTINGS).await;
        add_user(&shops.t().app, "ada", ADMIN, Place::Staff(StaffRole::Admin), Some(PASSWORD))
            .await
            .unwrap()
            .unwrap();
        let payment = shops.paid(&shops.shop, 1_234_567, LONGEST_PAID).await;
        asked_for_payouts(&shops).await;
        shops.paid(&shops.shop, 5_200, "Musa Danladi").await;
        for (naira, payer, short) in [(6_300, "Halima Garba", "HALIMA"), (7_100, "Adaeze Nwosu", "ADAEZE")] {
            shops.t().create(&shops.shop, naira, payer).await;
            doubtful(&shops.pages, naira, short).await;
        }
        shops.t().create(&shops.shop, 8_200, LONG).await;
        // Far less than was asked for: something speaks against it.
        shops.t().create(&shops.shop, 9_900, "Ngozi Bello").await;
        let alert = doubtful(&shops.pages, 2_000, "BELLO NGOZI").await;
        let delivery = shops.t().app.store.deliveries_of_payment(payment.id).await.unwrap()[0].id;
        let wallet = ensure(&shops.t().app, &Phone::parse("08030000001").unwrap()).await.unwrap().wallet.id;
        let place = Place::Member(shops.shop.id, MemberRole::Viewer);
        let welcome = people::token_of(&people::added(shops.t(), "uche@kudu.example", place).await);
        let wanted = Wanted { business: LONG, email: "bola@kudu.example", password: PASSWORD };
        let link = register(&shops.t().app, wanted, "192.0.2.7").await.unwrap().unwrap().unwrap();
        let registration = link.rsplit('/').next().unwrap().to_owned();
        let secret = Vec::new();
        let mut world = World { shops, alert, payment, delivery, wallet, welcome, registration, secret };
        world.fill_business().await;
        world.fill_desk().await;
        world
    }

    /// What the owner does: websites, a webhook that fails, a key, a request that is refused, a second factor.
    async fn fill_business(&mut self) {
        let receiver = Receiver::start().await;
        receiver.answer_otherwise(Answer::status(500).body("<html>out of order</html>"));
        let mut owner = self.shops.owner().await;
        let page = owner.get("/dashboard/websites").await;
        owner
            .submit(&page, "add-website", &[("url", "https://a-second-website-with-a-long-name.example")])
            .await;
        let page = owner.get("/dashboard/webhooks").await;
        let set = owner.submit(&page, "set-webhook", &[("webhook_url", &receiver.url("/hook"))]).await;
        let failed = owner.submit(&set, "send-test", &[]).await;
        assert!(told(&failed).contains("500"), "{}", told(&failed));
        refuse_one(&self.shops, &owner).await;
        let page = owner.get("/dashboard/keys").await;
        owner.submit(&page, "add-key", &[("label", LONG), ("mode", "test"), ("rights", "read")]).await;
        let page = owner.get("/me").await;
        let begun = owner.submit(&page, "totp-begin", &[]).await;
        self.secret = people::secret_of(&begun.body[begun.body.find("otpauth://").unwrap()..]);
        let code = people::code(&self.secret, self.shops.t().app.now());
        let done = owner.submit(&begun, "totp-confirm", &[("code", &code)]).await;
        done.is(200, "Your account");
    }

    async fn fill_desk(&self) {
        let mut admin = self.shops.signed_in(ADMIN).await;
        let page = admin.get("/operator/users").await;
        admin.submit(&page, "add-user", &[("email", "uche@till.example"), ("role", "reviewer")]).await;
        let page = admin.get("/operator/audit").await;
        admin.submit(&page, "run-audit", &[]).await;
        let page = admin.get(&format!("/operator/wallets?wallet={}", self.wallet)).await;
        let credit = [("amount", "500"), ("reason", "a refund"), ("ref", "r-1")];
        admin.submit(&page, "credit-wallet", &credit).await.is(200, "Wallets");
    }

    /// Who opens a page, and where it stands; none where the path only leads on.
    fn addresses(&self, route: &Route) -> (Person, Vec<String>) {
        let id = match route.path {
            "/operator/alerts/{id}" => self.alert,
            "/operator/businesses/{id}" => self.shops.shop.id,
            "/operator/webhooks/{id}" => self.delivery,
            _ => 0,
        };
        assert!(id != 0 || !route.path.contains("{id}"), "{}: say here whose id stands in it", route.path);
        let path = route.path.replace("{id}", &id.to_string());
        let token = if route.path.starts_with("/register") { &self.registration } else { &self.welcome };
        let path = path.replace("{transaction_id}", &self.payment.transaction_id).replace("{token}", token);
        let person = match (route.path, route.who) {
            ("/sign-in/code", _) => Person::Half,
            (_, Who::Anyone) => Person::Nobody,
            (_, Who::Member(_) | Who::SignedIn) => Person::Owner,
            (_, Who::Staff(_)) => Person::Staff,
        };
        let all = match route.path {
            // The last one is no page: a stream.
            "/" | "/sign-out" | "/dashboard/till/events" => Vec::new(),
            "/docs/{part}" => ["payments", "wallet", "balance", "service", "webhooks", "errors"]
                .map(|part| format!("/docs/{part}"))
                .into(),
            "/operator/wallets" => vec![format!("{path}?wallet={}", self.wallet), path],
            "/operator/alerts" => vec![format!("{path}?state=all"), path],
            "/dashboard/payments" => vec![format!("{path}?q=nobody"), path],
            _ => vec![path],
        };
        (person, all)
    }
}

async fn refuse_one(shops: &Shops, owner: &Visitor) {
    let t = shops.t();
    let key = add_key(&t.app, "ada", shops.shop.id, Mode::Live, None, None);
    let key = format!("X-API-Key: {}", key.await.unwrap().unwrap().text.as_str());
    let lines = [key.as_str(), "Content-Type: application/json"];
    let (status, ..) = exchange(owner.address, "POST", "/api/v1/payment-request", &lines, Some("{}")).await;
    assert_eq!(status, 422);
    flush(&t.app).await.unwrap();
}

/// Opens the page of sign-in and gives the password there.
fn give_password(browser: &Browser, base: &str, email: &str) {
    browser.open(&format!("{base}/sign-in"));
    browser.fill("#sign-in-email", email);
    browser.fill("#sign-in-password", PASSWORD);
    browser.click("#sign-in button");
}

/// All that is wrong on the page that is open. `world`: what there is, for the names of pictures.
fn look(browser: &Browser, world: &str, path: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let weight = browser.execute(WEIGHT, json!([]));
    let (page, all) = (weight[0].as_u64().unwrap(), weight[1].as_u64().unwrap());
    if page == 0 || page > PAGE_MAX || all > FIRST_VIEW_MAX {
        wrong.push(format!("{path}: {page} bytes, {all} with all that it loads"));
    }
    axe::load(browser);
    for (size, shape) in [(DESK, "desk"), (PHONE, "phone")] {
        browser.resize(size);
        if size == PHONE {
            // Questions and filters that wait for a touch.
            axe::unfold(browser);
        }
        wrong.extend(axe::complaints(browser).into_iter().map(|one| format!("{path}, {shape}: {one}")));
        let (width, _) = browser.extent();
        if width > f64::from(size.0) {
            wrong.push(format!("{path}, {shape}: {width} wide"));
        }
        let cut = browser.execute(OVERFLOWING, json!([CUT]));
        let cut = cut.as_array().unwrap().iter();
        wrong.extend(cut.map(|one| format!("{path}, {shape}: runs out of its place: {one}")));
        for scheme in ["light", "dark"] {
            browser.dark(scheme == "dark");
            browser.picture(&format!("{world}{}-{shape}-{scheme}", path.replace(['/', '?', '='], "-")));
        }
    }
    wrong.extend(axe::complaints_of_colours(browser).into_iter().map(|one| format!("{path}, dark: {one}")));
    browser.dark(false);
    wrong
}

/// Goes through every page of the table, each as somebody who may see all of it.
pub fn walk(world: &World, browser: &Browser, mut look: impl FnMut(&str)) {
    let base = world.shops.pages.running.url();
    for person in [Person::Nobody, Person::Half, Person::Owner, Person::Staff] {
        match person {
            Person::Nobody => {}
            Person::Half => {
                give_password(browser, &base, OWNER);
                browser.shows("Enter your code");
            }
            Person::Owner => {
                // The code that set it up counts no more.
                world.shops.t().advance(Span::seconds(30));
                browser.fill("#sign-in-code-code", &people::code(&world.secret, world.shops.t().app.now()));
                browser.click("#sign-in-code button");
                browser.shows("Overview");
            }
            Person::Staff => {
                browser.click("#sign-out button");
                browser.shows("Sign in");
                give_password(browser, &base, ADMIN);
                browser.shows("What waits");
            }
        }
        for route in TABLE {
            let (opened_by, paths) = world.addresses(route);
            for path in paths.iter().filter(|_| opened_by == person) {
                browser.open(&format!("{base}{path}"));
                assert_eq!(browser.address(), format!("{base}{path}"), "leads elsewhere: {}", browser.text());
                assert!(!browser.text().contains("Nothing is here"), "{path}");
                look(path);
            }
        }
    }
}

/// What a page without scripts must not have: buttons that do nothing, and parts that only a script shows. Passkeys,
/// copying, trying a route of the API, and the bell, the lamp and the bar of the till need one, and wait hidden for it.
const IDLE: &str = "return [...document.querySelectorAll('button,[hidden]')]
    .filter(one => one.hidden || one.type !== 'submit' || !one.form)
    .filter(one => !one.matches('[data-copy],[data-passkeys],form[data-passkey],[data-passkey-told],kbd,[data-passkey] button'))
    .filter(one => !one.closest('[data-key-panel],[data-try]'))
    .filter(one => !(one.hidden && one.matches('.till-switch,#till-lost,#till-lost a,#till-missed')))
    .map(one => one.outerHTML);";

// What only a browser shows; that each page is answered on both databases is tried without one.
on_one! {
    async fn axe_finds_nothing_serious_on_any_page(db: TestDatabase) {
        let world = World::new(db).await;
        let browser = Browser::with_scripts();
        let mut wrong = Vec::new();
        walk(&world, &browser, |path| wrong.extend(look(&browser, "full", path)));
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        world.shops.close().await;
    }

    async fn every_page_is_well_when_nothing_is_there_yet(db: TestDatabase) {
        let t = TestApp::start_with(db, DEV).await;
        let new = NewBusiness {
            name: "A new shop".into(), email: "till@new.example".into(), webhook_url: None, charges: ChargeChange::default(),
        };
        let shop = add_business(&t.app, "root", &new).await.unwrap().unwrap().business.id;
        for (email, place) in [(OWNER, Place::Member(shop, MemberRole::Owner)), (ADMIN, Place::Staff(StaffRole::Admin))] {
            add_user(&t.app, "root", email, place, Some(PASSWORD)).await.unwrap().unwrap();
        }
        let pages = Pages::start(t).await;
        let (base, browser) = (pages.running.url(), Browser::with_scripts());
        let mut wrong = Vec::new();
        for (email, first, is_staff) in [(OWNER, "Overview", false), (ADMIN, "What waits", true)] {
            give_password(&browser, &base, email);
            browser.shows(first);
            // A stream is no page, and never ends.
            let is_page = |route: &&Route| !route.path.contains('{') && route.path != "/dashboard/till/events";
            for route in TABLE.iter().filter(is_page) {
                if matches!(route.who, Who::Staff(_)) == is_staff && !matches!(route.who, Who::Anyone | Who::SignedIn) {
                    browser.open(&format!("{base}{}", route.path));
                    assert!(!browser.text().contains("Nothing is here"), "{}", route.path);
                    wrong.extend(look(&browser, "empty", route.path));
                }
            }
            browser.click("#sign-out button");
            browser.shows("E-mail address");
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        pages.close().await;
    }

    async fn every_page_is_whole_with_scripts_off(db: TestDatabase) {
        let world = World::new(db).await;
        let browser = Browser::start();
        let mut wrong = Vec::new();
        walk(&world, &browser, |path| {
            let idle = browser.execute(IDLE, json!([]));
            wrong.extend(idle.as_array().unwrap().iter().map(|one| format!("{path}: {one}")));
            let (width, _) = browser.extent();
            if !browser.has("main h1") || width > f64::from(PHONE.0) {
                wrong.push(format!("{path}: {width} wide, {}", browser.text()));
            }
        });
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        world.shops.close().await;
    }
}
