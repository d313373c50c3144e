//! Names in the narration of a credit beside its payer's own. Whether a payment bears one is the name rule's to say.

use super::name::fold;

/// Words that make a name.
const WORDS_MIN: usize = 2;
/// Words that banks write around names, and payers around whom they pay for. None of them is a part of a name here.
const FORMS: [&str; 60] = [
    "ACCESS",
    "ACCOUNT",
    "ALERT",
    "AND",
    "APP",
    "BANK",
    "BEHALF",
    "BY",
    "CARD",
    "CASH",
    "CIP",
    "CREDIT",
    "DEBIT",
    "ELECTRONIC",
    "FBN",
    "FCMB",
    "FIDELITY",
    "FIP",
    "FOR",
    "FROM",
    "FT",
    "GAPS",
    "GTB",
    "INSTANT",
    "INVOICE",
    "INWARD",
    "KUDA",
    "LIMITED",
    "LTD",
    "MOB",
    "MOBILE",
    "MONEY",
    "MONIEPOINT",
    "NIP",
    "OF",
    "ON",
    "ONLINE",
    "OPAY",
    "ORDER",
    "OUTWARD",
    "PALMPAY",
    "PAY",
    "PAYMENT",
    "PMT",
    "POS",
    "PURCHASE",
    "REF",
    "STERLING",
    "THE",
    "TO",
    "TRANSFER",
    "TRF",
    "UBA",
    "UIP",
    "UNION",
    "USSD",
    "VIA",
    "WALLET",
    "WEB",
    "ZENITH",
];
/// Names that are looked for in one narration, and words of each.
const NARRATED_MAX: usize = 6;
const NARRATED_WORDS: usize = 8;

/// Names that may stand in the narration of a credit: a payer writes whose order he pays, and who collects money for others for
/// whom he sends it. What stands between two signs is one, without the words of banks' forms; of one word it is anybody's.
pub fn narrated_names(narration: &str) -> Vec<String> {
    let pieces = narration.split(|c: char| !c.is_alphanumeric() && !c.is_whitespace() && !"'.".contains(c));
    let mut names = Vec::new();
    for piece in pieces {
        let folded = fold(piece);
        let is_word =
            |word: &&str| word.len() > 1 && !FORMS.contains(word) && word.chars().all(char::is_alphabetic);
        let mut words: Vec<&str> = folded.split(' ').filter(is_word).collect();
        // Of a long one each part, and those overlap.
        while words.len() >= WORDS_MIN && names.len() < NARRATED_MAX {
            let end = words.len().min(NARRATED_WORDS);
            names.push(words[..end].join(" "));
            words.drain(..if end == words.len() { end } else { NARRATED_WORDS / 2 });
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_two_words_and_more_may_be_names() {
        assert_eq!(
            narrated_names("NIP/OPAY/SANI LAWAL/for Mrs Ngozi Umeadi"),
            ["SANI LAWAL", "MRS NGOZI UMEADI"]
        );
        assert_eq!(
            narrated_names("100004260303101958000111222333-ORDER OF NGOZI-OPAY-SANI YUSUF"),
            ["SANI YUSUF"]
        );
        assert_eq!(narrated_names("Transfer From/Nip Opay/INV 12"), Vec::<String>::new());
        // Each part of a long one, and two words that stand where one ends are in the next.
        let long = narrated_names("ADA BOLA CHIDI DAYO EMEKA FEMI GARBA HALIMA IFEOMA JOHN");
        assert_eq!(long.len(), 2, "{long:?}");
        assert!(
            long[0].ends_with("GARBA HALIMA") && long[1].starts_with("EMEKA FEMI GARBA HALIMA IFEOMA"),
            "{long:?}"
        );
        assert!(narrated_names(&"ADA BOLA/".repeat(100)).len() <= NARRATED_MAX);
    }
}
