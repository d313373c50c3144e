//! A shop with two cashiers, and what its till is shown in.

use std::time::{Duration, Instant};

use serde_json::json;
use tillbell::domain::alert::{AlertStatus, Authenticity};
use tillbell::domain::payment::Payment;
use tillbell::domain::time::Span;
use tillbell::domain::user::MemberRole;
use tillbell::ops::alerts::decide::AlertOutcome;
use tillbell::ops::alerts::draft::Taken;
use tillbell::ops::alerts::take::take_alert;
use tillbell::ops::payments::read::read_payment;
use tillbell::ops::people::users::{Place, add_user};
use tillbell::ops::till::{AskedAtTill, TillSale, ask_at_till};

use crate::harness::app::ACCOUNT;
use crate::harness::browser::Browser;
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;
use crate::pages::dashboard_world::{Shops, of_role};
use crate::pages::visitor::{Seen, Visitor};
use crate::people::PASSWORD;

pub const SECOND: &str = "musa@kudu.example";
/// What a page does by itself takes at most this.
const DEADLINE: Duration = Duration::from_secs(40);

pub struct Counter {
    pub shops: Shops,
}

impl Counter {
    pub async fn new(db: TestDatabase) -> Counter {
        let shops = Shops::new(db).await;
        let place = Place::Member(shops.shop.id, MemberRole::Cashier);
        add_user(&shops.t().app, "ada", SECOND, place, Some(PASSWORD)).await.unwrap().unwrap();
        Counter { shops }
    }

    pub fn base(&self) -> String {
        self.shops.pages.running.url()
    }

    pub async fn cashier(&self) -> Visitor {
        self.shops.signed_in(&of_role(MemberRole::Cashier)).await
    }

    /// Where the customer of the sale that a till shows is led.
    pub async fn shown_to(&self, till: &Seen) -> String {
        let id = till.path.split("sale=").nth(1).unwrap().split('&').next().unwrap();
        read_payment(&self.shops.t().app, self.shops.shop.id, None, id)
            .await
            .unwrap()
            .unwrap()
            .checkout_url
            .unwrap()
    }

    /// Asked for at the till by a cashier, without its page.
    pub async fn sale(&self, naira: i64, payer: &str) -> Payment {
        let members = self.shops.t().app.store.members(self.shops.shop.id).await.unwrap();
        let cashier = members.iter().find(|one| one.email == of_role(MemberRole::Cashier)).unwrap();
        let sale = TillSale {
            business_id: self.shops.shop.id,
            mode: tillbell::domain::merchant::Mode::Live,
            user_id: cashier.user_id,
            amount: tillbell::domain::money::Money(naira * 100),
            payer_name: payer,
            transaction_id: "",
        };
        match ask_at_till(&self.shops.t().app, &cashier.email, &sale).await.unwrap().unwrap() {
            AskedAtTill::New(payment) => *payment,
            AskedAtTill::Before(payment) => panic!("asked for before: {payment:?}"),
        }
    }

    /// The bank's signed alert of money that came a minute later.
    pub async fn pays(&self, naira: i64, payer: &str) -> AlertOutcome {
        self.told(naira, payer, Authenticity::Proven).await
    }

    pub async fn told(&self, naira: i64, payer: &str, authenticity: Authenticity) -> AlertOutcome {
        let t = self.shops.t();
        t.advance(Span::minutes(1));
        let mail = Alert::credit(ACCOUNT, naira, payer, t.app.now() - Span::seconds(10)).text();
        let taken = t.taken(&mail, true);
        let by = (authenticity == Authenticity::Proven).then(|| "a key".to_owned());
        let taken = Taken { authenticity, authentic_by: by.or(taken.authentic_by.clone()), ..taken };
        take_alert(&t.app, &taken).await.unwrap()
    }

    /// The same, which is enough for a sale that waits.
    pub async fn pay(&self, naira: i64, payer: &str) {
        let outcome = self.pays(naira, payer).await;
        assert_eq!(outcome.status, AlertStatus::Matched, "{outcome:?}");
    }

    pub async fn close(self) {
        self.shops.close().await;
    }
}

/// Signs in by a browser, which leads a cashier to the till.
pub fn sign_in(browser: &Browser, base: &str, email: &str) {
    browser.open(&format!("{base}/sign-in"));
    browser.fill("#sign-in-email", email);
    browser.fill("#sign-in-password", PASSWORD);
    browser.click("#sign-in button");
    browser.wait_for("form#till-new");
}

pub fn ask(browser: &Browser, amount: &str, payer: &str) {
    browser.execute(
        "document.querySelectorAll('#till-new input[type=text]').forEach(one => one.value = '')",
        json!([]),
    );
    browser.fill("#till-new-amount", amount);
    browser.fill("#till-new-payer_name", payer);
    browser.click("#till-new button");
    browser.wait_for(".sale-waits");
}

/// What the page says of itself by its attributes.
pub fn of_till(browser: &Browser, name: &str) -> String {
    let value =
        browser.execute("return document.getElementById('till').dataset[arguments[0]] || ''", json!([name]));
    value.as_str().unwrap_or_default().to_owned()
}

#[track_caller]
pub fn wait_until(browser: &Browser, name: &str, value: &str) {
    let begun = Instant::now();
    while of_till(browser, name) != value {
        assert!(
            begun.elapsed() < DEADLINE,
            "{name} is {:?}, not {value:?}:\n{}",
            of_till(browser, name),
            browser.text()
        );
        std::thread::sleep(Duration::from_millis(30));
    }
}

/// One tap, as browsers ask before a page may make a sound.
pub fn switch_on_sound(browser: &Browser) {
    browser.click("#till-sound");
    wait_until(browser, "sound", "on");
}

pub fn rows(page: &Seen) -> usize {
    page.html().select(&scraper::Selector::parse(".sales li").unwrap()).count()
}
