//! Headers as the grammar has them, headers that only look like it, and what no header may do.

use proptest::prelude::*;

use super::*;

fn sound(value: &str) -> bool {
    parse(value).is_some_and(|verdict| verdict.is_sound)
}

#[test]
fn quotes_and_comments_are_read_as_the_standard_has_them() {
    let verdict = parse(
        "\"mx.till.example\" (our (inner \\) border)) 1; spf=pass smtp.mailfrom=a@b.example; \
         dkim / 1 = PASS (2048-bit key; \"x\") reason=\"a; dkim=fail\" Header.D=bank.example \
         header.b=ab/c= header (x) . s=mail; none-such=none",
    )
    .unwrap();
    assert_eq!(verdict.authserv_id, "mx.till.example");
    assert_eq!(verdict.findings.len(), 3);
    let dkim = &verdict.findings[1];
    assert_eq!((dkim.method.as_str(), dkim.result.as_str()), ("dkim", "pass"));
    assert_eq!(dkim.property("header.d"), Some("bank.example"));
    assert_eq!(dkim.property("header.b"), Some("ab/c="));
    assert_eq!(dkim.property("header.s"), Some("mail"));
    assert_eq!(dkim.property("reason"), None);
    assert!(verdict.is_sound);
    let nothing = parse("mx.till.example; none").unwrap();
    assert!(nothing.findings.is_empty() && nothing.is_sound);
}

#[test]
fn what_is_hidden_in_a_comment_or_quote_is_no_result() {
    for value in [
        "mx.till.example; (dkim=pass header.d=bank.example)",
        "mx.till.example; x-note=\"; dkim=pass header.d=bank.example\"",
        "mx.till.example; x-note=y z.a=\"; dkim=pass header.d=bank.example\"",
        "mx.till.example (; dkim=pass header.d=bank.example )",
    ] {
        let verdict = parse(value).unwrap();
        assert!(verdict.findings.iter().all(|f| f.method != "dkim"), "{value}");
    }
    let deep = format!("mx {}x{}; none", "(".repeat(21), ")".repeat(21));
    let long = format!("mx; x=y ({})", "a".repeat(MAX_BYTES));
    for broken in [
        "",
        ";",
        "\"\"; dkim=pass",
        "mx (open; dkim=pass",
        "mx \"open; dkim=pass",
        "mx; dkim=pass header.d=\"open",
        "mx; dkim=pass header.d=\"open\\",
        "mx; dkim=pass (open\\)",
        "mx ) ; dkim=pass",
        "mx; dkim=pass ) header.d=bank.example",
        "mx; dkim=pass (a)) header.d=bank.example",
        "a b; dkim=pass",
        "mx 1 2; dkim=pass",
        &deep,
        &long,
    ] {
        assert_eq!(parse(broken), None, "{broken}");
    }
    assert!(parse(&deep[1..]).is_none() && sound(&deep.replacen('(', "", 1).replacen(')', "", 1)));
}

#[test]
fn a_header_with_a_fault_is_not_sound_and_still_read() {
    for value in [
        "mx; dkim=pass header.d=a.example(x).thief.example",
        "mx; dkim=pass header.d=\"a.example\".thief.example",
        "mx; dkim=pass header.d=a.example .thief.example",
        "mx; dkim=pass header.d=a.example,thief.example",
        "mx; dkim=pass header.d=a.example(x)header.s=y",
        "mx; dkim=pass(x)header.d=a.example",
        "mx; dkim=pass header.d=a.example word",
        "mx; dkim=pass word header.d=a.example",
        "mx; dkim=pass = header.d=a.example",
        "mx; dkim=pass \"x\" header.d=a.example",
        "mx; dkim=pass header.d=a.example header.D=a.example",
        "mx; dkim=pass header.d=a.example smtp.helo=a.example",
        "mx; dkim=pass header.d=a.example policy.x=y",
        "mx; dkim=pass header.d=a.example x-bits=2048",
        "mx; dkim=pass header.d=a.example reason=late",
        "mx; dkim=pass reason=a reason=b header.d=a.example",
        "mx; dkim=pass header.d=a.example header.b=",
        "mx; dkim=pass header.d=a.example header.b=x.y",
        "mx; dkim=pass header.d=a.example header.a=rsa.y",
        "mx; dkim=pass header.d=a.example header.=x",
        "mx; dkim=pass header.d=a.example .s=x",
        "mx; dkim/2=pass header.d=a.example",
        "mx; dkim/=pass header.d=a.example",
        "mx 2; dkim=pass header.d=a.example",
        "mx; dkim=pass header.d=a.example;",
        "mx; dkim=pass header.d=a.example; ; spf=none",
        "mx; dkim=pass header.d=a.example; spf",
        "mx; dkim=pass header.d=a.example; spf=",
        "mx; dkim=pass header.d=a.example; spf=pass header.from=x",
        "mx; dkim=pass header.d=a.example; dmarc=pass action=none",
        "mx; dkim=pass header.d=a.example; dmarc=pass header.d=x",
        "mx; dkim=pass header.d=a.example; none",
    ] {
        let verdict = parse(value).unwrap();
        assert!(!verdict.is_sound, "{value}");
        assert_eq!(
            (verdict.findings[0].method.as_str(), verdict.findings[0].result.as_str()),
            ("dkim", "pass")
        );
        assert_eq!(
            verdict.findings[0].property("header.d").map(|d| d.starts_with("a.example")),
            Some(true),
            "{value}"
        );
    }
    assert!(!sound("mx") && !sound("mx;") && !sound("mx; =pass") && !sound("mx; none x"));
    let many = format!("mx; x=y{}", " a.b=c".repeat(MAX_PROPERTIES + 1));
    assert!(parse(&many).is_none() && parse(&format!("mx{}", "; x=y".repeat(MAX_FINDINGS + 1))).is_none());
    assert!(sound(&format!("mx{}", "; x=y".repeat(MAX_FINDINGS))));
}

/// A part of a header as the grammar has it: what it means, and one way to write it.
fn blank() -> impl Strategy<Value = String> {
    let one = prop_oneof![
        Just(" ".to_owned()),
        Just("\r\n\t".to_owned()),
        "[a-z;=.\"@ ]{0,8}".prop_map(|text| format!(" ({text}) ")),
        "[a-z;= ]{0,5}".prop_map(|text| format!("\t(a ({text}\\)) \\(b) ")),
    ];
    proptest::collection::vec(one, 1..3).prop_map(|all| all.concat())
}

fn maybe() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), blank()]
}

/// A value, and the way it is written.
fn value() -> impl Strategy<Value = (String, String)> {
    prop_oneof![
        "[a-z0-9@./=+:-]{1,12}".prop_map(|text| (text.clone(), text)),
        "[a-z0-9@./=;() \"\\\\-]{0,12}".prop_map(|text| {
            let written = text.replace('\\', "\\\\").replace('"', "\\\"");
            (text, format!("\"{written}\""))
        }),
    ]
}

fn finding_of(method: &'static str, ptype: &'static str) -> impl Strategy<Value = (Finding, String)> {
    let property = ("[a-z][a-z0-9]{0,5}", value(), blank(), maybe(), maybe());
    (proptest::collection::vec(property, 0..4), "[a-z]{1,8}", maybe(), maybe()).prop_map(
        move |(properties, result, before, after)| {
            let mut finding =
                Finding { method: method.into(), result: result.clone(), properties: Vec::new() };
            let mut text = format!("{before}{method}{after}={before}{result}");
            for (name, (value, written), apart, one, two) in properties {
                let name = format!("{ptype}.{name}");
                if finding.property(&name).is_none() {
                    text.push_str(&format!(
                        "{apart} {}={one}{written}{two}",
                        name.replacen('.', &format!("{two}.{one}"), 1)
                    ));
                    finding.properties.push((name, value));
                }
            }
            (finding, text + &after)
        },
    )
}

proptest! {
    /// Whatever the grammar lets be written is read as it was meant.
    #[test]
    fn what_is_written_by_the_grammar_is_read_back(
        all in proptest::collection::vec(
            prop_oneof![finding_of("x-note", "policy"), finding_of("spf", "smtp"), finding_of("iprev", "any")], 1..5),
        version in prop_oneof![Just(""), Just(" 1"), Just(" (x) 1 ")], after in maybe(),
    ) {
        let text = format!("mx.till.example{version}{after};{}", all.iter().map(|(_, t)| t.as_str()).collect::<Vec<_>>().join(";"));
        let verdict = parse(&text);
        prop_assert!(verdict.is_some(), "{}", text);
        let verdict = verdict.unwrap();
        let meant: Vec<Finding> = all.into_iter().map(|(finding, _)| finding).collect();
        prop_assert_eq!(&verdict.findings, &meant, "{}", text);
        prop_assert!(verdict.is_sound, "{}", text);
    }

    /// However a thief makes a domain of his own begin with another's: if a sound header tells the
    /// other's, the rest of his stands where `proof` holds it against the signature.
    #[test]
    fn a_strangers_domain_never_reads_as_the_banks(
        middle in "[ -:<-~\t\r\n]{0,12}|[ (]{0,2}[)x ]{0,2} ?(header|smtp)\\.[absdi]=[\"(]?", tail in "[a-z()\" =,\\\\-]{0,4}",
    ) {
        let text = format!("mx; dkim=pass header.d=bank.example{middle}{tail}.thief.example");
        if let Some(verdict) = parse(&text).filter(|verdict| verdict.is_sound) {
            let [finding] = &verdict.findings[..] else { panic!("{text}") };
            let ends = |name| finding.property(name).is_some_and(|value| value.ends_with(".thief.example"));
            let is_marked = ends("header.s") || ends("header.i");
            prop_assert!(finding.property("header.d") != Some("bank.example") || is_marked, "{}", text);
        }
    }

    /// No text makes the reader fail, and none takes it long.
    #[test]
    fn any_text_is_read_to_an_end(text in "([a-z]{1,6}|[=;.()\"/\\\\ ]|dkim=pass|header\\.d=a){0,60}") {
        if let Some(verdict) = parse(&text) {
            prop_assert!(verdict.findings.len() <= MAX_FINDINGS);
        }
    }
}
