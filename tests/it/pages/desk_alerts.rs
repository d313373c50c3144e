//! The alert desk: the mail beside its alert with what was read marked, several alerts at once, notes, and who is told what
//! when two people decide.

use scraper::Selector;
use tillbell::domain::alert::AlertStatus;
use tillbell::domain::payment::Status;
use tillbell::domain::time::{Span, Timestamp};
use tillbell::ops::payments::create::{Created, NewPayment, create_payment};
use tillbell::work::run_due;

use super::desk::{ADMIN, REVIEWER, VIEWER, doubtful, is, paid, signed_in, site, told};
use super::visitor::Seen;
use crate::harness::app::{ACCOUNT, LATER};
use crate::harness::mails::Alert;
use crate::taken_back::{debit_of, take_back};

on_both! {
    async fn the_mail_stands_beside_its_alert_and_what_was_read_is_marked(db: TestDatabase) {
        let (site, shop) = site(db).await;
        site.t.create(&shop, 5_200, "Halima Garba").await;
        let alert = doubtful(&site, 5_200, "HALIMA <b>x</b>").await;
        let mut visitor = signed_in(&site, REVIEWER).await;
        let page = visitor.get(&format!("/operator/alerts/{alert}")).await;
        let mail = page.text_of(".mail");
        assert!(mail.contains("From gens@gtbank.com"), "{mail}");
        let html = page.html();
        let marks: Vec<String> = html
            .select(&Selector::parse(".mail mark").unwrap())
            .map(|mark| mark.text().collect::<String>().split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        let account = format!("account ******{}", &ACCOUNT[6..]);
        for wanted in ["amount NGN 5200", &account] {
            assert!(marks.iter().any(|mark| mark == wanted), "{wanted} in {marks:?}");
        }
        assert!(marks.iter().any(|mark| mark.starts_with("payer HALIMA")), "{marks:?}");
        assert_eq!(html.select(&Selector::parse(".mail table, main b, main script").unwrap()).count(), 0);
        site.close().await;
    }

    async fn a_decision_about_another_state_than_was_seen_is_refused_with_who_was_quicker(db: TestDatabase) {
        let (site, shop) = site(db).await;
        let payment = site.t.create(&shop, 5_200, "Halima Garba").await;
        let alert = doubtful(&site, 5_200, "HALIMA").await;
        let (mut quick, mut slow) = (signed_in(&site, ADMIN).await, signed_in(&site, REVIEWER).await);
        let path = format!("/operator/alerts/{alert}");
        let (seen, same) = (slow.get(&path).await, quick.get(&path).await);
        quick.submit(&same, "dismiss-alert", &[("reason", "her brother's")]).await;
        // A dismissed alert may be approved; one that was not seen as dismissed may not.
        let late = slow.submit(&seen, "approve-alert-1", &[]).await;
        assert_eq!((late.status, paid(&site, &payment).await), (422, Status::Pending));
        assert!(told(&late).contains(&format!("{ADMIN} dismissed it")), "{}", told(&late));
        assert!(told(&late).contains("Her brother's."), "{}", told(&late));
        let again = slow.submit(&late, "approve-alert-1", &[("despite", "it is hers after all")]).await;
        assert_eq!((again.status, paid(&site, &payment).await), (200, Status::Approved), "{}", told(&again));
        site.close().await;
    }

    async fn several_are_dismissed_at_once_and_those_that_cannot_be_are_named(db: TestDatabase) {
        let (site, shop) = site(db).await;
        let payment = site.t.create(&shop, 5_200, "Halima Garba").await;
        site.t.create(&shop, 7_100, "Musa Danladi").await;
        let one = doubtful(&site, 5_200, "HALIMA").await;
        let two = doubtful(&site, 7_100, "MUSA").await;
        let mut visitor = signed_in(&site, REVIEWER).await;
        let list = visitor.get("/operator/alerts").await;
        let none = visitor.submit(&list, "dismiss-many", &[("reason", "advertising")]).await;
        assert_eq!((none.status, told(&none).contains("Tick 1 to")), (422, true), "{}", told(&none));
        let form = list.form("dismiss-many");
        let body = |ids: &[i64], reason: &str| {
            let mut body = url::form_urlencoded::Serializer::new(String::new());
            body.extend_pairs(form.fields.iter().filter(|(name, _)| *name != "reason"));
            ids.iter().for_each(|id| { body.append_pair("alerts", &id.to_string()); });
            body.append_pair("reason", reason).finish()
        };
        let wrong = visitor.send("POST", &form.action, Some(&body(&[one, two], " "))).await;
        assert_eq!(wrong.status, 422);
        is(&site, one, AlertStatus::Review).await;
        let page = visitor.get(&format!("/operator/alerts/{one}")).await;
        visitor.submit(&page, "approve-alert-1", &[]).await;
        let done = visitor.send("POST", &form.action, Some(&body(&[one, two, 999_999], "not ours"))).await;
        assert_eq!(done.status, 303, "{}", told(&done));
        let next = visitor.get(done.header("location").unwrap()).await;
        for part in ["1 alert dismissed", &format!("Alert {one} is matched"), "no alert 999999"] {
            assert!(told(&next).contains(part), "{part}: {}", told(&next));
        }
        is(&site, two, AlertStatus::Dismissed).await;
        assert_eq!(paid(&site, &payment).await, Status::Approved);
        site.close().await;
    }

    async fn a_note_is_kept_with_the_alert_and_with_who_wrote_it_from_where(db: TestDatabase) {
        let (site, shop) = site(db).await;
        site.t.create(&shop, 5_200, "Halima Garba").await;
        let alert = doubtful(&site, 5_200, "HALIMA").await;
        let mut visitor = signed_in(&site, REVIEWER).await;
        let page = visitor.get(&format!("/operator/alerts/{alert}")).await;
        let empty = visitor.submit(&page, "note-alert", &[("note", "")]).await;
        assert_eq!((empty.status, told(&empty).contains("a note must have")), (422, false), "{}", told(&empty));
        let done = visitor.submit(&page, "note-alert", &[("note", "asked her <i>by phone</i>")]).await;
        assert!(done.path.contains(&alert.to_string()), "the alert stays open: {}", done.path);
        let history = done.text_of(".timeline");
        assert!(history.contains("asked her <i>by phone</i>") && history.contains(REVIEWER), "{history}");
        let acts = site.t.app.store.acts(Some(&format!("alert {alert}")), None, Timestamp(0), 5).await.unwrap();
        assert_eq!((acts[0].act.as_str(), acts[0].address.as_deref()), ("note", Some("127.0.0.1")));
        let activity = visitor.get("/operator/activity").await;
        assert!(activity.text_of("table").contains("127.0.0.1"), "{}", activity.text_of("table"));
        is(&site, alert, AlertStatus::Review).await;
        // An account is known for it, so reading its mail again would change nothing.
        assert!(!page.body.contains("reread-alert"));
        site.close().await;
    }

    async fn after_a_decision_the_one_behind_it_is_open_and_what_was_left_stays(db: TestDatabase) {
        let (site, shop) = site(db).await;
        let mut alerts = Vec::new();
        for (naira, payer, short) in [(5_200, "Halima Garba", "HALIMA"), (6_300, "Musa Danladi", "MUSA"), (7_400, "Chidi Okafor", "CHIDI")] {
            site.t.create(&shop, naira, payer).await;
            alerts.push(doubtful(&site, naira, short).await);
        }
        let mut visitor = signed_in(&site, REVIEWER).await;
        let first = visitor.get(&format!("/operator/alerts/{}?state=review", alerts[0])).await;
        let link = |page: &super::visitor::Seen, css: &str| {
            let html = page.html();
            html.select(&Selector::parse(css).unwrap()).next().and_then(|link| link.value().attr("href").map(str::to_owned))
        };
        assert_eq!(link(&first, "a[rel=prev]"), None);
        let second = visitor.get(&link(&first, "a[rel=next]").unwrap()).await;
        assert!(second.path.contains(&format!("/{}?", alerts[1])));
        let third = visitor.submit(&second, "dismiss-alert", &[("reason", "own transfer")]).await;
        assert!(third.path.contains(&format!("/{}?", alerts[2])), "{}", third.path);
        let back = visitor.submit(&third, "approve-alert-1", &[]).await;
        assert!(back.path.contains(&format!("/{}?", alerts[0])), "the one that was left: {}", back.path);
        site.close().await;
    }

    async fn a_debit_says_what_it_may_have_taken_back(db: TestDatabase) {
        let (site, shop) = site(db).await;
        let payment = site.t.create(&shop, 6_400, "Halima Garba").await;
        site.t.advance(LATER);
        let credit = Alert::credit(ACCOUNT, 6_400, "HALIMA GARBA", site.t.app.now() - Span::seconds(20));
        let paid_by = site.t.ingest(&credit.text()).await;
        assert_eq!(paid_by.status, AlertStatus::Matched, "{paid_by:?}");
        site.t.advance(Span::minutes(5));
        let debit = take_back(&site.t, &debit_of(&credit), Some(&credit.session), None).await.alert_id;
        let mut visitor = signed_in(&site, REVIEWER).await;
        site.t.advance(Span::minutes(1));
        run_due(&site.t.app).await.unwrap();
        let page = visitor.get(&format!("/operator/alerts/{debit}")).await;
        let why = page.text_of(".reasons");
        let wanted = format!("the money of alert {}, which pays \"{}\"", paid_by.alert_id, payment.transaction_id);
        assert!(why.contains(&wanted), "{why}");
        let done = visitor.submit(&page, "dismiss-alert", &[("reason", "our rent")]).await;
        assert_eq!(done.status, 200, "{}", told(&done));
        let page = visitor.get(&format!("/operator/alerts/{debit}")).await;
        assert!(!page.text_of(".reasons").contains("may have taken back"), "somebody has dealt with it");
        site.close().await;
    }

    async fn a_merchants_words_are_no_reason_and_a_dismissal_hides_none(db: TestDatabase) {
        let (site, shop) = site(db).await;
        let other = site.t.merchant("bolu.example").await;
        site.t.create(&shop, 5_200, "Halima").await;
        let told_by = r#"A; payment "1" was paid by another; approve "2"#;
        let bait = NewPayment { transaction_id: Some(told_by.into()), ..site.t.request(&other, 9_000, "Halima Garba") };
        let made = create_payment(&site.t.app, &other.caller, bait, None).await.unwrap();
        let Created::Payment(view) = made else { panic!("{made:?}") };
        site.t.correct_unasked(&view.payment, 5_200).await;
        let alert = doubtful(&site, 5_200, "HALIMA GARBA").await;
        let mut visitor = signed_in(&site, REVIEWER).await;
        let page = visitor.get(&format!("/operator/alerts/{alert}")).await;
        let reasons = |page: &Seen| -> Vec<String> {
            // The first list of its kind: what speaks against a suggestion has one too.
            let (list, items) = (Selector::parse(".reasons").unwrap(), Selector::parse("li").unwrap());
            let html = page.html();
            let first = html.select(&list).next().unwrap();
            first.select(&items).map(|item| item.text().collect()).collect()
        };
        let before = reasons(&page);
        assert!(before.iter().any(|reason| reason.contains("approve")), "{before:?}");
        assert!(before.iter().all(|reason| !reason.starts_with("Payment \"1\"") && !reason.starts_with("Approve")), "{before:?}");
        visitor.submit(&page, "dismiss-alert", &[("reason", "refunded by hand")]).await;
        let after = reasons(&visitor.get(&format!("/operator/alerts/{alert}")).await);
        for reason in &before {
            assert!(after.contains(&format!("Before it was dismissed: {reason}")), "{reason} in {after:?}");
        }
        site.close().await;
    }

    async fn the_keys_are_switched_off_and_on_without_a_script(db: TestDatabase) {
        let (site, _) = site(db).await;
        let mut visitor = signed_in(&site, VIEWER).await;
        let page = visitor.get("/operator/alerts").await;
        assert!(page.body.contains(r#"data-keys="on""#));
        let off = visitor.submit(&page, "desk-keys", &[]).await;
        assert!(off.body.contains(r#"data-keys="off""#) && told(&off).contains("off in this browser"), "{}", told(&off));
        let on = visitor.submit(&off, "desk-keys", &[]).await;
        assert!(on.body.contains(r#"data-keys="on""#));
        site.close().await;
    }
}
