//! Tells a person which rules for narrations were tried, and which part of each did not match (`bank try`).
//!
//! It runs the same rules as the reader, and decides nothing.

use super::{Came, Narration, Setting, came_to, rules};
use crate::alert_reader::template::NarrationRule;

/// Characters of an expression or a narration that are shown.
const SHOWN_MAX: usize = 200;

/// One line for each rule of the template that was tried, and for each form of the network's that fits.
pub fn told(text: Option<&str>, setting: &Setting<'_>) -> Vec<String> {
    let Some(text) = text else {
        return vec!["no narration was found, so no narration rule was tried".into()];
    };
    let mut out = vec![format!("the narration is \"{}\"", shown(text))];
    let mut narration = Narration::default();
    let (mut own, mut network, mut ended) = (0, 0, false);
    let mut aside_for: Vec<(String, Vec<String>)> = Vec::new();
    for (is_own, rule) in rules(setting) {
        *(if is_own { &mut own } else { &mut network }) += 1;
        let came = came_to(rule, text, setting, &mut narration);
        match (&came, is_own) {
            (Came::Aside, true) => {
                let reason = aside(rule, setting);
                match aside_for.iter_mut().find(|(known, _)| *known == reason) {
                    Some((_, numbers)) => numbers.push(own.to_string()),
                    None => aside_for.push((reason, vec![own.to_string()])),
                }
            }
            (came, true) => {
                out.push(format!(
                    "narration rule {own} of the template {}",
                    words(came, rule, text, setting)
                ));
            }
            (Came::Aside | Came::NotFound, false) => {}
            (came, false) => {
                out.push(format!("network form {network} {}", words(came, rule, text, setting)));
            }
        }
        ended = came.ends();
        if ended {
            break;
        }
    }
    for (reason, numbers) in aside_for {
        let (rules, do_not) = if numbers.len() == 1 { ("rule", "does not") } else { ("rules", "do not") };
        let numbers = numbers.join(", ");
        out.push(format!(
            "narration {rules} {numbers} of the template {do_not} apply to this narration: {reason}"
        ));
    }
    if !ended {
        let none = if setting.bank.narration_is_typed {
            "the network's own forms are not tried (narration_is_typed)".to_owned()
        } else {
            format!("none of the network's {network} forms (data/narration.toml) yields a payer")
        };
        out.push(none);
    }
    out
}

fn words(came: &Came, rule: &NarrationRule, text: &str, setting: &Setting<'_>) -> String {
    match came {
        Came::Aside => "does not apply to this narration".into(),
        Came::NotFound => match fitting(rule, text, &setting.shared.words) {
            Some((front, rest)) if !front.is_empty() => {
                format!("does not match: it matches up to `{}`, but not `{}`", shown(&front), shown(&rest))
            }
            _ => format!("does not match, not even its beginning: `{}`", shown(&rule.written)),
        },
        Came::NoPayer => "matches; such a narration names no payer (no_payer)".into(),
        Came::TypedBank => {
            "matches, but the session id is another bank's, so the payer typed what follows".into()
        }
        Came::TypedName => "matches, but the payer may have typed the name".into(),
        Came::NoName => {
            "matches, but finds no name (rather an institution, a code or a word such as \"payment\"); the \
             next rule is tried"
                .into()
        }
        Came::TwoNames => "matches, but finds two people, and it is unclear which of them paid".into(),
        Came::Payer(payer) => format!("matches: the payer is {payer}"),
    }
}

fn aside(rule: &NarrationRule, setting: &Setting<'_>) -> String {
    if !rule.layouts.is_empty() && !rule.layouts.iter().any(|layout| layout == setting.layout) {
        return format!("the layout is {}, not {}", setting.layout, rule.layouts.join(" or "));
    }
    if let Some(direction) = rule.direction.filter(|one| setting.direction != Some(*one)) {
        return format!("only for {}s", direction.as_str());
    }
    let fills = if setting.filled { "does not fill" } else { "fills" };
    format!("only where the narration {fills} its field")
}

/// The longest prefix of the rule's expression that matches, and the rest of it. If an expression matches, its
/// prefixes match too, so the place is found by bisection.
fn fitting(rule: &NarrationRule, text: &str, words: &str) -> Option<(String, String)> {
    let written = &rule.written;
    let cuts = cuts(written);
    let fits = |at: usize| {
        let expression = written.get(..at).unwrap_or_default().replace("{BANK}", words);
        regex::Regex::new(&expression).is_ok_and(|regex| regex.is_match(text))
    };
    let (mut low, mut high) = (0, cuts.len());
    while low < high {
        let middle = (low + high) / 2;
        if fits(*cuts.get(middle)?) { low = middle + 1 } else { high = middle }
    }
    let at = if low == 0 { 0 } else { *cuts.get(low - 1)? };
    let (front, rest) = written.split_at_checked(at)?;
    // Flags and anchors alone match everything.
    let is_bare = front.trim_start_matches("(?i)").trim_start_matches('^').is_empty();
    Some((if is_bare { String::new() } else { front.to_owned() }, rest.to_owned()))
}

/// Places at which an expression may be cut: outside of groups, classes and counts, and not before a sign that
/// belongs to what stands before.
fn cuts(written: &str) -> Vec<usize> {
    let (mut depth, mut class, mut escaped) = (0_usize, false, false);
    let mut out = Vec::new();
    for (at, c) in written.char_indices() {
        if depth == 0 && !class && !escaped && at > 0 && !"?*+{".contains(c) {
            out.push(at);
        }
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' if !class => class = true,
            ']' if class => class = false,
            '(' | '{' if !class => depth += 1,
            ')' | '}' if !class => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    out
}

fn shown(text: &str) -> String {
    if text.chars().count() <= SHOWN_MAX {
        return text.to_owned();
    }
    text.chars().take(SHOWN_MAX).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_cut_between_its_parts_only() {
        let parts = |written: &str| -> Vec<String> {
            cuts(written).into_iter().map(|at| written[..at].to_owned()).collect()
        };
        assert_eq!(
            parts(r"^a+\d[)(]{2}(?:x|y)?z"),
            ["^", "^a+", r"^a+\d", r"^a+\d[)(]{2}", r"^a+\d[)(]{2}(?:x|y)?"]
        );
        assert_eq!(parts("{BANK}/x"), ["{BANK}", "{BANK}/"]);
    }
}
