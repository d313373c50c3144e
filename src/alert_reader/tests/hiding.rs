//! What is hidden, doubled or contradicting: a doubt, an unread field, never a quiet approval.

use super::made::{MADE, Made, Told, made};
use super::{BANKS, HEAD, ROWS, ReadOutcome, Reading, now, take};
use crate::alert_reader::{Intake, fuzzing, read};
use crate::domain::alert::{Authenticity, Direction};
use crate::domain::money::Money;

fn mail() -> Made {
    made("gtbank", &Told::default())
}

/// A reading that a decision cannot approve by itself.
fn stopped(reading: &Reading) -> bool {
    reading.outcome != ReadOutcome::Read || !reading.facts.doubts.is_empty()
}

#[test]
fn the_mail_itself_is_clean() {
    for reading in
        [mail().read_text(), mail().read_html(""), mail().read_html("<p>Thank you for banking with us</p>")]
    {
        assert!(!stopped(&reading), "{:?}", reading.why);
        assert_eq!(reading.facts.amount, Some(Money(735_000)));
    }
}

#[test]
fn hidden_figures_are_doubted_and_never_read() {
    let row = "<td>Amount</td><td>:</td><td>NGN 999,999.00</td>";
    for extra in [
        format!("<table style='display:none'><tr>{row}</tr></table>"),
        format!("<table><tr style=\"display: none !important\">{row}</tr></table>"),
        format!("<table style='visibility:hidden'><tr>{row}</tr></table>"),
        format!("<table style='opacity:0'><tr>{row}</tr></table>"),
        format!("<div style='opacity:.3'><div style='opacity:.3'><table><tr>{row}</tr></table></div></div>"),
        format!("<table style='color:#ffffff'><tr>{row}</tr></table>"),
        format!("<table style='color:white;background:white'><tr>{row}</tr></table>"),
        format!("<table style='color:hsl(0,0%,100%)'><tr>{row}</tr></table>"),
        format!("<table style='color:rgba(10,20,30,0.02)'><tr>{row}</tr></table>"),
        format!("<table bgcolor='#101010'><tr>{row}</tr></table>"),
        format!("<table bgcolor=navy><tr style='color:rgb(0,0,128)'>{row}</tr></table>"),
        "<table><tr bgcolor=green><td><font color='#008000'>Amount: NGN 999,999.00</font></td></tr></table>"
            .into(),
        format!("<table style='font-size:0'><tr>{row}</tr></table>"),
        format!("<table style='font-size:1px'><tr>{row}</tr></table>"),
        format!("<table style='font-size:10px'><tr style='font-size:0.1em'>{row}</tr></table>"),
        format!("<table style='font:1px Arial'><tr>{row}</tr></table>"),
        format!("<div style='height:0;overflow:hidden'><table><tr>{row}</tr></table></div>"),
        format!("<div style='max-height:0px;overflow-y:hidden'><table><tr>{row}</tr></table></div>"),
        format!("<div style='position:absolute;left:-9999px'><table><tr>{row}</tr></table></div>"),
        format!("<div style='margin:0 0 0 -200em'><table><tr>{row}</tr></table></div>"),
        format!("<div style='transform:translateX(-9999px)'><table><tr>{row}</tr></table></div>"),
        format!("<div style='transform: scale(0)'><table><tr>{row}</tr></table></div>"),
        format!("<div style='clip-path: inset(100%)'><table><tr>{row}</tr></table></div>"),
        format!("<div style='text-indent:-9999px'><table><tr>{row}</tr></table></div>"),
        format!("<noscript><table><tr>{row}</tr></table></noscript>"),
        format!("<template><table><tr>{row}</tr></table></template>"),
        "<textarea>Amount : NGN 999,999.00</textarea>".into(),
        format!("<!-- <table><tr>{row}</tr></table> -->"),
        format!("<!--[if mso]><table><tr>{row}</tr></table><![endif]-->"),
        format!("<div hidden><table><tr>{row}</tr></table></div>"),
        format!("<style>.q {{ display:none }}</style><table class='a Q'><tr>{row}</tr></table>"),
        format!("<style>#q td {{ color:#fff }}</style><table id=q><tr>{row}</tr></table>"),
        format!(
            "<style>div.a > table.b {{ visibility:hidden }}</style><div class=a><table class=b><tr>{row}</tr></table></div>"
        ),
        format!(
            "<style>@media screen {{ .q {{ display:none }} }}</style><table class=q><tr>{row}</tr></table>"
        ),
        format!(
            "<style>.q{{overflow:hidden}}</style><div class=q style='max-height:0'><table><tr>{row}</tr></table></div>"
        ),
        format!(
            "<style>.q{{color:#fff !important}}</style><table class=q style='color:#000'><tr>{row}</tr></table>"
        ),
        "<svg><text>Amount NGN 999,999.00</text></svg>".into(),
        format!("<details><table><tr>{row}</tr></table></details>"),
    ] {
        let reading = mail().read_html(&extra);
        assert!(stopped(&reading), "{extra}");
        assert_eq!(reading.facts.amount, Some(Money(735_000)), "{extra}: {:?}", reading.why);
    }
}

#[test]
fn what_nobody_reads_as_text_is_nothing() {
    for extra in [
        "<img alt='Amount : NGN 999,999.00' src=x>",
        "<a href='https://bank.example/?amount=999999' title='NGN 999,999.00'>our site</a>",
        "<input type=hidden value='NGN 999,999.00'>",
        "<!-- Amount row -->",
        "<!-- container 600px, 2024 -->",
        "<div style='display:none'>&#847; &zwnj; &nbsp; &#173;</div>",
        "<script>var amount = 999999;</script>",
    ] {
        let reading = mail().read_html(extra);
        assert!(!stopped(&reading), "{extra}: {:?}", reading.why);
    }
}

#[test]
fn letters_that_are_mended_further_inside_are_seen() {
    let html = mail()
        .html("")
        .replace("<td>", "<td style='font-size:0;color:#fff'><div style='font-size:13px;color:#000'>")
        .replace("</td>", "</div></td>");
    let reading = mail().read_as("text/html", &html);
    assert!(!stopped(&reading), "{:?}", reading.why);
    assert_eq!(reading.facts.amount, Some(Money(735_000)));
    let shown = mail().html("").replace("<table>", "<table style='background:#003366;color:#ffffff'>");
    assert!(!stopped(&mail().read_as("text/html", &shown)));
}

#[test]
fn what_is_seen_is_not_what_is_written() {
    let amount = |cell: &str| mail().html("").replace("NGN 7,350.00", cell);
    for html in [
        amount("NGN <bdo dir=rtl>0537</bdo>"),
        amount("NGN <span style='unicode-bidi:bidi-override;direction:rtl'>0537</span>"),
        format!(
            "<style>.a::before {{ content: '9' }}</style>{}",
            amount("NGN <span class=a>7,350.00</span>")
        ),
        amount("NGN \u{202E}0537"),
        amount("NGN 7,3\u{200B}50.00"),
        amount("NGN 7,35\u{AD}0.00"),
        amount("NGN ７３５０"),
        amount("NGN ٧٣٥٠"),
        amount("NGN 7,35<span style='display:none'>999</span>0.00"),
    ] {
        let reading = mail().read_as("text/html", &html);
        assert!(stopped(&reading), "{html}");
    }
}

#[test]
fn two_of_anything_is_none_with_a_doubt() {
    for (label, other) in [
        ("Amount", "NGN 7,351.00"),
        ("Amount", "USD 7,350.00"),
        ("Amount", "NGN -7,350.00"),
        ("Amount", "NGN 7 350.00"),
        ("Amount", "NGN 7,350.00 DR"),
        ("Account Number", "******4418"),
        ("Account Number", "0123454417"),
        ("Value Date", "04-Mar-2026"),
        ("Time of Transaction", "11:20:33 AM"),
        ("Description", "another narration altogether, told at the same length"),
    ] {
        let mut two = mail();
        two.rows.push((label.into(), other.into()));
        let reading = two.read_html("");
        assert!(stopped(&reading), "{label}: {other}");
        let facts = reading.facts;
        match label {
            "Amount" if other.ends_with("DR") => assert_eq!(facts.direction, None),
            "Amount" => assert_eq!(facts.amount, None, "{other}"),
            "Account Number" => assert_eq!(facts.account_number, None),
            "Description" => assert_eq!((facts.payer_name, facts.narration), (None, None)),
            _ => assert_eq!(facts.occurred, None),
        }
    }
}

#[test]
fn parts_that_disagree_are_doubted() {
    let both = |text: &Made, html: &Made| {
        let body = format!(
            "{}Content-Type: multipart/alternative; boundary=q\n\n--q\nContent-Type: text/plain; charset=utf-8\n\n{}\n--q\nContent-Type: text/html; charset=utf-8\n\n{}\n--q--\n",
            mail().head().replace("\r\n", "\n"),
            text.text().replace("\r\n", "\n"),
            html.html("").replace("\r\n", "\n")
        );
        take(&body)
    };
    assert!(!stopped(&both(&mail(), &mail())));
    let told = Told::default();
    for other in [
        Told { amount: "7,350.01".into(), ..told.clone() },
        Told { credit: false, ..told.clone() },
        Told { account: "******4410".into(), ..told.clone() },
        Told { narration: "VIA GAPS 1 RENT FROM GYANG SERVICES LTD".into(), ..told.clone() },
        Told { date: "02-Mar-2026".into(), ..told.clone() },
    ] {
        let other_html = both(&mail(), &made("gtbank", &other));
        let other_text = both(&made("gtbank", &other), &mail());
        // What the HTML tells is read beside the doubt, for a person to see.
        assert_ne!(other_text.facts.amount, Some(Money(735_001)));
        for reading in [other_html, other_text] {
            assert!(stopped(&reading), "{other:?}");
            assert!(!reading.facts.doubts.is_empty(), "{other:?}");
            assert_ne!(reading.facts.direction, Some(Direction::Debit));
        }
    }
}

#[test]
fn an_amount_that_contradicts_the_direction_leaves_it_unread() {
    for bank in ["gtbank", "zenith", "access", "premiumtrust", "fcmb"] {
        let told = Told { amount: "7,350.00 DR".into(), ..Told::default() };
        let mail = made(bank, &told);
        // The currency stands in front where the bank puts it behind.
        let text = mail.text().replace("DR (NGN)", "DR");
        let reading = mail.read_as("text/plain", &text);
        assert_eq!(
            (reading.outcome, reading.facts.direction),
            (ReadOutcome::Unreadable, None),
            "{bank}: {:?}",
            reading.why
        );
    }
}

#[test]
fn an_alert_that_is_attached_or_quoted_is_not_the_mail() {
    let attached = |kind: &str| {
        take(&format!(
            "{HEAD}Content-Type: multipart/mixed; boundary=q\n\n--q\nContent-Type: text/plain\n\nPlease see the alert.\n--q\n{kind}\n{HEAD}\n{ROWS}\n--q--\n"
        ))
    };
    for kind in [
        "Content-Type: message/rfc822\n",
        "Content-Type: message/rfc822\nContent-Disposition: inline\n",
        "Content-Type: message/global\n",
        "Content-Type: text/plain; name=alert.txt\n",
        "Content-Type: text/plain\nContent-Disposition: attachment\n",
        "Content-Type: text/html\nContent-Disposition: attachment; filename=alert.html\n",
        "Content-Type: application/octet-stream\n",
        "Content-Type: text/rfc822-headers\n",
    ] {
        let reading = attached(kind);
        assert_ne!(reading.outcome, ReadOutcome::Read, "{kind}");
        assert_eq!(reading.facts.amount, None, "{kind}");
    }
    let quoted: String = ROWS.lines().map(|l| format!("> {l}\n")).collect();
    let reading = take(&format!("{HEAD}\nOn Monday somebody wrote:\n{quoted}"));
    assert!(stopped(&reading) && reading.facts.amount.is_none(), "{:?}", reading.why);
    // A quoted alert below a real one says other things and takes none of its places.
    let below = take(&format!("{HEAD}\n{ROWS}\n{}", quoted.replace("7350", "99999")));
    assert_eq!(below.facts.amount, Some(Money(735_000)));
}

#[test]
fn alerts_of_banks_without_a_template_say_how_to_add_one() {
    for (from, body) in [
        (
            "alerts@bank.example",
            "Dear Customer, Rs. 160.00 is successfully credited to your account **7711 by A B on 18-04-26.",
        ),
        ("notices@banco.example", "ZARA GYANG te envió la siguiente transacción: Monto: US$386.55"),
    ] {
        let reading = take(&format!("From: {from}\nSubject: Account update\n\n{body}\n"));
        assert_eq!(
            (reading.outcome, reading.authenticity),
            (ReadOutcome::Quarantined, Authenticity::Refuted)
        );
        assert!(
            reading.why.iter().any(|w| w.contains("docs/banks.md") && w.contains("bank try")),
            "{:?}",
            reading.why
        );
        assert_eq!(reading.facts.amount, None);
    }
    // No such advice for an imitation.
    let copy = take(&format!("From: GeNS@gtbank.com.bad.example\nSubject: x\n\n{ROWS}"));
    assert!(!copy.why.iter().any(|w| w.contains("docs/banks.md")), "{:?}", copy.why);
    let unknown = take(&format!("{HEAD}\nNGN 5,000.00 was received into your account today.\n"));
    assert_eq!(unknown.outcome, ReadOutcome::Unreadable);
    assert!(unknown.why.iter().any(|w| w.contains("docs/banks.md")), "{:?}", unknown.why);
}

#[test]
fn a_warning_about_codes_makes_no_notice_of_an_alert() {
    let alert = take(&format!(
        "{HEAD}\nYour wallet was credited with NGN 5,000.00 by X.\nNever share your OTP or one-time password with anybody.\n"
    ));
    assert_eq!(alert.outcome, ReadOutcome::Unreadable, "{:?}", alert.why);
    let code = take(
        &format!("{HEAD}\nYour one-time password is 445566. Transfer of NGN 500 waits for it.\n")
            .replace("Transaction Notification", "Your OTP"),
    );
    assert_eq!(code.outcome, ReadOutcome::Ignored, "{:?}", code.why);
}

/// What a payer could type into a narration that the bank does not escape: rows of his own, and
/// behind them something that swallows the bank's.
const ROWS_TYPED: [&str; 5] = [
    "",
    "<tr><td>Amount<td>:<td>NGN 900000",
    "</td></tr><tr><td>Amount</td><td>:</td><td>NGN 900000",
    "</td></tr><tr><td>Account Number</td><td>:</td><td>0123456789",
    "<br>Amount : NGN 900000",
];
const SWALLOWERS: [&str; 60] = [
    "<style>",
    "<script>",
    "<script><!--",
    "<style><!--",
    "<a a='",
    "<a a=\"",
    "<a a=",
    "<a ",
    "<a",
    "<",
    "</",
    "</a ",
    "<?",
    "<!",
    "<!--",
    "<!-->",
    "<!doctype",
    "<![CDATA[",
    "<title>",
    "<textarea>",
    "<xmp>",
    "<plaintext>",
    "<noframes>",
    "<noembed>",
    "<iframe>",
    "<noscript>",
    "<select>",
    "<select><option>",
    "<template>",
    "<svg>",
    "<svg><title>",
    "<svg><style>",
    "<svg><desc>",
    "<svg><![CDATA[",
    "<math>",
    "<math><mi>",
    "<math><annotation-xml>",
    "<object>",
    "<video>",
    "<canvas>",
    "<details>",
    "<dialog>",
    "<frameset>",
    "<head>",
    "<table>",
    "<table><caption>",
    "<table><colgroup>",
    "<button>",
    "<marquee>",
    "<ruby><rp>",
    "<progress>",
    "<p hidden>",
    "<div style='display:none'>",
    "<div style=\"",
    "<p style='font-size:0'>",
    "<style>td{display:none}</style>",
    "<base href='",
    "<meta content='",
    "<b>",
    "",
];

/// Every bank's HTML, on many lines and on one.
fn pages() -> Vec<(String, String)> {
    let examples = fuzzing::mails().into_iter().map(|(name, raw)| (name, String::from_utf8(raw).unwrap()));
    let of_banks = MADE.iter().flat_map(|bank| {
        let told = Told { narration: "NIP/GTB/ADAEZE OBI/rent".into(), ..Told::default() };
        let mail = made(bank, &told);
        let head = format!("{}Content-Type: text/html; charset=utf-8\r\n\r\n", mail.head());
        let body = mail.html("<p>Thanks for the choice of bank's</p>");
        let one_line = body.replace("\r\n", "");
        [
            (format!("{bank}, made"), format!("{head}{body}")),
            (format!("{bank}, on one line"), format!("{head}{one_line}")),
        ]
    });
    examples.filter(|(_, mail)| mail.contains("text/html")).chain(of_banks).collect()
}

#[test]
fn what_is_typed_into_a_narration_changes_nothing_unnoticed() {
    let intake = Intake::trusted(now());
    let facts = |r: &Reading| {
        let f = &r.facts;
        (f.amount, f.direction, f.account_number.clone(), f.currency.clone(), f.kind)
    };
    let mut tried = 0;
    for (turn, (name, mail)) in pages().into_iter().enumerate() {
        let narration = read(mail.as_bytes(), &BANKS, &intake);
        let told = narration.facts.narration.clone().unwrap_or_default();
        let first: String = told.split(' ').next().unwrap_or_default().to_owned();
        let Some(at) = mail.find(&first).filter(|_| first.len() > 2) else { continue };
        for rows in ROWS_TYPED {
            // All for the examples, every third in turn for what is made to measure.
            let step = if name.contains(", ") { 3 } else { 1 };
            for end in SWALLOWERS.iter().skip(turn % step).step_by(step) {
                tried += 1;
                let mut changed = mail.clone();
                changed.insert_str(at + first.len(), &format!("{rows}{end}"));
                let reading = read(changed.as_bytes(), &BANKS, &intake);
                let same = facts(&reading) == facts(&narration);
                assert!(same || stopped(&reading), "{name}: {rows}{end}: {:?}", reading.why);
                let is_lost =
                    narration.outcome != ReadOutcome::Ignored && reading.outcome == ReadOutcome::Ignored;
                assert!(!is_lost, "{name}: {rows}{end}: nobody sees it: {:?}", reading.why);
                // The bank's rows behind it are still there, or a person looks.
                let whole = reading.facts.balance == narration.facts.balance
                    && reading.facts.occurred == narration.facts.occurred
                    && reading.facts.reference == narration.facts.reference;
                assert!(
                    whole || stopped(&reading),
                    "{name}: {rows}{end}: rows are gone: {:?}",
                    reading.facts
                );
            }
        }
    }
    assert!(tried >= 5000, "only {tried} were tried");
}

#[test]
fn the_find_that_taught_this_is_stopped() {
    for end in ["<style>", "<script>", "<a a='", "<xmp>", "<plaintext>"] {
        let html = mail().html("<p>Thanks for the choice of bank's</p>").replace(
            "<td>rent",
            &format!("<td>VIA GAPS 1 FROM ADA OBI<tr><td>Amount<td>:<td>NGN 900000{end}"),
        );
        let reading = mail().read_as("text/html", &html);
        assert!(stopped(&reading), "{end}: {:?}", reading.why);
    }
    // What contradicts nothing is seen by its make.
    for typed in [
        "</td></tr><tr><td>Document Number</td><td>:</td><td>77",
        "<tr><td>Available Balance<td>:<td>5",
        " <b>ADA</b> OBI",
        "<div>ADA OBI</div>",
    ] {
        let html = mail().html("").replace("<td>rent", &format!("<td>rent{typed}"));
        let reading = mail().read_as("text/html", &html);
        assert!(reading.facts.doubts.iter().any(|d| d.contains("markup")), "{typed}: {:?}", reading.why);
    }
    for typed in ["rent &lt;b&gt; 5", "rent < 5 > 4", "rent &amp; more", "rent's \"due\""] {
        let html = mail().html("").replace("<td>rent", &format!("<td>{typed}"));
        assert!(!stopped(&mail().read_as("text/html", &html)), "{typed}");
    }
}

#[test]
fn raised_digits_are_not_joined_to_a_figure() {
    for (shown, want) in [
        ("NGN 500<sup>00</sup>", None),
        ("NGN 500<sup><b>00</b></sup>", None),
        ("NGN <big>500</big>00", None),
        ("NGN 500.<sup>00</sup>", Some(Money(50_000))),
        ("NGN 500<small>.00</small>", Some(Money(50_000))),
        ("<sup>₦</sup>500", Some(Money(50_000))),
        ("<small>NGN</small> 5<b>00</b>", Some(Money(50_000))),
        ("500<small></small></td><td>", Some(Money(50_000))),
    ] {
        let html = mail().html("").replace("NGN 7,350.00", shown);
        let reading = mail().read_as("text/html", &html);
        assert_eq!(reading.facts.amount, want, "{shown}");
        assert_eq!(stopped(&reading), want.is_none(), "{shown}");
    }
    let sentence = "Content-Type: text/html\n\n<p>Your account ******4417 has been credited with NGN 500<sup>50</sup> today.</p>";
    assert_eq!(take(&format!("{HEAD}{sentence}")).facts.amount, None);
}

/// In words of the bank's that no layout knows: a person must see it.
#[test]
fn a_mail_that_tells_of_money_is_not_set_aside_unread() {
    for words in [
        "Credit Alert! Sum: 4300 From: TARI WOKO Account: 0033120045",
        "Credit Alert\nSum\t4300\nFrom\tTARI WOKO",
        "Value: \u{20a6}4,300 in from TARI WOKO",
        "Inflow of 4,300.00 on account 0033120045",
        "Inflow of 4300 on account 0033120045",
        "Your account was credited with 4300 naira.",
        "You have been paid 4,300 by TARI WOKO",
        "N4,300 just came in from TARI WOKO",
        "Lodgement of NGN4,300 by TARI WOKO",
    ] {
        let reading = take(&format!("{HEAD}\n{words}\n"));
        assert_eq!(reading.outcome, ReadOutcome::Unreadable, "{words}: {:?}", reading.why);
    }
    for words in [
        "Your OTP is 445566. It expires in 5 minutes.",
        "Use code 445566 to confirm your transfer.",
        "Your account statement for March 2026 is ready.",
        "You logged in on 2026-03-10 at 10:20.",
        "Open a savings account and get a free debit card. Call 0700 4826 6328 today.",
        "Get a loan at 24% a year. Credit decisions within 5 minutes!",
        "Our branch at 205 Marina will be closed on 1 May 2026.",
        "Our transfer service is unavailable from 12:00 to 13:30 on Sunday.",
        "The value of trust: 40 years of banking.",
    ] {
        let reading = take(&format!("{HEAD}\n{words}\n"));
        assert_eq!(reading.outcome, ReadOutcome::Ignored, "{words}: {:?}", reading.why);
    }
}
