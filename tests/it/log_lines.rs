//! What the log says when work arrives or a webhook fails: one line each, without a name, an amount or a
//! secret, and never without end.

use std::time::Duration;
use tillbell::ops::alerts::draft::{ReadAs, Taken};

use tillbell::domain::alert::{AlertStatus, Authenticity};
use tillbell::domain::merchant::Mode;
use tillbell::domain::time::Span;
use tillbell::domain::webhook::RETRY_SCHEDULE;
use tillbell::log_limit::{AWAY_WINDOW, LINES_MAX, WINDOW};
use tillbell::ops::alerts::take::take_alert;
use tillbell::ops::merchants::keys::add_key;
use tillbell::serve::Roles;
use tillbell::store::engine::sql::{Sql, Text};
use tillbell::store::tables::jobs::{self, JobKind};
use tillbell::store::{IdKind, Step};
use tillbell::work;
use tokio_util::sync::CancellationToken;

use crate::api::codes::{give_back, take_away};
use crate::api::server::Server;
use crate::harness::app::{ACCOUNT, TestApp, world};
use crate::harness::databases::Engine;
use crate::harness::logs::Logs;
use crate::harness::mails::Alert;
use crate::harness::receiver::Answer;
use crate::wallet_pages::site::{DEV, Site};
use crate::webhooks_world::{DEADLINE, World};

const PAYER: &str = "Zara Lami Gyang";

/// Lines of our own that say this.
fn lines(logs: &Logs, words: &str) -> Vec<String> {
    logs.text().lines().filter(|line| line.contains(words)).map(str::to_owned).collect()
}

fn alert(t: &TestApp, naira: i64, payer: &str) -> Alert {
    Alert::credit(ACCOUNT, naira, payer, t.app.now() + Span::seconds(30))
}

/// A mail that nobody vouches for.
async fn take_forged(t: &TestApp) {
    let mail = alert(t, 2_750, PAYER).text();
    let taken = take_alert(&t.app, &t.taken(&mail, false)).await.unwrap();
    assert_eq!(taken.status, AlertStatus::Quarantined);
}

on_both! {
    async fn an_alert_that_waits_is_one_line_with_the_kind_of_its_reasons(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.create(&shop, 4_600, PAYER).await;
        t.create(&shop, 2_300, "Halima Garba").await;
        t.advance(Span::minutes(1));
        let logs = Logs::keep();
        let short = t.ingest(&alert(&t, 4_550, PAYER).text()).await;
        let nobodys = t.ingest(&alert(&t, 9_120, "Tunde Ojo").text()).await;
        let mail = alert(&t, 3_310, PAYER).text();
        let mut taken = t.taken(&mail, true);
        taken.read_as = ReadAs::Unreadable;
        let unread = take_alert(&t.app, &taken).await.unwrap();
        take_forged(&t).await;
        let doubtful = alert(&t, 2_300, "Halima Garba").text().replace("TILL AND BELL LTD", "SOMEBODY ELSE PLC");
        let doubtful = t.ingest(&doubtful).await;
        let matched = t.create(&shop, 7_040, PAYER).await;
        t.advance(Span::minutes(1));
        t.ingest(&alert(&t, 7_040, PAYER).text()).await;
        assert!(t.payment(&matched).await.approved_at.is_some());
        let said = lines(&logs, "an alert was not matched");
        let expected = [
            (Some(short.alert_id), "review", "too_little"),
            (Some(nobodys.alert_id), "unmatched", "no_payment_fits"),
            (Some(unread.alert_id), "unreadable", "unreadable"),
            (None, "quarantined", "not_proven"),
            (Some(doubtful.alert_id), "review", "mail_doubt"),
        ];
        assert_eq!(said.len(), expected.len(), "{said:#?}");
        for (line, (id, outcome, kinds)) in said.iter().zip(expected) {
            assert!(line.contains("INFO"), "{line}");
            assert!(id.is_none_or(|id| line.contains(&format!("alert={id} "))), "{line}");
            assert!(line.contains(&format!("outcome=\"{outcome}\" kinds=\"{kinds}\"")), "{line}");
            let (_, fields) = line.split_once("not matched").unwrap();
            for private in ["zara", "lami", "tunde", "halima", "somebody", "4550", "4,550", "9120", "9,120", "4417"] {
                assert!(!fields.to_lowercase().contains(private), "{private}: {line}");
            }
        }
    }

    async fn forged_mails_without_end_are_counted_and_not_told_one_by_one(db: TestDatabase) {
        let (t, _) = world(db).await;
        let logs = Logs::keep();
        let most = LINES_MAX as usize;
        for _ in 0..most + 45 {
            take_forged(&t).await;
        }
        assert_eq!(lines(&logs, "outcome=\"quarantined\"").len(), most);
        // Lines of another sort are not held back by them.
        t.ingest(&alert(&t, 9_120, "Tunde Ojo").text()).await;
        assert_eq!(lines(&logs, "outcome=\"unmatched\"").len(), 1);
        t.advance(WINDOW);
        take_forged(&t).await;
        let said = lines(&logs, "outcome=\"quarantined\"");
        assert!(said.len() == most + 1 && said[most].contains("left_out=45"), "{}", said[most]);
    }

    async fn a_flood_of_one_kind_leaves_lines_to_the_others(db: TestDatabase) {
        let (t, _) = world(db).await;
        let logs = Logs::keep();
        for _ in 0..LINES_MAX + 9 {
            take_forged(&t).await;
        }
        for (authenticity, kind) in [(Authenticity::Refuted, "refuted"), (Authenticity::Forwarded, "forwarded")] {
            let mail = alert(&t, 2_750, PAYER).text();
            let taken = Taken { authenticity, read_as: ReadAs::Quarantined, ..t.taken(&mail, false) };
            take_alert(&t.app, &taken).await.unwrap();
            assert_eq!(lines(&logs, &format!("kinds=\"{kind}\"")).len(), 1, "{kind}");
        }
        assert_eq!(lines(&logs, "kinds=\"not_proven\"").len(), LINES_MAX as usize);
    }

    async fn what_a_flood_left_out_is_told_when_it_is_over(db: TestDatabase) {
        let (t, _) = world(db).await;
        let logs = Logs::keep();
        for _ in 0..LINES_MAX + 7 {
            take_forged(&t).await;
        }
        t.advance(WINDOW);
        let stop = CancellationToken::new();
        let working = tokio::spawn(tillbell::work::run(t.app.clone(), None, stop.clone()));
        let told = async {
            loop {
                let said = lines(&logs, "lines were left out of the log");
                if let Some(line) = said.first() {
                    return line.clone();
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let line = tokio::time::timeout(DEADLINE, told).await.unwrap();
        assert!(line.contains("what=\"quarantined alerts (not_proven)\" left_out=7"), "{line}");
        stop.cancel();
        working.await.unwrap();
    }

    async fn a_failed_request_is_one_line_with_its_code(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        let logs = Logs::keep();
        server.get(&shop.key, "/api/v1/payment/none").await.fails(404, "");
        server.get("tb_live_wrong", "/api/v1/payments").await.fails(401, "");
        server.create(&shop, r#""amount": 0, "payer_name": """#).await.fails(422, "");
        server.create(&shop, r#""webhook_url": "https://zobo-bar.com/in""#).await.fails(400, "");
        let said: Vec<String> = lines(&logs, "method=").into_iter().filter(|line| line.contains("INFO")).collect();
        let codes = ["payment_not_found", "api_key_invalid", "invalid_fields", "website_not_approved"];
        assert_eq!(said.len(), codes.len(), "{said:#?}");
        for (line, code) in said.iter().zip(codes) {
            assert!(line.contains(&format!("code=\"{code}\"")), "{line}");
            let (_, ms) = line.split_once("ms=").unwrap();
            let ms = ms.split(' ').next().unwrap();
            assert!(ms.split_once('.').is_none_or(|(_, digits)| digits.len() <= 3), "{line}");
        }
        server.running.stop().await;
    }

    async fn a_failed_webhook_attempt_is_one_line_without_path_or_query(db: TestDatabase) {
        let world = World::new(&db).await;
        let logs = Logs::keep();
        world.receiver.answer_otherwise(Answer::status(503).header("retry-after", "600"));
        let told = world.tell("/hook-of-canary?token=canary").await;
        world.work().await;
        let delivery = world.delivery(&told).await;
        let said = lines(&logs, "a webhook attempt failed");
        assert_eq!(said.len(), 1, "{said:#?}");
        for part in [
            "WARN".to_owned(),
            format!("business={} delivery={} host=\"127.0.0.1\" status=503 ", world.business, delivery.id),
            "cause=\"HTTP 503 Service Unavailable, Retry-After: 600 s\" attempt=1 ".to_owned(),
            format!("next_at={}", delivery.run_at),
        ] {
            assert!(said[0].contains(&part), "{part}: {}", said[0]);
        }
        for n in 2..=RETRY_SCHEDULE.len() {
            world.advance(Span::hours(30));
            assert_eq!(world.work().await, 1, "attempt {n}");
        }
        assert_eq!(lines(&logs, "a webhook attempt failed").len(), RETRY_SCHEDULE.len() - 1);
        let last = lines(&logs, "a webhook failed for good");
        assert!(last.len() == 1 && last[0].contains("ERROR") && last[0].contains("attempt=10"), "{last:?}");
        world.receiver.answer_otherwise(Answer::status(410));
        world.tell("/hook-of-canary?token=canary").await;
        world.work().await;
        let gone = lines(&logs, "answered 410 and is paused");
        assert!(gone.len() == 1 && gone[0].contains("host=\"127.0.0.1\" status=410"), "{gone:?}");
        let ours = lines(&logs, "tillbell::");
        assert!(ours.iter().all(|line| !line.contains("canary")), "{ours:#?}");
    }

    async fn a_receiver_that_is_down_does_not_fill_the_log(db: TestDatabase) {
        let world = World::new(&db).await;
        let logs = Logs::keep();
        world.receiver.answer_otherwise(Answer::status(500));
        let most = LINES_MAX as usize;
        for _ in 0..most + 12 {
            world.tell("/hook").await;
        }
        assert_eq!(world.work().await, most + 12);
        assert_eq!(lines(&logs, "a webhook attempt failed").len(), most);
        world.advance(WINDOW);
        world.work().await;
        let said = lines(&logs, "a webhook attempt failed");
        assert_eq!(said.iter().filter(|line| line.contains("left_out=12")).count(), 1, "{said:#?}");
    }

    async fn a_database_that_is_away_does_not_fill_the_log(db: TestDatabase) {
        let (engine, url) = (db.engine(), db.url().to_owned());
        let roles = Roles { api: true, pages: true, mail: false, work: false };
        let site = Site::with_roles(db, DEV, roles).await;
        site.w.t.without_audit("its database is taken away");
        let (_, link) = site.w.ready(20_000, 5_000).await;
        let made = add_key(&site.w.t.app, "ada", site.w.shop.id, Mode::Live, None, None).await.unwrap().unwrap();
        let key = format!("X-API-Key: {}", made.text.as_str());
        let form = site.get(&link).await.form("pin");
        site.w.t.account(ACCOUNT).await;
        let logs = Logs::keep();
        take_away(engine, &url).await;
        site.w.t.app.directory.forget();
        let fail = async || {
            let body = r#"{"amount": 4300, "payer_name": "Zara Lami Gyang", "webhook_url": "https://adire.example/hook"}"#;
            let path = "/api/v1/payment-request";
            let api = site.send("POST", path, &[key.as_str(), "Content-Type: application/json"], Some(body)).await;
            assert_eq!((api.status, api.header("retry-after")), (503, Some("2")), "{api:?}");
            // SQLite can still be read, and shows the payment that the form leads back to.
            let told = match engine {
                Engine::Postgres => "Something went wrong on our side",
                Engine::Sqlite => "We could not finish what you asked for",
            };
            site.submit(&link, &form, &[("pin", "4071")]).await.is(503, told);
        };
        for _ in 0..5 {
            fail().await;
        }
        for place in ["a request failed", "a page could not be shown"] {
            let said = lines(&logs, place);
            assert!(said.len() == 1 && said[0].contains("WARN") && said[0].contains("not available"), "{said:#?}");
            assert!(!said[0].contains("left_out"), "{said:#?}");
        }
        site.w.t.advance(AWAY_WINDOW);
        fail().await;
        // The form, and the look that it leads to.
        let of_pages = if engine == Engine::Postgres { 9 } else { 4 };
        for (place, left_out) in [("a request failed", 4), ("a page could not be shown", of_pages)] {
            let said = lines(&logs, place);
            assert!(said.len() == 2 && said[1].contains(&format!("left_out={left_out}")), "{said:#?}");
        }
        if engine == Engine::Postgres {
            let look = site.get(&link).await;
            let words = "You have not paid anything by opening it. Try again in a minute.";
            look.is(503, &format!("We cannot show this payment right now {words}"));
            assert_eq!(look.attributes("a.main", "href"), [Some("?".to_owned())], "{}", look.body);
        }
        if engine == Engine::Postgres {
            let ready = site.send("GET", "/readyz", &[], None).await;
            assert!(ready.status == 503 && ready.body.contains("the database cannot be reached"), "{ready:?}");
        }
        // SQLite can be read all the time, so whoever looks may say so early.
        assert!(engine == Engine::Sqlite || lines(&logs, "the database answers again").is_empty());
        give_back(engine, &url).await;
        let back = async {
            while lines(&logs, "the database answers again").is_empty() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(DEADLINE, back).await.unwrap();
        let told = lines(&logs, "the database answers again").len();
        assert!(told == 1 || engine == Engine::Sqlite, "{told}");
        site.running.stop().await;
    }

    async fn an_alert_that_cannot_be_decided_is_told_and_never_given_up(db: TestDatabase) {
        let (t, _) = world(db).await;
        // What adding the account left to do.
        t.advance(Span::seconds(5));
        work::run_due(&t.app).await.unwrap();
        let metrics = metrics_exporter_prometheus::PrometheusBuilder::new().install_recorder().unwrap();
        let logs = Logs::keep();
        let id = t.ingest(&alert(&t, 5_830, PAYER).text()).await.alert_id;
        // Its row cannot be read any more, as after a fault of the storage.
        set(&t, "update alerts set status = 'new', authenticity = authenticity || '~' where id = $1", id).await;
        let job = t.app.store.id(IdKind::Job).await.unwrap();
        let now = t.app.now();
        let unit = t.app.store.unit(id).await.unwrap();
        let unit = unit.step(jobs::enqueue(job, JobKind::Decide, 0, id, now, now));
        assert!(t.app.store.apply(unit).await.unwrap().is_done());
        let counted = |n: usize| metrics.render().contains(&format!("{{kind=\"alert_undecided\"}} {n}\n"));
        for failures in 1..=13 {
            assert_eq!(work::run_due(&t.app).await.unwrap(), 1, "{failures}");
            let alarms = lines(&logs, "ALARM: an alert cannot be decided");
            let expected = usize::from(failures >= 5) + usize::from(failures >= 12);
            assert_eq!(alarms.len(), expected, "after {failures}: {alarms:#?}");
            assert!(alarms.iter().all(|line| line.contains("ERROR") && line.contains(&format!("alert={id} "))));
            assert!(counted(expected) || expected == 0, "{}", metrics.render());
            t.advance(Span::minutes(10));
        }
        set(&t, "update alerts set authenticity = replace(authenticity, '~', '') where id = $1", id).await;
        assert_eq!(work::run_due(&t.app).await.unwrap(), 1);
        assert_eq!(t.app.store.alert(id).await.unwrap().unwrap().status, AlertStatus::Unmatched);
    }
}

/// A statement about one alert that this program has no need of.
pub async fn set(t: &TestApp, text: &'static str, alert_id: i64) {
    let sql: &'static Sql = Box::leak(Box::new(Sql::new("BY_HAND", Text::Plain(text))));
    let unit = t.app.store.unit(alert_id).await.unwrap();
    let unit = unit.step(Step::one(sql, vec![alert_id.into()]));
    assert!(t.app.store.apply(unit).await.unwrap().is_done());
}
