//! `/dashboard/till`: the screen on the shop's counter. A sale is asked for here; it turns green when its money is in, and
//! says whose word that is.
//!
//! The page is whole without scripts. `assets/till.js` asks for its living part (`part=live`) whenever something happened,
//! and rings for what that names: payments that are approved and not reversed.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use super::export::csv;
use super::form::{Acted, Forms, Refusal, sent};
use super::frame::frame;
use super::till_live::Live;
use crate::domain::merchant::Mode;
use crate::domain::money::Money;
use crate::domain::time::Timestamp;
use crate::domain::user::MemberRight;
use crate::http::pages::ask::Ask;
use crate::http::pages::assets::{TILL_SCRIPT, TILL_STYLE};
use crate::http::pages::export::is_csv;
use crate::http::pages::field::{Form, Kind};
use crate::http::pages::flash::Flash;
use crate::http::pages::here::Here;
use crate::http::pages::layout::{Frame, link};
use crate::http::pages::parts::{Link, Naira};
use crate::http::pages::plain::unknown;
use crate::http::pages::text::{Text, sentence};
use crate::http::paths::{DASHBOARD, DASHBOARD_TILL, DASHBOARD_TILL_EVENTS};
use crate::ops::OpError;
use crate::ops::csv::CsvSource;
use crate::ops::payments::by_hand::{ByHandRefused, is_own_id, new_transaction_id};
use crate::ops::till::{AskedAtTill, TillSale, ask_at_till, view_till};

const FORM: &str = "till-new";
/// The id that the sale gets, so that a form that is sent twice counts once.
const OWN_ID: &str = "own_id";

#[derive(Template)]
#[template(path = "dashboard/till.html")]
struct TillPage {
    frame: Frame,
    business: Text,
    home: String,
    is_test: bool,
    other_mode: String,
    others: Vec<Link>,
    /// Addresses that the script asks, and under which name it keeps what it knows.
    events: String,
    state: String,
    place: String,
    again: String,
    style: String,
    script: String,
    form: Form,
    live: Live,
}

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let Some(here) = &ask.here else { return Ok(unknown(ask)) };
    if is_csv(ask) {
        let day = Timestamp::begin_of_lagos_day(ask.app().now().lagos_day());
        let file = csv(ask, here, "till", MemberRight::UseTill, CsvSource::Till(here.id(), here.mode, day));
        return Ok(file.unwrap_or_else(|_| unknown(ask)));
    }
    let refusal = match sent(ask, act(ask, here)).await? {
        Ok(refusal) => refusal,
        Err(response) => return Ok(response),
    };
    let view = view_till(ask.app(), (here.id(), here.mode), ask.cursor()).await?;
    let live = Live::of(ask, here, &view);
    if ask.query("part").as_deref() == Some("live") {
        return Ok(ask.html(StatusCode::OK, &live));
    }
    Ok(show(ask, here, live, refusal.as_ref()))
}

async fn act(ask: &Ask, here: &Here) -> Result<Acted, OpError> {
    let refused = |field, why: String| Ok(Err(Refusal::new(FORM, field, sentence(&why))));
    let Some(session) = &ask.session else { return Ok(Ok(unknown(ask))) };
    let Ok(amount) = Money::typed(ask.field("amount")) else {
        return refused("amount", "write an amount in naira, such as 5200 or 5200.50".to_owned());
    };
    let own = Some(ask.field(OWN_ID)).filter(|id| is_own_id(id));
    let wanted = TillSale {
        business_id: here.id(),
        mode: here.mode,
        user_id: session.user_id,
        amount,
        payer_name: ask.field("payer_name"),
        transaction_id: own.unwrap_or_default(),
    };
    let asked = |id: &str, told: String| {
        Ok(Ok(ask.see(&here.link(DASHBOARD_TILL, &[("sale", id)]), Some(Flash::done(told)))))
    };
    let why = match ask_at_till(ask.app(), ask.operator(), &wanted).await? {
        Ok(AskedAtTill::New(payment)) => {
            let told = format!("{} is asked for from {}.", Naira(payment.amount).text(), payment.payer_name);
            return asked(&payment.transaction_id, told);
        }
        Ok(AskedAtTill::Before(payment)) => {
            return asked(&payment.transaction_id, "This sale was asked for already.".to_owned());
        }
        Err(why) => why,
    };
    let field = match why {
        ByHandRefused::Amount(_) | ByHandRefused::TooLarge(_) | ByHandRefused::NoAccount => "amount",
        ByHandRefused::PayerName => "payer_name",
        ByHandRefused::Taken => {
            let why = "this form was sent before, for another sale. Send it again to ask for this one";
            return refused("amount", why.to_owned());
        }
        _ => "",
    };
    refused(field, why.to_string())
}

fn show(ask: &Ask, here: &Here, live: Live, refusal: Option<&Refusal>) -> Response {
    let forms = Forms::new(ask, here, DASHBOARD_TILL, refusal);
    let form = forms
        .form(FORM, "Ask for the money")
        // Another one after a refusal: the old one may be another sale's.
        .hidden(OWN_ID, new_transaction_id(ask.app()))
        .field(forms.field(FORM, "amount", "Amount", Kind::Amount).focused())
        .field(
            forms.field(FORM, "payer_name", "Customer's name", Kind::Text).hint("As on their bank account."),
        );
    let others = here.others.iter().filter(|one| one.may(MemberRight::UseTill));
    let to_other =
        |id: i64, name: &str| Link::new(link(DASHBOARD_TILL, &[("business", &id.to_string())]), name);
    let other_mode = if here.is_test() { Mode::Live } else { Mode::Test };
    let home = if here.may(MemberRight::ReadPayments) { DASHBOARD } else { DASHBOARD_TILL };
    let (sale, cursor) = (ask.query("sale").unwrap_or_default(), ask.query("cursor").unwrap_or_default());
    let looks = [("sale", sale.as_str()), ("cursor", cursor.as_str())];
    let page = TillPage {
        frame: forms.told(frame(ask, here, "Till", DASHBOARD_TILL)),
        business: (&here.at.business).into(),
        home: here.link(home, &[]),
        is_test: here.is_test(),
        other_mode: here.link_in(other_mode, DASHBOARD_TILL, &[]),
        others: others.map(|one| to_other(one.business_id, &one.business)).collect(),
        events: here.link(DASHBOARD_TILL_EVENTS, &[]),
        state: here.link(DASHBOARD_TILL, &[looks.as_slice(), &[("part", "live")]].concat()),
        place: format!("{}.{}", here.id(), here.mode.as_str()),
        again: here.link(DASHBOARD_TILL, &looks),
        style: TILL_STYLE.address(),
        script: TILL_SCRIPT.address(),
        form,
        live,
    };
    ask.html(forms.status(), &page)
}
