//! The connection is cut after every single byte of an exchange, in either direction: both mails are
//! there once afterwards.

use futures_util::StreamExt;
use tillbell::store::tables::mailboxes::MailboxKey;

use super::{Reading, fast, server, until};
use crate::harness::app::{LATER, TestApp, world};
use crate::harness::imap_server::{FakeServer, Folder};

/// Cuts that are tried side by side.
const AT_ONCE: usize = 32;

/// Reads a folder of two mails whose first connection is cut; answers the bytes that were exchanged, and
/// whether it had to connect again.
async fn read_through(
    t: &TestApp,
    mails: &[String; 2],
    cut: (Option<usize>, Option<usize>),
) -> (usize, usize, bool) {
    let mut folder = Folder { cut_out: cut.0, cut_in: cut.1, ..Folder::default() };
    for mail in mails {
        folder.add(mail);
    }
    let fake = FakeServer::start(folder).await;
    // Ports come again; a login of its own makes it a mailbox of its own.
    let login = format!("till{}-{}", cut.0.unwrap_or(0), cut.1.unwrap_or(0));
    let text = fake.configured().replace("\"till\"", &format!("{login:?}"));
    let server = server(&text);
    let key = MailboxKey { host: server.host.clone(), port: server.port, login, folder: "INBOX".into() };
    let reading = Reading::start(&t.app, t, &server, fast());
    let row = until(&format!("both mails after {cut:?}"), || async {
        let row = t.app.store.mailbox_by_key(&key).await.unwrap();
        row.filter(|row| row.last_uid == 2 && row.last_read_at.0 > 0)
    })
    .await;
    let taken = t.app.store.taken_mails(row.id, row.generation, (0, 100)).await.unwrap();
    assert_eq!(taken.len(), 2, "{cut:?}");
    reading.end().await;
    let folder = fake.folder();
    (folder.sent, folder.read, folder.connections > 1)
}

on_both! {
    async fn cut_after_every_byte(db: TestDatabase) {
        let (t, _) = world(db).await;
        t.advance(LATER);
        // Short ones: it is the talk that is cut, and every byte costs a reading.
        let short = |n| format!("From: GeNS@gtbank.com\r\nMessage-ID: <{n}@x>\r\n\r\nHi {n}\r\n");
        let mails = [short(1), short(2)];
        let (sent, read, _) = read_through(&t, &mails, (None, None)).await;
        assert!(sent > 500 && read > 150, "{sent} {read}");
        // The end of the whole exchange may differ by the IDLE that is under way.
        let cuts = (1..sent).map(|n| (Some(n), None)).chain((1..read).map(|n| (None, Some(n))));
        let cuts: Vec<_> = cuts.collect();
        let tried: Vec<_> = futures_util::stream::iter(cuts.iter().copied())
            .map(|cut| read_through(&t, &mails, cut))
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        // The last bytes are those of an IDLE, which a reading that ends in time does not come to; on a slow
        // machine the first exchange had more of them.
        let again = tried.iter().filter(|(_, _, again)| *again).count();
        assert!(again * 10 >= cuts.len() * 7, "{again} of {} connected again", cuts.len());
        // Two mails for each reading, and not one more.
        let alerts = super::alerts(&t.app).await;
        assert_eq!(alerts.len(), 2 * (cuts.len() + 1));
    }
}
