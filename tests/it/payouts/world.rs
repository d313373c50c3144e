//! A business with money and an account that it goes to.

use tillbell::app::App;
use tillbell::domain::money::Money;
use tillbell::domain::payout::PayoutAccount;
use tillbell::domain::time::Span;
use tillbell::domain::user::MemberRole;
use tillbell::ops::payouts::accounts::{GivenAccount, Owner, add_payout_account};
use tillbell::ops::payouts::request::{
    Actor, Balance, PayoutRefusal, PayoutRequest, PayoutRow, balance, request_payout,
};
use tillbell::ops::people::users::{Place, add_user};

use crate::harness::app::{ACCOUNT, LATER, Merchant, TestApp};
use crate::harness::mails::Alert;
use crate::people::PASSWORD;

pub const OWNER: &str = "halima@kudu.example";
pub const GIVEN: GivenAccount<'_> =
    GivenAccount { bank: "GTBank", number: "0040003311", name: "KUDU STORES" };

/// Somebody of a business; answers the user's id.
pub async fn member(t: &TestApp, shop: &Merchant, email: &str, role: MemberRole) -> i64 {
    let place = Place::Member(shop.id, role);
    add_user(&t.app, "ada", email, place, Some(PASSWORD)).await.unwrap().unwrap().user.id
}

/// The business is owed what is left of so many naira.
pub async fn funded(t: &TestApp, shop: &Merchant, naira: i64) -> Money {
    let payment = t.create(shop, naira, "Musa Danladi").await;
    t.advance(LATER);
    let at = t.app.now() - Span::seconds(20);
    t.ingest(&Alert::credit(ACCOUNT, naira, "Musa Danladi", at).text()).await;
    t.payment(&payment).await.business_receives
}

/// An account that can be used.
pub async fn ready_account(
    t: &TestApp,
    shop: &Merchant,
    owner: i64,
    given: &GivenAccount<'_>,
) -> PayoutAccount {
    let owner = Owner { business_id: shop.id, user_id: owner, email: OWNER };
    let account = add_payout_account(&t.app, &owner, given).await.unwrap().unwrap();
    t.advance(Span::hours(24));
    account
}

pub async fn ask_for(
    app: &App,
    business_id: i64,
    account: i64,
    kobo: i64,
) -> Result<PayoutRow, PayoutRefusal> {
    let request = PayoutRequest { business_id, amount: Money(kobo), account_id: account, reference: None };
    request_payout(app, Actor::Key, &request, None).await.unwrap()
}

/// Available and set aside, in kobo.
pub async fn standing(t: &TestApp, shop: &Merchant) -> (i64, i64) {
    let Balance { available, reserved } = balance(&t.app, shop.id).await.unwrap();
    (available.kobo(), reserved.kobo())
}
