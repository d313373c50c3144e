//! Characters that make a text read otherwise than it is written: those that change the direction of what
//! follows, and those that nobody sees.
//!
//! Names, ids and references with such characters are refused where they come in, by one rule for all of them.
//! What bears another's likeness is `impostor`'s to tell; what a terminal may be shown, `crate::terminal`'s.

/// A piece of one line in which everything can be seen. Variation selectors are taken: they say only how the
/// character before them is drawn, as in many emoji.
pub fn is_plain_line(text: &str) -> bool {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    !text.chars().any(|c| breaks(c) || (is_invisible(c) && !is_variant(c)))
}

/// Changes the direction of what follows.
pub fn turns(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

pub fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}'
    )
}

fn is_variant(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}')
}

/// The reasons of a text that joins them by `; `. What stands in quotes is part of its reason, whatever it holds: a
/// merchant chose it. In quotes a backslash takes the next character's meaning, as `{:?}` writes them.
pub fn reasons_in(text: &str) -> Vec<&str> {
    let (mut all, mut begin, mut is_quoted, mut is_escaped) = (Vec::new(), 0, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            ';' if !is_quoted && text.get(at..).is_some_and(|rest| rest.starts_with("; ")) => {
                all.extend(text.get(begin..at));
                begin = at + 2;
            }
            _ => {}
        }
    }
    all.extend(text.get(begin..));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_line_hides_and_turns_nothing() {
        for good in ["", "Ọlá Zoë D’Souza-Bello", "№ 7/ọ", "Cake ☺\u{fe0f}", "عائشة"] {
            assert!(is_plain_line(good), "{good:?}");
        }
        for c in "\n\t\u{7f}\u{85}\u{2028}\u{2029}\u{ad}\u{61c}\u{200b}\u{200d}\u{200f}\u{202e}\u{2066}\u{feff}\u{e0041}".chars() {
            assert!(!is_plain_line(&format!("Ada{c}Obi")), "{:x}", u32::from(c));
        }
        assert!("\u{200e}\u{202a}\u{2069}".chars().all(|c| turns(c) && is_invisible(c)));
        assert!(!turns('\u{200b}'));
    }

    #[test]
    fn what_a_merchant_wrote_makes_no_reason_of_its_own() {
        assert_eq!(reasons_in("one; two"), ["one", "two"]);
        assert_eq!(reasons_in(""), [""]);
        let told = format!("payment {:?} fits; too late", "A; it was \"paid\"; pay B");
        assert_eq!(reasons_in(&told), [r#"payment "A; it was \"paid\"; pay B" fits"#, "too late"]);
        assert_eq!(reasons_in("an \"open end; here"), ["an \"open end; here"]);
        assert_eq!(reasons_in("a;b; c;"), ["a;b", "c;"]);
    }
}
