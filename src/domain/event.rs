//! The events that merchants are told of: their names, and which of them a business chooses.
//!
//! Some are always sent, the others only where the business switched them on. A name never changes its meaning.

use std::fmt;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    PaymentApproved,
    PaymentReversed,
    PaymentRejected,
    /// Money that no rule approves came for it: too late, too little, too much.
    PaymentLate,
    PaymentUnderpaid,
    PaymentOverpaid,
    PaymentAmountCorrected,
    WalletToppedUp,
    PayoutPaid,
    PayoutRefused,
    /// Somebody tries a target.
    WebhookTest,
}

impl EventKind {
    /// In the order in which they are listed for people.
    pub const ALL: [EventKind; 11] = [
        EventKind::PaymentApproved,
        EventKind::PaymentReversed,
        EventKind::PaymentRejected,
        EventKind::PaymentLate,
        EventKind::PaymentUnderpaid,
        EventKind::PaymentOverpaid,
        EventKind::PaymentAmountCorrected,
        EventKind::WalletToppedUp,
        EventKind::PayoutPaid,
        EventKind::PayoutRefused,
        EventKind::WebhookTest,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            EventKind::PaymentApproved => "payment.approved",
            EventKind::PaymentReversed => "payment.reversed",
            EventKind::PaymentRejected => "payment.rejected",
            EventKind::PaymentLate => "payment.late",
            EventKind::PaymentUnderpaid => "payment.underpaid",
            EventKind::PaymentOverpaid => "payment.overpaid",
            EventKind::PaymentAmountCorrected => "payment.amount_corrected",
            EventKind::WalletToppedUp => "wallet.topped_up",
            EventKind::PayoutPaid => "payout.paid",
            EventKind::PayoutRefused => "payout.refused",
            EventKind::WebhookTest => "webhook.test",
        }
    }

    pub fn parse(word: &str) -> Option<EventKind> {
        EventKind::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Of two events of one payment that have one, the lower one happened first, whatever the clocks of two nodes say.
    pub fn step(self) -> Option<u8> {
        match self {
            EventKind::PaymentRejected => Some(1),
            EventKind::PaymentApproved => Some(2),
            EventKind::PaymentReversed => Some(3),
            _ => None,
        }
    }

    /// Sent only where the business switched it on.
    pub fn is_by_choice(self) -> bool {
        !matches!(self, EventKind::PaymentApproved | EventKind::PaymentReversed | EventKind::WebhookTest)
    }

    /// When it is sent, for people.
    pub fn when(self) -> &'static str {
        match self {
            EventKind::PaymentApproved => "when the money for a payment is here",
            EventKind::PaymentReversed => "when the money of a payment went back",
            EventKind::PaymentRejected => {
                "when a payment is rejected: in time, by a person, or by its customer"
            }
            EventKind::PaymentLate => "when money for a payment came too late, and waits for a person",
            EventKind::PaymentUnderpaid => "when too little came for a payment, and waits for a person",
            EventKind::PaymentOverpaid => "when too much came for a payment, and waits for a person",
            EventKind::PaymentAmountCorrected => "when the amount of a payment is corrected",
            EventKind::WalletToppedUp => "when a customer's wallet is topped up",
            EventKind::PayoutPaid => "when a payout is paid",
            EventKind::PayoutRefused => "when a payout is refused",
            EventKind::WebhookTest => "when somebody tries a webhook address",
        }
    }
}

/// The events that a business switched on, of those that are by choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen(Vec<EventKind>);

impl Chosen {
    /// In their usual order, each once; those that are always sent are left out.
    pub fn of(kinds: &[EventKind]) -> Chosen {
        let is_chosen = |kind: &EventKind| kind.is_by_choice() && kinds.contains(kind);
        Chosen(EventKind::ALL.into_iter().filter(is_chosen).collect())
    }

    /// `payment.rejected,payout.paid`; an empty text, or `none`, is none. The error is the first name that is not one of an
    /// event by choice.
    pub fn parse(text: &str) -> Result<Chosen, String> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty() && *name != "none");
        let kind = |name: &str| {
            EventKind::parse(name).filter(|kind| kind.is_by_choice()).ok_or_else(|| name.to_owned())
        };
        Ok(Chosen::of(&names.map(kind).collect::<Result<Vec<_>, _>>()?))
    }

    /// Whether the business is told of it.
    pub fn includes(&self, kind: EventKind) -> bool {
        !kind.is_by_choice() || self.0.contains(&kind)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Chosen {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|kind| kind.as_str()).collect();
        out.write_str(&names.join(","))
    }
}

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ID_PREFIX: &str = "msg_";
/// 62^22 is more than 2^128.
const ID_CHARS: usize = 22;

/// The `webhook-id` of an event, of 128 random bits.
pub fn event_id(random: u128) -> String {
    let mut left = random;
    let mut id = String::with_capacity(ID_PREFIX.len() + ID_CHARS);
    id.push_str(ID_PREFIX);
    for _ in 0..ID_CHARS {
        id.push(char::from(BASE62[(left % 62) as usize]));
        left /= 62;
    }
    id
}

/// Whether a text has the form of an event's id.
pub fn is_event_id(text: &str) -> bool {
    let rest = text.strip_prefix(ID_PREFIX);
    rest.is_some_and(|rest| rest.len() == ID_CHARS && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_back_as_its_kind() {
        for kind in EventKind::ALL {
            assert_eq!(EventKind::parse(kind.as_str()), Some(kind));
        }
        assert_eq!(EventKind::parse("payment.Approved"), None);
    }

    #[test]
    fn a_choice_is_read_as_it_is_written_and_never_takes_an_approval_away() {
        let chosen = Chosen::parse("payout.paid, payment.rejected,payout.paid").unwrap();
        assert_eq!(chosen.to_string(), "payment.rejected,payout.paid");
        assert_eq!(Chosen::parse(&chosen.to_string()).unwrap(), chosen);
        assert!(chosen.includes(EventKind::PayoutPaid) && !chosen.includes(EventKind::PayoutRefused));
        for none in ["", "none", " , "] {
            let none = Chosen::parse(none).unwrap();
            assert!(none.is_empty() && none.includes(EventKind::PaymentApproved), "{none}");
        }
        for bad in ["payment.approved", "webhook.test", "payment.eaten"] {
            assert_eq!(Chosen::parse(&format!("payout.paid,{bad}")), Err(bad.to_owned()));
        }
    }

    #[test]
    fn an_id_has_its_own_form_and_no_other() {
        for random in [0, 1, 62, u128::MAX] {
            assert!(is_event_id(&event_id(random)), "{random}");
        }
        assert_ne!(event_id(1), event_id(2));
        let good = event_id(7);
        for bad in
            ["", "msg_", &good[1..], &good[..25], &format!("{good}0"), "msg_000000000000000000000-", "17"]
        {
            assert!(!is_event_id(bad), "{bad}");
        }
    }
}
