//! Which hosts may be posted to now: slots and a short queue per host, so that a dead shop delays only itself.
//! No IO and no waiting here; the dispatcher asks and acts.
//!
//! A host has a limited number of posts in flight, and only one while it does not answer. More posts wait in
//! its queue as long as the queue can be finished in a few seconds. The rest is put back into the database with
//! a `run_at` that is spread by the host's pace, so ten thousand events for a dead host cost a few claims a
//! second and no memory.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use crate::domain::time::{Span, Timestamp};
use crate::domain::weburl::TargetUrl;

/// The most that wait in memory for one host.
pub const QUEUE_MAX: usize = 256;
/// How long the last of a queue should have to wait, by the host's pace.
const QUEUE_WAIT: Duration = Duration::from_secs(5);
/// Assumed of a host that has not answered yet.
const FIRST_GUESS: Duration = Duration::from_millis(100);
/// What is put back becomes due again no earlier and no later than this.
const LATER_MIN: Span = Span::millis(250);
const LATER_MAX: Span = Span::seconds(300);
/// Hosts remembered; idle ones are forgotten beyond this.
const HOSTS_MAX: usize = 4_096;

/// A host whatever the port, because one receiver may listen on all of them. In dev mode with its port:
/// there all receivers are programs on one machine.
pub type HostKey = String;

/// What this target's posts are counted under.
pub fn host_key(target: &TargetUrl, is_dev: bool) -> HostKey {
    if is_dev { format!("{}:{}", target.host(), target.port()) } else { target.host().to_owned() }
}

struct Host<T> {
    in_flight: usize,
    waiting: VecDeque<T>,
    /// How long a post takes, smoothed.
    pace: Duration,
    /// The last post got no answer.
    in_trouble: bool,
    /// Until when what was put back keeps the host busy.
    booked_until: Timestamp,
}

/// What to do with an item that wants to go to a host.
#[derive(Debug, PartialEq, Eq)]
pub enum Admission<T> {
    /// Post it now; call [`Hosts::ended`] with the answer.
    Start(T),
    /// It waits here and comes out of an [`Hosts::ended`].
    Waits,
    /// Too many wait: put it back, due at this time.
    Later(T, Timestamp),
}

/// What follows from the end of a post.
#[derive(Debug, PartialEq, Eq)]
pub struct Next<T> {
    /// Post these now.
    pub start: Vec<T>,
    /// The host has become too slow for these: put them back.
    pub later: Vec<(T, Timestamp)>,
}

pub struct Hosts<T> {
    slots: usize,
    hosts: HashMap<HostKey, Host<T>>,
}

impl<T> Host<T> {
    fn limit(&self, slots: usize) -> usize {
        if self.in_trouble { 1 } else { slots }
    }

    /// Time between two posts when the host is kept busy.
    fn step(&self, slots: usize) -> Duration {
        self.pace.max(Duration::from_micros(100)) / u32::try_from(self.limit(slots)).unwrap_or(1)
    }

    fn queue_max(&self, slots: usize) -> usize {
        let fit = QUEUE_WAIT.as_micros() / self.step(slots).as_micros().max(1);
        usize::try_from(fit).unwrap_or(QUEUE_MAX).clamp(1, QUEUE_MAX)
    }

    fn book(&mut self, slots: usize, now: Timestamp, chance: u64) -> Timestamp {
        let step = Span(i64::try_from(self.step(slots).as_micros()).unwrap_or(i64::MAX));
        let at = self.booked_until.max(now + LATER_MIN) + step;
        if at <= now + LATER_MAX {
            self.booked_until = at;
            return at;
        }
        // The host is full: spread over the second half of the longest wait.
        let half = LATER_MAX.0 / 2;
        now + Span(half + i64::try_from(chance % half.unsigned_abs()).unwrap_or(0))
    }
}

impl<T> Hosts<T> {
    /// `slots` posts may be in flight to one host.
    pub fn new(slots: usize) -> Hosts<T> {
        Hosts { slots, hosts: HashMap::new() }
    }

    /// Asks for a slot. `chance` is any random number.
    pub fn admit(&mut self, key: &HostKey, item: T, now: Timestamp, chance: u64) -> Admission<T> {
        if self.hosts.len() >= HOSTS_MAX && !self.hosts.contains_key(key) {
            self.hosts.retain(|_, host| host.in_flight > 0);
        }
        let slots = self.slots;
        let host = self.hosts.entry(key.clone()).or_insert_with(|| Host {
            in_flight: 0,
            waiting: VecDeque::new(),
            pace: FIRST_GUESS,
            in_trouble: false,
            booked_until: Timestamp::MIN,
        });
        if host.in_flight < host.limit(slots) {
            host.in_flight += 1;
            Admission::Start(item)
        } else if host.waiting.len() < host.queue_max(slots) {
            host.waiting.push_back(item);
            Admission::Waits
        } else {
            Admission::Later(item, host.book(slots, now, chance))
        }
    }

    /// A post ended after `took`; `answered` says whether the host answered at all. `None` for
    /// `took`: it was not made.
    pub fn ended(
        &mut self,
        key: &HostKey,
        took: Option<Duration>,
        answered: bool,
        now: Timestamp,
        chance: u64,
    ) -> Next<T> {
        let mut next = Next { start: Vec::new(), later: Vec::new() };
        let slots = self.slots;
        let Some(host) = self.hosts.get_mut(key) else { return next };
        host.in_flight = host.in_flight.saturating_sub(1);
        if let Some(took) = took {
            // If a host changes, its last answer counts.
            let changed = host.in_trouble == answered;
            host.pace = if changed { took } else { (host.pace * 3 + took) / 4 };
            host.in_trouble = !answered;
        }
        while host.in_flight < host.limit(slots) {
            let Some(item) = host.waiting.pop_front() else { break };
            host.in_flight += 1;
            next.start.push(item);
        }
        let keep = host.queue_max(slots);
        while host.waiting.len() > keep {
            let Some(item) = host.waiting.pop_back() else { break };
            let at = host.book(slots, now, chance.rotate_left(next.later.len() as u32));
            next.later.push((item, at));
        }
        next
    }

    /// Everything that waits, for the end of the program.
    pub fn give_up(&mut self) -> Vec<T> {
        self.hosts.values_mut().flat_map(|host| host.waiting.drain(..)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::weburl::parse_operator_url;

    const NOW: Timestamp = Timestamp(1_000_000_000);

    fn key(name: &str) -> HostKey {
        name.into()
    }

    #[test]
    fn a_host_has_its_slots_whatever_the_port() {
        let key = |url: &str, is_dev| host_key(&parse_operator_url(url).unwrap(), is_dev);
        let (one, two) = ("https://shop.example/a", "https://SHOP.example.:8443/b");
        assert_eq!(key(one, false), key(two, false));
        assert_ne!(key(one, false), key("https://other.example/a", false));
        assert_ne!(key(one, true), key(two, true));
        let mut hosts = Hosts::new(1);
        assert_eq!(hosts.admit(&key(one, false), 1, NOW, 0), Admission::Start(1));
        assert_eq!(hosts.admit(&key(two, false), 2, NOW, 0), Admission::Waits);
    }

    fn admit_many(hosts: &mut Hosts<u32>, name: &str, count: u32) -> (usize, usize, Vec<Timestamp>) {
        let (mut started, mut waiting, mut later) = (0, 0, Vec::new());
        for n in 0..count {
            match hosts.admit(&key(name), n, NOW, u64::from(n) * 7_919_311) {
                Admission::Start(_) => started += 1,
                Admission::Waits => waiting += 1,
                Admission::Later(_, at) => later.push(at),
            }
        }
        (started, waiting, later)
    }

    #[test]
    fn four_at_once_then_a_queue_then_later() {
        let mut hosts = Hosts::new(4);
        let (started, waiting, later) = admit_many(&mut hosts, "a", 1000);
        assert_eq!((started, waiting), (4, 200));
        assert!(later.windows(2).all(|pair| pair[0] < pair[1]), "spread");
        assert!(later[0] >= NOW + LATER_MIN && *later.last().unwrap() <= NOW + LATER_MAX);
        assert_eq!(hosts.admit(&key("b"), 1, NOW, 0), Admission::Start(1), "another host is free");
        let next = hosts.ended(&key("a"), Some(Duration::from_millis(100)), true, NOW, 0);
        assert_eq!((next.start, next.later.len()), (vec![4], 0));
    }

    #[test]
    fn a_silent_host_keeps_one_slot_and_a_queue_of_one() {
        let mut hosts = Hosts::new(4);
        admit_many(&mut hosts, "a", 100);
        let silent =
            |hosts: &mut Hosts<u32>| hosts.ended(&key("a"), Some(Duration::from_secs(15)), false, NOW, 3);
        let next = silent(&mut hosts);
        assert_eq!(next.start.len(), 0, "three are in flight still");
        assert_eq!(next.later.len(), 95, "all but one go back");
        assert!(next.later.iter().all(|(_, at)| *at > NOW && *at <= NOW + LATER_MAX));
        silent(&mut hosts);
        silent(&mut hosts);
        assert_eq!(silent(&mut hosts).start.len(), 1);
        let (started, waiting, later) = admit_many(&mut hosts, "a", 10_000);
        assert_eq!((started, waiting, later.len()), (0, 1, 9_999));
        let soon = later.iter().filter(|at| **at < NOW + Span::seconds(60)).count();
        assert!(soon <= 5, "{soon} of 10,000 come back within a minute");
        // It answers again: all slots, a queue again.
        let next = hosts.ended(&key("a"), Some(Duration::from_millis(5)), true, NOW, 0);
        assert_eq!(next.start.len(), 1);
        let (started, waiting, _) = admit_many(&mut hosts, "a", 1_000);
        assert_eq!((started, waiting), (3, QUEUE_MAX));
    }

    #[test]
    fn a_post_that_was_not_made_frees_its_slot_and_says_nothing_of_the_host() {
        let mut hosts = Hosts::new(1);
        admit_many(&mut hosts, "a", 2);
        let next = hosts.ended(&key("a"), None, false, NOW, 0);
        assert_eq!(next.start, [1]);
        assert_eq!(hosts.give_up(), Vec::<u32>::new());
        assert_eq!(hosts.ended(&key("unknown"), None, true, NOW, 0).start, Vec::<u32>::new());
    }

    #[test]
    fn idle_hosts_are_forgotten_when_there_are_too_many() {
        let mut hosts = Hosts::new(4);
        for n in 0..HOSTS_MAX + 10 {
            let name = format!("h{n}");
            assert_eq!(hosts.admit(&key(&name), 0, NOW, 0), Admission::Start(0));
            hosts.ended(&key(&name), Some(Duration::from_millis(1)), true, NOW, 0);
        }
        assert!(hosts.hosts.len() <= HOSTS_MAX, "{}", hosts.hosts.len());
    }
}
