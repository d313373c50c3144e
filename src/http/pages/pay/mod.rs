//! `/pay/{token}`: the page behind the link of a wallet payment, where the customer confirms with a PIN.
//!
//! GET and HEAD look and change nothing, because messengers fetch links by themselves; the address may say
//! which part of the payment is looked at. POST does one act and is answered with 303 to a look at the link,
//! whatever it came to, so that neither a reload nor the back button sends a form again; `outcome` is what such
//! an address tells. Only what is refused before any act is answered at once. Sending a form again all the same
//! shows what became of the first: it counts nothing and never pays twice. Order of checks: the caller's
//! address, the body, the link, who sent the form, the form, the link's own limit. A link that was never made
//! and one that is long over take the same way to the same page.

mod after_form;
mod answer;
mod astray;
mod codes;
pub(super) mod figures;
mod form;
mod look;
mod outcome;
mod page;
mod told;
mod words;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use http::header::LOCATION;
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::body::{FormProblem, read};
use super::origin::{Sender, sender};
use crate::domain::intent::FormKey;
use crate::domain::time::{Span, Timestamp};
use crate::http::Http;
use crate::http::paths::PAY;
use crate::http::request::context::RequestLabels;
use crate::http::response::error::ApiError;
use crate::http::server::caller::{address, over_limit};
use crate::log_limit::warn_of;
use crate::ops::OpError;
use crate::ops::StoreError;
use crate::ops::wallet_payments::confirm::{Confirmed, confirm};
use crate::ops::wallet_payments::page::{Cancelled, LinkView, cancel, view_link};
use crate::ops::wallet_payments::pin_reset::{CodeSent, PinSet, send_code, set_pin, typed_code};
use crate::vault::link::nonce;
use answer::{PageState, respond};
use figures::whole_seconds;
use form::{Act, Form};
use look::Look;
use outcome::{FormOutcome, Typed};
use told::Told;
use words::PageContext;

pub async fn handle(State(http): State<Arc<Http>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let shown = answer(&http, &parts, body).await;
    let query = shown.leads_to.clone();
    let mut response = respond(&http, shown);
    if response.status() == StatusCode::SEE_OTHER
        && let Ok(link) = HeaderValue::from_str(&format!("{}{query}", own_place(&parts)))
    {
        response.headers_mut().insert(LOCATION, link);
    }
    // The template: the path holds the token.
    response.extensions_mut().insert(RequestLabels { route: PAY, business_id: None });
    response
}

async fn answer(http: &Http, parts: &Parts, body: Body) -> PageState {
    if let Some(seconds) = over_limit(http, http.limits.spend_page(address(http, parts)).await) {
        return astray::crowded(seconds, parts.method == Method::POST);
    }
    // As some messengers and fingers write a link; forms are not sent there.
    if before_slash(parts).is_some() && parts.method != Method::POST {
        return astray::see(&parts.uri.query().map(|query| format!("?{query}")).unwrap_or_default());
    }
    let token = token_of(parts);
    let form_token = http.app.vault.form_token(token, &nonce(http.app.random.as_ref()));
    let link = Link { http, token, form_token };
    if parts.method != Method::POST {
        return link.look(parts.uri.query()).await;
    }
    // Read first, so that the client sees the answer.
    let body = read(body, form::FORM_MAX).await;
    link.take(parts, body).await
}

fn token_of(parts: &Parts) -> &str {
    parts.uri.path().strip_prefix("/pay/").unwrap_or_default()
}

/// What stands before one slash behind it.
fn before_slash(parts: &Parts) -> Option<&str> {
    token_of(parts).strip_suffix('/').filter(|token| !token.is_empty() && !token.ends_with('/'))
}

/// The link, as its page names it. Relative: only a proxy in front knows what path the customer sees before it.
fn own_place(parts: &Parts) -> String {
    before_slash(parts).map_or_else(|| token_of(parts).to_owned(), |token| format!("../{token}"))
}

/// Logs the error; returns the seconds after which to come again, if it passes by itself.
fn trouble(http: &Http, error: OpError) -> Option<i64> {
    if let OpError::Store(error @ StoreError::Unavailable(_)) = &error {
        warn_of!(http.app, error, "a page could not be shown");
    }
    // Any other error is logged there, as for the API.
    ApiError::from(error).retry_after().map(i64::from)
}

/// Why a form is refused.
enum NotOurs {
    Sender,
    Form(FormProblem),
}

/// The answer to a form.
enum Next {
    /// A redirect to a look.
    See(Look),
    Tell(FormOutcome),
}

struct Link<'a> {
    http: &'a Http,
    token: &'a str,
    /// What our page puts into its forms; no two pages have the same.
    form_token: Zeroizing<String>,
}

impl Link<'_> {
    async fn look(&self, query: Option<&str>) -> PageState {
        let sealed = look::told(query);
        let outcome = sealed.and_then(|sealed| FormOutcome::open(&self.http.app, self.token, &sealed));
        match view_link(&self.http.app, self.token).await {
            Ok(view) => match outcome {
                Some(outcome) => self.tell(outcome, view),
                None => self.look_at(view, Look::of(query)),
            },
            Err(error) => astray::trouble(trouble(self.http, error), outcome.is_some()),
        }
    }

    /// A form.
    async fn take(&self, parts: &Parts, body: Result<Zeroizing<Vec<u8>>, FormProblem>) -> PageState {
        let view = view_link(&self.http.app, self.token).await;
        if matches!(view, Ok(LinkView::NotFound)) {
            return astray::not_found();
        }
        let form = match self.admit(parts, body) {
            Ok(form) => form,
            Err(NotOurs::Sender) => return astray::foreign(),
            Err(NotOurs::Form(problem)) => return astray::unusable(problem),
        };
        let next = match view {
            Ok(_) => self.limited(form).await,
            Err(error) => Err(error),
        };
        let next = next
            .unwrap_or_else(|error| Next::Tell(FormOutcome::Unfinished { after: trouble(self.http, error) }));
        match next {
            Next::See(look) => astray::see(look.query()),
            Next::Tell(outcome) => {
                let sealed = outcome.seal(&self.http.app, self.token);
                astray::see(&sealed.map(|sealed| look::telling(&sealed)).unwrap_or_default())
            }
        }
    }

    async fn limited(&self, form: Form) -> Result<Next, OpError> {
        let hash: [u8; 32] = Sha256::digest(self.token.as_bytes()).into();
        match over_limit(self.http, self.http.limits.spend_link(hash).await) {
            Some(seconds) => {
                let until = self.http.app.now() + Span::seconds(seconds);
                Ok(Next::Tell(FormOutcome::Throttled { until: until.0 }))
            }
            None => self.act(form).await,
        }
    }

    fn show(&self, view: LinkView, told: Told, status: StatusCode) -> PageState {
        words::link(view, told, status, self.context())
    }

    fn context(&self) -> PageContext<'_> {
        PageContext { form_token: &self.form_token, contact: &self.http.brand.contact }
    }

    /// A look at that part of the link.
    fn look_at(&self, view: LinkView, look: Look) -> PageState {
        match (view, look) {
            (LinkView::Open(open), Look::Cancel) => words::ask_cancel(&open, self.context()),
            (view, Look::Code) => {
                let told = codes::sent(&view);
                self.show(view, told, StatusCode::OK)
            }
            (view, _) => self.show(view, Told::default(), StatusCode::OK),
        }
    }

    /// The link as it is now, with what a form came to on top. A payment that was made is all that is told of it.
    fn tell(&self, outcome: FormOutcome, view: LinkView) -> PageState {
        if matches!(view, LinkView::Paid(_) | LinkView::NotFound) {
            return self.show(view, Told::default(), StatusCode::OK);
        }
        let now = self.http.app.now();
        if let FormOutcome::Throttled { until } = outcome
            && now < Timestamp(until)
        {
            return astray::tapped(whole_seconds(Timestamp(until), now));
        }
        let answer = after_form::answer(outcome, &view, self.context().contact);
        PageState { retry_after: answer.retry_after, ..self.show(view, answer.told, answer.status) }
    }

    /// The form, if our own page sent it.
    fn admit(&self, parts: &Parts, body: Result<Zeroizing<Vec<u8>>, FormProblem>) -> Result<Form, NotOurs> {
        let sender = sender(parts, &self.http.app.public_url());
        if sender == Sender::Elsewhere {
            return Err(NotOurs::Sender);
        }
        let form = body.and_then(|body| form::parse(&parts.headers, &body)).map_err(NotOurs::Form)?;
        let is_right = |given: &Zeroizing<String>| self.http.app.vault.is_form_token(self.token, given);
        match form.token.as_ref().map(is_right) {
            Some(true) => Ok(form),
            None if sender == Sender::OurPage => Ok(form),
            _ => Err(NotOurs::Sender),
        }
    }

    async fn act(&self, form: Form) -> Result<Next, OpError> {
        let app = &self.http.app;
        // Two taps on a slow line are the same form with the same typed into it.
        let key = |typed: &str| form.token.as_ref().map(|given| app.vault.form_key(given, typed));
        Ok(match form.act {
            Act::SendCode | Act::Reset => self.send_code(key("")).await?,
            Act::SetPin { code, new_pin, new_pin_again } => {
                let set = set_pin(app, self.token, &code, &new_pin, &new_pin_again, key(&code)).await?;
                came_of_set(set, &code)
            }
            Act::Pay { pin } => came_of_confirm(confirm(app, self.token, &pin, key(&pin)).await?),
            // Nothing is done yet: one wrong tap must not end a payment. Our pages ask by a look.
            Act::AskCancel => match view_link(app, self.token).await? {
                LinkView::Open(_) => Next::See(Look::Cancel),
                view => over(&view),
            },
            Act::Cancel => match cancel(app, self.token).await? {
                Cancelled::Done(_) => Next::See(Look::Payment),
                Cancelled::Over(view) => over(&view),
            },
        })
    }

    async fn send_code(&self, form: Option<FormKey>) -> Result<Next, OpError> {
        Ok(match send_code(&self.http.app, self.token, form).await? {
            CodeSent::Sent { .. } => Next::See(Look::Code),
            CodeSent::Again { .. } => {
                let view = view_link(&self.http.app, self.token).await?;
                match view.codes().is_some_and(|codes| codes.open.is_some()) {
                    true => Next::See(Look::Code),
                    false => Next::Tell(FormOutcome::AskedBefore),
                }
            }
            CodeSent::TooSoon { again_at } | CodeSent::TooMany { again_at } => {
                Next::Tell(FormOutcome::NoCodeNow { again_at: again_at.0 })
            }
            CodeSent::NotSent(why) => {
                tracing::warn!(%why, "a code could not be sent");
                Next::Tell(FormOutcome::CodeNotSent)
            }
            CodeSent::Late(why) => {
                tracing::warn!(%why, "a code could not be sent yet");
                Next::Tell(FormOutcome::CodeDelayed)
            }
            CodeSent::NotOpen(view) => over(&view),
            CodeSent::Suspended => Next::Tell(FormOutcome::Refused),
        })
    }
}

/// The act came too late: the page tells what happened before. Of two quick taps on "Pay" this answers the
/// second.
fn over(view: &LinkView) -> Next {
    match view {
        LinkView::Paid(_) => Next::See(Look::Payment),
        _ => Next::Tell(FormOutcome::TooLate),
    }
}

/// `code` is what was typed: where only the PIN was wrong, it need not be typed again.
fn came_of_set(set: PinSet, code: &str) -> Next {
    let typed = || Typed(typed_code(code));
    Next::Tell(match set {
        PinSet::Done => FormOutcome::PinSaved,
        PinSet::NotOpen(view) => return over(&view),
        PinSet::Suspended => FormOutcome::Refused,
        PinSet::Busy => FormOutcome::BusySetting { typed: typed() },
        PinSet::AlreadySet => FormOutcome::PinIsSet,
        PinSet::NoCode => FormOutcome::NoCode,
        PinSet::WrongCode { tries_left } => FormOutcome::WrongCode { tries_left },
        PinSet::NotACode => FormOutcome::NotACode,
        PinSet::NotTheSame => FormOutcome::NotTheSame { typed: typed() },
        PinSet::BadPin(problem) => FormOutcome::BadPin { why: problem.to_string(), typed: typed() },
    })
}

fn came_of_confirm(confirmed: Confirmed) -> Next {
    Next::Tell(match confirmed {
        Confirmed::Paid(_) | Confirmed::AlreadyPaid(_) => return Next::See(Look::Payment),
        Confirmed::NotOpen(view) => return over(&view),
        Confirmed::WrongPin { tries_left } => FormOutcome::WrongPin { tries_left },
        Confirmed::Failed(_) => FormOutcome::Failed,
        Confirmed::NotAPin(problem) => FormOutcome::NotAPin { why: problem.to_string() },
        Confirmed::Locked { .. } | Confirmed::Suspended | Confirmed::ShopStopped => FormOutcome::Refused,
        Confirmed::NoPin => FormOutcome::NoPin,
        Confirmed::BalanceTooLow(_) => FormOutcome::TooLow,
        Confirmed::OverDailyLimit(over) => FormOutcome::OverLimit { over: over.0 },
        Confirmed::PinChanged => FormOutcome::PinChanged,
        Confirmed::Busy => FormOutcome::BusyPaying,
    })
}
