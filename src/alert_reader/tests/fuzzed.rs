//! The bodies of the fuzz targets under a mutator of our own: seeded, without coverage, a second
//! or two each. What libFuzzer finds with its coverage takes `make fuzz`; this keeps the targets
//! working and finds what is near the surface.

use super::mutations::{Chance, seed};
use crate::alert_reader::fuzzing;

/// Pieces that mean something to the readers.
const PIECES: [&str; 32] = [
    "=",
    "=20",
    "=\r\n",
    "\r\n\r\n",
    "<td>",
    "</table>",
    "<b>",
    "<!--",
    "<style>",
    "</script>",
    "<a a='",
    "<xmp>",
    "style='display:none'",
    "style='color:var(",
    "<style>td{",
    "@media screen{",
    ":not(",
    "&#8358;",
    "NGN ",
    "CR",
    "0",
    "9,",
    ".",
    "-",
    ":",
    "/",
    "\u{202E}",
    "\u{200B}",
    "٣",
    "--q\r\n",
    "Content-Type: text/html\r\n",
    "Amount",
];
/// Longest input made.
const LONGEST: usize = 16 * 1024;

fn changed(seeds: &[Vec<u8>], chance: &mut Chance) -> Vec<u8> {
    let mut out = chance.pick(seeds).clone();
    for _ in 0..=chance.below(6) {
        let at = chance.below(out.len() + 1);
        match chance.below(6) {
            0 if at < out.len() => out[at] ^= 1 << chance.below(8),
            1 => drop(out.splice(at..at, chance.pick(&PIECES).bytes())),
            2 => {
                let end = (at + 1 + chance.below(40)).min(out.len());
                out.drain(at..end);
            }
            3 => {
                let end = (at + 1 + chance.below(200)).min(out.len());
                let piece = out[at..end].to_vec();
                let to = chance.below(out.len() + 1);
                out.splice(to..to, piece);
            }
            4 => {
                let other = chance.pick(seeds);
                let from = chance.below(other.len() + 1);
                out.truncate(at);
                out.extend_from_slice(&other[from..]);
            }
            _ => {
                let piece = chance.pick(&PIECES).repeat(1 + chance.below(50));
                out.splice(at..at, piece.bytes());
            }
        }
        out.truncate(LONGEST);
    }
    out
}

fn run(rounds: usize, seeds: Vec<Vec<u8>>, target: fn(&[u8])) {
    assert!(!seeds.is_empty());
    let seed = seed();
    println!("TILLBELL_TEST_SEED={seed}");
    let mut chance = Chance::new(seed);
    for input in &seeds {
        target(input);
    }
    for _ in 0..rounds {
        target(&changed(&seeds, &mut chance));
    }
}

fn mails() -> Vec<Vec<u8>> {
    fuzzing::mails().into_iter().map(|(_, raw)| raw).collect()
}

fn cells() -> Vec<Vec<u8>> {
    fuzzing::cells().into_iter().map(String::into_bytes).collect()
}

#[test]
fn changed_mails_hold() {
    run(600, mails(), fuzzing::mail);
}

#[test]
fn changed_pages_hold() {
    let bodies = mails().into_iter().map(|raw| {
        let body = raw.windows(4).position(|w| w == b"\r\n\r\n").map_or(0, |at| at + 4);
        raw[body..].to_vec()
    });
    run(400, bodies.collect(), fuzzing::page);
}

#[test]
fn changed_figures_hold() {
    run(20_000, cells(), fuzzing::figure);
}

#[test]
fn changed_narrations_hold() {
    run(200, cells(), fuzzing::narration);
}
