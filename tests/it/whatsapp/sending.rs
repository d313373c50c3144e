//! What goes out, and in which form: templates to whom has not written, texts to whom has.

use tillbell::domain::message::MessageKind;
use tillbell::domain::time::Span;
use tillbell::ops::messages::outbox::{By, Note, compose};
use tillbell::ops::messages::reports::note_writing;
use tillbell::ops::wallet_payments::confirm::Confirmed;
use tillbell::ops::wallet_payments::pin_reset::{CodeSent, PinSet, send_code, set_pin};

use super::world::{DIGITS, Desk, still};
use crate::harness::cloud_api::{BUTTON_BASE, written};
use crate::wallet::world::{PIN, token};

on_both! {
    async fn a_link_goes_by_template_and_by_text_once_the_customer_wrote(db: TestDatabase) {
        let desk = Desk::open(db).await;
        desk.fund(20_000).await;
        let started = desk.start("k-1").await;
        assert_eq!(started.status, 201, "{started:?}");
        let url = started.json()["data"]["confirm_url"].as_str().unwrap().to_owned();
        let taken = desk.api.last();
        assert_eq!((taken.to.as_str(), taken.form.as_str()), (DIGITS, "tillbell_payment_link"));
        assert_eq!(taken.button.as_deref(), Some(url.as_str()), "the button leads to the link");
        assert!(url.starts_with(BUTTON_BASE));
        assert!(taken.words.contains("kola.example Ltd asks you to pay NGN 5,000.00 for order A-7"), "{taken:?}");
        assert!(!taken.words.contains(url.trim_start_matches(BUTTON_BASE)));
        let again = desk.start("k-1").await;
        assert_eq!((again.status, &again.body, desk.api.taken().len()), (201, &started.body, 1), "sent once");

        desk.api.open_window(DIGITS);
        assert_eq!(desk.told(&written(DIGITS, desk.seconds(), "text")).await.status, 200);
        let started = desk.start("k-2").await;
        assert_eq!(started.status, 201, "{started:?}");
        let taken = desk.api.last();
        assert_eq!((taken.form.as_str(), desk.api.taken().len()), ("text", 2));
        let url = started.json()["data"]["confirm_url"].as_str().unwrap().to_owned();
        assert!(taken.words.contains(&url) && taken.words.contains("works until"), "{taken:?}");
        assert_eq!(desk.api.requests()[1]["text"]["preview_url"], false, "nobody looks at the link before the customer");
        assert_eq!(desk.api.problems(), [""; 0], "every request was as documented");
    }

    async fn every_kind_has_its_template_and_its_text(db: TestDatabase) {
        let (api, w) = still(db).await;
        w.funded(20_000).await;
        let started = w.begin(5_000, "k-1").await;
        let token = token(&started);
        assert!(matches!(send_code(&w.t.app, &token, None).await.unwrap(), CodeSent::Sent { .. }));
        let sent = api.last();
        let code = sent.button.clone().unwrap();
        assert_eq!(sent.form, "tillbell_code");
        assert!(code.len() == 6 && sent.words.starts_with(&format!("{code} is your verification code")), "{sent:?}");
        assert!(matches!(set_pin(&w.t.app, &token, &code, PIN, PIN, None).await.unwrap(), PinSet::Done));
        w.send_messages().await;
        assert_eq!(api.last().form, "tillbell_pin_changed");
        assert!(api.last().words.contains("PIN was set on 10 Mar 2026"), "{:?}", api.last());
        let paid = w.confirm(&token, PIN).await;
        assert!(matches!(paid, Confirmed::Paid(_)), "{paid:?}");
        w.send_messages().await;
        let receipt = api.last();
        assert_eq!(receipt.form, "tillbell_receipt");
        let told = "You paid NGN 5,000.00 to adire.example Ltd for order ORDER k-1 on 10 Mar 2026";
        assert!(receipt.words.contains(told), "{receipt:?}");
        let number = format!("Receipt number: {}", started.transaction_id);
        assert!(receipt.words.lines().any(|line| line == number), "{receipt:?}");
        for (kind, form, told) in [
            (MessageKind::Topup, "tillbell_topup", "NGN 5,000.00 was added to your wallet on 10 Mar 2026"),
            (MessageKind::Refund, "tillbell_refund", "Refund: the NGN 5,000.00 that you paid to adire.example Ltd for order ORDER k-1 is back in your wallet."),
            (MessageKind::Stopped, "tillbell_wrong_pins", "your payment of NGN 5,000.00 to adire.example Ltd was stopped on 10 Mar 2026"),
            (MessageKind::Locked, "tillbell_wrong_pins", "your wallet was locked on 10 Mar 2026"),
            (MessageKind::TopupReversed, "tillbell_topup_problem", "on 10 Mar 2026, 09:00, your top-up of NGN 5,000.00 was reversed, and the money was taken out of your wallet again"),
        ] {
            let phone = w.phone();
            let note = Note {
                to: &phone,
                business_id: Some(w.shop.id),
                wallet_id: Some(started.intent.wallet_id),
                kind,
                subject_id: match kind {
                    MessageKind::Stopped | MessageKind::Locked => started.intent.id,
                    _ => started.intent.payment_id,
                },
                text: None,
                valid_until: w.t.app.now() + Span::hours(1),
            };
            let composed = compose(&w.t.app, &note, By::Workers).await.unwrap();
            let unit = w.t.app.store.unit(w.shop.id).await.unwrap().steps(composed.steps);
            assert!(w.t.app.store.apply(unit).await.unwrap().is_done());
            w.send_messages().await;
            let sent = api.last();
            assert!(sent.form == form && sent.words.contains(told), "{sent:?}");
        }
        // The same once more to a customer who wrote.
        api.open_window(DIGITS);
        note_writing(&w.t.app, &w.phone(), w.t.app.now()).await.unwrap();
        let second = w.begin(500, "k-2").await;
        let token = crate::wallet::world::token(&second);
        assert!(matches!(send_code(&w.t.app, &token, None).await.unwrap(), CodeSent::Sent { .. }));
        assert!(api.last().form == "text" && api.last().words.contains("Never share it with anyone"), "{:?}", api.last());
        assert!(matches!(w.confirm(&token, PIN).await, Confirmed::Paid(_)));
        w.send_messages().await;
        assert!(api.last().form == "text" && api.last().words.starts_with("You paid NGN 500.00"), "{:?}", api.last());
        let number = format!("Receipt number: {}", second.transaction_id);
        assert!(api.last().words.lines().any(|line| line == number), "{:?}", api.last());
        assert_eq!(api.problems(), [""; 0]);
    }

    async fn a_window_that_turns_out_closed_costs_a_template_and_nothing_twice(db: TestDatabase) {
        let desk = Desk::open(db).await;
        desk.fund(20_000).await;
        // We think it open; the API says that it is not.
        assert_eq!(desk.told(&written(DIGITS, desk.seconds(), "text")).await.status, 200);
        assert_eq!(desk.start("k-1").await.status, 201);
        assert_eq!(desk.api.requests().len(), 2, "text, then template");
        let taken = desk.api.taken();
        assert_eq!((taken.len(), taken[0].form.as_str()), (1, "tillbell_payment_link"));
    }

    async fn merchants_texts_go_to_who_wrote_and_to_others_only_by_a_template(db: TestDatabase) {
        let desk = Desk::open(db).await;
        desk.fund(1).await;
        desk.text("Your parcel is there").await.fails(502, "has not written in the last 24 hours");
        assert!(desk.api.requests().is_empty(), "nothing was tried");
        desk.api.open_window(DIGITS);
        assert_eq!(desk.told(&written(DIGITS, desk.seconds(), "image")).await.status, 200);
        let reply = desk.text("Your parcel\nis there").await;
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!((desk.api.last().form.as_str(), desk.api.last().words.as_str()), ("text", "From kola.example Ltd:\nYour parcel\nis there"));
        let longest = "ọ".repeat(4_000);
        assert_eq!(desk.text(&longest).await.status, 200);
        assert_eq!(desk.api.last().words, format!("From kola.example Ltd:\n{longest}"));
        assert_eq!(desk.last().await.0, "sent");
    }

    async fn with_a_template_for_texts_merchants_reach_everybody(db: TestDatabase) {
        let desk = Desk::with(db, "merchant_template = \"tillbell_shop_text\"\n").await;
        let reply = desk.text("Your parcel is there.\n\nCollect   it\tuntil 18:00.").await;
        assert_eq!(reply.status, 200, "{reply:?}");
        let sent = desk.api.last();
        let told = "from kola.example Ltd: Your parcel is there. Collect it until 18:00.";
        assert!(sent.form == "tillbell_shop_text" && sent.words.contains(told), "{sent:?}");
        assert!(sent.words.ends_with("Nobody reads replies to this number. To answer, contact the shop directly."));
        assert_eq!(desk.text(&"x".repeat(600)).await.status, 200);
        desk.text(&"x".repeat(601)).await.fails(502, "at most 600 characters");
        assert_eq!(desk.api.problems(), [""; 0]);
    }

    async fn a_system_message_or_one_of_yesterday_opens_no_window(db: TestDatabase) {
        let desk = Desk::open(db).await;
        desk.fund(20_000).await;
        for body in [
            written(DIGITS, desk.seconds(), "system"),
            written(DIGITS, desk.seconds() - 86_401, "text"),
            written("2347035550199", desk.seconds(), "text"),
            written(DIGITS, desk.seconds(), "text").replace("\"from\":\"2348035550142\"", "\"from_user_id\":\"NG.1349\""),
            written(DIGITS, desk.seconds(), "text").replace("\"id\":\"wamid.HBgLIN\"", "\"id\":\"wamid.HBgLIN\",\"group_id\":\"g1\""),
        ] {
            assert_eq!(desk.told(&body).await.status, 200);
        }
        desk.api.open_window(DIGITS);
        assert_eq!(desk.start("k-1").await.status, 201);
        assert_eq!(desk.api.last().form, "tillbell_payment_link");
        // A clock that runs ahead opens it no longer than from now on.
        assert_eq!(desk.told(&written(DIGITS, desk.seconds() + 1_000_000, "text")).await.status, 200);
        let wallet = tillbell::ops::wallets::find::find(desk.server.app(), &tillbell::domain::phone::Phone::parse(DIGITS).unwrap()).await.unwrap().unwrap();
        assert!(wallet.wrote_at.unwrap() <= desk.server.app().now());
        assert_eq!(desk.start("k-2").await.status, 201);
        assert_eq!(desk.api.last().form, "text");
    }
}
