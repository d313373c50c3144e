//! The real program killed between each two steps of a payout: while it is asked for, cancelled, handed to the bank and
//! marked. Whoever asks again finds one payout, money that is set aside once, and one event.

use std::collections::BTreeSet;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tillbell::domain::merchant::Mode;
use tillbell::domain::time::Span;
use tillbell::domain::user::MemberRole;
use tillbell::ops::merchants::keys::add_key;
use tillbell::store::Step;
use tillbell::store::engine::sql::{Sql, Text};

use super::world::{GIVEN, OWNER, funded, member, ready_account, standing};
use crate::crashes::{Service, now, request_with, serve};
use crate::harness::app::{Merchant, TestApp, world};
use crate::harness::databases::TestDatabase;

const BINARY: &str = env!("CARGO_BIN_EXE_tillbell");
/// Each Unit of these acts is within so many of a process.
const PASSES: [u32; 3] = [1, 2, 3];
const POINTS: [&str; 3] = ["store.before_commit", "store.between_statements", "store.after_commit"];

struct Bank {
    t: TestApp,
    shop: Merchant,
    key: String,
    account: i64,
    /// How often a process died at its point.
    killed: usize,
}

/// Every point and pass, armed.
fn points() -> impl Iterator<Item = String> {
    POINTS.iter().flat_map(|point| PASSES.map(|pass| format!("{point}:{pass}")))
}

impl Bank {
    /// A business with money, on the machine's own clock, for that is what the killed processes run on.
    async fn new(db: TestDatabase) -> Bank {
        let (t, shop) = world(db).await;
        t.clock.set(now() - Span::days(2));
        let owner = member(&t, &shop, OWNER, MemberRole::Owner).await;
        funded(&t, &shop, 90_000).await;
        let account = ready_account(&t, &shop, owner, &GIVEN).await.id;
        let key = add_key(&t.app, "ada", shop.id, Mode::Live, None, None).await.unwrap().unwrap();
        t.clock.set(now());
        let here = Bank { key: key.text.to_string(), account, t, shop, killed: 0 };
        let (id, hook) = (here.shop.id.to_string(), "https://adire.example/hook");
        let set = ["business", "set", &id, "--events", "payout.paid", "--webhook-url", hook];
        for arguments in [&["migrate"][..], &set] {
            let output = here.command(arguments).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        here
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command
            .args(arguments)
            .env("TILLBELL_DATABASE__URL", self.t.database().url())
            .env("TILLBELL_SECRET__KEY_FILE", self.t.key_file())
            .env("TILLBELL_SERVER__LISTEN", "127.0.0.1:0")
            .env("TILLBELL_SERVER__DEV", "true")
            .env_remove("TILLBELL_CRASH_AT");
        command
    }

    fn serve(&self, crash_at: Option<&str>) -> Option<Service> {
        let mut command = self.command(&["serve", "--role", "api"]);
        if let Some(point) = crash_at {
            command.env("TILLBELL_CRASH_AT", point);
        }
        serve(command)
    }

    /// Runs a command that may die, and then once more to its end; what both wrote.
    fn twice(&mut self, arguments: &[&str], point: &str) -> [Output; 2] {
        let first = self.command(arguments).env("TILLBELL_CRASH_AT", point).output().unwrap();
        self.killed += usize::from(first.status.code().is_none());
        [first, self.command(arguments).output().unwrap()]
    }

    /// Asks a service that may die, and then another one.
    async fn ask(&mut self, path: &str, key: &str, body: &Value, point: &str) -> Value {
        let head = format!("POST /api/v1{path}");
        let lines = [format!("X-API-Key: {}", self.key), format!("Idempotency-Key: {key}")];
        let body = body.to_string();
        let mut answered = None;
        if let Some(service) = self.serve(Some(point)) {
            answered = request_with(service.address, &head, &lines, &body).await;
        }
        self.killed += usize::from(answered.is_none());
        let service = self.serve(None).expect("it starts again");
        let ask = || request_with(service.address, &head, &lines, &body);
        let (mut status, mut told) = ask().await.expect("an answer");
        if status == 409 {
            self.end_leases().await;
            (status, told) = ask().await.expect("an answer");
        }
        assert!(status < 300, "{point}: {status} {told}");
        if let Some((_, first)) = answered {
            assert_eq!(first["data"]["id"], told["data"]["id"], "{point}");
        }
        told["data"].clone()
    }

    /// As if half a minute had gone by: whoever died with a key in hand holds it no more.
    async fn end_leases(&self) {
        static END_LEASES: Sql = Sql::new(
            "END_LEASES",
            Text::Plain("update idempotency_keys set running_until_at = created_at where status is null"),
        );
        let unit =
            self.t.app.store.unit(self.shop.id).await.unwrap().step(Step::one(&END_LEASES, Vec::new()));
        assert!(self.t.app.store.apply(unit).await.unwrap().is_done());
    }

    /// Ids in a file for the bank, by the references that stand in it.
    fn handed_over(&self, output: &Output, known: &[(i64, String)]) -> BTreeSet<i64> {
        let file = String::from_utf8_lossy(&output.stdout).into_owned();
        known.iter().filter(|(_, code)| file.contains(code.as_str())).map(|(id, _)| *id).collect()
    }

    fn payouts(&self) -> Vec<Value> {
        let output = self.command(&["payout", "list", "--limit", "1000", "--json"]).output().unwrap();
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        told["payouts"].as_array().unwrap().clone()
    }
}

on_both! {
    async fn a_payout_killed_at_any_step_is_one_and_moves_its_money_once(db: TestDatabase) {
        let mut here = Bank::new(db).await;
        let (all, _) = standing(&here.t, &here.shop).await;
        let mut asked = Vec::new();
        for (n, point) in points().enumerate() {
            let body = json!({ "amount": 100 + n, "payout_account_id": here.account });
            let made = here.ask("/payouts", &format!("ask-{n}"), &body, &point).await;
            asked.push((made["id"].as_i64().unwrap(), made["transfer_reference"].as_str().unwrap().to_owned()));
        }
        assert!(here.killed >= POINTS.len(), "nothing was killed");
        let sum = |of: &[Value]| of.iter().map(|one| one["amount"].as_f64().unwrap() as i64 * 100).sum::<i64>();
        assert_eq!(here.payouts().len(), asked.len());
        let reserved = sum(&here.payouts());
        assert_eq!(standing(&here.t, &here.shop).await, (all - reserved, reserved));

        // Cancelled: the first two of them.
        here.killed = 0;
        for (point, (id, _)) in ["store.before_commit:1", "store.after_commit:1"].into_iter().zip(&asked) {
            let gone = here.ask(&format!("/payouts/{id}/cancel"), &format!("cancel-{id}"), &json!({}), point).await;
            assert_eq!(gone["status"], "cancelled");
        }
        assert!(here.killed > 0, "nothing was killed");
        let left: Vec<Value> = here.payouts().into_iter().filter(|one| one["status"] == "pending").collect();
        assert_eq!(left.len(), asked.len() - 2);
        assert_eq!(standing(&here.t, &here.shop).await, (all - sum(&left), sum(&left)));

        // Handed to the bank: in one first file only, and none is in no file.
        here.killed = 0;
        let open: Vec<(i64, String)> = asked[2..].to_vec();
        let (mut files, mut first_files) = (BTreeSet::new(), Vec::new());
        for point in points() {
            for output in here.twice(&["payout", "export", "--format", "csv"], &point) {
                first_files.extend(here.handed_over(&output, &open));
            }
            let again = here.command(&["payout", "export", "--format", "csv", "--again"]).output().unwrap();
            files.extend(here.handed_over(&again, &open));
        }
        let once: BTreeSet<i64> = first_files.iter().copied().collect();
        assert_eq!(once.len(), first_files.len(), "in two first files: {first_files:?}");
        assert_eq!(files, open.iter().map(|(id, _)| *id).collect(), "in no file");
        assert!(here.killed > 0, "nothing was killed");

        // Marked: each is paid once, or refused once.
        here.killed = 0;
        for (n, (point, (id, _))) in points().zip(&open).enumerate() {
            let id = id.to_string();
            let why = if n % 2 == 0 { ["--reference", "FT26031012"] } else { ["--reason", "the account is closed"] };
            let outcome = if n % 2 == 0 { "paid" } else { "refused" };
            let [_, second] = here.twice(&["payout", "mark", &id, "--outcome", outcome, why[0], why[1]], &point);
            let told = String::from_utf8_lossy(&second.stderr).into_owned();
            let shown = here.command(&["payout", "show", &id, "--json"]).output().unwrap();
            let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
            assert_eq!(shown["status"], outcome, "{point}: {told}");
        }
        assert!(here.killed > 0, "nothing was killed");
        let paid: Vec<Value> = here.payouts().into_iter().filter(|one| one["status"] == "paid").collect();
        assert_eq!(standing(&here.t, &here.shop).await, (all - sum(&paid), 0));
        let mut told = here.t.app.store.deliveries(false, 1_000).await.unwrap();
        told.retain(|one| one.event == "payout.paid");
        assert_eq!(told.len(), paid.len(), "each is told once");
        let audit = here.command(&["audit", "--json"]).output().unwrap();
        let audit: Value = serde_json::from_slice(&audit.stdout).unwrap();
        assert_eq!(audit["ok"], true, "{audit}");
    }
}
