//! Two businesses with all that a dashboard shows, people of every role in the first, and their browsers.

use tillbell::domain::merchant::Mode;
use tillbell::domain::payment::{Payment, Status};
use tillbell::domain::time::Span;
use tillbell::domain::user::MemberRole;
use tillbell::ops::people::users::{Place, add_user};

use super::visitor::{Pages, Seen, Visitor};
use crate::harness::app::{ACCOUNT, LATER, Merchant, TestApp};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;
use crate::people::PASSWORD;
use crate::wallet_pages::site::DEV;

pub const OWNER: &str = "halima@kudu.example";
pub const RIVAL: &str = "rose@adire.example";

/// The e-mail address of somebody of the first business.
pub fn of_role(role: MemberRole) -> String {
    if role == MemberRole::Owner { OWNER.to_owned() } else { format!("{}@kudu.example", role.as_str()) }
}

pub struct Shops {
    pub pages: Pages,
    pub shop: Merchant,
    pub other: Merchant,
}

impl Shops {
    pub async fn new(db: TestDatabase) -> Shops {
        Shops::with(db, "").await
    }

    /// With settings of the test's own.
    pub async fn with(db: TestDatabase, settings: &str) -> Shops {
        let t = TestApp::start_with(db, &format!("{DEV}{settings}")).await;
        t.account(ACCOUNT).await;
        t.account_for("0123454428", None, Mode::Test).await;
        let (shop, other) = (t.merchant("kudu.example").await, t.merchant("adire.example").await);
        for role in MemberRole::ALL {
            let place = Place::Member(shop.id, role);
            add_user(&t.app, "ada", &of_role(role), place, Some(PASSWORD)).await.unwrap().unwrap();
        }
        let place = Place::Member(other.id, MemberRole::Owner);
        add_user(&t.app, "ada", RIVAL, place, Some(PASSWORD)).await.unwrap().unwrap();
        Shops { pages: Pages::start(t).await, shop, other }
    }

    pub fn t(&self) -> &TestApp {
        &self.pages.t
    }

    pub async fn signed_in(&self, email: &str) -> Visitor {
        let mut visitor = self.pages.visitor();
        visitor.sign_in(email, PASSWORD).await;
        visitor
    }

    pub async fn owner(&self) -> Visitor {
        self.signed_in(OWNER).await
    }

    /// A payment for which the money came at once.
    pub async fn paid(&self, shop: &Merchant, naira: i64, payer: &str) -> Payment {
        let payment = self.t().create(shop, naira, payer).await;
        self.t().advance(LATER);
        let at = self.t().app.now() - Span::seconds(20);
        self.t().ingest(&Alert::credit(ACCOUNT, naira, payer, at).text()).await;
        let payment = self.t().payment(&payment).await;
        assert_eq!(payment.status, Status::Approved);
        payment
    }

    pub async fn close(self) {
        self.pages.close().await;
    }
}

/// What a page says that was done or refused.
pub fn told(page: &Seen) -> String {
    page.text_of("main [role=status], main [role=alert]")
}

/// How many rows the list of a page has.
pub fn rows(page: &Seen) -> usize {
    page.html().select(&scraper::Selector::parse("table[role=table] tbody tr").unwrap()).count()
}

/// How many lines a file has that came in pieces, their lengths aside.
pub fn csv_lines(file: &Seen) -> usize {
    assert_eq!(file.header("transfer-encoding"), Some("chunked"), "it is written while it is read");
    let is_length = |line: &str| line.bytes().all(|byte| byte.is_ascii_hexdigit());
    file.body.lines().filter(|line| !is_length(line)).count()
}
