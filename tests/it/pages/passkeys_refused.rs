//! Answers of authenticators that are refused: no answers, those of others, too late, twice, and with a counter that went
//! back.

use tillbell::domain::time::{Span, Timestamp};
use tillbell::ops::retention::forget_old;
use tillbell::vault::Vault;

use super::passkeys::{EMAIL, ORIGIN, OTHER, asked, sign_in, site, told, with_passkey};
use super::visitor::{Pages, Seen, Visitor};
use crate::harness::authenticator::Authenticator;
use crate::people::PASSWORD;

/// Sends an answer to the sign-in, which refuses it and leaves nobody signed in.
async fn refused(visitor: &mut Visitor, page: &Seen, answer: &str) -> Seen {
    let seen = visitor.submit(page, "sign-in-passkey", &[("credential", answer)]).await;
    seen.is(422, "Sign in");
    visitor.get("/me").await.is(200, "Sign in");
    seen
}

async fn asked_to_sign_in(site: &Pages) -> (Visitor, Seen, serde_json::Value) {
    let mut visitor = site.visitor();
    let page = visitor.get("/sign-in").await;
    let question = asked(&mut visitor, &page, "sign-in-passkey").await;
    (visitor, page, question)
}

/// So that no wait of another try is in the way.
fn later(site: &Pages) {
    site.t.advance(Span::minutes(15));
}

on_both! {
    async fn what_does_not_answer_the_question_signs_nobody_in(db: TestDatabase) {
        let site = site(db).await;
        let (mut own, _) = with_passkey(&mut site.visitor(), EMAIL, b"a passkey").await;
        let (mut visitor, page, question) = asked_to_sign_in(&site).await;
        let good = own.answer(&question);
        let unknown = Authenticator::new(ORIGIN, b"nobody's").answer(&question);
        let mut texts = Vec::new();
        for rubbish in ["", "{}", "null", &"[".repeat(20_000), &good[..good.len() - 1], &unknown] {
            texts.push(told(&refused(&mut visitor, &page, rubbish).await));
            later(&site);
        }
        // Whoever knows a passkey's name has not the key.
        let (mut visitor, page, question) = asked_to_sign_in(&site).await;
        let mut forged = Authenticator::new(ORIGIN, b"a passkey");
        forged.handle = own.handle.clone();
        texts.push(told(&refused(&mut visitor, &page, &forged.answer(&question)).await));
        texts.dedup();
        assert_eq!(texts.len(), 1, "a passkey of somebody and of nobody look alike: {texts:?}");
        later(&site);
        // Nobody made sure who holds it; another site asked; of another user.
        type Change = fn(&mut Authenticator);
        let changes: [Change; 3] = [
            |one| one.verifies = false,
            |one| one.origin = "http://localhost:8081".to_owned(),
            |one| one.handle = vec![7; 16],
        ];
        for change in changes {
            let (mut visitor, page, question) = asked_to_sign_in(&site).await;
            let (verifies, origin, handle) = (own.verifies, own.origin.clone(), own.handle.clone());
            change(&mut own);
            let answer = own.answer(&question);
            refused(&mut visitor, &page, &answer).await;
            (own.verifies, own.origin, own.handle) = (verifies, origin, handle);
            later(&site);
        }
        sign_in(&mut site.visitor(), &mut own).await.is(200, "Overview");
        site.close().await;
    }

    async fn a_question_is_of_one_browser_for_one_purpose_once_and_for_five_minutes(db: TestDatabase) {
        let site = site(db).await;
        let (mut own, _) = with_passkey(&mut site.visitor(), EMAIL, b"a passkey").await;
        // Of another browser.
        let (_, _, theirs) = asked_to_sign_in(&site).await;
        let (mut visitor, page, _) = asked_to_sign_in(&site).await;
        refused(&mut visitor, &page, &own.answer(&theirs)).await;
        // Twice.
        let (mut visitor, page, question) = asked_to_sign_in(&site).await;
        let answer = own.answer(&question);
        let mut other = site.visitor();
        other.cookies = visitor.cookies.clone();
        visitor.submit(&page, "sign-in-passkey", &[("credential", &answer)]).await.is(200, "Overview");
        refused(&mut other, &page, &answer).await;
        refused(&mut other, &page, &own.answer(&question)).await;
        // The one before the last.
        later(&site);
        let (mut visitor, page, first) = asked_to_sign_in(&site).await;
        asked(&mut visitor, &page, "sign-in-passkey").await;
        refused(&mut visitor, &page, &own.answer(&first)).await;
        // Too late, by a moment.
        for (late, is_in_time) in [(299, true), (300, false)] {
            let (mut visitor, page, question) = asked_to_sign_in(&site).await;
            site.t.advance(Span::seconds(late));
            let answer = own.answer(&question);
            let seen = visitor.submit(&page, "sign-in-passkey", &[("credential", &answer)]).await;
            assert_eq!(seen.heading(), if is_in_time { "Overview" } else { "Sign in" }, "{late}");
        }
        // For another purpose: the question of the second factor does not sign in alone.
        later(&site);
        let mut visitor = site.visitor();
        let code = visitor.sign_in(EMAIL, PASSWORD).await;
        let answer = own.answer(&asked(&mut visitor, &code, "code-passkey").await);
        let page = visitor.get("/sign-in").await;
        visitor.submit(&page, "sign-in-passkey", &[("credential", &answer)]).await.is(422, "Sign in");
        // What nobody answers is forgotten.
        let (visitor, _, _) = asked_to_sign_in(&site).await;
        let hash = Vault::token_hash(&visitor.cookies["session"]);
        assert!(site.t.app.store.passkey_challenge(&hash).await.unwrap().is_some());
        later(&site);
        site.t.advance(Span::seconds(1));
        forget_old(&site.t.app).await.unwrap();
        assert_eq!(site.t.app.store.passkey_challenge(&hash).await.unwrap(), None);
        site.close().await;
    }

    async fn a_passkey_of_somebody_else_is_no_second_factor(db: TestDatabase) {
        let site = site(db).await;
        let (mut own, _) = with_passkey(&mut site.visitor(), EMAIL, b"a passkey").await;
        let (mut theirs, _) = with_passkey(&mut site.visitor(), OTHER, b"another").await;
        let mut visitor = site.visitor();
        let page = visitor.sign_in(EMAIL, PASSWORD).await;
        let answer = theirs.answer(&asked(&mut visitor, &page, "code-passkey").await);
        let seen = visitor.submit(&page, "code-passkey", &[("credential", &answer)]).await;
        seen.is(422, "Enter your code");
        let answer = own.answer(&asked(&mut visitor, &seen, "code-passkey").await);
        visitor.submit(&seen, "code-passkey", &[("credential", &answer)]).await.is(200, "Overview");
        site.t.advance(Span::minutes(10));
        let page = visitor.get("/confirm-password?next=/me").await;
        let answer = theirs.answer(&asked(&mut visitor, &page, "confirm-passkey").await);
        let seen = visitor.submit(&page, "confirm-passkey", &[("credential", &answer)]).await;
        seen.is(422, "Your password again");
        // Nor is it added a second time, or removed, by another user.
        let mut visitor = site.visitor();
        sign_in(&mut visitor, &mut own).await.is(200, "Overview");
        let me = visitor.get("/me").await;
        let answer = Authenticator::new(ORIGIN, b"another").make(&asked(&mut visitor, &me, "passkey-add").await);
        let seen = visitor.submit(&me, "passkey-add", &[("label", "Mine"), ("credential", &answer)]).await;
        seen.is(422, "Your account");
        let mut form = seen.form("end-passkey-1");
        form.fields.insert("id".into(), "2".into());
        visitor.post_fields("/me", &form.fields).await;
        assert_eq!(site.t.app.store.passkeys(2).await.unwrap().len(), 1);
        site.close().await;
    }

    async fn a_counter_that_went_back_is_refused_and_told(db: TestDatabase) {
        let site = site(db).await;
        let (mut own, _) = with_passkey(&mut site.visitor(), EMAIL, b"a passkey").await;
        sign_in(&mut site.visitor(), &mut own).await.is(200, "Overview");
        let (mut visitor, page, question) = asked_to_sign_in(&site).await;
        let seen = refused(&mut visitor, &page, &own.answer_again(&question)).await;
        assert!(told(&seen).contains("somebody has a copy of it"), "{}", told(&seen));
        let acts = site.t.app.store.acts(Some("user 1"), None, Timestamp(0), 1).await.unwrap();
        assert_eq!((acts[0].act.as_str(), acts[0].reason.as_str()), ("passkey refused", "My phone: its counter did not grow"));
        // Also of one that was asked before the other one counted.
        let (mut early, page, first) = asked_to_sign_in(&site).await;
        sign_in(&mut site.visitor(), &mut own).await.is(200, "Overview");
        refused(&mut early, &page, &own.answer_again(&first)).await;
        let mut half = site.visitor();
        let code = half.sign_in(EMAIL, PASSWORD).await;
        let question = asked(&mut half, &code, "code-passkey").await;
        sign_in(&mut site.visitor(), &mut own).await.is(200, "Overview");
        let answer = own.answer_again(&question);
        half.submit(&code, "code-passkey", &[("credential", &answer)]).await.is(422, "Enter your code");
        // Many never count.
        let mut visitor = site.visitor();
        visitor.sign_in(OTHER, PASSWORD).await.is(200, "Overview");
        let me = visitor.get("/me").await;
        let mut still = Authenticator::new(ORIGIN, b"still");
        still.counter = 0;
        let answer = still.make(&asked(&mut visitor, &me, "passkey-add").await);
        visitor.submit(&me, "passkey-add", &[("label", "Still"), ("credential", &answer)]).await.is(200, "Your account");
        for _ in 0..2 {
            sign_in(&mut site.visitor(), &mut still).await.is(200, "Overview");
        }
        site.close().await;
    }

    async fn tries_of_passkeys_are_counted(db: TestDatabase) {
        let site = site(db).await;
        let (mut own, _) = with_passkey(&mut site.visitor(), EMAIL, b"a passkey").await;
        for id in [&b"a passkey"[..], b"nobody's"] {
            for number in 0..6 {
                let (mut visitor, page, question) = asked_to_sign_in(&site).await;
                let answer = Authenticator::new(ORIGIN, id).answer(&question);
                let seen = visitor.submit(&page, "sign-in-passkey", &[("credential", &answer)]).await;
                assert_eq!(seen.status, if number < 5 { 422 } else { 429 }, "{number}");
                assert_eq!(seen.header("retry-after").is_some(), number == 5);
            }
        }
        let mut visitor = site.visitor();
        assert_eq!(sign_in(&mut visitor, &mut own).await.status, 429, "for whoever has it too");
        site.t.advance(Span::seconds(1));
        sign_in(&mut visitor, &mut own).await.is(200, "Overview");
        site.close().await;
    }

    async fn a_new_passkey_answers_what_its_own_session_was_asked(db: TestDatabase) {
        let site = site(db).await;
        let (mut visitor, mut other) = (site.visitor(), site.visitor());
        visitor.sign_in(EMAIL, PASSWORD).await.is(200, "Overview");
        other.sign_in(OTHER, PASSWORD).await.is(200, "Overview");
        let (me, theirs) = (visitor.get("/me").await, other.get("/me").await);
        let mut authenticator = Authenticator::new(ORIGIN, b"a passkey");
        let theirs = authenticator.make(&asked(&mut other, &theirs, "passkey-add").await);
        let question = asked(&mut visitor, &me, "passkey-add").await;
        let own = authenticator.make(&question);
        for (label, answer) in [("", own.as_str()), (&"x".repeat(61), &own), ("a\u{202e}b", &own), ("Mine", &theirs), ("Mine", "x"), ("Mine", &own)] {
            let seen = visitor.submit(&me, "passkey-add", &[("label", label), ("credential", answer)]).await;
            seen.is(422, "Your account");
            assert!(!seen.text_of(".wrong").is_empty());
        }
        assert!(site.t.app.store.passkeys(1).await.unwrap().is_empty(), "the first answer had taken the question");
        authenticator.verifies = false;
        let answer = authenticator.make(&asked(&mut visitor, &me, "passkey-add").await);
        visitor.submit(&me, "passkey-add", &[("label", "Mine"), ("credential", &answer)]).await.is(422, "Your account");
        site.close().await;
    }
}
