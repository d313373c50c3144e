//! `/dashboard/payments/new`: asks for a payment by hand, as a program would.

use askama::Template;
use axum::response::Response;

use super::form::{Acted, Forms, Refusal, sent};
use super::frame::frame;
use super::payments::address;
use crate::domain::merchant::{Website, WebsiteStatus};
use crate::domain::money::Money;
use crate::domain::user::MemberRight;
use crate::http::pages::ask::Ask;
use crate::http::pages::field::{Choice, Form, Kind};
use crate::http::pages::flash::Flash;
use crate::http::pages::here::Here;
use crate::http::pages::layout::Frame;
use crate::http::pages::parts::{Empty, Link};
use crate::http::pages::plain::{not_allowed, unknown};
use crate::http::pages::text::sentence;
use crate::http::paths::{DASHBOARD_NEW_PAYMENT, DASHBOARD_PAYMENTS, DASHBOARD_WEBSITES};
use crate::ops::OpError;
use crate::ops::merchants::websites::list_websites;
use crate::ops::payments::by_hand::{
    AskedAt, ByHand, ByHandRefused, ask_for_payment, is_own_id, new_transaction_id,
};

const FORM: &str = "new-payment";
/// The id that the payment gets where no other one is written, so that a form that is sent twice counts once.
const OWN_ID: &str = "own_id";

#[derive(Template)]
#[template(path = "dashboard/new_payment.html")]
struct NewPayment {
    frame: Frame,
    back: String,
    is_test: bool,
    form: Option<Form>,
    /// Without an approved website.
    empty: Empty,
}

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let Some(here) = &ask.here else { return Ok(unknown(ask)) };
    if !here.may_write_payments() {
        return Ok(not_allowed(ask, &MemberRight::WritePayments.roles()));
    }
    let websites = list_websites(ask.app(), here.id()).await?.unwrap_or_default();
    let approved: Vec<Website> =
        websites.into_iter().filter(|website| website.status == WebsiteStatus::Approved).collect();
    let refusal = match sent(ask, act(ask, here, &approved)).await? {
        Ok(refusal) => refusal,
        Err(response) => return Ok(response),
    };
    Ok(show(ask, here, &approved, refusal.as_ref()))
}

async fn act(ask: &Ask, here: &Here, websites: &[Website]) -> Result<Acted, OpError> {
    let refused = |field, why: String| Ok(Err(Refusal::new(FORM, field, sentence(&why))));
    let amount = match Money::typed(ask.field("amount")) {
        Ok(amount) => amount,
        Err(_) => {
            return refused("amount", "write an amount in naira, such as 5200 or 5200.50".to_owned());
        }
    };
    let website = match (ask.field("website").trim(), websites) {
        // A business with one website need not name it.
        ("", [one]) => Some(one.id),
        (id, _) => id.parse().ok(),
    };
    let own = Some(ask.field(OWN_ID)).filter(|id| is_own_id(id));
    let (given, is_given) =
        (ask.field("transaction_id").trim(), !ask.field("transaction_id").trim().is_empty());
    let wanted = ByHand {
        business_id: here.id(),
        mode: here.mode,
        amount,
        payer_name: ask.field("payer_name"),
        service: ask.field("service"),
        transaction_id: if is_given { given } else { own.unwrap_or_default() },
        at: match websites {
            [] => AskedAt::NoWebsite,
            _ => AskedAt::Website(website.unwrap_or(0)),
        },
    };
    let why = match ask_for_payment(ask.app(), ask.operator(), &wanted).await? {
        Ok(view) => {
            let told = format!("Payment {} is asked for.", view.payment.transaction_id);
            return Ok(Ok(ask.see(&address(here, &view.payment.transaction_id), Some(Flash::done(told)))));
        }
        // The same form again.
        Err(ByHandRefused::Taken) if !is_given => {
            let told = "This payment was asked for already.";
            return Ok(Ok(ask.see(&address(here, wanted.transaction_id), Some(Flash::done(told)))));
        }
        Err(why) => why,
    };
    let field = match why {
        ByHandRefused::Amount(_) | ByHandRefused::TooLarge(_) | ByHandRefused::NoAccount => "amount",
        ByHandRefused::PayerName => "payer_name",
        ByHandRefused::Service => "service",
        ByHandRefused::TransactionId | ByHandRefused::Taken => "transaction_id",
        ByHandRefused::Website | ByHandRefused::NoWebhookAddress | ByHandRefused::WebhookAddress(_) => {
            "website"
        }
        ByHandRefused::UnknownBusiness | ByHandRefused::Waits => "",
    };
    refused(field, why.to_string())
}

fn show(ask: &Ask, here: &Here, websites: &[Website], refusal: Option<&Refusal>) -> Response {
    let forms = Forms::new(ask, here, DASHBOARD_NEW_PAYMENT, refusal);
    let sites = websites.iter().map(|website| Choice::new(website.id.to_string(), &website.host)).collect();
    let own = Some(ask.field(OWN_ID)).filter(|id| is_own_id(id)).map(str::to_owned);
    let form = forms
        .form(FORM, "Ask for the payment")
        .hidden(OWN_ID, own.unwrap_or_else(|| new_transaction_id(ask.app())))
        .field(
            forms
                .field(FORM, "amount", "Amount", Kind::Amount)
                .hint("What you sell it for. Charges that your customer pays are added to it.")
                .focused(),
        )
        .field(
            forms
                .field(FORM, "payer_name", "Payer's name", Kind::Text)
                .hint("As it stands on the bank account that the money comes from."),
        )
        .field(forms.field(FORM, "service", "What it is for", Kind::Text).optional())
        .field(
            forms
                .field(FORM, "transaction_id", "Transaction id", Kind::Text)
                .optional()
                .hint("Yours, such as an order number. Leave it empty and we make one."),
        );
    let website = || {
        forms
            .field(FORM, "website", "Website", Kind::Select(sites))
            .hint("Its webhook address is told when the money has come.")
    };
    let form = if websites.is_empty() { form } else { form.field(website()) };
    let form = form.cancel(here.link(DASHBOARD_PAYMENTS, &[]));
    let empty =
        Empty::new("No approved website yet", "Payments belong to a website of yours that was approved.");
    let empty = match here.may(MemberRight::Integrate) {
        true => empty.with_link(Link::new(here.link(DASHBOARD_WEBSITES, &[]), "Websites")),
        false => empty,
    };
    let page = NewPayment {
        frame: forms.told(frame(ask, here, "New payment", DASHBOARD_PAYMENTS)),
        back: here.link(DASHBOARD_PAYMENTS, &[]),
        is_test: here.is_test(),
        // A test payment needs nobody's approval.
        form: (here.is_test() || !websites.is_empty()).then_some(form),
        empty,
    };
    ask.html(forms.status(), &page)
}
