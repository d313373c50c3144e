//! The host rule against look-alikes: contract/webhooks.md#h9, case by case.

use proptest::prelude::*;

use super::*;

/// Takes the way a webhook URL takes: read it, then compare its host.
fn verdict(text: &str, approved: &str) -> Result<(), UrlProblem> {
    let target = parse_target(text, false)?;
    if host_is_within(target.host(), approved) { Ok(()) } else { Err(UrlProblem::NotAllowed("is elsewhere")) }
}

#[test]
fn the_host_itself_and_what_is_below_it() {
    let site = parse_website("https://www.Ojaoba.com.ng/", false).unwrap();
    assert_eq!(site, "ojaoba.com.ng");
    for good in [
        "https://ojaoba.com.ng/hook",
        "https://ojaoba.com.ng",
        "https://www.ojaoba.com.ng/hook",
        "https://pay.ojaoba.com.ng/hook?x=1",
        "https://a.b.ojaoba.com.ng/",
        "HTTPS://OJAOBA.COM.NG/Hook",
        "https://ojaoba.com.ng./hook",
        "https://ojaoba.com.ng:8443/hook",
        "https://ojaoba。com。ng/hook",
        "https://ｏｊａｏｂａ.com.ng/hook",
        "https://ojaoba%2ecom.ng/hook",
        "https://ojaoba.com.ng/hook#part",
        "  https://ojaoba.com.ng/hook  ",
    ] {
        assert_eq!(verdict(good, &site), Ok(()), "{good}");
    }
}

#[test]
fn look_alikes_are_elsewhere() {
    for bad in [
        "https://evilojaoba.com.ng/",
        "https://ojaoba.com.ng.evil.example/",
        "https://ojaoba.com/",
        "https://com.ng/",
        "https://evil.example/ojaoba.com.ng",
        "https://evil.example/?ojaoba.com.ng",
        "https://evil.example#ojaoba.com.ng",
        "https://evil.example#.ojaoba.com.ng",
        "https://evil.example\\.ojaoba.com.ng/",
        "https://ojaoba.com.ng\\@evil.example/",
        "https://ojaoba.com.ng@evil.example/",
        "https://evil.example@ojaoba.com.ng/",
        "https://user:pw@ojaoba.com.ng/",
        "https://@ojaoba.com.ng/",
        "https://:@ojaoba.com.ng/",
        "https://ojaobа.com.ng/",
        "http://ojaoba.com.ng/",
        "ftp://ojaoba.com.ng/",
        "https://127.0.0.1/",
        "https://2130706433/",
        "https://0x7f.1/",
        "https://0177.0.0.1/",
        "https://8.8.8.8/",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://localhost/",
        "https://localhost:8080/",
        "https://intranet/",
    ] {
        assert!(matches!(verdict(bad, "ojaoba.com.ng"), Err(UrlProblem::NotAllowed(_))), "{bad}");
    }
}

#[test]
fn what_is_no_url_is_told_apart() {
    let long = format!("https://ojaoba.com.ng/{}", "a".repeat(479));
    let limit = format!("https://ojaoba.com.ng/{}", "a".repeat(478));
    assert_eq!(limit.len(), MAX_URL_CHARS);
    assert_eq!(verdict(&limit, "ojaoba.com.ng"), Ok(()));
    for bad in [
        "",
        "   ",
        "shop",
        "ojaoba.com.ng/hook",
        "//ojaoba.com.ng/hook",
        "https://",
        "https:///ojaoba.com.ng",
        "https:ojaoba.com.ng",
        "https:/ojaoba.com.ng",
        "https://oja oba.com.ng/",
        "https://oja\toba.com.ng/",
        "https://oja\noba.com.ng/",
        "https://ojaoba.com.ng/\u{0}",
        "https://ojaoba.com.ng%2f.evil.example/",
        "https://ojaoba..com.ng/",
        "https://ojaoba.com.ng../",
        "https://.ojaoba.com.ng/",
        "https://ojaoba.com.ng:99999/",
        "https://[::1/",
        "https://999.1.1.1/",
        "mailto:shop@ojaoba.com.ng",
        "javascript:alert(1)",
        &long,
        &format!("https://{}.ojaoba.com.ng/", "a".repeat(64)),
    ] {
        assert!(matches!(parse_target(bad, false), Err(UrlProblem::NotAUrl(_))), "{bad}");
    }
}

#[test]
fn dev_mode_takes_http_and_loopback_and_nothing_more() {
    for good in
        ["http://localhost:9000/x", "http://127.0.0.1:9000/x", "https://localhost./", "http://a.example/"]
    {
        assert!(parse_target(good, true).is_ok(), "{good}");
    }
    for bad in
        ["http://127.0.0.2/", "http://10.0.0.1/", "http://[::1]/", "ftp://localhost/", "http://com.ng/"]
    {
        assert!(matches!(parse_target(bad, true), Err(UrlProblem::NotAllowed(_))), "{bad}");
    }
    assert_eq!(parse_website("localhost:9000", true), Ok("localhost".into()));
    assert_eq!(parse_website("http://127.0.0.1:9000/x", true), Ok("127.0.0.1".into()));
    assert!(host_is_within("127.0.0.1:9000", "127.0.0.1"));
    assert!(!host_is_within("5.127.0.0.1", "127.0.0.1"));
    assert!(is_dev_host("LOCALHOST:1") && is_dev_host("127.0.0.1") && !is_dev_host("a.localhost"));
}

#[test]
fn websites_may_be_written_in_many_ways() {
    for (text, host) in [
        ("adire-market.example", "adire-market.example"),
        ("WWW.Adire-Market.Example.", "adire-market.example"),
        ("http://adire-market.example:8080/shop?x#y", "adire-market.example"),
        ("https://bücher.example", "xn--bcher-kva.example"),
        ("shop.github.io", "shop.github.io"),
        // Stripped of its www this would be all of com.ng.
        ("www.com.ng", "www.com.ng"),
        ("www.www.adire-market.example", "www.adire-market.example"),
    ] {
        assert_eq!(parse_website(text, false).as_deref(), Ok(host), "{text}");
    }
    for bad in
        ["com.ng", "www.ng", "ng", "github.io", "localhost", "10.1.2.3", "a@b.example", "ftp://b.example"]
    {
        // www.ng is a name of its own; the rest belong to nobody or to everybody.
        let refused = matches!(parse_website(bad, false), Err(UrlProblem::NotAllowed(_)));
        assert_eq!(refused, bad != "www.ng", "{bad}");
    }
    assert!(!host_is_within("other.com.ng", &parse_website("www.com.ng", false).unwrap()));
}

#[test]
fn hosts_overlap_up_and_down_but_not_sideways() {
    assert!(hosts_overlap("a.example", "www.A.example."));
    assert!(hosts_overlap("pay.a.example", "a.example"));
    assert!(hosts_overlap("a.example", "pay.a.example"));
    assert!(!hosts_overlap("pay.a.example", "shop.a.example"));
    assert!(!hosts_overlap("ba.example", "a.example"));
    assert!(!hosts_overlap("", "a.example") && !hosts_overlap("", ""));
}

#[test]
fn equal_urls_are_equal_after_normalisation() {
    assert!(same_url("https://A.example:443/x/../hook", "https://a.example./hook#y"));
    assert!(same_url("https://a.example", "https://a.example/"));
    assert!(same_url("https://a.example/h%C3%A9", "https://a.example/hé"));
    for (a, b) in [
        ("https://a.example/hook", "https://a.example/hook/"),
        ("https://a.example/hook", "http://a.example/hook"),
        ("https://a.example/hook", "https://www.a.example/hook"),
        ("https://a.example/hook", "https://a.example/hook?x"),
        ("https://a.example/hook", "https://a.example:444/hook"),
        ("nonsense", "nonsense"),
    ] {
        assert!(!same_url(a, b), "{a} {b}");
    }
}

proptest! {
    #[test]
    fn nothing_panics_and_what_is_taken_reads_the_same_again(text in ".{0,80}", dev: bool) {
        let _ = parse_website(&text, dev);
        let _ = host_is_within(&text, "a.example");
        if let Ok(target) = parse_target(&text, dev) {
            prop_assert_eq!(parse_target(target.as_str(), dev), Ok(target));
        }
    }

    #[test]
    fn only_whole_labels_count(prefix in "[a-z0-9-]{0,8}[.]?[a-z0-9]{0,5}", tail in "[a-z.]{0,6}") {
        let text = format!("https://{prefix}adire.example{tail}/");
        if let Ok(target) = parse_target(&text, false) {
            let labels: Vec<&str> = target.host().split('.').collect();
            let inside = labels.ends_with(&["adire", "example"]);
            prop_assert_eq!(host_is_within(target.host(), "adire.example"), inside);
        }
    }

    #[test]
    fn whatever_surrounds_it_the_host_sent_to_is_the_host_checked(
        noise in "[@\\\\#?/:.a-z\t。]{0,12}", more in "[@\\\\#?/:.a-z\t。]{0,12}",
    ) {
        let text = format!("https://{noise}adire.example{more}");
        if let Ok(target) = parse_target(&text, false) {
            // The parser of another library, fed with what would be sent, must see the same host.
            let uri: http::Uri = target.as_str().parse().unwrap();
            prop_assert_eq!(uri.host(), Some(target.host()));
        }
    }

    #[test]
    fn a_website_is_within_itself(text in "[a-z0-9]{1,8}([.][a-z0-9]{1,8}){0,3}") {
        if let Ok(host) = parse_website(&text, false) {
            prop_assert!(host_is_within(&host, &host));
            prop_assert_eq!(parse_website(&host, false), Ok(host));
        }
    }
}

#[test]
fn ports_of_other_protocols_are_refused() {
    let refused = |text: &str, dev| match parse_target(text, dev) {
        Err(UrlProblem::NotAllowed(reason)) => reason.contains("port"),
        Err(UrlProblem::NotAUrl(_)) => panic!("{text}"),
        Ok(_) => false,
    };
    for port in FOREIGN_PORTS.into_iter().chain([0]) {
        assert!(refused(&format!("https://ojaoba.com.ng:{port}/"), false), "{port}");
        assert!(refused(&format!("https://ojaoba.com.ng:{port}/"), true), "{port}");
        assert_eq!(refused(&format!("http://127.0.0.1:{port}/"), true), port == 0, "{port}");
        assert_eq!(refused(&format!("https://localhost:{port}/"), true), port == 0, "{port}");
    }
    assert!(refused("https://ojaoba.com.ng:00025/", false) && refused("https://ojaoba.com.ng.:25/", false));
    for port in [80, 443, 444, 3000, 4443, 5000, 8000, 8080, 8443, 9443, 10_443, 65_535] {
        assert!(!refused(&format!("https://ojaoba.com.ng:{port}/"), false), "{port}");
    }
    // Each stands once, those of the standard in its order.
    let mut all = FOREIGN_PORTS.to_vec();
    all.sort_unstable();
    assert!(all.windows(2).all(|two| two[0] < two[1]));
}
