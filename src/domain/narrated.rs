//! Names in what a payer typed beside his own. Whether a payment bears one is the name rule's to say.

use unicode_normalization::char::is_combining_mark;

use super::name::{fold, is_deleted};

/// Words that make a name.
const WORDS_MIN: usize = 2;
/// Words that banks write around names, and payers around whom or what they pay for. None of them is a part of a name here: else
/// one payment for "School Fees" would send a price's every honest payer to a person.
const FORMS: [&str; 278] = [
    "ACCEPTANCE",
    "ACCESS",
    "ACCOUNT",
    "AIRTIME",
    "AJO",
    "ALAT",
    "ALERT",
    "ALLOWANCE",
    "AND",
    "APP",
    "AT",
    "BAG",
    "BAGS",
    "BALANCE",
    "BANK",
    "BANKING",
    "BANKNIP",
    "BEHALF",
    "BEING",
    "BENEFICIARY",
    "BILL",
    "BILLS",
    "BIRTHDAY",
    "BOOKING",
    "BRANCH",
    "BREAKFAST",
    "BUILDING",
    "BUSINESS",
    "BY",
    "CAR",
    "CARBON",
    "CARD",
    "CASH",
    "CEMENT",
    "CHANNEL",
    "CHIPPER",
    "CHURCH",
    "CIP",
    "CITIBANK",
    "CLOTHES",
    "CONTRIBUTION",
    "CORONATION",
    "COURSE",
    "CR",
    "CREDIT",
    "CSH",
    "CURRENT",
    "CUSTOMER",
    "DAILY",
    "DATA",
    "DEBIT",
    "DEBT",
    "DELIVERY",
    "DEPOSIT",
    "DEPOSITOR",
    "DESCRIPTION",
    "DIESEL",
    "DINNER",
    "DR",
    "DRINKS",
    "DRUGS",
    "DUES",
    "ECOBANK",
    "ELECTRONIC",
    "ESUSU",
    "ETRANZACT",
    "EYOWO",
    "FAIRMONEY",
    "FAMILY",
    "FARE",
    "FBN",
    "FBNMOBILE",
    "FCMB",
    "FEE",
    "FEES",
    "FIDELITY",
    "FINAL",
    "FIP",
    "FLIGHT",
    "FLUTTERWAVE",
    "FOOD",
    "FOR",
    "FORM",
    "FRM",
    "FROM",
    "FT",
    "FUEL",
    "FULL",
    "FUND",
    "FUNDS",
    "GAPS",
    "GAS",
    "GLOBUS",
    "GOODS",
    "GTB",
    "GTWORLD",
    "GUARANTY",
    "HABARI",
    "HABARIPAY",
    "HAIR",
    "HOSPITAL",
    "HOSTEL",
    "HOTEL",
    "HOUSE",
    "IB",
    "IBTC",
    "INSTANT",
    "INTERBANK",
    "INTERNET",
    "INTERSWITCH",
    "INV",
    "INVOICE",
    "INWARD",
    "ITEM",
    "ITEMS",
    "JAIZ",
    "JOB",
    "JUST",
    "KBL",
    "KEYSTONE",
    "KIP",
    "KUDA",
    "LAND",
    "LAPTOP",
    "LEVY",
    "LIGHT",
    "LIMITED",
    "LOAN",
    "LOCAL",
    "LOGISTICS",
    "LOTUS",
    "LTD",
    "LUNCH",
    "MA",
    "MADAM",
    "MAINTENANCE",
    "MARKET",
    "MATERIAL",
    "MATERIALS",
    "MB",
    "MFB",
    "MICROFINANCE",
    "MMF",
    "MOB",
    "MOBILE",
    "MONEY",
    "MONIEPOINT",
    "MONTH",
    "MONTHLY",
    "MPT",
    "MTN",
    "NARRATION",
    "NEPA",
    "NIG",
    "NIGERIA",
    "NIP",
    "NIPL",
    "NOMBA",
    "NXG",
    "OF",
    "OFFERING",
    "ON",
    "ONLINE",
    "OPAY",
    "ORDER",
    "OUTWARD",
    "PAGA",
    "PALMPAY",
    "PARALLEX",
    "PART",
    "PAY",
    "PAYCOM",
    "PAYMENT",
    "PAYREF",
    "PAYRIVER",
    "PAYSTACK",
    "PETROL",
    "PHONE",
    "PLC",
    "PLEASE",
    "PLS",
    "PMT",
    "POLARIS",
    "POS",
    "PROJECT",
    "PROVIDUS",
    "PUR",
    "PURCHASE",
    "QUICKTELLER",
    "RECEIVER",
    "RECIPIENT",
    "REF",
    "REFERENCE",
    "REFUND",
    "REGISTRATION",
    "REMARK",
    "REMARKS",
    "REMITA",
    "RENT",
    "REPAIR",
    "REPAIRS",
    "RICE",
    "ROOM",
    "RT",
    "RUBIES",
    "SALARY",
    "SALES",
    "SAVINGS",
    "SCHOOL",
    "SECOND",
    "SELF",
    "SENDER",
    "SERVICE",
    "SERVICES",
    "SESSION",
    "SHOE",
    "SHOES",
    "SHOP",
    "SIR",
    "SPARKLE",
    "SQUAD",
    "STANBIC",
    "STERLING",
    "STOCK",
    "SUB",
    "SUBS",
    "SUBSCRIPTION",
    "SUNTRUST",
    "SUPPLIED",
    "SUPPLY",
    "SUPPORT",
    "TAJ",
    "TELLER",
    "TF",
    "THANK",
    "THANKS",
    "THE",
    "TICKET",
    "TICKETS",
    "TITAN",
    "TITHE",
    "TMTR",
    "TNF",
    "TO",
    "TRAINING",
    "TRANSACTION",
    "TRANSFER",
    "TRANSPORT",
    "TRF",
    "TRSF",
    "TUITION",
    "TXN",
    "TYRE",
    "UBA",
    "UIP",
    "UNION",
    "UP",
    "UPKEEP",
    "USSD",
    "UTO",
    "VFD",
    "VIA",
    "VPA",
    "WALLET",
    "WAS",
    "WATER",
    "WEB",
    "WEDDING",
    "WEEK",
    "WEEKLY",
    "WEMA",
    "WORK",
    "WPGTID",
    "YEAR",
    "YOU",
    "YOUR",
    "ZENITH",
    "ZIB",
];
/// Of these the ones by which people are called as well: beside a single other word they are a part of a name.
const GIVEN: [&str; 7] = ["ACCESS", "FIDELITY", "MONEY", "STERLING", "TAJ", "UNION", "UTO"];
/// Names that are looked for in one narration, and words of each.
const NARRATED_MAX: usize = 8;
const NARRATED_WORDS: usize = 8;

/// A name that was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Narrated {
    /// Folded words.
    pub text: String,
    /// The end of its last word may be missing.
    pub is_cut: bool,
}

impl Narrated {
    /// Whether a payment's name begins like one whose end is missing: two words of it stand here, of which the last may be a stump.
    pub fn begins(&self, expected: &str) -> bool {
        let (expected, mut told) = (fold(expected), self.text.split(' ').collect::<Vec<_>>());
        let Some(stump) = told.pop().filter(|stump| self.is_cut && !stump.is_empty()) else {
            return false;
        };
        let expected: Vec<&str> = expected.split(' ').collect();
        let begun = expected.iter().find(|word| word.starts_with(stump));
        begun.is_some_and(|begun| told.iter().any(|word| word != begun && expected.contains(word)))
    }
}

/// Names that may stand in the narration of a credit: a payer writes whose order he pays, and who collects money for others for
/// whom he sends it. What stands between two signs is one, without the words of banks' forms and without the payer's own name; a
/// single word is one with its neighbour (`UMEADI, NGOZI`), whatever stands between that is no word, and alone it is anybody's.
pub fn narrated_names(narration: &str, payer: &str, is_cut: bool) -> Vec<Narrated> {
    let payer = fold(payer);
    let payer: Vec<&str> = payer.split(' ').collect();
    let letters = narration.replace(char::is_numeric, " ");
    let parts = |c: char| {
        !c.is_alphabetic() && !c.is_whitespace() && c != '.' && !is_combining_mark(c) && !is_deleted(c)
    };
    let pieces: Vec<String> = letters.split(parts).map(fold).collect();
    let end = pieces.len().saturating_sub(1);
    let mut pieces: Vec<Vec<&str>> =
        pieces.iter().enumerate().map(|(at, piece)| words_of(piece, &payer, is_cut && at == end)).collect();
    // Nothing is missing of a word behind which other signs stand.
    let is_cut = is_cut && pieces.last().is_some_and(|words| !words.is_empty());
    pieces.retain(|words| !words.is_empty());
    let last = pieces.len().saturating_sub(1);
    let mut names: Vec<Narrated> = Vec::new();
    let mut add = |words: &[&str], is_cut: bool| {
        let one = Narrated { text: words.join(" "), is_cut };
        if words.len() >= WORDS_MIN && names.len() < NARRATED_MAX && !names.contains(&one) {
            names.push(one);
        }
    };
    for (at, words) in pieces.iter().enumerate() {
        let is_cut = is_cut && at == last;
        // Of a long one each part, and those overlap.
        let mut rest = &words[..];
        while rest.len() >= WORDS_MIN {
            let end = rest.len().min(NARRATED_WORDS);
            add(&rest[..end], is_cut && end == rest.len());
            rest = if end == rest.len() { &[] } else { &rest[NARRATED_WORDS / 2..] };
        }
    }
    for (at, two) in pieces.windows(2).enumerate() {
        let [one, next] = two else { continue };
        let is_cut = is_cut && at + 1 == last;
        // A word of a bank's is a name beside a single word alone.
        let (given, beside) = (GIVEN.contains(&one[0]), GIVEN.contains(&next[0]));
        let may_join = match (one.len(), next.len()) {
            (1, 1) => !(given && beside),
            (1, _) => !given,
            (_, 1) => !beside,
            _ => false,
        };
        if may_join {
            let one = &one[one.len().saturating_sub(NARRATED_WORDS / 2)..];
            let next = &next[..next.len().min(NARRATED_WORDS / 2)];
            add(&[one, next].concat(), is_cut);
        }
    }
    for (at, three) in pieces.windows(3).enumerate() {
        if three.iter().all(|one| one.len() == 1 && !GIVEN.contains(&one[0])) {
            add(&three.concat(), is_cut && at + 2 == last);
        }
    }
    names
}

/// The words of a piece that may be a name; none where it is the payer's own. A single letter is one if the rest of it is missing.
fn words_of<'a>(piece: &'a str, payer: &[&str], is_cut: bool) -> Vec<&'a str> {
    let last = piece.split(' ').next_back().filter(|_| is_cut);
    let letters = |word: &&str| {
        (word.len() > 1 || last == Some(*word)) && word.chars().all(char::is_alphabetic) && !word.is_empty()
    };
    let all: Vec<&str> = piece.split(' ').filter(letters).collect();
    let plain: Vec<&str> = all.iter().copied().filter(|word| !FORMS.contains(word)).collect();
    let mut words = match plain.len() {
        0 if all.len() == 1 => all.into_iter().filter(|word| GIVEN.contains(word)).collect(),
        1 => all.into_iter().filter(|word| GIVEN.contains(word) || plain.contains(word)).collect(),
        _ => plain,
    };
    if words.len() >= WORDS_MIN && words.iter().all(|word| payer.contains(word)) {
        words.clear();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(narration: &str) -> Vec<String> {
        narrated_names(narration, "SANI LAWAL", false).into_iter().map(|one| one.text).collect()
    }

    #[test]
    fn pieces_of_two_words_and_more_may_be_names() {
        assert_eq!(names("NIP/OPAY/SANI LAWAL/for Mrs Ngozi Umeadi"), ["MRS NGOZI UMEADI"]);
        assert_eq!(
            names("100004260303101958000111222333-ORDER OF NGOZI-OPAY-SANI YUSUF"),
            ["SANI YUSUF", "NGOZI SANI YUSUF"]
        );
        assert_eq!(names("Transfer From/Nip Opay/INV 12"), Vec::<String>::new());
        // Each part of a long one, and two words that stand where one ends are in the next.
        let long = names("ADA BOLA CHIDI DAYO EMEKA FEMI GARBA HALIMA IFEOMA JOHN");
        assert_eq!(long.len(), 2, "{long:?}");
        assert!(
            long[0].ends_with("GARBA HALIMA") && long[1].starts_with("EMEKA FEMI GARBA HALIMA IFEOMA"),
            "{long:?}"
        );
        assert_eq!(names(&"ADA BOLA/".repeat(100)), ["ADA BOLA"]);
        let many: String = ('A'..='Z').map(|c| format!("{c}DA {c}OLA/")).collect();
        assert_eq!(names(&many).len(), NARRATED_MAX);
    }

    #[test]
    fn a_single_word_is_a_name_with_its_neighbour() {
        for typed in [
            "UMEADI, NGOZI",
            "UMEADI-NGOZI",
            "NIP/UMEADI/NGOZI",
            "SANI LAWAL/UMEADI_NGOZI",
            "UMEADI, (NGOZI)",
            "UMEADI//NGOZI",
            "\"UMEADI\" \"NGOZI\"",
            "UMEADI/0803/NGOZI",
            "UMEADI/AND/NGOZI",
            "UMEADI/#/A/NGOZI",
            "INV12UMEADI NGOZI08031234567",
            "UMEA\u{301}DI NGO`ZI",
        ] {
            assert_eq!(names(typed), ["UMEADI NGOZI"], "{typed}");
        }
        assert_eq!(names("UMEADI, NGOZI ADA"), ["NGOZI ADA", "UMEADI NGOZI ADA"]);
        assert_eq!(names("ADA/NGOZI/UMEADI"), ["ADA NGOZI", "NGOZI UMEADI", "ADA NGOZI UMEADI"]);
        // Not with the payer's own name; with a part of it alone, for two people may share that.
        assert_eq!(names("SANI LAWAL/UMEADI"), Vec::<String>::new());
        assert_eq!(names("LAWAL, UMEADI"), ["LAWAL UMEADI"]);
    }

    #[test]
    fn some_are_called_as_banks_are() {
        assert_eq!(names("NIP/FIDELITY OKAFOR"), ["FIDELITY OKAFOR"]);
        assert_eq!(names("NIP FROM FIDELITY BANK OKAFOR CHIKE"), ["OKAFOR CHIKE"]);
        assert_eq!(names("UNION BANK/STERLING"), Vec::<String>::new());
        assert_eq!(names("KIP ZENITH/TRF"), Vec::<String>::new());
        assert_eq!(names("OKAFOR, FIDELITY"), ["OKAFOR FIDELITY"]);
        assert_eq!(names("FIDELITY/OKAFOR CHIKE"), ["OKAFOR CHIKE"]);
        assert_eq!(names("UNION/STERLING"), Vec::<String>::new());
        for told in ["SCHOOL FEES", "BEING PART PAYMENT FOR GOODS", "House rent", "DATA/SUB"] {
            assert_eq!(names(told), Vec::<String>::new(), "{told}");
        }
    }

    #[test]
    fn a_name_whose_end_is_missing_begins_like_one() {
        let cut = |text: &str| narrated_names(text, "SANI LAWAL", true);
        let one = cut("TRF/SANI LAWAL/NGOZI UMEA");
        assert_eq!(one, [Narrated { text: "NGOZI UMEA".into(), is_cut: true }]);
        assert!(one[0].begins("Ngozi Umeadi") && one[0].begins("Mrs Umeadi Ada Ngozi"));
        for other in ["Ngozi Umahi", "Umeadi Umeadi", "Ada Umeadi", "Ngozi", "Umea"] {
            assert!(!one[0].begins(other), "{other}");
        }
        assert!(cut("NGOZI UM")[0].begins("Ngozi Umeadi") && !cut("NGOZI UM")[0].begins("Ngozi Obi"));
        assert_eq!(
            cut("NGOZI UMEA/"),
            narrated_names("NGOZI UMEA", "SANI LAWAL", false),
            "a sign stands behind it"
        );
        assert!(cut("UMEADI/NGOZ")[0].begins("Ngozi Umeadi"));
        // Only what stands at the end.
        let (first, last) = (&cut("NGOZI UMEA/YAU")[0], &cut("NGOZI UMEA/YAU")[1]);
        assert!(!first.is_cut && last.is_cut && last.text == "NGOZI UMEA YAU");
        let whole = narrated_names("NGOZI UMEA", "SANI LAWAL", false);
        assert!(!whole[0].begins("Ngozi Umeadi"));
    }
}
