//! What a style hides, however it is written, and what it leaves to see.

use crate::alert_reader::html::{Page, looks_like_alert, read};

const SUM: &str = "NGN 900,000.00";

fn page(html: &str) -> Page {
    read(&format!("<body>{html}</body>")).unwrap()
}

/// A page with the sum in a paragraph of the class and the id `q`.
fn ruled(css: &str) -> Page {
    page(&format!(
        "<style>{css}</style><div class=d><p class=k>seen</p><b></b><p id=Q class='a q' title=T>{SUM}</p></div>"
    ))
}

fn hides(page: &Page) -> bool {
    page.table.text() == "seen\n" && looks_like_alert(&page.hidden)
}

#[test]
fn a_style_attribute_hides_however_it_is_written() {
    for style in [
        "display:none",
        "DISPLAY:None",
        r"dis\70lay:none",
        r"dis\000070 lay:none",
        r"d\isplay:none",
        r"display:n\6fne",
        "display:/* x */none",
        "display/**/:none/**/",
        "/*;*/display:none",
        "color:red/*;*/;/*{*/display:none",
        "display:none!important",
        "display:none ! important",
        "display:none!/**/IMPORTANT",
        r"display:none !imp\6f rtant",
        "visibility:hidden;visibility:vis/**/ible",
        "--x:{a:b};display:none",
        "width:expression(a;b);display:none",
        "background:url(a;b:c);display:none",
        "font-size:1e-3px",
        "font-size:.01E1px",
        "opacity:1e-9",
        "color:rgb( 255 , 255 , 255 )",
        "background:rgb(0, 0, 0) url(x.png);color:#000",
        "left:-1e4px",
    ] {
        let page = page(&format!("<p>seen</p><p style=\"{style}\">{SUM}</p>"));
        assert!(hides(&page), "{style}: {page:?}");
    }
}

#[test]
fn a_rule_hides_however_it_is_written() {
    for css in [
        ".q{display:none}",
        ".Q{DISPLAY:NONE}",
        r".\71{display:none}",
        r".\000071 {dis\70lay:none}",
        ".q/* x */{/*}*/display:none/*}*/}",
        "<!-- .q{display:none} -->",
        ".x{font:'{'}.q{display:none}",
        "@import url(x.css);.q{display:none}",
        "@charset 'utf-8';@font-face{font-family:x;src:url(x)}.q{display:none}",
        ".x, .q, .y{display:none}",
        ".x! , .q{display:none}",
        "p.q#q{display:none}",
        "div>p.q{display:none}",
        ".k+b+.q{display:none}",
        ".k ~ .q{display:none}",
        "[title]{display:none}",
        "p[class~=q]{display:none}",
        "[class='a q']{display:none}",
        ".q:not(.x){display:none}",
        "p.q:nth-child(3):lang(en){display:none}",
        "#q:first-line{color:#fff}",
        // What counts more, not what stands last.
        "#q{color:#fff}.q{color:#000}",
        ".q{color:#fff!important}#q{color:#000}",
        // What may hold hides and never shows.
        ".q{color:#fff}p:not(.q){color:#000}",
        ".q{visibility:hidden}.d{.q{visibility:visible}}",
        ".q{color:#fff}&.q{color:#000}",
        ".q{visibility:hidden}@supports (color:red){#q{visibility:visible}}",
        "@media screen{.q{display:none}}",
        "@MEDIA only Screen{.q{display:none}}",
        "@media all,print{.q{display:none}}",
        "@media print, screen{.q{display:none}}",
        "@media not print{.q{display:none}}",
        "@media screen{@media all{.q{display:none}}}",
        "@media print{.x{color:red}}.q{display:none}",
        "@supports (display:block){.q{display:none}}",
        "@layer a{.q{display:none}}",
        ".d{color:red;.q{display:none}}",
        ".d{& > .q{display:none}}",
        ".q{@media screen{display:none}}",
        ".q{content:url(a.png)}",
        // A block that is left open ends with its element.
        "/*</style><style>.q{display:none}",
        "@media print{</style><style>.q{display:none}",
        ".x{font:'</style><style>.q{display:none}",
        ".q{display:none</style><style>.x{color:red}",
    ] {
        let page = ruled(css);
        assert!(hides(&page), "{css}: {page:?}");
    }
    // What cannot be told from all elements hides them all.
    for css in [":is(.q){display:none}", ":nth-child(3){display:none}", "::first-line{color:#fff}"] {
        let page = ruled(css);
        assert!(!page.table.text().contains(SUM) && looks_like_alert(&page.hidden), "{css}: {page:?}");
    }
}

#[test]
fn what_a_style_does_not_hide_is_seen() {
    for css in [
        ".x{display:none}",
        ".q .x{display:none}",
        "body > .q{display:none}",
        ".q + .k{display:none}",
        "[title=x]{display:none}",
        "*[class=q]{display:none}",
        "[data-x] p{color:#fff}",
        ".q:hover,.q:active{display:none}",
        "::selection{color:transparent}",
        "::-webkit-scrollbar{display:none}",
        ".q{display:none)}",
        ".q{dis play:none}",
        r"v\:*{display:none}",
        "@media print{.q{display:none}}",
        "@media not screen{.q{display:none}}",
        "@media (max-width:600px){.q{display:none}}",
        "@media screen and (max-width:600px){.q{display:none}}",
        "@page{display:none}",
        "@keyframes x{to{opacity:0}}",
        ".q{color:#fff}#q{color:#000}",
        ".q{--x:#fff;margin:0 auto;width:calc(100% - 20px)}",
        ".q::before{content:''}",
        ".q:after{content:url('a.png');display:none}",
        ".q:before{content:open-quote}",
    ] {
        let page = ruled(css);
        assert_eq!(page.table.text(), format!("seen\n{SUM}\n"), "{css}");
        assert_eq!(page.hidden, "", "{css}");
        assert!(!page.disguised && !page.unread_style, "{css}");
    }
}

#[test]
fn what_is_not_followed_is_a_doubt() {
    for style in [
        "--c:#fff;color:var(--c)",
        "color:VAR(--c,#000)",
        r"color:v\61r(--c)",
        "background:var(--c);color:#000",
        "display:var(--d)",
        "color:color-mix(in srgb,white,white)",
        "color:lab(100% 0 0)",
        "font-size:calc(1px - 1px)",
        "font:calc(0px)/1 a",
        "opacity:min(0,1)",
        "visibility:env(x,hidden)",
    ] {
        let inline = page(&format!("<p style='{style}'>{SUM}</p>"));
        let block = ruled(&format!(".q{{{style}}}"));
        assert!(inline.unread_style && block.unread_style, "{style}: {inline:?} {block:?}");
        assert!(!page(&format!("<p>{SUM}</p><p style='{style}'> </p>")).unread_style, "{style}");
    }
    // Behind a limit.
    let rules: String = (0..500).map(|n| format!(".x{n}{{top:0}}")).collect();
    assert!(!ruled(&rules).unread_style);
    for css in [
        format!("{rules}.q{{display:none}}"),
        format!("{}{{display:none}}", ".q".repeat(33)),
        format!("{}.q{{display:none}}{}", "@media all{".repeat(20), "}".repeat(20)),
    ] {
        let page = ruled(&css);
        assert!(hides(&page) || page.unread_style, "{page:?}");
    }
    assert!(hides(&ruled(&format!("{}{{display:none}}", ".q".repeat(32)))));
}

#[test]
fn words_of_a_style_are_a_doubt() {
    for css in [
        ".q::before{content:'9'}",
        ".q:AFTER{content:\"x\"}",
        r".q::be\66ore{content:'9'}",
        r".q::before{c\6fntent:'\39'}",
        ".q::before{content:/**/'9'}",
        ".q::before{content:url(a.png) '9'}",
        ".q::before{content:attr(title)}",
        ".q::before{content:counter(n)}",
        "@supports (color:red){.q::before{content:'9'}}",
        ".q{&::before{content:'9'}}",
    ] {
        assert!(ruled(css).disguised, "{css}");
    }
}

#[test]
fn an_elaborate_style_is_refused() {
    let siblings = format!("<style>p~p~p~i{{color:#fff}}</style>{}", "<p>x<i>y</i>".repeat(5000));
    let applied = format!("<style>p{{{}}}</style>{}", "top:1;".repeat(2000), "<p>x".repeat(2000));
    let looked_at = format!(
        "<style>{}</style><div title='{}'>{}</div>",
        "[title*=y] i{top:1}".repeat(100),
        "x".repeat(100_000),
        "<i>x</i>".repeat(200)
    );
    for html in [siblings, applied, looked_at] {
        assert!(read(&html).unwrap_err().contains("too complex"), "{}", &html[..60]);
    }
}
