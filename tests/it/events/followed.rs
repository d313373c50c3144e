//! `GET /events/stream`: a program follows the events of test mode, and goes on where it was.

use serde_json::Value;
use tillbell::domain::merchant::Mode;
use tillbell::domain::webhook::sign;
use tillbell::ops::merchants::businesses::signing_secrets;
use tillbell::ops::merchants::keys::{list_keys, revoke_key};
use tillbell::ops::webhooks::order::place_events;

use super::world::World;
use crate::checkout::world::Stream;

const STREAM: &str = "/api/v1/events/stream";

async fn follow(world: &World, key: &str, query: &str, more: &[&str]) -> Stream {
    let key = format!("X-API-Key: {key}");
    let lines: Vec<&str> = std::iter::once(key.as_str()).chain(more.iter().copied()).collect();
    Stream::open_with(world.running.address, &format!("{STREAM}{query}"), &lines).await
}

/// The next delivery: the id that its header says, and its body.
async fn delivered(world: &World, stream: &mut Stream) -> (String, Value) {
    let (name, delivery) = stream.next().await;
    assert_eq!(name, "delivery", "{delivery}");
    let header =
        |name: &str| delivery["headers"][name].as_str().unwrap_or_else(|| panic!("{delivery}")).to_owned();
    let (id, body) = (header("webhook-id"), delivery["body"].as_str().unwrap());
    assert_eq!(header("content-type"), "application/json");
    let secrets = signing_secrets(&world.t.app, world.shop.id, world.t.app.now()).await.unwrap().unwrap();
    let seconds = header("webhook-timestamp").parse().unwrap();
    assert_eq!(header("webhook-signature"), sign(&secrets, &id, seconds, body.as_bytes()));
    (id, serde_json::from_str(body).unwrap())
}

async fn place(world: &World) {
    place_events(&world.t.app).await.unwrap();
}

on_both! {
    async fn what_happens_in_test_mode_is_told_with_its_bytes_and_signature(db: TestDatabase) {
        let world = World::new(db).await;
        let testing = world.t.in_test_mode(&world.shop).await;
        let key = world.key_of(&world.shop, Mode::Test).await;
        world.lift_limit(world.shop.id).await;
        world.paid(&testing, 6_000, "Sani Lawal").await;
        let mut stream = follow(&world, &key, "", &[]).await;
        let one = world.paid(&testing, 6_400, "Halima Garba").await;
        world.paid(&world.shop, 6_600, "Musa Danladi").await;
        let two = world.paid(&testing, 6_800, "Ngozi Umeadi").await;
        place(&world).await;
        let (first, body) = delivered(&world, &mut stream).await;
        assert_eq!(body["transaction_id"], one.transaction_id.as_str(), "from now on");
        let (_, whole) = world.get_as(&key, &format!("/events/{first}")).await;
        assert_eq!(whole["data"], body);
        let (second, body) = delivered(&world, &mut stream).await;
        assert_eq!(body["transaction_id"], two.transaction_id.as_str(), "and nothing of live mode");
        drop(stream);
        let three = world.paid(&testing, 7_200, "Efosa Igbinedion").await;
        place(&world).await;
        for (query, line) in
            [(format!("?after={first}"), "Accept-Language: en".to_owned()), (String::new(), format!("Last-Event-ID: {first}"))]
        {
            let mut again = follow(&world, &key, &query, &[&line]).await;
            assert_eq!(delivered(&world, &mut again).await.0, second, "where it was: {query} {line}");
            assert_eq!(delivered(&world, &mut again).await.1["transaction_id"], three.transaction_id.as_str());
        }
        world.running.stop().await;
    }

    async fn who_may_not_follow_is_told_why(db: TestDatabase) {
        let world = World::new(db).await;
        let testing = world.t.in_test_mode(&world.shop).await;
        let key = world.key_of(&world.shop, Mode::Test).await;
        world.lift_limit(world.shop.id).await;
        let other = world.t.merchant("bolu.example").await;
        let theirs = world.t.in_test_mode(&other).await;
        world.paid(&theirs, 6_000, "Sani Lawal").await;
        world.paid(&world.shop, 6_600, "Musa Danladi").await;
        let mine = world.paid(&testing, 6_400, "Halima Garba").await;
        let id_seen_by = async |key: &str| {
            let (_, page) = world.get_as(key, "/events").await;
            page["data"][0]["id"].as_str().unwrap().to_owned()
        };
        let (live, theirs) = (id_seen_by(&world.key).await, id_seen_by(&world.key_of(&other, Mode::Test).await).await);
        for (key, query, status, code) in [
            (world.key.as_str(), String::new(), 403, "test_key_required"),
            ("tb_test_nobody", String::new(), 401, "api_key_invalid"),
            (&key, format!("?after={live}"), 404, "event_not_found"),
            (&key, format!("?after={theirs}"), 404, "event_not_found"),
            (&key, "?after=msg_0123456789ABCDEFGHIJKL".to_owned(), 404, "event_not_found"),
            (&key, "?after=17".to_owned(), 422, "invalid_fields"),
        ] {
            let (found, body) = world.get_as(key, &format!("/events/stream{query}")).await;
            assert_eq!((found, body["code"].as_str()), (status, Some(code)), "{query}: {body}");
        }
        let own = id_seen_by(&key).await;
        let mut held = Vec::new();
        for _ in 0..5 {
            held.push(follow(&world, &key, "", &[]).await);
        }
        let (status, body) = world.get_as(&key, "/events/stream").await;
        assert_eq!((status, body["code"].as_str()), (429, Some("rate_limited")), "{body}");
        drop(held);
        // A revoked key hears no more.
        let mut stream = follow(&world, &key, &format!("?after={own}"), &[]).await;
        let keys = list_keys(&world.t.app, world.shop.id).await.unwrap().unwrap();
        for one in keys {
            revoke_key(&world.t.app, "ife", one.id).await.unwrap().unwrap();
        }
        world.t.app.directory.forget();
        world.t.advance(tillbell::domain::time::Span::seconds(2));
        world.paid(&testing, 7_400, "Ngozi Umeadi").await;
        place(&world).await;
        stream.ends().await;
        assert!(mine.approved_at.is_some());
        world.running.stop().await;
    }
}
