//! Double entry: every movement of money is an [`Entry`] whose postings sum to zero.
//!
//! Nothing is edited: a mistake is undone by its mirror. House accounts (`clearing`, `fees`,
//! `adjustments`) are sums of postings; a merchant's or a wallet's account, and what is set aside of a
//! merchant's, also has a balance row, moved in the same Unit and compared with its postings by the audit.

use super::merchant::Mode;
use super::money::Money;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Debit,
    Credit,
}

impl Side {
    pub fn as_str(self) -> &'static str {
        match self {
            Side::Debit => "debit",
            Side::Credit => "credit",
        }
    }

    pub fn parse(word: &str) -> Option<Side> {
        match word {
            "debit" => Some(Side::Debit),
            "credit" => Some(Side::Credit),
            _ => None,
        }
    }

    fn other(self) -> Side {
        match self {
            Side::Debit => Side::Credit,
            Side::Credit => Side::Debit,
        }
    }
}

/// An account of the ledger. Its text form is what the database keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LedgerAccount {
    /// Money that arrived at the bank, as its alerts say, less what was paid out.
    Clearing,
    Fees,
    Adjustments,
    Merchant(i64),
    /// What of a merchant's money is set aside for pending payouts.
    Reserved(i64),
    Wallet(i64),
    /// The books of test payments, which no live account and no balance ever meets but that of a test wallet.
    TestClearing,
    TestFees,
    TestMerchant(i64),
}

impl LedgerAccount {
    /// Reads what `Display` writes.
    pub fn parse(text: &str) -> Option<LedgerAccount> {
        match text.split_once(':') {
            Some(("merchant", id)) => Some(LedgerAccount::Merchant(id.parse().ok()?)),
            Some(("reserved", id)) => Some(LedgerAccount::Reserved(id.parse().ok()?)),
            Some(("wallet", id)) => Some(LedgerAccount::Wallet(id.parse().ok()?)),
            Some(("test", rest)) => match rest.split_once(':') {
                Some(("merchant", id)) => Some(LedgerAccount::TestMerchant(id.parse().ok()?)),
                None if rest == "clearing" => Some(LedgerAccount::TestClearing),
                None if rest == "fees" => Some(LedgerAccount::TestFees),
                _ => None,
            },
            _ => match text {
                "clearing" => Some(LedgerAccount::Clearing),
                "fees" => Some(LedgerAccount::Fees),
                "adjustments" => Some(LedgerAccount::Adjustments),
                _ => None,
            },
        }
    }
}

impl std::fmt::Display for LedgerAccount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LedgerAccount::Clearing => f.write_str("clearing"),
            LedgerAccount::Fees => f.write_str("fees"),
            LedgerAccount::Adjustments => f.write_str("adjustments"),
            LedgerAccount::Merchant(id) => write!(f, "merchant:{id}"),
            LedgerAccount::Reserved(id) => write!(f, "reserved:{id}"),
            LedgerAccount::Wallet(id) => write!(f, "wallet:{id}"),
            LedgerAccount::TestClearing => f.write_str("test:clearing"),
            LedgerAccount::TestFees => f.write_str("test:fees"),
            LedgerAccount::TestMerchant(id) => write!(f, "test:merchant:{id}"),
        }
    }
}

/// One line of an entry; the amount is never negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posting {
    pub account: LedgerAccount,
    pub side: Side,
    pub amount: Money,
}

/// Lines that sum to zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub postings: Vec<Posting>,
}

/// An entry that would not balance, or a negative line: a fault of the caller's figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unbalanced {
    #[error("the lines of the entry do not sum to zero")]
    NotZero,
    #[error("a line of the entry is negative")]
    Negative,
}

impl Entry {
    fn new(postings: Vec<Posting>) -> Result<Entry, Unbalanced> {
        if postings.iter().any(|posting| posting.amount.kobo() < 0) {
            return Err(Unbalanced::Negative);
        }
        let sum: i128 = postings
            .iter()
            .map(|posting| match posting.side {
                Side::Debit => i128::from(posting.amount.kobo()),
                Side::Credit => -i128::from(posting.amount.kobo()),
            })
            .sum();
        if sum != 0 {
            return Err(Unbalanced::NotZero);
        }
        Ok(Entry { postings: postings.into_iter().filter(|p| p.amount != Money::ZERO).collect() })
    }

    /// A transfer approved: clearing gets `received`, the merchant and the fees share it. Test
    /// payments have books of their own.
    pub fn transfer(
        mode: Mode,
        business_id: i64,
        received: Money,
        business_receives: Money,
        charge: Money,
    ) -> Result<Entry, Unbalanced> {
        let (clearing, merchant, fees) = books(mode, business_id);
        Entry::new(vec![
            Posting { account: clearing, side: Side::Debit, amount: received },
            Posting { account: merchant, side: Side::Credit, amount: business_receives },
            Posting { account: fees, side: Side::Credit, amount: charge },
        ])
    }

    /// A wallet payment confirmed: the wallet gives `received`, the merchant and the fees share it.
    pub fn wallet_payment(
        mode: Mode,
        wallet_id: i64,
        business_id: i64,
        received: Money,
        business_receives: Money,
        charge: Money,
    ) -> Result<Entry, Unbalanced> {
        let (_, merchant, fees) = books(mode, business_id);
        Entry::new(vec![
            Posting { account: LedgerAccount::Wallet(wallet_id), side: Side::Debit, amount: received },
            Posting { account: merchant, side: Side::Credit, amount: business_receives },
            Posting { account: fees, side: Side::Credit, amount: charge },
        ])
    }

    /// A top-up arrived: clearing gets it for the wallet.
    pub fn topup(mode: Mode, wallet_id: i64, business_id: i64, received: Money) -> Result<Entry, Unbalanced> {
        let (clearing, ..) = books(mode, business_id);
        Entry::new(vec![
            Posting { account: clearing, side: Side::Debit, amount: received },
            Posting { account: LedgerAccount::Wallet(wallet_id), side: Side::Credit, amount: received },
        ])
    }

    /// An operator credits a wallet, against the house account for such acts.
    pub fn adjustment(wallet_id: i64, amount: Money) -> Result<Entry, Unbalanced> {
        Entry::new(vec![
            Posting { account: LedgerAccount::Adjustments, side: Side::Debit, amount },
            Posting { account: LedgerAccount::Wallet(wallet_id), side: Side::Credit, amount },
        ])
    }

    /// A payout is asked for: the merchant's money is set aside. Its mirror gives it back.
    pub fn payout_reserved(business_id: i64, amount: Money) -> Result<Entry, Unbalanced> {
        Entry::new(vec![
            Posting { account: LedgerAccount::Merchant(business_id), side: Side::Debit, amount },
            Posting { account: LedgerAccount::Reserved(business_id), side: Side::Credit, amount },
        ])
    }

    /// A payout is paid: what was set aside left the bank.
    pub fn payout_paid(business_id: i64, amount: Money) -> Result<Entry, Unbalanced> {
        Entry::new(vec![
            Posting { account: LedgerAccount::Reserved(business_id), side: Side::Debit, amount },
            Posting { account: LedgerAccount::Clearing, side: Side::Credit, amount },
        ])
    }

    /// The mirror: the same lines with sides exchanged.
    pub fn mirror(&self) -> Entry {
        Entry { postings: self.postings.iter().map(|p| Posting { side: p.side.other(), ..*p }).collect() }
    }
}

/// Where money arrives, whose it becomes and where charges go.
fn books(mode: Mode, business_id: i64) -> (LedgerAccount, LedgerAccount, LedgerAccount) {
    match mode {
        Mode::Live => (LedgerAccount::Clearing, LedgerAccount::Merchant(business_id), LedgerAccount::Fees),
        Mode::Test => {
            (LedgerAccount::TestClearing, LedgerAccount::TestMerchant(business_id), LedgerAccount::TestFees)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_balances_or_is_refused() {
        let entry = Entry::transfer(Mode::Live, 7, Money(490_000), Money(480_000), Money(10_000)).unwrap();
        assert_eq!(entry.postings.len(), 3);
        assert_eq!(entry.postings[1].account.to_string(), "merchant:7");
        assert_eq!(Entry::transfer(Mode::Live, 7, Money(1), Money(1), Money(1)), Err(Unbalanced::NotZero));
        assert_eq!(Entry::transfer(Mode::Live, 7, Money(0), Money(1), Money(-1)), Err(Unbalanced::Negative));
        let test = Entry::transfer(Mode::Test, 7, Money(490_000), Money(480_000), Money(10_000)).unwrap();
        let reserved = Entry::payout_reserved(7, Money(5)).unwrap();
        for posting in entry.postings.iter().chain(&test.postings).chain(&reserved.postings) {
            assert_eq!(LedgerAccount::parse(&posting.account.to_string()), Some(posting.account));
        }
        assert!(test.postings.iter().all(|t| entry.postings.iter().all(|l| l.account != t.account)));
        let (wallet, live) = (LedgerAccount::Wallet(3), Mode::Live);
        let paid = |mode| Entry::wallet_payment(mode, 3, 7, Money(9), Money(8), Money(1)).unwrap();
        let filled = |mode| Entry::topup(mode, 3, 7, Money(9)).unwrap();
        for (live, test) in [(paid(live), paid(Mode::Test)), (filled(live), filled(Mode::Test))] {
            let [live, test] = [live, test].map(|entry| entry.postings);
            assert_eq!(live.len(), test.len());
            for (l, t) in live.iter().zip(&test) {
                assert_eq!((l.side, l.amount), (t.side, t.amount));
                assert_eq!(l.account == wallet, t.account == wallet);
                assert_eq!(t.account == wallet, !t.account.to_string().starts_with("test:"));
                assert!(l.account == wallet || !l.account.to_string().starts_with("test:"));
            }
        }
        // Nothing to say about a line of zero.
        assert_eq!(Entry::transfer(Mode::Live, 7, Money(5), Money(5), Money(0)).unwrap().postings.len(), 2);
    }

    #[test]
    fn a_mirror_undoes() {
        let entry = Entry::transfer(Mode::Live, 7, Money(9), Money(8), Money(1)).unwrap();
        let mirror = entry.mirror();
        assert_eq!(mirror.postings[0].side, Side::Credit);
        assert_eq!(mirror.mirror(), entry);
    }
}
