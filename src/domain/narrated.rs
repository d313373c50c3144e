//! Names in what a payer typed beside his own. Whether a payment bears one is the name rule's to say.

use unicode_normalization::char::is_combining_mark;

use super::name::{fold, is_deleted};

/// Words that make a name.
const WORDS_MIN: usize = 2;
/// Words that banks write around names, and payers around whom or what they pay for. None of them is a part of a name here: else
/// one payment for "School Fees" would send a price's every honest payer to a person.
const FORMS: [&str; 297] = [
    "ACCEPTANCE",
    "ACCESS",
    "ACCOUNT",
    "AFRICA",
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
    "CHARTERED",
    "CHIPPER",
    "CHURCH",
    "CIP",
    "CITIBANK",
    "CITY",
    "CLOTHES",
    "COMMERCIAL",
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
    "DIGITAL",
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
    "FIRST",
    "FIRSTBANK",
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
    "GLOBAL",
    "GLOBUS",
    "GOODS",
    "GTB",
    "GTBANK",
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
    "MERCHANT",
    "MFB",
    "MICROFINANCE",
    "MMF",
    "MOB",
    "MOBILE",
    "MONEY",
    "MONIEPOINT",
    "MONTH",
    "MONTHLY",
    "MONUMENT",
    "MORTGAGE",
    "MPT",
    "MTN",
    "NARRATION",
    "NATIONAL",
    "NEPA",
    "NIG",
    "NIGERIA",
    "NIGERIAN",
    "NIP",
    "NIPL",
    "NOMBA",
    "NXG",
    "OF",
    "OFFERING",
    "ON",
    "ONLINE",
    "OPAY",
    "OPTIMUS",
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
    "PREMIUM",
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
    "SIGNATURE",
    "SIR",
    "SPARKLE",
    "SQUAD",
    "STANBIC",
    "STANDARD",
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
    "UNITED",
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
/// Of these the ones by which nobody is called, and that stand before names in nearly every narration.
const AROUND: [&str; 25] = [
    "AND",
    "AT",
    "BANK",
    "BY",
    "CIP",
    "FIP",
    "FOR",
    "FRM",
    "FROM",
    "FT",
    "KIP",
    "MOBILE",
    "NIP",
    "OF",
    "ON",
    "PAYMENT",
    "THE",
    "TNF",
    "TO",
    "TRANSACTION",
    "TRANSFER",
    "TRF",
    "TRSF",
    "UIP",
    "VIA",
];
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

/// Whether a name tells of somebody where such words stand around it: one of its words is none that banks and payers write anyhow
/// ("School Fees"), and none of the payer's own, beside which "Okafor Transfer" would be any Okafor's.
pub fn tells_of_somebody(expected: &str, payer: &str) -> bool {
    let (expected, payer) = (fold(expected), fold(payer));
    let is_own = |word: &str| payer.split(' ').any(|own| own == word);
    expected.split(' ').any(|word| word.len() > 1 && !FORMS.contains(&word) && !is_own(word))
}

/// Names that may stand in the narration of a credit: a payer writes whose order he pays, and who collects money for others for
/// whom he sends it. What stands between two signs is one, without the words of banks' forms that stand apart from it, and without
/// names that are nobody else's (`own`: the payer's, the account holder's, the shop's); a single word is one with its neighbour
/// (`UMEADI, NGOZI`), whatever stands between that is no word, and alone it is anybody's.
pub fn narrated_names(narration: &str, own: &[&str], is_cut: bool) -> Vec<Narrated> {
    let own: Vec<String> = own.iter().map(|name| fold(name)).collect();
    let letters = narration.replace(char::is_numeric, " ");
    let parts = |c: char| {
        !c.is_alphabetic() && !c.is_whitespace() && c != '.' && !is_combining_mark(c) && !is_deleted(c)
    };
    let pieces: Vec<String> = letters.split(parts).map(fold).collect();
    let end = pieces.len().saturating_sub(1);
    let mut pieces: Vec<Piece> =
        pieces.iter().enumerate().map(|(at, piece)| Piece::of(piece, &own, is_cut && at == end)).collect();
    // Nothing is missing of a word behind which other signs stand.
    let is_cut = is_cut && pieces.last().is_some_and(|piece| !piece.words.is_empty());
    pieces.retain(|piece| !piece.words.is_empty());
    let mut names = Names::default();
    let last = pieces.len().saturating_sub(1);
    let plain: Vec<(usize, &Piece)> = pieces.iter().enumerate().filter(|(_, piece)| piece.is_plain).collect();
    for (at, piece) in &plain {
        let (is_cut, mut rest) = (is_cut && *at == last, &piece.words[..]);
        // Of a long one each part, and those overlap.
        while rest.len() >= WORDS_MIN {
            let end = rest.len().min(NARRATED_WORDS);
            names.add(&rest[..end], is_cut && end == rest.len());
            rest = if end == rest.len() { &[] } else { &rest[NARRATED_WORDS / 2..] };
        }
    }
    for two in plain.windows(2) {
        let ([one, next], is_cut) = ([&two[0].1.words, &two[1].1.words], is_cut && two[1].0 == last);
        if one.len() == 1 || next.len() == 1 {
            let one = &one[one.len().saturating_sub(NARRATED_WORDS / 2)..];
            let next = &next[..next.len().min(NARRATED_WORDS / 2)];
            names.add(&[one, next].concat(), is_cut);
        }
    }
    let is_single = |piece: &Piece| piece.words.len() == 1;
    for three in plain.windows(3).filter(|three| three.iter().all(|(_, piece)| is_single(piece))) {
        let words: Vec<&str> = three.iter().map(|(_, piece)| piece.words[0]).collect();
        names.add(&words, is_cut && three[2].0 == last);
    }
    // A word of banks' forms may be half of a name beside a single word alone.
    for (at, two) in pieces.windows(2).enumerate() {
        if two.iter().all(is_single) && two[0].is_plain != two[1].is_plain {
            names.add(&[two[0].words[0], two[1].words[0]], is_cut && at + 1 == last);
        }
    }
    names.0
}

#[derive(Default)]
struct Names(Vec<Narrated>);

impl Names {
    fn add(&mut self, words: &[&str], is_cut: bool) {
        let one = Narrated { text: words.join(" "), is_cut };
        if words.len() >= WORDS_MIN && self.0.len() < NARRATED_MAX && !self.0.contains(&one) {
            self.0.push(one);
        }
    }
}

/// The words between two signs that may be a name, or a part of one.
struct Piece<'a> {
    words: Vec<&'a str>,
    /// One of them at least is none of banks' forms.
    is_plain: bool,
}

impl<'a> Piece<'a> {
    /// No words where it is a name of nobody else's, or several of banks' forms. A single letter is a word if the rest of it is
    /// missing.
    fn of(piece: &'a str, own: &[String], is_cut: bool) -> Piece<'a> {
        let last = piece.split(' ').next_back().filter(|_| is_cut);
        let letters = |word: &&str| {
            (word.len() > 1 || last == Some(*word))
                && word.chars().all(char::is_alphabetic)
                && !word.is_empty()
        };
        let all: Vec<&str> = piece.split(' ').filter(letters).collect();
        let is_plain = |word: &str| !FORMS.contains(&word);
        let plain: Vec<&str> = all.iter().copied().filter(|word| is_plain(word)).collect();
        let is_of = |own: &String| {
            let is_word = |word: &str| {
                let may_begin = last == Some(word);
                own.split(' ').any(|known| known == word || may_begin && known.starts_with(word))
            };
            plain.iter().all(|word| is_word(word))
        };
        if plain.len() >= WORDS_MIN && own.iter().any(is_of) {
            return Piece { words: Vec::new(), is_plain: true };
        }
        if plain.is_empty() {
            let words = if all.len() == 1 && !AROUND.contains(&all[0]) { all } else { Vec::new() };
            return Piece { words, is_plain: false };
        }
        let beside = |at: usize| {
            let before = at.checked_sub(1).and_then(|at| all.get(at));
            [before, all.get(at + 1)].into_iter().flatten().any(|word| is_plain(word))
        };
        let may_be_half = |at: usize, word: &str| is_plain(word) || !AROUND.contains(&word) && beside(at);
        let words = all.iter().enumerate().filter(|(at, word)| may_be_half(*at, word)).map(|(_, word)| *word);
        Piece { words: words.collect(), is_plain: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(narration: &str) -> Vec<String> {
        narrated_names(narration, &["SANI LAWAL"], false).into_iter().map(|one| one.text).collect()
    }

    #[test]
    fn pieces_of_two_words_and_more_may_be_names() {
        assert_eq!(names("NIP/OPAY/SANI LAWAL/for Mrs Ngozi Umeadi"), ["MRS NGOZI UMEADI"]);
        assert_eq!(
            names("100004260303101958000111222333-ORDER OF NGOZI-OPAY-SANI YUSUF"),
            ["SANI YUSUF", "NGOZI SANI YUSUF", "NGOZI OPAY"]
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
            "UMEA\u{301}DI NGO`ZI",
        ] {
            assert_eq!(names(typed), ["UMEADI NGOZI"], "{typed}");
        }
        assert_eq!(names("INV12UMEADI NGOZI08031234567"), ["INV UMEADI NGOZI"]);
        assert_eq!(names("UMEADI, NGOZI ADA"), ["NGOZI ADA", "UMEADI NGOZI ADA"]);
        assert_eq!(names("ADA/NGOZI/UMEADI"), ["ADA NGOZI", "NGOZI UMEADI", "ADA NGOZI UMEADI"]);
        // Not with the payer's own name; with a part of it alone, for two people may share that.
        assert_eq!(names("SANI LAWAL/UMEADI"), Vec::<String>::new());
        assert_eq!(names("LAWAL, UMEADI"), ["LAWAL UMEADI"]);
    }

    #[test]
    fn some_are_called_as_banks_are_or_as_what_is_paid_for() {
        assert_eq!(names("NIP/FIDELITY OKAFOR"), ["FIDELITY OKAFOR"]);
        assert_eq!(names("JOB OKAFOR-OPAY-LAGOS REMIT LTD")[..1], ["JOB OKAFOR"]);
        assert_eq!(names("TRANSFER FROM BILL OKON"), ["BILL OKON"]);
        assert_eq!(names("OKAFOR, FIDELITY"), ["OKAFOR FIDELITY"]);
        assert_eq!(names("CARBON/OKAFOR"), ["CARBON OKAFOR"]);
        assert_eq!(names("FIDELITY/OKAFOR CHIKE"), ["OKAFOR CHIKE"]);
        // What stands further off is no part of it.
        assert_eq!(names("RICE FOR OKAFOR CHIKE AND OTHER GOODS"), ["OKAFOR CHIKE OTHER GOODS"]);
        let nobodys = ["UNION/STERLING", "UNION BANK/STERLING", "KIP ZENITH/TRF", "SCHOOL FEES", "DATA/SUB"];
        for told in nobodys.into_iter().chain(["BEING PART PAYMENT FOR GOODS", "House rent"]) {
            assert_eq!(names(told), Vec::<String>::new(), "{told}");
        }
    }

    #[test]
    fn who_is_named_bears_a_word_that_is_neither_written_anyhow_nor_the_payers() {
        for somebody in ["Job Okafor", "Fidelity Okafor", "Ngozi Umeadi", "Okafor Sani"] {
            assert!(tells_of_somebody(somebody, "LAGOS REMIT LTD"), "{somebody}");
        }
        for nobody in ["School Fees", "Transfer From", "Job", "A Rent"] {
            assert!(!tells_of_somebody(nobody, "LAGOS REMIT LTD"), "{nobody}");
        }
        assert!(!tells_of_somebody("Okafor Transfer", "CHIKE OKAFOR"));
        assert!(tells_of_somebody("Okafor Ada Transfer", "CHIKE OKAFOR"));
    }

    #[test]
    fn names_of_payer_holder_and_shop_are_nobody_elses() {
        let own = ["IBRAHIM SANI BELO", "OLIVE PARK ESTATE LTD", "Honest Stores"];
        for told in ["TRF/IBRAHIM SANI/HONEST STORES", "NIP Transfer to OLIVE PARK ESTATE", "BELO IBRAHIM"] {
            assert_eq!(narrated_names(told, &own, false), [], "{told}");
        }
        for cut in ["NIP Transfer to OLIVE PARK ESTA", "Transfer from IBRAHIM S", "TRF TO HONEST STO"] {
            assert_eq!(narrated_names(cut, &own, true), [], "{cut}");
        }
        // The end of one alone, and no more than that one's words.
        assert_eq!(narrated_names("OLIVE ESTA", &own, false)[0].text, "OLIVE ESTA");
        assert_eq!(narrated_names("IBRAHIM PARK", &own, true)[0].text, "IBRAHIM PARK");
    }

    #[test]
    fn a_name_whose_end_is_missing_begins_like_one() {
        let cut = |text: &str| narrated_names(text, &["SANI LAWAL"], true);
        let one = cut("TRF/SANI LAWAL/NGOZI UMEA");
        assert_eq!(one, [Narrated { text: "NGOZI UMEA".into(), is_cut: true }]);
        assert!(one[0].begins("Ngozi Umeadi") && one[0].begins("Mrs Umeadi Ada Ngozi"));
        for other in ["Ngozi Umahi", "Umeadi Umeadi", "Ada Umeadi", "Ngozi", "Umea"] {
            assert!(!one[0].begins(other), "{other}");
        }
        assert!(cut("NGOZI UM")[0].begins("Ngozi Umeadi") && !cut("NGOZI UM")[0].begins("Ngozi Obi"));
        assert_eq!(
            cut("NGOZI UMEA/"),
            narrated_names("NGOZI UMEA", &["SANI LAWAL"], false),
            "a sign stands behind it"
        );
        assert!(cut("UMEADI/NGOZ")[0].begins("Ngozi Umeadi"));
        // Only what stands at the end.
        let (first, last) = (&cut("NGOZI UMEA/YAU")[0], &cut("NGOZI UMEA/YAU")[1]);
        assert!(!first.is_cut && last.is_cut && last.text == "NGOZI UMEA YAU");
        let whole = narrated_names("NGOZI UMEA", &["SANI LAWAL"], false);
        assert!(!whole[0].begins("Ngozi Umeadi"));
    }
}
