//! The whole of tillbell under random faults, judged from outside: what callers were told, what receivers heard, and what the
//! books say must agree, whatever died, stood still or was cut off meanwhile (docs/torture.md).
//!
//! A generator asks for payments and hands in the mails of their money; a nemesis kills, stops and cuts; then all is mended, and
//! the judge waits until everything is as it must be. `./test` runs it for some seconds on each database with a seed of its
//! own; `make torture HOURS=n` for hours, with the seed that is printed or given.

mod generator;
mod history;
mod judge;
mod nemesis;
mod world;

use std::time::Duration;

use tillbell::clock::{Random, SeededRandom, SystemRandom};

use history::History;
use world::World;

use crate::harness::databases::TestDatabase;

/// Without another wish.
const SECONDS: u64 = 12;

/// Numbers that are the same for the same seed.
pub struct Dice(SeededRandom);

impl Dice {
    /// One of `n`, from 0.
    pub fn below(&self, n: u64) -> u64 {
        self.0.next_u64() % n.max(1)
    }

    /// True so many times of a hundred.
    pub fn percent(&self, n: u64) -> bool {
        self.below(100) < n
    }

    pub fn one_of<'a, T>(&self, all: &'a [T]) -> &'a T {
        &all[usize::try_from(self.below(all.len() as u64)).unwrap_or(0)]
    }

    /// Dice of their own for somebody else.
    pub fn more(&self) -> Dice {
        Dice(SeededRandom::new(self.0.next_u64()))
    }
}

fn wished(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

async fn torture(database: TestDatabase, nodes: usize) {
    let seed = wished("TILLBELL_TORTURE_SEED").unwrap_or_else(|| SystemRandom.next_u64() % 1_000_000);
    let length = Duration::from_secs(wished("TILLBELL_TORTURE_SECONDS").unwrap_or(SECONDS));
    println!("seed {seed}, {} s, {nodes} nodes", length.as_secs());
    let dice = Dice(SeededRandom::new(seed));
    let world = World::new(database, nodes).await;
    let history = History::default();
    let until = tokio::time::Instant::now() + length;
    let (ingesting, breaking) = (dice.more(), dice.more());
    tokio::join!(
        generator::ask(&world, &history, &dice, until),
        generator::hand_in(&world, &history, &ingesting, until),
        nemesis::run(&world, &history, &breaking, until),
    );
    println!("{}", history.told());
    world.mend().await;
    generator::hand_in_the_rest(&world, &history).await;
    judge::judge(&world, &history).await;
    println!("right: {}", history.told());
}

on_both! {
    async fn nothing_is_lost_and_nothing_is_twice_whatever_dies(db: TestDatabase) {
        let nodes = if db.engine() == crate::harness::databases::Engine::Sqlite { 1 } else { 3 };
        torture(db, nodes).await;
    }
}
