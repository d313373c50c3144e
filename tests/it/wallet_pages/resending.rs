//! Codes are not wasted: a pause between two of them, and a word of what comes before one is sent; the cursor is
//! where the code is typed.

use tillbell::domain::message::MessageKind;
use tillbell::domain::time::Span;

use super::site::{Shown, Site};
use crate::wallet::world::PIN;

/// What a reader sees of what `css` finds.
fn said(page: &Shown, css: &str) -> String {
    let html = scraper::Html::parse_document(&page.body);
    let css = scraper::Selector::parse(css).unwrap();
    let words = html.select(&css).flat_map(|element| element.text().collect::<Vec<_>>());
    words.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

on_both! {
    async fn a_second_code_waits_a_minute_and_the_page_says_how_long(db: TestDatabase) {
        let site = Site::start(db).await;
        site.w.funded(20_000).await;
        let (_, link) = site.begin(5_000, "k-1").await;
        let first = site.act(&link, "send_code", &[]).await;
        first.is(200, "We sent a code to");
        first.is(200, "No code yet? You can get a new one from 09:01.");
        let code = site.code();
        let ask = first.form("send_code");
        site.w.t.advance(Span::seconds(20));
        site.get(&link).await.is(200, "No code yet? You can get a new one from 09:01. Only the newest code works.");
        let early = site.submit_anew(&link, &ask, &[]).await;
        early.is(429, "No code yet? You can get a new one from 09:01.");
        assert_eq!(early.header("retry-after"), Some("40"));
        assert_eq!(early.text().matches("09:01").count(), 1, "told once: {}", early.text());
        assert!(early.has_form("code") && early.has_form("send_code"), "{}", early.text());
        assert_eq!(early.names("[autofocus]"), ["code"]);
        site.w.t.advance(Span(39_000_001));
        site.submit_anew(&link, &ask, &[]).await.is(429, "No code yet? You can get a new one from 09:01.");
        assert_eq!(site.w.post.count(MessageKind::Code), 1);
        // The pause does not end the code.
        site.submit(&link, &first.form("code"), &[("code", &code), ("new_pin", PIN), ("new_pin_again", "4072")])
            .await
            .is(422, "The two PINs do not match.");
        site.w.t.advance(Span(999_999));
        let page = site.get(&link).await;
        assert!(!page.text().contains("No code yet?"), "{}", page.text());
        page.is(200, "A new code replaces the old one.");
        site.submit_anew(&link, &ask, &[]).await.is(200, "We sent a code to");
        assert_eq!(site.w.post.count(MessageKind::Code), 2);
        if site.code() != code {
            let typed = [("code", code.as_str()), ("new_pin", PIN), ("new_pin_again", PIN)];
            let old = site.submit(&link, &first.form("code"), &typed).await;
            old.is(422, "Wrong code. You have 4 tries left. Use the code from your newest message.");
        }
        site.close().await;
    }

    async fn a_code_of_another_link_keeps_the_pause_and_says_nothing_of_it(db: TestDatabase) {
        let site = Site::start(db).await;
        site.w.funded(20_000).await;
        let (link, other) = (site.begin(5_000, "k-1").await.1, site.begin(600, "k-2").await.1);
        site.act(&link, "send_code", &[]).await.is(200, "We sent a code to");
        let code = site.code();
        site.w.t.advance(Span::seconds(15));
        let look = site.get(&other).await;
        assert!(!look.text().contains("09:01"), "a look tells nothing of other links: {}", look.text());
        let early = site.submit(&other, &look.form("send_code"), &[]).await;
        early.is(429, "The code we just sent works only on the payment page where you asked for it. Use it there, or get one here from 09:01.");
        assert!(!early.has_form("code") && early.names("[autofocus]").is_empty(), "{}", early.text());
        assert_eq!(site.w.post.count(MessageKind::Code), 1);
        // The first link's code was not voided.
        let typed = [("code", code.as_str()), ("new_pin", PIN), ("new_pin_again", PIN)];
        site.act(&link, "code", &typed).await.is(200, "Your PIN is set.");
        // A code that did its work is waited for by nobody.
        site.act(&other, "reset", &[]).await.is(200, "We sent a code to");
        site.close().await;
    }

    async fn a_code_that_could_only_come_after_the_link_is_not_offered(db: TestDatabase) {
        let site = Site::start(db).await;
        site.w.funded(20_000).await;
        let (_, link) = site.begin(5_000, "k-1").await;
        let ask = site.get(&link).await.form("send_code");
        site.w.t.advance(Span::seconds(29 * 60 + 10));
        let sent = site.submit_anew(&link, &ask, &[]).await;
        sent.is(200, "We sent a code to");
        sent.is(200, "It works until 09:30.");
        let never = "We cannot send another code before this link expires at 09:30.";
        for page in [sent, site.get(&link).await, site.submit_anew(&link, &ask, &[]).await] {
            assert!(page.text().contains(never), "{}", page.text());
            assert!(page.text().contains("ask the shop for a new link"), "{}", page.text());
            assert!(page.has_form("code") && !page.has_form("send_code"), "{}", page.text());
            assert!(!page.text().contains("No code yet?"), "{}", page.text());
        }
        assert_eq!(site.w.post.count(MessageKind::Code), 1);
        // The same where the hour's codes are used up.
        let (_, second) = site.begin(600, "k-2").await;
        let ask = site.get(&second).await.form("send_code");
        for _ in 0..2 {
            site.w.t.advance(Span::minutes(1));
            site.submit_anew(&second, &ask, &[]).await.is(200, "We sent a code to");
        }
        site.w.t.advance(Span::minutes(1));
        let many = site.submit_anew(&second, &ask, &[]).await;
        many.is(429, "You have had 3 codes in an hour. If this code does not work, you can get another from 10:30.");
        assert!(many.has_form("code") && !many.has_form("send_code"), "{}", many.text());
        assert_eq!(site.w.post.count(MessageKind::Code), 3);
        site.close().await;
    }

    async fn a_code_that_was_not_sent_is_not_asked_for(db: TestDatabase) {
        let site = Site::start(db).await;
        let (link, failed) = site.without_a_code().await;
        failed.is(502, "We could not send your code.");
        failed.is(502, "Wait a minute, then ask again.");
        site.w.t.advance(Span::seconds(10));
        // The same to the second of two quick taps, whose answer is all that a browser shows.
        let again = site.submit(&link, &failed.form("send_code"), &[]).await;
        again.is(429, "We could not send your code. Wait a minute, then ask again.");
        let look = site.get(&link).await;
        look.is(200, "We could not send your code.");
        for page in [&failed, &again, &look] {
            assert!(page.has_form("send_code") && !page.has_form("code"), "{}", page.text());
        }
        site.w.t.advance(Span::seconds(50));
        site.submit(&link, &failed.form("send_code"), &[]).await.is(200, "We sent a code to");
        site.close().await;
    }

    async fn forgot_pin_says_what_comes_before_a_code_is_sent(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, link) = site.w.ready(20_000, 5_000).await;
        let sent = site.w.post.count(MessageKind::Code);
        let page = site.get(&link).await;
        assert_eq!(page.attributes("details.forgot", "open"), [None::<String>], "closed at first");
        assert_eq!(said(&page, "details.forgot summary"), "Forgot your PIN?");
        assert_eq!(page.names("form input[name=reset]"), ["reset"]);
        assert_eq!(page.names("details.forgot form input[name=reset]"), ["reset"], "the first tap sends nothing");
        let told = said(&page, "details.forgot p");
        for word in ["We will send a code to +234", "Your old PIN works until", "No money leaves your wallet"] {
            assert!(told.replace('\u{a0}', " ").contains(word), "{word:?} in {told}");
        }
        assert_eq!(said(&page, "details.forgot button"), "Send a code for a new PIN");
        assert_eq!(site.w.post.count(MessageKind::Code), sent);
        let sent = site.submit(&link, &page.form("reset"), &[]).await;
        sent.is(200, "We sent a code to");
        assert_eq!(sent.names("[autofocus]"), ["code"]);
        site.close().await;
    }

    async fn the_cursor_is_in_the_code_box_after_a_code_was_sent(db: TestDatabase) {
        let site = Site::start(db).await;
        site.w.funded(20_000).await;
        let (_, link) = site.begin(5_000, "k-1").await;
        let look = site.get(&link).await;
        assert_eq!(look.names("[autofocus]"), [""; 0]);
        let sent = site.submit(&link, &look.form("send_code"), &[]).await;
        assert_eq!(sent.names("[autofocus]"), ["code"]);
        assert_eq!(site.get(&link).await.names("[autofocus]"), ["code"], "back from the messenger");
        // A mistake elsewhere has the cursor, and nothing else has it.
        let code = site.code();
        let typed = [("code", code.as_str()), ("new_pin", "1111"), ("new_pin_again", "1111")];
        let slip = site.submit(&link, &sent.form("code"), &typed).await;
        assert_eq!(slip.names("[autofocus]"), ["new_pin"]);
        let typed = [("new_pin", PIN), ("new_pin_again", PIN)];
        let set = site.submit(&link, &slip.form("code"), &typed).await;
        set.is(200, "Your PIN is set.");
        assert_eq!(set.names("[autofocus]"), [""; 0]);
        // Beside the PIN a code has the cursor only where it was just sent.
        let sent = site.submit(&link, &set.form("reset"), &[]).await;
        assert_eq!(sent.names("[autofocus]"), ["code"]);
        let both = site.get(&link).await;
        assert!(both.has_form("pin") && both.has_form("code"));
        assert_eq!(both.names("[autofocus]"), [""; 0]);
        site.close().await;
    }
}
