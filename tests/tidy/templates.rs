//! Templates hold no script, no style and no event handler, and escape every text: the policy forbids the first three,
//! and what a stranger wrote must not become a tag.

use regex::Regex;

use crate::{File, Finding};

/// What must not stand in a template, and what to do. The patterns see the file in lower case.
const RULES: &[(&str, &str)] = &[
    (r"\bhx-on\b", "`hx-on` is an inline script: use assets/tillbell.js"),
    (r#"[\s"']on[a-z]+\s*="#, "an event handler is an inline script: use assets/tillbell.js"),
    (r#"[\s"']style\s*="#, "an inline style: use a class of the stylesheet"),
    (r"<style\b", "an inline style: use assets/tillbell.css"),
    (r"javascript:", "an address that is a script: use assets/tillbell.js"),
    (r"\|\s*safe\b", "`safe` lets a text through unescaped: give it a type with a template of its own"),
    (r#"(?:src|href|action)="(?:https?:)?//"#, "loads or sends elsewhere: everything is served by us"),
];
/// The one stylesheet that stands inside its page; the page's policy has its hash.
const INSIDE: (&str, &str) = ("templates/pay/page.html", "<style>{{ style|safe }}</style>");

pub fn check(files: &[File], findings: &mut Vec<Finding>) {
    let regex = |pattern: &str| Regex::new(pattern).expect("a pattern of this file");
    let rules: Vec<(Regex, &str)> = RULES.iter().map(|(pattern, what)| (regex(pattern), *what)).collect();
    let (script, empty) = (regex(r"<script\b"), regex(r#"<script src="[^"<>]+"( defer)?></script>"#));
    let is_template = |file: &&File| file.path.starts_with("templates/") && file.path.ends_with(".html");
    for file in files.iter().filter(is_template) {
        for (n, line) in file.text.lines().enumerate() {
            if (&*file.path, line) == INSIDE {
                continue;
            }
            let line = line.to_lowercase();
            let mut report = |what: &str| {
                findings.push(Finding { path: file.path.clone(), line: n + 1, what: what.to_owned() });
            };
            for (_, what) in rules.iter().filter(|(rule, _)| rule.is_match(&line)) {
                report(what);
            }
            if script.find_iter(&line).count() != empty.find_iter(&line).count() {
                report("a script stands in the page: only `<script src=...></script>` may");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        let mut findings = Vec::new();
        check(&[File { path: path.to_owned(), text: text.to_owned() }], &mut findings);
        findings.len()
    }

    #[test]
    fn scripts_and_styles_in_a_template_are_told() {
        for bad in [
            "<button hx-on:click=\"x()\">",
            "<a onclick=\"x()\">",
            "<p STYLE = \"color:red\">",
            "<style>p{}</style>",
            "<script>x()</script>",
            "<script src=\"/a.js\">x()</script>",
            "<a href=\"javascript:x()\">",
            "{{ text|safe }}",
            "{{ text | safe }}",
            "<img src=\"https://cdn.example/x.png\">",
            "<link href=\"//cdn.example/x.css\">",
        ] {
            assert!(found("templates/kit/x.html", bad) > 0, "{bad}");
        }
    }

    #[test]
    fn what_loads_from_us_is_not() {
        for good in [
            "<script src=\"{{ frame.script() }}\" defer></script>",
            "<link rel=\"stylesheet\" href=\"{{ frame.style() }}\">",
            "<p class=\"style\">On = off, a button on the page</p>",
            "<a href=\"/dashboard\" hx-get=\"/dashboard\">{{ text }}</a>",
        ] {
            assert_eq!(found("templates/kit/x.html", good), 0, "{good}");
        }
        assert_eq!(found(INSIDE.0, INSIDE.1), 0);
        assert_eq!(found("docs/x.html", "<style>"), 0);
    }
}
