//! The pages of people who sign in, one line each: where they are, and who may ask. The router is made of this table, and so
//! is the test that asks every page as everybody; what is not here does not exist.
//!
//! Every request takes the same way: counted against its address, its form read, its session looked up, the right asked
//! for, then the form's own proof, and only then the page.

use std::sync::{Arc, OnceLock};

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::request::Parts;
use http::{Method, StatusCode};
use url::form_urlencoded;

use super::ask::{Answer, Ask};
use super::body::{FIELDS_BYTES, Fields, FormProblem, MAIL_FORM_BYTES, read};
use super::cookie::{Cookie, is_token};
use super::dashboard::DashboardPage;
use super::flash::Flash;
use super::here::Here;
use super::layout::Frame;
use super::operator::DeskPage;
use super::origin::{Sender, sender};
use super::{dashboard, docs, once, operator, plain, sign_in};
use crate::domain::user::{MemberRight, StaffRight};
use crate::http::Http;
use crate::http::paths;
use crate::http::request::context::RequestLabels;
use crate::http::server::caller::{address, over_limit};
use crate::ops::OpError;
use crate::ops::activity::{Side, from_address};
use crate::ops::people::sessions::{businesses_of, session_of};
use crate::vault::link::fresh_token;

/// Who may ask for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    Anyone,
    /// Also who has yet to set up what is demanded of staff.
    SignedIn,
    Staff(StaffRight),
    /// Of the business that the address names, or of the user's first one.
    Member(MemberRight),
}

/// Which page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    Start,
    SignIn,
    Code,
    SignOut,
    Welcome,
    Forgot,
    Register,
    Registered,
    ConfirmPassword,
    Me,
    Docs,
    Desk(DeskPage),
    Dashboard(DashboardPage),
}

#[derive(Clone, Copy, Debug)]
pub struct Route {
    pub path: &'static str,
    pub page: Page,
    pub who: Who,
}

const fn route(path: &'static str, page: Page, who: Who) -> Route {
    Route { path, page, who }
}

const fn desk(path: &'static str, page: DeskPage, right: StaffRight) -> Route {
    route(path, Page::Desk(page), Who::Staff(right))
}

const fn dashboard(path: &'static str, page: DashboardPage, right: MemberRight) -> Route {
    route(path, Page::Dashboard(page), Who::Member(right))
}

pub const TABLE: &[Route] = &[
    route(paths::START, Page::Start, Who::Anyone),
    route(paths::SIGN_IN, Page::SignIn, Who::Anyone),
    route(paths::SIGN_IN_CODE, Page::Code, Who::Anyone),
    route(paths::SIGN_OUT, Page::SignOut, Who::Anyone),
    route(paths::WELCOME, Page::Welcome, Who::Anyone),
    route(paths::FORGOT, Page::Forgot, Who::Anyone),
    route(paths::REGISTER, Page::Register, Who::Anyone),
    route(paths::REGISTERED, Page::Registered, Who::Anyone),
    route(paths::CONFIRM_PASSWORD, Page::ConfirmPassword, Who::SignedIn),
    route(paths::ME, Page::Me, Who::SignedIn),
    route(paths::DOCS, Page::Docs, Who::Anyone),
    route(paths::DOCS_PART, Page::Docs, Who::Anyone),
    desk(paths::OPERATOR, DeskPage::Overview, StaffRight::Look),
    desk(paths::OPERATOR_ALERTS, DeskPage::Alerts, StaffRight::Look),
    desk(paths::OPERATOR_ALERT, DeskPage::Alert, StaffRight::Look),
    desk(paths::OPERATOR_PAYMENTS, DeskPage::Payments, StaffRight::Look),
    desk(paths::OPERATOR_PAYMENT, DeskPage::Payment, StaffRight::Look),
    desk(paths::OPERATOR_BUSINESSES, DeskPage::Businesses, StaffRight::Look),
    desk(paths::OPERATOR_BUSINESS, DeskPage::Business, StaffRight::Look),
    desk(paths::OPERATOR_ACCOUNTS, DeskPage::Accounts, StaffRight::Look),
    desk(paths::OPERATOR_PAYOUTS, DeskPage::Payouts, StaffRight::Look),
    desk(paths::OPERATOR_WALLETS, DeskPage::Wallets, StaffRight::Look),
    desk(paths::OPERATOR_WEBHOOKS, DeskPage::Webhooks, StaffRight::Look),
    desk(paths::OPERATOR_WEBHOOK, DeskPage::Webhook, StaffRight::Look),
    desk(paths::OPERATOR_MAILBOXES, DeskPage::Mailboxes, StaffRight::Look),
    desk(paths::OPERATOR_BANKS, DeskPage::Banks, StaffRight::Look),
    desk(paths::OPERATOR_USERS, DeskPage::Users, StaffRight::Administer),
    desk(paths::OPERATOR_ACTIVITY, DeskPage::Activity, StaffRight::Look),
    desk(paths::OPERATOR_AUDIT, DeskPage::Audit, StaffRight::Look),
    dashboard(paths::DASHBOARD, DashboardPage::Overview, MemberRight::Enter),
    dashboard(paths::DASHBOARD_PAYMENTS, DashboardPage::Payments, MemberRight::ReadPayments),
    dashboard(paths::DASHBOARD_NEW_PAYMENT, DashboardPage::NewPayment, MemberRight::ReadPayments),
    dashboard(paths::DASHBOARD_PAYMENT, DashboardPage::Payment, MemberRight::ReadPayments),
    dashboard(paths::DASHBOARD_TILL, DashboardPage::Till, MemberRight::UseTill),
    dashboard(paths::DASHBOARD_TILL_EVENTS, DashboardPage::TillEvents, MemberRight::UseTill),
    dashboard(paths::DASHBOARD_BALANCE, DashboardPage::Balance, MemberRight::ReadMoney),
    dashboard(paths::DASHBOARD_PAYOUTS, DashboardPage::Payouts, MemberRight::ReadMoney),
    dashboard(paths::DASHBOARD_WALLET, DashboardPage::Wallet, MemberRight::ReadPayments),
    dashboard(paths::DASHBOARD_KEYS, DashboardPage::Keys, MemberRight::Integrate),
    dashboard(paths::DASHBOARD_WEBSITES, DashboardPage::Websites, MemberRight::Integrate),
    dashboard(paths::DASHBOARD_WEBHOOKS, DashboardPage::Webhooks, MemberRight::ReadWebhooks),
    dashboard(paths::DASHBOARD_REQUESTS, DashboardPage::Requests, MemberRight::Integrate),
    dashboard(paths::DASHBOARD_TEAM, DashboardPage::Team, MemberRight::Manage),
    dashboard(paths::DASHBOARD_ACTIVITY, DashboardPage::Activity, MemberRight::Manage),
    dashboard(paths::DASHBOARD_SETTINGS, DashboardPage::Settings, MemberRight::Manage),
];

pub async fn handle(http: Arc<Http>, route: &'static Route, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let mut response = answer(http, route, parts, body).await;
    response.extensions_mut().insert(RequestLabels { route: route.path, business_id: None });
    response
}

async fn answer(http: Arc<Http>, route: &Route, parts: Parts, body: Body) -> Response {
    let limit = over_limit(&http, http.limits.spend_page(address(&http, &parts)).await);
    // Read first, so that the sender sees the answer.
    let body = match (parts.method == Method::POST, limit) {
        (true, None) => Some(read(body, bytes_of(route.page)).await),
        _ => None,
    };
    let mut ask = new_ask(http, parts);
    if let Some(seconds) = limit {
        return plain::crowded(&ask, seconds);
    }
    match session_of(ask.app(), &ask.token).await {
        Ok(session) => ask.session = session,
        Err(error) => return plain::trouble(&ask, error),
    }
    if let Some(refusal) = refuse(&ask, route.who) {
        return refusal;
    }
    if route.page == Page::Me
        && let Err(error) = find_ways(&mut ask).await
    {
        return plain::trouble(&ask, error);
    }
    if let Who::Member(right) = route.who {
        match enter(&mut ask, right).await {
            Ok(None) => {}
            Ok(Some(refusal)) => return refusal,
            Err(error) => return plain::trouble(&ask, error),
        }
    }
    if let Some(body) = body {
        let form = body.and_then(|body| Fields::parse(&ask.parts.headers, &body));
        match form {
            Ok(form) if is_ours(&ask, &form) => ask.form = Some(form),
            Ok(_) => return plain::foreign(&ask),
            Err(FormProblem::TooLarge) => return plain::unusable(&ask, StatusCode::PAYLOAD_TOO_LARGE),
            Err(FormProblem::Slow) => return plain::unusable(&ask, StatusCode::REQUEST_TIMEOUT),
            Err(FormProblem::NotAForm) => return plain::unusable(&ask, StatusCode::UNSUPPORTED_MEDIA_TYPE),
            Err(FormProblem::Broken) => return plain::unusable(&ask, StatusCode::BAD_REQUEST),
        }
    }
    let http = ask.http.clone();
    // Forms are few, and some wait for what is not ours.
    let _turn = match ask.is_form() {
        true => None,
        false => match http.turns.take().await {
            Ok(turn) => Some(turn),
            Err(many) => return plain::busy(&ask, many),
        },
    };
    let side = if matches!(route.page, Page::Dashboard(_)) { Side::Business } else { Side::Operator };
    let (ask, page) = (Arc::new(ask), route.page);
    let work =
        move |ask: Arc<Ask>| async move { from_address(ask.address(), side, answer_of(&ask, page)).await };
    let answered = match once::key(&ask) {
        Some(key) => once::counted(ask.clone(), key, work).await,
        None => work(ask.clone()).await,
    };
    answered.unwrap_or_else(|error| plain::trouble(&ask, error))
}

fn answer_of(ask: &Ask, page: Page) -> Answer<'_> {
    match page {
        Page::Start => Box::pin(sign_in::start(ask)),
        Page::SignIn => Box::pin(sign_in::entry::answer(ask)),
        Page::Code => Box::pin(sign_in::code::answer(ask)),
        Page::SignOut => Box::pin(sign_in::sign_out(ask)),
        Page::Welcome => Box::pin(sign_in::welcome::answer(ask)),
        Page::Forgot => Box::pin(sign_in::forgot::answer(ask)),
        Page::Register => Box::pin(sign_in::register::answer(ask)),
        Page::Registered => Box::pin(sign_in::registered::answer(ask)),
        Page::ConfirmPassword => Box::pin(sign_in::confirm::answer(ask)),
        Page::Me => Box::pin(sign_in::me::answer(ask)),
        Page::Docs => Box::pin(async { Ok(docs::answer(ask)) }),
        Page::Desk(page) => operator::answer(ask, page),
        Page::Dashboard(page) => dashboard::answer(ask, page),
    }
}

/// A path that leads nowhere, for a person with a browser.
pub async fn lost(http: Arc<Http>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let limit = over_limit(&http, http.limits.spend_page(address(&http, &parts)).await);
    let mut ask = new_ask(http, parts);
    if let Some(seconds) = limit {
        return plain::crowded(&ask, seconds);
    }
    match look_around(&mut ask).await {
        Ok(()) => plain::unknown(&ask),
        Err(error) => plain::trouble(&ask, error),
    }
}

/// Who asks, and which ways they have, on a page that is of no side.
async fn look_around(ask: &mut Ask) -> Result<(), OpError> {
    ask.session = session_of(ask.app(), &ask.token).await?;
    find_ways(ask).await
}

/// What stands around a page that is of no side: the ways of whoever is signed in.
fn around(ask: &Ask, title: &str) -> Frame {
    match (&ask.session, &ask.here) {
        (Some(session), _) if session.must_set_up_factor => ask.frame(title),
        (Some(_), Some(here)) => dashboard::frame::frame(ask, here, title, ""),
        (Some(session), None) if session.staff.is_some() => {
            operator::frame_with(ask, title, None, operator::Waiting::default())
        }
        _ => ask.frame(title),
    }
}

/// Members find their first business's ways on pages that are of no business.
async fn find_ways(ask: &mut Ask) -> Result<(), OpError> {
    if let Some(session) = ask.session.as_ref().filter(|session| session.staff.is_none()) {
        ask.here = Here::choose(businesses_of(ask.app(), session).await?, None, None);
    }
    Ok(())
}

/// Bytes of a page's forms.
fn bytes_of(page: Page) -> usize {
    if page == Page::Desk(DeskPage::Banks) { MAIL_FORM_BYTES } else { FIELDS_BYTES }
}

fn new_ask(http: Arc<Http>, parts: Parts) -> Ask {
    let base = http.app.public_url();
    let sent = Cookie::Session.read(&parts.headers, &base).filter(|token| is_token(token));
    let is_fresh = sent.is_none();
    let token = sent.unwrap_or_else(|| fresh_token(http.app.random.as_ref()));
    // A form shows nothing; the page that it leads to does.
    let flash = Cookie::Flash
        .read(&parts.headers, &base)
        .filter(|_| parts.method == Method::GET)
        .and_then(|value| Flash::open(&http.app, &token, &value));
    let csrf = OnceLock::new();
    Ask { http, parts, token, is_fresh, csrf, session: None, form: None, flash, here: None, around }
}

/// The answer to who may not ask.
fn refuse(ask: &Ask, who: Who) -> Option<Response> {
    let Some(session) = &ask.session else {
        return (who != Who::Anyone).then(|| ask.see(&sign_in_first(ask), None));
    };
    match who {
        Who::Anyone | Who::SignedIn => None,
        _ if session.must_set_up_factor => Some(ask.see(paths::ME, None)),
        Who::Staff(right) if !session.may(right) => {
            // Who is no staff at all is not told what there is.
            Some(if session.staff.is_some() {
                plain::not_allowed(ask, &right.roles())
            } else {
                plain::unknown(ask)
            })
        }
        Who::Staff(_) | Who::Member(_) => None,
    }
}

/// Finds the business that the address names; the answer to who has no place there, or one of too few rights. Also the
/// operator's staff see no business here that they are no members of.
async fn enter(ask: &mut Ask, right: MemberRight) -> Result<Option<Response>, OpError> {
    let all = match &ask.session {
        Some(session) => businesses_of(ask.app(), session).await?,
        None => Vec::new(),
    };
    let (business, mode) = (ask.query("business"), ask.query("mode"));
    let Some(here) = Here::choose(all.clone(), business.as_deref(), mode.as_deref()) else {
        ask.here = Here::choose(all, None, None);
        return Ok(Some(plain::unknown(ask)));
    };
    let may = here.may(right);
    ask.here = Some(here);
    Ok((!may).then(|| plain::not_allowed(ask, &right.roles())))
}

/// The sign-in page, which leads back to what was asked for.
fn sign_in_first(ask: &Ask) -> String {
    let asked = ask.parts.uri.path_and_query().map_or("/", |asked| asked.as_str());
    // A form that was sent too late is not sent again.
    let next = if ask.is_form() { ask.parts.uri.path() } else { asked };
    let query: String = form_urlencoded::Serializer::new(String::new()).append_pair("next", next).finish();
    format!("{}?{query}", paths::SIGN_IN)
}

fn is_ours(ask: &Ask, form: &Fields) -> bool {
    sender(&ask.parts, &ask.app().public_url()) != Sender::Elsewhere
        && !ask.is_fresh
        && ask.app().vault.is_form_token(&ask.token, form.get("csrf"))
}
