//! Businesses, their websites and their API keys: the SQL and the reading of the rows.
//!
//! Reads answer domain values; changes are Steps that ops put into a Unit. What may be changed
//! and when is not decided here. Only ops and the directory call this.

use crate::domain::charges::Schedule;
use crate::domain::event::{Chosen, EventKind};
use crate::domain::merchant::{ApiKey, Business, KeyRights, Mode, Website, WebsiteStatus};
use crate::domain::money::Money;
use crate::domain::time::Timestamp;
use crate::store::engine::sql::{plain, statements, under};
use crate::store::{Reader, Row, Step, Store, StoreError, Value};

/// Businesses one list reads.
pub const BUSINESSES_MAX: i64 = 10_000;
/// Websites one business may have; adding more is refused.
pub const WEBSITES_MAX: i64 = 1_000;
/// Keys one list reads, newest first.
pub const KEYS_MAX: i64 = 1_000;

/// In the form of `plain` or, with the table's letter, of `under`.
macro_rules! business_columns {
    ($form:ident $(, $t:literal)?) => {
        $form!(
            $($t,)? "id", "name", "email", "webhook_url", "is_active", "is_wallet_enabled", "rate_limit",
            "wallet_rate_limit", "charge_rate", "charge_fixed_kobo", "charge_cap_kobo", "is_charge_paid_by_customer",
            "is_charged", "created_at", "version", "is_live", "events"
        )
    };
}

macro_rules! website_columns {
    () => {
        "id, business_id, url, host, webhook_url, status, reject_reason, charge_rate, charge_fixed_kobo, \
         charge_cap_kobo, is_charge_paid_by_customer, is_charged, created_at, updated_at"
    };
}

/// As [`business_columns`].
macro_rules! key_columns {
    ($form:ident $(, $t:literal)?) => {
        $form!(
            $($t,)? "id", "business_id", "hint", "label", "mode", "created_at", "expires_at", "revoked_at",
            "last_used_at", "rights"
        )
    };
}

statements! {
    KEYS_EXPIRING: query {
        "select id, business_id, label, hint, expires_at from api_keys where expires_at is not null \
         and revoked_at is null and expires_at > $1 and expires_at <= $2 order by expires_at limit 1000"
    }
    BUSINESS: query { concat!("select ", business_columns!(plain), " from businesses where id = $1") }
    BUSINESSES: query { concat!("select ", business_columns!(plain), " from businesses order by id limit $1") }
    BUSINESSES_WAITING: query {
        concat!(
            "select ", business_columns!(plain), " from businesses where is_live = 0 and is_active = 1 order by id limit $1"
        )
    }
    BALANCES: query {
        "select business_id, balance_kobo from merchant_balances where business_id >= $1 and business_id <= $2"
    }
    ADD_BUSINESS: insert(businesses) {
        id: Int, name: Text, email: Text, webhook_url: Text, is_active: Int, is_wallet_enabled: Int,
        rate_limit: Int, wallet_rate_limit: Int, charge_rate: Int, charge_fixed_kobo: Int,
        charge_cap_kobo: Int, is_charge_paid_by_customer: Int, is_charged: Int, webhook_secret: Bytes,
        created_at: Int, updated_at: Int, version: Int, is_live: Int, events: Text
    }
    ADD_BALANCE: insert(merchant_balances) { business_id: Int, balance_kobo: Int }
    SET_BUSINESS: query {
        "update businesses set name = $3, email = $4, webhook_url = $5, is_active = $6, is_wallet_enabled = $7, \
         rate_limit = $8, wallet_rate_limit = $9, charge_rate = $10, charge_fixed_kobo = $11, \
         charge_cap_kobo = $12, is_charge_paid_by_customer = $13, is_charged = $14, updated_at = $15, is_live = $16, \
         events = $17, version = version + 1 where id = $1 and version = $2"
    }
    SECRETS: query {
        "select id, webhook_secret, previous_webhook_secret, previous_secret_until_at from businesses where id = $1"
    }
    ROTATE_SECRET: query {
        "update businesses set previous_webhook_secret = webhook_secret, webhook_secret = $3, \
         previous_secret_until_at = $4, updated_at = $5, version = version + 1 where id = $1 and version = $2"
    }

    WEBSITE: query { concat!("select ", website_columns!(), " from websites where id = $1") }
    WEBSITES: query {
        concat!("select ", website_columns!(), " from websites where business_id = $1 order by id limit $2")
    }
    WEBSITES_PENDING: query {
        concat!("select ", website_columns!(), " from websites where status = 'pending' order by created_at, id limit $1")
    }
    // A site whose host is $1, below $1 or above it; two dev hosts never are in each other's way.
    OVERLAPPING: query {
        concat!(
            "select ", website_columns!(), " from websites where status = 'approved' and business_id <> $2 \
             and host <> 'localhost' and host <> '127.0.0.1' and (host = $1 \
             or (length(host) > length(cast($1 as text)) \
                 and substr(host, length(host) - length(cast($1 as text))) = '.' || cast($1 as text)) \
             or (length(host) < length(cast($1 as text)) \
                 and substr(cast($1 as text), length(cast($1 as text)) - length(host)) = '.' || host)) \
             order by id limit 1"
        )
    }
    ADD_WEBSITE: insert(websites) {
        id: Int, business_id: Int, url: Text, host: Text, webhook_url: Text, status: Text, charge_rate: Int,
        charge_fixed_kobo: Int, charge_cap_kobo: Int, is_charge_paid_by_customer: Int, is_charged: Int,
        created_at: Int, updated_at: Int
    }
    SET_WEBSITE: query {
        "update websites set webhook_url = $3, status = $4, reject_reason = $5, charge_rate = $6, \
         charge_fixed_kobo = $7, charge_cap_kobo = $8, is_charge_paid_by_customer = $9, is_charged = $10, \
         updated_at = $11 where id = $1 and updated_at = $2"
    }
    APPROVALS: query { "select value from counters where name = 'approvals'" }
    RAISE_APPROVALS: query { "update counters set value = value + 1 where name = 'approvals' and value = $1" }

    CALLER: query {
        concat!(
            "select ", key_columns!(under, "k"), ", ", business_columns!(under, "b"),
            " from api_keys k join businesses b on b.id = k.business_id where k.hash = $1"
        )
    }
    KEY: query { concat!("select ", key_columns!(plain), " from api_keys where id = $1") }
    KEYS: query {
        concat!("select ", key_columns!(plain), " from api_keys where business_id = $1 order by id desc limit $2")
    }
    ADD_KEY: insert(api_keys) {
        id: Int, business_id: Int, hash: Bytes, hint: Text, label: Text, mode: Text, created_at: Int,
        expires_at: Int, rights: Text
    }
    REVOKE_KEY: query { "update api_keys set revoked_at = $2 where id = $1 and revoked_at is null" }
    KEY_USED: query {
        "update api_keys set last_used_at = $2 where id = $1 and (last_used_at is null or last_used_at < $2)"
    }
}

/// What signs a business's webhooks, sealed as the vault made it.
#[derive(Clone, Debug)]
pub struct SealedSecrets {
    pub current: Vec<u8>,
    /// The one before and until when it still signs beside the current one.
    pub previous: Option<(Vec<u8>, Timestamp)>,
}

/// A website with the mark that a change of it must name.
#[derive(Clone, Debug, PartialEq)]
pub struct WebsiteRow {
    pub website: Website,
    /// Raised by every change; the guard of the next.
    pub updated_at: Timestamp,
}

fn business(row: &mut Reader) -> Result<Business, StoreError> {
    Ok(Business {
        id: row.int("id")?,
        name: row.text("name")?,
        email: row.text("email")?,
        webhook_url: row.opt_text("webhook_url")?,
        active: row.flag("is_active")?,
        wallet_enabled: row.flag("is_wallet_enabled")?,
        rate_limit: row.opt_int("rate_limit")?,
        wallet_rate_limit: row.opt_int("wallet_rate_limit")?,
        schedule: Schedule {
            rate: row.int("charge_rate")?,
            fixed: row.money("charge_fixed_kobo")?,
            cap: row.opt_money("charge_cap_kobo")?,
            paid_by_customer: row.flag("is_charge_paid_by_customer")?,
            enabled: row.flag("is_charged")?,
        },
        created_at: row.time("created_at")?,
        version: row.int("version")?,
        live: row.flag("is_live")?,
        // A name of a newer program's is left out.
        events: row.word("events", |text| Some(chosen(text)))?,
    })
}

fn chosen(text: &str) -> Chosen {
    let kinds: Vec<EventKind> = text.split(',').filter_map(EventKind::parse).collect();
    Chosen::of(&kinds)
}

fn website(row: Row) -> Result<WebsiteRow, StoreError> {
    let row = &mut row.reader("websites");
    let mut website = Website {
        id: row.int("id")?,
        business_id: row.int("business_id")?,
        url: row.text("url")?,
        host: row.text("host")?,
        webhook_url: row.opt_text("webhook_url")?,
        status: row.word("status", WebsiteStatus::parse)?,
        reject_reason: row.opt_text("reject_reason")?,
        schedule: None,
        created_at: Timestamp(0),
    };
    let rate = row.opt_int("charge_rate")?;
    let fixed = row.opt_money("charge_fixed_kobo")?;
    let cap = row.opt_money("charge_cap_kobo")?;
    let by_customer = row.opt_int("is_charge_paid_by_customer")?;
    let enabled = row.opt_int("is_charged")?;
    // The override is there as a whole or not at all.
    website.schedule = match (rate, fixed, by_customer, enabled) {
        (Some(rate), Some(fixed), Some(by_customer), Some(enabled)) => {
            Some(Schedule { rate, fixed, cap, paid_by_customer: by_customer == 1, enabled: enabled == 1 })
        }
        (None, None, None, None) => None,
        _ => return Err(row.corrupt("charge_rate")),
    };
    website.created_at = row.time("created_at")?;
    Ok(WebsiteRow { website, updated_at: row.time("updated_at")? })
}

fn api_key(row: &mut Reader) -> Result<ApiKey, StoreError> {
    Ok(ApiKey {
        id: row.int("id")?,
        business_id: row.int("business_id")?,
        hint: row.text("hint")?,
        label: row.opt_text("label")?,
        mode: row.word("mode", Mode::parse)?,
        created_at: row.time("created_at")?,
        expires_at: row.opt_time("expires_at")?,
        revoked_at: row.opt_time("revoked_at")?,
        last_used_at: row.opt_time("last_used_at")?,
        rights: row.word("rights", KeyRights::parse)?,
    })
}

/// A key that will expire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpiringKey {
    pub id: i64,
    pub business_id: i64,
    pub label: String,
    pub hint: String,
    pub expires_at: Timestamp,
}

impl Store {
    /// Keys that expire between two times, at most 1,000.
    pub async fn keys_expiring(
        &self,
        from: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<ExpiringKey>, StoreError> {
        let rows = self.read(&KEYS_EXPIRING, vec![from.into(), until.into()]).await?;
        let key = |row: Row| {
            let mut r = row.reader("api_keys");
            Ok(ExpiringKey {
                id: r.int("id")?,
                business_id: r.int("business_id")?,
                label: r.opt_text("label")?.unwrap_or_default(),
                hint: r.text("hint")?,
                expires_at: r.time("expires_at")?,
            })
        };
        rows.into_iter().map(key).collect()
    }

    pub async fn business(&self, id: i64) -> Result<Option<Business>, StoreError> {
        let row = self.read_one(&BUSINESS, vec![id.into()]).await?;
        row.map(|row| business(&mut row.reader("businesses"))).transpose()
    }

    /// All businesses by id, up to [`BUSINESSES_MAX`].
    pub async fn businesses(&self) -> Result<Vec<Business>, StoreError> {
        let rows = self.read(&BUSINESSES, vec![BUSINESSES_MAX.into()]).await?;
        rows.into_iter().map(|row| business(&mut row.reader("businesses"))).collect()
    }

    /// Businesses that wait for the operator, the oldest first.
    pub async fn businesses_waiting(&self, limit: usize) -> Result<Vec<Business>, StoreError> {
        let rows = self.read(&BUSINESSES_WAITING, vec![(limit as i64).into()]).await?;
        rows.into_iter().map(|row| business(&mut row.reader("businesses"))).collect()
    }

    /// The balances of the businesses with ids from the first to the last.
    pub async fn balances(&self, first: i64, last: i64) -> Result<Vec<(i64, Money)>, StoreError> {
        let rows = self.read(&BALANCES, vec![first.into(), last.into()]).await?;
        rows.into_iter()
            .map(|row| {
                let mut r = row.reader("merchant_balances");
                Ok((r.int("business_id")?, r.money("balance_kobo")?))
            })
            .collect()
    }

    /// Websites that wait for an operator, the oldest first.
    pub async fn pending_websites(&self, limit: usize) -> Result<Vec<Website>, StoreError> {
        let rows = self.read(&WEBSITES_PENDING, vec![(limit as i64).into()]).await?;
        rows.into_iter().map(|row| Ok(website(row)?.website)).collect()
    }

    /// The sealed signing secrets of a business.
    pub async fn sealed_secrets(&self, business_id: i64) -> Result<Option<SealedSecrets>, StoreError> {
        let Some(row) = self.read_one(&SECRETS, vec![business_id.into()]).await? else { return Ok(None) };
        let mut row = row.reader("businesses");
        row.int("id")?;
        let current = row.bytes("webhook_secret")?;
        let previous = row.opt_bytes("previous_webhook_secret")?;
        let until = row.opt_time("previous_secret_until_at")?;
        Ok(Some(SealedSecrets { current, previous: previous.zip(until) }))
    }

    pub async fn website(&self, id: i64) -> Result<Option<WebsiteRow>, StoreError> {
        self.read_one(&WEBSITE, vec![id.into()]).await?.map(website).transpose()
    }

    /// All websites of a business by id, up to [`WEBSITES_MAX`].
    pub async fn websites(&self, business_id: i64) -> Result<Vec<Website>, StoreError> {
        let rows = self.read(&WEBSITES, vec![business_id.into(), WEBSITES_MAX.into()]).await?;
        rows.into_iter().map(|row| website(row).map(|row| row.website)).collect()
    }

    /// An approved website of another business whose host is equal to, above or below `host`.
    pub async fn overlapping_website(
        &self,
        host: &str,
        business_id: i64,
    ) -> Result<Option<Website>, StoreError> {
        let row = self.read_one(&OVERLAPPING, vec![host.into(), business_id.into()]).await?;
        Ok(row.map(website).transpose()?.map(|row| row.website))
    }

    /// How many approvals there have been; read it before looking for overlapping websites and
    /// put [`raise_approvals`] with it into the Unit that approves.
    pub async fn approvals(&self) -> Result<i64, StoreError> {
        match self.read_one(&APPROVALS, Vec::new()).await? {
            Some(row) => row.single_int("counters"),
            None => Err(StoreError::Fault("no counter approvals".into())),
        }
    }

    /// The key with this hash and its business, whatever their state.
    pub async fn caller(&self, hash: &[u8; 32]) -> Result<Option<(ApiKey, Business)>, StoreError> {
        let Some(row) = self.read_one(&CALLER, vec![hash.as_slice().into()]).await? else { return Ok(None) };
        let mut row = row.reader("api_keys");
        Ok(Some((api_key(row.under("k_"))?, business(row.under("b_"))?)))
    }

    pub async fn api_key(&self, id: i64) -> Result<Option<ApiKey>, StoreError> {
        let row = self.read_one(&KEY, vec![id.into()]).await?;
        row.map(|row| api_key(&mut row.reader("api_keys"))).transpose()
    }

    /// Keys of a business, newest first, revoked ones included, up to [`KEYS_MAX`].
    pub async fn api_keys(&self, business_id: i64) -> Result<Vec<ApiKey>, StoreError> {
        let rows = self.read(&KEYS, vec![business_id.into(), KEYS_MAX.into()]).await?;
        rows.into_iter().map(|row| api_key(&mut row.reader("api_keys"))).collect()
    }
}

/// A new business and its balance of zero; `sealed_secret` signs its webhooks.
pub fn add_business(business: &Business, sealed_secret: Vec<u8>) -> [Step; 2] {
    let schedule = business.schedule;
    let row = ADD_BUSINESS {
        id: business.id.into(),
        name: (&business.name).into(),
        email: (&business.email).into(),
        webhook_url: business.webhook_url.as_deref().into(),
        is_active: business.active.into(),
        is_wallet_enabled: business.wallet_enabled.into(),
        rate_limit: business.rate_limit.into(),
        wallet_rate_limit: business.wallet_rate_limit.into(),
        charge_rate: schedule.rate.into(),
        charge_fixed_kobo: schedule.fixed.into(),
        charge_cap_kobo: schedule.cap.into(),
        is_charge_paid_by_customer: schedule.paid_by_customer.into(),
        is_charged: schedule.enabled.into(),
        webhook_secret: sealed_secret.into(),
        created_at: business.created_at.into(),
        updated_at: business.created_at.into(),
        version: business.version.into(),
        is_live: business.live.into(),
        events: business.events.to_string().into(),
    };
    [Step::insert(row), Step::insert(ADD_BALANCE { business_id: business.id.into(), balance_kobo: 0.into() })]
}

/// Writes everything settable of a business, guarded by the version it was read with.
pub fn set_business(business: &Business, now: Timestamp) -> Step {
    let schedule = business.schedule;
    Step::one(
        &SET_BUSINESS,
        vec![
            business.id.into(),
            business.version.into(),
            (&business.name).into(),
            (&business.email).into(),
            business.webhook_url.as_deref().into(),
            business.active.into(),
            business.wallet_enabled.into(),
            business.rate_limit.into(),
            business.wallet_rate_limit.into(),
            schedule.rate.into(),
            schedule.fixed.into(),
            schedule.cap.into(),
            schedule.paid_by_customer.into(),
            schedule.enabled.into(),
            now.into(),
            business.live.into(),
            business.events.to_string().into(),
        ],
    )
}

/// Puts a new signing secret in place; the one there signs beside it until `until`.
pub fn rotate_secret(id: i64, version: i64, sealed: Vec<u8>, until: Timestamp, now: Timestamp) -> Step {
    Step::one(&ROTATE_SECRET, vec![id.into(), version.into(), sealed.into(), until.into(), now.into()])
}

/// The five columns of a website's own schedule.
fn override_columns(schedule: Option<Schedule>) -> [Value; 5] {
    [
        schedule.map(|s| s.rate).into(),
        schedule.map(|s| s.fixed).into(),
        schedule.and_then(|s| s.cap).into(),
        schedule.map(|s| s.paid_by_customer).into(),
        schedule.map(|s| s.enabled).into(),
    ]
}

/// A new website, pending or approved at once (then with [`raise_approvals`]).
pub fn add_website(website: &Website) -> Step {
    let [rate, fixed, cap, by_customer, enabled] = override_columns(website.schedule);
    Step::insert(ADD_WEBSITE {
        id: website.id.into(),
        business_id: website.business_id.into(),
        url: (&website.url).into(),
        host: (&website.host).into(),
        webhook_url: website.webhook_url.as_deref().into(),
        status: website.status.as_str().into(),
        charge_rate: rate,
        charge_fixed_kobo: fixed,
        charge_cap_kobo: cap,
        is_charge_paid_by_customer: by_customer,
        is_charged: enabled,
        created_at: website.created_at.into(),
        updated_at: website.created_at.into(),
    })
}

/// Writes everything settable of a website, guarded by the mark it was read with.
pub fn set_website(row: &WebsiteRow, now: Timestamp) -> Step {
    let website = &row.website;
    let mut params: Vec<Value> = vec![
        website.id.into(),
        row.updated_at.into(),
        website.webhook_url.as_deref().into(),
        website.status.as_str().into(),
        website.reject_reason.as_deref().into(),
    ];
    params.extend(override_columns(website.schedule));
    // Always later than the mark before, also when the clock stands still.
    params.push(now.max(Timestamp(row.updated_at.0 + 1)).into());
    Step::one(&SET_WEBSITE, params)
}

/// Every approval raises the one counter from what it read, so that of two approvals made at the
/// same moment, each of which saw no website in its way, only one is written.
pub fn raise_approvals(seen: i64) -> Step {
    Step::one(&RAISE_APPROVALS, vec![seen.into()])
}

/// A new key; only the hash of its text is kept.
pub fn add_key(key: &ApiKey, hash: [u8; 32]) -> Step {
    Step::insert(ADD_KEY {
        id: key.id.into(),
        business_id: key.business_id.into(),
        hash: hash.as_slice().into(),
        hint: (&key.hint).into(),
        label: key.label.as_deref().into(),
        mode: key.mode.as_str().into(),
        created_at: key.created_at.into(),
        expires_at: key.expires_at.into(),
        rights: key.rights.as_str().into(),
    })
}

/// Ends a key that is not revoked yet.
pub fn revoke_key(id: i64, now: Timestamp) -> Step {
    Step::one(&REVOKE_KEY, vec![id.into(), now.into()])
}

/// Notes the last use of a key; an earlier time than the noted one changes nothing.
pub fn key_used(id: i64, at: Timestamp) -> Step {
    Step::any(&KEY_USED, vec![id.into(), at.into()])
}
