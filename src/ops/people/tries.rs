//! How often passwords and codes are tried: each try is written down before it is judged, for the e-mail address that
//! was typed, of a user or of nobody, and for the address on the net. A right one takes its own back.
//!
//! Of two tries at one moment one writes first and the other reads anew, so no number of tries at once gets more.

use crate::app::App;
use crate::domain::time::{Span, Timestamp};
use crate::ops::OpError;
use crate::store::Applied;
use crate::store::Step;
use crate::store::tables::sessions::{self, SignInCount};

/// Wrong tries of one user before each next one waits, and in what time they count.
const FREE: i64 = 5;
const WINDOW: Span = Span::minutes(15);
/// The longest wait between two tries of one user.
const WAIT_MOST: i64 = 60;
/// Wrong tries of one address in that time; then it is refused until the time is over.
const ADDRESS_MOST: i64 = 100;
/// Races one try may lose: every other try of the same user or address is one.
const RACES: usize = 50;

/// The tries are too many: none is judged for so many seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany {
    pub seconds: i64,
}

/// A try that was written down and may be judged.
pub(super) struct Try {
    user: [u8; 32],
    address: [u8; 32],
}

impl Try {
    /// What a right one does beside.
    pub(super) fn was_right(&self) -> [Step; 2] {
        [sessions::clear_count(&self.user), sessions::forgive(&self.address)]
    }
}

/// Writes a try down. `email` is as it was typed; `address` as requests are counted by.
pub(super) async fn begin(app: &App, email: &str, address: &str) -> Result<Result<Try, TooMany>, OpError> {
    let this = Try {
        user: app.vault.sign_in_key("e-mail", &email.trim().to_ascii_lowercase()),
        address: app.vault.sign_in_key("address", address),
    };
    for _ in 0..RACES {
        let now = app.now();
        let (user, from) =
            tokio::try_join!(app.store.sign_in_count(&this.user), app.store.sign_in_count(&this.address))?;
        let (user_now, from_now) = (current(user, now), current(from, now));
        if from_now.wrong >= ADDRESS_MOST {
            return Ok(Err(until(from_now.began_at + WINDOW, now)));
        }
        if user_now.wrong >= FREE && now < user_now.next_at {
            return Ok(Err(until(user_now.next_at, now)));
        }
        let unit = app
            .store
            .unit(0)
            .await?
            .step(sessions::set_count(&this.user, &user, &one_more(user_now, now)))
            .step(sessions::set_count(&this.address, &from, &one_more(from_now, now)));
        if let Applied::Done(_) = app.store.apply(unit).await? {
            return Ok(Ok(this));
        }
    }
    // So many at one moment are no person's.
    Ok(Err(TooMany { seconds: 1 }))
}

/// A count as it stands now: begun anew where its time is over.
fn current(count: SignInCount, now: Timestamp) -> SignInCount {
    if count.wrong > 0 && now < count.began_at + WINDOW {
        count
    } else {
        SignInCount { wrong: 0, began_at: now, next_at: Timestamp(0), ..count }
    }
}

fn one_more(count: SignInCount, now: Timestamp) -> SignInCount {
    let wrong = count.wrong + 1;
    let doublings = u32::try_from((wrong - FREE).clamp(0, 30)).unwrap_or(30);
    let wait = if wrong < FREE { 0 } else { (1 << doublings).min(WAIT_MOST) };
    SignInCount { wrong, next_at: now + Span::seconds(wait), ..count }
}

fn until(end: Timestamp, now: Timestamp) -> TooMany {
    TooMany { seconds: ((end.since(now).0 + 999_999) / 1_000_000).max(1) }
}
