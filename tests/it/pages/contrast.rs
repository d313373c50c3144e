//! The stylesheet's colours can be read: contrast of every pair that is used, in both schemes, computed from its variables.

use std::collections::BTreeMap;

const STYLE: &str = include_str!("../../../assets/tillbell.css");
/// Of text to its background (WCAG 1.4.3), and of what marks a field (1.4.11).
const TEXT: f64 = 4.5;
const EDGE: f64 = 3.0;

/// Front, back, and the least contrast.
const PAIRS: [(&str, &str, f64); 28] = [
    ("text", "page", TEXT),
    ("text", "card", TEXT),
    ("text", "tint", TEXT),
    ("text", "muted-back", TEXT),
    ("soft", "page", TEXT),
    ("soft", "card", TEXT),
    ("soft", "tint", TEXT),
    ("soft", "muted-back", TEXT),
    ("main", "page", TEXT),
    ("main", "card", TEXT),
    ("main", "tint", TEXT),
    ("main-text", "main", TEXT),
    ("main-text", "main-hover", TEXT),
    ("good", "good-back", TEXT),
    ("good", "card", TEXT),
    ("bad", "bad-back", TEXT),
    ("bad", "card", TEXT),
    ("bad", "page", TEXT),
    ("card", "bad", TEXT),
    ("text", "bad-back", TEXT),
    ("warn", "warn-back", TEXT),
    ("warn", "card", TEXT),
    ("plain", "plain-back", TEXT),
    ("testing-text", "testing", TEXT),
    ("edge", "card", EDGE),
    ("edge", "page", EDGE),
    ("focus", "page", EDGE),
    ("focus", "card", EDGE),
];

/// The colours of each `:root{...}`, by name.
fn schemes() -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    let mut blocks = STYLE.split(":root{").skip(1).map(|rest| rest.split('}').next().unwrap());
    let read = |block: &str| {
        let named = block.split(';').filter_map(|one| one.strip_prefix("--")?.split_once(":#"));
        named.map(|(name, value)| (name.to_owned(), value.to_owned())).collect::<BTreeMap<_, _>>()
    };
    let light = read(blocks.next().unwrap());
    let mut dark = light.clone();
    dark.extend(read(blocks.next().unwrap()));
    (light, dark)
}

/// How light a colour is, by WCAG 2.
fn luminance(hex: &str) -> f64 {
    let digits: Vec<f64> =
        hex.chars().map(|digit| f64::from(digit.to_digit(16).unwrap_or_else(|| panic!("{hex}")))).collect();
    let parts: Vec<f64> = match digits[..] {
        [r, g, b] => vec![r * 17.0, g * 17.0, b * 17.0],
        _ => digits.chunks(2).map(|pair| pair[0] * 16.0 + pair[1]).collect(),
    };
    let linear = |part: f64| {
        let part = part / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * linear(parts[0]) + 0.7152 * linear(parts[1]) + 0.0722 * linear(parts[2])
}

#[test]
fn every_pair_of_colours_can_be_read_in_both_schemes() {
    let (light, dark) = schemes();
    for (scheme, colours) in [("light", light), ("dark", dark)] {
        for (front, back, least) in PAIRS {
            let (a, b) = (luminance(&colours[front]), luminance(&colours[back]));
            let ratio = (a.max(b) + 0.05) / (a.min(b) + 0.05);
            assert!(ratio >= least, "{scheme}: {front} on {back} has a contrast of {ratio:.2}");
        }
    }
}
