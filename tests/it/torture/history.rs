//! What was asked for, what was answered, and which money came.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A payment that was asked for, whether or not an answer came.
#[derive(Clone, Debug)]
pub struct Asked {
    pub naira: i64,
    pub payer: String,
    /// The answer said that it was made.
    pub is_made: bool,
    pub mail: Mail,
}

/// How far the mail of its money is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mail {
    /// Nobody paid.
    None,
    /// It was handed in, perhaps, or will be.
    Underway,
    /// A command said that it is stored.
    Stored,
}

#[derive(Default)]
pub struct History {
    asked: Mutex<BTreeMap<String, Asked>>,
    /// Faults by what they were.
    faults: Mutex<BTreeMap<&'static str, usize>>,
    unanswered: AtomicUsize,
    copies: AtomicUsize,
}

impl History {
    pub fn asks(&self, id: &str, asked: Asked) {
        self.asked.lock().unwrap().insert(id.to_owned(), asked);
    }

    pub fn made(&self, id: &str) {
        self.change(id, |asked| asked.is_made = true);
    }

    pub fn not_answered(&self) {
        self.unanswered.fetch_add(1, Ordering::Relaxed);
    }

    pub fn mail(&self, id: &str, mail: Mail) {
        self.change(id, |asked| asked.mail = mail);
    }

    pub fn copied(&self, copies: usize) {
        self.copies.fetch_add(copies, Ordering::Relaxed);
    }

    pub fn fault(&self, what: &'static str) {
        *self.faults.lock().unwrap().entry(what).or_default() += 1;
    }

    fn change(&self, id: &str, change: impl FnOnce(&mut Asked)) {
        change(self.asked.lock().unwrap().get_mut(id).expect("a payment that was asked for"));
    }

    pub fn all(&self) -> BTreeMap<String, Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub fn those(&self, mail: Mail) -> Vec<(String, Asked)> {
        self.all().into_iter().filter(|(_, asked)| asked.mail == mail).collect()
    }

    /// In one line.
    pub fn told(&self) -> String {
        let all = self.all();
        let paid = all.values().filter(|asked| asked.mail == Mail::Stored).count();
        let faults = self.faults.lock().unwrap();
        let faults: Vec<String> = faults.iter().map(|(what, times)| format!("{what} {times}")).collect();
        format!(
            "{} payments asked for, {paid} paid, {} requests without an answer, {} mails handed in again; faults: {}",
            all.len(),
            self.unanswered.load(Ordering::Relaxed),
            self.copies.load(Ordering::Relaxed),
            faults.join(", ")
        )
    }
}
