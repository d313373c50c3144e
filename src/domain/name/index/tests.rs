//! Names that are not different share a key; names of others are not found by much.

use super::super::{Folded, NameVerdict, verdict_folded};
use super::*;

fn meets(expected: &str, received: &str, likeness: Likeness) -> bool {
    let stored = stored_keys(&Folded::new(expected));
    let sought = sought_keys(&Folded::new(received), likeness).keys;
    stored.iter().any(|key| sought.contains(key))
}

#[test]
fn like_names_share_a_key() {
    use Likeness::{Agreeing, NotDifferent};
    for (expected, received, likeness) in [
        ("Ekaete Ima Bassey", "BASSEY EKAETE", Agreeing),
        ("Mohammed Danlami Sule", "SULE MUHAMMED", Agreeing),
        ("Oluwasegun Bakare", "BAKARE SEGUN", Agreeing),
        ("Segun Bakare", "OLUWASEGUN BAKARE", Agreeing),
        ("Olowokeere Bisi", "BISI OLOWOKERE", Agreeing),
        ("Ade Bayo Falade", "ADEBAYO FALADE", Agreeing),
        ("Adebayo Falade", "FALADE BAYO ADE", Agreeing),
        ("Onyebuchi Xyloqem", "XYLO QEM", Agreeing),
        ("Omamoke \u{639}\u{644}\u{64a}", "OMAMOKE\u{639}\u{644}\u{64a}", Agreeing),
        ("Ekaete", "EKAETE BASSEY", NotDifferent),
        ("Ekaete B.", "EKAETE BASSEY", NotDifferent),
        ("Ekaete Bossey", "EKAETE BASSEY", NotDifferent),
        ("Ekaete Bassey", "EKAETE BASSEYY", NotDifferent),
        ("Ekaete Xyq", "EKAETE XQ", NotDifferent),
    ] {
        assert!(meets(expected, received, likeness), "{expected} {received}");
    }
    assert!(!meets("Ekaete Ima Duke", "BASSEY EKAETE", NotDifferent));
    assert!(!meets("Ekaete", "EKAETE BASSEY", Agreeing));
}

#[test]
fn a_text_too_long_to_be_decided_is_stored_under_its_likely_names_and_says_that_it_looks_for_little() {
    let long = Folded::new("Mr 12 Ekaete Ima Bassey annual dues of the xyq xyw xyr xyt");
    assert_eq!(stored_keys(&long), stored_keys(&Folded::new("Ekaete Ima Bassey annual")), "its beginning");
    let behind = Folded::new("Order 12 xyq xyw xyr and 3 xyt xyp for Ekaete Bassey of 7 xys");
    assert_eq!(stored_keys(&behind), stored_keys(&Folded::new("Order xyq xyw xyr Ekaete Bassey")), "behind");
    assert!(sought_keys(&long, Likeness::NotDifferent).is_incomplete);
}

#[test]
fn words_longer_than_any_name_are_no_likely_names() {
    for text in ["ọ".repeat(255), "Ekaete".repeat(60), "ß".repeat(255), format!("{0} {0}", "X".repeat(120))]
    {
        let folded = Folded::new(&text);
        assert!(folded.is_too_long(), "{text}");
        assert!(stored_keys(&folded).is_empty(), "{text}");
    }
    // Words beside them still are, as many as a name has letters.
    let word = "XYQWRTP".repeat(8);
    let beside = Folded::new(&format!("{} Ekaete {word} Ima {word} {word} Bassey", "X".repeat(200)));
    assert_eq!(stored_keys(&beside), stored_keys(&Folded::new(&format!("Ekaete {word} Ima Bassey"))));
}

#[test]
fn usual_names_make_few_keys() {
    for (name, most) in [("Adaeze Nwosu", 1), ("Halima Sani Garba", 3), ("Oluwaseun Ajayi", 2)] {
        let stored = stored_keys(&Folded::new(name)).len();
        assert!((1..=most).contains(&stored), "{name}: {stored}");
        let sought = sought_keys(&Folded::new(name), Likeness::Agreeing).keys.len();
        assert!(sought <= 128, "{name}: {sought}");
    }
}

/// The migration by which the keys below were made anew for open payments.
const KEYS_MADE_ANEW: &str = include_str!("../../../../migrations/0050_sent_again.sql");
/// A hash for each table over the keys of names with its words.
const KEYS_OF_TABLES: [(&str, u64); 9] = [
    ("affixes", 0x98a9_815c_f4bb_5f67),
    ("business", 0xd238_ba7a_9511_faa3),
    ("gender_pairs", 0xa12d_2cbf_c9f3_9662),
    ("known_names", 0x5866_9ad6_5289_e47e),
    ("neighbours", 0x5b8e_e09e_8968_a6f3),
    ("nicknames", 0x0fcc_7866_eed0_eb22),
    ("short_forms", 0x2340_7eaf_f21c_24a4),
    ("spelling", 0xd730_989b_8dfb_27d6),
    ("titles", 0xf8b1_0f40_51e7_cc84),
];

/// Names with the words of one line of a table; of a usual first or last part names that are just long enough for it,
/// and just too short.
fn names_of_line(line: &str) -> Vec<String> {
    const REST: &str = "zoqubefidak";
    let words: Vec<&str> = line.split_whitespace().collect();
    let around = |least: &str| {
        let least: usize = least.parse().unwrap();
        [&REST[..least - 1], &REST[..least]]
    };
    let words: Vec<String> = match words[..] {
        ["start", part, least] => around(least).map(|rest| format!("{part}{rest}")).into(),
        ["end", part, least] => around(least).map(|rest| format!("{rest}{part}")).into(),
        _ => words.into_iter().map(str::to_owned).collect(),
    };
    words.iter().flat_map(|word| [format!("{word} Ekaete Xyloqem"), format!("Ekaete {word}")]).collect()
}

#[test]
fn keys_stay_what_they_were() {
    assert_eq!(stored_keys(&Folded::new("Ekaete Bassey")), [9132798436201464873]);
    let keys_of = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let keys = lines.flat_map(names_of_line).flat_map(|name| stored_keys(&Folded::new(&name)));
        keys.fold(0xcbf2_9ce4_8422_2325_u64, |hash, key| {
            (hash ^ key.cast_unsigned()).wrapping_mul(0x0100_0000_01b3).rotate_left(7)
        })
    };
    let found = super::super::tables::FILES.map(|(file, text)| (file, keys_of(text)));
    assert!(
        found == KEYS_OF_TABLES,
        "A table or a rule changed, and with it the keys under which some names are stored. Open payments keep the \
         keys that they have, and would not be found by such names. Add a migration like the one that \
         KEYS_MADE_ANEW names (it sets name_keys of open payments to 0; a periodic task then makes their keys anew), \
         name it there, and write into KEYS_OF_TABLES: {found:#018x?}"
    );
    let remakes = "update payments set name_keys = 0 where status = 'pending'";
    assert!(KEYS_MADE_ANEW.contains(remakes), "KEYS_MADE_ANEW makes no keys anew");
}

/// Every labelled pair that the rule does not call different shares a key, or the looking side says that its
/// keys are not all.
#[test]
fn labelled_pairs_that_are_not_different_share_a_key() {
    let Some(pairs) = super::super::measure_tests::names_of_labelled_pairs() else { return };
    let (mut met, mut missed) = (0, Vec::new());
    for (expected, received) in pairs {
        let (e, r) = (Folded::new(&expected), Folded::new(&received));
        let wanted = match verdict_folded(&e, &r, &[]) {
            NameVerdict::Match => Likeness::Agreeing,
            NameVerdict::Close => Likeness::NotDifferent,
            NameVerdict::Different => continue,
        };
        let sought = sought_keys(&r, wanted);
        let shared = sought.may_share_one_word
            || e.too_long
            || stored_keys(&e).iter().any(|key| sought.keys.contains(key));
        if shared || (sought.is_incomplete && wanted == Likeness::NotDifferent) {
            met += 1;
        } else {
            missed.push(format!("{expected} | {received} | {wanted:?}"));
        }
    }
    assert!(met > 5_000 && missed.is_empty(), "{met} met, missed: {missed:#?}");
}
