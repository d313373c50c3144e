//! The paths of the service, as routes, logs and metrics call them.

/// Under this everything is the API, and counts against its limits.
pub const API: &str = "/api/v1";

pub const PAYMENT_REQUEST: &str = "/api/v1/payment-request";
pub const PAYMENT: &str = "/api/v1/payment/{transaction_id}";
pub const PAYMENT_AMOUNT: &str = "/api/v1/payment/{transaction_id}/amount";
pub const PAYMENTS: &str = "/api/v1/payments";
/// The wallet's routes, as logs and metrics call them; the prefix is the operator's.
pub const WALLET_LOOKUP: &str = "/api/v1/{wallet}/lookup";
pub const WALLET_ENSURE: &str = "/api/v1/{wallet}/ensure";
pub const WALLET_MESSAGE: &str = "/api/v1/{wallet}/send-message";
pub const WALLET_PAY: &str = "/api/v1/{wallet}/pay/start";
pub const WALLET_TOPUP: &str = "/api/v1/{wallet}/topup";
/// Where Meta tells what became of messages; only where its secrets are configured.
pub const WHATSAPP: &str = "/whatsapp/webhook";
/// The page behind a confirm link. Everything below `/pay` is such a link, good or not.
pub const PAY: &str = "/pay/{token}";
/// The operator's logo; only where one is configured.
pub const LOGO: &str = "/brand/logo";
/// The icon of every page.
pub const ICON: &str = "/brand/icon.svg";
/// What pages load; the hash is of the file.
pub const ASSET: &str = "/assets/{hash}/{name}";
/// Where people who sign in begin.
pub const START: &str = "/";
pub const SIGN_IN: &str = "/sign-in";
pub const SIGN_IN_CODE: &str = "/sign-in/code";
pub const SIGN_OUT: &str = "/sign-out";
/// A link to a password.
pub const WELCOME: &str = "/welcome/{token}";
pub const FORGOT: &str = "/forgot";
pub const CONFIRM_PASSWORD: &str = "/confirm-password";
/// One's own account.
pub const ME: &str = "/me";
/// The operator's desk.
pub const OPERATOR: &str = "/operator";
pub const OPERATOR_ALERTS: &str = "/operator/alerts";
pub const OPERATOR_ALERT: &str = "/operator/alerts/{id}";
/// What no route of ours answered.
pub const UNROUTED: &str = "unrouted";

/// Names that logs and metrics know.
pub const ROUTES: [&str; 29] = [
    PAYMENT_REQUEST,
    PAYMENT,
    PAYMENT_AMOUNT,
    PAYMENTS,
    WALLET_LOOKUP,
    WALLET_ENSURE,
    WALLET_MESSAGE,
    WALLET_PAY,
    WALLET_TOPUP,
    WHATSAPP,
    PAY,
    LOGO,
    ICON,
    ASSET,
    START,
    SIGN_IN,
    SIGN_IN_CODE,
    SIGN_OUT,
    WELCOME,
    FORGOT,
    CONFIRM_PASSWORD,
    ME,
    OPERATOR,
    OPERATOR_ALERTS,
    OPERATOR_ALERT,
    "/healthz",
    "/readyz",
    "/metrics",
    UNROUTED,
];
