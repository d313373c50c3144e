//! The paths of the service, as routes, logs and metrics call them.

/// Under this everything is the API, and counts against its limits.
pub const API: &str = "/api/v1";

pub const PAYMENT_REQUEST: &str = "/api/v1/payment-request";
pub const PAYMENT: &str = "/api/v1/payment/{transaction_id}";
pub const PAYMENT_AMOUNT: &str = "/api/v1/payment/{transaction_id}/amount";
pub const PAYMENTS: &str = "/api/v1/payments";
pub const EVENTS: &str = "/api/v1/events";
/// As they happen, in test mode.
pub const EVENTS_STREAM: &str = "/api/v1/events/stream";
pub const EVENT: &str = "/api/v1/events/{id}";
pub const EVENT_RESEND: &str = "/api/v1/events/{id}/resend";
pub const BALANCE: &str = "/api/v1/balance";
pub const BALANCE_ENTRIES: &str = "/api/v1/balance/entries";
pub const PAYOUT_ACCOUNTS: &str = "/api/v1/payout-accounts";
pub const PAYOUTS: &str = "/api/v1/payouts";
pub const PAYOUT: &str = "/api/v1/payouts/{id}";
pub const PAYOUT_CANCEL: &str = "/api/v1/payouts/{id}/cancel";
/// Test mode.
pub const TEST_ALERTS: &str = "/api/v1/test/alerts";
/// The wallet's routes, as logs and metrics call them; the prefix is the operator's.
pub const WALLET_LOOKUP: &str = "/api/v1/{wallet}/lookup";
pub const WALLET_ENSURE: &str = "/api/v1/{wallet}/ensure";
pub const WALLET_MESSAGE: &str = "/api/v1/{wallet}/send-message";
pub const WALLET_PAY: &str = "/api/v1/{wallet}/pay/start";
pub const WALLET_TOPUP: &str = "/api/v1/{wallet}/topup";
/// The API's own description.
pub const OPENAPI: &str = "/openapi.json";
/// The API to read and to try.
pub const DOCS: &str = "/docs";
pub const DOCS_PART: &str = "/docs/{part}";
/// Where Meta tells what became of messages; only where its secrets are configured.
pub const WHATSAPP: &str = "/whatsapp/webhook";
/// The page behind a confirm link. Everything below `/pay` is such a link, good or not.
pub const PAY: &str = "/pay/{token}";
/// The checkout page of a payment, what tells of its changes, and how it stands. Everything below `/c` is such a link,
/// good or not.
pub const CHECKOUT: &str = "/c/{token}";
pub const CHECKOUT_EVENTS: &str = "/c/{token}/events";
pub const CHECKOUT_STATE: &str = "/c/{token}/state";
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
/// Somebody opens a business himself, and the link by which he proves his address.
pub const REGISTER: &str = "/register";
pub const REGISTERED: &str = "/register/{token}";
pub const CONFIRM_PASSWORD: &str = "/confirm-password";
/// One's own account.
pub const ME: &str = "/me";
/// The merchant's pages.
pub const DASHBOARD: &str = "/dashboard";
pub const DASHBOARD_PAYMENTS: &str = "/dashboard/payments";
pub const DASHBOARD_NEW_PAYMENT: &str = "/dashboard/payments/new";
pub const DASHBOARD_PAYMENT: &str = "/dashboard/payments/{transaction_id}";
/// The screen on a shop's counter, and what it follows.
pub const DASHBOARD_TILL: &str = "/dashboard/till";
pub const DASHBOARD_TILL_EVENTS: &str = "/dashboard/till/events";
pub const DASHBOARD_BALANCE: &str = "/dashboard/balance";
pub const DASHBOARD_PAYOUTS: &str = "/dashboard/payouts";
pub const DASHBOARD_WALLET: &str = "/dashboard/wallet";
pub const DASHBOARD_KEYS: &str = "/dashboard/keys";
pub const DASHBOARD_WEBSITES: &str = "/dashboard/websites";
pub const DASHBOARD_WEBHOOKS: &str = "/dashboard/webhooks";
pub const DASHBOARD_REQUESTS: &str = "/dashboard/requests";
pub const DASHBOARD_TEAM: &str = "/dashboard/team";
pub const DASHBOARD_ACTIVITY: &str = "/dashboard/activity";
pub const DASHBOARD_SETTINGS: &str = "/dashboard/settings";
/// The operator's desk.
pub const OPERATOR: &str = "/operator";
pub const OPERATOR_ALERTS: &str = "/operator/alerts";
pub const OPERATOR_ALERT: &str = "/operator/alerts/{id}";
pub const OPERATOR_PAYMENTS: &str = "/operator/payments";
/// Of the business that `?business=` names.
pub const OPERATOR_PAYMENT: &str = "/operator/payments/{transaction_id}";
pub const OPERATOR_BUSINESSES: &str = "/operator/businesses";
pub const OPERATOR_BUSINESS: &str = "/operator/businesses/{id}";
pub const OPERATOR_ACCOUNTS: &str = "/operator/accounts";
pub const OPERATOR_PAYOUTS: &str = "/operator/payouts";
pub const OPERATOR_WALLETS: &str = "/operator/wallets";
pub const OPERATOR_WEBHOOKS: &str = "/operator/webhooks";
pub const OPERATOR_WEBHOOK: &str = "/operator/webhooks/{id}";
pub const OPERATOR_MAILBOXES: &str = "/operator/mailboxes";
pub const OPERATOR_BANKS: &str = "/operator/banks";
pub const OPERATOR_USERS: &str = "/operator/users";
pub const OPERATOR_ACTIVITY: &str = "/operator/activity";
pub const OPERATOR_AUDIT: &str = "/operator/audit";
/// What no route of ours answered.
pub const UNROUTED: &str = "unrouted";

/// Names that logs and metrics know.
pub const ROUTES: [&str; 78] = [
    PAYMENT_REQUEST,
    PAYMENT,
    PAYMENT_AMOUNT,
    PAYMENTS,
    EVENTS,
    EVENTS_STREAM,
    EVENT,
    EVENT_RESEND,
    BALANCE,
    BALANCE_ENTRIES,
    PAYOUT_ACCOUNTS,
    PAYOUTS,
    PAYOUT,
    PAYOUT_CANCEL,
    TEST_ALERTS,
    WALLET_LOOKUP,
    WALLET_ENSURE,
    WALLET_MESSAGE,
    WALLET_PAY,
    WALLET_TOPUP,
    OPENAPI,
    DOCS,
    DOCS_PART,
    WHATSAPP,
    PAY,
    CHECKOUT,
    CHECKOUT_EVENTS,
    CHECKOUT_STATE,
    LOGO,
    ICON,
    ASSET,
    START,
    SIGN_IN,
    SIGN_IN_CODE,
    SIGN_OUT,
    WELCOME,
    FORGOT,
    REGISTER,
    REGISTERED,
    CONFIRM_PASSWORD,
    ME,
    DASHBOARD,
    DASHBOARD_PAYMENTS,
    DASHBOARD_NEW_PAYMENT,
    DASHBOARD_PAYMENT,
    DASHBOARD_TILL,
    DASHBOARD_TILL_EVENTS,
    DASHBOARD_BALANCE,
    DASHBOARD_PAYOUTS,
    DASHBOARD_WALLET,
    DASHBOARD_KEYS,
    DASHBOARD_WEBSITES,
    DASHBOARD_WEBHOOKS,
    DASHBOARD_REQUESTS,
    DASHBOARD_TEAM,
    DASHBOARD_ACTIVITY,
    DASHBOARD_SETTINGS,
    OPERATOR,
    OPERATOR_ALERTS,
    OPERATOR_ALERT,
    OPERATOR_PAYMENTS,
    OPERATOR_PAYMENT,
    OPERATOR_BUSINESSES,
    OPERATOR_BUSINESS,
    OPERATOR_ACCOUNTS,
    OPERATOR_PAYOUTS,
    OPERATOR_WALLETS,
    OPERATOR_WEBHOOKS,
    OPERATOR_WEBHOOK,
    OPERATOR_MAILBOXES,
    OPERATOR_BANKS,
    OPERATOR_USERS,
    OPERATOR_ACTIVITY,
    OPERATOR_AUDIT,
    "/healthz",
    "/readyz",
    "/metrics",
    UNROUTED,
];
