//! Whether an element can be seen: inline styles, the attributes of old mails, and the rules
//! of style blocks. It suspects rather than being exact: a rule that may hide an element hides it.
//! Only `html` uses it.

use scraper::ElementRef;

use super::colour::{self, BLACK, Colour, WHITE};
use super::sheet::{StyleSheet, cost};

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
    /// A value is not followed here: the look may be another one.
    pub unread: bool,
    /// Crossed out, by an element around it as well.
    pub struck: bool,
    /// What it costs to compare a selector with this element and those around it.
    path: usize,
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
            unread: false,
            struck: false,
            path: 0,
        }
    }
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

    /// The look of an element inside this one.
    pub fn within(&self, element: ElementRef, styles: &mut StyleSheet) -> Result<ComputedStyle, String> {
        let mut look = self.clone();
        let own = element.value();
        look.path += cost(own);
        look.gone |= own.attr("hidden").is_some();
        look.turned |= own.name() == "bdo";
        look.struck |= matches!(own.name(), "s" | "strike" | "del");
        for (attribute, name) in [("bgcolor", "background"), ("color", "color"), ("text", "color")] {
            if let Some(value) = own.attr(attribute) {
                look.apply(name, &value.to_lowercase(), self.letters);
            }
        }
        let inline = own.attr("style").map(|css| styles.inline(css)).unwrap_or_default();
        let rules = styles.matching(element, look.path)?;
        let mut flat = Flat::default();
        for important in [false, true] {
            let ruled = rules.iter().map(|rule| (rule.unsure, &rule.declarations[..]));
            for (unsure, declarations) in ruled.chain([(false, &inline[..])]) {
                let before = unsure.then(|| look.clone());
                for d in declarations.iter().filter(|d| d.important == important) {
                    look.apply(&d.name, &d.value, self.letters);
                    flat.apply(&d.name, &d.value);
                }
                if let Some(before) = before.filter(|before| before.hidden() && !look.hidden()) {
                    look = before;
                }
            }
        }
        look.gone |= flat.shows_nothing();
        Ok(look)
    }

    fn apply(&mut self, name: &str, value: &str, parent_letters: f32) {
        // What is told elsewhere, or has to be computed.
        let computed = value.contains('(');
        self.unread |= value.contains("var(");
        match name {
            "display" | "mso-hide" => {
                self.gone |= matches!(value, "none" | "all");
                self.unread |= computed;
            }
            "content-visibility" => self.gone |= value == "hidden",
            // A picture takes the place of the text.
            "content" => self.gone |= value.contains('('),
            "visibility" => {
                // Others do not follow a word that they do not know.
                match value {
                    "hidden" | "collapse" => self.invisible = true,
                    "visible" | "initial" => self.invisible = false,
                    _ => self.unread |= computed,
                }
            }
            "opacity" => {
                self.opacity *=
                    number(value).map_or(1.0, |n| if value.ends_with('%') { n / 100.0 } else { n });
                self.unread |= computed;
            }
            "filter" => self.gone |= value.replace(' ', "").contains("opacity(0"),
            "transform" => self.gone |= value.replace(' ', "").contains("scale(0") || far_off(value),
            "font-size" => {
                self.letters = size(value, parent_letters).unwrap_or(self.letters);
                self.unread |= computed;
            }
            "font" => {
                let sized =
                    value.split_whitespace().find_map(|word| size(word.split('/').next()?, parent_letters));
                self.letters = sized.unwrap_or(self.letters);
                self.unread |= computed;
            }
            "text-indent" | "left" | "top" | "right" | "bottom" | "margin" | "margin-left" | "margin-top"
            | "letter-spacing" => self.gone |= far_off(value),
            "clip" | "clip-path" => {
                let value = value.replace(' ', "");
                let nothing = ["rect(0", "rect(1px,1px", "inset(100%", "inset(50%", "circle(0"];
                self.gone |= nothing.iter().any(|n| value.starts_with(n));
            }
            "color" | "-webkit-text-fill-color" => match colour::parse(value) {
                Some(colour) => self.colour = colour,
                None => self.unread |= computed,
            },
            "background" | "background-color" => {
                let parsed =
                    colour::parse(value).or_else(|| value.split_whitespace().find_map(colour::parse));
                if let Some(colour) = parsed.filter(|c| !c.is_transparent()) {
                    self.background = colour;
                }
            }
            "text-decoration" | "text-decoration-line" => self.struck |= value.contains("line-through"),
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
