//! A backup that was restored gives out ids anew, under the same key: links, codes and references of before
//! stand for nothing after it.

use tillbell::domain::intent::PinCode;
use tillbell::domain::message::MessageKind;
use tillbell::domain::time::Span;
use tillbell::ops::wallet_payments::page::{LinkView, view_link};
use tillbell::ops::wallet_payments::pin_reset::{CodeSent, PinSet, send_code, set_pin};
use tillbell::store::tables::messages::MessageRow;

use super::world::{PIN, World, token};
use crate::harness::databases::TestDatabase as Database;

async fn newest(w: &World) -> PinCode {
    let wallet = w.wallet().await;
    w.t.app.store.newest_code(wallet.id).await.unwrap().unwrap()
}

async fn message(w: &World, intent: i64) -> MessageRow {
    let intent = w.t.app.store.intent(intent).await.unwrap().unwrap();
    w.t.app.store.message(intent.message_id).await.unwrap().unwrap()
}

on_both! {
    async fn what_stood_for_rows_of_before_stands_for_none_after(db: TestDatabase) {
        let again = Database::migrated(db.engine()).await;
        let (before, after) = (World::start(db).await, World::start(again).await);
        let key = |w: &World| std::fs::read(w.t.key_file()).unwrap();
        assert_eq!(key(&before), key(&after), "one key");
        // No machine draws the same numbers twice.
        after.t.app.random.next_u64();
        after.t.advance(Span::seconds(1));
        let mut links = Vec::new();
        for w in [&before, &after] {
            w.funded(10_000).await;
            let started = w.begin(500, "k-1").await;
            let link = token(&started);
            let sent = send_code(&w.t.app, &link, None).await.unwrap();
            assert!(matches!(sent, CodeSent::Sent { .. }), "{sent:?}");
            let again = w.begin(500, "k-1").await;
            assert_eq!(again.confirm_url, started.confirm_url, "made anew, it is the same");
            links.push((started.intent.id, link));
        }
        let [(id, old), (same, new)] = &links[..] else { panic!() };
        assert_eq!(id, same);
        assert_ne!(old, new);
        assert!(matches!(view_link(&after.t.app, old).await.unwrap(), LinkView::NotFound));
        assert!(matches!(view_link(&after.t.app, new).await.unwrap(), LinkView::Open(_)));
        let (first, second) = (newest(&before).await, newest(&after).await);
        assert_eq!(first.id, second.id);
        let code = before.post.last(MessageKind::Code).code.unwrap();
        let set = set_pin(&after.t.app, new, &code, PIN, PIN, None).await.unwrap();
        assert!(matches!(set, PinSet::WrongCode { tries_left: 4 }), "{set:?}");
        let (first, second) = (message(&before, *id).await, message(&after, *id).await);
        assert_eq!(first.id, second.id);
        let made = |row: &MessageRow| row.created_at.0.to_be_bytes();
        let reference = before.t.app.vault.message_reference(first.id, &made(&first));
        assert!(before.t.app.vault.is_reference(&reference, first.id, &made(&first)));
        assert!(!after.t.app.vault.is_reference(&reference, second.id, &made(&second)));
        before.t.audited().await;
    }
}
