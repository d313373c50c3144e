//! The hand that holds the store's gate: it says whose turn it is, and draws faults.

use std::sync::{Mutex, MutexGuard};

use futures_util::future::BoxFuture;
use tillbell::store::StoreError;
use tillbell::store::gate::{Gate, Point};
use tokio::sync::oneshot;

/// Of a thousand Units so many are refused, are made without an answer, and end the process before or after.
const REFUSED: u64 = 20;
const UNANSWERED: u64 = 20;
const DYING: u64 = 8;

#[derive(Debug, Default)]
pub struct Hand(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    dice: u64,
    /// Whose calls come now.
    current: usize,
    /// Calls that wait for their task's turn.
    waiting: Vec<(usize, oneshot::Sender<()>)>,
    /// Calls that the store has and did not answer yet.
    under_way: usize,
    /// What whoever's turn it is draws are pauses.
    draws_pauses: bool,
    /// Whoever's turn it is pauses, for no time.
    is_pausing: bool,
    /// Nothing is held and nothing goes wrong.
    is_open: bool,
    is_dead: bool,
    /// Everything that passed, in order.
    trace: u64,
    pub passes: u64,
}

fn unavailable(why: &str) -> StoreError {
    StoreError::Unavailable(why.to_owned())
}

impl State {
    /// splitmix64: small, and the same everywhere.
    fn draw(&mut self) -> u64 {
        self.dice = self.dice.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.dice;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn note(&mut self, what: u64) {
        self.trace = (self.trace ^ what).wrapping_mul(0x0100_0000_01b3).rotate_left(7);
        self.passes += 1;
    }

    /// What becomes of a Unit: nothing bad, an error, or `None` for death.
    fn fate(&mut self, is_before: bool) -> Option<Result<(), StoreError>> {
        let drawn = self.draw() % 1000;
        let fault = if is_before { REFUSED } else { UNANSWERED };
        let fate = match drawn {
            n if n < fault => Some(Err(unavailable("drawn from the seed"))),
            n if n < fault + DYING => None,
            _ => Some(Ok(())),
        };
        self.is_dead |= fate.is_none();
        fate
    }
}

impl Hand {
    pub fn new(seed: u64) -> Hand {
        Hand(Mutex::new(State { dice: seed, ..State::default() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub fn draw(&self, below: u64) -> u64 {
        self.state().draw() % below
    }

    pub fn note(&self, what: u64) {
        self.state().note(what);
    }

    /// Everything that happened so far, in one number, and how much it was.
    pub fn trace(&self) -> (u64, u64) {
        let state = self.state();
        (state.trace, state.passes)
    }

    /// From now on nothing is held and nothing goes wrong.
    pub fn open(&self) {
        let mut state = self.state();
        *state = State { is_open: true, trace: state.trace, passes: state.passes, ..State::default() };
    }

    /// Lets everything pass, and draws nothing, until it goes on.
    pub fn pause(&self) {
        self.state().is_open = true;
    }

    pub fn go_on(&self) {
        self.state().is_open = false;
    }

    /// The process starts again.
    pub fn revive(&self) {
        let mut state = self.state();
        (state.is_dead, state.under_way) = (false, 0);
        state.waiting.clear();
    }

    pub fn is_dead(&self) -> bool {
        self.state().is_dead
    }

    /// Comes at the turn of whose turn it is now.
    fn line_up(&self) -> oneshot::Receiver<()> {
        let (go, turn) = oneshot::channel();
        let mut state = self.state();
        let current = state.current;
        state.waiting.push((current, go));
        turn
    }

    /// Whose turn it is draws a number: whether it is how long to pause.
    pub fn pauses(&self) -> bool {
        let mut state = self.state();
        state.is_pausing = state.draws_pauses;
        state.draws_pauses
    }

    pub fn is_pausing(&self) -> bool {
        self.state().is_pausing
    }

    /// Whether the store has nothing to answer: then a task that is not done waits for its turn, for another one, or
    /// for time to pass.
    pub fn is_quiet(&self) -> bool {
        self.state().under_way == 0
    }

    pub fn is_waiting(&self, task: usize) -> bool {
        self.state().waiting.iter().any(|(of, _)| *of == task)
    }

    /// It is this task's turn: its calls go on.
    pub fn turn(&self, task: usize, draws_pauses: bool) {
        let mut state = self.state();
        (state.current, state.is_pausing, state.draws_pauses) = (task, false, draws_pauses);
        state.note(task as u64);
        let (own, others) = std::mem::take(&mut state.waiting).into_iter().partition(|(of, _)| *of == task);
        state.waiting = others;
        drop(state);
        let own: Vec<(usize, oneshot::Sender<()>)> = own;
        for (_, go) in own {
            let _ = go.send(());
        }
    }
}

impl Gate for Hand {
    fn pass(&self, point: Point) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            if self.state().is_open {
                return Ok(());
            }
            let is_asked = matches!(point, Point::BeforeRead | Point::BeforeUnit);
            if is_asked && self.line_up().await.is_err() {
                return std::future::pending().await;
            }
            let fate = {
                let mut state = self.state();
                match point {
                    // Of reads at the same time nobody can say which is answered first.
                    Point::BeforeRead => {
                        state.under_way += 1;
                        state.passes += 1;
                        Some(Ok(()))
                    }
                    Point::AfterRead => {
                        state.under_way -= 1;
                        Some(Ok(()))
                    }
                    Point::BeforeUnit => {
                        let passes = state.passes;
                        state.note(passes);
                        let fate = state.fate(true);
                        if matches!(fate, Some(Ok(()))) {
                            state.under_way += 1;
                        }
                        fate
                    }
                    Point::AfterUnit => {
                        state.under_way -= 1;
                        state.fate(false)
                    }
                }
            };
            match fate {
                Some(fate) => fate,
                None => std::future::pending().await,
            }
        })
    }
}
