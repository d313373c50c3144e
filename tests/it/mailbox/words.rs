//! A provider's Authentication-Results as thieves would have them: forged mails over IMAP, in a mailbox
//! whose provider's authserv-id is named.
//!
//! In each mail are a made-up signature of the bank's and a valid one of the thief's, which the
//! provider checked and wrote down as the thief chose. Each comes twice: with a key that the bank
//! publishes, and with one that DNS does not hold.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::payment::Status;

use super::{Reading, fast, mail, server, until_alerts};
use crate::harness::app::{ACCOUNT, LATER, TestApp};
use crate::harness::imap_server::{FakeServer, Folder};
use crate::harness::name_server::{NameServer, Say};
use crate::harness::signing::{Signer, record};

const ID: &str = "mx.till.example";

/// What follows the provider's name in its topmost header.
const FORGED: [&str; 20] = [
    // One domain that reads as another's.
    "; dkim=pass header.d=gtbank.com(x).thief.example",
    "; dkim=pass header.d=\"gtbank.com\".thief.example",
    "; dkim=pass header.d=gtbank.com .thief.example",
    "; dkim=pass header.d=gtbank.com\r\n .thief.example header.s=mail",
    "; dkim=pass header.d=gtbank.com,thief.example",
    "; dkim=pass header.d=gtbank.com;.thief.example",
    "; dkim=pass header.d=gtbank.com(x)header.b=y.thief.example",
    "; dkim=pass header.d=gtbank.com header.s=y.thief.example",
    "; dkim=pass header.d=gtbank.com header.i=@thief.example",
    // One property twice, or one of another method.
    "; dkim=pass header.d=gtbank.com header.d=thief.example",
    "; dkim=pass header.d=thief.example header.i=@thief.example header.d=gtbank.com",
    "; dkim=pass header.d=gtbank.com smtp.helo=thief.example",
    "; dkim=pass header.d=gtbank.com and nothing else",
    // Out of a comment in which the provider repeats the HELO.
    "; spf=pass (sender SPF authorized; helo=x); dkim=pass header.d=gtbank.com (y) smtp.mailfrom=thief.example",
    "; spf=none (helo=x); dkim=pass header.d=gtbank.com); dkim=pass header.d=thief.example",
    "; dkim=pass header.d=thief.example; spf=none (helo=x) smtp.helo=x; dkim=pass header.d=gtbank.com (y",
    "; spf=none (helo=(x) smtp.helo=y; dkim=pass header.d=gtbank.com",
    // Beside the provider's own finding.
    "; spf=pass (helo=x) smtp.helo=x; dkim=pass header.d=gtbank.com; dkim=fail header.d=gtbank.com; \
     dkim=pass header.d=thief.example",
    "; spf=pass (helo=x) smtp.helo=x; dkim=pass header.d=gtbank.com; dmarc=none (p=none) header.from=gtbank.com",
    "; spf=pass (helo=x) smtp.helo=x; dkim=pass header.d=gtbank.com\r\n\
     Authentication-Results: mx.till.example; dkim=permerror (no key) header.d=gtbank.com; \
     dkim=pass header.d=thief.example",
];

/// The smuggled finding as the grammar has it, with nothing beside it.
const FLAWLESS: &str =
    "; spf=pass (helo=x); dkim=pass header.d=gtbank.com; spf=none (y) smtp.mailfrom=thief.example";

fn under(results: &str, mail: &str) -> String {
    format!(
        "Authentication-Results: {ID}{results}\r\nReceived: from x by {ID}; Tue, 10 Mar 2026 09:10:01 +0100\r\n{mail}"
    )
}

fn forged(selector: &str) -> String {
    let of_the_bank = Signer { key: "thief", selector: selector.into(), ..Signer::bank() };
    let of_the_thief = Signer { key: "thief", domain: "thief.example".into(), ..Signer::bank() };
    of_the_thief.sign(&of_the_bank.sign(&mail(5_000)))
}

on_both! {
    async fn no_bent_verdict_credits(db: TestDatabase) {
        let names = NameServer::start().await;
        names.say("mail._domainkey.gtbank.com", Say::Text(record("rsa2048")));
        names.say("mail._domainkey.thief.example", Say::Text(record("thief")));
        let t = TestApp::start_with(db, &format!("[server]\ndev = true\n[mail]\ndns = \"{}\"\n", names.address)).await;
        let merchant = t.merchant("adire.example").await;
        t.account(ACCOUNT).await;
        let payment = t.create(&merchant, 5_000, "Halima Garba").await;
        t.advance(LATER);
        let fake = FakeServer::start(Folder::default()).await;
        let configured = format!("{}authserv_id = \"{ID}\"\n", fake.configured());
        let mut sent = Vec::new();
        for said in FORGED {
            sent.push((said, under(said, &forged("mail"))));
            sent.push((said, under(said, &forged("gone"))));
        }
        sent.push((FLAWLESS, under(FLAWLESS, &forged("mail"))));
        for (_, text) in &sent {
            fake.folder().add(text);
        }
        let _reading = Reading::start(&t.app, &t, &server(&configured), fast());
        for alert in until_alerts(&t.app, sent.len()).await {
            let uid: usize = alert.source.rsplit(' ').next().unwrap().parse().unwrap();
            assert_eq!(alert.status, AlertStatus::Quarantined, "{}: {}", sent[uid - 1].0, alert.reason);
        }
        assert_eq!(t.payment(&payment).await.status, Status::Pending);
        // The bank's own mail, read after its key is gone, with an honest verdict.
        let old = Signer { selector: "gone".into(), ..Signer::bank() };
        fake.folder().add(&under("; dkim=pass header.d=gtbank.com header.s=gone", &old.sign(&mail(5_000))));
        until_alerts(&t.app, sent.len() + 1).await;
        super::until("the approval", || async {
            (t.payment(&payment).await.status == Status::Approved).then_some(())
        })
        .await;
    }
}
