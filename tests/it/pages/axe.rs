//! axe-core in a page of the test's browser: what it finds that keeps people with a screen reader, a keyboard or weak eyes
//! from using the page.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::harness::browser::Browser;

const SOURCE: &str = include_str!("axe/axe.min.js");
const VERSION: &str = "4.14.1";
const SHA256: &str = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c";
/// A checker that found nothing to check would complain of nothing.
const RULES_MIN: u64 = 10;

/// What is wrong is told with its place; what holds is counted. A colour that still fades in is not the one that people read.
const LOOK: &str = r#"
const [rules] = arguments;
for (const one of document.getAnimations()) {
    if (one.effect.getComputedTiming().endTime !== Infinity) one.finish();
}
const what = rules.length ? {runOnly: {type: "rule", values: rules}} : {};
return axe.run(document, {...what, resultTypes: ["violations"]}).then(found => ({
    version: found.testEngine.version,
    held: found.passes.length,
    wrong: found.violations
        .filter(one => one.impact === "serious" || one.impact === "critical")
        .flatMap(one => one.nodes.map(node =>
            `${one.id} (${one.impact}) at ${node.target.join(" ")}: ${node.failureSummary} ${node.html}`)),
}));
"#;
const OPEN_ALL: &str = "document.querySelectorAll('details').forEach(one => { one.open = true; });";

/// Brings axe-core into the page that is open. The driver does; the page's own policy lets no such script in.
pub fn load(browser: &Browser) {
    browser.execute(SOURCE, json!([]));
}

/// Unfolds whatever can be unfolded.
pub fn unfold(browser: &Browser) {
    browser.execute(OPEN_ALL, json!([]));
}

/// What is serious or critical on the page, after [`load`].
pub fn complaints(browser: &Browser) -> Vec<String> {
    let found = look(browser, &[]);
    assert!(found["held"].as_u64().unwrap() > RULES_MIN, "{found}");
    told(&found)
}

/// The same of its colours alone.
pub fn complaints_of_colours(browser: &Browser) -> Vec<String> {
    told(&look(browser, &["color-contrast"]))
}

fn look(browser: &Browser, rules: &[&str]) -> Value {
    let found = browser.execute(LOOK, json!([rules]));
    assert_eq!(found["version"], VERSION);
    found
}

fn told(found: &Value) -> Vec<String> {
    found["wrong"].as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect()
}

#[test]
fn axe_is_the_pinned_file() {
    let hash: String = Sha256::digest(SOURCE).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hash, SHA256);
    assert!(SOURCE.starts_with(&format!("/*! axe v{VERSION}\n")));
}
