//! What people are told beside the pages: mails by a real mail server, posts to a real receiver, each cause once an hour,
//! and nothing lost or told twice by a crash or a second node.

use std::time::Duration;

use rcgen::generate_simple_self_signed;
use tillbell::config::{MailServer, MailTls};
use tillbell::domain::merchant::Mode;
use tillbell::domain::notice::NoticeKind;
use tillbell::domain::time::Span;
use tillbell::domain::user::{MemberRole, StaffRole};
use tillbell::ops::merchants::keys::add_key;
use tillbell::ops::notices::alarms::{alarms_since, raise};
use tillbell::ops::notices::merchants::look;
use tillbell::ops::people::invite::invite_member;
use tillbell::ops::people::links::{LinkView, forgot, view_password_link};
use tillbell::ops::people::users::{Place, add_user};
use tillbell::outbound::mailer::{MailOutcome, Mailer, OutgoingMail};
use tillbell::work::run_due;

use crate::harness::app::{ACCOUNT, LATER, Merchant, START, TestApp, at};
use crate::harness::mails::Alert;
use crate::harness::mta::Exim;
use crate::harness::receiver::{Answer, Receiver};
use crate::people::PASSWORD;

const OPS: &str = "ops@kudu.example";
const PATIENCE: Duration = Duration::from_secs(30);

/// The settings of a gateway whose mails this server takes.
fn settings(mta: &Exim, more: &str) -> String {
    format!(
        "[server]\ndev = true\npublic_url = \"http://127.0.0.1:8080\"\n[notify]\nsmtp_url = \"smtp://{}\"\n\
         from = \"till@kudu.example\"\noperators = [\"{OPS}\"]\n{more}",
        mta.address
    )
}

async fn person(t: &TestApp, email: &str, place: Place) {
    add_user(&t.app, "ada", email, place, Some(PASSWORD)).await.unwrap().unwrap();
}

/// The text of a mail, with the line ends and the breaks of quoted-printable undone.
fn text(mail: &str) -> String {
    mail.replace("\r\n", "\n").replace("=\n", "").replace("=3D", "=")
}

fn to(mails: &[String], address: &str) -> Vec<String> {
    let line = format!("\nTo: {address}\n");
    mails.iter().map(|mail| text(mail)).filter(|mail| mail.contains(&line)).collect()
}

async fn alarm(t: &TestApp, cause: &str) {
    raise(
        &t.app,
        NoticeKind::MoneyTakenBack,
        cause,
        "Alert 57 may have taken back payment order-1.",
        "/operator/alerts/57",
    )
    .await;
}

/// A payment of a business whose webhook nobody takes, tried once.
async fn untold(t: &TestApp, shop: &Merchant) {
    t.account(ACCOUNT).await;
    t.create(shop, 6_400, "Halima Garba").await;
    t.advance(LATER + Span::seconds(20));
    t.ingest(&Alert::credit(ACCOUNT, 6_400, "Halima Garba", at()).text()).await;
    run_due(&t.app).await.unwrap();
}

#[tokio::test]
async fn mails_go_encrypted_under_a_password() {
    let certified = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (pem, key) = (certified.cert.pem(), certified.signing_key.serialize_pem());
    let mta = Exim::keeping(Some((pem.clone(), key))).await;
    let folder = tempfile::tempdir().unwrap();
    let ca_file = folder.path().join("ca.pem");
    std::fs::write(&ca_file, pem).unwrap();
    let server = |password: &str| MailServer {
        host: "localhost".into(),
        port: mta.address.port(),
        tls: MailTls::Starttls,
        login: Some(("till".into(), password.to_owned().into())),
        from: "till@kudu.example".into(),
        ca_file: Some(ca_file.clone()),
    };
    let mail =
        OutgoingMail { id: 1, to: OPS, subject: "s", text: "t", at: std::time::SystemTime::UNIX_EPOCH };
    let send = async |server: MailServer| Mailer::new(&server, None).unwrap().send(&mail).await;
    assert_eq!(send(server("hunter two")).await, MailOutcome::Sent);
    let wrong = send(server("hunter three")).await;
    assert!(
        matches!(&wrong, MailOutcome::Later { why } if why.contains("535")),
        "no mail is lost by it: {wrong:?}"
    );
    let unknown = send(MailServer { ca_file: None, ..server("hunter two") }).await;
    assert!(matches!(&unknown, MailOutcome::Later { why } if why.contains("certificate")), "{unknown:?}");
    assert_eq!(mta.keeps(1).await.len(), 1);
}

on_both! {
    async fn a_forgotten_password_comes_by_mail_and_nobody_can_tell_who_is_there(db: TestDatabase) {
        let mta = Exim::keeping(None).await;
        let t = TestApp::start_with(db, &settings(&mta, "")).await;
        person(&t, "ife@till.example", Place::Staff(StaffRole::Viewer)).await;
        for email in ["stranger@till.example", " Ife@till.example", "no address"] {
            forgot(&t.app, email, "198.51.100.7").await.unwrap().unwrap();
        }
        run_due(&t.app).await.unwrap();
        let mails = mta.keeps(1).await;
        assert_eq!(mails.len(), 1, "a stranger gets none");
        let [mail] = &to(&mails, "ife@till.example")[..] else { panic!("{mails:?}") };
        assert!(mail.contains("From: till@kudu.example\n") && mail.contains("\nAuto-Submitted: auto-generated\n"), "{mail}");
        let token = mail.split("/welcome/").nth(1).unwrap().split_whitespace().next().unwrap();
        let good = LinkView::Good { email: "ife@till.example".into(), is_first: false };
        assert_eq!(view_password_link(&t.app, token).await.unwrap(), good);
    }

    async fn an_invitation_goes_to_the_address_and_to_nobody_else(db: TestDatabase) {
        let mta = Exim::keeping(None).await;
        let t = TestApp::start_with(db, &settings(&mta, "")).await;
        let shop = t.merchant("adire.example").await;
        let invited = invite_member(&t.app, "own@adire.example", shop.id, "ife@till.example", MemberRole::Viewer);
        let added = invited.await.unwrap().unwrap();
        assert!(added.link.is_none(), "whoever invites does not see it");
        run_due(&t.app).await.unwrap();
        let mails = mta.keeps(1).await;
        let [mail] = &to(&mails, "ife@till.example")[..] else { panic!("{mails:?}") };
        let token = mail.split("/welcome/").nth(1).unwrap().split_whitespace().next().unwrap();
        let good = LinkView::Good { email: "ife@till.example".into(), is_first: true };
        assert_eq!(view_password_link(&t.app, token).await.unwrap(), good);
        // The mail proved the address.
        let other = t.merchant("bolu.example").await;
        let again = invite_member(&t.app, "own@bolu.example", other.id, "ife@till.example", MemberRole::Viewer);
        assert!(again.await.unwrap().is_ok());
    }

    async fn an_alarm_reaches_operators_once_an_hour_for_one_cause(db: TestDatabase) {
        let (mta, receiver) = (Exim::keeping(None).await, Receiver::start().await);
        let hook = format!("webhook_url = \"{}\"\n", receiver.url("/hook?chat_id=7"));
        let t = TestApp::start_with(db, &settings(&mta, &hook)).await;
        let other = t.another_node().await;
        let body = "Alert 57 may have taken back payment order-1.";
        let both = [&t.app, &other].map(|node| {
            raise(node, NoticeKind::MoneyTakenBack, "alert 57", body, "/operator/alerts/57")
        });
        futures_util::future::join_all(both).await;
        alarm(&t, "alert 57").await;
        run_due(&t.app).await.unwrap();
        let mails = mta.keeps(1).await;
        let [mail] = &to(&mails, OPS)[..] else { panic!("{mails:?}") };
        assert!(mail.contains("Subject: Credited money may have been taken back\n"), "{mail}");
        assert!(mail.contains(body) && mail.contains("http://127.0.0.1:8080/operator/alerts/57"), "{mail}");
        let [post] = &receiver.wait_for(1, PATIENCE).await[..] else { panic!() };
        assert_eq!(post.target, "/hook?chat_id=7");
        assert!(post.json()["text"].as_str().unwrap().contains(body), "{:?}", post.body);

        t.advance(Span::minutes(59));
        alarm(&t, "alert 57").await;
        alarm(&t, "alert 58").await;
        run_due(&t.app).await.unwrap();
        assert_eq!((mta.keeps(2).await.len(), receiver.received().len()), (2, 2), "another cause is told at once");
        t.advance(Span::minutes(1));
        alarm(&t, "alert 57").await;
        run_due(&t.app).await.unwrap();
        assert_eq!((mta.keeps(3).await.len(), receiver.received().len()), (3, 3));
        assert_eq!(alarms_since(&t.app, START).await.unwrap().len(), 3, "and the desk has them");
    }

    async fn a_flood_of_alarms_is_no_flood_of_mails(db: TestDatabase) {
        let mta = Exim::keeping(None).await;
        let t = TestApp::start_with(db, &settings(&mta, "off = [\"wrong_pins\"]\n")).await;
        for n in 1..=30 {
            alarm(&t, &format!("alert {n}")).await;
        }
        raise(&t.app, NoticeKind::WrongPins, "business 1", "Too many wrong PINs.", "/operator").await;
        run_due(&t.app).await.unwrap();
        let mails = mta.keeps(20).await;
        assert_eq!(mails.len(), 20, "and none of what is switched off");
        let last = mails.iter().filter(|mail| text(mail).contains("Further ones of this hour are not sent")).count();
        assert_eq!((last, alarms_since(&t.app, START).await.unwrap().len()), (1, 31));
        t.advance(Span::hours(2));
        alarm(&t, "alert 31").await;
        run_due(&t.app).await.unwrap();
        assert_eq!(mta.keeps(21).await.len(), 21);
    }

    async fn members_hear_that_their_webhooks_fail(db: TestDatabase) {
        let mta = Exim::keeping(None).await;
        let t = TestApp::start_with(db, &settings(&mta, "")).await;
        let shop = t.merchant("adire.example").await;
        for (email, role) in [
            ("own@adire.example", MemberRole::Owner),
            ("dev@adire.example", MemberRole::Developer),
            ("money@adire.example", MemberRole::Finance),
        ] {
            person(&t, email, Place::Member(shop.id, role)).await;
        }
        add_user(&t.app, "ada", "new@adire.example", Place::Member(shop.id, MemberRole::Developer), None).await.unwrap().unwrap();
        untold(&t, &shop).await;
        t.advance(Span::minutes(14));
        look(&t.app).await.unwrap();
        run_due(&t.app).await.unwrap();
        assert_eq!(mta.kept().len(), 0, "it may still arrive");
        t.advance(Span::minutes(1));
        let other = t.another_node().await;
        let (here, there) = tokio::join!(look(&t.app), look(&other));
        here.and(there).unwrap();
        run_due(&t.app).await.unwrap();
        let mails = mta.keeps(2).await;
        assert_eq!(mails.len(), 2, "{mails:?}");
        for email in ["own@adire.example", "dev@adire.example"] {
            let [mail] = &to(&mails, email)[..] else { panic!("{email}: {mails:?}") };
            assert!(mail.contains("1 webhook has not reached the server of"), "{mail}");
            assert!(mail.contains(&format!("/dashboard/webhooks?business={}", shop.id)), "{mail}");
        }
        t.advance(Span::minutes(59));
        look(&t.app).await.unwrap();
        t.advance(Span::minutes(1));
        look(&t.app).await.unwrap();
        run_due(&t.app).await.unwrap();
        assert_eq!(mta.keeps(4).await.len(), 4, "again after an hour");
    }

    async fn a_key_that_will_expire_is_told_of_twice(db: TestDatabase) {
        let mta = Exim::keeping(None).await;
        let t = TestApp::start_with(db, &settings(&mta, "")).await;
        let shop = t.merchant("adire.example").await;
        person(&t, "own@adire.example", Place::Member(shop.id, MemberRole::Owner)).await;
        let life = Some(Span::days(10));
        let key = add_key(&t.app, "ada", shop.id, Mode::Live, Some("till 3"), life).await.unwrap().unwrap();
        for (hours, told) in [(71, 0), (2, 1), (24, 1), (118, 1), (2, 2), (12, 2), (13, 2)] {
            t.advance(Span::hours(hours));
            look(&t.app).await.unwrap();
            run_due(&t.app).await.unwrap();
            assert_eq!(mta.keeps(told).await.len(), told, "{hours}");
        }
        let mails = mta.kept();
        assert!(mails.iter().all(|mail| text(mail).contains("(till 3)")), "{mails:?}");
        assert!(mails.iter().all(|mail| text(mail).contains(&key.key.hint)), "{mails:?}");
    }

    async fn a_mail_waits_for_its_server_and_is_given_up_after_a_day(db: TestDatabase) {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let settings = format!(
            "[server]\ndev = true\n[notify]\nsmtp_url = \"smtp://{free}\"\nfrom = \"till@kudu.example\"\noperators = [\"{OPS}\"]\n"
        );
        let t = TestApp::start_with(db, &settings).await;
        alarm(&t, "alert 57").await;
        run_due(&t.app).await.unwrap();
        let waiting = t.app.store.job_depths().await.unwrap();
        assert!(waiting.iter().any(|depth| depth.kind.as_str() == "mail" && depth.count == 1), "{waiting:?}");
        let sealed = t.app.store.mail_to_send(1).await.unwrap().unwrap().body.unwrap();
        assert!(!String::from_utf8_lossy(&sealed).contains("order-1"), "what it says is sealed");
        t.advance(Span::hours(25));
        run_due(&t.app).await.unwrap();
        assert_eq!(t.app.store.mail_to_send(1).await.unwrap(), None, "it is over, and its text is gone");
    }

    async fn what_the_server_refuses_is_over(db: TestDatabase) {
        let mta = Exim::keeping(None).await;
        let t = TestApp::start_with(db, &settings(&mta, "").replace(OPS, "nobody@kudu.example")).await;
        alarm(&t, "alert 57").await;
        run_due(&t.app).await.unwrap();
        assert_eq!(t.app.store.mail_to_send(1).await.unwrap(), None);
        assert_eq!(mta.kept().len(), 0);
    }

    async fn what_nobody_takes_at_the_webhook_is_posted_again(db: TestDatabase) {
        let receiver = Receiver::start().await;
        receiver.answer_next(Answer::status(500));
        let settings =
            format!("[server]\ndev = true\n[notify]\nwebhook_url = \"{}\"\n", receiver.url("/hook"));
        let t = TestApp::start_with(db, &settings).await;
        alarm(&t, "alert 57").await;
        run_due(&t.app).await.unwrap();
        t.advance(Span::seconds(2));
        run_due(&t.app).await.unwrap();
        t.advance(Span::hours(1));
        run_due(&t.app).await.unwrap();
        assert_eq!(receiver.received().len(), 2, "and not a third time");
    }
}
