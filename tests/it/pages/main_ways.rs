//! The main ways of people through the pages, in real browsers with scripts on, at a desk and on a phone: an operator and
//! an owner of a business begin with nothing but a link each, and go on until
//! money came, what was doubtful was decided, a colleague was invited and money was paid out.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use tillbell::domain::alert::AlertStatus;
use tillbell::domain::time::{Span, Timestamp};
use tillbell::domain::user::StaffRole;
use tillbell::ops::people::users::{Place, add_user};
use tillbell::serve::{Roles, start};

use super::visitor::Pages;
use crate::harness::app::{ACCOUNT, TestApp};
use crate::harness::browser::{Browser, PHONE};
use crate::harness::databases::Engine;
use crate::harness::mails::Alert;
use crate::harness::receiver::Receiver;
use crate::people::PASSWORD;
use crate::wallet_pages::site::{DEV, exchange};

const DESK: (u32, u32) = (1280, 800);
const STAFF_TOTP: &str = "[users]\nstaff_totp = true\n";
const DOWN: &str = "\u{e015}";
const ENTER: &str = "\u{e007}";
/// On one account nobody's name may be mistaken for another's.
const DOUBTED: [&str; 5] =
    ["Zainab Yusuf", "Chidi Okafor", "Tunde Bakare", "Efosa Igbinedion", "Patience Udo"];
const OPERATOR: &str = "ada@till.example";
const OWNER: &str = "halima@kudu.example";
const COLLEAGUE: &str = "uche@kudu.example";
/// Pays something else than was asked for at first.
const WAITING: &str = "Ngozi Bello";
const PRICE: i64 = 5_200;
/// Of a webhook that is sent at once.
const SENT_WITHIN: Duration = Duration::from_secs(30);

/// Somebody at a browser of their own.
struct Person {
    browser: Browser,
    base: String,
    is_on_phone: bool,
}

impl Person {
    fn new(base: &str, size: (u32, u32)) -> Person {
        let browser = Browser::with_scripts();
        browser.resize(size);
        Person { browser, base: base.to_owned(), is_on_phone: size == PHONE }
    }

    /// Chooses a password behind a link of welcome, and signs in with it.
    fn begin(&self, link: &str, email: &str) {
        self.browser.open(link);
        self.browser.shows("Welcome");
        self.browser.fill("#set-password-password", PASSWORD);
        self.browser.fill("#set-password-password_again", PASSWORD);
        self.send("set-password");
        self.browser.shows("Your password is set");
        self.sign_in(email);
    }

    fn sign_in(&self, email: &str) {
        self.browser.open(&format!("{}/sign-in", self.base));
        self.browser.fill("#sign-in-email", email);
        self.browser.fill("#sign-in-password", PASSWORD);
        self.send("sign-in");
    }

    /// Goes to a page by the menu, which stands beside it or unfolds.
    fn go(&self, path: &str, heading: &str) {
        let menu = if self.is_on_phone { ".menu" } else { ".side" };
        if self.is_on_phone {
            self.browser.click(".menu summary");
        }
        self.browser.click(&format!("{menu} a[href^='{path}']"));
        self.browser.shows(heading);
    }

    fn fill(&self, form: &str, fields: &[(&str, &str)]) {
        for (name, text) in fields {
            self.browser.fill(&format!("#{form}-{name}"), text);
        }
        self.send(form);
    }

    fn send(&self, form: &str) {
        self.browser.click(&format!("#{form} button[type=submit]"));
    }

    /// What is shown once, with this in it.
    fn shown_once(&self, part: &str) -> String {
        let shown = self.browser.texts(".secret code");
        let found = shown.iter().find(|one| one.contains(part));
        found.unwrap_or_else(|| panic!("no {part} in {shown:?}")).clone()
    }

    /// Signs out; the way back then shows none of this.
    fn sign_out(&self, private: &str) {
        self.send("sign-out");
        self.browser.shows("E-mail address");
        self.browser.back();
        self.browser.shows("E-mail address");
        let text = self.browser.text();
        assert!(!text.contains(private), "{text}");
    }
}

/// The code that an authenticator app of other hands shows.
fn app_shows(secret: &str, now: Timestamp) -> String {
    let at = format!("@{}", now.0 / 1_000_000);
    let output = Command::new("oathtool").args(["--totp", "--base32", secret, "--now", &at]).output();
    let output = output.expect("oathtool is missing: ./test installs it");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Asks for a payment as the program of the business does.
async fn ask_for_payment(site: &Pages, key: &str, body: Value) -> String {
    let key = format!("X-API-Key: {key}");
    let lines = [key.as_str(), "Content-Type: application/json"];
    let body = body.to_string();
    let sent = exchange(site.running.address, "POST", "/api/v1/payment-request", &lines, Some(&body));
    let (status, _, answer) = sent.await;
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(status, 201, "{answer}");
    answer["data"]["transaction_id"].as_str().unwrap().to_owned()
}

/// The operator sets an app up, as is demanded of staff, and adds the business; answers the link for its
/// owner and the app's secret.
fn operator_begins(site: &Pages, ada: &Person, link: &str, email: &str, owner: &str) -> (String, String) {
    ada.begin(link, email);
    ada.browser.shows("Authenticator app");
    ada.browser.open(&format!("{}/operator", ada.base));
    ada.browser.shows("Authenticator app");
    ada.send("totp-begin");
    ada.browser.shows("Or copy this into the app");
    let address = ada.shown_once("otpauth://");
    let secret = address.split("secret=").nth(1).unwrap().split('&').next().unwrap();
    ada.fill("totp-confirm", &[("code", &app_shows(secret, site.t.app.now()))]);
    ada.browser.shows("Recovery codes");
    ada.browser.open(&format!("{}/operator", ada.base));
    ada.browser.shows("What waits");
    ada.go("/operator/businesses", "Businesses");
    let domain = owner.split('@').nth(1).unwrap();
    ada.fill("add-business", &[("name", domain), ("email", &format!("till@{domain}")), ("owner", owner)]);
    ada.browser.shows("is added");
    (ada.shown_once("/welcome/"), secret.to_owned())
}

/// The owner names a website, which the operator approves, then a webhook address, and makes a key.
fn owner_sets_up(halima: &Person, ada: &Person, receiver: &Receiver) -> String {
    halima.go("/dashboard/websites", "Websites");
    halima.fill("add-website", &[("url", &receiver.url(""))]);
    halima.browser.shows("is added");
    ada.go("/operator/businesses", "Websites that wait for you");
    ada.send("approve-website-1");
    ada.browser.shows("is approved");
    halima.go("/dashboard/webhooks", "Webhooks");
    halima.fill("set-webhook", &[("webhook_url", &receiver.url("/hook"))]);
    halima.browser.shows("/hook now");
    halima.go("/dashboard/keys", "Keys");
    halima.fill("add-key", &[("label", "the shop's own program")]);
    halima.browser.shows("the shop's own program");
    halima.shown_once("tb_live_")
}

/// Money came from payers of whose names the bank told half. At a desk they are decided by keys alone, on a phone by taps.
async fn five_alerts(site: &Pages, ada: &Person, payers: [&str; 5], ask: impl AsyncFn(i64, &str) -> String) {
    let asked: Vec<(i64, &str)> = (11_000..).step_by(1_100).zip(payers).collect();
    for (naira, payer) in &asked {
        ask(*naira, payer).await;
    }
    site.t.advance(Span::minutes(2));
    let mut alerts = Vec::new();
    for (naira, payer) in &asked {
        let short = payer.split(' ').next().unwrap().to_uppercase();
        let mail = Alert::credit(ACCOUNT, *naira, &short, site.t.app.now() - Span::seconds(20)).text();
        let outcome = site.t.ingest(&mail).await;
        assert_eq!(outcome.status, AlertStatus::Review, "{payer}");
        alerts.push(outcome.alert_id);
    }
    ada.go("/operator/alerts", "Alerts");
    match ada.is_on_phone {
        true => ada.browser.click_first("td.lead a"),
        false => {
            ada.browser.wait_for("[data-keys=ready]");
            ada.browser.press(DOWN);
            ada.browser.press(ENTER);
        }
    }
    for (_, payer) in &asked {
        ada.browser.shows(&payer.split(' ').next().unwrap().to_uppercase());
        ada.browser.shows("What the bank wrote");
        match ada.is_on_phone {
            true => ada.send("approve-alert-1"),
            false => {
                ada.browser.wait_for("[data-keys=ready]");
                ada.browser.press("a");
            }
        }
    }
    ada.browser.shows("Nothing waits for you");
    for alert in alerts {
        assert_eq!(site.t.app.store.alert(alert).await.unwrap().unwrap().status, AlertStatus::Matched);
    }
}

/// The owner adds an account, asks for money when it can be used, and the operator sends it.
fn pays_out(site: &Pages, ada: &Person, halima: &Person, (operator, owner): (&str, &str), secret: &str) {
    halima.sign_in(owner);
    halima.browser.shows("Overview");
    halima.go("/dashboard/payouts", "Payouts");
    halima
        .fill("add-payout-account", &[("bank", "GTBank"), ("number", "0040003311"), ("name", "KUDU STORES")]);
    halima.browser.shows("It can be used from");
    site.t.advance(Span::hours(24));
    halima.sign_in(owner);
    halima.browser.shows("Overview");
    halima.go("/dashboard/payouts", "Payouts");
    halima.fill("request-payout", &[("amount", "1500.50")]);
    halima.browser.shows("NGN 1,500.50 is set aside");
    ada.sign_in(operator);
    ada.browser.shows("Enter your code");
    ada.fill("sign-in-code", &[("code", &app_shows(secret, site.t.app.now()))]);
    ada.browser.shows("What waits");
    ada.go("/operator/payouts", "NGN 1,500.50");
    ada.browser.click(".acts summary");
    ada.browser.fill(".acts [name=outcome]", "Paid: the bank has sent it");
    ada.browser.fill(".acts [name=reference]", "FT26031012");
    ada.browser.click(".acts form button");
    ada.browser.shows("is paid");
    halima.go("/dashboard/payouts", "FT26031012");
    ada.sign_out("FT26031012");
    halima.sign_out("FT26031012");
}

async fn whole_way(site: &Pages, size: (u32, u32)) {
    let added = add_user(&site.t.app, "root", OPERATOR, Place::Staff(StaffRole::Admin), None);
    let link = added.await.unwrap().unwrap().link.unwrap();
    let link = format!("{}{}", site.running.url(), &link[link.find("/welcome/").unwrap()..]);
    let receiver = Receiver::start().await;
    let (ada, halima) = (Person::new(&site.running.url(), size), Person::new(&site.running.url(), size));
    let (welcome, secret) = operator_begins(site, &ada, &link, OPERATOR, OWNER);
    let welcome = format!("{}{}", site.running.url(), &welcome[welcome.find("/welcome/").unwrap()..]);
    halima.begin(&welcome, OWNER);
    halima.browser.shows("Overview");
    let key = owner_sets_up(&halima, &ada, &receiver);

    let ask = |naira: i64, payer: &str| {
        let body = json!({"amount": naira, "payer_name": payer, "webhook_url": receiver.url("/hook")});
        ask_for_payment(site, &key, body)
    };
    let (paid, open) = (ask(PRICE, "Musa Danladi").await, ask(9_900, WAITING).await);
    site.t.advance(Span::minutes(1));
    let mail = Alert::credit(ACCOUNT, PRICE, "MUSA DANLADI", site.t.app.now() - Span::seconds(20));
    site.t.ingest(&mail.text()).await;
    assert_eq!(receiver.wait_for(1, SENT_WITHIN).await.len(), 1);

    halima.go("/dashboard/payments", WAITING);
    halima.browser.fill("#filter-payments-q", "musa");
    halima.browser.click(".filters button");
    halima.browser.shows("Clear");
    halima.browser.shows("Musa Danladi");
    assert_eq!(halima.browser.texts("td.lead a").len(), 1, "{}", halima.browser.text());
    halima.browser.click("td.lead a");
    halima.browser.shows(&paid);
    halima.browser.shows("Approved");
    halima.send("resend-webhook-1");
    halima.browser.shows("sent again");
    let sent = receiver.wait_for(2, SENT_WITHIN).await;
    assert_eq!(sent[0].header("webhook-id"), sent[1].header("webhook-id"));
    assert_eq!(sent[1].json()["transaction_id"], *paid);

    halima.go("/dashboard/payments", WAITING);
    halima.browser.click(&format!("td.lead a[href*='{open}']"));
    halima.browser.shows("Another amount");
    halima.fill("correct-amount", &[("new_amount", "9500.50")]);
    halima.browser.shows("From NGN 9,900.00 to NGN 9,500.50");

    halima.go("/dashboard/team", "Team");
    halima.fill("invite", &[("email", COLLEAGUE)]);
    halima.browser.shows(COLLEAGUE);
    assert!(halima.shown_once("/welcome/").len() > 40);
    five_alerts(site, &ada, DOUBTED, ask).await;
    halima.go("/dashboard/payments", "Musa Danladi");
    halima.sign_out("Musa Danladi");
    ada.go("/operator/payments", "Musa Danladi");
    ada.sign_out("Musa Danladi");
    pays_out(site, &ada, &halima, (OPERATOR, OWNER), &secret);
}

on_both! {
    async fn people_begin_with_a_link_and_go_on_until_the_money_came(db: TestDatabase) {
        let t = TestApp::start_with(db, &format!("{DEV}{STAFF_TOTP}")).await;
        t.account(ACCOUNT).await;
        // Each database serves one of the two whole ways.
        let size = match t.database().engine() {
            Engine::Sqlite => PHONE,
            Engine::Postgres => DESK,
        };
        let running = start(t.app.clone(), Roles { api: true, pages: true, mail: false, work: true }).await.unwrap();
        let site = Pages { t, running };
        whole_way(&site, size).await;
        site.close().await;
    }
}
