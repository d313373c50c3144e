//! Which bank an operator means, from its template: ops get what they need of it to add an account. Called by the desk
//! and by the command line.

use crate::alert_reader::Bank;
use crate::ops::merchants::accounts::{GivenBank, MaskDigits};

/// The codes the check digit of an account number is computed with (CBN, three digits), by the
/// code of the same bank in the interbank network (NIP). Banks not named here are not checked.
const CBN_CODES: &[(&str, &str)] = &[
    ("000001", "232"), // Sterling
    ("000002", "082"), // Keystone
    ("000003", "214"), // FCMB
    ("000004", "033"), // UBA
    ("000006", "301"), // Jaiz
    ("000007", "070"), // Fidelity
    ("000008", "076"), // Polaris
    ("000010", "050"), // Ecobank
    ("000011", "215"), // Unity
    ("000012", "221"), // Stanbic IBTC
    ("000013", "058"), // GTBank
    ("000014", "044"), // Access
    ("000015", "057"), // Zenith
    ("000016", "011"), // First Bank
    ("000017", "035"), // Wema
    ("000018", "032"), // Union
    ("000021", "068"), // Standard Chartered
    ("000023", "101"), // Providus
];

/// What the op is told of the bank an operator named.
pub fn given_bank(bank: Option<&Bank>, text: &str) -> GivenBank {
    let Some(bank) = bank else { return GivenBank::Unknown(text.to_owned()) };
    let cbn_code =
        CBN_CODES.iter().find(|(nip, _)| bank.nip_codes.iter().any(|code| code == nip)).map(|(_, cbn)| *cbn);
    GivenBank::Known {
        code: bank.code.clone(),
        name: bank.name.clone(),
        mask: bank.mask.map(|m| MaskDigits { lead: m.lead, trail: m.trail, hidden_end: m.hidden_end }),
        cbn_code: cbn_code.map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert_reader::Banks;

    #[test]
    fn every_bank_with_a_code_of_this_list_is_checked() {
        let banks = Banks::embedded().unwrap();
        let GivenBank::Known { code, cbn_code, .. } =
            given_bank(banks.by_name_or_alias("Guaranty Trust Bank"), "Guaranty Trust Bank")
        else {
            panic!("an alias of a template");
        };
        assert_eq!((code.as_str(), cbn_code.as_deref()), ("gtbank", Some("058")));
        let known: Vec<&str> = CBN_CODES.iter().map(|(_, cbn)| *cbn).collect();
        for (at, cbn) in known.iter().enumerate() {
            assert!(cbn.len() == 3 && !known[..at].contains(cbn), "{cbn}");
        }
    }
}
