//! Whether an element can be seen: inline styles, the attributes of old mails, and the plain
//! rules of a style block. A rough reader of CSS, made to suspect rather than to be exact.
//! Only `html` uses it.

use scraper::node::Element;

/// Rules kept of a style block.
const MAX_RULES: usize = 500;
/// Colours nearer than this in every channel cannot be told apart.
const SAME_COLOUR: i32 = 24;

type Colour = (u8, u8, u8);

/// What an element inherits.
#[derive(Clone, Debug)]
pub struct Look {
    pub hidden: bool,
    colour: Option<Colour>,
    background: Colour,
}

impl Default for Look {
    fn default() -> Look {
        Look { hidden: false, colour: None, background: (255, 255, 255) }
    }
}

/// Rules with one simple selector: `tag`, `.class`, `#id`, `tag.class`.
#[derive(Default)]
pub struct StyleSheet {
    rules: Vec<(String, String)>,
}

impl StyleSheet {
    /// Rules inside `@media` are skipped: they depend on the reader's screen.
    pub fn parse(css: &str) -> StyleSheet {
        let mut rules = Vec::new();
        let mut rest = strip_comments(css);
        while let Some(open) = rest.find('{') {
            let selector = rest[..open].rsplit([';', '}']).next().unwrap_or_default().trim().to_lowercase();
            let close =
                if selector.starts_with('@') { block_end(&rest[open..]) } else { rest[open..].find('}') };
            let Some(close) = close else { break };
            let body = rest[open + 1..open + close].to_lowercase();
            if !selector.starts_with('@') && rules.len() < MAX_RULES {
                rules.extend(selector.split(',').map(|s| (s.trim().to_owned(), body.clone())));
            }
            rest = rest[open + close + 1..].to_owned();
        }
        StyleSheet { rules }
    }

    fn matching<'a>(&'a self, element: &'a Element) -> impl Iterator<Item = &'a str> {
        self.rules.iter().filter(|(selector, _)| selects(selector, element)).map(|(_, body)| body.as_str())
    }
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

fn selects(selector: &str, element: &Element) -> bool {
    let (tag, rest) = match selector.find(['.', '#']) {
        Some(at) => selector.split_at(at),
        None => (selector, ""),
    };
    if !tag.is_empty() && tag != "*" && tag != element.name() {
        return false;
    }
    match rest.split_at_checked(1) {
        None | Some(("", _)) => !tag.is_empty() && tag != "*",
        Some((".", class)) => element.classes().any(|c| c.eq_ignore_ascii_case(class)),
        Some((_, id)) => element.id().is_some_and(|i| i.eq_ignore_ascii_case(id)),
    }
}

impl Look {
    /// The look of an element inside this one.
    pub fn within(&self, element: &Element, styles: &StyleSheet) -> Look {
        let mut look = self.clone();
        look.hidden |= element.attr("hidden").is_some();
        if let Some(colour) = element.attr("bgcolor").and_then(parse_colour) {
            look.background = colour;
        }
        if let Some(colour) = element.attr("color").and_then(parse_colour) {
            look.colour = Some(colour);
        }
        for body in styles.matching(element) {
            look.apply(body);
        }
        if let Some(style) = element.attr("style") {
            look.apply(&style.to_lowercase());
        }
        look.hidden |= look.colour.is_some_and(|c| near(c, look.background));
        look
    }

    fn apply(&mut self, declarations: &str) {
        let mut clipped = false;
        let mut flat = false;
        for declaration in declarations.split(';') {
            let Some((name, value)) = declaration.split_once(':') else { continue };
            let value = value.replace("!important", "");
            let (name, value) = (name.trim(), value.trim());
            let size = || {
                value
                    .trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%')
                    .trim()
                    .parse::<f32>()
                    .ok()
            };
            match name {
                "display" | "mso-hide" => self.hidden |= matches!(value, "none" | "all"),
                "visibility" => self.hidden |= matches!(value, "hidden" | "collapse"),
                "opacity" => self.hidden |= size().is_some_and(|n| n <= 0.1),
                "font-size" => self.hidden |= tiny(value, size()),
                "text-indent" | "left" | "top" | "margin-left" | "margin-top" => {
                    self.hidden |= size().is_some_and(|n| n <= -500.0)
                }
                "max-height" | "max-width" | "height" | "width" => flat |= size().is_some_and(|n| n <= 0.0),
                "overflow" => clipped |= value == "hidden",
                "clip" | "clip-path" => {
                    self.hidden |= value.starts_with("rect(0") || value.starts_with("inset(100%")
                }
                "color" if value == "transparent" => self.hidden = true,
                "color" => self.colour = parse_colour(value).or(self.colour),
                "background" | "background-color" => {
                    if let Some(colour) = value.split_whitespace().find_map(parse_colour) {
                        self.background = colour;
                    }
                }
                _ => {}
            }
        }
        self.hidden |= clipped && flat;
    }
}

/// Letters of under two points cannot be read.
fn tiny(value: &str, size: Option<f32>) -> bool {
    let Some(size) = size else { return false };
    if value.ends_with("em") {
        size < 0.15
    } else if value.ends_with('%') {
        size < 15.0
    } else {
        size < 2.0
    }
}

fn near(a: Colour, b: Colour) -> bool {
    let close = |x: u8, y: u8| (i32::from(x) - i32::from(y)).abs() <= SAME_COLOUR;
    close(a.0, b.0) && close(a.1, b.1) && close(a.2, b.2)
}

fn parse_colour(text: &str) -> Option<Colour> {
    let text = text.trim().to_lowercase();
    let named = match text.as_str() {
        "white" | "snow" | "ivory" | "ghostwhite" | "floralwhite" => Some((255, 255, 255)),
        "whitesmoke" => Some((245, 245, 245)),
        "black" => Some((0, 0, 0)),
        "red" => Some((255, 0, 0)),
        "green" => Some((0, 128, 0)),
        "blue" => Some((0, 0, 255)),
        "gray" | "grey" => Some((128, 128, 128)),
        "yellow" => Some((255, 255, 0)),
        _ => None,
    };
    if named.is_some() {
        return named;
    }
    if let Some(list) =
        text.strip_prefix("rgb(").or(text.strip_prefix("rgba(")).and_then(|t| t.strip_suffix(')'))
    {
        let mut numbers = list.split([',', ' ', '/']).filter_map(|n| n.trim().parse::<u8>().ok());
        return Some((numbers.next()?, numbers.next()?, numbers.next()?));
    }
    let hex = text.strip_prefix('#').unwrap_or(&text);
    if !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let pair = |i: usize| u8::from_str_radix(&hex[i..i + 2], 16).ok();
    match hex.len() {
        3 => {
            let one = |i: usize| u8::from_str_radix(&hex[i..=i], 16).ok().map(|n| n * 17);
            Some((one(0)?, one(1)?, one(2)?))
        }
        6 => Some((pair(0)?, pair(2)?, pair(4)?)),
        _ => None,
    }
}
