//! `POST /payment-request`: creates a payment request (contract/payments.md#p9).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;

use super::once::{self, Begun};
use super::payment::created;
use super::{Admitted, Answer, NO_ACCOUNT_RETRY, Received, admit_with_body, good_body, too_large};
use crate::domain::merchant::Mode;
use crate::domain::money::Money;
use crate::domain::payment::PayerDetails;
use crate::domain::weburl::{HTTP_OR_HTTPS, MAX_URL_CHARS, UrlProblem};
use crate::http::Http;
use crate::http::paths::PAYMENT_REQUEST;
use crate::http::request::body::Fields;
use crate::http::request::validate::Checker;
use crate::http::response::code::{Code, FieldCode};
use crate::http::response::error::ApiError;
use crate::http::response::problems::Problems;
use crate::ops::payments::choose_website::{NotAllowed, Wanted, WebsiteProblem, choose_website};
use crate::ops::payments::create::{Created, NewPayment, create_payment};
use crate::ops::payments::idempotency::{Claim, Remember};
use crate::ops::payments::read::PaymentView;
use crate::ops::payments::read::is_known;

/// Characters of most texts, of the two short names, and of the numbers (contract/limits.md#x6).
const TEXT_MAX: usize = 255;
const SHORT_NAME_MAX: usize = 100;
const BVN_MAX: usize = 30;
const REGISTRATION_MAX: usize = 60;

const TAKEN: &str = "The transaction ID has already been taken.";

pub async fn handle(State(http): State<Arc<Http>>, request: Request) -> Response {
    let received = Received::whole(request).await;
    let fields = received.fields();
    let admitted = match admit_with_body(&http, &received, &fields, PAYMENT_REQUEST).await {
        Ok(admitted) => admitted,
        Err(response) => return response,
    };
    let result = match fields {
        Ok(fields) => create(&http, &admitted, &received, &fields).await,
        Err(problem) => Err(problem.into()),
    };
    admitted.respond(&http, result)
}

/// The request's values, each of them good by itself.
struct PaymentRequestBody {
    amount: Money,
    payer_name: String,
    payer: PayerDetails,
    bvn: Option<String>,
    /// A test payment needs none: its events can be read.
    webhook_url: Option<String>,
    transaction_id: Option<String>,
    website_id: Option<i64>,
    website_url: Option<String>,
}

async fn create(
    http: &Http,
    admitted: &Admitted,
    received: &Received,
    fields: &Fields<'_>,
) -> Result<Answer, ApiError> {
    let wire = match read(fields, http.app.config.payments.max_amount, admitted.caller.mode) {
        Ok(wire) => wire,
        Err(mut bad) => {
            once::look_at_key(received, &mut bad.problems);
            return Err(tell_all(http, admitted, bad).await);
        }
    };
    let claim = match once::begin(http, admitted, received, fields).await? {
        Begun::Done(answer) => return Ok(answer),
        Begun::Work(claim) => claim,
    };
    let result = work(http, admitted, wire, claim.as_ref()).await;
    once::end(claim, &result).await;
    result
}

async fn work(
    http: &Http,
    admitted: &Admitted,
    wire: PaymentRequestBody,
    claim: Option<&Claim>,
) -> Result<Answer, ApiError> {
    let wanted = Wanted {
        website_id: wire.website_id,
        website_url: wire.website_url.as_deref(),
        webhook_url: wire.webhook_url.as_deref(),
    };
    let sites = http.app.directory.websites(admitted.caller.business.id).await?;
    let names_none = wire.website_id.is_none() && wire.website_url.is_none() && wire.webhook_url.is_none();
    let website = match choose_website(&sites, wanted, http.app.config.server.dev) {
        // Only a test payment gets here so.
        Err(_) if names_none => None,
        Ok(website) => Some(website),
        Err(wrong) => {
            let mut refusal = Refusal { problems: Problems::default(), not_allowed: None };
            refusal.add(wrong);
            return Err(refusal.with_taken_id(http, admitted, wire.transaction_id.as_deref()).await);
        }
    };
    let remember = claim.map(|claim| Remember { claim, render: &render });
    let transaction_id = wire.transaction_id.clone();
    let new = NewPayment {
        transaction_id: wire.transaction_id,
        base: wire.amount,
        payer_name: wire.payer_name,
        payer: wire.payer,
        bvn: wire.bvn,
        webhook_url: wire.webhook_url,
        website,
        till_user_id: None,
    };
    match create_payment(&http.app, &admitted.caller, new, remember.as_ref()).await? {
        Created::Payment(view) => Ok(Answer::created(render(&view).1)),
        Created::DuplicateTransactionId => {
            Err(ApiError::field("transaction_id", FieldCode::TransactionIdTaken, TAKEN))
        }
        Created::NoAccount => Err(no_account(http, admitted, transaction_id.as_deref()).await?),
        Created::TooLarge => Err(too_large("amount", http.app.config.payments.max_amount)),
        Created::LeaseLost => Err(once::still_running()),
    }
}

/// Why there is no account. An id that is taken is told first: no account would help it.
async fn no_account(
    http: &Http,
    admitted: &Admitted,
    transaction_id: Option<&str>,
) -> Result<ApiError, ApiError> {
    if let Some(id) = transaction_id
        && is_known(&http.app, Some(admitted.caller.business.id), id).await?
    {
        return Ok(ApiError::field("transaction_id", FieldCode::TransactionIdTaken, TAKEN));
    }
    let message = "No receiving account is available for this payment right now; try again later";
    Ok(ApiError::retry(Code::NoAccountAvailable, message, NO_ACCOUNT_RETRY))
}

fn render(view: &PaymentView) -> (u16, Vec<u8>) {
    (StatusCode::CREATED.as_u16(), good_body(Some("Payment request created"), created(view)))
}

/// A request that failed by itself, with what is known of its website.
struct Bad {
    problems: Problems,
    transaction_id: Option<String>,
    website_id: Option<i64>,
    website_url: Option<String>,
    webhook_url: Option<String>,
}

fn read(fields: &Fields<'_>, max_amount: Money, mode: Mode) -> Result<PaymentRequestBody, Bad> {
    let mut check = Checker::new(fields);
    let amount = check.amount("amount", max_amount);
    let payer_name = payer_name(&mut check);
    let payer = PayerDetails {
        bank: check.line("bank", TEXT_MAX),
        first_name: check.line("fname", SHORT_NAME_MAX),
        last_name: check.line("lname", SHORT_NAME_MAX),
        registration_number: check.line("registration_number", REGISTRATION_MAX),
        service: check.line("service", TEXT_MAX),
    };
    let bvn = check.text("bvn", BVN_MAX);
    let webhook_url = match mode {
        Mode::Live => check.required_line("webhook_url", MAX_URL_CHARS),
        Mode::Test => check.line("webhook_url", MAX_URL_CHARS),
    };
    let transaction_id = check.line("transaction_id", TEXT_MAX);
    if matches!(transaction_id.as_deref(), Some("." | "..")) {
        // In a path every client removes these before sending, encoded or not.
        check.problems.complain("transaction_id", FieldCode::ReservedId, "must not be '.' or '..'");
    }
    let website_id = check.integer("business_website_id");
    let website_url = check.line("website_url", MAX_URL_CHARS);
    let problems = check.problems;
    match (amount, payer_name, webhook_url) {
        (Some(amount), Some(payer_name), webhook_url) if problems.is_empty() => Ok(PaymentRequestBody {
            amount,
            payer_name,
            payer,
            bvn,
            webhook_url,
            transaction_id,
            website_id,
            website_url,
        }),
        (_, _, webhook_url) => Err(Bad { problems, transaction_id, website_id, website_url, webhook_url }),
    }
}

/// `name` wins over `payer_name`; without either the complaint is about `payer_name`.
fn payer_name(check: &mut Checker<'_, '_>) -> Option<String> {
    let good_so_far = check.problems.count();
    let name = check.name("name", TEXT_MAX);
    // Of one that is not used a letter is not asked for.
    let payer_name = match &name {
        Some(_) => check.line("payer_name", TEXT_MAX),
        None => check.name("payer_name", TEXT_MAX),
    };
    let chosen = name.or(payer_name);
    if chosen.is_none() && check.problems.count() == good_so_far {
        check.problems.require("payer_name");
    }
    chosen
}

/// A bad request is told what is wrong with its website and its id too, in the same answer.
async fn tell_all(http: &Http, admitted: &Admitted, bad: Bad) -> ApiError {
    let wanted = Wanted {
        website_id: bad.website_id,
        website_url: bad.website_url.as_deref(),
        webhook_url: bad.webhook_url.as_deref(),
    };
    let sites = match http.app.directory.websites(admitted.caller.business.id).await {
        Ok(sites) => sites,
        Err(error) => return error.into(),
    };
    let mut refusal = Refusal { problems: bad.problems, not_allowed: None };
    if let Err(wrong) = choose_website(&sites, wanted, http.app.config.server.dev) {
        refusal.add(wrong);
    }
    refusal.with_taken_id(http, admitted, bad.transaction_id.as_deref()).await
}

/// Everything wrong with a request.
struct Refusal {
    problems: Problems,
    /// Why the webhook URL may not be used: 400 if that is all.
    not_allowed: Option<NotAllowed>,
}

impl Refusal {
    fn add(&mut self, wrong: Vec<WebsiteProblem>) {
        let problems = &mut self.problems;
        for problem in wrong {
            match problem {
                WebsiteProblem::UnknownId => problems.complain(
                    "business_website_id",
                    FieldCode::WebsiteNotApproved,
                    "must be that of one of your approved websites",
                ),
                WebsiteProblem::WebsiteUrl(problem) => {
                    let code = match problem {
                        // Of the scheme, whether its host is approved or not.
                        UrlProblem::NotAUrl(_) | UrlProblem::NotAllowed(HTTP_OR_HTTPS) => {
                            FieldCode::InvalidUrl
                        }
                        UrlProblem::NotAllowed(_) => FieldCode::WebsiteNotApproved,
                    };
                    problems.complain("website_url", code, problem.reason());
                }
                WebsiteProblem::WebhookNotAUrl(reason) => {
                    problems.complain("webhook_url", FieldCode::InvalidUrl, reason);
                }
                WebsiteProblem::WebhookNotAllowed(why) => self.not_allowed = Some(why),
            }
        }
    }

    /// The answer, which tells of an id that is taken, too.
    async fn with_taken_id(
        mut self,
        http: &Http,
        admitted: &Admitted,
        transaction_id: Option<&str>,
    ) -> ApiError {
        if let Some(id) = transaction_id {
            match is_known(&http.app, Some(admitted.caller.business.id), id).await {
                Ok(false) => {}
                Ok(true) => {
                    self.problems.add("transaction_id", FieldCode::TransactionIdTaken, TAKEN.into());
                }
                Err(error) => return error.into(),
            }
        }
        let Some(why) = self.not_allowed else { return ApiError::invalid(self.problems) };
        let (code, field_code) = match why.off_domain {
            true => (Code::WebsiteNotApproved, FieldCode::WebsiteNotApproved),
            false => (Code::WebhookUrlNotAllowed, FieldCode::WebhookUrlNotAllowed),
        };
        let message = format!("The webhook URL {}", why.words());
        if self.problems.is_empty() {
            return ApiError::about(code, "webhook_url", field_code, message);
        }
        self.problems.add("webhook_url", field_code, format!("{message}."));
        ApiError::invalid(self.problems)
    }
}
