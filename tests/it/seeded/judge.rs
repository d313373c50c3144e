//! What an operator sees after a seed: everything is decided, nothing twice, the books are true, and what anybody was
//! told is so.

use rusqlite::Connection;
use tillbell::domain::time::Span;
use tillbell::ops::ledger::audit::audit;
use tillbell::ops::ledger::seal::seal;

use super::Play;
use super::deeds::{Deed, OfOrder, What, Words};

pub async fn judge(play: &Play<'_>, deeds: &[Deed]) {
    play.hand.open();
    let seed = play.seed;
    let app = play.ground.open(&play.file, &play.clock, &play.hand, seed).await;
    for _ in 0..3 {
        tillbell::work::run_due(&app).await.unwrap();
        play.clock.advance(Span::minutes(10));
    }
    while !app.store.unsealed_entries(1).await.unwrap().is_empty() {
        seal(&app).await.unwrap();
    }
    for check in audit(&app).await.unwrap() {
        assert_eq!(check.violations, 0, "seed {seed}: {check:?}");
    }
    drop(app);
    let books = Books { seed, file: Connection::open(&play.file).unwrap() };
    books.orders(play, deeds);
    books.topups(&play.told.words());
    books.payouts(&play.told.words());
    let approved = "select count(*) from payments where status = 'approved'";
    books.are("select count(*) from alerts where status = 'new'", 0);
    books.are("select count(*) from settlements", books.count(approved, ()));
    for what in [
        approved,
        "select coalesce(sum(received_kobo), 0) from settlements",
        "select count(*) from alerts where status = 'review'",
        "select coalesce(sum(amount_kobo), 0) from payouts where status = 'paid'",
    ] {
        play.hand.note(books.count(what, ()) as u64);
    }
}

/// The database of a seed, once nobody works on it.
struct Books {
    seed: u64,
    file: Connection,
}

impl Books {
    fn count(&self, text: &str, values: impl rusqlite::Params) -> i64 {
        self.file.query_row(text, values, |row| row.get(0)).unwrap()
    }

    fn are(&self, text: &str, expected: i64) {
        assert_eq!(self.count(text, ()), expected, "seed {}: {text}", self.seed);
    }

    fn orders(&self, play: &Play<'_>, deeds: &[Deed]) {
        let seed = self.seed;
        for (n, order) in play.orders.iter().enumerate() {
            let asked = self.count("select count(*) from payments where transaction_id = ?1", [&order.id]);
            let is_refused = play.told.words().refused.contains(&order.id);
            assert_eq!(asked, i64::from(!order.is_topup && !is_refused), "seed {seed}: {order:?}");
            let of_session = "select count(*) from alerts where session_id = ?1";
            let paid = self.count(&format!("{of_session} and status = 'matched'"), [&order.session]);
            assert!(paid <= 1, "seed {seed}: paid {paid} times: {order:?}");
            let was_told = deeds.iter().any(|deed| deed.what == What::OfOrder(n, OfOrder::Mail));
            let is_kept = self.count(of_session, [&order.session]) > 0;
            assert_eq!(is_kept, was_told, "seed {seed}: {order:?}");
        }
    }

    /// Whoever was not answered asks again, so there may be as many as were asked for, and as many as were answered must
    /// be there.
    fn topups(&self, told: &Words) {
        for (naira, times) in &told.topups {
            let text = "select count(*) from payments where kind = 'topup' and amount_kobo = ?1";
            let made = self.count(text, [naira * 100]);
            assert!(
                (times.done..=times.asked).contains(&made),
                "seed {}: {naira} {times:?} {made}",
                self.seed
            );
        }
    }

    fn payouts(&self, told: &Words) {
        let seed = self.seed;
        for (reference, times) in &told.payouts {
            let made = self.count("select count(*) from payouts where reference = ?1", [reference]);
            assert!((times.done..=times.asked).contains(&made), "seed {seed}: {reference} {times:?} {made}");
        }
        let ended = "select count(*) from payouts where id = ?1 and status = ?2";
        for (id, words) in &told.ended {
            assert_eq!(words.len(), 1, "seed {seed}: payout {id} ended as {words:?}");
            let word = words.iter().next().unwrap();
            assert_eq!(self.count(ended, (id, word)), 1, "seed {seed}: payout {id} is not {word}");
        }
        let mut files = told.handed_over.clone();
        files.sort_unstable();
        files.dedup();
        assert_eq!(files.len(), told.handed_over.len(), "seed {seed}: one payout in two files");
        for id in files {
            let is_taken = "select count(*) from payouts where id = ?1 and taken_at is not null \
                            and status <> 'cancelled'";
            assert_eq!(self.count(is_taken, [id]), 1, "seed {seed}: payout {id} is in a file");
        }
    }
}
