//! `tillbell listen`: webhooks of test mode reach a program on this machine, also through a lost connection.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use tillbell::domain::merchant::Mode;
use tillbell::ops::webhooks::order::place_events;

use crate::events::world::World;
use crate::harness::proxy::{Fault, Proxy};
use crate::harness::receiver::Receiver;
use crate::webhooks_world::DEADLINE;

fn listen(args: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tillbell"));
    command
        .arg("listen")
        .args(args)
        .env_clear()
        .env("TILLBELL_CONFIG", "nowhere.toml")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// What it says of its connection, line by line, until a line holds these words.
async fn says(child: &mut Child, words: &'static str) {
    let mut told = BufReader::new(child.stderr.take().unwrap());
    let told = tokio::task::spawn_blocking(move || {
        let mut line = String::new();
        while !line.contains(words) {
            line.clear();
            assert!(told.read_line(&mut line).unwrap() > 0, "it ended without saying {words:?}");
        }
        told
    });
    child.stderr = Some(told.await.unwrap().into_inner());
}

async fn ended(mut child: Child) -> (bool, String, String) {
    tokio::task::spawn_blocking(move || {
        let (mut out, mut err) = (String::new(), String::new());
        child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        (child.wait().unwrap().success(), out, err)
    })
    .await
    .unwrap()
}

on_both! {
    async fn deliveries_reach_a_program_here_and_none_is_lost_with_the_connection(db: TestDatabase) {
        let world = World::new(db).await;
        let testing = world.t.in_test_mode(&world.shop).await;
        let key = world.key_of(&world.shop, Mode::Test).await;
        let (proxy, program) = (Proxy::start(world.running.address).await, Receiver::start().await);
        let (base, forward) = (format!("http://{}", proxy.address()), program.url("/hook"));
        let mut child = listen(&["--url", &base, "--key", &key, "--forward", &forward, "--count", "3"]);
        says(&mut child, "listening").await;
        let one = world.paid(&testing, 6_000, "Sani Lawal").await;
        place_events(&world.t.app).await.unwrap();
        program.wait_for(1, DEADLINE).await;
        proxy.set(Fault::CutAfter(0));
        // While nobody listens.
        let two = world.paid(&testing, 6_400, "Halima Garba").await;
        place_events(&world.t.app).await.unwrap();
        says(&mut child, "again").await;
        proxy.set(Fault::Pass);
        let three = world.paid(&testing, 6_800, "Ngozi Umeadi").await;
        place_events(&world.t.app).await.unwrap();
        let received = program.wait_for(3, DEADLINE).await;
        let told: Vec<String> =
            received.iter().map(|one| one.json()["transaction_id"].as_str().unwrap().to_owned()).collect();
        assert_eq!(told, [&one, &two, &three].map(|payment| payment.transaction_id.clone()), "each once, in order");
        for request in &received {
            let id = request.header("webhook-id");
            let (_, whole) = world.ask_as(&key, "GET", &format!("/events/{id}"), &[]).await;
            assert!(whole.contains(std::str::from_utf8(&request.body).unwrap()), "the very bytes: {whole}");
            assert!(request.header("webhook-signature").starts_with("v1,"));
            assert_eq!(request.header("content-type"), "application/json");
        }
        let (is_good, out, err) = ended(child).await;
        assert!(is_good, "{err}");
        assert_eq!(out.lines().filter(|line| line.starts_with("payment.approved") && line.contains("HTTP 200")).count(), 3, "{out}");
        // Again from a place on, with whatever configuration the folder is thought to have.
        let after = received[0].header("webhook-id");
        let again = listen(&["--url", &base, "--key", &key, "--forward", &forward, "--count", "2", "--after", after]);
        let (is_good, _, err) = ended(again).await;
        assert!(is_good, "{err}");
        let received = program.wait_for(5, DEADLINE).await;
        assert_eq!(received[3].body, received[1].body);
        let unknown = listen(&["--url", &base, "--key", &key, "--forward", &forward, "--after", "msg_nobody's"]);
        let (is_good, _, err) = ended(unknown).await;
        assert!(!is_good && err.contains("HTTP 4"), "{err}");
        world.running.stop().await;
    }

    async fn what_comes_before_the_first_delivery_is_not_lost_with_the_connection(db: TestDatabase) {
        let world = World::new(db).await;
        let testing = world.t.in_test_mode(&world.shop).await;
        let key = world.key_of(&world.shop, Mode::Test).await;
        // What was told before it began is none of its.
        world.paid(&testing, 5_600, "Ene Ochigbo").await;
        place_events(&world.t.app).await.unwrap();
        let (proxy, program) = (Proxy::start(world.running.address).await, Receiver::start().await);
        let (base, forward) = (format!("http://{}", proxy.address()), program.url("/hook"));
        let mut child = listen(&["--url", &base, "--key", &key, "--forward", &forward, "--count", "1"]);
        says(&mut child, "listening").await;
        proxy.set(Fault::CutAfter(0));
        says(&mut child, "again").await;
        let missed = world.paid(&testing, 6_000, "Sani Lawal").await;
        place_events(&world.t.app).await.unwrap();
        proxy.set(Fault::Pass);
        let received = program.wait_for(1, DEADLINE).await;
        assert_eq!(received[0].json()["transaction_id"].as_str(), Some(missed.transaction_id.as_str()));
        let (is_good, _, err) = ended(child).await;
        assert!(is_good, "{err}");
        world.running.stop().await;
    }

    async fn only_the_events_that_are_wanted_come_and_json_is_for_programs(db: TestDatabase) {
        let world = World::new(db).await;
        let testing = world.t.in_test_mode(&world.shop).await;
        let key = world.key_of(&world.shop, Mode::Test).await;
        let base = format!("http://{}/api/v1/", world.running.address);
        let forward = "http://127.0.0.1:9/hook";
        let args = ["--url", &base, "--key", &key, "--forward", forward];
        let mut child = listen(&[&args[..], &["--events", "payment.approved,payout.paid", "--count", "1"]].concat());
        says(&mut child, "listening").await;
        world.paid(&testing, 6_000, "Sani Lawal").await;
        place_events(&world.t.app).await.unwrap();
        let (is_good, out, err) = ended(child).await;
        assert!(is_good && out.contains("refused"), "nobody takes it there: {out} {err}");
        world.running.stop().await;
    }
}

#[test]
fn what_cannot_be_listened_to_is_told_at_once() {
    let hook = "http://127.0.0.1:9/hook";
    for (key, forward, events, why) in [
        ("tb_live_0123456789", hook, "payment.approved", "use a test key"),
        ("tb_test_0123456789", hook, "payment.aproved", "is no event"),
        ("tb_test_0123456789", "ftp://127.0.0.1/x", "payment.approved", "--forward"),
    ] {
        let args = ["--url", "http://127.0.0.1:9", "--key", key, "--forward", forward, "--events", events];
        let output = listen(&args).wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(why), "{why}: {said}");
    }
}
