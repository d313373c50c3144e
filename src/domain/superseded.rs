//! Which events hold no more: what was to be told, but what became of its payment since says otherwise.

use super::event::EventKind;
use super::payment::Status;

/// Why an event is not to be sent any more: its text is kept for a stated time, and from what became of its payment since,
/// nobody delivers goods for money that went back.
pub fn superseded(
    kind: &str,
    status: Option<Status>,
    is_reversed: bool,
    is_reduced: bool,
) -> Option<&'static str> {
    if is_reduced {
        return Some("its text is not kept any more");
    }
    match EventKind::parse(kind)? {
        EventKind::PaymentApproved if is_reversed => Some("the payment was reversed"),
        EventKind::PaymentRejected if status == Some(Status::Approved) => {
            Some("the payment was approved after all")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_no_more_is_told_from_what_does() {
        let superseded =
            |kind: EventKind, status, reversed| superseded(kind.as_str(), status, reversed, false).is_some();
        let approved = Some(Status::Approved);
        assert!(superseded(EventKind::PaymentApproved, approved, true));
        assert!(!superseded(EventKind::PaymentApproved, approved, false));
        assert!(!superseded(EventKind::PaymentReversed, approved, true));
        assert!(superseded(EventKind::PaymentRejected, approved, false));
        assert!(!superseded(EventKind::PaymentRejected, Some(Status::Rejected), false));
        assert!(!superseded(EventKind::PayoutPaid, None, false));
        let text = "its text is not kept any more";
        assert_eq!(super::superseded("payout.paid", None, false, true), Some(text));
        assert_eq!(super::superseded("of_another_release", None, false, true), Some(text));
    }
}
