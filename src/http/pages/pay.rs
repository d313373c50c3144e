//! `/pay/{token}`: the page behind the link of a wallet payment, where the customer confirms with a PIN.
//!
//! GET and HEAD look and change nothing, because messengers fetch links by themselves; the address may say which part
//! of the payment is looked at, and claims nothing. POST does one act. What a look can tell as well (paid, cancelled, a
//! PIN was set, a code was sent) is answered by leading back to the link, so that neither a reload nor the back button
//! sends a form again; the rest is answered with the page as it is then. Sending a
//! form again all the same shows what became of the first: it counts nothing and never pays twice. Order of checks:
//! the caller's address, the body, the link, who sent the form, the form, the link's own limit. A link that was never
//! made and one that is long over take the same way to the same page.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use http::header::LOCATION;
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::form::{Act, Form, FormProblem};
use super::look::Look;
use super::origin::{Sender, sender};
use super::page::{FormField, Note, Tone, tries, whole_seconds};
use super::told::{Then, Told};
use super::words::{self, Voice};
use super::{PageState, codes, form, respond};
use crate::domain::intent::FormKey;
use crate::http::Http;
use crate::http::paths::PAY;
use crate::http::request::auth::{client_address, counted_as};
use crate::http::request::context::{RemoteAddr, RequestLabels};
use crate::http::response::error::ApiError;
use crate::http::server::rate_limits::LimitVerdict;
use crate::log_limit::warn_of;
use crate::ops::OpError;
use crate::ops::StoreError;
use crate::ops::wallet_payments::confirm::{Confirmed, confirm};
use crate::ops::wallet_payments::page::{Cancelled, LinkView, cancel, view_link};
use crate::ops::wallet_payments::pin_reset::{CodeSent, PinSet, send_code, set_pin, typed_code};
use crate::vault::link::nonce;

/// Seconds after which another try is likely to find a free place.
const BUSY_SECONDS: i64 = 2;

pub async fn handle(State(http): State<Arc<Http>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let shown = answer(&http, &parts, body).await;
    let query = shown.leads_to.query();
    let mut response = respond(&http, shown);
    if response.status() == StatusCode::SEE_OTHER
        && let Ok(link) = HeaderValue::from_str(&format!("{}{query}", token_of(&parts)))
    {
        // Relative: only a proxy in front knows what path the customer sees before it.
        response.headers_mut().insert(LOCATION, link);
    }
    // The template: the path holds the token.
    response.extensions_mut().insert(RequestLabels { route: PAY, business_id: None });
    response
}

async fn answer(http: &Http, parts: &Parts, body: Body) -> PageState {
    if let Some(shown) = over_limit(http, http.limits.spend_page(address(http, parts)), words::CROWDED) {
        return shown;
    }
    let token = token_of(parts);
    // Read first, so that the client sees the answer.
    let body = if parts.method == Method::POST { Some(form::read(body).await) } else { None };
    let view = match view_link(&http.app, token).await {
        Ok(LinkView::NotFound) => return words::not_found(),
        Ok(view) => view,
        Err(error) => return trouble(http, error, body.is_some()),
    };
    let link =
        Link { http, token, form_token: http.app.vault.form_token(token, &nonce(http.app.random.as_ref())) };
    let Some(body) = body else { return link.look_at(view, Look::of(parts.uri.query())) };
    let form = match link.admit(parts, body) {
        Ok(form) => form,
        Err(NotOurs::Sender) => return words::foreign(),
        Err(NotOurs::Form(problem)) => return words::unusable(problem),
    };
    let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
    if let Some(shown) = over_limit(http, http.limits.spend_link(hash), words::TAPPED) {
        return shown;
    }
    link.act(form).await.unwrap_or_else(|error| trouble(http, error, true))
}

fn address(http: &Http, parts: &Parts) -> std::net::IpAddr {
    let nobody = || RemoteAddr(std::net::SocketAddr::from(([0, 0, 0, 0], 0)));
    let peer = parts.extensions.get::<RemoteAddr>().copied().unwrap_or_else(nobody);
    counted_as(client_address(peer.0, &parts.headers, &http.app.config.server.trusted_proxies))
}

fn token_of(parts: &Parts) -> &str {
    parts.uri.path().strip_prefix("/pay/").unwrap_or_default()
}

/// In dev mode nobody is kept waiting: tests and demos come from one address.
fn over_limit(http: &Http, verdict: LimitVerdict, why: &str) -> Option<PageState> {
    if verdict.allowed || http.app.config.server.dev {
        return None;
    }
    let seconds = verdict.reset_after.as_secs() + 1;
    Some(words::throttled(why, i64::try_from(seconds).unwrap_or(i64::MAX)))
}

fn trouble(http: &Http, error: OpError, is_form: bool) -> PageState {
    if let OpError::Store(error @ StoreError::Unavailable(_)) = &error {
        warn_of!(http.app, error, "a page could not be shown");
    }
    // Any other error is logged there, as for the API.
    let (status, after) = match ApiError::from(error).retry_after() {
        Some(after) => (StatusCode::SERVICE_UNAVAILABLE, Some(i64::from(after))),
        None => (StatusCode::INTERNAL_SERVER_ERROR, None),
    };
    PageState { retry_after: after, ..words::trouble(status, is_form) }
}

fn locks_next(view: &LinkView) -> bool {
    matches!(view, LinkView::Open(open) if open.locks_next)
}

/// Why a form is not listened to.
enum NotOurs {
    Sender,
    Form(FormProblem),
}

/// A link that leads somewhere.
struct Link<'a> {
    http: &'a Http,
    token: &'a str,
    /// What our page puts into its forms; no two pages have the same.
    form_token: Zeroizing<String>,
}

impl Link<'_> {
    fn show(&self, view: LinkView, told: Told, status: StatusCode) -> PageState {
        words::link(view, told, status, self.voice())
    }

    fn voice(&self) -> Voice<'_> {
        Voice { form_token: &self.form_token, contact: &self.http.brand.contact }
    }

    /// A look at that part of the link.
    fn look_at(&self, view: LinkView, look: Look) -> PageState {
        match (view, look) {
            (LinkView::Open(open), Look::Cancel) => words::ask_cancel(&open, self.voice()),
            (view, Look::Code) => {
                let told = codes::sent(&view);
                self.show(view, told, StatusCode::OK)
            }
            (view, _) => self.show(view, Told::default(), StatusCode::OK),
        }
    }

    /// The link as it is now, with `told` on top.
    async fn look(&self, told: Told, status: StatusCode) -> Result<PageState, OpError> {
        let view = view_link(&self.http.app, self.token).await?;
        Ok(self.show(view, told, status))
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

    async fn act(&self, form: Form) -> Result<PageState, OpError> {
        let app = &self.http.app;
        // Two taps on a slow line, or a reload of the answer, are the same form with the same typed into it.
        let key = |typed: &str| form.token.as_ref().map(|given| app.vault.form_key(given, typed));
        match form.act {
            Act::SendCode | Act::Reset => self.send_code(key("")).await,
            Act::SetPin { code, new_pin, new_pin_again } => {
                let set = set_pin(app, self.token, &code, &new_pin, &new_pin_again, key(&code)).await?;
                self.tell_set(set, &code).await
            }
            Act::Pay { pin } => {
                let confirmed = confirm(app, self.token, &pin, key(&pin)).await?;
                self.tell_confirmed(confirmed).await
            }
            // Nothing is done yet: a thumb that slipped must not end a payment. Our pages ask by a look.
            Act::AskCancel => Ok(match view_link(&self.http.app, self.token).await? {
                LinkView::Open(_) => words::see(Look::Cancel),
                view => self.over(view),
            }),
            Act::Cancel => Ok(match cancel(&self.http.app, self.token).await? {
                Cancelled::Done(_) => words::see(Look::Payment),
                Cancelled::Over(view) => self.over(view),
            }),
        }
    }

    /// The act came too late: the page tells what happened before. Of two quick taps on "Pay" this answers the
    /// second.
    fn over(&self, view: LinkView) -> PageState {
        match view {
            LinkView::Paid(_) => words::see(Look::Payment),
            view => self.show(view, Told::default(), StatusCode::CONFLICT),
        }
    }

    async fn send_code(&self, form: Option<FormKey>) -> Result<PageState, OpError> {
        match send_code(&self.http.app, self.token, form).await? {
            CodeSent::Sent { .. } => Ok(words::see(Look::Code)),
            CodeSent::Again { .. } => {
                let view = view_link(&self.http.app, self.token).await?;
                if view.codes().is_some_and(|codes| codes.open.is_some()) {
                    return Ok(words::see(Look::Code));
                }
                Ok(self.show(view, Told::default().setting(), StatusCode::OK))
            }
            CodeSent::TooSoon { again_at } | CodeSent::TooMany { again_at } => {
                let view = view_link(&self.http.app, self.token).await?;
                let Some(of_link) = view.codes() else { return Ok(self.over(view)) };
                let told = codes::no_code_now(of_link, again_at);
                let seconds = whole_seconds(again_at, of_link.now);
                let mut shown = self.show(view, told, StatusCode::TOO_MANY_REQUESTS);
                shown.retry_after = Some(seconds);
                Ok(shown)
            }
            CodeSent::NotSent(why) => {
                tracing::warn!(%why, "a code could not be sent");
                let view = view_link(&self.http.app, self.token).await?;
                let told = Told::note(Tone::Bad, codes::not_sent(view.codes())).setting();
                Ok(self.show(view, told, StatusCode::BAD_GATEWAY))
            }
            CodeSent::Late(why) => {
                tracing::warn!(%why, "a code could not be sent yet");
                let text = "Your code is taking longer than usual. We are still trying to send it.";
                self.look(Told::note(Tone::Plain, text).setting(), StatusCode::BAD_GATEWAY).await
            }
            CodeSent::NotOpen(view) => Ok(self.over(view)),
            CodeSent::Suspended => self.look(Told::default(), StatusCode::FORBIDDEN).await,
        }
    }

    /// `code` is what was typed: where only the PIN was wrong, it need not be typed again.
    async fn tell_set(&self, set: PinSet, code: &str) -> Result<PageState, OpError> {
        let wrong = match set {
            PinSet::Done => return Ok(words::see(Look::Payment)),
            PinSet::NotOpen(view) => return Ok(self.over(view)),
            PinSet::Suspended => return self.look(Told::default(), StatusCode::FORBIDDEN).await,
            PinSet::Busy => {
                let told = Told { typed_code: typed_code(code), ..Told::default().setting() };
                return self.busy(told).await;
            }
            PinSet::AlreadySet => {
                let told = Told::note(Tone::Good, "Your PIN is already set.").then(Then::EnterPin);
                return self.look(told, StatusCode::CONFLICT).await;
            }
            PinSet::NoCode => Told::note(Tone::Bad, "This code no longer works. Your PIN was not saved.")
                .setting()
                .then(Then::AskForCode),
            PinSet::WrongCode { tries_left: 0 } => {
                let text = "Wrong code. That was the last try, so this code no longer works.";
                Told::note(Tone::Bad, text).setting().then(Then::AskForCode)
            }
            PinSet::WrongCode { tries_left } => {
                let left = tries(tries_left);
                let text =
                    format!("Wrong code. You have {left} left. Use the code from your newest message.");
                Told::wrong(FormField::Code, text)
            }
            PinSet::NotACode => {
                Told::wrong(FormField::Code, "The code must be 6 digits. Check your message.")
            }
            PinSet::NotTheSame => {
                let text = "The two PINs do not match. Enter the same PIN in both boxes.";
                Told::new_pin(text, Some(FormField::NewPinAgain), typed_code(code))
            }
            PinSet::BadPin(problem) => Told::new_pin(format!("{problem}."), None, typed_code(code)),
        };
        self.look(wrong, StatusCode::UNPROCESSABLE_ENTITY).await
    }

    async fn tell_confirmed(&self, confirmed: Confirmed) -> Result<PageState, OpError> {
        let none = Told::default();
        match confirmed {
            Confirmed::Paid(_) | Confirmed::AlreadyPaid(_) => Ok(words::see(Look::Payment)),
            Confirmed::NotOpen(view) => Ok(self.over(view)),
            Confirmed::WrongPin { tries_left } => {
                let view = view_link(&self.http.app, self.token).await?;
                let text = match tries_left {
                    _ if locks_next(&view) => format!("Wrong PIN. {}", words::last_before_lock(&view)),
                    1 => "Wrong PIN. You have 1 try left. One more wrong PIN and we will stop this payment."
                        .to_owned(),
                    _ => format!("Wrong PIN. You have {} left.", tries(tries_left)),
                };
                Ok(self.show(view, Told::wrong(FormField::Pin, text), StatusCode::UNPROCESSABLE_ENTITY))
            }
            Confirmed::Failed(view) => Ok(self.show(view, none, StatusCode::UNPROCESSABLE_ENTITY)),
            Confirmed::NotAPin(problem) => {
                let text = format!("{problem}. We did not count this as a try.");
                self.look(Told::wrong(FormField::Pin, text), StatusCode::UNPROCESSABLE_ENTITY).await
            }
            Confirmed::Locked { .. } | Confirmed::Suspended | Confirmed::ShopStopped => {
                self.look(none, StatusCode::FORBIDDEN).await
            }
            Confirmed::NoPin => self.look(none, StatusCode::CONFLICT).await,
            Confirmed::BalanceTooLow(missing) => {
                let view = view_link(&self.http.app, self.token).await?;
                // The page says it by itself, unless the money has come in at this moment.
                let says = matches!(&view, LinkView::Open(open) if !open.balance_covers);
                let text = "You have not paid: your balance was too low. Enter your PIN again.";
                let told = if says { Told::short(missing) } else { Told::note(Tone::Bad, text) };
                Ok(self.show(view, told, StatusCode::CONFLICT))
            }
            Confirmed::OverDailyLimit(over) => {
                let text = "You have not paid: this is over your daily limit.";
                let told = Told { short: Some(over), ..Told::note(Tone::Bad, text) };
                self.look(told, StatusCode::CONFLICT).await
            }
            Confirmed::PinChanged => {
                let text = "Your PIN was changed just now. Enter the new one.";
                self.look(Told::note(Tone::Bad, text), StatusCode::CONFLICT).await
            }
            Confirmed::Busy => self.busy(none).await,
        }
    }

    /// Somebody else is being served; nothing was counted.
    async fn busy(&self, told: Told) -> Result<PageState, OpError> {
        let text = "We are busy right now, so we could not check this. It was not counted as a try. Wait a moment, then try again.";
        let told = Told { note: Some(Note::new(Tone::Bad, text)), ..told };
        let view = view_link(&self.http.app, self.token).await?;
        if !matches!(view, LinkView::Open(_)) {
            return Ok(self.over(view)); // the other try has ended it
        }
        let mut shown = self.show(view, told, StatusCode::TOO_MANY_REQUESTS);
        shown.retry_after = Some(BUSY_SECONDS);
        Ok(shown)
    }
}
