//! The wallet's routes: one file each, and what they have in common.
//!
//! POST only, under a prefix that the operator chooses, counted against two limits (60 and 30 a minute). Live keys
//! need a business with the feature, else they get a 403 before their body is judged; test keys work at once, with
//! the test numbers of their business alone (decisions/0089).

pub mod ensure;
pub mod lookup;
pub mod message;
pub mod pay;
mod replay;
pub mod topup;

use axum::extract::Request;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;

use super::once::{self, Begun};
use super::{Admitted, Answer, Received, admit_to};
use crate::app::App;
use crate::directory::Caller;
use crate::domain::impostor::{Impostor, OwnHost};
use crate::domain::merchant::Mode;
use crate::domain::money::Money;
use crate::domain::phone::Phone;
use crate::domain::wallet::Wallet;
use crate::http::Http;
use crate::http::describe::fields::Field;
use crate::http::describe::operation::Body;
use crate::http::request::body::Fields;
use crate::http::request::validate::{Checker, check_text, read_string};
use crate::http::response::code::{Code, FieldCode};
use crate::http::response::error::ApiError;
use crate::http::server::rate_limits::Group;
use crate::ops::OpError;
use crate::ops::messages::quota::OverQuota;
use crate::ops::messages::quota::QuotaScope;
use crate::ops::wallets::held::standing;
use crate::wire::JsonMoney;

/// Characters of a phone number with the spaces and punctuation that people write.
const PHONE_MAX: usize = 40;
/// Characters of a payer's name (contract/limits.md#x6).
const PAYER_NAME_MAX: usize = 120;
const TEST_NUMBER: &str = "must be a real number: this is a test number, which only test keys use";
const OFF: &str = "Wallets are not enabled for this business; ask the operator";

/// An admitted request.
struct Entered {
    received: Received,
    admitted: Admitted,
}

/// Admits a request to a wallet route and answers with the result of `work` on its fields, or why not.
async fn answer<W>(http: &Http, request: Request, route: &'static str, work: W) -> Response
where
    W: AsyncFnOnce(&Entered, &Fields<'_>) -> Result<Answer, ApiError>,
{
    let entered = match enter(http, request, route).await {
        Ok(entered) => entered,
        Err(response) => return response,
    };
    let result = match entered.received.fields() {
        Ok(fields) => work(&entered, &fields).await,
        Err(problem) => Err(problem.into()),
    };
    entered.admitted.respond(http, result)
}

/// The same for routes whose one field is the phone; their answer is remembered without it.
async fn answer_about<W>(http: &Http, request: Request, route: &'static str, work: W) -> Response
where
    W: AsyncFnOnce(&Phone) -> Result<Answer, ApiError>,
{
    answer(http, request, route, async |entered, fields| {
        let mut check = Checker::new(fields);
        let Some(phone) = phone(&mut check, &entered.admitted.caller) else {
            return Err(once::invalid(&entered.received, check.problems));
        };
        let claim = match replay::begin(http, entered, fields, &phone).await? {
            Begun::Done(answer) => return Ok(answer),
            Begun::Work(claim) => claim,
        };
        let result = work(&phone).await;
        replay::end(http, claim, result, |answer| replay::without_phone(&answer.body, &phone)).await
    })
    .await
}

async fn enter(http: &Http, request: Request, route: &'static str) -> Result<Entered, Response> {
    let received = Received::whole(request).await;
    let admitted = {
        let fields = received.fields();
        admit_to(http, &received, &fields, route, Group::Wallet).await?
    };
    if admitted.caller.mode == Mode::Live && !admitted.caller.business.wallet_enabled {
        return Err(admitted.respond(http, Err(ApiError::new(Code::WalletNotEnabled, OFF))));
    }
    Ok(Entered { received, admitted })
}

/// The required field `phone`: a real number with a live key, one of the business's test numbers with a test key.
fn phone(check: &mut Checker<'_, '_>, caller: &Caller) -> Option<Phone> {
    let text = check.required_text("phone", PHONE_MAX)?;
    let test = Phone::parse_test(&text, caller.business.id);
    let read = match caller.mode {
        Mode::Live if test.is_ok() => Err(TEST_NUMBER.to_owned()),
        Mode::Live => Phone::parse(&text).map_err(|problem| problem.to_string()),
        Mode::Test => test.map_err(|problem| format!("{problem}, because this is a test key")),
    };
    read.map_err(|problem| check.problems.complain("phone", FieldCode::InvalidPhone, &problem)).ok()
}

/// The required payer's name: at least one letter.
fn payer_name(check: &mut Checker<'_, '_>) -> Option<String> {
    check.required_name("payer_name", PAYER_NAME_MAX)
}

/// Refuses a field that leads to the payment pages, or is not what it looks like.
fn honest(
    http: &Http,
    check: &mut Checker<'_, '_>,
    field: &'static str,
    text: Option<&str>,
    rule: impl Fn(&str) -> Result<(), Impostor>,
) {
    let Some(text) = text else { return };
    let own = OwnHost::of(&http.app.public_url());
    if let Err(why) = rule(text).and_then(|()| own.map_or(Ok(()), |own| own.check(text))) {
        check.problems.complain(field, impostor_code(why), &why.to_string());
    }
}

/// A text that may have line breaks and tabs; other control characters are refused.
fn multiline(
    check: &mut Checker<'_, '_>,
    fields: &Fields<'_>,
    field: &'static str,
    max: usize,
    is_required: bool,
) -> Option<String> {
    let problems = &mut check.problems;
    let Some(token) = fields.get(field) else {
        if is_required {
            problems.require(field);
        }
        return None;
    };
    let text = match read_string(token) {
        Ok(text) => text,
        Err((code, what)) => {
            problems.complain(field, code, &what);
            return None;
        }
    };
    let text = text.replace("\r\n", "\n");
    let text = text.trim();
    let is_break = |c: char| matches!(c, '\n' | '\r' | '\t');
    // The rules for one line hold for a text once its line breaks count as spaces.
    match check_text(text.replace(is_break, " "), max) {
        Ok(Some(_)) => Some(text.to_owned()),
        Ok(None) if is_required => {
            problems.require(field);
            None
        }
        Ok(None) => None,
        Err(wrong) => {
            for (code, what) in &wrong {
                problems.complain(field, *code, what);
            }
            None
        }
    }
}

fn impostor_code(why: Impostor) -> FieldCode {
    match why {
        Impostor::OwnHost | Impostor::OwnLink => FieldCode::PaymentPageLink,
        Impostor::EncodedHost | Impostor::Link => FieldCode::Link,
        Impostor::Invisible | Impostor::Turned => FieldCode::InvisibleCharacters,
        Impostor::Code | Impostor::SecretWord | Impostor::Phone | Impostor::Lure => FieldCode::WalletCode,
    }
}

/// The number has no wallet.
fn no_wallet() -> ApiError {
    ApiError::new(Code::WalletNotFound, "This number has no wallet")
}

fn suspended() -> ApiError {
    ApiError::new(Code::WalletSuspended, "This wallet is suspended; the customer must contact the operator")
}

/// Too many messages, texts and links together.
fn over_quota(http: &Http, over: OverQuota) -> ApiError {
    let (code, message) = match over.scope {
        QuotaScope::RecipientMinute => {
            (Code::RecipientQuotaExceeded, "Too many messages to this number in one minute; try again later")
        }
        QuotaScope::RecipientDay => {
            (Code::RecipientQuotaExceeded, "Too many messages to this number in 24 hours; try again later")
        }
        QuotaScope::BusinessDay => {
            (Code::BusinessQuotaExceeded, "Your business sent too many messages in 24 hours; try again later")
        }
    };
    let now = http.app.now();
    let wait = over.until.since(now).0.div_euclid(1_000_000) + 1;
    let reset_at = now.0 / 1_000_000 + wait;
    ApiError::over_quota(code, message, u32::try_from(wait).unwrap_or(u32::MAX), reset_at)
}

/// The field `phone`, as callers are told of it.
fn phone_field() -> Field {
    let about = "A Nigerian mobile number in any common form: `08031234567`, `+234 803 123 4567`, `2348031234567`. \
                 With a test key, one of your test numbers: `+2340000000000` to `+2340000000099`.";
    Field::text("phone", PHONE_MAX, about).required()
}

/// The body of routes about a number.
fn about_phone() -> Body {
    Body::new("WalletNumber", r#"{ "phone": "+2340000000001" }"#).field(phone_field())
}

/// The field `payer_name`, as callers are told of it.
fn payer_name_field(about: &'static str) -> Field {
    Field::text("payer_name", PAYER_NAME_MAX, about).required()
}

/// For examples.
fn sample(created: Option<bool>) -> WalletBody {
    WalletBody {
        phone: "+2340000000001".to_owned(),
        wallet_id: Some(12),
        tier: Some(1),
        has_pin: true,
        balance: JsonMoney(Money(2_000_000)),
        status: Some("active"),
        created,
    }
}

/// What lookup and ensure tell of a wallet.
#[derive(Serialize, JsonSchema)]
#[schemars(
    rename = "Wallet",
    description = "A customer's wallet; all but `phone` empty where the number has none."
)]
struct WalletBody {
    phone: String,
    wallet_id: Option<i64>,
    /// 1 to 3: how much it may hold and pay.
    tier: Option<i64>,
    has_pin: bool,
    balance: JsonMoney,
    /// `active`, `locked` (too many wrong PINs, for up to 24 hours) or `suspended` (by the operator).
    status: Option<&'static str>,
    /// Whether `ensure` made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<bool>,
}

impl WalletBody {
    /// `None`: the number has no wallet.
    async fn of(app: &App, phone: &Phone, wallet: Option<&Wallet>) -> Result<WalletBody, OpError> {
        let status = match wallet {
            Some(wallet) => Some(standing(app, wallet, app.now()).await?.as_str()),
            None => None,
        };
        Ok(WalletBody {
            phone: phone.e164(),
            wallet_id: wallet.map(|wallet| wallet.id),
            tier: wallet.map(|wallet| wallet.tier.number()),
            has_pin: wallet.is_some_and(Wallet::has_pin),
            balance: JsonMoney(wallet.map_or(Money::ZERO, |wallet| wallet.balance)),
            status,
            created: None,
        })
    }
}
