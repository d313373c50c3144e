//! Tests of reading bodies.

use super::*;

fn names<'a>(fields: &'a Fields<'_>) -> Vec<&'a str> {
    fields.members.iter().map(|(name, _)| name.as_ref()).collect()
}

#[test]
fn members_stay_as_they_are_written() {
    let fields =
        parse(br#" {"amount": 1500.50, "n\u0061me": "Ada", "x": null, "y": {"b":1, "a":[2]}} "#).unwrap();
    assert_eq!(names(&fields), ["amount", "name", "x", "y"]);
    assert_eq!(fields.get("amount"), Some("1500.50"));
    assert_eq!(fields.get("name"), Some("\"Ada\""));
    assert_eq!(fields.get("x"), None);
    assert_eq!(fields.get("missing"), None);
}

#[test]
fn broken_text_tells_its_place() {
    for (text, line, column) in [
        ("{\"amount\": }", 1, 12),
        ("{\n  \"amount\": 5,\n  }", 3, 3),
        ("{\"a\": 1} x", 1, 10),
        ("[1, 2", 1, 5),
        ("{\"a\": tru}", 1, 10),
    ] {
        match parse(text.as_bytes()) {
            Err(BodyProblem::Broken { line: l, column: c, .. }) => {
                assert_eq!((l, c), (line, column), "{text}")
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    assert!(matches!(parse(b"{\"a\": \"\xff\"}"), Err(BodyProblem::Broken { .. })));
    assert_eq!(parse(b" \n").unwrap_err(), BodyProblem::Empty);
}

#[test]
fn what_is_broken_is_told_in_plain_words() {
    for (text, told) in [
        ("{\"a\": 1", "it ends inside an object"),
        ("{\"a", "it ends inside a string"),
        ("{\"\\ud800\": 1}", "a field's name has an unpaired surrogate (\\ud800 to \\udfff)"),
        ("{\"\\udc00\": 1}", "a field's name has an unpaired surrogate (\\ud800 to \\udfff)"),
        ("{\"a\": 1,}", "trailing comma"),
    ] {
        let told_here = match parse(text.as_bytes()) {
            Err(BodyProblem::Broken { what, .. }) => what,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(told_here, told, "{text}");
    }
}

#[test]
fn only_an_object_will_do_and_each_name_once() {
    for text in ["[]", "5", "\"text\"", "null", "true"] {
        assert_eq!(parse(text.as_bytes()).unwrap_err(), BodyProblem::NotAnObject, "{text}");
    }
    let twice = parse(br#"{"amount": 1, "\u0061mount": 2}"#).unwrap_err();
    assert_eq!(twice, BodyProblem::Twice("amount".into()));
}

#[test]
fn nesting_ends_at_32() {
    let nested = |depth: usize| format!("{{\"a[[[[\": {}{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1));
    assert!(parse(nested(32).as_bytes()).is_ok());
    match parse(nested(33).as_bytes()) {
        Err(BodyProblem::Broken { line: 1, column, what }) => {
            assert_eq!(column, 42);
            assert!(what.contains("32"), "{what}");
        }
        other => panic!("{other:?}"),
    }
    let in_text = format!("{{\"a\": \"\\\"{}\"}}", "[".repeat(50));
    assert!(parse(in_text.as_bytes()).is_ok());
}

#[test]
fn a_fingerprint_is_of_the_meaning_and_not_of_the_writing() {
    let of = |text: &str| parse(text.as_bytes()).unwrap().fingerprint("POST", "/x");
    let first = of(r#"{"amount": 5000, "name": "Ada", "api_key": "a", "z": {"b": 1, "a": [1]}}"#);
    assert_eq!(first, of(r#"{"z":{"a":[1],"b":1},"name":"\u0041da","amount":5000.00}"#));
    assert_ne!(first, of(r#"{"z":{"a":[1],"b":1},"name":"Ada","amount":5000.01}"#));
    assert_ne!(first, of(r#"{"z":{"a":[1],"b":2},"name":"Ada","amount":5000}"#));
    assert_ne!(of(r#"{"a": "5"}"#), of(r#"{"a": 5}"#));
    assert_ne!(of(r#"{"a": "bc"}"#), of(r#"{"ab": "c"}"#));
    let fields = parse(b"{}").unwrap();
    assert_ne!(fields.fingerprint("POST", "/x"), fields.fingerprint("PATCH", "/x"));
    assert_ne!(fields.fingerprint("POST", "/x"), fields.fingerprint("POST", "/y"));
}

#[tokio::test]
async fn a_body_is_read_up_to_its_limit() {
    assert_eq!(read(Body::from(vec![b' '; BODY_MAX])).await.unwrap().len(), BODY_MAX);
    assert_eq!(read(Body::from(vec![b' '; BODY_MAX + 1])).await, Err(BodyProblem::TooLarge));
    let pieces = |n: usize| {
        Body::from_stream(futures_util::stream::iter(
            (0..n).map(|i| Ok::<_, std::io::Error>(Bytes::from(vec![b'a' + (i % 26) as u8; 1000]))),
        ))
    };
    let whole = read(pieces(60)).await.unwrap();
    assert_eq!((whole.len(), whole[0], whole[59_999]), (60_000, b'a', b'a' + 59 % 26));
    assert_eq!(read(pieces(66)).await, Err(BodyProblem::TooLarge));
    assert_eq!(read(pieces(5_000)).await, Err(BodyProblem::TooLarge));
}

#[tokio::test]
async fn a_body_that_never_ends_is_given_up_on() {
    let never = Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>());
    assert_eq!(read_within(never, Duration::from_millis(20)).await, Err(BodyProblem::Slow));
}

#[test]
fn content_types() {
    let with = |value: &str| {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, value.parse().unwrap());
        is_json(&headers)
    };
    assert!(with("application/json") && with("Application/JSON ; charset=utf-8"));
    assert!(!with("text/plain") && !with("application/json-patch+json") && !with(""));
    assert!(!is_json(&HeaderMap::new()));
}

#[test]
fn a_body_may_be_full_of_members() {
    let members: Vec<String> = (0..8_000).map(|n| format!("\"{n:04}\":0")).collect();
    let text = format!("{{{}}}", members.join(","));
    assert!(text.len() > BODY_MAX && members.len() == 8_000, "more than a body can hold");
    assert_eq!(parse(text.as_bytes()).unwrap().members.len(), 8_000);
    let twice = format!("{{{},\"7999\":1}}", members.join(","));
    assert_eq!(parse(twice.as_bytes()).unwrap_err(), BodyProblem::Twice("7999".into()));
}
