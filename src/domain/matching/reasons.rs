//! Why an alert goes to a person: in words, with names and numbers, and as a kind that holds neither.
//!
//! The words are for whoever decides, the kinds for log lines. Used by `matching` alone; kinds are read by ops.

/// Of what kind a reason is that sends an alert to a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewKind {
    /// The bank's time lies in the future.
    Future,
    /// More payments than can be looked at.
    Limit,
    /// The payer may be the account's own holder.
    OwnTransfer,
    SeveralBeneficiaries,
    /// Payments of one beneficiary by different people.
    SeveralPayers,
    /// Another beneficiary's payment may be meant.
    AnotherBeneficiary,
    NoPayerName,
    NameClose,
    Time,
    TooLittle,
    TooMuch,
    PaymentEnded,
}

impl ReviewKind {
    pub fn as_str(self) -> &'static str {
        match self {
            ReviewKind::Future => "time_in_future",
            ReviewKind::Limit => "too_many_payments",
            ReviewKind::OwnTransfer => "own_transfer",
            ReviewKind::SeveralBeneficiaries => "several_beneficiaries",
            ReviewKind::SeveralPayers => "several_payers",
            ReviewKind::AnotherBeneficiary => "another_beneficiary",
            ReviewKind::NoPayerName => "no_payer_name",
            ReviewKind::NameClose => "name_close",
            ReviewKind::Time => "time_does_not_fit",
            ReviewKind::TooLittle => "too_little",
            ReviewKind::TooMuch => "too_much",
            ReviewKind::PaymentEnded => "payment_ended",
        }
    }
}

/// Reasons with their kinds, each kind once.
pub(super) struct Reasons {
    pub texts: Vec<String>,
    pub kinds: Vec<ReviewKind>,
}

impl Reasons {
    pub fn add(&mut self, kind: ReviewKind, text: impl Into<String>) {
        self.texts.push(text.into());
        if !self.kinds.contains(&kind) {
            self.kinds.push(kind);
        }
    }

    pub fn add_if(&mut self, condition: bool, kind: ReviewKind, text: &str) {
        if condition {
            self.add(kind, text);
        }
    }
}
