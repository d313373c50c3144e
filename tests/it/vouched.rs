//! Who else may vouch for a mail: a provider's Authentication-Results where the operator named the
//! provider, a person at the command line, this machine itself in development mode. And who may not.
//!
//! The scene is that of `forged`.

use std::sync::Arc;

use tillbell::domain::alert::{AlertRow, AlertStatus, Authenticity};
use tillbell::domain::time::Span;
use tillbell::mail_intake::ingest::{MailIngestor, Origin};
use tillbell::work::run_due_with;

use crate::forged::{MAILBOX, Scene, genuine};
use crate::harness::databases::TestDatabase;
use crate::harness::name_server::Say;
use crate::harness::signing::{Signer, record};
use crate::mailbox;

const ID: &str = "mx.till.example";
const KEY_NAME: &str = "mail._domainkey.gtbank.com";

fn named() -> Origin {
    Origin::Imap { authserv_id: Some(ID.into()) }
}

/// A mail that the provider checked, and changed, as some do.
fn rewritten() -> String {
    Signer::bank().sign(&genuine()).replace("<td>205</td>", "<td> 205 </td><!-- safe links -->")
}

/// A mailbox read late: the key of the bank's signatures is no longer in DNS.
async fn late(db: TestDatabase) -> Scene {
    let s = Scene::new(db).await;
    s.names.say(KEY_NAME, Say::Nothing);
    s
}

pub fn under(results: &str, mail: &str) -> String {
    format!(
        "Authentication-Results: {results}\r\nReceived: from mta.gtbank.com by {ID}; Tue, 10 Mar 2026 09:10:01 +0100\r\n{mail}"
    )
}

/// What programs write after their own name about a mail of the bank's, as seen in the wild.
const HONEST: [&str; 11] = [
    // OpenDKIM, alone and with its values quoted.
    ";\r\n\tdkim=pass (2048-bit key; unprotected) header.d=gtbank.com header.i=@gtbank.com header.a=rsa-sha256 \
     header.s=mail header.b=E/aDkM7K;\r\n\tdkim-atps=neutral",
    ";\r\n\tdkim=pass (2048-bit key, unprotected; insecure) header.d=gtbank.com header.i=@gtbank.com \
     header.b=\"UVb/ujt=\";\r\n\tdkim-atps=neutral",
    // OpenDKIM and OpenDMARC, each with a header of its own.
    ";\r\n\tdkim=pass (1024-bit key) header.d=gtbank.com header.i=@gtbank.com header.b=E+aDkM7K\r\n\
     Authentication-Results: mx.till.example; dmarc=pass (p=none dis=none) header.from=gtbank.com",
    // rspamd.
    ";\r\n\tdkim=pass header.d=gtbank.com header.s=mail header.b=W1tZq+35;\r\n\tspf=pass (mx.till.example: domain \
     of \"alerts+x=y@gtbank.com\" designates 2600:3c15:e001:75::12fc:5321 as permitted sender) \
     smtp.mailfrom=\"alerts+x=y@gtbank.com\";\r\n\tdmarc=pass (policy=quarantine) header.from=gtbank.com;\r\n\
     \tarc=pass (\"gtbank.com:s=arc-20240116:i=1\")",
    // Exim.
    ";\r\n\tiprev=pass (mta.gtbank.com) smtp.remote-ip=2001:db8::25;\r\n\tspf=pass smtp.mailfrom=gtbank.com;\r\n\
     \tdkim=pass header.d=gtbank.com header.s=mail header.a=rsa-sha256;\r\n\
     \tdmarc=pass header.from=gtbank.com;\r\n\tarc=none",
    // Authentication Milter (Fastmail, OVH).
    ";\r\n    x-csa=none;\r\n    x-me-sender=none;\r\n    x-ptr=pass smtp.helo=mta.gtbank.com\r\n      \
     policy.ptr=mta.gtbank.com;\r\n    bimi=none (No BIMI records found);\r\n    arc=none (no signatures found);\r\n    \
     dkim=pass (2048-bit rsa key sha256) header.d=gtbank.com\r\n      header.i=@gtbank.com header.b=ZMMr8Ob+ \
     header.a=rsa-sha256\r\n      header.s=mail;\r\n    dmarc=pass policy.published-domain-policy=reject\r\n      \
     policy.applied-disposition=none policy.evaluated-disposition=none\r\n      (p=reject,d=none,d.eval=none) \
     policy.policy-from=p\r\n      header.from=gtbank.com;\r\n    iprev=pass smtp.remote-ip=192.0.2.35 \
     (mta.gtbank.com);\r\n    spf=pass smtp.mailfrom=alerts@gtbank.com smtp.helo=mta.gtbank.com;\r\n    \
     x-return-mx=pass header.domain=gtbank.com policy.is_org=yes\r\n      (MX Records found: mx.gtbank.com);\r\n    \
     x-tls=pass smtp.version=TLSv1.3 smtp.cipher=TLS_AES_256_GCM_SHA384\r\n      smtp.bits=256/256",
    // Stalwart.
    ";\r\n\tdkim=pass header.d=gtbank.com header.s=mail header.b=E1aDkM7K;\r\n\tspf=pass (mx.till.example: domain of \
     gens@gtbank.com designates 192.0.2.35 as permitted sender) smtp.mailfrom=gens@gtbank.com smtp.helo=mta.gtbank.com;\
     \r\n\tiprev=pass policy.iprev=192.0.2.35;\r\n\tdmarc=pass header.from=gtbank.com policy.dmarc=reject",
    // With a reason and a version.
    " 1; dkim=pass reason=\"good signature\" header.d=gtbank.com; spf=pass reason=ok smtp.mailfrom=gtbank.com",
    // Two signatures, the second by the bank's mail service.
    "; dkim=pass (good) header.d=gtbank.com header.s=mail; dkim=fail (bad key) header.d=esp.example",
    // Every liberty that the standard leaves.
    " (a (nested \\) one)) (b); (c) dkim (d) / (e) 1 (f) = (g) pass (h) header (i) . (j) d (k) = (l) \"gt\\bank.com\" (m)",
    "\r\n\t;\r\n\tdkim=PASS\r\n\tHEADER.D=GTBank.com",
];

/// Headers that say nothing for the bank's signature: who is meant cannot be told.
const SILENT: [&str; 6] = [
    // Gmail and Yahoo write no header.d.
    "ID;\r\n       dkim=pass header.i=@gtbank.com header.s=mail header.b=OZ0hZtTz;\r\n       spf=pass (google.com: domain \
     of gens@gtbank.com designates 192.0.2.35 as permitted sender) smtp.mailfrom=gens@gtbank.com;\r\n       \
     dmarc=pass (p=REJECT sp=REJECT dis=NONE) header.from=gtbank.com",
    "ID;\r\n dkim=pass header.i=@gtbank.com header.s=mail;\r\n spf=pass smtp.mailfrom=gtbank.com;\r\n \
     dmarc=pass(p=REJECT) header.from=gtbank.com;",
    // Zoho writes no signer at all.
    "ID;\r\n\tdkim=pass;\r\n\tspf=pass (zohomail.com: domain of gtbank.com designates 192.0.2.35 as permitted sender)  \
     smtp.mailfrom=gens@gtbank.com;\r\n\tdmarc=pass(p=reject dis=none)  header.from=gtbank.com",
    // Exchange Online writes no name of its own, and properties that are none.
    "spf=pass (sender IP is 192.0.2.35)\r\n smtp.mailfrom=gtbank.com; dkim=pass (signature was verified)\r\n \
     header.d=gtbank.com;dmarc=pass action=none\r\n header.from=gtbank.com;compauth=pass reason=100",
    "ID; dkim=pass (signature was verified) header.d=gtbank.com;dmarc=pass action=none header.from=gtbank.com",
    // iCloud writes a header for each method, under several names.
    "bimi.ID; bimi=none\r\nAuthentication-Results: ID; dkim=pass (2048-bit key) header.d=gtbank.com header.i=@gtbank.com",
];

/// A vouched mail that came while the name server was in trouble, after it said `then`.
async fn after_trouble(db: TestDatabase, then: Say, other: &str) -> AlertRow {
    let mut s = Scene::new(db).await;
    let mut config = s.t.app.config.clone();
    config.mail.dns = vec![s.names.address];
    config.mail.imap = [ID, other]
        .map(|id| {
            mailbox::server(&format!(
                "[[mail.imap]]\nhost = \"mail.example\"\nuser = \"a\"\nauthserv_id = \"{id}\"\n"
            ))
        })
        .into();
    s.room = MailIngestor::new(&config, s.t.banks.clone());
    s.names.say(KEY_NAME, Say::ServFail);
    let pass = format!("{ID}; dkim=pass header.d=gtbank.com");
    let alert = s.take(under(&pass, &Signer::bank().sign(&genuine())), named()).await;
    assert_eq!((alert.status, alert.authenticity), (AlertStatus::Quarantined, Authenticity::Unproven));
    assert!(alert.reason.contains("waits for a name server"), "{}", alert.reason);
    s.names.say(KEY_NAME, then);
    s.t.advance(Span::minutes(2));
    run_due_with(&s.t.app, Some(Arc::new(s.room.clone()))).await.unwrap();
    let alert = s.alert(alert.id).await;
    assert_eq!(s.is_approved().await, alert.status == AlertStatus::Matched);
    s.t.audited().await;
    alert
}

on_both! {
    async fn a_named_providers_verdict_stands_in_for_a_key_that_has_left_dns(db: TestDatabase) {
        let s = late(db).await;
        let results = format!(
            "\"{}\" 1;\r\n\tspf=pass smtp.mailfrom=gtbank.com;\r\n\tdkim=pass (2048-bit key; unprotected) \
             header.d=GTBank.com header.i=@gtbank.com header.b=\"Ab/=\"; arc=none (none)",
            ID.to_uppercase()
        );
        let alert = s.take(under(&results, &rewritten()), named()).await;
        assert_eq!((alert.status, alert.authenticity), (AlertStatus::Matched, Authenticity::Proven), "{alert:?}");
        assert_eq!(alert.authentic_by.as_deref(), Some("authserv-id mx.till.example d=gtbank.com"));
    }

    async fn nobody_elses_verdict_credits(db: TestDatabase) {
        let s = late(db).await;
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
        not(below, named(), "below a Received header").await;
        for (said, why) in [
            (format!("{ID}; (dkim=pass header.d=gtbank.com)"), "does not follow RFC 8601"),
            (format!("{ID}; x=\"; dkim=pass header.d=gtbank.com\""), "does not follow RFC 8601"),
            (format!("{ID}; x=y z.a=\"; dkim=pass header.d=gtbank.com\""), "does not report a pass"),
            (format!("{ID}; dkim=pass header.i=@gtbank.com"), "does not report a pass"),
            (format!("{ID}; dkim=pass header.d=mail.gtbank.com"), "does not report a pass"),
            (format!("{ID}; spf=pass smtp.mailfrom=gtbank.com; dmarc=pass header.from=gtbank.com"), "does not report a pass"),
            (format!("{ID}; dkim=pass header.d=thief.example"), "signed by thief.example"),
            (format!("{ID}; dkim=none"), "dkim=none"),
            (format!("{ID}; dkim=pass header.d=gtbank.com; dmarc=fail"), "dmarc=fail"),
            (format!("{ID}; dkim=pass \"header.d=gtbank.com"), "cannot be parsed"),
        ] {
            not(under(&said, &rewritten()), named(), why).await;
        }
        // No signature at all, one that covers a part only, and a made-up one beside such a one.
        not(under(&pass, &genuine()), named(), "does not have").await;
        let partly = Signer { more: " l=40;".into(), ..Signer::bank() };
        not(under(&pass, &partly.sign(&genuine())), named(), "does not have").await;
        let made_up = "DKIM-Signature: v=1; a=rsa-sha256; d=gtbank.com; s=x; h=from; bh=AAAA; b=AAAA";
        not(under(&pass, &format!("{made_up}\r\n{}", partly.sign(&genuine()))), named(), "does not count").await;
        // ARC never credits; without a named provider nothing does; nor does it over SMTP.
        let arc = format!("ARC-Authentication-Results: i=1; {pass}\r\nARC-Seal: i=1; cv=none\r\n{}", rewritten());
        not(arc, named(), "no Authentication-Results").await;
        not(under(&pass, &rewritten()), MAILBOX, "not what was signed").await;
        not(under(&pass, &rewritten()), Origin::Smtp { from_loopback: false }, "not what was signed").await;
        not(under(&pass, &rewritten()), Origin::File { trusted: false }, "not what was signed").await;
    }

    async fn a_providers_word_overrides_nothing_that_we_find_ourselves(db: TestDatabase) {
        let pass = format!("{ID}; dkim=pass header.d=gtbank.com");
        let s = Scene::new(db).await;
        let false_by_our_key = s.take(under(&pass, &rewritten()), named()).await;
        assert_eq!(false_by_our_key.authenticity, Authenticity::Refuted, "{false_by_our_key:?}");
        assert!(false_by_our_key.reason.contains("not what was signed"), "{}", false_by_our_key.reason);
        // The thief's own key signs in the bank's name: false under the key in DNS.
        let forged = Signer { key: "thief", ..Signer::bank() }.sign(&genuine());
        let alert = s.take(under(&pass, &forged), named()).await;
        assert_eq!(alert.authenticity, Authenticity::Refuted, "{alert:?}");
        // A second signature whose key is gone does not help the one that is false.
        let old = Signer { selector: "old".into(), ..Signer::bank() };
        let alert = s.take(under(&pass, &old.sign(&forged)), named()).await;
        assert_eq!(alert.authenticity, Authenticity::Refuted, "{alert:?}");
        // A key that is there and may not be used has not left.
        let key = record("rsa2048").split_once("p=").unwrap().1.to_owned();
        for (selector, text) in [
            ("tests", format!("v=DKIM1; t=y; p={key}")),
            ("other", format!("v=DKIM1; s=tlsrpt; p={key}")),
            ("rubbish", "v=spf1 -all".to_owned()),
            ("half", format!("v=DKIM1; p={}", &key[..100])),
            ("long", "v=DKIM1; n=x ".repeat(700)),
        ] {
            s.names.say(&format!("{selector}._domainkey.gtbank.com"), Say::Cut(text));
            let signer = Signer { selector: selector.into(), ..Signer::bank() };
            let alert = s.take(under(&pass, &signer.sign(&genuine())), named()).await;
            assert_eq!(alert.status, AlertStatus::Quarantined, "{selector}: {alert:?}");
            assert!(alert.reason.contains("key"), "{selector}: {}", alert.reason);
        }
        // A signature of ours to check that is over stays over.
        let now = s.t.app.now();
        let over = Signer::bank().times(None, Some(now)).sign(&genuine());
        assert_eq!(s.take(under(&pass, &over), named()).await.status, AlertStatus::Quarantined);
        assert!(!s.is_approved().await);
        // A withdrawn key is one that has left.
        s.names.say("gone._domainkey.gtbank.com", Say::Text("v=DKIM1; p=".into()));
        let withdrawn = Signer { selector: "gone".into(), ..Signer::bank() }.sign(&genuine());
        let alert = s.take(under(&pass, &withdrawn), named()).await;
        assert_eq!((alert.status, alert.authenticity), (AlertStatus::Matched, Authenticity::Proven), "{alert:?}");
    }

    async fn a_vouched_mail_waits_for_a_name_server_in_trouble(db: TestDatabase) {
        let alert = after_trouble(db, Say::Nothing, ID).await;
        assert_eq!((alert.status, alert.authenticity), (AlertStatus::Matched, Authenticity::Proven), "{alert:?}");
    }

    async fn a_vouched_mail_that_waited_is_still_held_against_the_key(db: TestDatabase) {
        let alert = after_trouble(db, Say::Text(record("thief")), ID).await;
        assert_eq!((alert.status, alert.authenticity), (AlertStatus::Quarantined, Authenticity::Refuted), "{alert:?}");
    }

    async fn at_a_host_of_two_providers_nobody_is_heard_the_second_time(db: TestDatabase) {
        let alert = after_trouble(db, Say::Nothing, "mx.other.example").await;
        assert_eq!((alert.status, alert.authenticity), (AlertStatus::Quarantined, Authenticity::Unproven), "{alert:?}");
    }

    async fn what_the_provider_says_besides_counts_too(db: TestDatabase) {
        let s = late(db).await;
        let pass = "dkim=pass header.d=gtbank.com";
        for (said, why) in [
            (format!("{ID}; {pass}; dkim=fail header.d=gtbank.com header.s=mail"), "dkim=fail"),
            (format!("{ID}; {pass}; dkim=permerror (no key) header.d=gtbank.com"), "dkim=permerror"),
            (format!("{ID}; dkim=neutral header.i=@gtbank.com; {pass}"), "dkim=neutral"),
            (format!("{ID}; {pass}; dkim=none"), "dkim=none"),
            (format!("{ID}; {pass}; dmarc=none header.from=gtbank.com"), "dmarc=none"),
            (format!("{ID}; {pass}; dmarc=pass header.from=thief.example"), "dmarc=pass for thief.example"),
            (format!("{ID}; {pass}; dmarc=pass (p=none)"), "dmarc=pass for no domain"),
            (format!("{ID}; {pass} header.s=other"), "does not have"),
            (format!("{ID}; {pass} header.i=@thief.example"), "does not report a pass"),
            // In a second header of the provider's, still above everything a sender wrote.
            (format!("{ID}; {pass}\r\nAuthentication-Results: {ID}; dkim=permerror header.d=gtbank.com"), "permerror"),
            (format!("{ID}; {pass}\r\nAuthentication-Results: {ID}; dmarc=fail header.from=gtbank.com"), "dmarc=fail"),
            (format!("{ID}; {pass}\r\nAuthentication-Results: {ID} (x"), "cannot be parsed"),
        ] {
            let alert = s.take(under(&said, &Signer::bank().sign(&genuine())), named()).await;
            assert_eq!(alert.status, AlertStatus::Quarantined, "{said}: {alert:?}");
            assert!(alert.reason.contains(why), "{said}: {}", alert.reason);
        }
        // A stranger's signature that could be written into the provider's header as something else.
        let odd = "DKIM-Signature: v=1; a=rsa-sha256; d=gtbank.com header.s=mail.thief.example; s=x; h=from; bh=AAAA; b=AAAA";
        let mail = format!("{odd}\r\n{}", Signer::bank().sign(&genuine()));
        let alert = s.take(under(&format!("{ID}; {pass}"), &mail), named()).await;
        assert_eq!(alert.status, AlertStatus::Quarantined, "{alert:?}");
        assert!(!s.is_approved().await);
    }

    async fn the_headers_of_known_programs_are_understood(db: TestDatabase) {
        let s = late(db).await;
        for said in HONEST {
            let alert = s.take(under(&format!("{ID}{said}"), &Signer::bank().sign(&genuine())), named()).await;
            assert_eq!(alert.authenticity, Authenticity::Proven, "{said}: {}", alert.reason);
        }
        assert!(s.is_approved().await);
        // These name no signer, or nobody who speaks; no mail is believed for them.
        for said in SILENT {
            let alert = s.take(under(&said.replace("ID", ID), &Signer::bank().sign(&genuine())), named()).await;
            assert_eq!(alert.status, AlertStatus::Quarantined, "{said}: {alert:?}");
        }
    }

    async fn fields_count_only_if_every_signature_of_the_bank_covers_them(db: TestDatabase) {
        let s = Scene::with(db, &["alerts@till.example"]).await;
        s.names.say(KEY_NAME, Say::Nothing);
        let bare = Signer { fields: vec!["from", "date", "content-type"], ..Signer::bank() };
        let mail = bare.sign(&rewritten());
        let alert = s.take(under(&format!("{ID}; dkim=pass header.d=gtbank.com"), &mail), named()).await;
        assert_eq!(alert.status, AlertStatus::Review, "{alert:?}");
        assert!(alert.reason.contains("no signed To") && alert.subject.is_none() && alert.mailed_at.is_some());
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
        for (signer, why) in [(old, "DNS has no key"), (away, "could not be checked")] {
            let mail = signer.sign(&genuine()).replace("<td>205</td>", "<td> 205</td>");
            let alert = s.take(mail, trusted.clone()).await;
            assert_eq!(alert.authenticity, Authenticity::Trusted, "{why}: {alert:?}");
        }
        assert!(s.is_approved().await);
        // Signed by the bank and vouched for: the better of the two is recorded.
        let proven = s.take(Signer::bank().sign(&genuine()), trusted).await;
        assert_eq!(proven.authenticity, Authenticity::Proven);
    }

    async fn development_mode_trusts_smtp_from_this_machine_alone(db: TestDatabase) {
        let s = Scene::new(db).await;
        let strange = s.take(genuine(), Origin::Smtp { from_loopback: false }).await;
        assert_eq!(strange.status, AlertStatus::Quarantined);
        let mut config = s.t.app.config.clone();
        config.server.dev = false;
        config.mail.dns = vec![s.names.address];
        let real = Scene { room: MailIngestor::new(&config, s.t.banks.clone()), ..s };
        let earnest = real.take(genuine(), Origin::Smtp { from_loopback: true }).await;
        assert_eq!(earnest.status, AlertStatus::Quarantined);
        assert!(!real.is_approved().await);
        config.server.dev = true;
        let dev = Scene { room: MailIngestor::new(&config, real.t.banks.clone()), ..real };
        let local = dev.take(genuine(), Origin::Smtp { from_loopback: true }).await;
        assert_eq!((local.status, local.authenticity), (AlertStatus::Matched, Authenticity::Trusted));
    }

    async fn a_long_answer_is_fetched_again_over_tcp(db: TestDatabase) {
        let s = Scene::new(db).await;
        s.names.say(KEY_NAME, Say::Cut(record("rsa2048")));
        let alert = s.take(Signer::bank().sign(&genuine()), MAILBOX).await;
        assert_eq!(alert.status, AlertStatus::Matched, "{alert:?}");
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
    }
}
