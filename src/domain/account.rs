//! Receiving accounts: which one a new payment gets, and which one an alert's mask means.
//!
//! Two open payments collide when one received amount could approve both and their names are not
//! different. A collision with another beneficiary (a business, or a wallet that is topped up) is never
//! chosen on purpose; one with its own only when nothing free is left.

use super::matching::Beneficiary;
use super::merchant::Mode;
use super::time::Timestamp;

/// An alert that shows fewer digits of its account never matches by itself (contract/matching.md#m6).
pub const VISIBLE_DIGITS_MIN: usize = 3;
/// Pool accounts that colliding payments of one business may occupy (contract/payments.md#p29).
pub const OWN_COLLISION_ACCOUNTS: usize = 3;
/// Accounts named where an alert may be about several.
const NAMED_MAX: usize = 5;

/// Code and name of the bank of test mode, at which each business has an account of its own. Its template is
/// `banks/testbank.toml`.
pub const TEST_BANK: &str = "testbank";
pub const TEST_BANK_NAME: &str = "Tillbell Test Bank";

/// An account of ours at a bank.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceivingAccount {
    pub id: i64,
    /// Code of the bank's template, or the given text when forced.
    pub bank: String,
    /// Display name of the bank.
    pub bank_name: String,
    pub number: String,
    /// The holder's registered name.
    pub name: String,
    /// Dedicated to this business; `None` is the shared pool.
    pub business_id: Option<i64>,
    /// For a virtual account: the account of ours that its money arrives in.
    pub via: Option<i64>,
    pub mode: Mode,
    /// Registered with a bank no template knows: its alerts never match by themselves.
    pub forced: bool,
    /// The bank's mask cannot tell this account from another one of ours.
    pub mask_shared: bool,
    pub created_at: Timestamp,
    pub retired_at: Option<Timestamp>,
    /// Retired, and no payment was ever given it: added by mistake, it makes no other account's alerts unclear.
    pub is_spent_unused: bool,
    pub last_used_at: Timestamp,
}

impl ReceivingAccount {
    /// The account at the bank that holds its money: of a virtual account the one that it is settled through, else itself.
    pub fn holding_account(&self) -> i64 {
        self.via.unwrap_or(self.id)
    }

    /// At the bank of test mode: only simulated money comes there.
    pub fn is_of_test_bank(&self) -> bool {
        self.bank == TEST_BANK
    }
}

/// What an alert's account text means among our accounts at that bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolved {
    Account(i64),
    /// Fewer than three digits are visible.
    TooFewDigits,
    /// No account of ours at that bank fits.
    Unknown,
    /// Several fit: the mask cannot tell them apart.
    Ambiguous,
}

/// True when every visible digit of `shown` stands at that place of `number`. Digits before the
/// first masked character count from the left, those after it from the right, because banks
/// write masks of another length than the number (`2XX..60X`, `XXX******860`).
pub fn mask_fits(shown: &str, number: &str) -> bool {
    let shown: Vec<char> = shown.chars().filter(|c| !c.is_whitespace()).collect();
    let number: Vec<char> = number.chars().collect();
    let Some(first_masked) = shown.iter().position(|c| !c.is_ascii_digit()) else {
        return shown == number;
    };
    if first_masked > number.len() {
        return false;
    }
    let head_fits = shown[..first_masked].iter().zip(&number).all(|(s, n)| s == n);
    let tail_fits = shown[first_masked..].iter().rev().enumerate().all(|(i, s)| {
        // A mask longer than the number hides nothing beyond its first digit.
        !s.is_ascii_digit() || (i < number.len() && number[number.len() - 1 - i] == *s)
    });
    head_fits && tail_fits
}

/// Accounts at a bank that an alert of it may name, retired ones included.
pub fn fitting<'a>(shown: &str, bank: &str, accounts: &'a [ReceivingAccount]) -> Vec<&'a ReceivingAccount> {
    if shown.chars().filter(char::is_ascii_digit).count() < VISIBLE_DIGITS_MIN {
        return Vec::new();
    }
    let fits = |account: &&ReceivingAccount| {
        account.bank == bank && !account.is_spent_unused && mask_fits(shown, &account.number)
    };
    accounts.iter().filter(fits).collect()
}

/// Finds the account an alert of `bank` names, retired ones included.
pub fn resolve(shown: &str, bank: &str, accounts: &[ReceivingAccount]) -> Resolved {
    if shown.chars().filter(char::is_ascii_digit).count() < VISIBLE_DIGITS_MIN {
        return Resolved::TooFewDigits;
    }
    match fitting(shown, bank, accounts)[..] {
        [] => Resolved::Unknown,
        [one] => Resolved::Account(one.id),
        _ => Resolved::Ambiguous,
    }
}

/// Accounts by id and number, of many the first.
pub fn in_words(accounts: &[&ReceivingAccount]) -> String {
    let named = accounts.iter().take(NAMED_MAX).map(|account| format!("{} ({})", account.id, account.number));
    let mut named: Vec<String> = named.collect();
    if accounts.len() > NAMED_MAX {
        named.push(format!("{} more", accounts.len() - NAMED_MAX));
    }
    named.join(" or ")
}

/// Whether a mask that leaves `head` digits at the front and `tail` at the back visible writes
/// both numbers the same.
pub fn look_alike(a: &str, b: &str, head: usize, tail: usize) -> bool {
    let digits = |text: &str| text.bytes().filter(u8::is_ascii_digit).collect::<Vec<u8>>();
    let (a, b) = (digits(a), digits(b));
    let front = |d: &[u8]| d[..head.min(d.len())].to_vec();
    let back = |d: &[u8]| d[d.len() - tail.min(d.len())..].to_vec();
    front(&a) == front(&b) && back(&a) == back(&b)
}

/// A whole account number (NUBAN): ten digits and no mask.
pub fn is_full_account_number(text: &str) -> bool {
    text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The check digit of a Nigerian account number (CBN, NUBAN standard 2010): weights 3, 7, 3 over
/// the three-digit bank code and the first nine digits. `None` when either has another length.
pub fn nuban_is_valid(bank_code: &str, number: &str) -> Option<bool> {
    if bank_code.len() != 3 || number.len() != 10 {
        return None;
    }
    let digits: Option<Vec<u32>> = bank_code.chars().chain(number.chars()).map(|c| c.to_digit(10)).collect();
    let digits = digits?;
    let sum: u32 = digits[..12].iter().zip([3, 7, 3].iter().cycle()).map(|(d, w)| d * w).sum();
    Some((10 - sum % 10) % 10 == digits[12])
}

/// A payment that is still open and would be hit by the same money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collision {
    pub account_id: i64,
    pub beneficiary: Beneficiary,
    /// Which asked for it; of a top-up the one that started it.
    pub business_id: i64,
    pub created_at: Timestamp,
}

/// Chooses the account of a new payment. `pool` holds the accounts that may be used, least
/// recently used first (dedicated ones alone when the business has any); `shared` says that it is
/// the shared pool. On the accounts of `crowded` another beneficiary's open payment bears a like name, whatever
/// its amount: another free one is preferred, because people round what they pay, and merchants correct what
/// they ask. No business keeps others out of more than [`OWN_COLLISION_ACCOUNTS`] accounts of the pool: beyond that its
/// payments are kept apart when an alert is decided. `None`: every account collides with other beneficiaries, or there
/// is none.
pub fn choose(
    pool: &[i64],
    shared: bool,
    collisions: &[Collision],
    crowded: &[i64],
    beneficiary: Beneficiary,
) -> Option<i64> {
    let foreign = |id: i64| collisions.iter().any(|c| c.account_id == id && c.beneficiary != beneficiary);
    let own = |id: i64| collisions.iter().any(|c| c.account_id == id && c.beneficiary == beneficiary);
    let occupied = pool.iter().filter(|id| own(**id)).count();
    let free = || {
        let free = || pool.iter().copied().filter(|id| !foreign(*id) && !own(*id));
        free().find(|id| !crowded.contains(id)).or_else(|| free().next())
    };
    let own_newest = || {
        collisions
            .iter()
            .filter(|c| {
                c.beneficiary == beneficiary && pool.contains(&c.account_id) && !foreign(c.account_id)
            })
            .max_by_key(|c| c.created_at)
            .map(|c| c.account_id)
    };
    let shut_by_one = || {
        let is_shut = |id: i64| {
            let theirs = |c: &&Collision| c.account_id == id && c.beneficiary != beneficiary;
            collisions.iter().filter(theirs).any(|c| !fills(c.business_id, pool, collisions, beneficiary))
        };
        pool.iter().copied().find(|id| shared && !is_shut(*id))
    };
    if shared && occupied >= OWN_COLLISION_ACCOUNTS {
        return own_newest().or_else(free).or_else(shut_by_one);
    }
    free().or_else(own_newest).or_else(shut_by_one)
}

/// Whether the payments of one business keep others out of more accounts than one business may.
fn fills(business_id: i64, pool: &[i64], collisions: &[Collision], beneficiary: Beneficiary) -> bool {
    let is_kept_from = |id: &&i64| {
        let is_theirs = |c: &Collision| c.business_id == business_id && c.beneficiary != beneficiary;
        collisions.iter().any(|c| c.account_id == **id && is_theirs(c))
    };
    pool.iter().filter(is_kept_from).count() > OWN_COLLISION_ACCOUNTS
}

#[cfg(test)]
impl ReceivingAccount {
    /// A pool account for unit tests.
    pub(crate) fn sample(id: i64, number: &str) -> ReceivingAccount {
        ReceivingAccount {
            id,
            bank: "gtbank".into(),
            bank_name: "GTBank".into(),
            number: number.into(),
            name: "MAKO STORES".into(),
            business_id: None,
            via: None,
            mode: Mode::Live,
            forced: false,
            mask_shared: false,
            created_at: Timestamp(0),
            retired_at: None,
            is_spent_unused: false,
            last_used_at: Timestamp(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_of_every_known_form() {
        for (shown, number) in [
            ("******4417", "0123454417"),
            ("238****209", "2381234209"),
            ("XXX******860", "0123456860"),
            ("202XXXX725", "2021234725"),
            ("2XX..60X", "2123456601"),
            ("0242****34", "0242999934"),
            ("xxxxxx0025", "0123450025"),
            ("XXXX1234", "5550001234"),
            ("0123456789", "0123456789"),
            ("0123456789***", "0123456789"),
        ] {
            assert!(mask_fits(shown, number), "{shown} {number}");
        }
        for (shown, number) in [
            ("******4417", "0123454418"),
            ("238****209", "2391234209"),
            ("2XX..60X", "2123456511"),
            ("0123456789", "0123456788"),
            ("012345678", "0123456789"),
            ("0123456789***", "012345678"),
            ("*1**********", "0123456789"),
        ] {
            assert!(!mask_fits(shown, number), "{shown} {number}");
        }
    }

    #[test]
    fn only_one_fitting_account_is_an_answer() {
        let all = [
            ReceivingAccount::sample(1, "0123454417"),
            ReceivingAccount::sample(2, "9923454417"),
            ReceivingAccount::sample(3, "0123450000"),
        ];
        assert_eq!(resolve("******0000", "gtbank", &all), Resolved::Account(3));
        assert_eq!(resolve("******4417", "gtbank", &all), Resolved::Ambiguous);
        assert_eq!(resolve("******4417", "zenith", &all), Resolved::Unknown);
        assert_eq!(resolve("********17", "gtbank", &all), Resolved::TooFewDigits);
        assert_eq!(resolve("*******000", "gtbank", &all), Resolved::Account(3));
        let ids = |shown| fitting(shown, "gtbank", &all).iter().map(|one| one.id).collect::<Vec<i64>>();
        assert_eq!((ids("******4417"), ids("********17"), ids("******0001")), (vec![1, 2], vec![], vec![]));
        // One that was retired and had no payment was a mistake; one that had some may still be named.
        let mut all = all;
        all[1].retired_at = Some(Timestamp(5));
        assert_eq!(resolve("******4417", "gtbank", &all), Resolved::Ambiguous);
        all[1].is_spent_unused = true;
        assert_eq!(resolve("******4417", "gtbank", &all), Resolved::Account(1));
    }

    #[test]
    fn accounts_are_named_by_id_and_number_and_of_many_the_first() {
        let all: Vec<ReceivingAccount> =
            (1..=7).map(|id| ReceivingAccount::sample(id, &format!("012345441{id}"))).collect();
        let all: Vec<&ReceivingAccount> = all.iter().collect();
        assert_eq!(in_words(&all[..2]), "1 (0123454411) or 2 (0123454412)");
        assert!(in_words(&all[..5]).ends_with("or 5 (0123454415)"), "{}", in_words(&all[..5]));
        assert!(in_words(&all).ends_with("or 5 (0123454415) or 2 more"), "{}", in_words(&all));
    }

    #[test]
    fn the_check_digit_of_the_standard() {
        // CBN's own worked example: bank 011, serial 000001457, check digit 9.
        assert_eq!(nuban_is_valid("011", "0000014579"), Some(true));
        assert_eq!(nuban_is_valid("011", "0000014578"), Some(false));
        // By hand: 5 x 7 + 8 x 3 + 1 x 7 + 2 x 3 + 3 x 3 + 4 x 7 + 5 x 3 + 6 x 3 + 7 x 7 + 8 x 3 = 215.
        assert_eq!(nuban_is_valid("058", "0123456785"), Some(true));
        assert_eq!(nuban_is_valid("11", "0000014579"), None);
        assert_eq!(nuban_is_valid("011", "000001457"), None);
    }

    #[test]
    fn numbers_look_alike_where_all_digits_that_a_mask_shows_agree() {
        assert!(look_alike("0123454417", "0129994417", 3, 4));
        assert!(!look_alike("0123454417", "0129994417", 4, 4));
        assert!(!look_alike("0123454417", "0129994417", 3, 5));
        assert!(look_alike("0123454417", "9999954417", 0, 5));
        assert!(!look_alike("0123454417", "0123459999", 3, 1));
        assert!(!look_alike("0123454417", "9123454417", 1, 10));
        // A mask that is longer than the number shows all of it.
        assert!(look_alike("4417", "4417", 9, 9));
        assert!(!look_alike("4417", "4418", 9, 9));
    }

    #[test]
    fn the_money_of_a_virtual_account_arrives_in_the_one_it_is_settled_through() {
        assert_eq!(ReceivingAccount::sample(7, "0123454417").holding_account(), 7);
        assert_eq!(
            ReceivingAccount { via: Some(3), ..ReceivingAccount::sample(7, "0123454417") }.holding_account(),
            3
        );
    }

    fn hit(account_id: i64, business_id: i64, at: i64) -> Collision {
        let beneficiary = Beneficiary::Business(business_id);
        Collision { account_id, beneficiary, business_id, created_at: Timestamp(at) }
    }

    fn choose(pool: &[i64], shared: bool, collisions: &[Collision], business_id: i64) -> Option<i64> {
        super::choose(pool, shared, collisions, &[], Beneficiary::Business(business_id))
    }

    #[test]
    fn an_account_without_like_names_of_others_is_preferred_but_not_needed() {
        let own = Beneficiary::Business(1);
        assert_eq!(super::choose(&[5, 6, 7], true, &[], &[5, 6], own), Some(7));
        assert_eq!(super::choose(&[5, 6], true, &[], &[5, 6], own), Some(5));
        assert_eq!(super::choose(&[5, 6], true, &[hit(6, 2, 1)], &[5, 6], own), Some(5));
    }

    #[test]
    fn a_topup_of_the_same_business_is_a_stranger() {
        let topup = Collision {
            account_id: 5,
            beneficiary: Beneficiary::Wallet(1),
            business_id: 1,
            created_at: Timestamp(1),
        };
        assert_eq!(choose(&[5], true, &[topup], 1), None);
        assert_eq!(super::choose(&[5], true, &[topup], &[], Beneficiary::Wallet(1)), Some(5));
    }

    #[test]
    fn a_free_account_wins_then_the_own_newest() {
        assert_eq!(choose(&[5, 6], true, &[], 1), Some(5));
        assert_eq!(choose(&[5, 6], true, &[hit(5, 1, 1)], 1), Some(6));
        assert_eq!(choose(&[5, 6], true, &[hit(5, 1, 1), hit(6, 1, 2)], 1), Some(6));
        assert_eq!(choose(&[5, 6], true, &[hit(5, 2, 1), hit(6, 1, 2)], 1), Some(6));
        assert_eq!(choose(&[5], true, &[hit(5, 2, 1)], 1), None);
        assert_eq!(choose(&[5], true, &[hit(5, 2, 1), hit(5, 1, 3)], 1), None);
        assert_eq!(choose(&[], true, &[], 1), None);
    }

    #[test]
    fn own_collisions_occupy_at_most_three_pool_accounts() {
        let three = [hit(1, 9, 1), hit(2, 9, 3), hit(3, 9, 2)];
        assert_eq!(choose(&[4, 1, 2, 3], true, &three, 9), Some(2));
        assert_eq!(choose(&[4, 1, 2, 3], false, &three, 9), Some(4), "dedicated accounts are its own");
        assert_eq!(choose(&[4, 1, 2, 3], true, &three, 8), Some(4));
    }

    #[test]
    fn no_business_keeps_others_out_of_more_than_three_accounts() {
        let of_nine = [hit(1, 9, 1), hit(2, 9, 3), hit(3, 9, 2)];
        assert_eq!(choose(&[1, 2, 3], true, &of_nine, 8), None, "three it may");
        let more = [of_nine[0], of_nine[1], of_nine[2], hit(4, 9, 4)];
        assert_eq!(choose(&[3, 4, 1, 2], true, &more, 8), Some(3));
        // Somebody else keeps out of one of them.
        let shared = [more[0], more[1], more[2], more[3], hit(3, 7, 5)];
        assert_eq!(choose(&[3, 4, 1, 2], true, &shared, 8), Some(4));
        assert_eq!(choose(&[5, 3, 4, 1, 2], true, &shared, 8), Some(5), "a free one is better");
        assert_eq!(choose(&[3, 4, 1, 2], false, &more, 8), None, "dedicated accounts are somebody's own");
        // Its top-ups count with it.
        let topup = |account_id: i64| Collision {
            beneficiary: Beneficiary::Wallet(account_id),
            ..hit(account_id, 9, 1)
        };
        let topups = [topup(1), topup(2), topup(3), topup(4)];
        assert_eq!(choose(&[1, 2, 3, 4], true, &topups, 8), Some(1));
        // An own payment on such an account is no reason to leave it.
        let own = [more[0], more[1], more[2], more[3], hit(2, 8, 9)];
        assert_eq!(choose(&[1, 2, 3, 4], true, &own, 8), Some(1));
    }
}
