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
fn a_name_too_long_to_be_decided_is_stored_under_nothing_and_says_that_it_looks_for_little() {
    let long = Folded::new("Ada Bem Chi Dan Efe Fola Gozie Hauwa Ima Jide Kola");
    assert!(stored_keys(&long).is_empty());
    assert!(sought_keys(&long, Likeness::NotDifferent).is_incomplete);
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

#[test]
fn keys_stay_what_they_were() {
    // They are stored: a release with other keys must have them made anew (migration that sets
    // payments.name_keys to 0), or payments made before are not found by name.
    assert_eq!(stored_keys(&Folded::new("Ekaete Bassey")), [9132798436201464873]);
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
