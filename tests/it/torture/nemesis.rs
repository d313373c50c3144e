//! What goes wrong: nodes die, stand still for longer than their leases, lose their database; receivers fail.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Dice;
use super::history::History;
use super::world::World;
use crate::harness::databases::connect;
use crate::harness::proxy::{Direction, Fault};
use crate::harness::receiver::Answer;

/// Where a node dies by itself, at the so-many-th time.
const POINTS: [&str; 5] = [
    "store.before_commit",
    "store.after_commit",
    "store.between_statements",
    "work.after_answer",
    "events.before_places",
];
/// A node that stands still for so long has lost all its leases.
const PAST_LEASES: Duration = Duration::from_secs(150);
/// In a run that is shorter nothing stands still for so long.
const LONG_RUN: Duration = Duration::from_secs(600);

pub async fn run(world: &World, history: &History, dice: &Dice, until: Instant) {
    let is_long = until - Instant::now() >= LONG_RUN;
    while Instant::now() < until {
        let n = usize::try_from(dice.below(world.nodes.len() as u64)).unwrap();
        match dice.below(if world.proxy.is_some() { 8 } else { 5 }) {
            0 => {
                history.fault("killed");
                world.kill(n);
                sleep(Duration::from_millis(dice.below(1_500))).await;
                start(world, n, None).await;
            }
            1 => {
                history.fault("died by itself");
                let point = format!("{}:{}", dice.one_of(&POINTS), 1 + dice.below(60));
                world.kill(n);
                start(world, n, Some(point)).await;
            }
            2 => {
                history.fault("stood still");
                let still = if is_long && dice.percent(20) {
                    PAST_LEASES
                } else {
                    Duration::from_millis(dice.below(4_000))
                };
                world.signal(n, "-STOP");
                sleep(still).await;
                world.signal(n, "-CONT");
            }
            3 => {
                history.fault("receiver failed");
                let answer = *dice.one_of(&[500, 503, 429, 404]);
                world.here.receiver().answer_otherwise(Answer::status(answer));
                sleep(Duration::from_millis(dice.below(3_000))).await;
                world.here.receiver().answer_otherwise(Answer::status(200));
            }
            4 => {
                history.fault("receiver answered too late");
                let late = Answer::status(200).after(Duration::from_secs(3));
                world.here.receiver().answer_otherwise(late);
                sleep(Duration::from_millis(dice.below(2_000))).await;
                world.here.receiver().answer_otherwise(Answer::status(200));
            }
            5 => {
                history.fault("database cut off");
                let proxy = world.proxy.as_ref().expect("a proxy");
                proxy.set(Fault::CutAfter(dice.below(20_000)));
                sleep(Duration::from_millis(dice.below(3_000))).await;
                proxy.set(Fault::Pass);
            }
            6 => {
                history.fault("database silent");
                let direction = *dice.one_of(&[Direction::ToServer, Direction::ToClient]);
                let proxy = world.proxy.as_ref().expect("a proxy");
                proxy.set_one(direction, Fault::Blackhole);
                sleep(Duration::from_millis(dice.below(8_000))).await;
                proxy.set(Fault::Pass);
            }
            _ => {
                history.fault("database ended all connections");
                let server = connect(world.here.database.url()).await;
                let end = "select pg_terminate_backend(pid) from pg_stat_activity \
                           where datname = current_database() and pid <> pg_backend_pid()";
                server.query(end, &[]).await.expect("the server ends connections");
            }
        }
        sleep(Duration::from_millis(300 + dice.below(2_000))).await;
        // Who died by itself is started as a service manager would.
        for n in 0..world.nodes.len() {
            start(world, n, None).await;
        }
    }
}

/// Waits for a line of the program, which blocks.
async fn start(world: &World, n: usize, crash_at: Option<String>) {
    tokio::task::block_in_place(|| world.start(n, crash_at.as_deref()));
}
