//! 250 means kept: when the store is away the sender is told to keep the mail, at the end of the
//! service a mail under way is taken, and whatever a mail is worth, it is there.

use tillbell::config::SmtpAddress;
use tillbell::domain::alert::AlertStatus;
use tillbell::domain::time::Span;
use tokio::net::UnixStream;

use super::{Client, DEV, House, SMTP, on_sqlite};
use crate::harness::app::{ACCOUNT, LATER, at};
use crate::harness::databases::{TestDatabase, connect};
use crate::harness::mails::Alert;

/// Somebody else holds what every alert must be written to.
pub enum Hold {
    Sqlite(rusqlite::Connection),
    Postgres(tokio_postgres::Client),
}

impl Hold {
    pub async fn take(db: &TestDatabase) -> Hold {
        match db.url().strip_prefix("sqlite:") {
            Some(path) => {
                let file = rusqlite::Connection::open(path).unwrap();
                file.busy_timeout(super::DEADLINE).unwrap();
                file.execute_batch("begin immediate").unwrap();
                Hold::Sqlite(file)
            }
            None => {
                let client = connect(db.url()).await;
                client.batch_execute("begin; lock table alerts in access exclusive mode").await.unwrap();
                Hold::Postgres(client)
            }
        }
    }

    pub async fn release(self) {
        match self {
            Hold::Sqlite(file) => file.execute_batch("rollback").unwrap(),
            Hold::Postgres(client) => client.batch_execute("rollback").await.unwrap(),
        }
    }
}

on_both! {
    async fn an_alert_handed_in_by_this_machine_approves_in_dev_mode(db: TestDatabase) {
        let house = House::open(db, &format!("{DEV}{SMTP}")).await;
        let shop = house.t.merchant("adire.example").await;
        house.t.account(ACCOUNT).await;
        let payment = house.t.create(&shop, 5_000, "Halima Garba").await;
        house.t.advance(LATER + Span::seconds(20));
        let mail = Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()).text();
        let mut client = house.greeted().await;
        let answer = client.hand_in(&mail).await;
        assert!(answer.starts_with("250"), "{answer}");
        let alerts = house.alerts().await;
        assert_eq!((alerts[0].status, alerts[0].payment_id), (AlertStatus::Matched, Some(payment.id)));
        // The same mail again is taken and changes nothing.
        let answer = client.hand_in(&mail).await;
        assert!(answer.starts_with("250"), "{answer}");
        assert_eq!(house.alerts().await[1].status, AlertStatus::Duplicate);
    }

    async fn outside_dev_mode_nobody_is_believed_for_his_address(db: TestDatabase) {
        let house = House::open(db, SMTP).await;
        let shop = house.t.merchant("adire.example").await;
        house.t.account(ACCOUNT).await;
        house.t.create(&shop, 5_000, "Halima Garba").await;
        house.t.advance(LATER + Span::seconds(20));
        let mut client = house.greeted().await;
        let forged = Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()).text();
        let answer = client.hand_in(&forged).await;
        assert!(answer.starts_with("250"), "{answer}");
        let answer = client.hand_in("no head at all\r\n").await;
        assert!(answer.starts_with("250"), "{answer}");
        let answer = client.hand_in("").await;
        assert!(answer.starts_with("250"), "{answer}");
        let alerts = house.alerts().await;
        assert_eq!(alerts.len(), 3);
        assert_eq!(alerts[0].status, AlertStatus::Quarantined);
        assert_eq!(house.raw(alerts[0].id).await, forged.as_bytes());
        assert!(alerts.iter().all(|alert| alert.payment_id.is_none()));
    }

    async fn a_mail_that_cannot_be_stored_stays_with_its_sender(db: TestDatabase) {
        let house = House::open(db, SMTP).await;
        let mut client = house.greeted().await;
        let hold = Hold::take(house.t.database()).await;
        let answer = client.hand_in("Subject: kept\r\n\r\nx\r\n").await;
        assert!(answer.starts_with("451"), "{answer}");
        hold.release().await;
        // The connection can go on.
        let answer = client.hand_in("Subject: kept\r\n\r\nx\r\n").await;
        assert!(answer.starts_with("250"), "{answer}");
        assert_eq!(house.alerts().await.len(), 1);
    }

    async fn a_mail_under_way_at_the_end_is_taken(db: TestDatabase) {
        let house = House::open(db, SMTP).await;
        let mut idle = house.greeted().await;
        let mut sending = house.greeted().await;
        sending.begin().await;
        sending.send("Subject: late\r\n\r\nha").await;
        house.stop.cancel();
        idle.expect("421").await;
        idle.is_closed().await;
        sending.send("lf\r\n.\r\n").await;
        sending.expect("250").await;
        sending.expect("421").await;
        sending.is_closed().await;
        drop((idle, sending));
        let address = house.tcp();
        assert_eq!(house.alerts().await.len(), 1);
        house.running.await.unwrap();
        assert!(tokio::net::TcpStream::connect(address).await.is_err(), "it still listens");
    }
}

#[test]
fn a_socket_in_the_file_system_is_taken_over_from_a_dead_process() {
    on_sqlite(|db| async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lmtp");
        // Left behind, as a killed process does: nobody listens on it.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let settings =
            SMTP.replace("127.0.0.1:0", &format!("unix:{}", path.display())) + "protocol = \"lmtp\"\n";
        let house = House::open(db, &settings).await;
        assert_eq!(house.address, SmtpAddress::Unix(path.clone()));
        let mut client = Client::over(UnixStream::connect(&path).await.unwrap());
        client.expect("220").await;
        client.gets("LHLO b.example", "250").await;
        let answer = client.hand_in("Subject: x\r\n\r\nx\r\n").await;
        assert!(answer.starts_with("250"), "{answer}");
        assert_eq!(house.alerts().await[0].source, "lmtp socket");
        // One that is in use is left alone.
        let smtp = house.t.app.config.mail.smtp.clone().unwrap();
        let room =
            tillbell::mail_intake::ingest::MailIngestor::new(&house.t.app.config, house.t.banks.clone());
        let again = tillbell::mail_intake::smtp::Receiver::bind(
            house.t.app.clone(),
            room,
            &smtp,
            None,
            Default::default(),
            Default::default(),
        );
        let why = again.await.err().expect("the socket is in use").to_string();
        assert!(why.contains("in use"), "{why}");
        client.gets("QUIT", "221").await;
        drop(client);
        house.stop.cancel();
        house.running.await.unwrap();
        assert!(!path.exists(), "the socket was left behind");
    });
}
