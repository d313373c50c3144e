//! Money that came and waits for a person, while it may pay one payment and no other: what is told of it to those who
//! watch that payment, the payer and the shop. Never whose money it is.
//!
//! Written beside the decision that leaves an alert to a person. What it was then is kept; what it is now follows from
//! the payment, whose amount may be corrected and whose time may end meanwhile.

use super::matching::{
    AmountFit, CLOCK_SLACK, Considered, Decision, Interval, ReviewKind, TimeFit, Verdicts,
};
use super::money::Money;
use super::name::NameVerdict;
use super::payment::{Payment, Status};
use super::time::Timestamp;

/// Why no rule approved it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArrivalKind {
    /// Name and amount fit, but it came after the payment's time.
    Late,
    /// The name fits, and less came than was asked for.
    TooLittle,
    /// The name fits, and more came.
    TooMuch,
    /// The amount fits, and the name does not.
    OtherName,
    /// A person looks at it for another reason, of which nothing is told.
    Waiting,
}

impl ArrivalKind {
    pub const ALL: [ArrivalKind; 5] = [
        ArrivalKind::Late,
        ArrivalKind::TooLittle,
        ArrivalKind::TooMuch,
        ArrivalKind::OtherName,
        ArrivalKind::Waiting,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            ArrivalKind::Late => "late",
            ArrivalKind::TooLittle => "too_little",
            ArrivalKind::TooMuch => "too_much",
            ArrivalKind::OtherName => "other_name",
            ArrivalKind::Waiting => "waiting",
        }
    }

    pub fn parse(word: &str) -> Option<ArrivalKind> {
        ArrivalKind::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArrivalEnd {
    /// It paid the payment.
    Approved,
    /// It paid another one.
    Elsewhere,
    /// Other money paid the payment.
    Paid,
    /// A person rejected the payment, which nothing can pay any more.
    Rejected,
    /// A person put the alert aside.
    Dismissed,
    /// A debit or reversal may have taken it back.
    TakenBack,
    /// The alert was decided again, and more or others may be meant.
    DecidedAgain,
}

impl ArrivalEnd {
    pub const ALL: [ArrivalEnd; 7] = [
        ArrivalEnd::Approved,
        ArrivalEnd::Elsewhere,
        ArrivalEnd::Paid,
        ArrivalEnd::Rejected,
        ArrivalEnd::Dismissed,
        ArrivalEnd::TakenBack,
        ArrivalEnd::DecidedAgain,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            ArrivalEnd::Approved => "approved",
            ArrivalEnd::Elsewhere => "elsewhere",
            ArrivalEnd::Paid => "paid",
            ArrivalEnd::Rejected => "rejected",
            ArrivalEnd::Dismissed => "dismissed",
            ArrivalEnd::TakenBack => "taken_back",
            ArrivalEnd::DecidedAgain => "decided_again",
        }
    }

    pub fn parse(word: &str) -> Option<ArrivalEnd> {
        ArrivalEnd::ALL.into_iter().find(|end| end.as_str() == word)
    }
}

/// Money that waits for a payment, or waited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    pub id: i64,
    pub alert_id: i64,
    pub payment_id: i64,
    pub business_id: i64,
    /// What it was when it came; [`Arrival::kind_now`] says what it is.
    pub kind: ArrivalKind,
    pub received: Money,
    /// The bank's time, or the end of what may be it.
    pub occurred_at: Timestamp,
    pub made_at: Timestamp,
    pub ended: Option<(Timestamp, ArrivalEnd)>,
}

impl Arrival {
    /// What is to be told of it, as its payment stands now.
    pub fn kind_now(&self, payment: &Payment) -> ArrivalKind {
        match (self.kind, AmountFit::of(payment, self.received)) {
            (ArrivalKind::Waiting | ArrivalKind::OtherName, _) => self.kind,
            (_, AmountFit::Under) => ArrivalKind::TooLittle,
            (_, AmountFit::Over) => ArrivalKind::TooMuch,
            (ArrivalKind::Late, _) => ArrivalKind::Late,
            // The amount was corrected to what came: it is decided again.
            (_, _) if payment.status == Status::Pending => ArrivalKind::Waiting,
            (_, _) => ArrivalKind::Late,
        }
    }
}

/// What money is that a decision leaves to a person, of the one payment that it may be for. `is_doubted`: something
/// speaks against it that is neither its name, its amount nor its time, or it shows no name.
pub fn kind_of(
    decision: &Decision,
    considered: &Considered,
    payment: &Payment,
    (time, first_seen): (Interval, Timestamp),
    is_doubted: bool,
) -> ArrivalKind {
    let is_told = match &decision.verdict {
        Verdicts::Approve { .. } => false,
        Verdicts::Unmatched { .. } => true,
        Verdicts::Review { kinds, .. } => kinds.iter().all(|kind| tells_of_fit(*kind)),
    };
    if is_doubted || !is_told {
        return ArrivalKind::Waiting;
    }
    let is_early = payment.created_at >= first_seen || payment.created_at > time.end + CLOCK_SLACK;
    let is_open = payment.status == Status::Pending;
    match (considered.name, considered.amount_fit) {
        (_, _) if is_early => ArrivalKind::Waiting,
        (NameVerdict::Match, AmountFit::Under) => ArrivalKind::TooLittle,
        (NameVerdict::Match, AmountFit::Over) => ArrivalKind::TooMuch,
        (NameVerdict::Match, _) if !is_open || considered.time_fit != TimeFit::Fits => ArrivalKind::Late,
        (NameVerdict::Close | NameVerdict::Different, AmountFit::Exact | AmountFit::ChargesRule)
            if is_open && considered.time_fit == TimeFit::Fits =>
        {
            ArrivalKind::OtherName
        }
        _ => ArrivalKind::Waiting,
    }
}

/// Reasons that lie in the payment's name, amount or time alone.
fn tells_of_fit(kind: ReviewKind) -> bool {
    match kind {
        ReviewKind::NameClose
        | ReviewKind::Time
        | ReviewKind::TooLittle
        | ReviewKind::TooMuch
        | ReviewKind::PaymentEnded => true,
        ReviewKind::Future
        | ReviewKind::Limit
        | ReviewKind::OwnTransfer
        | ReviewKind::SeveralBeneficiaries
        | ReviewKind::SeveralPayers
        | ReviewKind::AnotherBeneficiary
        | ReviewKind::NoPayerName => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words stand in databases.
    #[test]
    fn stored_words_stay_as_they_are() {
        let kinds = ["late", "too_little", "too_much", "other_name", "waiting"];
        assert_eq!(ArrivalKind::ALL.map(ArrivalKind::as_str), kinds);
        let ends = ["approved", "elsewhere", "paid", "rejected", "dismissed", "taken_back", "decided_again"];
        assert_eq!(ArrivalEnd::ALL.map(ArrivalEnd::as_str), ends);
        for kind in ArrivalKind::ALL {
            assert_eq!(ArrivalKind::parse(kind.as_str()), Some(kind));
        }
        for end in ArrivalEnd::ALL {
            assert_eq!(ArrivalEnd::parse(end.as_str()), Some(end));
        }
    }
}
