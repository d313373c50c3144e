//! Alerts that were kept unread, read again after a template was taught to: judged as they came, decided by the
//! time they came, and never believed more than then.
//!
//! The scene is that of `forged`.

use std::sync::Arc;

use tillbell::alert_reader::template::embedded::TEMPLATES;
use tillbell::alert_reader::{self, Banks, Intake};
use tillbell::domain::alert::{AlertRow, AlertStatus, Authenticity};
use tillbell::domain::payment::Status;
use tillbell::domain::time::{Span, Timestamp};
use tillbell::mail_intake;
use tillbell::mail_intake::ingest::{Arrival, MailIngestor, Origin};
use tillbell::ops::alerts::approve::{Approve, approve_alert};
use tillbell::ops::alerts::dismiss::{DismissRefused, dismiss_alert};
use tillbell::ops::alerts::reread::{Reread, RereadRefused, unread_since};
use tillbell::store::Step;
use tillbell::store::engine::sql::{Sql, Text};

use crate::cli::Desk;
use crate::crashes::{self, Installation};
use crate::forged::{MAILBOX, Scene, genuine};
use crate::harness::app::{ACCOUNT, at};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;
use crate::harness::name_server::Say;
use crate::harness::signing::{Signer, record};

const KEY_NAME: &str = "mail._domainkey.gtbank.com";

/// GTBank's template before anybody taught it the present layout.
fn untaught() -> String {
    let (_, text) = TEMPLATES.iter().find(|(file, _)| file.contains("gtbank")).unwrap();
    // Its examples are not looked at here.
    let (before, gens) = text.split_once("name = \"gens\"").expect("a layout of that name");
    let (between, words) = gens.split_once("\nall = [").expect("the words that say it is this layout");
    format!("{before}name = \"gens\"{between}\nall = ['(?i)no such words', {words}")
}

fn unread_banks() -> Banks {
    let more = [("gtbank.toml".to_owned(), untaught())];
    let all = TEMPLATES.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned()));
    Banks::assemble(all.chain(more).collect()).unwrap()
}

fn strange_banks() -> Banks {
    let known = TEMPLATES.iter().filter(|(file, _)| !file.contains("gtbank"));
    Banks::assemble(known.map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect()).unwrap()
}

fn room(s: &Scene, banks: Banks) -> MailIngestor {
    let mut config = s.t.app.config.clone();
    config.mail.dns = vec![s.names.address];
    MailIngestor::new(&config, Arc::new(banks))
}

/// The scene before its templates were taught; the room of the scene itself knows everything.
async fn before(db: TestDatabase, banks: Banks) -> (Scene, MailIngestor) {
    let s = Scene::new(db).await;
    let taught = room(&s, Banks::embedded().unwrap());
    let untaught = room(&s, banks);
    (Scene { room: untaught, ..s }, taught)
}

async fn again(s: &Scene, room: &MailIngestor, id: i64) -> Result<Reread, RereadRefused> {
    Box::pin(mail_intake::reread::reread(&s.t.app, room, id, "ada")).await.unwrap().map(|(_, done)| done)
}

fn outcome(done: &Reread) -> AlertStatus {
    match done {
        Reread::Same(outcome) | Reread::Anew(outcome) => outcome.status,
    }
}

/// Changes an alert as another command would at that moment.
async fn by_hand(s: &Scene, text: &'static str, id: i64) {
    let sql: &'static Sql = Box::leak(Box::new(Sql::new("BY_HAND", Text::Plain(text))));
    let unit = s.t.app.store.unit(id).await.unwrap().step(Step::one(sql, vec![id.into()]));
    assert!(s.t.app.store.apply(unit).await.unwrap().is_done());
}

async fn forget(s: &Scene) {
    assert!(s.t.app.store.forget_raw_mails(s.t.app.now() + Span::days(91)).await.unwrap() > 0);
}

on_both! {
    async fn an_unread_alert_is_read_after_teaching_and_decided_by_the_time_it_came(db: TestDatabase) {
        let (s, taught) = before(db, unread_banks()).await;
        let mail = Signer::bank().sign(&genuine());
        let unread = s.take(&mail, MAILBOX).await;
        assert_eq!((unread.status, unread.authenticity), (AlertStatus::Unreadable, Authenticity::Proven), "{unread:?}");
        // As long as nothing was taught nothing changes.
        assert!(matches!(again(&s, &s.room, unread.id).await, Ok(Reread::Same(_))));
        assert_eq!(s.alert(unread.id).await, unread);
        s.t.advance(Span::hours(5));
        // The bank has another key by now, under the same name even.
        s.names.say(KEY_NAME, Say::Text(record("thief")));
        let done = again(&s, &taught, unread.id).await.unwrap();
        assert_eq!(outcome(&done), AlertStatus::Matched, "{done:?}");
        let read = s.alert(unread.id).await;
        assert_eq!((read.first_seen, &read.authentic_by), (unread.first_seen, &unread.authentic_by));
        assert_eq!(read.authenticity, Authenticity::Proven);
        assert!(s.is_approved().await);
        // Once is enough, and a copy is known by its keys.
        assert!(matches!(again(&s, &taught, unread.id).await, Err(RereadRefused::Status(_, "matched"))));
        s.names.say(KEY_NAME, Say::Text(record("rsa2048")));
        let s = Scene { room: room(&s, Banks::embedded().unwrap()), ..s };
        assert_eq!(s.take(&mail, MAILBOX).await.status, AlertStatus::Duplicate);
    }

    async fn a_copy_that_was_taken_in_meanwhile_makes_it_a_duplicate(db: TestDatabase) {
        let (s, taught) = before(db, unread_banks()).await;
        let mail = Signer::bank().sign(&genuine());
        let unread = s.take(&mail, MAILBOX).await;
        let s = Scene { room: taught.clone(), ..s };
        assert_eq!(s.take(&mail, MAILBOX).await.status, AlertStatus::Matched);
        let done = again(&s, &taught, unread.id).await.unwrap();
        assert_eq!(outcome(&done), AlertStatus::Duplicate, "{done:?}");
    }

    async fn a_payment_made_after_the_mail_came_is_not_paid_by_it(db: TestDatabase) {
        let (s, taught) = before(db, unread_banks()).await;
        let mail = Alert::credit(ACCOUNT, 6_000, "Halima Garba", at()).text();
        let unread = s.take(Signer::bank().sign(&mail), MAILBOX).await;
        s.t.advance(Span::minutes(1));
        let shop = s.t.merchant("later.example").await;
        let later = s.t.create(&shop, 6_000, "Halima Garba").await;
        let done = again(&s, &taught, unread.id).await.unwrap();
        assert!(matches!(outcome(&done), AlertStatus::Unmatched | AlertStatus::Review), "{done:?}");
        assert_eq!(s.t.payment(&later).await.status, Status::Pending);
    }

    async fn a_mail_is_never_believed_more_than_when_it_came(db: TestDatabase) {
        let (s, taught) = before(db, unread_banks()).await;
        // Nothing proves it, then or now.
        let bare = s.take(genuine(), MAILBOX).await;
        assert_eq!((bare.status, bare.authenticity), (AlertStatus::Unreadable, Authenticity::Unproven));
        assert_eq!(outcome(&again(&s, &taught, bare.id).await.unwrap()), AlertStatus::Quarantined);
        let file = s.take(genuine(), Origin::File { trusted: false }).await;
        assert_eq!(outcome(&again(&s, &taught, file.id).await.unwrap()), AlertStatus::Quarantined);
        assert!(!s.is_approved().await);
    }

    async fn what_was_refuted_stays_so_and_a_missing_key_changes_nothing(db: TestDatabase) {
        let (s, taught) = before(db, unread_banks()).await;
        // The bank's key said that it is not what was signed. A later key cannot say otherwise.
        s.names.say("old._domainkey.gtbank.com", Say::Text(record("thief")));
        let old = Signer { selector: "old".into(), ..Signer::bank() };
        let refuted = s.take(old.sign(&genuine()), MAILBOX).await;
        assert_eq!(refuted.authenticity, Authenticity::Refuted, "{refuted:?}");
        s.names.say("old._domainkey.gtbank.com", Say::Text(record("rsa2048")));
        let fresh = room(&s, Banks::embedded().unwrap());
        assert_eq!(again(&s, &fresh, refuted.id).await, Err(RereadRefused::Refuted(refuted.id)));
        // A key that cannot be had now leaves it as it is.
        s.names.say("away._domainkey.gtbank.com", Say::ServFail);
        let away = Signer { selector: "away".into(), ..Signer::bank() };
        let away = s.take(away.sign(&genuine()), MAILBOX).await;
        assert_eq!(again(&s, &taught, away.id).await, Err(RereadRefused::KeyAway(away.id)));
        assert_eq!(s.alert(away.id).await, away);
        assert!(!s.is_approved().await);
    }

    async fn a_person_who_vouched_for_a_file_still_does(db: TestDatabase) {
        let (s, taught) = before(db, unread_banks()).await;
        let trusted = s.take(genuine(), Origin::File { trusted: true }).await;
        assert_eq!((trusted.status, trusted.authenticity), (AlertStatus::Unreadable, Authenticity::Trusted));
        assert_eq!(outcome(&again(&s, &taught, trusted.id).await.unwrap()), AlertStatus::Matched);
        assert_eq!(s.alert(trusted.id).await.authenticity, Authenticity::Trusted);
    }

    async fn a_persons_word_stands_beside_a_proof(db: TestDatabase) {
        let (s, _) = before(db, unread_banks()).await;
        let unread = s.take(Signer::bank().sign(&genuine()), Origin::File { trusted: true }).await;
        assert_eq!((unread.status, unread.authenticity), (AlertStatus::Unreadable, Authenticity::Proven));
        assert!(unread.authentic_by.as_deref().unwrap().ends_with(", ingested with --trusted"), "{unread:?}");
        // The template that was taught names another domain, so that the signature proves nothing by it.
        let all = TEMPLATES.iter().map(|(file, text)| {
            ((*file).to_owned(), text.replace("dkim_domains = [\"gtbank.com\"]", "dkim_domains = [\"alerts-gtb.example\"]"))
        });
        let taught = room(&s, Banks::assemble(all.collect()).unwrap());
        s.t.advance(Span::hours(5));
        let done = again(&s, &taught, unread.id).await.unwrap();
        assert_eq!(outcome(&done), AlertStatus::Matched, "{done:?}");
        assert_eq!(s.alert(unread.id).await.authenticity, Authenticity::Trusted);
    }

    async fn an_unread_alert_put_aside_is_neither_read_again_nor_approved(db: TestDatabase) {
        let (s, taught) = before(db, unread_banks()).await;
        let mail = Signer::bank().sign(&genuine());
        let unread = s.take(&mail, MAILBOX).await;
        let was = dismiss_alert(&s.t.app, unread.id, "ada", "advertising").await.unwrap().unwrap();
        assert_eq!(was, AlertStatus::Unreadable);
        let aside = s.alert(unread.id).await;
        assert_eq!((aside.status, aside.authenticity), (AlertStatus::Dismissed, Authenticity::Proven));
        assert!(matches!(again(&s, &taught, unread.id).await, Err(RereadRefused::Status(_, "dismissed"))));
        // Not even where all that an approval needs were to be read in it.
        by_hand(
            &s,
            "update alerts set direction = 'credit', kind = 'payment', amount_kobo = 500000, currency = 'NGN' where id = $1",
            unread.id,
        )
        .await;
        let ask = Approve {
            alert_id: unread.id,
            business_id: s.payment.business_id,
            transaction_id: &s.payment.transaction_id,
            operator: "ada",
            despite: Some("it is on the statement"),
            seen: None,
        };
        let refused = approve_alert(&s.t.app, &ask).await.unwrap().unwrap_err();
        assert!(refused.to_string().contains("was unreadable when it was dismissed"), "{refused}");
        assert!(!s.is_approved().await);
        assert_eq!(s.alert(unread.id).await.status, AlertStatus::Dismissed);
    }

    async fn a_copy_of_an_unread_mail_put_aside_is_an_alert_of_its_own(db: TestDatabase) {
        let (s, taught) = before(db, unread_banks()).await;
        let mail = Signer::bank().sign(&genuine());
        let unread = s.take(&mail, MAILBOX).await;
        dismiss_alert(&s.t.app, unread.id, "ada", "advertising").await.unwrap().unwrap();
        let s = Scene { room: taught, ..s };
        assert_eq!(s.take(&mail, MAILBOX).await.status, AlertStatus::Matched);
        assert!(s.is_approved().await, "its money is not lost");
    }

    async fn of_a_reading_and_a_dismissal_at_one_moment_one_wins(db: TestDatabase) {
        let (s, taught) = before(db, unread_banks()).await;
        let unread = s.take(Signer::bank().sign(&genuine()), MAILBOX).await;
        let other = s.t.another_node().await;
        let (read, aside) = tokio::join!(
            mail_intake::reread::reread(&s.t.app, &taught, unread.id, "ada"),
            dismiss_alert(&other, unread.id, "bola", "advertising"),
        );
        let (read, aside, now) = (read.unwrap(), aside.unwrap(), s.alert(unread.id).await);
        match aside {
            Ok(was) => {
                assert_eq!((was, now.status), (AlertStatus::Unreadable, AlertStatus::Dismissed));
                assert!(read.is_err() && !s.is_approved().await, "{read:?}");
            }
            Err(refused) => {
                let is_told = matches!(refused, DismissRefused::Changed(_) | DismissRefused::NotWaiting(_, "matched" | "new"));
                assert!(is_told && now.status == AlertStatus::Matched && s.is_approved().await, "{refused}: {now:?}");
            }
        }
    }

    async fn a_bank_that_nobody_knew_is_known_afterwards(db: TestDatabase) {
        let (s, taught) = before(db, strange_banks()).await;
        let strange = s.take(Signer::bank().sign(&genuine()), MAILBOX).await;
        assert_eq!((strange.status, strange.authenticity), (AlertStatus::Quarantined, Authenticity::Refuted));
        let trusted = s.take(genuine(), Origin::File { trusted: true }).await;
        let forged = s.take(Signer { key: "thief", ..Signer::bank() }.sign(&genuine()), MAILBOX).await;
        assert_eq!(outcome(&again(&s, &taught, forged.id).await.unwrap()), AlertStatus::Quarantined);
        // Nobody kept that a person vouched for a mail of no bank.
        assert_eq!(outcome(&again(&s, &taught, trusted.id).await.unwrap()), AlertStatus::Quarantined);
        assert!(!s.is_approved().await);
        let done = again(&s, &taught, strange.id).await.unwrap();
        assert_eq!(outcome(&done), AlertStatus::Matched, "{done:?}");
        assert!(s.is_approved().await);
    }

    async fn what_cannot_be_read_again_says_so(db: TestDatabase) {
        let (s, taught) = before(db, unread_banks()).await;
        assert_eq!(again(&s, &taught, 4_711).await, Err(RereadRefused::NoAlert(4_711)));
        let unread = s.take(Signer::bank().sign(&genuine()), MAILBOX).await;
        forget(&s).await;
        assert_eq!(again(&s, &taught, unread.id).await, Err(RereadRefused::MailGone(unread.id)));
        let huge = format!("{}{}", genuine(), "x".repeat(alert_reader::mime::MAX_MAIL_BYTES));
        let huge = s.take(huge, Origin::File { trusted: true }).await;
        assert_eq!(huge.status, AlertStatus::Unreadable);
        assert_eq!(again(&s, &taught, huge.id).await, Err(RereadRefused::Beginning(huge.id)));
        let s = Scene { room: taught.clone(), ..s };
        let mut debit = Alert::credit(ACCOUNT, 70, "Halima Garba", at());
        debit.direction = "DEBIT";
        let debit = s.take(Signer::bank().sign(&debit.text()), MAILBOX).await;
        assert_eq!(again(&s, &taught, debit.id).await, Err(RereadRefused::Undoing(debit.id)));
    }

    async fn of_two_operators_one_reads_it(db: TestDatabase) {
        let (s, taught) = before(db, unread_banks()).await;
        let unread = s.take(Signer::bank().sign(&genuine()), MAILBOX).await;
        let other = s.t.another_node().await;
        let (a, b) = tokio::join!(
            mail_intake::reread::reread(&s.t.app, &taught, unread.id, "ada"),
            mail_intake::reread::reread(&other, &taught, unread.id, "bola"),
        );
        let done = [a.unwrap(), b.unwrap()];
        let read = done.iter().filter(|one| matches!(one, Ok((_, Reread::Anew(_))))).count();
        let late = done.iter().filter(|one| matches!(one, Err(RereadRefused::Status(..)))).count();
        assert_eq!((read, late), (1, 1), "{done:?}");
        assert!(s.is_approved().await);
    }

    async fn what_changed_while_it_was_read_stands(db: TestDatabase) {
        let (s, taught) = before(db, unread_banks()).await;
        let mail = Signer::bank().sign(&genuine());
        let unread = s.take(&mail, MAILBOX).await;
        let intake = Intake::trusted(unread.first_seen);
        let reading = alert_reader::read(mail.as_bytes(), &taught.banks, &intake);
        let origin = Origin::File { trusted: true };
        let arrival = Arrival { raw: mail.into_bytes(), source: "file".into(), origin, in_mailbox: None };
        let taken = taught.taken(&reading, arrival);
        by_hand(&s, "update alerts set status = 'dismissed', version = version + 1 where id = $1", unread.id).await;
        let late = tillbell::ops::alerts::reread::reread(&s.t.app, &unread, &taken, "ada").await.unwrap();
        assert_eq!(late, Err(RereadRefused::Status(unread.id, "dismissed")));
        assert_eq!(s.alert(unread.id).await.status, AlertStatus::Dismissed);
        assert!(!s.is_approved().await);
    }

    async fn all_unread_alerts_of_a_bank_are_found(db: TestDatabase) {
        let (s, taught) = before(db, unread_banks()).await;
        let mut ids = Vec::new();
        for n in 0..3 {
            let mail = Alert::credit(ACCOUNT, 100 + n, "Halima Garba", at()).text();
            ids.push(s.take(Signer::bank().sign(&mail), MAILBOX).await.id);
            s.t.advance(Span::minutes(10));
        }
        s.take("From: x@thief.example\r\nSubject: s\r\n\r\nhello", MAILBOX).await;
        let bank = taught.banks.by_code("gtbank").unwrap();
        let wanted = |alert: &AlertRow| mail_intake::reread::is_of(alert, bank, &taught.banks);
        let found = |since: Timestamp| {
            let app = s.t.app.clone();
            async move { unread_since(&app, since, wanted).await.unwrap().0 }
        };
        let all = found(s.t.app.now() - Span::hours(1)).await;
        assert_eq!(all.iter().map(|alert| alert.id).collect::<Vec<_>>(), ids);
        let late = found(s.t.app.now() - Span::minutes(25)).await;
        assert_eq!(late.len(), 2);
    }

    async fn of_many_those_that_take_money_back_are_read_first(db: TestDatabase) {
        let (s, taught) = before(db, unread_banks()).await;
        let credit = s.take(Signer::bank().sign(&genuine()), MAILBOX).await;
        let back = genuine().replace("a CREDIT transaction", "a DEBIT transaction");
        let debit = s.take(Signer::bank().sign(&back), MAILBOX).await;
        assert_eq!((credit.status, debit.status), (AlertStatus::Unreadable, AlertStatus::Unreadable));
        let ids = vec![credit.id, debit.id];
        let ids = Box::pin(mail_intake::reread::debits_first(&s.t.app, &taught, ids)).await;
        assert_eq!(ids, [debit.id, credit.id]);
        for id in ids {
            again(&s, &taught, id).await.unwrap();
        }
        assert_eq!(s.alert(credit.id).await.status, AlertStatus::Review);
        assert!(!s.is_approved().await, "the money is gone again");
    }

    async fn the_command_reads_one_or_all_of_a_bank(db: TestDatabase) {
        let desk = Desk::new(&db);
        let folder = desk.path().join("banks");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("gtbank.toml"), untaught()).unwrap();
        let at = crashes::now() - Span::minutes(5);
        for n in 0..2 {
            let mail = Alert::credit(ACCOUNT, 100 + n, "Halima Garba", at).text();
            let file = desk.path().join(format!("{n}.eml"));
            std::fs::write(&file, mail).unwrap();
            let output = desk
                .command(&["--json", "alert", "ingest", file.to_str().unwrap(), "--trusted"])
                .env("TILLBELL_BANKS__FOLDER", &folder)
                .output()
                .unwrap();
            assert!(String::from_utf8(output.stdout).unwrap().contains("\"outcome\":\"unreadable\""));
        }
        let one = desk.json(&["alert", "list"])["alerts"][0]["id"].as_i64().unwrap().to_string();
        let read = desk.json(&["alert", "reread", &one])["results"][0].clone();
        // There is no such account here, so a person must look.
        assert_eq!((&read["before"], &read["outcome"]), (&"unreadable".into(), &"review".into()), "{read}");
        let rest = desk.json(&["alert", "reread", "--bank", "Guaranty Trust", "--since", "1d"]);
        // The one in review is looked at again, too: its account may have been added.
        let told: Vec<_> = rest["results"].as_array().unwrap().iter().map(|one| (&one["before"], &one["outcome"])).collect();
        let (unread, review) = (serde_json::Value::from("unreadable"), serde_json::Value::from("review"));
        assert_eq!(told, [(&unread, &review), (&review, &review)], "{rest}");
        let text = desk.text(&["alert", "reread", "--bank", "Zenith Bank", "--since", "2026-03-10"]);
        assert!(text.contains("no alert of Zenith"), "{text}");
        let again = desk.json(&["alert", "reread", &one]);
        assert!(again["results"][0]["reason"].as_str().unwrap().starts_with("it reads as before"), "{again}");
        assert!(desk.refused(&["alert", "reread", "--bank", "No Bank", "--since", "1d"]).contains("No Bank"));
        for wrong in [&["alert", "reread"][..], &["alert", "reread", "--bank", "gtbank"], &["alert", "reread", "1", "--since", "1d"]] {
            assert_eq!(desk.run(wrong).status.code(), Some(2), "{wrong:?}");
        }
    }

    async fn killed_in_between_it_is_read_again_or_decided_by_the_service(db: TestDatabase) {
        let here = Installation::new(db).await;
        let folder = here.folder.path().join("banks");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("gtbank.toml"), untaught()).unwrap();
        let service = here.serve();
        let points = [
            "alert.before_reread:1",
            "alert.lifted:1",
            "alert.before_decision:1",
            "store.before_commit:1",
            "store.after_commit:1",
            "store.after_commit:2",
            "store.between_statements:4",
        ];
        for (n, point) in points.iter().enumerate() {
            let (id, naira) = (format!("READ-{n}"), 5_000 + 1_000 * n as i64);
            here.ask(&service, &id, naira).await;
            let mail = Alert::credit(ACCOUNT, naira, "Halima Garba", crashes::now() + Span::seconds(1));
            let path = here.mail(&id, &mail);
            let ingest = here
                .command(&["--json", "alert", "ingest", path.to_str().unwrap(), "--trusted"])
                .env("TILLBELL_BANKS__FOLDER", &folder)
                .output()
                .unwrap();
            let told: serde_json::Value = serde_json::from_slice(&ingest.stdout).unwrap();
            assert_eq!(told["results"][0]["outcome"], "unreadable", "{told}");
            let alert = told["results"][0]["alert_id"].as_i64().unwrap().to_string();
            // It may die, or pass the point less often than it is armed for.
            here.command(&["alert", "reread", &alert]).env("TILLBELL_CRASH_AT", point).output().unwrap();
            here.command(&["alert", "reread", &alert]).output().unwrap();
            here.until_approved(&service, &id, point).await;
        }
        here.audit();
    }
}
