//! Cases of the rule, its properties, and the measure on labelled pairs where they are there.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

const CUTS: &[usize] = &[20, 24, 30];

fn v(expected: &str, received: &str) -> &'static str {
    verdict(expected, received, &[]).as_str()
}

/// Labelled pairs: expected, received, label (1 same, 0 different, 2 a person looks), kind.
fn labelled_pairs() -> Option<Vec<(String, String, u8, String)>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data/names/dev.csv");
    let other = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data/names/dev.csv");
    let text = std::fs::read_to_string(path).or_else(|_| std::fs::read_to_string(other)).ok()?;
    Some(text.lines().skip(1).filter_map(csv_row).collect())
}

fn csv_row(line: &str) -> Option<(String, String, u8, String)> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells.last_mut().unwrap().push(c),
        }
    }
    let [left, right, label, _, kind] = <[String; 5]>::try_from(cells).ok()?;
    Some((left, right, label.parse().ok()?, kind))
}

#[test]
fn the_bar_on_labelled_pairs() {
    let Some(pairs) = labelled_pairs() else { return };
    let mut by_kind: BTreeMap<(u8, String), [u32; 3]> = BTreeMap::new();
    for (e, r, label, kind) in &pairs {
        let verdict = verdict(e, r, CUTS);
        let wrong = match label {
            0 => verdict == Verdict::Match,
            1 if kind.starts_with("typo") => verdict == Verdict::Different,
            1 => verdict != Verdict::Match,
            _ => verdict == Verdict::Match,
        };
        if wrong && std::env::var_os("SHOW_NAMES").is_some() {
            println!("{label} {kind}: {e} | {r} -> {:?}", compare(e, r, CUTS));
        }
        by_kind.entry((*label, kind.clone())).or_default()[verdict as usize] += 1;
    }
    let sum = |pick: &dyn Fn(u8, &str) -> bool| {
        let kinds = by_kind.iter().filter(|((label, kind), _)| pick(*label, kind));
        kinds.fold([0; 3], |s, (_, n)| [s[0] + n[0], s[1] + n[1], s[2] + n[2]])
    };
    for ((label, kind), [m, c, d]) in &by_kind {
        println!("{label} {kind:32} match {m:4}  close {c:4}  different {d:4}");
    }
    let share = |part: u32, of: [u32; 3]| f64::from(part) / f64::from(of.iter().sum::<u32>());
    let hard = sum(&|l, k| l == 0 && k != "neg-random");
    let clean = sum(&|l, k| l == 1 && !k.starts_with("typo"));
    let typos = sum(&|l, k| l == 1 && k.starts_with("typo"));
    let same = sum(&|l, _| l == 1);
    let look = sum(&|l, _| l == 2);
    println!("hard {hard:?} clean {clean:?} typos {typos:?} same {same:?} look {look:?}");
    assert!(share(hard[0], hard) <= 0.001);
    assert_eq!(sum(&|l, k| l == 0 && k == "neg-random")[0], 0);
    assert!(share(clean[0], clean) >= 0.97);
    for easy in ["exact", "reorder", "middle", "initial", "title", "diacr", "hyphen", "joined"] {
        let of = sum(&|l, k| l == 1 && k.starts_with(easy));
        assert!(share(of[0], of) >= 0.99, "{easy} {of:?}");
    }
    assert_eq!(typos[2], 0);
    assert!(share(same[2], same) <= 0.003);
    assert!(share(look[0], look) <= 0.01);
}
