//! What a part would cost the parser, counted before it runs.

/// Upper bounds of what makes the parser slow.
#[derive(Default)]
pub(super) struct Cost {
    /// Open tags without their end. Elements that the parser closes by itself (cells, rows,
    /// paragraphs, items) cannot pile up and are not counted.
    pub(super) nesting: usize,
    /// Formatting elements that are open where another element begins or ends.
    pub(super) reopened: usize,
}

pub(super) fn cost(html: &str) -> Cost {
    const CLOSED_BY_THEMSELVES: [&str; 31] = [
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr",
        "p", "td", "th", "tr", "tbody", "thead", "tfoot", "li", "dt", "dd", "option", "colgroup", "html",
        "body", "head", "param", "optgroup", "caption",
    ];
    const FORMATTING: [&str; 14] =
        ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];
    let bytes = html.as_bytes();
    let (mut depth, mut formatting, mut cost, mut i) = (0_usize, 0_usize, Cost::default(), 0);
    while let Some(next) = bytes[i..].iter().position(|b| *b == b'<') {
        i += next + 1;
        let closing = bytes.get(i) == Some(&b'/');
        let start = i + usize::from(closing);
        let length = bytes[start..].iter().take(32).take_while(|b| b.is_ascii_alphanumeric()).count();
        if length == 0 {
            continue;
        }
        let name = html[start..start + length].to_ascii_lowercase();
        let change = |count: usize| if closing { count.saturating_sub(1) } else { count + 1 };
        if FORMATTING.contains(&name.as_str()) {
            formatting = change(formatting);
        } else {
            cost.reopened += formatting;
        }
        if !CLOSED_BY_THEMSELVES.contains(&name.as_str()) {
            depth = change(depth);
            cost.nesting = cost.nesting.max(depth);
        }
    }
    cost
}
