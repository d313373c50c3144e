//! The rules of a mail's style blocks, and the declarations of its style attributes.
//!
//! `cssparser` parses and `selectors` matches, as `scraper` does. This file decides what of it is
//! followed, and bounds the work. A pseudo-class is left out of its selector, and such a rule is
//! unsure: it may hide an element, but it never shows one. Only `style` and `html` use it.

use std::collections::HashMap;
use std::rc::Rc;

use cssparser::{
    AtRuleParser, BasicParseError, CowRcStr, DeclarationParser, ParseError, Parser, ParserState,
    QualifiedRuleParser, RuleBodyItemParser, RuleBodyParser, Token, match_ignore_ascii_case,
};
use scraper::ElementRef;
use scraper::node::Element;
use scraper::selector::{Parser as SelectorParser, Simple};
use selectors::context::{
    MatchingContext, MatchingForInvalidation, MatchingMode, NeedsSelectorFlags, QuirksMode, SelectorCaches,
};
use selectors::matching::matches_selector;
use selectors::parser::{Combinator, Component, ParseRelative, Selector, SelectorList};

/// Rules kept of a mail's style blocks, and style attributes whose declarations are kept.
const MAX_RULES: usize = 500;
/// Comparisons of elements with parts of selectors in one mail, and declarations applied by rules; an
/// alert needs some thousands.
const MAX_COMPARISONS: usize = 2_000_000;
/// Names, classes, attributes and combinators of one selector.
const MAX_PARTS: usize = 32;
/// Blocks in blocks, and functions in functions.
const MAX_BLOCKS: usize = 16;
/// Attributes of this many bytes cost as much as one more element to compare with.
const BYTES_PER_COMPARISON: usize = 256;

/// In lower case, without escapes and comments.
pub struct Declaration {
    pub name: String,
    pub value: String,
    pub important: bool,
}

/// A rule that fits an element.
pub struct Matched {
    pub declarations: Rc<Vec<Declaration>>,
    /// Whether it fits depends on what is not followed here.
    pub unsure: bool,
}

struct Rule {
    selector: Selector<Simple>,
    reach: Reach,
    unsure: bool,
    declarations: Rc<Vec<Declaration>>,
}

/// The elements that a selector is compared with.
#[derive(Clone, Copy)]
enum Reach {
    Own,
    Ancestors,
    Siblings,
}

#[derive(Default)]
pub struct StyleSheet {
    rules: Vec<Rule>,
    /// Rules by what the element itself must have.
    by_key: HashMap<String, Vec<usize>>,
    /// Style attributes that were read already: a mail gives the same one to each of its rows.
    inline: HashMap<String, Rc<Vec<Declaration>>>,
    /// A rule puts words of its own before or after an element.
    pub writes: bool,
    /// A limit left rules out.
    pub unread: bool,
    /// The cost of all elements of the mail.
    document: usize,
    compared: usize,
}

/// What it costs to compare a selector with an element.
pub fn cost(element: &Element) -> usize {
    1 + element.attrs().map(|(name, value)| name.len() + value.len()).sum::<usize>() / BYTES_PER_COMPARISON
}

fn declarations(css: &str) -> Vec<Declaration> {
    let mut sheet = StyleSheet::default();
    let mut block = Block { in_rule: true, is_attribute: true, ..Block::of(&mut sheet) };
    block.read(&mut Parser::new(css));
    block.declarations
}

impl StyleSheet {
    /// The rules of all style blocks; what one block leaves open ends with it. Rules of a medium with
    /// conditions are skipped: they depend on the reader's screen. `document` is the cost of all elements.
    pub fn parse(blocks: &[String], document: usize) -> StyleSheet {
        let mut sheet = StyleSheet { document, ..StyleSheet::default() };
        for css in blocks {
            Block::of(&mut sheet).read(&mut Parser::new(css));
        }
        sheet
    }

    /// The declarations of a style attribute.
    pub fn inline(&mut self, css: &str) -> Rc<Vec<Declaration>> {
        if let Some(known) = self.inline.get(css) {
            return known.clone();
        }
        let read = Rc::new(declarations(css));
        if self.inline.len() < MAX_RULES {
            self.inline.insert(css.to_owned(), read.clone());
        }
        read
    }

    fn add(&mut self, heads: Vec<Head>, unsure: bool, declarations: Vec<Declaration>) {
        let declarations = Rc::new(declarations);
        for head in heads.into_iter().filter(|head| !head.ignored) {
            if head.writes {
                self.writes |= declarations.iter().any(Declaration::writes);
                continue;
            }
            let text = head.text.trim().trim_start_matches(['>', '+', '~']);
            let list = SelectorList::parse(&SelectorParser, &mut Parser::new(text), ParseRelative::No);
            // Others do not understand it either.
            let Some(selector) = list.ok().and_then(|list| list.slice().first().cloned()) else { continue };
            if self.rules.len() >= MAX_RULES || selector.len() > MAX_PARTS {
                self.unread = true;
                return;
            }
            self.by_key.entry(key(&selector)).or_default().push(self.rules.len());
            let reach = Reach::of(&selector);
            let unsure = unsure || head.unsure;
            self.rules.push(Rule { selector, reach, unsure, declarations: declarations.clone() });
        }
    }

    /// The rules for an element, in the order of the cascade. `path` is the cost of the element and those
    /// around it. The error says that the style is too elaborate.
    pub fn matching(&mut self, element: ElementRef, path: usize) -> Result<Vec<Matched>, String> {
        if self.rules.is_empty() {
            return Ok(Vec::new());
        }
        let mut caches = SelectorCaches::default();
        // Mails have no document type, or a webmail has taken it out: names are compared without case.
        let mut context = MatchingContext::new(
            MatchingMode::Normal,
            None,
            &mut caches,
            QuirksMode::Quirks,
            NeedsSelectorFlags::No,
            MatchingForInvalidation::No,
        );
        let own = element.value();
        let own_cost = cost(own);
        let keys = std::iter::once(own.name().to_owned())
            .chain(own.classes().map(|c| format!(".{}", c.to_ascii_lowercase())))
            .chain(own.id().map(|i| format!("#{}", i.to_ascii_lowercase())))
            .chain(["*".to_owned()]);
        let mut found = Vec::new();
        for at in keys.filter_map(|key| self.by_key.get(&key)).flatten() {
            let rule = &self.rules[*at];
            let compared_with = match rule.reach {
                Reach::Own => own_cost,
                Reach::Ancestors => path,
                Reach::Siblings => self.document,
            };
            self.compared += rule.selector.len() * compared_with;
            if self.compared > MAX_COMPARISONS {
                break;
            }
            if matches_selector(&rule.selector, 0, None, &element, &mut context) {
                self.compared += rule.declarations.len();
                found.push((rule.selector.specificity(), *at));
            }
        }
        if self.compared > MAX_COMPARISONS {
            return Err("the mail's CSS is too complex to evaluate".into());
        }
        found.sort_unstable();
        let matched = |(_, at): (u32, usize)| {
            let rule = &self.rules[at];
            Matched { declarations: rule.declarations.clone(), unsure: rule.unsure }
        };
        Ok(found.into_iter().map(matched).collect())
    }
}

impl Reach {
    fn of(selector: &Selector<Simple>) -> Reach {
        let combinators = |c: &Component<Simple>| match c {
            Component::Combinator(Combinator::NextSibling | Combinator::LaterSibling) => {
                Some(Reach::Siblings)
            }
            Component::Combinator(_) => Some(Reach::Ancestors),
            _ => None,
        };
        let all: Vec<Reach> = selector.iter_raw_match_order().filter_map(combinators).collect();
        let siblings = all.iter().find(|r| matches!(r, Reach::Siblings));
        siblings.or(all.first()).copied().unwrap_or(Reach::Own)
    }
}

/// What the index knows a selector by: what its last compound asks of the element itself.
fn key(selector: &Selector<Simple>) -> String {
    let own = || selector.iter();
    let id = own().find_map(|c| match c {
        Component::ID(id) => Some(format!("#{}", id.0.to_ascii_lowercase())),
        _ => None,
    });
    let class = own().find_map(|c| match c {
        Component::Class(class) => Some(format!(".{}", class.0.to_ascii_lowercase())),
        _ => None,
    });
    let tag = own().find_map(|c| match c {
        Component::LocalName(name) => Some(name.lower_name.0.to_string()),
        _ => None,
    });
    id.or(class).or(tag).unwrap_or_else(|| "*".to_owned())
}

impl Declaration {
    /// Whether `content` shows words, and not a picture alone.
    fn writes(&self) -> bool {
        const WRITERS: [&str; 5] = ["\"", "'", "attr(", "counter", "var("];
        self.name == "content"
            && self.value.split(' ').any(|word| WRITERS.iter().any(|w| word.starts_with(w)))
            && self.value.chars().any(char::is_alphanumeric)
    }
}

/// One selector of a rule.
#[derive(Default)]
struct Head {
    /// Without pseudo-classes.
    text: String,
    unsure: bool,
    /// It tells of what a pointer does, or of no text of the mail.
    ignored: bool,
    /// It is about what stands before or after an element.
    writes: bool,
}

impl Head {
    fn read(input: &mut Parser) -> Head {
        let mut head = Head::default();
        loop {
            let start = input.position();
            let Ok(token) = input.next_including_whitespace_and_comments().cloned() else { return head };
            match token {
                Token::Comment(_) | Token::CDO | Token::CDC => {}
                Token::Colon => head.pseudo(input),
                // The rule around this one.
                Token::Delim('&') => {
                    head.unsure = true;
                    head.text.push('*');
                }
                Token::SquareBracketBlock => {
                    let _: Result<(), ParseError<()>> = input.parse_nested_block(|inner| {
                        while inner.next().is_ok() {}
                        Ok(())
                    });
                    head.text.push_str(input.slice_from(start));
                }
                _ => head.text.push_str(input.slice_from(start)),
            }
        }
    }

    /// What stands behind a colon.
    fn pseudo(&mut self, input: &mut Parser) {
        let is_element = input.try_parse(|input| input.expect_colon()).is_ok();
        let name = match input.next_including_whitespace_and_comments() {
            Ok(Token::Ident(name) | Token::Function(name)) => name.to_ascii_lowercase(),
            _ => return self.ignored = true,
        };
        let is_bare = self.text.is_empty() || self.text.ends_with([' ', '\n', '\r', '\t', '>', '+', '~']);
        match name.as_str() {
            "before" | "after" => self.writes = true,
            "hover" | "active" | "focus" | "visited" => self.ignored = true,
            // A selection, a scroll bar.
            name if is_element && is_bare && !matches!(name, "first-line" | "first-letter") => {
                self.ignored = true;
            }
            _ => {
                self.unsure = true;
                if is_bare {
                    self.text.push('*');
                }
            }
        }
    }
}

/// A list of rules, or what stands between the braces of one.
struct Block<'a> {
    sheet: &'a mut StyleSheet,
    depth: usize,
    in_rule: bool,
    is_attribute: bool,
    unsure: bool,
    declarations: Vec<Declaration>,
}

impl Block<'_> {
    fn of(sheet: &mut StyleSheet) -> Block<'_> {
        let declarations = Vec::new();
        Block { sheet, depth: 0, in_rule: false, is_attribute: false, unsure: false, declarations }
    }

    fn read(&mut self, input: &mut Parser) {
        if self.depth > MAX_BLOCKS {
            self.sheet.unread = true;
            return;
        }
        // What cannot be parsed is skipped, as by everybody.
        for _ in RuleBodyParser::<_, (), ()>::new(input, self) {}
    }
}

impl<'i> DeclarationParser<'i> for Block<'_> {
    type Declaration = ();
    type Error = ();

    fn parse_value(
        &mut self,
        name: CowRcStr<'i>,
        input: &mut Parser<'i>,
        _: &ParserState,
    ) -> Result<(), ParseError<()>> {
        let mut text = Value::default();
        text.read(input, 0)?;
        let name = name.to_ascii_lowercase();
        self.declarations.push(Declaration { name, value: text.value, important: text.important });
        Ok(())
    }
}

impl<'i> QualifiedRuleParser<'i> for Block<'_> {
    type Prelude = Vec<Head>;
    type QualifiedRule = ();
    type Error = ();

    fn parse_prelude(&mut self, input: &mut Parser<'i>) -> Result<Vec<Head>, ParseError<()>> {
        input.parse_comma_separated(|input| Ok(Head::read(input)))
    }

    fn parse_block(
        &mut self,
        heads: Vec<Head>,
        _: &ParserState,
        input: &mut Parser<'i>,
    ) -> Result<(), ParseError<()>> {
        // Where a rule inside of a rule holds is known roughly.
        let unsure = self.unsure || self.in_rule;
        let depth = self.depth + 1;
        let mut inner = Block { depth, in_rule: true, unsure, ..Block::of(self.sheet) };
        inner.read(input);
        let declarations = inner.declarations;
        self.sheet.add(heads, unsure, declarations);
        Ok(())
    }
}

impl<'i> AtRuleParser<'i> for Block<'_> {
    /// Whether the rules inside are unsure.
    type Prelude = bool;
    type AtRule = ();
    type Error = ();

    fn parse_prelude(&mut self, name: CowRcStr<'i>, input: &mut Parser<'i>) -> Result<bool, ParseError<()>> {
        match_ignore_ascii_case! { &name,
            "media" => if is_for_all(input)? { return Ok(false) },
            "supports" | "layer" | "container" | "scope" | "starting-style" => {
                while input.next().is_ok() {}
                return Ok(true);
            },
            _ => {},
        }
        Err(ParseError::unexpected_token())
    }

    fn parse_block(
        &mut self,
        unsure: bool,
        _: &ParserState,
        input: &mut Parser<'i>,
    ) -> Result<(), ParseError<()>> {
        let outer = self.unsure;
        self.unsure |= unsure;
        self.depth += 1;
        self.read(input);
        self.depth -= 1;
        self.unsure = outer;
        Ok(())
    }
}

impl RuleBodyItemParser<'_, (), ()> for Block<'_> {
    fn parse_declarations(&self) -> bool {
        self.in_rule
    }

    fn parse_qualified(&self) -> bool {
        !self.is_attribute
    }
}

/// Whether a medium is everybody's: `screen`, `all`, `not print`; nothing with a condition.
fn is_for_all(input: &mut Parser) -> Result<bool, ParseError<()>> {
    let queries = input.parse_comma_separated(|query| {
        let (mut is_screen, mut holds, mut has_condition) = (true, true, false);
        while let Ok(token) = query.next() {
            match token {
                Token::Ident(word) if word.eq_ignore_ascii_case("not") => holds = false,
                Token::Ident(word) if word.eq_ignore_ascii_case("print") => is_screen = false,
                Token::Ident(_) => {}
                _ => has_condition = true,
            }
        }
        Ok::<bool, ParseError<()>>(is_screen == holds && !has_condition)
    })?;
    Ok(queries.contains(&true))
}

/// A value, written again with at most one space between two words.
#[derive(Default)]
struct Value {
    value: String,
    important: bool,
    blank: bool,
}

impl Value {
    fn read(&mut self, input: &mut Parser, depth: usize) -> Result<(), ParseError<()>> {
        loop {
            let start = input.position();
            let Ok(token) = input.next_including_whitespace_and_comments().cloned() else { return Ok(()) };
            match token {
                Token::WhiteSpace(_) | Token::Comment(_) => self.blank = true,
                Token::Ident(name) => self.push(&name.to_lowercase()),
                Token::Number { value, .. } => self.number(value, "", input.slice_from(start)),
                Token::Percentage { unit_value, .. } => {
                    self.number(unit_value * 100.0, "%", input.slice_from(start));
                }
                Token::Dimension { value, unit, .. } => self.number(value, &unit, input.slice_from(start)),
                Token::Hash(name) | Token::IDHash(name) => self.push(&format!("#{}", name.to_lowercase())),
                Token::Delim('!') if depth == 0 => {
                    let word: Result<(), BasicParseError> =
                        input.try_parse(|input| input.expect_ident_matching("important"));
                    self.important |= word.is_ok();
                }
                Token::Function(name) => {
                    self.push(&format!("{}(", name.to_lowercase()));
                    self.inner(input, depth)?;
                }
                Token::ParenthesisBlock => {
                    self.push("(");
                    self.inner(input, depth)?;
                }
                // A rule, or nothing that a browser follows.
                Token::CurlyBracketBlock | Token::BadString(_) | Token::BadUrl(_) => {
                    return Err(ParseError::unexpected_token());
                }
                _ => self.push(&input.slice_from(start).to_lowercase()),
            }
        }
    }

    fn inner(&mut self, input: &mut Parser, depth: usize) -> Result<(), ParseError<()>> {
        if depth < MAX_BLOCKS {
            input.parse_nested_block(|inner| self.read(inner, depth + 1))?;
        }
        self.push(")");
        Ok(())
    }

    fn push(&mut self, text: &str) {
        let is_tight =
            self.value.is_empty() || self.value.ends_with(['(', ',']) || text.starts_with([')', ',']);
        if std::mem::take(&mut self.blank) && !is_tight {
            self.value.push(' ');
        }
        self.value.push_str(text);
    }

    /// `1e-3px` becomes `0.001px`; what may be a colour without its sign stays as it is.
    fn number(&mut self, value: f32, unit: &str, written: &str) {
        const FURTHEST: f32 = 1e9;
        if matches!(written.len(), 3 | 6) && written.bytes().all(|b| b.is_ascii_hexdigit()) {
            return self.push(&written.to_lowercase());
        }
        self.push(&format!("{}{}", value.clamp(-FURTHEST, FURTHEST), unit.to_lowercase()));
    }
}
