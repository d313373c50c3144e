//! Pairing: which words of the expected name agree with which words of the received one.
//! One to one, strongest first: equal or another spelling > joined or split > short form >
//! cut word > initial. What is left over is looked at for a typing error or a nickname.
//!
//! No verdict is given here (see `person` and `business`). At most 10 words a side, so
//! the tables of pairs stay small; every word is compared whole, never by likeness.

use super::fold::{Kind, Word};
use super::tables::tables;

/// Bits in the set of a word's partners; more than the words a name may have.
const WIDTH: usize = 16;
/// A word joined of more pieces than this is not looked for.
const MAX_PIECES: usize = 4;
/// Names made to be begun by one another (A, AA, AAA) are not tried in every order.
const MAX_STEPS: usize = 40;
/// Shorter stumps of a name say too little to count as the name.
const MIN_CUT_LETTERS: usize = 4;
/// A letter of any script takes no more bytes than this.
const MAX_LETTER_BYTES: usize = 4;
/// Joined pieces in another spelling (Abdul Rahman, Abdurrahman) are looked for this often.
const MAX_SPELLED_JOINS: usize = 2;
/// They make one name with the word after them, so two agreeing words are one agreeing name.
const ABDUL_FORMS: [&str; 6] = ["ABD", "ABDEL", "ABDOUL", "ABDUL", "ABDUR", "ABDUS"];
/// A joined piece under this length makes one name with its neighbour.
const MIN_PIECE_LETTERS: usize = 3;

/// Endings that turn a man's name into a woman's (Daniel, Daniella): a name cut just before one is another name.
const FEMALE_ENDINGS: [&str; 9] = ["A", "AT", "ATU", "LA", "LLA", "LLE", "INE", "INA", "IA"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Equal,
    Spelling,
    Joined,
    Short,
    Cut,
}

/// Words that agree: places in the two lists, how, and how many names that makes.
#[derive(Clone, Debug)]
pub(super) struct Agreement {
    pub expected: Vec<usize>,
    pub received: Vec<usize>,
    pub how: How,
    pub names: usize,
}

/// One side of a comparison: the words that take part.
pub(super) struct Side<'a> {
    pub words: Vec<&'a Word>,
    /// Place of the last word, when the bank may have cut it.
    pub stump: Option<usize>,
}

#[derive(Default)]
pub(super) struct Pairing {
    pub agreements: Vec<Agreement>,
    /// Places of full names no word of the other side stands for.
    pub left_expected: Vec<usize>,
    pub left_received: Vec<usize>,
    pub initials_expected: Vec<usize>,
    pub initials_received: Vec<usize>,
    /// The cut word may as well be another whole name (Daniel for Daniella).
    pub doubtful_cut: bool,
    /// Left-over pairs that are a typing error or a nickname apart.
    pub nearly: Vec<(usize, usize)>,
}

impl Pairing {
    pub fn names(&self) -> usize {
        self.agreements.iter().map(|a| a.names).sum()
    }

    /// Full names left over on both sides.
    pub fn left_on_both(&self) -> bool {
        !self.left_expected.is_empty() && !self.left_received.is_empty()
    }

    /// The shorter list of left-overs is explained word by word by typing errors.
    pub fn nearly_all(&self) -> bool {
        self.nearly.len() == self.left_expected.len().min(self.left_received.len())
    }

    /// An initial stands against a name or an initial it cannot stand for.
    pub fn initials_contradict(&self) -> bool {
        let any = |full: &[usize], initials: &[usize]| !full.is_empty() || !initials.is_empty();
        (!self.initials_expected.is_empty() && any(&self.left_received, &self.initials_received))
            || (!self.initials_received.is_empty() && any(&self.left_expected, &self.initials_expected))
    }

    pub fn left_over(&self) -> usize {
        self.left_expected.len()
            + self.left_received.len()
            + self.initials_expected.len()
            + self.initials_received.len()
    }
}

/// Which ways of agreeing count. Two businesses are compared without short forms.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ways {
    All,
    Whole,
}

/// Pairs the words of two sides.
pub(super) fn pair(expected: &Side<'_>, received: &Side<'_>, ways: Ways) -> Pairing {
    let mut p = Pairs {
        e: expected,
        r: received,
        free_e: places(expected, |k| k != Kind::Particle),
        free_r: places(received, |k| k != Kind::Particle),
        found: Vec::new(),
        doubtful_cut: false,
    };
    p.level(How::Equal, |a, b| a.text == b.text);
    p.level(How::Spelling, Word::same_name);
    p.joined();
    if ways == Ways::All {
        p.count_abdul_forms_once();
        p.short_forms();
    }
    p.cut_word();
    p.initials();
    p.finish(ways)
}

/// Places in the order of the words' letters, so that the written order decides nothing.
fn places(side: &Side<'_>, takes: impl Fn(Kind) -> bool) -> Vec<usize> {
    let all = 0..side.words.len();
    let mut places = all.filter(|at| takes(side.words[*at].kind)).collect::<Vec<_>>();
    places.sort_by(|a, b| side.words[*a].text.cmp(&side.words[*b].text));
    places
}

struct Pairs<'s, 'w> {
    e: &'s Side<'w>,
    r: &'s Side<'w>,
    free_e: Vec<usize>,
    free_r: Vec<usize>,
    found: Vec<Agreement>,
    doubtful_cut: bool,
}

impl Pairs<'_, '_> {
    /// Pairs as many free names as the relation allows.
    fn level(&mut self, how: How, agrees: impl Fn(&Word, &Word) -> bool) {
        let (e, r) = (self.e, self.r);
        let pairs = most_pairs(&self.free_e, &self.free_r, |a, b| {
            let (a, b) = (e.words[a], r.words[b]);
            a.kind == Kind::Name && b.kind == Kind::Name && agrees(a, b)
        });
        for (a, b) in pairs {
            self.take(vec![a], vec![b], how, 1);
        }
    }

    fn short_forms(&mut self) {
        let (words_r, stump) = (&self.r.words, self.r.stump);
        // A stump that begins a name is judged as a stump, not as its short form.
        let stump = stump.map(|at| words_r[at].text.as_str());
        let short = |full: &Word, short: &Word| {
            full.has_short_form(short) && !tables().are_different(&full.text, &short.text)
        };
        self.level(How::Short, |a, b| {
            let is_stump = stump == Some(b.text.as_str()) && a.text.starts_with(&b.text);
            !is_stump && (short(a, b) || short(b, a))
        });
    }

    fn take(&mut self, expected: Vec<usize>, received: Vec<usize>, how: How, names: usize) {
        self.free_e.retain(|at| !expected.contains(at));
        self.free_r.retain(|at| !received.contains(at));
        self.found.push(Agreement { expected, received, how, names });
    }

    /// One word on one side, written as several on the other.
    fn joined(&mut self) {
        for whole in self.free_e.clone() {
            if let Some(pieces) = pieces_of(self.e.words[whole], self.r, &self.free_r) {
                let names = names_in(self.e.words[whole], self.r, &pieces);
                self.take(vec![whole], pieces, How::Joined, names);
            }
        }
        for whole in self.free_r.clone() {
            if let Some(pieces) = pieces_of(self.r.words[whole], self.e, &self.free_e) {
                let names = names_in(self.r.words[whole], self.e, &pieces);
                self.take(pieces, vec![whole], How::Joined, names);
            }
        }
        if let Some((pieces, whole)) = spelled_join(self.e, &self.free_e, self.r, &self.free_r) {
            self.take(pieces, vec![whole], How::Joined, 1);
        }
        if let Some((pieces, whole)) = spelled_join(self.r, &self.free_r, self.e, &self.free_e) {
            self.take(vec![whole], pieces, How::Joined, 1);
        }
    }

    /// ABDUL and RAHMAN beside ABDUL and RAHMAN are one name that agrees, not two.
    fn count_abdul_forms_once(&mut self) {
        let pairs = self.found.iter().map(|a| match (&a.expected[..], &a.received[..]) {
            ([e], [r]) => Some((*e, *r)),
            _ => None,
        });
        let pairs = pairs.collect::<Vec<_>>();
        for (at, pair) in pairs.iter().enumerate() {
            let Some((e, r)) = *pair else { continue };
            let both = [&self.e.words[e].text, &self.r.words[r].text];
            let is_abdul = both.iter().all(|text| ABDUL_FORMS.contains(&text.as_str()));
            if is_abdul && pairs.contains(&Some((e + 1, r + 1))) {
                // Abdul Sule, as one word, is no known name: then Abdul is a name of its own.
                let whole = Word::joined(&[self.e.words[e], self.e.words[e + 1]]);
                self.found[at].names = usize::from(!whole.is_listed());
            }
        }
    }

    /// The last word of a cut alert, where a longer expected name begins so.
    fn cut_word(&mut self) {
        let Some(at) = self.r.stump.filter(|at| self.free_r.contains(at)) else { return };
        let stump = self.r.words[at];
        let begins = |e: &&usize| {
            let full = &self.e.words[**e].text;
            full.len() > stump.text.len() && full.starts_with(&stump.text)
        };
        let Some(full) = self.free_e.iter().find(begins).copied() else { return };
        let tells =
            stump.text.chars().count() >= MIN_CUT_LETTERS && !stump.known && !tables().is_part(&stump.text);
        let rest = self.e.words[full].text.get(stump.text.len()..).unwrap_or("");
        self.doubtful_cut = stump.known
            && (FEMALE_ENDINGS.contains(&rest)
                || tables().are_different(&stump.text, &self.e.words[full].text));
        self.take(vec![full], vec![at], How::Cut, usize::from(tells));
    }

    /// An initial proves nothing; it takes a name that begins so out of the left-overs.
    fn initials(&mut self) {
        let (e, r) = (self.e, self.r);
        let is_initial = |w: &Word| w.kind == Kind::Initial;
        let any = |s: &Side<'_>, free: &[usize]| free.iter().any(|at| is_initial(s.words[*at]));
        if !any(e, &self.free_e) && !any(r, &self.free_r) {
            return;
        }
        for both in [true, false] {
            let pairs = most_pairs(&self.free_e, &self.free_r, |a, b| {
                let (a, b) = (e.words[a], r.words[b]);
                let count = usize::from(is_initial(a)) + usize::from(is_initial(b));
                count == if both { 2 } else { 1 }
                    && (a.text.starts_with(&b.text) || b.text.starts_with(&a.text))
            });
            for (a, b) in pairs {
                self.free_e.retain(|at| *at != a);
                self.free_r.retain(|at| *at != b);
            }
        }
    }

    fn finish(self, ways: Ways) -> Pairing {
        let split = |side: &Side<'_>, free: &[usize]| -> (Vec<usize>, Vec<usize>) {
            let free = free.iter().copied();
            free.partition(|at| side.words[*at].kind != Kind::Initial)
        };
        let (left_expected, initials_expected) = split(self.e, &self.free_e);
        let (left_received, initials_received) = split(self.r, &self.free_r);
        // Without one agreeing name, near misses do not matter for persons.
        let asked = ways == Ways::Whole || self.found.iter().any(|a| a.names > 0);
        let nearly = most_pairs(&left_expected, &left_received, |a, b| {
            asked && is_nearly(self.e.words[a], self.r.words[b])
        });
        Pairing {
            agreements: self.found,
            doubtful_cut: self.doubtful_cut,
            left_expected,
            left_received,
            initials_expected,
            initials_received,
            nearly,
        }
    }
}

/// The largest set of pairs under a relation, by augmenting paths. A side has at most ten
/// words, so the partners of a word are the bits of a `u16`.
fn most_pairs(left: &[usize], right: &[usize], agrees: impl Fn(usize, usize) -> bool) -> Vec<(usize, usize)> {
    fn place(a: usize, edges: &[u16; WIDTH], seen: &mut u16, owner: &mut [Option<usize>; WIDTH]) -> bool {
        for b in 0..WIDTH {
            let bit = 1 << b;
            if edges[a] & bit == 0 || *seen & bit != 0 {
                continue;
            }
            *seen |= bit;
            if owner[b].is_none_or(|other| place(other, edges, seen, owner)) {
                owner[b] = Some(a);
                return true;
            }
        }
        false
    }
    let (left, right) = (&left[..left.len().min(WIDTH)], &right[..right.len().min(WIDTH)]);
    let mut edges = [0u16; WIDTH];
    for (a, edge) in left.iter().zip(&mut edges) {
        for (at, b) in right.iter().enumerate() {
            *edge |= u16::from(agrees(*a, *b)) << at;
        }
    }
    let mut owner = [None; WIDTH];
    for a in 0..left.len() {
        place(a, &edges, &mut 0, &mut owner);
    }
    let pairs = owner.iter().zip(right);
    pairs.filter_map(|(a, b)| a.map(|a| (left[a], *b))).collect()
}

/// The free words of `side` that, written together in some order, are `whole`. Particles
/// (DAN) may be pieces though they are no names.
fn pieces_of(whole: &Word, side: &Side<'_>, free: &[usize]) -> Option<Vec<usize>> {
    fn search(
        rest: &str,
        side: &Side<'_>,
        free: &[usize],
        taken: &mut Vec<usize>,
        steps: &mut usize,
    ) -> bool {
        if rest.is_empty() {
            return taken.len() > 1;
        }
        if taken.len() == MAX_PIECES || *steps == 0 {
            return false;
        }
        *steps -= 1;
        for at in free.iter().copied() {
            if taken.contains(&at) {
                continue;
            }
            if let Some(rest) = rest.strip_prefix(side.words[at].text.as_str()) {
                taken.push(at);
                if search(rest, side, free, taken, steps) {
                    return true;
                }
                taken.pop();
            }
        }
        false
    }
    if whole.kind != Kind::Name {
        return None;
    }
    let begins = |w: &&&Word| w.text.len() < whole.text.len() && whole.text.starts_with(&w.text);
    let may_begin = |w: &&&Word| matches!(w.kind, Kind::Name | Kind::Particle) && begins(w);
    side.words.iter().find(may_begin)?;
    let particles = places(side, |k| k == Kind::Particle);
    let names = free.iter().copied().filter(|at| side.words[*at].kind == Kind::Name);
    let candidates = names.chain(particles).collect::<Vec<_>>();
    let (mut taken, mut steps) = (Vec::new(), MAX_STEPS);
    search(&whole.text, side, &candidates, &mut taken, &mut steps).then_some(taken)
}

/// Two free neighbours of `side`, the first of them a usual first part of names, that written
/// together are another spelling of a free word of the other side: their places and its.
fn spelled_join(
    side: &Side<'_>,
    free: &[usize],
    other: &Side<'_>,
    free_other: &[usize],
) -> Option<(Vec<usize>, usize)> {
    let is_name =
        |side: &Side<'_>, free: &[usize], at: usize| free.contains(&at) && side.words[at].kind == Kind::Name;
    let begins = |at: &usize| {
        is_name(side, free, *at) && is_name(side, free, at + 1) && tables().joins_next(&side.words[*at].text)
    };
    let last = side.words.len().saturating_sub(1);
    (0..last).filter(begins).take(MAX_SPELLED_JOINS).find_map(|at| {
        let joined = Word::joined(&[side.words[at], side.words[at + 1]]);
        let same =
            |whole: &&usize| is_name(other, free_other, **whole) && joined.same_name(other.words[**whole]);
        free_other.iter().find(same).map(|whole| (vec![at, at + 1], *whole))
    })
}

/// How many names a joined word is. Ade Bayo is one name, Ngozi Okafor are two; a joined
/// word that is itself a known name is one.
fn names_in(whole: &Word, side: &Side<'_>, pieces: &[usize]) -> usize {
    let short = |at: &usize| {
        let word = side.words[*at];
        word.kind != Kind::Name || word.text.chars().count() < MIN_PIECE_LETTERS
    };
    let first = pieces.first().map(|at| side.words[*at]);
    let one_name = first.is_some_and(|w| tables().joins_next(&w.text));
    if whole.known || one_name || pieces.iter().any(short) { 1 } else { pieces.len() }
}

/// One typing error apart or alike in sound and not both known names, or a name and its nickname.
fn is_nearly(a: &Word, b: &Word) -> bool {
    let nearly = a.has_nickname(b)
        || b.has_nickname(a)
        || a.sounds_like(b)
        || (!(a.known && b.known) && one_letter_apart(&a.text, &b.text));
    nearly && !tables().are_different(&a.text, &b.text)
}

/// One letter put in, left out or changed, or two neighbours swapped.
pub(super) fn one_letter_apart(a: &str, b: &str) -> bool {
    if a.len().abs_diff(b.len()) > MAX_LETTER_BYTES {
        return false;
    }
    if a.is_ascii() && b.is_ascii() {
        return one_apart(a.as_bytes(), b.as_bytes());
    }
    let letters = |word: &str| word.chars().collect::<Vec<_>>();
    one_apart(&letters(a), &letters(b))
}

fn one_apart<T: PartialEq>(a: &[T], b: &[T]) -> bool {
    if a.len().abs_diff(b.len()) > 1 || a == b {
        return false;
    }
    let same = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (ra, rb) = (&a[same..], &b[same..]);
    let (la, lb) = (ra.len(), rb.len());
    match la.cmp(&lb) {
        std::cmp::Ordering::Greater => ra[1..] == *rb,
        std::cmp::Ordering::Less => rb[1..] == *ra,
        std::cmp::Ordering::Equal => {
            ra[1..] == rb[1..] || (la > 1 && ra[0] == rb[1] && ra[1] == rb[0] && ra[2..] == rb[2..])
        }
    }
}
