//! What thieves send, and what comes of it: for each attack the outcome and that no payment was
//! approved; and the genuine mails beside them, which must go through.
//!
//! Keys come from a name server of the tests' own. Mails arrive as from a mailbox, so that nothing
//! but a proof makes them count.

use tillbell::clock::{Clock, SystemClock};
use tillbell::domain::alert::{AlertRow, AlertStatus, Authenticity};
use tillbell::domain::payment::{Payment, Status};
use tillbell::domain::time::Span;
use tillbell::mail_intake::ingest::{Arrival, MailIngestor, Origin, ingest};

use crate::harness::app::{ACCOUNT, LATER, START, TestApp, at, world};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;
use crate::harness::name_server::{NameServer, Say};
use crate::harness::signing::{self, Signer, record};

const KEY_NAME: &str = "mail._domainkey.gtbank.com";

/// A shop, its account, one open payment of 5,000 by Halima Garba, and a name server.
pub struct Scene {
    pub t: TestApp,
    pub payment: Payment,
    pub names: NameServer,
    pub room: MailIngestor,
}

pub const MAILBOX: Origin = Origin::Imap { authserv_id: None };

impl Scene {
    pub async fn new(db: TestDatabase) -> Scene {
        Scene::with(db, &[]).await
    }

    pub async fn with(db: TestDatabase, recipients: &[&str]) -> Scene {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        let names = NameServer::start().await;
        names.say(KEY_NAME, Say::Text(record("rsa2048")));
        let mut config = t.app.config.clone();
        config.mail.dns = vec![names.address];
        for one in recipients {
            // The number of an account may stand behind its address.
            let (address, account) = one.split_once(' ').map_or((*one, None), |(to, of)| (to, Some(of)));
            config.mail.recipients.push(address.to_owned());
            config.mail.of_accounts.extend(account.map(|number| (address.to_owned(), number.to_owned())));
        }
        let room = MailIngestor::new(&config, t.banks.clone());
        Scene { t, payment, names, room }
    }

    /// Takes a mail in and answers the alert as it then stands.
    pub async fn take(&self, mail: impl AsRef<[u8]>, origin: Origin) -> AlertRow {
        let raw = mail.as_ref().to_vec();
        let arrival = Arrival { raw, source: "imap mail.example/INBOX".into(), origin, in_mailbox: None };
        let id = ingest(&self.t.app, &self.room, arrival).await.unwrap().outcome.alert_id;
        self.alert(id).await
    }

    pub async fn alert(&self, id: i64) -> AlertRow {
        self.t.app.store.alert(id).await.unwrap().unwrap()
    }

    pub async fn is_approved(&self) -> bool {
        self.t.payment(&self.payment).await.status == Status::Approved
    }

    /// The mail approves the payment by itself.
    async fn goes_through(&self, mail: impl AsRef<[u8]>, origin: Origin) -> AlertRow {
        let alert = self.take(mail, origin).await;
        assert_eq!(alert.status, AlertStatus::Matched, "{alert:?}");
        assert!(self.is_approved().await);
        alert
    }

    /// The mail is quarantined for a reason that holds `why`, and approves nothing.
    async fn is_quarantined(&self, mail: impl AsRef<[u8]>, origin: Origin, why: &str) -> AlertRow {
        let alert = self.take(mail, origin).await;
        assert_eq!(alert.status, AlertStatus::Quarantined, "{why}: {alert:?}");
        assert!(alert.reason.contains(why), "{why}: {}", alert.reason);
        assert!(!self.is_approved().await, "{why}");
        assert!(!alert.authenticity.counts() && alert.authentic_by.is_none());
        alert
    }

    /// The mail goes to a person for a reason that holds `why`, and approves nothing.
    async fn goes_to_review(&self, mail: impl AsRef<[u8]>, origin: Origin, why: &str) -> AlertRow {
        let alert = self.take(mail, origin).await;
        assert_eq!(alert.status, AlertStatus::Review, "{why}: {alert:?}");
        assert!(alert.reason.contains(why), "{why}: {}", alert.reason);
        assert!(!self.is_approved().await, "{why}");
        alert
    }
}

/// The bank's alert of the money that the payment waits for.
pub fn genuine() -> String {
    Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()).text()
}

/// Signed, then changed.
fn changed(mail: &str, from: &str, to: &str) -> String {
    let out = mail.replacen(from, to, 1);
    assert_ne!(out, mail, "nothing was changed");
    out
}

on_both! {
    async fn a_mail_signed_by_the_bank_approves_by_itself(db: TestDatabase) {
        let s = Scene::new(db).await;
        let alert = s.goes_through(Signer::bank().sign(&genuine()), MAILBOX).await;
        assert_eq!(alert.authenticity, Authenticity::Proven);
        let by = alert.authentic_by.unwrap();
        assert!(by.starts_with("dkim d=gtbank.com s=mail key=sha256:") && by.len() == 100, "{by}");
        assert_eq!(s.names.asked(), [KEY_NAME]);
    }

    async fn a_replay_under_another_message_id_after_a_key_rotation_is_a_duplicate(db: TestDatabase) {
        let s = Scene::new(db).await;
        let mut signer = Signer::bank();
        signer.fields = vec!["from", "to", "subject", "date", "content-type"];
        let mail = signer.sign(&genuine());
        s.goes_through(&mail, MAILBOX).await;
        let (head, rest) = mail.split_once("Message-ID: ").unwrap();
        let replayed = format!("{head}Message-ID: <another@gens.example>\r\n{}", rest.split_once("\r\n").unwrap().1);
        let copy = s.take(&replayed, MAILBOX).await;
        assert_eq!(copy.status, AlertStatus::Duplicate, "{copy:?}");
        // The bank takes the key away; a fresh node asks DNS anew.
        s.names.say(KEY_NAME, Say::Nothing);
        let mut config = s.t.app.config.clone();
        config.mail.dns = vec![s.names.address];
        let room = MailIngestor::new(&config, s.t.banks.clone());
        let s = Scene { room, ..s };
        let late = s.take(&replayed, MAILBOX).await;
        assert_eq!(late.status, AlertStatus::Quarantined, "{late:?}");
    }

    async fn forged_and_altered_mails_are_quarantined(db: TestDatabase) {
        let s = Scene::new(db).await;
        let good = Signer::bank().sign(&genuine());
        s.is_quarantined(genuine(), MAILBOX, "has no DKIM signature").await;
        s.is_quarantined(changed(&good, "NGN 5000<", "NGN 5001<"), MAILBOX, "not what was signed").await;
        s.is_quarantined(changed(&good, "Subject: T", "Subject: t"), MAILBOX, "fails").await;
        s.is_quarantined(format!("From: gens@gtbank.com\r\n{good}"), MAILBOX, "several From").await;
        s.is_quarantined(changed(&good, "From: GeNS@gtbank.com", "From: GeNS@gtbank.com, x@thief.example"), MAILBOX, "several From").await;
        s.is_quarantined(format!("Subject: Credit\r\n{good}"), MAILBOX, "several Subject").await;
        s.is_quarantined(format!("Date: Tue, 10 Mar 2026 10:11:00 +0100\r\n{good}"), MAILBOX, "several Date").await;
        s.is_quarantined(format!("Content-Type: text/plain\r\n{good}"), MAILBOX, "several Content-Type").await;
        s.is_quarantined(format!("To: x@thief.example\r\n{good}"), MAILBOX, "several To").await;
        s.is_quarantined(format!("X-A\0b: c\r\n{good}"), MAILBOX, "NUL").await;
        let fwd = good.replace("From: GeNS@gtbank.com", "From: owner@till.example");
        s.is_quarantined(fwd, MAILBOX, "is not a known bank's address").await;
        let by_hand = format!(
            "From: Owner <gens@gtbank.com>\r\nTo: a@till.example\r\nSubject: Fwd: alert\r\nMessage-ID: <1@a>\r\n\
             Content-Type: text/html\r\n\r\n<p>---------- Forwarded message ---------</p><p>From: &lt;GeNS@gtbank.com&gt;</p>\
             <p>Date: Tue</p><p>Subject: x</p><p>To: a@till.example</p>{}",
            genuine().split_once("\r\n\r\n").unwrap().1
        );
        s.is_quarantined(Signer::bank().sign(&by_hand), MAILBOX, "forwarded by hand").await;
    }

    async fn how_the_content_is_to_be_read_must_be_signed_too(db: TestDatabase) {
        let s = Scene::new(db).await;
        let bare = Signer { fields: vec!["from", "to", "subject", "date", "message-id"], ..Signer::bank() };
        s.goes_to_review(bare.sign(&genuine()), MAILBOX, "how the content is read").await;
        let encoded = format!("Content-Transfer-Encoding: quoted-printable\r\n{}", Signer::bank().sign(&genuine()));
        s.goes_to_review(encoded, MAILBOX, "how the content is read").await;
        let plain = format!("Content-Transfer-Encoding: 8bit\r\n{}", Signer::bank().sign(&genuine()));
        assert!(!s.take(plain, MAILBOX).await.reason.contains("how the content"));
    }

    async fn a_message_id_that_nobody_signed_makes_no_copy(db: TestDatabase) {
        let s = Scene::new(db).await;
        let victim = Alert::credit(ACCOUNT, 5_000, "Halima Garba", at());
        let mut mine = Alert::credit("0123459999", 5_000, "Halima Garba", at());
        mine.message_id = victim.message_id.clone();
        let unsigned_id = Signer { fields: vec!["from", "to", "subject", "date", "content-type"], ..Signer::bank() };
        let first = s.take(unsigned_id.sign(&mine.text()), MAILBOX).await;
        assert!(first.account_id.is_none() && first.message_id.is_none(), "{first:?}");
        s.goes_through(Signer::bank().sign(&victim.text()), MAILBOX).await;
    }

    async fn strangers_signatures_prove_nothing(db: TestDatabase) {
        let s = Scene::new(db).await;
        s.names.say("mail._domainkey.thief.example", Say::Text(record("thief")));
        s.names.say("mail._domainkey.mail.gtbank.com", Say::Text(record("thief")));
        s.names.say("mail._domainkey.gtbank.com.thief.example", Say::Text(record("thief")));
        for domain in ["thief.example", "mail.gtbank.com", "gtbank.com.thief.example", "com", "kuda.com"] {
            let signer = Signer { key: "thief", domain: domain.into(), ..Signer::bank() };
            s.is_quarantined(signer.sign(&genuine()), MAILBOX, "may not sign for gens@gtbank.com").await;
        }
        // Nobody's name server but the bank's is asked.
        assert!(s.names.asked().is_empty(), "{:?}", s.names.asked());
        let signer = Signer { key: "thief", ..Signer::bank() };
        s.is_quarantined(signer.sign(&genuine()), MAILBOX, "fails").await;
        for domain in ["gtbank.com.thief.example", "totally-not-gtbank.com", "gtbank.co", "xgtbank.com"] {
            s.names.say(&format!("mail._domainkey.{domain}"), Say::Text(record("thief")));
            let mail = genuine().replace("GeNS@gtbank.com", &format!("GeNS@{domain}"));
            let signer = Signer { key: "thief", domain: domain.into(), ..Signer::bank() };
            s.is_quarantined(signer.sign(&mail), MAILBOX, domain).await;
        }
        // Two domains of one bank: neither speaks for addresses of the other.
        s.names.say("mail._domainkey.wemabank.com", Say::Text(record("rsa2048")));
        let mail = genuine().replace("GeNS@gtbank.com", "no-reply@alat.ng");
        let signer = Signer { domain: "wemabank.com".into(), ..Signer::bank() };
        let alert = s.take(signer.sign(&mail), MAILBOX).await;
        assert!(!alert.authenticity.counts() && alert.authentic_by.is_none(), "{alert:?}");
        assert!(alert.reason.contains("may not sign for no-reply@alat.ng"), "{}", alert.reason);
    }

    async fn a_domain_signs_for_the_addresses_below_it(db: TestDatabase) {
        let s = Scene::new(db).await;
        s.names.say("mail._domainkey.kuda.com", Say::Text(record("rsa2048")));
        let signer = Signer { domain: "kuda.com".into(), ..Signer::bank() };
        let below = genuine().replace("GeNS@gtbank.com", "hello@news.kuda.com");
        let alert = s.take(signer.sign(&below), MAILBOX).await;
        assert_eq!(alert.authenticity, Authenticity::Proven, "{alert:?}");
        assert!(!s.is_approved().await);
    }

    async fn weak_and_bent_signatures_prove_nothing(db: TestDatabase) {
        let s = Scene::new(db).await;
        let bank = Signer::bank;
        let more = |more: &str| Signer { more: more.into(), ..bank() };
        let now = s.t.clock.now();
        s.is_quarantined(more(" l=40;").sign(&genuine()), MAILBOX, "l=").await;
        s.is_quarantined(more(" l=0;").sign(&genuine()), MAILBOX, "l=").await;
        let sha1 = Signer { algorithm: "rsa-sha1", ..bank() };
        s.is_quarantined(sha1.sign(&genuine()), MAILBOX, "SHA-1").await;
        let blind = Signer { fields: vec!["to", "subject", "date", "content-type"], ..bank() };
        s.is_quarantined(blind.sign(&genuine()), MAILBOX, "does not cover From").await;
        s.is_quarantined(bank().times(None, Some(now)).sign(&genuine()), MAILBOX, "expired").await;
        let future = bank().times(Some(now + Span::minutes(6)), None);
        s.is_quarantined(future.sign(&genuine()), MAILBOX, "future").await;
        let backwards = bank().times(Some(now + Span::minutes(4)), Some(now + Span::minutes(3)));
        s.is_quarantined(backwards.sign(&genuine()), MAILBOX, "before it was made").await;
        s.is_quarantined(more(" d=thief.example;").sign(&genuine()), MAILBOX, "twice").await;
        s.is_quarantined(more(" q=http;").sign(&genuine()), MAILBOX, "does not allow a DNS lookup").await;
        s.is_quarantined(more(" i=x@thief.example;").sign(&genuine()), MAILBOX, "another domain").await;
        for selector in ["ma%il", "mail.", "mäil"] {
            let signer = Signer { selector: selector.into(), ..bank() };
            s.is_quarantined(signer.sign(&genuine()), MAILBOX, "").await;
        }
        let nul = bank().sign(&genuine()).replacen("s=mail", "s=mail\0x", 1);
        s.is_quarantined(nul, MAILBOX, "NUL").await;
        let five = "DKIM-Signature: v=1; a=rsa-sha256; d=thief.example; s=x; h=from; bh=AAAA; b=AAAA\r\n".repeat(5);
        s.is_quarantined(format!("{five}{}", bank().sign(&genuine())), MAILBOX, "only the first 5").await;
        assert_eq!(s.names.asked(), [KEY_NAME]);
    }

    async fn keys_that_may_not_be_used_prove_nothing(db: TestDatabase) {
        let s = Scene::new(db).await;
        let good = record("rsa2048");
        let key = good.split_once("p=").unwrap().1.to_owned();
        let cases = [
            ("revoked", "v=DKIM1; p=".to_owned(), "revoked"),
            ("tests", format!("v=DKIM1; t=s:y; p={key}"), "a test key"),
            ("sha1", format!("v=DKIM1; h=sha1; p={key}"), "may not be used"),
            ("other", format!("v=DKIM1; s=tlsrpt; p={key}"), "may not be used"),
            ("v2", format!("v=DKIM2; p={key}"), "unknown version"),
            ("rubbish", "v=spf1 -all".to_owned(), "not a DKIM key"),
            ("half", format!("v=DKIM1; p={}", &key[..100]), "key"),
        ];
        for (selector, text, why) in cases {
            s.names.say(&format!("{selector}._domainkey.gtbank.com"), Say::Text(text));
            let signer = Signer { selector: selector.into(), ..Signer::bank() };
            s.is_quarantined(signer.sign(&genuine()), MAILBOX, why).await;
        }
        for (selector, said) in [("gone", Say::Nothing), ("never", Say::Nothing)] {
            s.names.say(&format!("{selector}._domainkey.gtbank.com"), said);
            let signer = Signer { selector: selector.into(), ..Signer::bank() };
            s.is_quarantined(signer.sign(&genuine()), MAILBOX, "DNS has no key").await;
        }
        for bits in ["rsa512", "rsa768"] {
            s.names.say(KEY_NAME, Say::Text(record(bits)));
            let mut config = s.t.app.config.clone();
            config.mail.dns = vec![s.names.address];
            let fresh = MailIngestor::new(&config, s.t.banks.clone());
            let shop = &s.t.app;
            shop_clock_to_now(&s);
            let raw = signing::by_dkimpy(&genuine(), bits).into_bytes();
            let arrival = Arrival { raw, source: "test".into(), origin: MAILBOX, in_mailbox: None };
            let alert = s.alert(ingest(shop, &fresh, arrival).await.unwrap().outcome.alert_id).await;
            assert_eq!(alert.status, AlertStatus::Quarantined);
            assert!(alert.reason.contains("shorter than 1024"), "{}", alert.reason);
        }
    }

    async fn signatures_of_three_other_hands_are_verified(db: TestDatabase) {
        let s = Scene::new(db).await;
        // These signers write the present time.
        shop_clock_to_now(&s);
        let opendkim = std::fs::read(signing::key_file("opendkim.eml")).unwrap();
        let opendkim_crlf = String::from_utf8(opendkim.clone()).unwrap().replace('\n', "\r\n").into_bytes();
        for (by, mail) in [
            ("mail-auth", signing::by_mail_auth(&genuine()).into_bytes()),
            ("dkimpy", signing::by_dkimpy(&genuine(), "rsa2048").into_bytes()),
            ("opendkim", opendkim),
            ("opendkim", opendkim_crlf),
        ] {
            let alert = s.take(&mail, MAILBOX).await;
            assert_eq!(alert.authenticity, Authenticity::Proven, "{by}: {}", alert.reason);
            let text = String::from_utf8(mail).unwrap();
            let altered = s.take(changed(&text, "NGN 5000<", "NGN 5001<"), MAILBOX).await;
            assert_eq!(altered.authenticity, Authenticity::Refuted, "{by}: {}", altered.reason);
            assert!(altered.reason.contains("not what was signed"), "{by}: {}", altered.reason);
        }
        // What opendkim-testmsg signs is SHA-1.
        let alert = s.take(signing::by_opendkim(&genuine()), MAILBOX).await;
        assert!(alert.reason.contains("SHA-1"), "{}", alert.reason);
    }

    async fn what_is_not_signed_is_not_read(db: TestDatabase) {
        let s = Scene::with(db, &["alerts@till.example"]).await;
        let bare = Signer { fields: vec!["from", "content-type"], ..Signer::bank() };
        let mail = bare.sign(&genuine());
        let alert = s.goes_to_review(&mail, MAILBOX, "no signed To").await;
        assert_eq!((alert.authenticity, alert.subject, alert.mailed_at), (Authenticity::Proven, None, None));
        // Subject and Date may be changed by anybody, and make no other mail of it.
        let other = changed(&mail, "Date: Tue, 10 Mar 2026 09", "Date: Wed, 11 Mar 2026 11");
        let other = changed(&other, "Subject: T", "Subject: Fresh t").replacen("gens.example", "x.example", 1);
        let copy = s.take(other, MAILBOX).await;
        assert_eq!(copy.status, AlertStatus::Duplicate, "{copy:?}");
    }

    async fn genuine_mails_about_others_money_go_to_a_person(db: TestDatabase) {
        let s = Scene::with(db, &["alerts@till.example"]).await;
        let to_other = genuine().replace("To: alerts@till.example", "To: owner@thief.example");
        s.goes_to_review(Signer::bank().sign(&to_other), MAILBOX, "owner@thief.example").await;
        let elsewhere = Alert::credit("0123459999", 5_000, "Halima Garba", at()).text();
        s.goes_to_review(Signer::bank().sign(&elsewhere), MAILBOX, "no registered account").await;
        let holder = Alert { holder: "PETER OBI".into(), ..Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()) };
        s.goes_to_review(Signer::bank().sign(&holder.text()), MAILBOX, "account holder").await;
        let sender = genuine().replace("GeNS@gtbank.com", "careers@gtbank.com");
        s.goes_to_review(Signer::bank().sign(&sender), MAILBOX, "known senders").await;
        s.goes_through(Signer::bank().sign(&genuine()), MAILBOX).await;
    }

    async fn an_account_that_looks_like_ours_has_not_the_address_of_its_alerts(db: TestDatabase) {
        let own = format!("alerts-7f3k@till.example {ACCOUNT}");
        let s = Scene::with(db, &["alerts@till.example", &own, "alerts-9z@till.example 0123450000"]).await;
        let to = |address: &str| Signer::bank().sign(&genuine().replace("alerts@till.example", address));
        for address in ["alerts@till.example", "alerts-9z@till.example"] {
            let told = s.goes_to_review(to(address), MAILBOX, "see mail.recipients").await;
            assert!(!told.reason.contains("7f3k"), "the address is a secret: {told:?}");
        }
        s.goes_through(to("alerts-7f3k@till.example"), MAILBOX).await;
    }
}

/// Moves the world's clock to the machine's present.
fn shop_clock_to_now(s: &Scene) {
    s.t.advance(SystemClock.now().since(s.t.clock.now()));
    assert!(s.t.clock.now() > START);
}
