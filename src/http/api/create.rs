//! `POST /payment-request`: creates a payment request (contract/payments.md#p9).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;

use super::once::{self, Begun};
use super::payment::{CreatedBody, created, sample_created};
use super::{Admitted, Answer, GoodBody, NO_ACCOUNT_RETRY, Received, admit_with_body, good_body, too_large};
use crate::domain::merchant::{Mode, Website};
use crate::domain::money::Money;
use crate::domain::payment::PayerDetails;
use crate::domain::weburl::{HTTP_OR_HTTPS, MAX_URL_CHARS, UrlProblem};
use crate::http::Http;
use crate::http::describe::fields::Field;
use crate::http::describe::operation::{Body, Operation, Tag, Writer};
use crate::http::paths::PAYMENT_REQUEST;
use crate::http::request::body::Fields;
use crate::http::request::validate::Checker;
use crate::http::response::code::{Code, FieldCode};
use crate::http::response::error::ApiError;
use crate::http::response::problems::Problems;
use crate::ops::payments::checkout::{judge_return_url, kept_return_url};
use crate::ops::payments::choose_website::{Judged, NotAllowed, Wanted, WebsiteProblem, choose_website};
use crate::ops::payments::create::{Created, NewPayment, create_payment};
use crate::ops::payments::idempotency::{Claim, Remember};
use crate::ops::payments::read::PaymentView;
use crate::ops::payments::read::is_known;

/// Characters of most texts, of the two short names, and of the numbers (contract/limits.md#x6).
const TEXT_MAX: usize = 255;
const SHORT_NAME_MAX: usize = 100;
const BVN_MAX: usize = 30;
const REGISTRATION_MAX: usize = 60;

const CREATED: &str = "Payment request created";
const ABOUT: &str = "Show your customer `account_number`, `account_name`, `bank_name` and `charges.amount_to_pay`. They \
                     must transfer exactly that amount before `expires_at`.";
const EXAMPLE: &str = r#"{
  "transaction_id": "order-2001",
  "amount": 12500,
  "payer_name": "Adaeze Blessing Nwosu",
  "webhook_url": "https://shop.example.com/hook"
}"#;

const TAKEN: &str = "The transaction ID has already been taken.";

pub fn describe(writer: &mut Writer) -> Operation {
    let body = Body::new("NewPayment", EXAMPLE)
        .field(Field::amount("amount", writer.max_amount, "What you charge, before any charges that your customer pays.").required())
        .field(Field::text("payer_name", TEXT_MAX, "The payer's name as their bank knows it, with at least two names. Required unless `name` is sent."))
        .field(Field::text("name", TEXT_MAX, "The same; it wins if both are sent."))
        .field(Field::text("webhook_url", MAX_URL_CHARS, "Where you are told of the approval, on one of your approved websites. Required with a live key."))
        .field(Field::text("transaction_id", TEXT_MAX, "Your own id, unique within your business. If absent, one is made: `TXN-` and 26 characters. `.` and `..` cannot be ids."))
        .field(Field::text("bank", TEXT_MAX, "Your customer's bank."))
        .field(Field::text("fname", SHORT_NAME_MAX, "The payer's first name; stored, but compared with nothing."))
        .field(Field::text("lname", SHORT_NAME_MAX, "The payer's last name. Every word of it must be among the names on which `payer_name` and the alert agree."))
        .field(Field::text("bvn", BVN_MAX, "Bank verification number; stored encrypted, never returned."))
        .field(Field::text("registration_number", REGISTRATION_MAX, "Of a company."))
        .field(Field::text("service", TEXT_MAX, "What it is for."))
        .field(Field::integer("business_website_id", "Id of one of your approved websites."))
        .field(Field::text("website_url", MAX_URL_CHARS, "Address of one of your approved websites, with `http://`, `https://` or no scheme."))
        .field(Field::text("return_url", MAX_URL_CHARS, "Where the checkout page leads afterwards, with `transaction_id` and `status` in its query; on one of your approved websites."));
    Operation::post(PAYMENT_REQUEST, "createPayment", Tag::Payments, "Create a payment", body)
        .about(ABOUT)
        .answers(
            StatusCode::CREATED,
            "The payment, with the account that your customer transfers to",
            writer.schema::<GoodBody<'static, CreatedBody<'static>>>(),
            good_body(Some(CREATED), sample_created()),
        )
        .leads_to(("readIt", "readPayment", "transaction_id", "/data/transaction_id"))
        .leads_to(("correctIt", "correctAmount", "transaction_id", "/data/transaction_id"))
        .fails(&[
            Code::WebsiteNotApproved,
            Code::WebhookUrlNotAllowed,
            Code::ReturnUrlNotAllowed,
            Code::TransactionIdTaken,
            Code::NoAccountAvailable,
        ])
}

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
    return_url: Option<String>,
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
            return Err(tell_all(http, admitted, *bad).await);
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
    let dev = http.app.config.server.dev;
    let mut refusal = Refusal::default();
    let names_none = wire.website_id.is_none() && wire.website_url.is_none() && wire.webhook_url.is_none();
    let website = match choose_website(&sites, wanted, dev) {
        // Only a test payment gets here so.
        Err(_) if names_none => Ok(None),
        Ok(website) => Ok(Some(website)),
        Err(wrong) => {
            refusal.add(wrong);
            Err(())
        }
    };
    let return_url = refusal.look_at_return_url(&sites, wire.return_url.as_deref(), dev);
    let (Ok(website), Ok(return_url)) = (website, return_url) else {
        return Err(refusal.with_taken_id(http, admitted, wire.transaction_id.as_deref()).await);
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
        return_url,
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
    (StatusCode::CREATED.as_u16(), good_body(Some(CREATED), created(view)))
}

/// A request that failed by itself, with what is known of its website.
struct Bad {
    problems: Problems,
    transaction_id: Option<String>,
    website_id: Option<i64>,
    website_url: Option<String>,
    webhook_url: Option<String>,
    return_url: Option<String>,
}

fn read(fields: &Fields<'_>, max_amount: Money, mode: Mode) -> Result<PaymentRequestBody, Box<Bad>> {
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
    let return_url = check.line("return_url", MAX_URL_CHARS);
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
            return_url,
        }),
        (_, _, webhook_url) => {
            let bad = Bad { problems, transaction_id, website_id, website_url, webhook_url, return_url };
            Err(Box::new(bad))
        }
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
    let dev = http.app.config.server.dev;
    let mut refusal = Refusal { problems: bad.problems, ..Refusal::default() };
    if let Err(wrong) = choose_website(&sites, wanted, dev) {
        refusal.add(wrong);
    }
    let _ = refusal.look_at_return_url(&sites, bad.return_url.as_deref(), dev);
    refusal.with_taken_id(http, admitted, bad.transaction_id.as_deref()).await
}

/// Everything wrong with a request.
#[derive(Default)]
struct Refusal {
    problems: Problems,
    /// Why the webhook URL may not be used: 400 if that is all.
    not_allowed: Option<NotAllowed>,
    /// The same of the address that the checkout page leads to.
    no_way_back: Option<NotAllowed>,
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

    /// The address as it is kept, if there is one and it may be used; else notes why not.
    fn look_at_return_url(
        &mut self,
        sites: &[Website],
        url: Option<&str>,
        dev: bool,
    ) -> Result<Option<String>, ()> {
        let Some(url) = url else { return Ok(None) };
        match judge_return_url(sites, url, dev) {
            Judged::Good(_) => return kept_return_url(url, dev).map(Some).map_err(drop),
            Judged::NotAUrl(reason) => {
                self.problems.complain("return_url", FieldCode::InvalidUrl, reason);
            }
            Judged::NotAllowed(why) => self.no_way_back = Some(why),
        }
        Err(())
    }

    /// What may not be used though it is an address: the field, its codes, and why.
    fn refused(&self) -> Vec<(&'static str, Code, FieldCode, String)> {
        const HOOK: (Code, FieldCode) = (Code::WebhookUrlNotAllowed, FieldCode::WebhookUrlNotAllowed);
        const BACK: (Code, FieldCode) = (Code::ReturnUrlNotAllowed, FieldCode::ReturnUrlNotAllowed);
        let told = |why: &NotAllowed, field, name: &str, own: (Code, FieldCode)| {
            let (code, field_code) = match why.off_domain {
                true => (Code::WebsiteNotApproved, FieldCode::WebsiteNotApproved),
                false => own,
            };
            (field, code, field_code, format!("The {name} {}", why.words()))
        };
        let hook = self.not_allowed.iter().map(|why| told(why, "webhook_url", "webhook URL", HOOK));
        let back = self.no_way_back.iter().map(|why| told(why, "return_url", "return URL", BACK));
        hook.chain(back).collect()
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
        let mut refused = self.refused();
        if self.problems.is_empty()
            && refused.len() == 1
            && let Some((field, code, field_code, message)) = refused.pop()
        {
            return ApiError::about(code, field, field_code, message);
        }
        for (field, _, field_code, message) in refused {
            self.problems.add(field, field_code, format!("{message}."));
        }
        ApiError::invalid(self.problems)
    }
}
