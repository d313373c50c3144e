//! Pages that hold every component of the kit, with data as it might be: full, empty, refused, and as long as it gets.

use askama::Template;
use tillbell::config::Pages;
use tillbell::domain::money::Money;
use tillbell::domain::time::{Span, Timestamp};
use tillbell::http::pages::brand::Brand;
use tillbell::http::pages::chart::{Chart, Point, Shape, Unit};
use tillbell::http::pages::field::{Choice, Confirm, Field, Filters, Form, Kind};
use tillbell::http::pages::layout::{Frame, ModeSwitch, Place, SignedIn, Way};
use tillbell::http::pages::parts::{
    Empty, Link, Notice, Pager, Secret, Step, Tab, Tabs, Tile, Timeline, Tone,
};
use tillbell::http::pages::rows::{Cell, Column, Facts, Rows};
use tillbell::http::pages::times::Zone;

use crate::harness::app::START;

const CSRF: &str = "c2FtcGxl";
const LONG: &str = "Olúwaṣeun Adébáyọ̀-Ọlátúnjí Nwachukwu Chukwuemeka International Ventures & Logistics";
const HOSTILE: &str = "<script>alert(1)</script>\u{202e}\"><img src=x onerror=alert(2)>";

#[derive(Template)]
#[template(
    source = r#"{% extends "kit/layout.html" %}
{% import "kit/kit.html" as kit %}
{% block content %}
{% call kit::head("Payments") %}{% call kit::button("/dashboard/payments/new", "New payment", "primary") %}{% endcall %}{% endcall %}
<div class="tiles">{% for tile in tiles %}{{ tile }}{% endfor %}</div>
<section class="part"><div class="panel padded">{{ chart }}</div></section>
<section class="part" aria-label="All payments">
{{ tabs }}
{{ filters }}
{{ rows }}
</section>
{% endblock %}"#,
    ext = "html"
)]
struct List {
    frame: Frame,
    tiles: Vec<Tile>,
    chart: Chart,
    tabs: Tabs,
    filters: Filters,
    rows: Rows,
}

#[derive(Template)]
#[template(
    source = r#"{% extends "kit/layout.html" %}
{% import "kit/kit.html" as kit %}
{% block content %}
{% call kit::head("Payment") %}{{ confirm }}{% endcall %}
<div class="columns">
{% call kit::section("facts", "What is known") %}{% call kit::panel() %}{{ facts }}{% endcall %}{% endcall %}
{% call kit::section("happened", "What happened") %}{% call kit::panel() %}{{ timeline }}{% endcall %}{% endcall %}
</div>
{% call kit::section("forms", "Change it") %}<div class="columns">{% for form in forms %}{% call kit::panel() %}{{ form }}{% endcall %}{% endfor %}</div>{% endcall %}
{% call kit::section("keys", "Keys") %}{{ secret }}{% endcall %}
<section class="part" aria-label="All keys">{{ rows }}</section>
{% endblock %}"#,
    ext = "html"
)]
struct Detail {
    frame: Frame,
    confirm: Confirm,
    facts: Facts,
    timeline: Timeline,
    forms: Vec<Form>,
    secret: Secret,
    rows: Rows,
}

#[derive(Template)]
#[template(
    source = r#"{% extends "kit/layout.html" %}
{% block content %}
<div class="panel padded"><h1>Sign in</h1>
{{ form }}
<p><a href="/forgot">Forgot your password?</a></p></div>
{% endblock %}"#,
    ext = "html"
)]
struct SignIn {
    frame: Frame,
    form: Form,
}

fn at(minutes: i64) -> Timestamp {
    START + Span::minutes(minutes)
}

fn brand(name: &str) -> Brand {
    Brand::plain(&Pages { operator_name: Some(name.to_owned()), ..Pages::default() })
}

fn alone(title: &str) -> Frame {
    Frame::new(title, &brand("Kudi Basket"), "http://127.0.0.1:8080")
}

fn frame(title: &str, is_test: bool, name: &str) -> Frame {
    let way = |href: &str, text: &str| Way::new(format!("/dashboard{href}"), text).current(text == title);
    let user = SignedIn {
        email: "folake@ankara-and-lace.example".into(),
        role: "Owner".into(),
        zone: Zone::default().name().into(),
        csrf: CSRF.to_owned(),
    };
    Frame {
        ways: vec![
            way("", "Overview"),
            way("/payments", "Payments"),
            way("/till", "Till"),
            way("/balance", "Balance").heading("Money"),
            way("/payouts", "Payouts").count(2),
            way("/websites", "Websites").heading("Developers"),
            way("/keys", "Keys"),
            way("/webhooks", "Webhooks").count(1_204),
            way("/team", "Team").heading("Business"),
            way("/settings", "Settings"),
        ],
        place: Some(Place {
            name: name.into(),
            others: vec![Link::new("/dashboard?business=2", "Mama Ngozi Kitchen"), Link::new("/x", LONG)],
        }),
        mode: Some(ModeSwitch { is_test, other: "/dashboard?mode=test".to_owned() }),
        user: Some(user),
        ..alone(title)
    }
}

fn tiles(full: bool) -> Vec<Tile> {
    if !full {
        return vec![
            Tile::money("Today", Money(0)).note("No payments yet"),
            Tile::new("Waiting", "0"),
            Tile::new("Approved by itself", "–"),
        ];
    }
    vec![
        Tile::money("Today", Money(184_250_050)).note("61 payments, counted 12 seconds ago"),
        Tile::money("Last 30 days", Money(6_214_750_000)).note("1,948 payments"),
        Tile::new("Approved by itself", "97.4%").note("Median 38 seconds, slowest 6 minutes"),
        Tile::new("Webhooks that failed", "3")
            .tone(Tone::Bad)
            .note("Since 08:12")
            .href("/dashboard/webhooks"),
    ]
}

fn chart(values: &[i64], shape: Shape) -> Chart {
    let day = |at: usize| Zone::default().day(START + Span::days(i64::try_from(at).unwrap()));
    let points = values.iter().enumerate();
    let points = points.map(|(at, value)| Point { label: day(at).text.into(), value: value * 100_000 });
    Chart::new("Volume a day", "Day", shape, Unit::Money, points.collect())
}

fn tabs(current: usize) -> Tabs {
    let tab = |(at, (text, count)): (usize, (&str, i64))| {
        Tab::new(format!("/dashboard/payments?status={at}"), text, at == current).count(count)
    };
    let all = [("All", 1_948), ("Approved", 1_871), ("Pending", 52), ("Review", 4), ("Rejected", 21)];
    Tabs { label: "Payments by status".into(), tabs: all.into_iter().enumerate().map(tab).collect() }
}

fn filters(is_set: bool) -> Filters {
    let field = |name, label: &str, kind| Field::new("filter", name, label, kind).optional();
    let sites = vec![Choice::new("", "All websites"), Choice::new("4", "ankara-and-lace.example")];
    Filters {
        action: "/dashboard/payments".to_owned(),
        hidden: vec![("business", "7".into())],
        fields: vec![
            field("q", "Transaction, payer or reference", Kind::Search),
            field("from", "From", Kind::Date).value(if is_set { "2026-03-01" } else { "" }),
            field("to", "To", Kind::Date),
        ],
        more: vec![
            field("website", "Website", Kind::Select(sites)),
            field("late", "Late", Kind::Checkbox).value(if is_set { "1" } else { "" }),
            field("mismatched", "Another amount came", Kind::Checkbox),
        ],
        reset: is_set.then(|| "/dashboard/payments".to_owned()),
        csv: Some("/dashboard/payments?format=csv".to_owned()),
    }
}

fn payments(names: &[(&str, i64, Tone, &str)]) -> Rows {
    let columns = vec![
        Column::new("Payment"),
        Column::new("Payer"),
        Column::new("Status"),
        Column::figure("Amount"),
        Column::figure("Charges"),
        Column::new("Asked"),
    ];
    let empty = Empty::new("No payments yet", "A payment stands here as soon as your website asks for one.")
        .with_link(Link::new("/dashboard/payments/new", "Ask for a first payment"));
    let mut rows = Rows::new("Payments, newest first", columns, empty);
    let zone = Zone::default();
    for (at_row, (name, kobo, tone, status)) in (0i64..).zip(names) {
        let id = format!("tb_7f3k{:04}q{}", 9_120 + at_row * 37, at_row);
        rows.row(vec![
            Cell::link(format!("/dashboard/payments/{id}"), id.clone())
                .under(Cell::text(format!("Order {}", 4_410 - at_row))),
            Cell::text(*name),
            Cell::badge(*tone, *status),
            Money(*kobo).into(),
            Money(kobo / 100).into(),
            zone.time(at(-17 * at_row)).into(),
        ]);
    }
    if !names.is_empty() {
        let older = "/dashboard/payments?cursor=x".to_owned();
        rows.pager =
            Pager::by_time(Some("/dashboard/payments".to_owned()), Some(older), Some("50 rows".into()));
    }
    rows
}

fn keys(full: bool) -> Rows {
    let columns = vec![
        Column::new("Key"),
        Column::new("Rights"),
        Column::new("Made"),
        Column::new("Last used"),
        Column::acts("Revoke"),
    ];
    let mut rows =
        Rows::new("Keys", columns, Empty::new("No keys yet", "Your website needs one to ask for payments."));
    for n in (0..3i64).filter(|_| full) {
        let form = Form::new(format!("revoke-key-{n}"), "/dashboard/keys", CSRF, "Revoke the key");
        let question = "Whatever uses this key is refused from then on. This cannot be taken back.";
        rows.row(vec![
            Cell::text(["Shop", "Accounting export", LONG][usize::try_from(n).unwrap()])
                .under(Cell::code(format!("tb_live_…{n}f4c"))),
            Cell::badge(Tone::Info, if n == 1 { "Reads" } else { "Reads and writes" }),
            Zone::default().day(at(-40_000 * n)).into(),
            if n == 2 { Cell::None } else { Zone::default().time(at(-n * 9)).into() },
            Confirm::new("Revoke", question, form.hidden("id", n.to_string())).into(),
        ]);
    }
    rows
}

fn detail(frame: Frame, name: &str, wrong: bool, full: bool) -> Detail {
    let zone = Zone::default();
    let facts = Facts::new()
        .fact("Amount", Money(123_456_789_050))
        .fact(
            "Status",
            Cell::Beside(vec![Cell::badge(Tone::Good, "Approved"), Cell::badge(Tone::Warn, "Late")]),
        )
        .fact("Payer", Cell::text(name).under(Cell::text("As the bank wrote it")))
        .fact("Transaction", Cell::code("tb_7f3k9120q0"))
        .fact("Website", Cell::link("/dashboard/websites", "ankara-and-lace.example"))
        .fact("Rejected", Cell::None)
        .fact("Asked", zone.exact(at(0)));
    let steps = vec![
        Step::new(Tone::Info, zone.exact(at(0)), "Asked for").by("Key “Shop”"),
        Step::new(Tone::Warn, zone.exact(at(9)), "Money came, and waits for a person")
            .line(format!("The bank names the payer {name}."))
            .line("The amount and the account agree; the name is close, not the same."),
        Step::new(Tone::Good, zone.exact(at(14)), "Approved").by("chidi@kudi-basket.example"),
        Step::new(Tone::Bad, zone.exact(at(15)), "Webhook failed: 503 Service Unavailable")
            .link(Link::new("/dashboard/webhooks", "See the attempts")),
        Step::new(Tone::Muted, zone.exact(at(19)), "Webhook delivered"),
    ];
    let correct = Field::new("correct-amount", "new_amount", "New amount", Kind::Amount)
        .value("12,50x")
        .hint("In naira, such as 5000.00. The customer sees the new amount at once.");
    let correct = correct.error(wrong.then_some("Write digits and at most one point, such as 12500.00."));
    let rights = vec![Choice::new("read", "Reads"), Choice::new("write", "Reads and writes")];
    let key = |field: Field| field.error(wrong.then_some("This is needed."));
    Detail {
        confirm: Confirm::new(
            "Reject",
            "The customer is told that the payment was rejected. Money that came stays in review.",
            Form::new("reject-payment", "/operator/payments", CSRF, "Reject the payment").field(
                Field::new("reject-payment", "reason", "Reason", Kind::Area(2))
                    .hint("The merchant reads it."),
            ),
        ),
        facts,
        timeline: Timeline { steps },
        forms: vec![
            Form::new("correct-amount", "/dashboard/payments/x", CSRF, "Correct the amount").field(correct),
            Form::new("add-key", "/dashboard/keys", CSRF, "Add the key")
                .field(key(Field::new("add-key", "label", "Label", Kind::Text).value(name)))
                .field(Field::new("add-key", "rights", "Rights", Kind::Select(rights)).value("write"))
                .field(Field::new("add-key", "url", "Webhook address", Kind::Url).optional())
                .field(Field::new("add-key", "note", "Note", Kind::Area(3)).value("Two\nlines").optional())
                .field(Field::new("add-key", "wallet", "May use wallets", Kind::Checkbox).value("1"))
                .cancel("/dashboard/keys"),
        ],
        secret: Secret::once("new-key", "Your new key", "tb_live_4kQ9vYx2mR7tWb1cZs8dLf3hNp6gJa5eUo0iKq"),
        rows: keys(full),
        frame,
    }
}

fn sign_in() -> SignIn {
    let form = Form::new("sign-in", "/sign-in", CSRF, "Sign in")
        .hidden("next", "/dashboard")
        .field(Field::new("sign-in", "email", "E-mail", Kind::Email).value("folake@ankara-and-lace.example"))
        .field(Field::new("sign-in", "password", "Password", Kind::Password).focused());
    let refused = "The e-mail or the password is wrong. Check both and try again.";
    SignIn { frame: alone("Sign in").notice(Notice::refused(refused)), form }
}

/// Each page by its name.
pub fn pages() -> Vec<(&'static str, String)> {
    let approved = Tone::Good;
    let some = [
        ("Adaeze Nwosu", 1_250_000, approved, "Approved"),
        ("Tunde Bakare", 480_050, Tone::Info, "Pending"),
        ("Ibrahim Musa Danladi", 9_999_999_900, Tone::Warn, "Review"),
        ("Ngozi Eze", 75_000, approved, "Approved"),
        ("Blessing Okon", 310_000, Tone::Bad, "Rejected"),
        ("Yusuf Sani", 2_200_000, Tone::Muted, "Expired"),
        ("Emeka & Sons Ltd", 15_640_000, approved, "Approved"),
    ];
    let hard = [(LONG, 922_337_203_685_477, approved, "Approved"), (HOSTILE, 1, Tone::Bad, "Rejected")];
    let month = [
        12, 19, 7, 22, 31, 44, 18, 9, 25, 28, 33, 41, 52, 20, 11, 30, 27, 36, 48, 61, 22, 14, 0, 0, 42, 57,
        66, 29, 17, 38,
    ];
    let list = |frame, full: bool, values: &[i64], shape, rows| List {
        frame,
        tiles: tiles(full),
        chart: chart(values, shape),
        tabs: tabs(usize::from(full)),
        filters: filters(full),
        rows,
    };
    let done = Notice::done("The amount is corrected. The customer now pays NGN 12,500.00.");
    let refused = Notice::refused("The form was not taken. What is wrong stands beside each field.");
    let late = Notice::new(Tone::Warn, "Three webhooks failed since 08:12.");
    let late = late.with_link(Link::new("/dashboard/webhooks", "See them"));
    let shop = "Ankara & Lace";
    let rendered = [
        (
            "list",
            list(frame("Payments", false, shop).notice(late), true, &month, Shape::Bars, payments(&some))
                .render(),
        ),
        ("list-empty", list(frame("Payments", true, shop), false, &[], Shape::Bars, payments(&[])).render()),
        (
            "list-long",
            list(frame("Payments", true, LONG), true, &[3, 9, 4, 40], Shape::Line, payments(&hard)).render(),
        ),
        ("detail", detail(frame("Keys", false, shop).notice(done), "Adaeze Nwosu", false, true).render()),
        ("detail-wrong", detail(frame("Keys", true, shop).notice(refused), HOSTILE, true, false).render()),
        ("sign-in", sign_in().render()),
    ];
    rendered.into_iter().map(|(name, html)| (name, html.unwrap())).collect()
}

#[test]
fn what_strangers_wrote_is_no_tag_and_turns_nothing() {
    for (name, html) in pages() {
        assert!(!html.contains("<script>") && !html.contains("<img src=x"), "{name}");
        assert!(!html.contains('\u{202e}'), "{name}");
    }
    assert!(pages().iter().any(|(_, html)| html.contains("&#60;script&#62;alert(1)")));
}
