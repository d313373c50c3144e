//! The one-time codes of a wallet, as far as the page of one link may tell of them.
//!
//! Reads only. The merchant holds the link too: a look at it must not tell that the customer asked for codes on
//! links of others, but for one thing: where the wallet's codes are used up, every link says so, because a button
//! that fails helps nobody.

use crate::app::App;
use crate::domain::intent::{CODE_TRIES, CODES_A_DAY, CODES_AN_HOUR, Intent};
use crate::domain::message::{MessageKind, MessageStatus};
use crate::domain::time::{Span, Timestamp};
use crate::domain::wallet::Wallet;
use crate::ops::OpError;
use crate::ops::wallets::find::phone_hash;

/// Who asked for a code before it was used may still look at the answer.
const LATELY: Span = Span::minutes(2);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkCodes {
    pub now: Timestamp,
    /// When the link ends, and every code of it.
    pub ends_at: Timestamp,
    /// A code of this link that may be entered, if one was sent.
    pub open: Option<OpenCode>,
    /// The newest code of this link did not go out.
    pub failed: bool,
    /// The newest code of this link has set the PIN.
    pub set_pin: bool,
    /// The newest code has, moments ago and whichever link it was sent for. Only for who asks for a code.
    pub set_lately: bool,
    /// It did so since the payment ended.
    pub used: bool,
    /// A code of another link has set the PIN since the payment ended.
    pub set_elsewhere: bool,
    /// It lifted a lock with that.
    pub unlocked: bool,
    /// A code of this link was sent moments ago; the next may be asked for then.
    pub next_at: Option<Timestamp>,
    /// The code that was sent moments ago was one of another link. Only for who asks for a code.
    pub sent_elsewhere: bool,
    /// The wallet gets no more codes for now.
    pub used_up: Option<UsedUp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenCode {
    pub expires_at: Timestamp,
    pub tries_left: i64,
}

/// As many codes were sent as a wallet gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsedUp {
    pub count: i64,
    /// Within this time.
    pub window: Span,
    /// The next may be asked for then.
    pub again_at: Timestamp,
}

pub(in crate::ops) async fn link_codes(
    app: &App,
    intent: &Intent,
    wallet: &Wallet,
    now: Timestamp,
) -> Result<LinkCodes, OpError> {
    let newest = app.store.newest_code(wallet.id).await?;
    let has_failed = match newest.as_ref().filter(|code| code.is_good(now)) {
        Some(code) => {
            let hash = phone_hash(app, &wallet.phone);
            let status =
                app.store.message_status(&hash, (MessageKind::Code, code.id), code.created_at).await?;
            status == Some(MessageStatus::Failed)
        }
        None => false,
    };
    let is_ours = newest.as_ref().is_some_and(|code| code.intent_id == intent.id);
    let used_at = newest.as_ref().and_then(|code| code.used_at);
    let is_used_since = used_at.zip(intent.ended_at).is_some_and(|(used, ended)| used > ended);
    let next_at = newest.as_ref().and_then(|code| code.alone_until(now));
    let good = newest.as_ref().filter(|code| code.is_good(now) && !has_failed);
    Ok(LinkCodes {
        now,
        ends_at: intent.expires_at,
        open: good.filter(|_| is_ours).map(|code| OpenCode {
            // It is of no use after the link.
            expires_at: code.expires_at.min(intent.expires_at),
            tries_left: CODE_TRIES - code.tries,
        }),
        failed: is_ours && has_failed,
        set_pin: is_ours && used_at.is_some(),
        set_lately: used_at.is_some_and(|at| now < at + LATELY),
        used: is_ours && is_used_since,
        set_elsewhere: !is_ours && is_used_since,
        unlocked: is_ours && newest.as_ref().is_some_and(|code| code.unlocked),
        next_at: next_at.filter(|_| is_ours),
        sent_elsewhere: !is_ours && next_at.is_some() && good.is_some(),
        used_up: used_up(app, wallet.id, now).await?,
    })
}

/// Whether a wallet has had all the codes that it gets. Where the day's and the hour's are used up, the later
/// time counts.
pub(in crate::ops) async fn used_up(
    app: &App,
    wallet_id: i64,
    now: Timestamp,
) -> Result<Option<UsedUp>, OpError> {
    let mut latest: Option<UsedUp> = None;
    for (window, most) in [(Span::hours(24), CODES_A_DAY), (Span::hours(1), CODES_AN_HOUR)] {
        let codes = app.store.codes_since(wallet_id, now - window).await?;
        let again_at = codes.first + window;
        if codes.count >= most && latest.is_none_or(|before| before.again_at < again_at) {
            latest = Some(UsedUp { count: codes.count, window, again_at });
        }
    }
    Ok(latest)
}
