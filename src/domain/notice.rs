//! What people are told of beside the pages, by mail and by the operator's own webhook, and how often. Pure.
//!
//! A notice has a kind and a cause: `money_taken_back` about `alert 57`. One cause is told at most once an hour; one that
//! goes on is told after one hour, then two, then four, at most once a day.

use super::time::{Span, Timestamp};

/// Between two notices of one cause.
const PAUSE: Span = Span::hours(1);
/// The longest pause while a cause goes on. One that rested for twice as long begins anew.
const PAUSE_MAX: Span = Span::hours(24);

/// What a notice is about. The first nine are the alarms of operators, as metrics name them; the others are a merchant's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoticeKind {
    AlertUndecided,
    MoneyTakenBack,
    MailNotProven,
    MailboxSilent,
    WrongPins,
    Messenger,
    PayoutUnclear,
    Registration,
    LimitsApart,
    WebhooksFailing,
    KeyExpiring,
    PayoutChanged,
}

impl NoticeKind {
    pub const ALARMS: [NoticeKind; 9] = [
        NoticeKind::AlertUndecided,
        NoticeKind::MoneyTakenBack,
        NoticeKind::MailNotProven,
        NoticeKind::MailboxSilent,
        NoticeKind::WrongPins,
        NoticeKind::Messenger,
        NoticeKind::PayoutUnclear,
        NoticeKind::Registration,
        NoticeKind::LimitsApart,
    ];
    /// Of merchants; each can be switched off by a business.
    pub const OF_MERCHANTS: [NoticeKind; 3] =
        [NoticeKind::WebhooksFailing, NoticeKind::KeyExpiring, NoticeKind::PayoutChanged];

    pub fn as_str(self) -> &'static str {
        match self {
            NoticeKind::AlertUndecided => "alert_undecided",
            NoticeKind::MoneyTakenBack => "money_taken_back",
            NoticeKind::MailNotProven => "mail_not_proven",
            NoticeKind::MailboxSilent => "mailbox_silent",
            NoticeKind::WrongPins => "wrong_pins",
            NoticeKind::Messenger => "messenger",
            NoticeKind::PayoutUnclear => "payout_unclear",
            NoticeKind::Registration => "registration",
            NoticeKind::LimitsApart => "limits_apart",
            NoticeKind::WebhooksFailing => "webhooks_failing",
            NoticeKind::KeyExpiring => "key_expiring",
            NoticeKind::PayoutChanged => "payout_changed",
        }
    }

    pub fn parse(word: &str) -> Option<NoticeKind> {
        let mut all = NoticeKind::ALARMS.into_iter().chain(NoticeKind::OF_MERCHANTS);
        all.find(|kind| kind.as_str() == word)
    }

    /// What happened, as a subject.
    pub fn title(self) -> &'static str {
        match self {
            NoticeKind::AlertUndecided => "An alert cannot be decided",
            NoticeKind::MoneyTakenBack => "Credited money may have been taken back",
            NoticeKind::MailNotProven => "A bank's mail could not be proven",
            NoticeKind::MailboxSilent => "A mailbox is not read",
            NoticeKind::WrongPins => "Wallet payments of a business are stopped",
            NoticeKind::Messenger => "No messages reach customers",
            NoticeKind::PayoutUnclear => "A payout may have failed, or been paid twice",
            NoticeKind::Registration => "A business waits for you",
            NoticeKind::LimitsApart => "Nodes do not share their rate limits",
            NoticeKind::WebhooksFailing => "Webhooks do not arrive",
            NoticeKind::KeyExpiring => "An API key is about to expire",
            NoticeKind::PayoutChanged => "A payout has changed",
        }
    }

    /// What is to be done about it.
    pub fn advice(self) -> &'static str {
        match self {
            NoticeKind::AlertUndecided => {
                "The service goes on trying. Until it succeeds nobody can approve or dismiss the alert. Read why in the log, \
                 and look at the database and its disk."
            }
            NoticeKind::MoneyTakenBack => {
                "Look at the bank's statement. If the money is gone, reverse the payment and name the alert; if not, dismiss \
                 the alert that reports it."
            }
            NoticeKind::MailNotProven => {
                "The mail stays in quarantine. Check that names resolve on this machine and that the bank's DKIM key is in \
                 DNS; then read the alert again, or look at the bank's statement and approve it by hand."
            }
            NoticeKind::MailboxSilent => {
                "Payments to its accounts go unnoticed until it is read. Check the mail server, the password and the network; \
                 reading goes on where it stopped."
            }
            NoticeKind::WrongPins => {
                "Too many wrong PINs were typed on its payments. Talk to the business, then switch its wallet on again."
            }
            NoticeKind::Messenger => {
                "WhatsApp accepts nothing until somebody acts: customers get no links and no codes. The log says why; most \
                 often the token, the template or the number."
            }
            NoticeKind::PayoutUnclear => {
                "Look at the bank's statement and at the payout. If its money came back, send it again; if it was sent twice, \
                 ask the bank to return the second transfer."
            }
            NoticeKind::Registration => {
                "It works in test mode. Look who it is, and let it take real money or decline it on its page."
            }
            NoticeKind::LimitsApart => {
                "Redis does not answer, so each node counts for itself and callers get more than their limit. Nothing else is \
                 affected. Look at the Redis server and at redis.url."
            }
            NoticeKind::WebhooksFailing => {
                "The money is credited, but your server is not told. Look at the attempts and what your server answered, \
                 repair it, and send the failed ones again."
            }
            NoticeKind::KeyExpiring => "Add a new key, use it in your software, and then revoke this one.",
            NoticeKind::PayoutChanged => "Look at the payout in the dashboard.",
        }
    }
}

/// When a cause was told last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    pub at: Timestamp,
    /// How often in a row, this one included.
    pub times: i64,
}

/// Whether a cause is to be told now: what is kept of it then. `None`: it was told lately.
pub fn next_telling(last: Option<Told>, now: Timestamp) -> Option<Told> {
    let Some(last) = last else { return Some(Told { at: now, times: 1 }) };
    if now >= last.at + PAUSE_MAX + PAUSE_MAX {
        return Some(Told { at: now, times: 1 });
    }
    (now >= last.at + pause_after(last.times))
        .then_some(Told { at: now, times: last.times.saturating_add(1) })
}

fn pause_after(times: i64) -> Span {
    PAUSE.doubled(times.saturating_sub(1), PAUSE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp(1_700_000_000_000_000);

    #[test]
    fn what_goes_on_is_told_after_growing_pauses() {
        let (mut told, mut now, mut hours) = (next_telling(None, START), START, Vec::new());
        for _ in 0..(6 * 24 * 60) {
            now = now + Span::minutes(1);
            if let Some(next) = next_telling(told, now) {
                hours.push(now.since(START).0 / Span::hours(1).0);
                told = Some(next);
            }
        }
        assert_eq!(hours, [1, 3, 7, 15, 31, 55, 79, 103, 127]);
    }

    #[test]
    fn what_rested_begins_anew() {
        let long = Some(Told { at: START, times: 9 });
        assert_eq!(next_telling(long, START + Span::hours(24) - Span(1)), None);
        let now = START + Span::hours(24);
        assert_eq!(next_telling(long, now), Some(Told { at: now, times: 10 }));
        let now = START + Span::hours(48);
        assert_eq!(next_telling(long, now), Some(Told { at: now, times: 1 }));
    }

    #[test]
    fn nothing_is_told_twice_within_the_hour() {
        for times in [1, 2, 9, i64::MAX] {
            let last = Some(Told { at: START, times });
            assert_eq!(next_telling(last, START + Span::minutes(60) - Span(1)), None, "{times}");
        }
        let now = START + Span::minutes(60);
        assert_eq!(next_telling(Some(Told { at: START, times: 1 }), now), Some(Told { at: now, times: 2 }));
        // A clock that was set back.
        assert_eq!(next_telling(Some(Told { at: START, times: 1 }), START - Span::hours(5)), None);
    }

    #[test]
    fn kinds_are_known_by_their_names() {
        for kind in NoticeKind::ALARMS.into_iter().chain(NoticeKind::OF_MERCHANTS) {
            assert_eq!(NoticeKind::parse(kind.as_str()), Some(kind));
            assert!(!kind.title().is_empty() && kind.advice().ends_with('.'), "{kind:?}");
        }
        assert_eq!(NoticeKind::parse("alarm"), None);
    }
}
