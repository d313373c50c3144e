//! The codes of error answers: one word for machines for everything that can be wrong with a request.
//!
//! Every error answer is made with a [`Code`], which has one status, and every problem of a field with a
//! [`FieldCode`]. All codes are listed here. docs/api.md tells callers what each means and what to do,
//! and a test holds its tables equal to those here. A word that was released keeps its meaning and its status.

use http::StatusCode;

macro_rules! codes {
    ($($name:ident = $word:literal, $status:ident;)+) => {
        /// What is wrong with a request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code { $($name,)+ }

        impl Code {
            pub const ALL: &[Code] = &[$(Code::$name,)+];

            pub const fn word(self) -> &'static str {
                match self { $(Code::$name => $word,)+ }
            }

            pub const fn status(self) -> StatusCode {
                match self { $(Code::$name => StatusCode::$status,)+ }
            }
        }
    };
}

codes! {
    InvalidJson = "invalid_json", BAD_REQUEST;
    DuplicateField = "duplicate_field", BAD_REQUEST;
    BodyIncomplete = "body_incomplete", BAD_REQUEST;
    AmbiguousRequest = "ambiguous_request", BAD_REQUEST;
    WebsiteNotApproved = "website_not_approved", BAD_REQUEST;
    WebhookUrlNotAllowed = "webhook_url_not_allowed", BAD_REQUEST;
    WebhookUrlNotSaved = "webhook_url_not_saved", BAD_REQUEST;
    ReturnUrlNotAllowed = "return_url_not_allowed", BAD_REQUEST;
    PaymentNotPending = "payment_not_pending", BAD_REQUEST;
    PaymentExpired = "payment_expired", BAD_REQUEST;
    NotABankTransfer = "not_a_bank_transfer", BAD_REQUEST;
    AmountAmbiguous = "amount_ambiguous", BAD_REQUEST;
    TooManyCorrections = "too_many_corrections", BAD_REQUEST;
    BusinessCorrectionsExceeded = "business_corrections_exceeded", BAD_REQUEST;
    InsufficientBalance = "insufficient_balance", BAD_REQUEST;
    WalletLocked = "wallet_locked", BAD_REQUEST;
    WalletSuspended = "wallet_suspended", BAD_REQUEST;
    NoticeInvalid = "notice_invalid", BAD_REQUEST;
    ApiKeyMissing = "api_key_missing", UNAUTHORIZED;
    ApiKeyInvalid = "api_key_invalid", UNAUTHORIZED;
    HttpsRequired = "https_required", FORBIDDEN;
    WalletNotEnabled = "wallet_not_enabled", FORBIDDEN;
    LiveKeyRequired = "live_key_required", FORBIDDEN;
    TestKeyRequired = "test_key_required", FORBIDDEN;
    KeyMayOnlyRead = "key_may_only_read", FORBIDDEN;
    WalletPaymentsStopped = "wallet_payments_stopped", FORBIDDEN;
    SignatureWrong = "signature_wrong", FORBIDDEN;
    VerifyTokenWrong = "verify_token_wrong", FORBIDDEN;
    NotFound = "not_found", NOT_FOUND;
    PaymentNotFound = "payment_not_found", NOT_FOUND;
    WalletNotFound = "wallet_not_found", NOT_FOUND;
    CheckoutNotFound = "checkout_not_found", NOT_FOUND;
    PayoutNotFound = "payout_not_found", NOT_FOUND;
    EventNotFound = "event_not_found", NOT_FOUND;
    EventTooOld = "event_too_old", NOT_FOUND;
    MethodNotAllowed = "method_not_allowed", METHOD_NOT_ALLOWED;
    RequestTimeout = "request_timeout", REQUEST_TIMEOUT;
    RequestInProgress = "request_in_progress", CONFLICT;
    PayoutAccountTooNew = "payout_account_too_new", CONFLICT;
    PayoutFinished = "payout_finished", CONFLICT;
    PayoutBeingPaid = "payout_being_paid", CONFLICT;
    EventSuperseded = "event_superseded", CONFLICT;
    NoWebhookUrl = "no_webhook_url", CONFLICT;
    BodyTooLarge = "body_too_large", PAYLOAD_TOO_LARGE;
    UnsupportedMediaType = "unsupported_media_type", UNSUPPORTED_MEDIA_TYPE;
    InvalidFields = "invalid_fields", UNPROCESSABLE_ENTITY;
    BodyNotAnObject = "body_not_an_object", UNPROCESSABLE_ENTITY;
    TransactionIdTaken = "transaction_id_taken", UNPROCESSABLE_ENTITY;
    IdempotencyKeyReused = "idempotency_key_reused", UNPROCESSABLE_ENTITY;
    DailyLimitExceeded = "daily_limit_exceeded", UNPROCESSABLE_ENTITY;
    WalletLimitExceeded = "wallet_limit_exceeded", UNPROCESSABLE_ENTITY;
    RateLimited = "rate_limited", TOO_MANY_REQUESTS;
    RecipientQuotaExceeded = "recipient_quota_exceeded", TOO_MANY_REQUESTS;
    BusinessQuotaExceeded = "business_quota_exceeded", TOO_MANY_REQUESTS;
    InternalError = "internal_error", INTERNAL_SERVER_ERROR;
    MessageNotSent = "message_not_sent", BAD_GATEWAY;
    MessageOutcomeUnknown = "message_outcome_unknown", BAD_GATEWAY;
    NoAccountAvailable = "no_account_available", SERVICE_UNAVAILABLE;
    TooManyChanges = "too_many_changes", SERVICE_UNAVAILABLE;
    ServiceUnavailable = "service_unavailable", SERVICE_UNAVAILABLE;
    ServiceBusy = "service_busy", SERVICE_UNAVAILABLE;
}

macro_rules! field_codes {
    ($($name:ident = $word:literal $(, alone $code:ident)?;)+) => {
        /// What is wrong with one field of a body, or one parameter.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum FieldCode { $($name,)+ }

        impl FieldCode {
            pub const ALL: &[FieldCode] = &[$(FieldCode::$name,)+];

            pub const fn word(self) -> &'static str {
                match self { $(FieldCode::$name => $word,)+ }
            }

            /// The code of an answer whose only problem this is.
            pub const fn alone(self) -> Code {
                match self {
                    $($(FieldCode::$name => Code::$code,)?)+
                    _ => Code::InvalidFields,
                }
            }
        }
    };
}

field_codes! {
    Required = "required";
    NotAText = "not_a_text";
    NotANumber = "not_a_number";
    NotAWholeNumber = "not_a_whole_number";
    TooManyDecimals = "too_many_decimals";
    TooSmall = "too_small";
    TooLarge = "too_large";
    TooLong = "too_long";
    ControlCharacters = "control_characters";
    NoLetter = "no_letter";
    ReservedId = "reserved_id";
    InvalidUrl = "invalid_url";
    WebsiteNotApproved = "website_not_approved";
    WebhookUrlNotAllowed = "webhook_url_not_allowed";
    WebhookUrlNotSaved = "webhook_url_not_saved";
    ReturnUrlNotAllowed = "return_url_not_allowed";
    InvalidPhone = "invalid_phone";
    PaymentPageLink = "payment_page_link";
    Link = "link";
    InvisibleCharacters = "invisible_characters";
    WalletCode = "wallet_code";
    UnknownValue = "unknown_value";
    InvalidDate = "invalid_date";
    DatesReversed = "dates_reversed";
    OutOfRange = "out_of_range";
    UnknownCursor = "unknown_cursor";
    SentTwice = "sent_twice";
    NotAnObject = "not_an_object", alone BodyNotAnObject;
    TransactionIdTaken = "transaction_id_taken", alone TransactionIdTaken;
    IdempotencyKeyReused = "idempotency_key_reused", alone IdempotencyKeyReused;
    DailyLimitExceeded = "daily_limit_exceeded", alone DailyLimitExceeded;
    WalletLimitExceeded = "wallet_limit_exceeded", alone WalletLimitExceeded;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The first two cells of each row of the table under `heading` in docs/api.md.
    fn documented(heading: &str) -> Vec<(String, String)> {
        let text = include_str!("../../../docs/api.md");
        let section = text.split(&format!("\n### {heading}\n")).nth(1).unwrap();
        let section = section.split("\n#").next().unwrap();
        let cell = |text: &str| text.trim().trim_matches('`').to_owned();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
        rows.map(|row| row.split('|').map(cell))
            .map(|mut cells| (cells.next().unwrap(), cells.next().unwrap()))
            .collect()
    }

    #[test]
    fn the_documentation_has_every_code_with_its_status() {
        let rows = documented("Codes");
        let told: BTreeSet<_> = rows.iter().cloned().collect();
        let ours = Code::ALL.iter().map(|code| (code.word().to_owned(), code.status().as_u16().to_string()));
        assert_eq!(told, ours.collect());
        assert_eq!(rows.len(), Code::ALL.len(), "a code stands there twice");
    }

    #[test]
    fn the_documentation_has_every_code_of_a_field() {
        let rows = documented("Codes of fields");
        let told: BTreeSet<_> = rows.iter().map(|(word, _)| word.as_str()).collect();
        assert_eq!(told, FieldCode::ALL.iter().map(|code| code.word()).collect());
        assert_eq!(rows.len(), FieldCode::ALL.len(), "a code stands there twice");
    }

    #[test]
    fn words_are_of_one_form_and_a_lone_problem_stays_a_422() {
        let words =
            Code::ALL.iter().map(|code| code.word()).chain(FieldCode::ALL.iter().map(|code| code.word()));
        for word in words {
            let plain =
                word.split('_').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase()));
            assert!(plain, "{word}");
        }
        for code in FieldCode::ALL {
            assert_eq!(code.alone().status(), StatusCode::UNPROCESSABLE_ENTITY, "{code:?}");
        }
    }
}
