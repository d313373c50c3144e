//! A customer's wallet: its tier with limits, whether it may pay, and how much on one day.
//!
//! The balance is what the ledger's postings say; the row is moved with them. Amounts that go out
//! are counted per Lagos day. Locked means: too many wrong PINs, for a while; suspended: by an
//! operator, until that is taken back. Who asks and what is written is ops' matter.

use super::money::Money;
use super::phone::Phone;
use super::time::{Span, Timestamp};

/// Wrong PINs within [`TRIES_WINDOW`] that lock a wallet, and how long it stays locked unless the PIN
/// is reset with a code or an operator unlocks it.
pub const LOCK_AFTER: i64 = 10;
pub const LOCKED_FOR: Span = Span::hours(24);
pub const TRIES_WINDOW: Span = Span::hours(24);
/// A try that is being checked counts as wrong for so long; after that its process must have died.
pub const OPEN_TRY: Span = Span::seconds(60);
/// Wrong PINs within [`TRIES_WINDOW`] on payments of one business that stop them all, and how many of them one
/// wallet's can be: each wallet has its own lock, and two forgetful customers must not shut a shop.
pub const STOP_AFTER: i64 = 20;
pub const STOP_SHARE: i64 = 3;

/// How much is known of a wallet's holder: 1 the phone only, 2 and 3 more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tier(i64);

impl Tier {
    pub const FIRST: Tier = Tier(1);
    pub const ALL: [Tier; 3] = [Tier(1), Tier(2), Tier(3)];

    pub fn new(number: i64) -> Option<Tier> {
        (1..=3).contains(&number).then_some(Tier(number))
    }

    pub fn number(self) -> i64 {
        self.0
    }
}

/// What a tier allows; `None` is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TierLimits {
    /// The most a wallet may hold.
    pub balance: Option<Money>,
    /// The most that may go out on one Lagos day.
    pub daily: Option<Money>,
}

/// The limits of every tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiers(pub [TierLimits; 3]);

impl Tiers {
    /// contract/wallet.md#w4: 50,000 / 50,000, 200,000 / 200,000, no cap.
    pub const DEFAULT: Tiers = Tiers([
        TierLimits { balance: Some(Money(5_000_000)), daily: Some(Money(5_000_000)) },
        TierLimits { balance: Some(Money(20_000_000)), daily: Some(Money(20_000_000)) },
        TierLimits { balance: None, daily: None },
    ]);

    pub fn of(&self, tier: Tier) -> TierLimits {
        match tier.0 {
            1 => self.0[0],
            2 => self.0[1],
            _ => self.0[2],
        }
    }
}

/// Whether a wallet may pay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalletStatus {
    Active,
    /// Until then, for too many wrong PINs.
    Locked(Timestamp),
    Suspended,
}

impl WalletStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            WalletStatus::Active => "active",
            WalletStatus::Locked(_) => "locked",
            WalletStatus::Suspended => "suspended",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wallet {
    pub id: i64,
    pub phone: Phone,
    pub tier: Tier,
    pub suspended: bool,
    pub locked_until: Option<Timestamp>,
    /// As `vault::hasher` made it; `None` before the first PIN.
    pub pin: Option<Vec<u8>>,
    /// Raised by every new PIN; 0 before the first.
    pub pin_version: i64,
    pub balance: Money,
    pub spent_day: i64,
    pub spent: Money,
    pub pin_clock: i64,
    /// When the customer last wrote to us.
    pub wrote_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub version: i64,
}

impl Wallet {
    pub fn status(&self, now: Timestamp) -> WalletStatus {
        match self.locked_until {
            _ if self.suspended => WalletStatus::Suspended,
            Some(until) if now < until => WalletStatus::Locked(until),
            _ => WalletStatus::Active,
        }
    }

    pub fn has_pin(&self) -> bool {
        self.pin.is_some()
    }

    /// What went out on the Lagos day of `now`. A day that seems to come only tomorrow was begun by a node
    /// whose clock is ahead of ours: it is the same day's count.
    pub fn spent_on(&self, now: Timestamp) -> Money {
        if self.spent_day >= now.lagos_day() { self.spent } else { Money::ZERO }
    }

    /// Whether `amount` more may go out today.
    pub fn may_spend(&self, amount: Money, limits: TierLimits, now: Timestamp) -> bool {
        let total = self.spent_on(now).checked_add(amount);
        limits.daily.is_none_or(|most| total.is_some_and(|total| total <= most))
    }

    /// How much of `amount` is over what may still go out today.
    pub fn over_daily(&self, amount: Money, limits: TierLimits, now: Timestamp) -> Money {
        let Some(most) = limits.daily else { return Money::ZERO };
        let left = most.0.saturating_sub(self.spent_on(now).0).max(0);
        Money(amount.0.saturating_sub(left).max(0))
    }

    /// Whether the wallet may hold `more` beside what it has and `expected` besides.
    pub fn may_hold(&self, more: Money, expected: Money, limits: TierLimits) -> bool {
        let total = self.balance.checked_add(expected).and_then(|sum| sum.checked_add(more));
        limits.balance.is_none_or(|most| total.is_some_and(|total| total <= most))
    }
}

#[cfg(test)]
pub(crate) fn sample() -> Wallet {
    Wallet {
        id: 1,
        phone: Phone::from_digits("2348031234567").unwrap(),
        tier: Tier::FIRST,
        suspended: false,
        locked_until: None,
        pin: None,
        pin_version: 0,
        balance: Money(4_000_000),
        spent_day: 0,
        spent: Money(3_000_000),
        pin_clock: 0,
        wrote_at: None,
        created_at: Timestamp(0),
        version: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_count_a_lagos_day_and_end_with_it() {
        let wallet = sample();
        let limits = Tiers::DEFAULT.of(Tier::FIRST);
        let noon = Timestamp::from_utc_date(1970, 1, 1).unwrap() + Span::hours(12);
        assert!(wallet.may_spend(Money(2_000_000), limits, noon));
        assert!(!wallet.may_spend(Money(2_000_001), limits, noon));
        for (amount, over) in [(2_000_000, 0), (2_000_100, 100), (9_000_000, 7_000_000)] {
            assert_eq!(wallet.over_daily(Money(amount), limits, noon), Money(over));
        }
        // A clock that is behind does not begin the day anew.
        assert!(!wallet.may_spend(Money(2_000_001), limits, noon - Span::hours(24)));
        // 23:00 UTC is the next day in Lagos.
        assert!(wallet.may_spend(Money(5_000_000), limits, noon + Span::hours(11)));
        assert!(wallet.may_spend(Money(i64::MAX), Tiers::DEFAULT.of(Tier::new(3).unwrap()), noon));
    }

    #[test]
    fn what_is_expected_counts_against_the_balance() {
        let wallet = sample();
        let limits = Tiers::DEFAULT.of(Tier::FIRST);
        assert!(wallet.may_hold(Money(600_000), Money(400_000), limits));
        assert!(!wallet.may_hold(Money(600_001), Money(400_000), limits));
        assert!(!wallet.may_hold(Money(i64::MAX), Money(1), limits));
    }

    #[test]
    fn a_lock_ends_by_itself_and_suspension_does_not() {
        let mut wallet = Wallet { locked_until: Some(Timestamp(10)), ..sample() };
        assert_eq!(wallet.status(Timestamp(9)), WalletStatus::Locked(Timestamp(10)));
        assert_eq!(wallet.status(Timestamp(10)), WalletStatus::Active);
        wallet.suspended = true;
        assert_eq!(wallet.status(Timestamp(10)), WalletStatus::Suspended);
        assert_eq!((Tier::new(0), Tier::new(4)), (None, None));
    }
}
