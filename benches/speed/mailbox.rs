//! From a mail in the mailbox to the approved payment: a real dovecot, the release binary as a
//! process of its own, IDLE. Mails one by one, a burst, and a backlog with the memory it takes.
//!
//! Every mail pays one open payment and is signed as its bank would; a name server beside us has the
//! key.

use std::time::{Duration, Instant};

use tillbell::domain::money::Money;
use tillbell::domain::payment::{Payment, Status};
use tillbell::domain::time::Span;

use crate::dovecot::Dovecot;
use crate::mails::Alert;
use crate::name_server::{NameServer, Say};
use crate::report::{Goal, Report};
use crate::server::{Postgres, Server};
use crate::signing::{Signer, record};
use crate::world::{Dice, World, payment_steps, said};
use crate::{Size, scratch};

const ACCOUNT: &str = "0123454417";
const HOOK: &str = "https://shop0.example/hook";
const ENOUGH: Duration = Duration::from_secs(600);
/// Goals: p95 of mails one by one, the whole burst, the backlog and its memory.
const ONE_BY_ONE_MS: f64 = 1_000.0;
const BURST_SECONDS: f64 = 5.0;
const BACKLOG_RATE: f64 = 300.0;
const BACKLOG_MB: f64 = 200.0;
/// Between two single mails; no multiple of any wait of the server's.
const PAUSE: Duration = Duration::from_millis(137);

pub async fn run(report: &mut Report, size: &Size, postgres: Option<&Postgres>) {
    let folder = scratch();
    let mut urls = vec![("SQLite", format!("sqlite:{}", folder.path().join("mailbox.db").display()))];
    urls.extend(postgres.map(|server| ("PostgreSQL", server.database("mailbox"))));
    let names = NameServer::start().await;
    names.say("mail._domainkey.gtbank.com", Say::Text(record("rsa2048")));
    for (name, url) in urls {
        let bench = Bench {
            world: World::new(&url, 1, "").await,
            dovecot: Dovecot::start().await,
            url,
            dns: names.address.to_string(),
        };
        bench.measure(report, size, name, folder.path()).await;
    }
}

struct Bench {
    world: World,
    dovecot: Dovecot,
    url: String,
    dns: String,
}

impl Bench {
    async fn measure(&self, report: &mut Report, size: &Size, name: &str, folder: &std::path::Path) {
        let singles = self.payments(size.of(200, 20), 1).await;
        let burst = self.payments(size.of(1_000, 100), 2).await;
        let backlog = self.payments(size.of(20_000, 2_000), 3).await;
        {
            let server = self.serve(folder);
            // The first one warms caches and the connection.
            self.one_by_one(&singles[..1]).await;
            let mut times = self.one_by_one(&singles[1..]).await;
            times.sort_by(f64::total_cmp);
            let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
            let notes = format!(
                "median {:.0} ms, slowest {:.0} ms; dovecot tells of a mail up to 500 ms late",
                at(0.5),
                at(1.0)
            );
            let what = format!("mail to approval, one by one, p95, {name}");
            report.add(&what, "ms", at(0.95), ONE_BY_ONE_MS, Goal::Below, &notes);
            let mails = self.mails(&burst);
            let began = Instant::now();
            self.deliver(&mails);
            let delivered = began.elapsed();
            self.until_approved(&burst).await;
            let what = format!("a burst of {} mails to approvals, {name}", burst.len());
            let notes = format!(
                "from the first delivery to the last approval; delivering took {:.1} s",
                delivered.as_secs_f64()
            );
            report.add(&what, "s", began.elapsed().as_secs_f64(), BURST_SECONDS, Goal::Below, &notes);
            server.end();
        }
        let began = Instant::now();
        self.deliver(&self.mails(&backlog));
        said(&format!("{} mails delivered", backlog.len()), began);
        let began = Instant::now();
        let server = self.serve(folder);
        let most = self.until_all(&backlog, Some(&server)).await;
        let rate = backlog.len() as f64 / began.elapsed().as_secs_f64();
        let what = format!("a backlog of {} mails, {name}", backlog.len());
        let notes = "from the start of the program to the last approval, 4 KB of mail each or less";
        report.add(&what, "/s", rate, BACKLOG_RATE, Goal::AtLeast, notes);
        report.add(
            &format!("memory while reading it, {name}"),
            "MB",
            most,
            BACKLOG_MB,
            Goal::Below,
            "the greatest seen",
        );
    }

    fn serve(&self, folder: &std::path::Path) -> Server {
        let mailbox = format!(
            "[{{host = \"localhost\", port = {}, tls = \"tls\", user = \"till\", password = \"secret\", \
             ca_file = {:?}}}]",
            self.dovecot.tls_port,
            self.dovecot.ca_file()
        );
        let dns = format!("[\"{}\"]", self.dns);
        Server::tillbell_with(&self.url, folder, "mail", &[("MAIL__IMAP", &mailbox), ("MAIL__DNS", &dns)])
    }

    /// Open payments of amounts that no other has.
    async fn payments(&self, count: usize, part: i64) -> Vec<Payment> {
        let mut dice = Dice(part as u64);
        let mut steps = Vec::new();
        let mut all = Vec::with_capacity(count);
        for n in 0..count {
            let amount = Money(100 * (part * 1_000_000 + 3 * n as i64));
            let payment = self.world.payment(0, amount, dice.name(), HOOK).await;
            self.world.pour(&mut steps, payment_steps(&payment)).await;
            all.push(payment);
        }
        self.world.flush(steps).await;
        all
    }

    /// Signed mails that pay these.
    fn mails(&self, payments: &[Payment]) -> Vec<String> {
        let at = self.world.app.now() - Span::seconds(1);
        let pays = |payment: &Payment| {
            Alert::credit(ACCOUNT, payment.amount.kobo() / 100, &payment.payer_name, at).text()
        };
        payments.iter().map(|payment| Signer::bank().sign(&pays(payment))).collect()
    }

    fn deliver(&self, mails: &[String]) {
        for mail in mails {
            self.dovecot.deliver("till", mail);
        }
    }

    /// Milliseconds from delivery to approval of each.
    async fn one_by_one(&self, payments: &[Payment]) -> Vec<f64> {
        let mut times = Vec::new();
        for payment in payments {
            tokio::time::sleep(PAUSE).await;
            let mails = self.mails(std::slice::from_ref(payment));
            let began = Instant::now();
            self.deliver(&mails);
            self.until_approved(std::slice::from_ref(payment)).await;
            times.push(began.elapsed().as_secs_f64() * 1_000.0);
        }
        times
    }

    async fn until_approved(&self, payments: &[Payment]) {
        self.until_all(payments, None).await;
    }

    /// Waits until all are approved; answers the most memory of the server seen meanwhile.
    async fn until_all(&self, payments: &[Payment], server: Option<&Server>) -> f64 {
        let began = Instant::now();
        let pause = Duration::from_millis(if payments.len() == 1 { 2 } else { 50 });
        let (mut done, mut most) = (0, 0.0_f64);
        while done < payments.len() {
            most = server.map_or(most, |server| most.max(server.rss_mb()));
            let payment = self.world.app.store.payment(payments[done].id).await.expect("the store");
            if payment.is_some_and(|payment| payment.status == Status::Approved) {
                done += 1;
                continue;
            }
            assert!(began.elapsed() < ENOUGH, "{done} of {} were approved", payments.len());
            tokio::time::sleep(pause).await;
        }
        most
    }
}
