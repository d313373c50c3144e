//! Receivers that answer without end, or without measure.

use super::*;
use crate::outbound::meter::MAX_EXCHANGE_BYTES;

#[tokio::test]
async fn a_few_interim_answers_are_taken_and_no_more() {
    let headers: String = (0..90).map(|n| format!("x-hint-{n}: {n}\r\n")).collect();
    let hint = format!("HTTP/1.1 103 Early Hints\r\n{headers}\r\n");
    for (count, is_taken) in [(3, true), (60, false)] {
        let answer = hint.repeat(count) + "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        // Far less than what an exchange may have.
        assert!(answer.len() < MAX_EXCHANGE_BYTES / 2);
        let receiver = Receiver::start("127.0.0.1:0", move |mut socket, _| {
            let answer = answer.clone();
            async move {
                read_request(&mut socket).await?;
                socket.write_all(answer.as_bytes()).await
            }
        })
        .await;
        let outcome = post(&dev(PATIENCE), &receiver.url()).await;
        assert_eq!(outcome.status.is_some(), is_taken, "{outcome:?}");
        assert_eq!(outcome.error, (!is_taken).then_some(PostError::TooLarge));
    }
}

#[tokio::test]
async fn an_endless_body_is_cut_off() {
    let (send, mut written) = tokio::sync::mpsc::unbounded_channel();
    let receiver = Receiver::start("127.0.0.1:0", move |mut socket, _| {
        let send = send.clone();
        async move {
            read_request(&mut socket).await?;
            let head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 10000000000\r\n\r\n";
            socket.write_all(head).await?;
            let mut total = 0usize;
            while socket.write_all(&[b'g'; 4096]).await.is_ok() {
                total += 4096;
            }
            let _ = send.send(total);
            Ok(())
        }
    })
    .await;
    let outbound = dev(PATIENCE);
    let outcome = post(&outbound, &receiver.url()).await;
    assert_eq!(outcome.answered(), Some(200), "{:?}", outcome.error);
    assert_eq!(outcome.body_excerpt, "g".repeat(MAX_ANSWER_BYTES));
    // The connection is closed; what was under way is what the sockets' buffers hold.
    let total = timeout(PATIENCE, written.recv()).await.unwrap().unwrap();
    assert!(total < 64 << 20, "{total}");
    post(&outbound, &receiver.url()).await;
    assert_eq!(receiver.contacts(), 2);
}

#[tokio::test]
async fn headers_without_measure_are_refused() {
    for line in ["x-many: 1\r\n".repeat(90_000), format!("x-long: {}\r\n", "y".repeat(1 << 20))] {
        let answer = format!("HTTP/1.1 200 OK\r\n{line}content-length: 0\r\n\r\n");
        let answer: &'static [u8] = answer.leak().as_bytes();
        let receiver = Receiver::answering("127.0.0.1:0", answer).await;
        let outcome = post(&dev(PATIENCE), &receiver.url()).await;
        assert_eq!((outcome.status, outcome.error), (None, Some(PostError::TooLarge)));
    }
}
