//! Splits Rust source into code, comments and string literals, keeping every line's place.
//!
//! Not a parser: it knows just enough of the notation (nested comments, raw strings,
//! character literals against lifetimes) that a rule about code does not stumble over a
//! word in a comment, and the other way round. Only `tidy` uses it.

/// The three layers of a file. `code` and `comments` have the text's lines, with blanks where
/// the other layers were.
pub struct Layers {
    pub code: String,
    pub comments: String,
    /// Line of the opening quote (from 1) and the text between the quotes, escapes as written.
    pub strings: Vec<(usize, String)>,
}

pub fn split(text: &str) -> Layers {
    let chars: Vec<char> = text.chars().collect();
    let mut layers = Layers { code: String::new(), comments: String::new(), strings: Vec::new() };
    let (mut at, mut line) = (0, 1);
    while at < chars.len() {
        let end = if starts(&chars, at, "//") {
            (at..chars.len()).find(|&i| chars[i] == '\n').unwrap_or(chars.len())
        } else if starts(&chars, at, "/*") {
            end_of_block(&chars, at)
        } else if let Some((open, hashes)) = string_start(&chars, at) {
            let (close, end) = end_of_string(&chars, open, hashes);
            layers.strings.push((line, chars[open..close].iter().collect()));
            end
        } else if let Some(end) = end_of_char(&chars, at) {
            end
        } else {
            at
        };
        if end == at {
            let one = chars[at];
            layers.code.push(one);
            layers.comments.push(if one == '\n' { '\n' } else { ' ' });
            line += usize::from(one == '\n');
            at += 1;
            continue;
        }
        let comment = chars[at] == '/';
        for &one in &chars[at..end] {
            let blank = if one == '\n' { '\n' } else { ' ' };
            layers.code.push(blank);
            layers.comments.push(if comment { one } else { blank });
            line += usize::from(one == '\n');
        }
        at = end;
    }
    layers
}

fn starts(chars: &[char], at: usize, what: &str) -> bool {
    what.chars().enumerate().all(|(i, c)| chars.get(at + i) == Some(&c))
}

fn end_of_block(chars: &[char], start: usize) -> usize {
    let (mut depth, mut at) = (0, start);
    while at < chars.len() {
        if starts(chars, at, "/*") {
            depth += 1;
            at += 2;
        } else if starts(chars, at, "*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    at
}

/// Where the contents begin and, for a raw string, how many hashes it has.
fn string_start(chars: &[char], at: usize) -> Option<(usize, Option<usize>)> {
    if at > 0 && is_word(chars[at - 1]) {
        return (chars[at] == '"').then_some((at + 1, None));
    }
    let mut next = at;
    if matches!(chars[next], 'b' | 'c') {
        next += 1;
    }
    if chars.get(next) == Some(&'r') {
        let hashes = chars[next + 1..].iter().take_while(|c| **c == '#').count();
        if chars.get(next + 1 + hashes) == Some(&'"') {
            return Some((next + 2 + hashes, Some(hashes)));
        }
    }
    (chars.get(next) == Some(&'"')).then_some((next + 1, None))
}

/// Where the contents end, and where the literal ends.
fn end_of_string(chars: &[char], open: usize, hashes: Option<usize>) -> (usize, usize) {
    let mut at = open;
    while at < chars.len() {
        match (chars[at], hashes) {
            ('\\', None) => at += 1,
            ('"', None) => return (at, at + 1),
            ('"', Some(count)) if starts(chars, at + 1, &"#".repeat(count)) => return (at, at + 1 + count),
            _ => {}
        }
        at += 1;
    }
    (chars.len(), chars.len())
}

/// The end of a character literal that begins here; none for a lifetime.
fn end_of_char(chars: &[char], at: usize) -> Option<usize> {
    if chars[at] != '\'' {
        return None;
    }
    match (chars.get(at + 1), chars.get(at + 2)) {
        (Some('\\'), _) => {
            let close = (at + 3..chars.len()).find(|&i| chars[i] == '\'')?;
            Some(close + 1)
        }
        (Some(_), Some('\'')) => Some(at + 3),
        _ => None,
    }
}

pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A word, or a single other character, of the code layer; `::` is one token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub line: usize,
    pub text: String,
}

pub fn tokens(code: &str) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = match first {
                c if is_word(c) => rest.find(|c: char| !is_word(c)).unwrap_or(rest.len()),
                _ if rest.starts_with("::") => 2,
                c => c.len_utf8(),
            };
            found.push(Token { line: number + 1, text: rest[..length].to_owned() });
            rest = rest[length..].trim_start();
        }
    }
    found
}

/// First and last line of every item under `#[cfg(test)]`.
pub fn test_lines(tokens: &[Token]) -> Vec<(usize, usize)> {
    let mut ranges = Vec::new();
    let is = |i: usize, text: &str| tokens.get(i).is_some_and(|token: &Token| token.text == text);
    for at in 0..tokens.len() {
        let attribute = ["#", "[", "cfg", "(", "test", ")", "]"];
        if !attribute.iter().enumerate().all(|(i, text)| is(at + i, text)) {
            continue;
        }
        let mut depth = 0;
        let mut last = tokens[at].line;
        for token in &tokens[at + attribute.len()..] {
            last = token.line;
            match token.text.as_str() {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 && matches!(token.text.as_str(), "}" | ";") {
                break;
            }
        }
        ranges.push((tokens[at].line, last));
    }
    ranges
}

#[test]
fn code_comments_and_strings_come_apart() {
    let text = "let a = \"// no \\\" comment\"; // yes \"x\"\n/* a /* b */ c */ let b = 'x'; let c: &'a str = r#\"q\"q\"#;\n";
    let layers = split(text);
    let words: Vec<String> = tokens(&layers.code).into_iter().map(|token| token.text).collect();
    assert_eq!(words.join(" "), "let a = ; let b = ; let c : & ' a str = ;");
    assert_eq!(layers.strings, [(1, "// no \\\" comment".to_owned()), (2, "q\"q".to_owned())]);
    assert!(layers.comments.contains("// yes \"x\"") && layers.comments.contains("/* a /* b */ c */"));
    assert_eq!(layers.comments.lines().count(), 2);
}

#[test]
fn odd_literals_do_not_derail() {
    let layers = split("f('\\'', '\"', b'\"', b\"z\", c\"y\", '\\u{7f}'); end // c");
    let words: Vec<String> = tokens(&layers.code).into_iter().map(|token| token.text).collect();
    assert_eq!(words.join(" "), "f ( , , b , , , ) ; end");
    assert_eq!(layers.strings, [(1, "z".to_owned()), (1, "y".to_owned())]);
}

#[test]
fn test_items_are_found_with_their_lines() {
    let code = "fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() { }\n}\nfn c() {}\n#[cfg(test)]\nmod other;\nfn d() {}\n";
    assert_eq!(test_lines(&tokens(code)), [(2, 5), (7, 8)]);
}
