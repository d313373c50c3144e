//! Whether an element can be seen: inline styles, the attributes of old mails, and the rules
//! of style blocks. A rough reader of CSS, made to suspect rather than to be exact: a rule that
//! may hide an element hides it, a combinator counts as "somewhere inside".
//! Only `html` uses it.

use std::collections::HashMap;

use scraper::node::Element;

use super::colour::{self, BLACK, Colour, WHITE};

/// Rules kept of a mail's style blocks.
const MAX_RULES: usize = 500;
/// Comparisons of elements with rules in one mail, ancestors included; an alert needs some thousands.
const MAX_COMPARISONS: usize = 2_000_000;
/// Letters under this size in pixels cannot be read.
const SMALLEST_LETTERS: f32 = 2.0;
/// Letters where nothing is said.
const USUAL_LETTERS: f32 = 16.0;
/// Text moved by more than this many pixels has left the page.
const OFF_THE_PAGE: f32 = -500.0;

/// What an element inherits, and what has become of it.
#[derive(Clone, Debug)]
pub struct ComputedStyle {
    /// Nothing inside can be seen, whatever it says of itself.
    gone: bool,
    invisible: bool,
    opacity: f32,
    letters: f32,
    colour: Colour,
    background: Colour,
    /// The direction of writing is forced.
    pub turned: bool,
}

impl Default for ComputedStyle {
    fn default() -> ComputedStyle {
        ComputedStyle {
            gone: false,
            invisible: false,
            opacity: 1.0,
            letters: USUAL_LETTERS,
            colour: BLACK,
            background: WHITE,
            turned: false,
        }
    }
}

struct Declaration {
    name: String,
    value: String,
    important: bool,
}

/// `tag.class#id` without regard to case.
#[derive(Default)]
struct Compound {
    tag: Option<String>,
    id: Option<String>,
    classes: Vec<String>,
}

struct Rule {
    /// From the outermost to the element itself; never empty.
    path: Vec<Compound>,
    declarations: std::rc::Rc<Vec<Declaration>>,
}

/// The rules of a mail's style blocks, by what the element itself must have.
#[derive(Default)]
pub struct StyleSheet {
    rules: Vec<Rule>,
    by_key: HashMap<String, Vec<usize>>,
    /// A rule puts words of its own before or after an element.
    pub writes: bool,
    compared: usize,
}

impl StyleSheet {
    /// Rules of a medium with conditions are skipped: they depend on the reader's screen.
    pub fn parse(css: &str) -> StyleSheet {
        let mut sheet = StyleSheet::default();
        sheet.read(&strip_comments(css).to_lowercase());
        sheet
    }

    fn read(&mut self, css: &str) {
        let mut rest = css;
        while let Some(open) = rest.find('{') {
            let selector = rest[..open].rsplit([';', '}']).next().unwrap_or_default().trim();
            let medium = selector.starts_with('@');
            let close = if medium { block_end(&rest[open..]) } else { rest[open..].find('}') };
            let close = close.unwrap_or(rest.len() - open);
            let body = &rest[open + 1..open + close.max(1)];
            if !medium {
                self.add(selector, body);
            } else if selector.starts_with("@media")
                && !selector.contains(['(', ','])
                && !selector.contains("print")
            {
                // `@media screen { ... }` holds for everybody. One level is enough for mails.
                for rule in body.split_inclusive('}') {
                    if let Some((selector, body)) = rule.split_once('{') {
                        self.add(selector.trim(), body.trim_end_matches('}'));
                    }
                }
            }
            rest = rest.get(open + close + 1..).unwrap_or_default();
        }
    }

    fn add(&mut self, selectors: &str, body: &str) {
        let declarations = std::rc::Rc::new(declarations(body));
        for selector in selectors.split(',') {
            if self.rules.len() >= MAX_RULES {
                return;
            }
            if selector.contains(":before") || selector.contains(":after") {
                let said =
                    |d: &&Declaration| d.name == "content" && d.value.chars().any(char::is_alphanumeric);
                self.writes |= declarations.iter().any(|d| said(&d) && d.value.starts_with(['"', '\'']));
                continue;
            }
            let Some(path) = path(selector) else { continue };
            let Some(key) = path.last().and_then(key) else { continue };
            self.by_key.entry(key).or_default().push(self.rules.len());
            self.rules.push(Rule { path, declarations: declarations.clone() });
        }
    }

    /// The rules for an element, in their order. The error says that the style is too elaborate.
    fn matching(&mut self, element: &Element, above: &[&Element]) -> Result<Vec<usize>, String> {
        let mut found = Vec::new();
        let keys = std::iter::once(element.name().to_owned())
            .chain(element.classes().map(|c| format!(".{}", c.to_lowercase())))
            .chain(element.id().map(|i| format!("#{}", i.to_lowercase())))
            .chain(["*".to_owned()]);
        for key in keys {
            let Some(rules) = self.by_key.get(&key) else { continue };
            for &at in rules {
                self.compared += above.len() + 1;
                if self.compared > MAX_COMPARISONS {
                    return Err("the mail's CSS is too complex to evaluate".into());
                }
                if self.rules[at].holds(element, above) {
                    found.push(at);
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }
}

impl Rule {
    fn holds(&self, element: &Element, above: &[&Element]) -> bool {
        let Some((own, outer)) = self.path.split_last() else { return false };
        if !own.fits(element) {
            return false;
        }
        let mut above = above.iter().rev();
        outer.iter().rev().all(|wanted| above.any(|a| wanted.fits(a)))
    }
}

impl Compound {
    fn fits(&self, element: &Element) -> bool {
        self.tag.as_ref().is_none_or(|tag| tag == element.name())
            && self.id.as_ref().is_none_or(|id| element.id().is_some_and(|i| i.eq_ignore_ascii_case(id)))
            && self.classes.iter().all(|c| element.classes().any(|own| own.eq_ignore_ascii_case(c)))
    }
}

/// The parts of a selector, or `None` for one that only some readers know (`[data-x] p`, `p:hover`).
fn path(selector: &str) -> Option<Vec<Compound>> {
    let spread = selector.replace(['>', '+', '~'], " ");
    let parts: Option<Vec<Compound>> = spread.split_whitespace().map(compound).collect();
    parts.filter(|p| !p.is_empty())
}

fn compound(text: &str) -> Option<Compound> {
    let text = text.split('[').next().unwrap_or_default();
    let (text, state) = text.split_once(':').unwrap_or((text, ""));
    if matches!(state, "hover" | "active" | "focus" | "visited") || text.is_empty() {
        return None;
    }
    let mut out = Compound::default();
    let start = text.find(['.', '#']).unwrap_or(text.len());
    if !matches!(&text[..start], "" | "*") {
        out.tag = Some(text[..start].to_owned());
    }
    let mut rest = &text[start..];
    while rest.len() > 1 {
        let end = rest[1..].find(['.', '#']).map_or(rest.len(), |n| n + 1);
        let name = rest[1..end].to_owned();
        if rest.starts_with('.') {
            out.classes.push(name);
        } else {
            out.id = Some(name);
        }
        rest = &rest[end..];
    }
    Some(out)
}

/// What the index knows a compound by.
fn key(compound: &Compound) -> Option<String> {
    let id = compound.id.as_ref().map(|id| format!("#{id}"));
    let class = compound.classes.first().map(|c| format!(".{c}"));
    id.or(class).or(compound.tag.clone()).or(Some("*".to_owned()))
}

fn declarations(body: &str) -> Vec<Declaration> {
    let one = |text: &str| {
        let (name, value) = text.split_once(':')?;
        let important = value.contains("!important");
        let value = value.replace("!important", "").trim().to_owned();
        Some(Declaration { name: name.trim().to_owned(), value, important })
    };
    body.split(';').filter_map(one).collect()
}

fn strip_comments(css: &str) -> String {
    let mut out = String::new();
    let mut rest = css;
    while let Some(start) = rest.find("/*") {
        out.push_str(&rest[..start]);
        rest = rest[start..].find("*/").map_or("", |end| &rest[start + end + 2..]);
    }
    out.push_str(rest);
    out.replace("<!--", "").replace("-->", "")
}

/// Index of the brace that closes the one `text` begins with.
fn block_end(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (i, c) in text.char_indices() {
        match c {
            '{' => open += 1,
            '}' if open == 1 => return Some(i),
            '}' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    None
}

impl ComputedStyle {
    /// Whether text here escapes the eye.
    pub fn hidden(&self) -> bool {
        self.gone
            || self.invisible
            || self.opacity <= 0.1
            || self.letters < SMALLEST_LETTERS
            || self.colour.drowns_in(self.background)
    }

    /// Whether nothing inside can be seen, whatever it says of itself.
    pub fn gone(&self) -> bool {
        self.gone
    }

    /// Nothing inside can be seen.
    pub fn hide(&mut self) {
        self.gone = true;
    }

    /// The look of an element inside this one; `above` are the elements around it.
    pub fn within(
        &self,
        element: &Element,
        above: &[&Element],
        styles: &mut StyleSheet,
    ) -> Result<ComputedStyle, String> {
        let mut look = self.clone();
        look.gone |= element.attr("hidden").is_some();
        look.turned |= element.name() == "bdo";
        for (attribute, name) in [("bgcolor", "background"), ("color", "color"), ("text", "color")] {
            if let Some(value) = element.attr(attribute) {
                look.apply(name, &value.to_lowercase(), self.letters);
            }
        }
        let inline = element.attr("style").map(|s| declarations(&s.to_lowercase())).unwrap_or_default();
        let rules = styles.matching(element, above)?;
        let mut flat = Flat::default();
        for important in [false, true] {
            let ruled = rules.iter().flat_map(|r| styles.rules[*r].declarations.iter());
            for d in ruled.chain(&inline).filter(|d| d.important == important) {
                look.apply(&d.name, &d.value, self.letters);
                flat.apply(&d.name, &d.value);
            }
        }
        look.gone |= flat.shows_nothing();
        Ok(look)
    }

    fn apply(&mut self, name: &str, value: &str, parent_letters: f32) {
        match name {
            "display" | "mso-hide" => self.gone |= matches!(value, "none" | "all"),
            "content-visibility" => self.gone |= value == "hidden",
            "visibility" => self.invisible = matches!(value, "hidden" | "collapse"),
            "opacity" => {
                self.opacity *=
                    number(value).map_or(1.0, |n| if value.ends_with('%') { n / 100.0 } else { n })
            }
            "filter" => self.gone |= value.replace(' ', "").contains("opacity(0"),
            "transform" => self.gone |= value.replace(' ', "").contains("scale(0") || far_off(value),
            "font-size" => self.letters = size(value, parent_letters).unwrap_or(self.letters),
            "font" => {
                let sized =
                    value.split_whitespace().find_map(|word| size(word.split('/').next()?, parent_letters));
                self.letters = sized.unwrap_or(self.letters);
            }
            "text-indent" | "left" | "top" | "right" | "bottom" | "margin" | "margin-left" | "margin-top"
            | "letter-spacing" => self.gone |= far_off(value),
            "clip" | "clip-path" => {
                let value = value.replace(' ', "");
                let nothing = ["rect(0", "rect(1px,1px", "inset(100%", "inset(50%", "circle(0"];
                self.gone |= nothing.iter().any(|n| value.starts_with(n));
            }
            "color" | "-webkit-text-fill-color" => self.colour = colour::parse(value).unwrap_or(self.colour),
            "background" | "background-color" => {
                let parsed =
                    colour::parse(value).or_else(|| value.split_whitespace().find_map(colour::parse));
                if let Some(colour) = parsed.filter(|c| !c.is_transparent()) {
                    self.background = colour;
                }
            }
            "unicode-bidi" => self.turned |= value.contains("override"),
            _ => {}
        }
    }
}

/// A box without height or width that cuts off what is inside.
#[derive(Default)]
struct Flat {
    clipped: bool,
    nothing: bool,
}

impl Flat {
    fn apply(&mut self, name: &str, value: &str) {
        match name {
            "max-height" | "max-width" | "height" | "width" => {
                self.nothing |= number(value).is_some_and(|n| n <= 1.0) && !value.ends_with("em")
            }
            "overflow" | "overflow-x" | "overflow-y" => {
                self.clipped |= matches!(value, "hidden" | "clip" | "scroll" | "auto")
            }
            _ => {}
        }
    }

    fn shows_nothing(&self) -> bool {
        self.clipped && self.nothing
    }
}

/// The number that a value begins with.
fn number(value: &str) -> Option<f32> {
    value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%').trim().parse::<f32>().ok()
}

/// The size of letters in pixels.
fn size(value: &str, parent: f32) -> Option<f32> {
    let n = match value {
        "xx-small" | "x-small" | "small" | "smaller" => return Some(10.0),
        "medium" | "large" | "larger" | "x-large" | "xx-large" => return Some(USUAL_LETTERS),
        _ => number(value)?,
    };
    Some(
        match value.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+')).trim() {
            "em" => n * parent,
            "rem" => n * USUAL_LETTERS,
            "%" => n * parent / 100.0,
            "pt" => n * 4.0 / 3.0,
            "" | "px" => n,
            // Of a unit that is not known only the zero is.
            _ if n > 0.0 => USUAL_LETTERS,
            _ => 0.0,
        },
    )
}

/// Whether one of the lengths of a value moves text off the page.
fn far_off(value: &str) -> bool {
    value.split([' ', '(', ')', ',']).any(|word| {
        let Some(n) = number(word) else { return false };
        let pixels = if word.ends_with("em") {
            n * USUAL_LETTERS
        } else if word.ends_with("vw") || word.ends_with("vh") || word.ends_with('%') {
            n * 5.0
        } else {
            n
        };
        pixels <= OFF_THE_PAGE
    })
}
