//! A payment and every legal step of its life.
//!
//! `pending -> approved` by an alert or a confirmed wallet intent, `pending -> rejected` by the
//! sweep or a person, and one exception: `rejected -> approved` when the sweep rejected it and an
//! operator approves it from an alert. Each step is a function that answers the changed payment or
//! a refusal; nothing else may change a status. `version` rises with every change and is what the
//! database guards.

use super::charges::{self, Charges, Quote, Schedule};
use super::merchant::Mode;
use super::money::Money;
use super::time::{Span, Timestamp};

/// Corrections one payment may have in 24 hours, and one business: a merchant must not fish for
/// other people's transfers (contract/payments.md#p41).
pub const CORRECTIONS_PER_PAYMENT: i64 = 10;
pub const CORRECTIONS_PER_BUSINESS: i64 = 100;
pub const CORRECTIONS_WINDOW: Span = Span::hours(24);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    Pending,
    Approved,
    Rejected,
}

impl Status {
    pub const ALL: [Status; 3] = [Status::Pending, Status::Approved, Status::Rejected];

    pub fn as_str(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Approved => "approved",
            Status::Rejected => "rejected",
        }
    }

    pub fn parse(word: &str) -> Option<Status> {
        match word {
            "pending" => Some(Status::Pending),
            "approved" => Some(Status::Approved),
            "rejected" => Some(Status::Rejected),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// By bank transfer into a receiving account.
    Transfer,
    /// From a customer's wallet, confirmed with a PIN.
    Wallet,
    /// Money for a customer's own wallet; no merchant is credited.
    Topup,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Transfer => "transfer",
            Kind::Wallet => "wallet",
            Kind::Topup => "topup",
        }
    }

    pub fn parse(word: &str) -> Option<Kind> {
        match word {
            "transfer" => Some(Kind::Transfer),
            "wallet" => Some(Kind::Wallet),
            "topup" => Some(Kind::Topup),
            _ => None,
        }
    }
}

/// What only some merchants give; kept as given. The BVN lives encrypted in the store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PayerDetails {
    pub bank: Option<String>,
    pub first_name: Option<String>,
    pub last_name: Option<String>,
    pub registration_number: Option<String>,
    pub service: Option<String>,
}

/// What the link to a payment's checkout page is made of, and where that page leads afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckoutLink {
    /// Random bytes of this row.
    pub nonce: Vec<u8>,
    /// Under what the payment of a token is found: a part of the token's hash.
    pub key: i64,
    pub return_url: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Payment {
    pub id: i64,
    pub business_id: i64,
    pub transaction_id: String,
    pub kind: Kind,
    pub mode: Mode,
    pub status: Status,
    pub version: i64,
    pub amount: Money,
    pub charges: Charges,
    pub business_receives: Money,
    /// Frozen when the payment was created.
    pub schedule: Schedule,
    pub payer_name: String,
    pub payer: PayerDetails,
    /// `None`: it has no address of its own (top-ups have none, nor has what is asked for at the till).
    pub webhook_url: Option<String>,
    pub website_id: Option<i64>,
    pub external_reference: Option<String>,
    pub account_id: Option<i64>,
    /// Who asked for it at the till of the shop; `None`: it was asked for elsewhere.
    pub till_user_id: Option<i64>,
    /// The wallet that pays, or that is topped up.
    pub wallet_id: Option<i64>,
    pub corrections: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub expires_at: Timestamp,
    /// End of the late window: an alert seen up to here may still approve.
    pub approvable_until: Timestamp,
    pub matched_at: Option<Timestamp>,
    pub approved_at: Option<Timestamp>,
    pub rejected_at: Option<Timestamp>,
    pub reject_reason: Option<String>,
    /// Rejected by the sweep, not by a person.
    pub swept: bool,
    pub reversed_at: Option<Timestamp>,
    pub settlement_id: Option<i64>,
    pub received: Option<Money>,
    pub is_mismatch: bool,
    pub mismatch_reason: Option<String>,
    pub name_mismatch: bool,
    /// A payment from a wallet has none, nor has one that was made before there were any.
    pub link: Option<CheckoutLink>,
}

/// What a bank-transfer payment begins with.
#[derive(Clone, Debug)]
pub struct TransferRequest {
    pub id: i64,
    pub business_id: i64,
    pub transaction_id: String,
    pub mode: Mode,
    /// Made with `schedule`, which is frozen on the payment.
    pub quote: Quote,
    pub schedule: Schedule,
    pub payer_name: String,
    pub payer: PayerDetails,
    pub webhook_url: Option<String>,
    pub website_id: Option<i64>,
    pub account_id: Option<i64>,
    pub till_user_id: Option<i64>,
    pub link: Option<CheckoutLink>,
    pub at: Timestamp,
    /// How long the merchant's customer has.
    pub expiry: Span,
    /// How long after that a late alert may still approve.
    pub late_window: Span,
}

/// Why an amount cannot be corrected. The texts are the API's (contract/payments.md#p41).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CorrectRefusal {
    #[error("Only bank-transfer payments can have their amount corrected")]
    NotATransfer,
    #[error("Only pending payments can have their amount corrected. Current status: {}", .0.as_str())]
    NotPending(Status),
    #[error("This payment has expired and cannot be corrected; create a new payment")]
    Expired,
    #[error(
        "The amount of this payment was corrected 10 times in the last 24 hours, which is the maximum; create a new payment"
    )]
    TooOften,
    #[error("Your business corrected 100 amounts in the last 24 hours, which is the maximum")]
    TooManyInBusiness,
    #[error("The amount plus charges is too large")]
    TooLarge,
    #[error(
        "A transfer of this amount could be mistaken for a transfer for another payment on the same account. \
         Create a new payment with the right amount instead"
    )]
    NotTellable,
}

/// Why a payment cannot be rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("only a pending payment can be rejected; this one is {}", .0.as_str())]
pub struct RejectRefusal(pub Status);

/// Why a payment cannot be approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApproveRefusal {
    #[error("the payment is already approved")]
    Approved,
    #[error("the payment was rejected by a person and stays rejected")]
    RejectedByPerson,
    #[error("the payment was rejected; only an operator may approve it")]
    Rejected,
}

/// Who approves: a rule, or a person (who alone may revive what the sweep rejected).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approver {
    Rule,
    Operator,
}

/// What an approval changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Approval {
    pub settlement_id: i64,
    pub received: Money,
    pub charges: Charges,
    pub business_receives: Money,
    pub is_mismatch: bool,
    pub mismatch_reason: Option<String>,
    pub name_mismatch: bool,
    /// Set for transfers, `None` for wallet payments.
    pub matched_at: Option<Timestamp>,
    pub at: Timestamp,
}

impl Payment {
    /// What of the amount are charges, where the customer pays them.
    pub fn charges_on_top(&self) -> Option<Money> {
        Some(self.charges.total()).filter(|charges| self.schedule.paid_by_customer && charges.is_positive())
    }

    /// A payment as it begins: pending, nothing received.
    pub fn requested(request: TransferRequest) -> Payment {
        let expires_at = request.at + request.expiry;
        Payment {
            id: request.id,
            business_id: request.business_id,
            transaction_id: request.transaction_id,
            kind: Kind::Transfer,
            mode: request.mode,
            status: Status::Pending,
            version: 1,
            amount: request.quote.amount,
            charges: request.quote.charges,
            business_receives: request.quote.business_receives,
            schedule: request.schedule,
            payer_name: request.payer_name,
            payer: request.payer,
            webhook_url: request.webhook_url,
            website_id: request.website_id,
            external_reference: None,
            account_id: request.account_id,
            till_user_id: request.till_user_id,
            wallet_id: None,
            corrections: 0,
            created_at: request.at,
            updated_at: request.at,
            expires_at,
            approvable_until: expires_at + request.late_window,
            matched_at: None,
            approved_at: None,
            rejected_at: None,
            reject_reason: None,
            swept: false,
            reversed_at: None,
            settlement_id: None,
            received: None,
            is_mismatch: false,
            mismatch_reason: None,
            name_mismatch: false,
            link: request.link,
        }
    }

    /// Expired for the merchant; a late alert may still approve it.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        now > self.expires_at
    }

    /// Amounts that would approve under the charges rule.
    pub fn rule_bounds(&self) -> Option<(Money, Money)> {
        match self.kind {
            Kind::Transfer => charges::rule_bounds(self.amount, self.charges.total()),
            Kind::Wallet | Kind::Topup => None,
        }
    }

    /// Whether one received amount could approve both, exactly or by the charges rule.
    pub fn shares_amount_with(&self, other: &Payment) -> bool {
        let ranges = |payment: &Payment| {
            [Some((payment.amount, payment.amount)), payment.rule_bounds()].into_iter().flatten()
        };
        ranges(self).any(|(low, high)| ranges(other).any(|(from, to)| low <= to && from <= high))
    }

    /// The payment with another base amount. `recent_*` count corrections of the last 24 hours.
    pub fn correct(
        &self,
        base: Money,
        now: Timestamp,
        recent_here: i64,
        recent_in_business: i64,
    ) -> Result<Payment, CorrectRefusal> {
        if self.kind != Kind::Transfer {
            return Err(CorrectRefusal::NotATransfer);
        }
        if self.status != Status::Pending {
            return Err(CorrectRefusal::NotPending(self.status));
        }
        if self.is_expired(now) {
            return Err(CorrectRefusal::Expired);
        }
        if recent_here >= CORRECTIONS_PER_PAYMENT {
            return Err(CorrectRefusal::TooOften);
        }
        if recent_in_business >= CORRECTIONS_PER_BUSINESS {
            return Err(CorrectRefusal::TooManyInBusiness);
        }
        let Quote { amount, charges, business_receives } =
            charges::quote(base, &self.schedule).ok_or(CorrectRefusal::TooLarge)?;
        Ok(Payment {
            amount,
            charges,
            business_receives,
            corrections: self.corrections + 1,
            updated_at: now,
            version: self.version + 1,
            ..self.clone()
        })
    }

    pub fn reject(&self, reason: &str, swept: bool, now: Timestamp) -> Result<Payment, RejectRefusal> {
        if self.status != Status::Pending {
            return Err(RejectRefusal(self.status));
        }
        Ok(Payment {
            status: Status::Rejected,
            rejected_at: Some(now),
            reject_reason: Some(reason.to_owned()),
            swept,
            updated_at: now,
            version: self.version + 1,
            ..self.clone()
        })
    }

    pub fn approve(&self, approval: Approval, by: Approver) -> Result<Payment, ApproveRefusal> {
        match (self.status, by) {
            (Status::Pending, _) => {}
            (Status::Rejected, Approver::Operator) if self.swept => {}
            (Status::Rejected, Approver::Operator) => return Err(ApproveRefusal::RejectedByPerson),
            (Status::Rejected, Approver::Rule) => return Err(ApproveRefusal::Rejected),
            (Status::Approved, _) => return Err(ApproveRefusal::Approved),
        }
        Ok(Payment {
            status: Status::Approved,
            matched_at: approval.matched_at,
            approved_at: Some(approval.at),
            rejected_at: None,
            reject_reason: None,
            swept: false,
            settlement_id: Some(approval.settlement_id),
            received: Some(approval.received),
            charges: approval.charges,
            business_receives: approval.business_receives,
            is_mismatch: approval.is_mismatch,
            mismatch_reason: approval.mismatch_reason,
            name_mismatch: approval.name_mismatch,
            updated_at: approval.at,
            version: self.version + 1,
            ..self.clone()
        })
    }
}

/// The figures of a settlement: what is credited of `received`, and whether it differs from what
/// was asked. Charges never exceed the money received; the fixed part shrinks first.
pub fn settle_figures(payment: &Payment, received: Money) -> (Charges, Money, Option<String>) {
    let charges = payment.charges.capped_at(received);
    let business_receives = Money(received.kobo() - charges.total().kobo());
    let reason = (received != payment.amount).then(|| {
        let difference = Money((payment.amount.kobo() - received.kobo()).abs());
        if received > payment.amount {
            format!("The received amount is {difference} more than requested")
        } else if matches!(payment.rule_bounds(), Some((low, high)) if low <= received && received <= high) {
            let about = if difference == payment.charges.total() { "" } else { "about " };
            format!(
                "The received amount is {difference} less than requested, which is {about}the amount of the charges"
            )
        } else {
            format!("The received amount is {difference} less than requested")
        }
    });
    (charges, business_receives, reason)
}
