//! Commands that are printed for a person to run: whatever a merchant put into a transaction id, a shell takes it as
//! one word.

/// A text as one word of a shell's command line.
pub(super) fn word(text: &str) -> String {
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | ',' | '+' | '@');
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    // Nothing is special between single quotes but the quote itself.
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A `payment` command about one payment, with its business: two may use one transaction id.
pub(super) fn payment(verb: &str, transaction_id: &str, business: i64, options: &str) -> String {
    let id = word(transaction_id);
    if transaction_id.starts_with('-') {
        return format!("payment {verb} --business {business}{options} -- {id}");
    }
    format!("payment {verb} {id} --business {business}{options}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_any_id_as_one_word_that_says_nothing() {
        let ids = [
            "A-81/2",
            "A 81 --business 1",
            "A;touch pwned;#",
            "$(id)",
            "`id`",
            "it's 'so'",
            "a\"b",
            "\\",
            "~",
            "A&",
            "é",
        ];
        for id in ids {
            let line = format!("printf '%s|' {}", word(id));
            let out = std::process::Command::new("sh").args(["-c", &line]).output().unwrap();
            assert_eq!(String::from_utf8(out.stdout).unwrap(), format!("{id}|"), "{line}");
        }
        assert_eq!(word("A-81/2"), "A-81/2");
    }

    #[test]
    fn an_id_is_no_option_and_its_business_is_named() {
        assert_eq!(payment("show", "A-81", 2, ""), "payment show A-81 --business 2");
        assert_eq!(
            payment("reverse", "-f x", 2, " --alert 5"),
            "payment reverse --business 2 --alert 5 -- '-f x'"
        );
    }
}
