//! A payout: money of a business on its way from the operator's bank to an account of the business, and every legal
//! step of its life. Pure.
//!
//! `pending -> paid | refused | cancelled`. The amount is set aside in the ledger when it is asked for, and leaves it or
//! comes back when the payout ends. `version` rises with every change and is what the database guards.

use super::money::Money;
use super::time::{Span, Timestamp};

/// An account is used for the first time so long after it was added: owners have been told by then.
pub const ACCOUNT_WAIT: Span = Span::hours(24);
/// Accounts that a business has at one time.
pub const ACCOUNTS_MAX: usize = 20;
/// More than any balance; keeps sums in range.
pub const AMOUNT_MAX: Money = Money(1_000_000_000_000_000);
/// Characters of a reference, the business's or the bank's.
pub const REFERENCE_MAX: usize = 120;
/// Before our reference, so that people know it in a bank's narration.
const CODE_PREFIX: &str = "PAYOUT";
/// Without what looks alike: O and 0, I and 1.
const CODE_LETTERS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const CODE_LENGTH: usize = 12;
/// Of one that is cut off: `PAYOUTS` is a word.
const CODE_BEGUN_MIN: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PayoutStatus {
    Pending,
    Paid,
    Refused,
    Cancelled,
}

impl PayoutStatus {
    pub const ALL: [PayoutStatus; 4] =
        [PayoutStatus::Pending, PayoutStatus::Paid, PayoutStatus::Refused, PayoutStatus::Cancelled];

    pub fn as_str(self) -> &'static str {
        match self {
            PayoutStatus::Pending => "pending",
            PayoutStatus::Paid => "paid",
            PayoutStatus::Refused => "refused",
            PayoutStatus::Cancelled => "cancelled",
        }
    }

    pub fn parse(word: &str) -> Option<PayoutStatus> {
        PayoutStatus::ALL.into_iter().find(|status| status.as_str() == word)
    }
}

/// An account of a business that payouts go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayoutAccount {
    pub id: i64,
    pub business_id: i64,
    pub bank: String,
    pub number: String,
    pub name: String,
    /// The owner's e-mail address.
    pub added_by: String,
    pub created_at: Timestamp,
    pub usable_at: Timestamp,
    pub removed_at: Option<Timestamp>,
}

impl PayoutAccount {
    /// For those who need to tell accounts apart and no more: `******3311`.
    pub fn masked_number(&self) -> String {
        let shown = self.number.len().saturating_sub(4);
        self.number.char_indices().map(|(at, digit)| if at < shown { '*' } else { digit }).collect()
    }
}

/// That one of two people says that a payout is paid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstWord {
    pub by: String,
    pub at: Timestamp,
    pub reference: Option<String>,
}

/// How a payout ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayoutEnd {
    pub at: Timestamp,
    pub by: String,
    /// Of the bank's transfer.
    pub bank_reference: Option<String>,
    pub reason: Option<String>,
    pub entry_id: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payout {
    pub id: i64,
    pub business_id: i64,
    pub account_id: i64,
    pub amount: Money,
    /// The business's own.
    pub reference: Option<String>,
    /// Ours, for the bank's narration.
    pub code: String,
    pub status: PayoutStatus,
    pub version: i64,
    pub requested_by: String,
    pub created_at: Timestamp,
    /// When it was handed to the bank.
    pub taken_at: Option<Timestamp>,
    pub first: Option<FirstWord>,
    pub end: Option<PayoutEnd>,
    /// That set the amount aside.
    pub entry_id: i64,
}

/// Why a payout stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepRefusal {
    #[error("the payout is {} already", .0.as_str())]
    Finished(PayoutStatus),
    #[error("the operator is paying this payout out; it cannot be cancelled any more")]
    BeingPaid,
    #[error("you have confirmed this payout already; another person must do so too")]
    SamePerson,
    #[error(
        "{0} says that the bank has sent it; {0} alone can take that back, by marking it as refused with a reason, and only then \
         can it be refused"
    )]
    SaidPaid(String),
    #[error("{0} says that the bank's reference is {1}; look at the bank's statement together")]
    OtherReference(String, String),
}

/// What one person's word that a payout is paid comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PaidStep {
    /// Kept; another person must say it too.
    First(FirstWord),
    Paid,
}

/// What one person's word that a payout is refused comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedStep {
    Refused,
    /// Their own word that it is paid counts no more; it is pending as before.
    TakesBack,
}

impl Payout {
    /// The business takes its wish back; not once the money may be on its way.
    pub fn may_cancel(&self) -> Result<(), StepRefusal> {
        self.may_end()?;
        match self.taken_at.is_some() || self.first.is_some() {
            true => Err(StepRefusal::BeingPaid),
            false => Ok(()),
        }
    }

    /// It is pending.
    pub fn may_end(&self) -> Result<(), StepRefusal> {
        match self.status {
            PayoutStatus::Pending => Ok(()),
            status => Err(StepRefusal::Finished(status)),
        }
    }

    /// Whether two people must say that it is paid.
    pub fn needs_two(&self, above: Option<Money>) -> bool {
        above.is_some_and(|above| self.amount > above)
    }

    /// Somebody says that it is paid.
    pub fn say_paid(
        &self,
        by: &str,
        reference: Option<&str>,
        above: Option<Money>,
        now: Timestamp,
    ) -> Result<PaidStep, StepRefusal> {
        self.may_end()?;
        match &self.first {
            _ if !self.needs_two(above) => Ok(PaidStep::Paid),
            None => Ok(PaidStep::First(FirstWord {
                by: by.to_owned(),
                at: now,
                reference: reference.map(str::to_owned),
            })),
            Some(first) if first.by == by => Err(StepRefusal::SamePerson),
            Some(FirstWord { by: other, reference: Some(known), .. })
                if reference.is_some_and(|reference| reference != known) =>
            {
                Err(StepRefusal::OtherReference(other.clone(), known.clone()))
            }
            Some(_) => Ok(PaidStep::Paid),
        }
    }

    /// Somebody refuses it. Who has said that the bank sent it takes that back first, for then its money is gone; another's
    /// word alone does not stand against theirs.
    pub fn say_refused(&self, by: &str) -> Result<RefusedStep, StepRefusal> {
        self.may_end()?;
        match &self.first {
            None => Ok(RefusedStep::Refused),
            Some(first) if first.by == by => Ok(RefusedStep::TakesBack),
            Some(first) => Err(StepRefusal::SaidPaid(first.by.clone())),
        }
    }
}

/// Our reference of a payout out of 60 random bits: letters and digits alone, as banks keep them in narrations.
pub fn payout_code(random: u64) -> String {
    let letter = |at: usize| char::from(CODE_LETTERS[((random >> (5 * at)) & 31) as usize]);
    CODE_PREFIX.chars().chain((0..CODE_LENGTH).map(letter)).collect()
}

/// The references of ours that a narration holds, each once; whatever the case, and whatever stands around them.
pub fn codes_in(narration: &str) -> Vec<String> {
    found_in(narration, true)
}

/// The same, also where more letters follow, or a bank has put a blank in between: a payer may write what the mail of the return
/// cuts off, or writes whole.
pub fn codes_begun_in(narration: &str) -> Vec<String> {
    let mut found = found_in(narration, false);
    let joined: String = narration.split_whitespace().collect();
    found.extend(found_in(&joined, false));
    found.sort();
    found.dedup();
    found
}

/// Whether a narration whose end is missing may have held one there.
pub fn may_end_in_a_code(narration: &str) -> bool {
    let upper = narration.to_ascii_uppercase();
    let begun = upper.rfind(CODE_PREFIX).map(|at| &upper.as_bytes()[at + CODE_PREFIX.len()..]);
    begun.is_some_and(|letters| {
        (CODE_BEGUN_MIN..CODE_LENGTH).contains(&letters.len())
            && letters.iter().all(|byte| CODE_LETTERS.contains(byte))
    })
}

fn found_in(narration: &str, only_whole: bool) -> Vec<String> {
    let upper = narration.to_ascii_uppercase();
    let mut found: Vec<String> = Vec::new();
    for (at, _) in upper.match_indices(CODE_PREFIX) {
        let rest = &upper.as_bytes()[at + CODE_PREFIX.len()..];
        let is_whole = rest.len() >= CODE_LENGTH
            && rest[..CODE_LENGTH].iter().all(|byte| CODE_LETTERS.contains(byte))
            // A longer word is another one.
            && (!only_whole || rest.get(CODE_LENGTH).is_none_or(|next| !next.is_ascii_alphanumeric()));
        let code = is_whole.then(|| upper[at..at + CODE_PREFIX.len() + CODE_LENGTH].to_owned());
        found.extend(code.filter(|code| !found.contains(code)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_773_129_600_000_000);

    fn payout(naira: i64) -> Payout {
        Payout {
            id: 1,
            business_id: 1,
            account_id: 1,
            amount: Money(naira * 100),
            reference: None,
            code: payout_code(7),
            status: PayoutStatus::Pending,
            version: 1,
            requested_by: "halima@kudu.example".into(),
            created_at: NOW,
            taken_at: None,
            first: None,
            end: None,
            entry_id: 1,
        }
    }

    #[test]
    fn two_people_are_needed_above_the_limit_and_not_at_it() {
        let above = Some(Money(500_000));
        assert_eq!(payout(5_000).say_paid("ola", None, above, NOW), Ok(PaidStep::Paid));
        let large = payout(5_001);
        let word = FirstWord { by: "ola".into(), at: NOW, reference: Some("FT1".into()) };
        assert_eq!(large.say_paid("ola", Some("FT1"), above, NOW), Ok(PaidStep::First(word.clone())));
        let large = Payout { first: Some(word), ..large };
        assert_eq!(large.say_paid("ola", None, above, NOW), Err(StepRefusal::SamePerson));
        assert_eq!(large.say_paid("ife", None, above, NOW), Ok(PaidStep::Paid));
        assert_eq!(payout(5_001).say_paid("ola", None, None, NOW), Ok(PaidStep::Paid));
    }

    #[test]
    fn a_word_that_it_is_paid_is_taken_back_by_who_gave_it_and_fits_the_second() {
        let above = Some(Money(500_000));
        let word = FirstWord { by: "ola".into(), at: NOW, reference: Some("FT1".into()) };
        let said = Payout { first: Some(word), ..payout(5_001) };
        assert_eq!(said.say_refused("ife"), Err(StepRefusal::SaidPaid("ola".into())));
        assert_eq!(said.say_refused("ola"), Ok(RefusedStep::TakesBack));
        assert_eq!(payout(5_001).say_refused("ife"), Ok(RefusedStep::Refused));
        let other = StepRefusal::OtherReference("ola".into(), "FT1".into());
        assert_eq!(said.say_paid("ife", Some("FT2"), above, NOW), Err(other));
        for same in [Some("FT1"), None] {
            assert_eq!(said.say_paid("ife", same, above, NOW), Ok(PaidStep::Paid));
        }
        let paid = Payout { status: PayoutStatus::Paid, ..said };
        assert_eq!(paid.say_refused("ola"), Err(StepRefusal::Finished(PayoutStatus::Paid)));
    }

    #[test]
    fn what_may_be_on_its_way_is_not_cancelled_and_what_has_ended_stays() {
        assert_eq!(payout(1).may_cancel(), Ok(()));
        let taken = Payout { taken_at: Some(NOW), ..payout(1) };
        assert_eq!((taken.may_cancel(), taken.may_end()), (Err(StepRefusal::BeingPaid), Ok(())));
        let first = Some(FirstWord { by: "ola".into(), at: NOW, reference: None });
        assert_eq!(Payout { first, ..payout(1) }.may_cancel(), Err(StepRefusal::BeingPaid));
        for status in [PayoutStatus::Paid, PayoutStatus::Refused, PayoutStatus::Cancelled] {
            let ended = Payout { status, ..payout(1) };
            let finished = StepRefusal::Finished(status);
            assert_eq!((ended.may_cancel(), ended.may_end()), (Err(finished.clone()), Err(finished.clone())));
            assert_eq!(ended.say_paid("ola", None, None, NOW), Err(finished));
            assert_eq!(PayoutStatus::parse(status.as_str()), Some(status));
        }
    }

    #[test]
    fn a_code_is_found_in_a_narration_whole_or_not_at_all() {
        let code = payout_code(0x0123_4567_89ab_cdef);
        assert_eq!(code.len(), 18);
        for narration in [
            code.clone(),
            format!("TRF/{code}/KUDU STORES"),
            format!("nip to kudu {} ref", code.to_lowercase()),
            format!("{code} {code}"),
        ] {
            assert_eq!(codes_in(&narration), std::slice::from_ref(&code), "{narration}");
        }
        for narration in
            ["", "PAYOUT", "PAYOUT OF MAY", &code[..17], &format!("{code}X"), "PAYOUT0123456789IO"]
        {
            assert_eq!(codes_in(narration), Vec::<String>::new(), "{narration}");
        }
        for cut in [&code[..9], &format!("SALARY {}", &code[..17])] {
            assert!(may_end_in_a_code(cut), "{cut}");
        }
        for whole in ["PAYOUT", "WEEKLY PAYOUTS", &code[..8], &code, "PAYOUT OF MAY", "PAYOUT01IO"] {
            assert!(!may_end_in_a_code(whole), "{whole}");
        }
        let spaced = format!("{} {}", &code[..10], &code[10..]);
        assert_eq!((codes_begun_in(&spaced), codes_in(&spaced)), (vec![code.clone()], Vec::new()));
        let other = payout_code(9);
        assert_eq!(codes_in(&format!("{code},{other}")), [code.clone(), other]);
        assert_ne!(payout_code(1 << 59), payout_code(0), "all 60 bits count");
    }

    #[test]
    fn a_number_is_shown_by_its_end() {
        let account = PayoutAccount {
            id: 1,
            business_id: 1,
            bank: "GTBank".into(),
            number: "0040003311".into(),
            name: "KUDU STORES".into(),
            added_by: "halima@kudu.example".into(),
            created_at: NOW,
            usable_at: NOW,
            removed_at: None,
        };
        assert_eq!(account.masked_number(), "******3311");
    }
}
