//! Windows of rate limits that all nodes share, in Redis: one script looks at them and counts, so that a limit holds exactly
//! however many nodes ask at once.
//!
//! Redis holds nothing that must not be lost. Where it does not answer in time each node goes on with its own count, says so
//! and tries again a second later; nobody gets an error for it. Windows are timed by Redis. Several installations need
//! databases of their own on one server (`redis://host/1`).

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{Client, RedisResult, Script};
use secrecy::{ExposeSecret, SecretString};

use super::limit_verdict::{LimitVerdict, WINDOW};

/// A limit must not make a request slow: Redis on the same network answers within a millisecond.
const ANSWER_WITHIN: Duration = Duration::from_millis(250);
/// After a failure it is not asked for this long.
const REST: Duration = Duration::from_secs(1);
/// Between two tries to connect.
const CONNECT_AGAIN_MAX: Duration = Duration::from_secs(1);

/// KEYS: windows. ARGV: their length in milliseconds, and a limit for each. Answers the number of the window that is used
/// up (0: none, and each was counted), then use and milliseconds left of each that was looked at.
const SPEND: &str = r"
local told = {0}
for i, key in ipairs(KEYS) do
  local left = redis.call('PTTL', key)
  if left < 0 then
    redis.call('SET', key, 0, 'PX', ARGV[1])
    left = tonumber(ARGV[1])
  end
  local used = tonumber(redis.call('GET', key))
  told[2 * i] = used
  told[2 * i + 1] = left
  if used >= tonumber(ARGV[i + 1]) then
    told[1] = i
    return told
  end
end
for i, key in ipairs(KEYS) do
  told[2 * i] = redis.call('INCR', key)
end
return told
";

/// A window and its limit.
pub struct Spending {
    pub window: String,
    pub limit: u32,
}

/// How it stands with Redis.
#[derive(Default)]
struct Standing {
    away_since: Option<Instant>,
    asked_again_at: Option<Instant>,
}

pub struct SharedWindows {
    connection: ConnectionManager,
    script: Script,
    standing: Mutex<Standing>,
}

impl SharedWindows {
    /// Connects when it is first asked. Must run inside a tokio runtime.
    pub fn new(url: &SecretString) -> RedisResult<SharedWindows> {
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(ANSWER_WITHIN))
            .set_response_timeout(Some(ANSWER_WITHIN))
            .set_max_delay(CONNECT_AGAIN_MAX)
            .set_number_of_retries(0);
        let client = Client::open(url.expose_secret())?;
        let connection = ConnectionManager::new_lazy_with_config(client, config)?;
        Ok(SharedWindows { connection, script: Script::new(SPEND), standing: Mutex::default() })
    }

    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Since when Redis does not answer.
    pub fn away_for(&self) -> Option<Duration> {
        self.standing().away_since.map(|since| since.elapsed())
    }

    /// Spends one request in each of these windows, or in none if one of them is used up; answers the tightest. `None`: Redis
    /// does not answer.
    pub async fn spend(&self, spendings: &[Spending]) -> Option<LimitVerdict> {
        if self.standing().asked_again_at.is_some_and(|at| Instant::now() < at) {
            return None;
        }
        let mut call = self.script.prepare_invoke();
        for one in spendings {
            call.key(&one.window);
        }
        call.arg(u64::try_from(WINDOW.as_millis()).unwrap_or(u64::MAX));
        for one in spendings {
            call.arg(one.limit);
        }
        let mut connection = self.connection.clone();
        let asked = tokio::time::timeout(ANSWER_WITHIN, call.invoke_async::<Vec<i64>>(&mut connection));
        match asked.await {
            Ok(Ok(told)) => {
                self.is_back();
                verdict(&told, spendings)
            }
            // Of its words only the kind: an address may hold a password.
            Ok(Err(error)) => self.is_away(error.category()),
            Err(_) => self.is_away("no answer in time"),
        }
    }

    fn is_back(&self) {
        let mut standing = self.standing();
        if standing.away_since.is_some() {
            *standing = Standing::default();
            drop(standing);
            metrics::gauge!("tillbell_redis_up").set(1.0);
            tracing::info!("Redis answers again: rate limits hold over all nodes");
        }
    }

    fn is_away(&self, why: &str) -> Option<LimitVerdict> {
        let mut standing = self.standing();
        let now = Instant::now();
        standing.asked_again_at = Some(now + REST);
        if standing.away_since.is_none() {
            standing.away_since = Some(now);
            drop(standing);
            metrics::gauge!("tillbell_redis_up").set(0.0);
            tracing::warn!(why, "Redis does not answer: each node counts rate limits for itself");
        }
        None
    }
}

/// Reads what the script told; `None` where it told something else.
fn verdict(told: &[i64], spendings: &[Spending]) -> Option<LimitVerdict> {
    let (refused, looked_at) = told.split_first()?;
    let verdicts = looked_at.chunks_exact(2).zip(spendings).enumerate().map(|(at, (pair, one))| {
        let used = u32::try_from(pair[0]).unwrap_or(u32::MAX);
        let number = i64::try_from(at + 1).unwrap_or(i64::MAX);
        LimitVerdict {
            allowed: number != *refused,
            limit: one.limit,
            remaining: one.limit.saturating_sub(used),
            reset_after: Duration::from_millis(u64::try_from(pair[1]).unwrap_or(0)),
        }
    });
    verdicts.min_by_key(|verdict| (verdict.allowed, verdict.remaining))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tightest_of_several_windows_is_told_and_a_refused_one_first() {
        let asked =
            [Spending { window: "wallet".into(), limit: 30 }, Spending { window: "api".into(), limit: 60 }];
        let both = verdict(&[0, 3, 9_000, 58, 12_000], &asked).unwrap();
        assert_eq!((both.allowed, both.limit, both.remaining), (true, 60, 2));
        assert_eq!(both.reset_after, Duration::from_secs(12));
        let wallet = verdict(&[1, 30, 9_000], &asked).unwrap();
        assert_eq!((wallet.allowed, wallet.limit, wallet.remaining), (false, 30, 0));
        let api = verdict(&[2, 3, 9_000, 60, 12_000], &asked).unwrap();
        assert_eq!((api.allowed, api.limit), (false, 60));
        assert_eq!(verdict(&[], &asked), None);
    }
}
