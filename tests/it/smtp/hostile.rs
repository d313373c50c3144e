//! Clients that mean harm, or are broken in the same way: smuggled mails, floods, silence.

use std::time::Duration;

use tillbell::mail_intake::smtp::Timeouts;

use super::{House, SMTP};

/// A second mail that must never come out of the first one's content.
const SMUGGLED: &str = "MAIL FROM:<gens@bank.example>\r\nRCPT TO:<alerts@till.example>\r\nDATA\r\n\
                        Subject: smuggled\r\n\r\nforged\r\n.\r\nQUIT\r\n";

on_both! {
    async fn no_mail_is_smuggled_inside_another(db: TestDatabase) {
        let house = House::open(db, SMTP).await;
        let endings = [
            "\n.\n",
            "\n.\r\n",
            "\r\n.\n",
            "\r.\r",
            "\r.\r\n",
            "\r\n.\r",
            "\r\n.\r\r\n",
            "\r\r\n.\r\n",
            "\n\n.\r\n",
            "\r\n\0.\r\n\n",
            "\r\n.\0\r\n\n",
            "\n.\r",
        ];
        for ending in endings {
            for in_one_write in [true, false] {
                let mut client = house.greeted().await;
                client.begin().await;
                let first = format!("Subject: outer\r\n\r\nouter{ending}");
                if in_one_write {
                    client.send(format!("{first}{SMUGGLED}")).await;
                } else {
                    client.send(first).await;
                    // Refused already, the connection may be gone.
                    let _ = client.try_send(SMUGGLED.as_bytes()).await;
                }
                let answer = client.expect("554").await;
                assert!(answer.contains("CR or LF"), "{ending:?}: {answer}");
                client.is_closed().await;
            }
        }
        assert!(house.alerts().await.is_empty(), "something was taken");
    }

    async fn a_client_that_waits_after_a_false_ending_is_answered(db: TestDatabase) {
        let house = House::open(db, SMTP).await;
        for ending in ["\n.\n", "\n.\r\n", "\r.\r\n"] {
            let mut client = house.greeted().await;
            client.begin().await;
            client.send(format!("Subject: x\r\n\r\nx{ending}")).await;
            client.expect("554").await;
            client.is_closed().await;
        }
    }

    async fn lines_end_in_crlf_and_have_an_end(db: TestDatabase) {
        let house = House::open(db, SMTP).await;
        for line in ["NOOP\n", "NOOP\rRSET\r\n", "NOOP\r\r\n", "\n"] {
            let mut client = house.greeted().await;
            client.send(line).await;
            client.expect("550").await;
            client.is_closed().await;
        }
        let mut client = house.greeted().await;
        client.gets(&format!("NOOP {}", "x".repeat(1_000)), "250").await;
        client.gets(&format!("NOOP {}", "x".repeat(1_100)), "500").await;
        client.gets(&format!("NOOP {}", "x".repeat(40_000)), "500").await;
        client.gets("NOOP", "250").await;
        // Endless lines are not listened to.
        let _ = client.try_send(&vec![b'x'; 300_000]).await;
        client.is_closed().await;
    }

    async fn content_behind_data_is_not_taken_for_commands_nor_for_a_mail(db: TestDatabase) {
        let house = House::open(db, SMTP).await;
        let mut client = house.greeted().await;
        client
            .send(format!(
                "MAIL FROM:<a@b.example>\r\nRCPT TO:<alerts@till.example>\r\nDATA\r\nSubject: x\r\n\r\nx\r\n.\r\n{SMUGGLED}"
            ))
            .await;
        client.expect("250").await;
        client.expect("250").await;
        client.expect("554").await;
        client.is_closed().await;
        assert!(house.alerts().await.is_empty());
    }

    async fn a_web_page_cannot_speak_smtp(db: TestDatabase) {
        let house = House::open(db, SMTP).await;
        let mut client = house.client().await;
        let _ = client
            .try_send(format!("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nEHLO x\r\n{SMUGGLED}").as_bytes())
            .await;
        client.expect("421").await;
        client.is_closed().await;
        assert!(house.alerts().await.is_empty());
    }

    async fn errors_and_idle_commands_have_an_end(db: TestDatabase) {
        let house = House::open(db, SMTP).await;
        let mut client = house.greeted().await;
        for _ in 0..19 {
            client.gets("WIZ", "500").await;
        }
        client.gets("WIZ", "500").await;
        client.expect("421").await;
        client.is_closed().await;

        let mut client = house.greeted().await;
        for _ in 0..298 {
            client.gets("NOOP", "250").await;
        }
        // A mail is what a connection is for: it may go on.
        let mut client_with_mails = house.greeted().await;
        for n in 0..3 {
            for _ in 0..200 {
                client_with_mails.gets("NOOP", "250").await;
            }
            let answer = client_with_mails.hand_in(&format!("Subject: {n}\r\n\r\nx\r\n")).await;
            assert!(answer.starts_with("250"), "{answer}");
        }
        client.gets("NOOP", "250").await;
        client.gets("NOOP", "421").await;
        client.is_closed().await;
    }

    async fn slow_clients_are_not_waited_for_without_end(db: TestDatabase) {
        let short = Duration::from_millis(300);
        let timeouts = Timeouts { command: short, piece: short, ..Timeouts::default() };
        let house = House::patient(db, SMTP, timeouts).await;
        // Says nothing; begins a line and does not end it; stops inside a mail.
        let mut silent = house.client().await;
        let mut halting = house.greeted().await;
        halting.send("NOO").await;
        let mut stalled = house.greeted().await;
        stalled.begin().await;
        stalled.send("Subject: x\r\n\r\nx").await;
        for client in [&mut silent, &mut halting, &mut stalled] {
            client.expect("421").await;
            client.is_closed().await;
        }
        assert!(house.alerts().await.is_empty());
    }

    async fn a_mail_that_drips_is_not_waited_for_without_end(db: TestDatabase) {
        let whole = Duration::from_millis(500);
        let house = House::patient(db, SMTP, Timeouts { mail: whole, ..Timeouts::default() }).await;
        let mut client = house.greeted().await;
        client.begin().await;
        // Each byte comes in time; all of them would take for ever.
        while client.try_send(b"x").await.is_ok() {
            if client.has_answer().await {
                break;
            }
        }
        client.expect("421").await;
    }

    async fn an_old_connection_ends_between_two_mails(db: TestDatabase) {
        let house =
            House::patient(db, SMTP, Timeouts { session: Duration::ZERO, ..Timeouts::default() }).await;
        let mut client = house.client().await;
        client.expect("421").await;
        client.is_closed().await;
    }

    async fn places_are_limited_and_come_back(db: TestDatabase) {
        let house = House::open(db, &format!("{SMTP}max_connections = 4\n")).await;
        let mut first = house.greeted().await;
        let _second = house.greeted().await;
        let mut third = super::Client::over(tokio::net::TcpStream::connect(house.tcp()).await.unwrap());
        let answer = third.expect("421").await;
        assert!(answer.contains("from your address"), "{answer}");
        third.is_closed().await;
        first.gets("QUIT", "221").await;
        first.is_closed().await;
        drop(first);
        // The place is free a moment after the end.
        loop {
            let mut next = super::Client::over(tokio::net::TcpStream::connect(house.tcp()).await.unwrap());
            match next.answer().await {
                Some(greeting) if greeting.starts_with("220") => break,
                other => assert!(other.is_some_and(|answer| answer.starts_with("421"))),
            }
        }
    }

    async fn other_networks_are_kept_out(db: TestDatabase) {
        let house = House::open(db, &format!("{SMTP}allow_networks = \"10.0.0.0/8\"\n")).await;
        let mut client = super::Client::over(tokio::net::TcpStream::connect(house.tcp()).await.unwrap());
        client.expect("554").await;
        client.is_closed().await;
    }
}
