//! A browser's history holds no form: reload, back, forward and a page that is loaded anew never ask whether to
//! send one again, and never send a PIN a second time.

use tillbell::domain::message::MessageKind;
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;
use tillbell::ops::merchants::businesses::{BusinessChange, set_business};
use tillbell::ops::wallet_payments::start::StartedPayment;
use tillbell::ops::wallets::desk::{Act, act};
use tillbell::outbound::message::SendOutcome;

use super::site::Site;
use crate::harness::browser::Browser;
use crate::harness::databases::TestDatabase;
use crate::harness::logs::Logs;
use crate::wallet::world::{PHONE, PIN, WRONG, fund};

/// The heading of a page on which the PIN is entered.
const OPEN: &str = "Confirm your payment";

struct Customer {
    site: Site,
    browser: Browser,
    logs: Logs,
}

impl Customer {
    async fn start(db: TestDatabase) -> Customer {
        let logs = Logs::keep();
        Customer { site: Site::start(db).await, browser: Browser::start(), logs }
    }

    fn open(&self, link: &str) {
        self.browser.open(&format!("{}/pay/{link}", self.site.running.url()));
    }

    fn press(&self, field: &str) {
        self.browser.click(&format!("form:has(input[name={field}]) button"));
    }

    fn pay(&self, pin: &str) {
        self.browser.fill("#pin", pin);
        self.press("pin");
    }

    fn set_pin(&self, code: Option<&str>, pin: &str) {
        if let Some(code) = code {
            self.browser.fill("#code", code);
        }
        self.browser.fill("#new_pin", pin);
        self.browser.fill("#new_pin_again", pin);
        self.press("new_pin");
    }

    /// Forms that the service was sent.
    fn forms(&self) -> usize {
        self.logs.text().matches("method=POST").count()
    }

    /// The page says `said`, and goes on to say so whatever the buttons of the browser do. The page before it said
    /// `before`. Ends on this page.
    #[track_caller]
    fn stays(&self, said: &str, before: &str) {
        let browser = &self.browser;
        browser.shows(said);
        let sent = self.forms();
        browser.reload();
        browser.shows(said);
        // As after a phone has killed the tab: the page is asked for again by where it was in the history.
        browser.open("data:text/html,<p>elsewhere");
        browser.back();
        browser.shows(said);
        browser.back();
        browser.shows(before);
        browser.forward();
        browser.shows(said);
        browser.reload();
        browser.shows(said);
        assert_eq!(self.forms(), sent, "a form was sent again");
    }

    /// What stood in the way is gone: the page asks for the PIN, and nothing was paid.
    async fn asks_again(&self, started: &StartedPayment) {
        let (browser, sent) = (&self.browser, self.forms());
        let not_paid = async || assert_eq!(self.site.w.payment(started).await.status, Status::Pending);
        browser.reload();
        browser.shows("Your wallet PIN");
        not_paid().await;
        browser.back();
        browser.shows("Your wallet PIN");
        browser.forward();
        browser.shows("Your wallet PIN");
        not_paid().await;
        assert_eq!(self.forms(), sent, "a form was sent again");
    }

    async fn close(self) {
        drop(self.browser);
        self.site.close().await;
    }
}

on_both! {
    async fn no_money_leaves_by_a_reload(db: TestDatabase) {
        let c = Customer::start(db).await;
        let (_, first) = c.site.w.ready(8_000, 5_000).await;
        let (second, link) = c.site.begin(4_000, "k-2").await;
        c.open(&link);
        c.browser.shows(OPEN);
        c.site.pay(&first, PIN).await.is(200, "Your payment is complete.");
        c.pay(PIN);
        c.stays("You need NGN 1,000.00 more.", "Your balance is too low");
        fund(&c.site.w.t.app, 5_000).await;
        c.asks_again(&second).await;
        // Two minutes later it is a page as any other.
        c.site.w.t.advance(Span::minutes(3));
        c.asks_again(&second).await;
        assert!(!c.browser.text().contains("balance"), "{}", c.browser.text());
        c.pay(PIN);
        c.browser.shows("Your payment is complete.");
        c.browser.back();
        c.browser.shows("Your payment is complete.");
        assert_eq!(c.site.w.payment(&second).await.status, Status::Approved);
        c.close().await;
    }

    async fn a_hold_that_ends_pays_nothing_by_itself(db: TestDatabase) {
        let c = Customer::start(db).await;
        let (started, link) = c.site.w.ready(20_000, 5_000).await;
        let app = c.site.w.t.app.clone();
        c.open(&link);
        c.browser.shows(OPEN);
        act(&app, "ada", PHONE, Act::Suspend, "asked for").await.unwrap().unwrap();
        c.pay(PIN);
        c.stays("Your wallet is on hold", "Your wallet is on hold");
        act(&app, "ada", PHONE, Act::Resume, "all is well").await.unwrap().unwrap();
        c.asks_again(&started).await;
        let switch = async |on| {
            let change = BusinessChange { wallet_enabled: Some(on), ..BusinessChange::default() };
            set_business(&app, "test", c.site.w.shop.id, &change).await.unwrap().unwrap();
            app.directory.forget();
        };
        switch(false).await;
        c.pay(PIN);
        c.stays("You cannot pay this shop right now", "You cannot pay this shop right now");
        switch(true).await;
        c.asks_again(&started).await;
        c.close().await;
    }

    async fn wrong_pins_are_sent_once(db: TestDatabase) {
        let c = Customer::start(db).await;
        let (started, link) = c.site.w.ready(20_000, 5_000).await;
        c.open(&link);
        c.browser.shows(OPEN);
        c.pay(WRONG);
        c.stays("Wrong PIN. You have 4 tries left.", OPEN);
        for left in ["3 tries", "2 tries", "1 try"] {
            c.pay(WRONG);
            c.browser.shows(&format!("You have {left} left"));
        }
        c.stays("You have 1 try left", "You have 1 try left");
        c.pay(WRONG);
        c.stays("Payment stopped", "Payment stopped");
        assert_eq!(c.site.w.payment(&started).await.status, Status::Rejected);
        let (_, late) = c.site.begin(700, "k-2").await;
        c.open(&late);
        c.browser.shows(OPEN);
        c.site.w.t.advance(Span::minutes(31));
        c.pay(PIN);
        c.stays("This link has expired", "This link has expired");
        c.close().await;
    }

    async fn codes_and_new_pins_are_sent_once(db: TestDatabase) {
        let c = Customer::start(db).await;
        c.site.w.funded(20_000).await;
        let (_, link) = c.site.begin(5_000, "k-1").await;
        c.open(&link);
        c.site.w.post.answer(SendOutcome::Refused { why: "no such number".into() });
        c.press("send_code");
        c.stays("We could not send your code.", "Create your wallet PIN");
        c.press("send_code");
        c.stays("Wait a minute, then ask again.", "Create your wallet PIN");
        c.site.w.t.advance(Span::minutes(1));
        c.press("send_code");
        c.stays("We sent a code to", "Create your wallet PIN");
        let (code, sent) = (c.site.code(), c.site.w.post.count(MessageKind::Code));
        let other = if code == "123123" { "321321" } else { "123123" };
        c.set_pin(Some(other), PIN);
        c.stays("Wrong code. You have 4 tries left.", "Enter the code from your message");
        c.set_pin(Some(&code), "1111");
        c.stays("That PIN is too easy to guess: it repeats one digit.", "Wrong code. You have 4 tries left.");
        assert_eq!(c.browser.value("#code"), code, "the code is kept");
        c.press("send_code");
        c.stays("No code yet?", "That PIN is too easy to guess");
        c.set_pin(Some(&code), PIN);
        // Where another code was refused, none is asked for any more.
        c.stays("Your PIN is set. You have not paid yet.", "Your PIN is already set. Enter it to pay.");
        assert_eq!(c.site.w.post.count(MessageKind::Code), sent);
        assert_eq!(c.site.w.wallet().await.pin_version, 1);
        // From a wrong PIN to a new one, and back.
        c.pay(WRONG);
        c.browser.shows("Wrong PIN. You have 4 tries left.");
        c.browser.click(".forgot summary");
        c.press("reset");
        c.stays("We sent a code to", "Wrong PIN. You have 4 tries left.");
        c.close().await;
    }
}
