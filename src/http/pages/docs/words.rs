//! Texts of descriptions on a page: of Markdown they have `code` and lists, and nothing else.

use askama::Template;
use askama::filters::HtmlSafe;

use crate::http::pages::text::Text;

/// A sentence with words of code in it.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "docs/words.html")]
pub struct Words {
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
struct Part {
    text: Text,
    is_code: bool,
}

impl Words {
    pub fn new(text: &str) -> Words {
        // Between backticks, every second part is code.
        let parts = text.split('`').enumerate().filter(|(_, part)| !part.is_empty());
        Words { parts: parts.map(|(at, part)| Part { text: part.into(), is_code: at % 2 == 1 }).collect() }
    }

    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }
}

// Its template escapes every text.
impl HtmlSafe for Words {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_stands_out_and_everything_is_escaped() {
        let words = Words::new("`a<b` is & `c`");
        assert_eq!(words.to_string(), "<code>a&#60;b</code> is &#38; <code>c</code>");
        assert!(Words::new("").is_empty());
    }
}
