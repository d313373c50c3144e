//! Who else may vouch for a mail: a provider's Authentication-Results where the operator named the
//! provider, a person at the command line, this machine itself in development mode. And who may not.
//!
//! The scene is that of `forged`.

use tillbell::domain::alert::{AlertStatus, Authenticity};
use tillbell::mail::intake::{MailRoom, Origin};

use crate::forged::{MAILBOX, Scene, genuine};
use crate::harness::name_server::Say;
use crate::harness::signing::{Signer, record};

const ID: &str = "mx.till.example";
const KEY_NAME: &str = "mail._domainkey.gtbank.com";

fn named() -> Origin {
    Origin::Imap { authserv_id: Some(ID.into()) }
}

/// A mail that the provider checked and then changed, as some do, so that we cannot check it.
fn rewritten() -> String {
    Signer::bank().sign(&genuine()).replace("<td>205</td>", "<td> 205 </td><!-- safe links -->")
}

fn under(results: &str, mail: &str) -> String {
    format!(
        "Authentication-Results: {results}\r\nReceived: from mta.gtbank.com by {ID}; Tue, 10 Mar 2026 09:10:01 +0100\r\n{mail}"
    )
}

on_both! {
    async fn a_named_providers_verdict_stands_in_for_a_signature_it_checked(db: TestDatabase) {
        let s = Scene::new(db).await;
        let results = format!(
            "\"{}\" 1;\r\n\tspf=pass smtp.mailfrom=gtbank.com;\r\n\tdkim=pass (2048-bit key; unprotected) \
             header.d=GTBank.com header.i=@gtbank.com header.b=\"Ab/=\"; arc=none",
            ID.to_uppercase()
        );
        let alert = s.take(under(&results, &rewritten()), named()).await;
        assert_eq!((alert.status, alert.authenticity), (AlertStatus::Matched, Authenticity::Proven), "{alert:?}");
        assert_eq!(alert.authentic_by.as_deref(), Some("authserv-id mx.till.example d=gtbank.com"));
        s.t.finish().await;
    }

    async fn nobody_elses_verdict_credits(db: TestDatabase) {
        let s = Scene::new(db).await;
        let pass = format!("{ID}; dkim=pass header.d=gtbank.com");
        let other = "mx.thief.example; dkim=pass header.d=gtbank.com";
        let not = async |mail: String, origin: Origin, why: &str| {
            let alert = s.take(&mail, origin).await;
            assert_eq!(alert.status, AlertStatus::Quarantined, "{why}: {alert:?}");
            assert!(alert.reason.contains(why), "{why}: {}", alert.reason);
            assert!(!s.is_approved().await, "{why}");
        };
        not(under(other, &rewritten()), named(), "not by mx.till.example").await;
        not(under(&format!("{ID}.thief.example; dkim=pass header.d=gtbank.com"), &rewritten()), named(), "not by").await;
        // The right one under a forged one, and the right one written by the sender.
        not(format!("Authentication-Results: {other}\r\n{}", under(&pass, &rewritten())), named(), "not by").await;
        let below = format!("Received: from thief by {ID}\r\nAuthentication-Results: {pass}\r\n{}", rewritten());
        not(below, named(), "below a Received line").await;
        for (said, why) in [
            (format!("{ID}; (dkim=pass header.d=gtbank.com)"), "does not say"),
            (format!("{ID}; x=\"; dkim=pass header.d=gtbank.com\""), "does not say"),
            (format!("{ID}; dkim=pass header.i=@gtbank.com"), "does not say"),
            (format!("{ID}; dkim=pass header.d=mail.gtbank.com"), "does not say"),
            (format!("{ID}; spf=pass smtp.mailfrom=gtbank.com; dmarc=pass header.from=gtbank.com"), "does not say"),
            (format!("{ID}; dkim=pass header.d=thief.example"), "signed by thief.example"),
            (format!("{ID}; dkim=none"), "dkim=none"),
            (format!("{ID}; dkim=pass header.d=gtbank.com; dmarc=fail"), "dmarc=fail"),
            (format!("{ID}; dkim=pass \"header.d=gtbank.com"), "cannot be read"),
        ] {
            not(under(&said, &rewritten()), named(), why).await;
        }
        // No signature at all, one that covers a part only, and a made-up one beside such a one.
        not(under(&pass, &genuine()), named(), "not there").await;
        let partly = Signer { more: " l=40;".into(), ..Signer::bank() };
        not(under(&pass, &partly.sign(&genuine())), named(), "not there").await;
        let made_up = "DKIM-Signature: v=1; a=rsa-sha256; d=gtbank.com; s=x; h=from; bh=AAAA; b=AAAA";
        not(under(&pass, &format!("{made_up}\r\n{}", partly.sign(&genuine()))), named(), "does not count").await;
        // ARC never credits; without a named provider nothing does; nor does it over SMTP.
        let arc = format!("ARC-Authentication-Results: i=1; {pass}\r\nARC-Seal: i=1; cv=none\r\n{}", rewritten());
        not(arc, named(), "no Authentication-Results").await;
        not(under(&pass, &rewritten()), MAILBOX, "not what was signed").await;
        not(under(&pass, &rewritten()), Origin::Smtp { from_loopback: false }, "not what was signed").await;
        not(under(&pass, &rewritten()), Origin::File { trusted: false }, "not what was signed").await;
        s.t.finish().await;
    }

    async fn fields_count_only_if_every_signature_of_the_bank_covers_them(db: TestDatabase) {
        let s = Scene::with(db, &["alerts@till.example"]).await;
        let bare = Signer { fields: vec!["from", "date", "content-type"], ..Signer::bank() };
        let mail = bare.sign(&rewritten());
        let alert = s.take(under(&format!("{ID}; dkim=pass header.d=gtbank.com"), &mail), named()).await;
        assert_eq!(alert.status, AlertStatus::Review, "{alert:?}");
        assert!(alert.reason.contains("no signed To") && alert.subject.is_none() && alert.mailed_at.is_some());
        s.t.finish().await;
    }

    async fn a_persons_word_replaces_a_proof_but_not_a_signature_that_fails(db: TestDatabase) {
        let s = Scene::new(db).await;
        let trusted = Origin::File { trusted: true };
        let altered = s.take(rewritten(), trusted.clone()).await;
        assert_eq!((altered.status, altered.authenticity), (AlertStatus::Quarantined, Authenticity::Refuted));
        assert!(altered.reason.contains("not what was signed"), "{}", altered.reason);
        assert!(!s.is_approved().await);
        // A key that is gone, or cannot be had, says nothing against an old mail.
        let old = Signer { selector: "old".into(), ..Signer::bank() };
        let away = Signer { selector: "away".into(), ..Signer::bank() };
        s.names.say("away._domainkey.gtbank.com", Say::ServFail);
        for (signer, why) in [(old, "DNS holds no key"), (away, "could not be checked")] {
            let mail = signer.sign(&genuine()).replace("<td>205</td>", "<td> 205</td>");
            let alert = s.take(mail, trusted.clone()).await;
            assert_eq!(alert.authenticity, Authenticity::Trusted, "{why}: {alert:?}");
        }
        assert!(s.is_approved().await);
        // Signed by the bank and vouched for: the better of the two is recorded.
        let proven = s.take(Signer::bank().sign(&genuine()), trusted).await;
        assert_eq!(proven.authenticity, Authenticity::Proven);
        s.t.finish().await;
    }

    async fn development_mode_trusts_smtp_from_this_machine_alone(db: TestDatabase) {
        let s = Scene::new(db).await;
        let strange = s.take(genuine(), Origin::Smtp { from_loopback: false }).await;
        assert_eq!(strange.status, AlertStatus::Quarantined);
        let mut config = s.t.app.config.clone();
        config.server.dev = false;
        config.mail.dns = vec![s.names.address];
        let real = Scene { room: MailRoom::new(&config, s.t.banks.clone()), ..s };
        let earnest = real.take(genuine(), Origin::Smtp { from_loopback: true }).await;
        assert_eq!(earnest.status, AlertStatus::Quarantined);
        assert!(!real.is_approved().await);
        config.server.dev = true;
        let dev = Scene { room: MailRoom::new(&config, real.t.banks.clone()), ..real };
        let local = dev.take(genuine(), Origin::Smtp { from_loopback: true }).await;
        assert_eq!((local.status, local.authenticity), (AlertStatus::Matched, Authenticity::Trusted));
        dev.t.finish().await;
    }

    async fn a_long_answer_is_fetched_again_over_tcp(db: TestDatabase) {
        let s = Scene::new(db).await;
        s.names.say(KEY_NAME, Say::Cut(record("rsa2048")));
        let alert = s.take(Signer::bank().sign(&genuine()), MAILBOX).await;
        assert_eq!(alert.status, AlertStatus::Matched, "{alert:?}");
        s.t.finish().await;
    }

    async fn many_files_do_not_each_wait_for_a_silent_name_server(db: TestDatabase) {
        let s = Scene::new(db).await;
        s.names.say(KEY_NAME, Say::Silence);
        let trusted = Origin::File { trusted: true };
        s.take(Signer::bank().sign(&genuine()), trusted.clone()).await;
        let asked = s.names.asked().len();
        for _ in 0..20 {
            s.take(Signer::bank().sign(&genuine()), trusted.clone()).await;
        }
        assert_eq!(s.names.asked().len(), asked);
        s.t.finish().await;
    }
}
