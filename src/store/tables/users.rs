//! Users, the businesses that they are members of, their links and recovery codes: the SQL and the reading of rows.
//!
//! A user's row is changed under its version, so that of two changes at one moment one decides anew. Passwords come as
//! their hashes, secrets sealed, tokens and codes as hashes. Only ops call this.

use crate::domain::time::Timestamp;
use crate::domain::user::{MemberRole, StaffRole};
use crate::store::engine::sql::statements;
use crate::store::{Reader, Row, Step, Store, StoreError, Value};

/// Members of one business, and memberships of one user, that are read.
pub const MEMBERS_MAX: i64 = 1_000;
/// Memberships read for a page of users; the rest of them are read user by user.
const PLACES_OF_PAGE: i64 = 2_000;

macro_rules! columns {
    () => {
        "id, email, password, staff_role, totp, totp_begun, totp_step, time_zone, disabled_at, created_at, version, \
         is_vouched"
    };
}

statements! {
    ADD: insert(users) {
        id: Int, email: Text, password: Bytes, staff_role: Text, totp_step: Int, time_zone: Text, created_at: Int,
        updated_at: Int, version: Int, is_vouched: Int
    }
    SET: query {
        "update users set password = $3, staff_role = $4, totp = $5, totp_begun = $6, totp_step = $7, time_zone = $8, \
         disabled_at = $9, updated_at = $10, is_vouched = $11, version = version + 1 where id = $1 and version = $2"
    }
    UNCHANGED: query {
        "update users set version = version where id = $1 and version = $2 and disabled_at is null"
    }
    USER: query { concat!("select ", columns!(), " from users where id = $1") }
    BY_EMAIL: query { concat!("select ", columns!(), " from users where email = $1") }
    USERS: query { concat!("select ", columns!(), " from users where id > $1 order by id limit $2") }
    STAFF: query {
        concat!("select ", columns!(), " from users where staff_role is not null and id > $1 order by id limit $2")
    }
    NOT_STAFF: query {
        concat!("select ", columns!(), " from users where staff_role is null and id > $1 order by id limit $2")
    }

    ADD_MEMBER: insert(members) { business_id: Int, user_id: Int, role: Text, created_at: Int }
    SET_MEMBER: query { "update members set role = $4 where business_id = $1 and user_id = $2 and role = $3" }
    OWNER: query {
        "update members set role = role where business_id = $1 and user_id = $2 and role = 'owner'"
    }
    MAY_ASK_PAYOUT: query {
        "update members set role = role where business_id = $1 and user_id = $2 and role in ('owner', 'finance')"
    }
    REMOVE_MEMBER: query { "delete from members where business_id = $1 and user_id = $2 and role = $3" }
    MEMBERSHIPS: query {
        "select m.business_id, m.role, b.name, b.is_live from members m join businesses b on b.id = m.business_id \
         where m.user_id = $1 order by m.business_id limit $2"
    }
    MEMBERSHIPS_OF_SOME: query {
        "select m.user_id, m.business_id, m.role, b.name, b.is_live from members m join businesses b on b.id = m.business_id \
         where m.user_id >= $1 and m.user_id <= $2 order by m.user_id, m.business_id limit $3"
    }
    MEMBERS: query {
        "select m.user_id, m.role, m.created_at, u.email, u.disabled_at, case when u.password is null then 0 else 1 end as is_set \
         from members m join users u on u.id = m.user_id where m.business_id = $1 order by m.user_id limit $2"
    }

    ADD_LINK: insert(user_links) { hash: Bytes, user_id: Int, kind: Text, expires_at: Int }
    LINK: query { "select user_id, kind, expires_at, used_at from user_links where hash = $1" }
    USE_LINK: query { "update user_links set used_at = $2 where hash = $1 and used_at is null and expires_at > $2" }
    KEEP_LINK: query { "update user_links set expires_at = $2 where hash = $1 and used_at is null" }
    END_LINKS: query { "update user_links set used_at = $2 where user_id = $1 and used_at is null" }

    ADD_CODE: insert(recovery_codes) { user_id: Int, hash: Bytes }
    USE_CODE: query { "update recovery_codes set used_at = $3 where user_id = $1 and hash = $2 and used_at is null" }
    DROP_CODES: query { "delete from recovery_codes where user_id = $1" }
    CODES_LEFT: query { "select count(*) as codes from recovery_codes where user_id = $1 and used_at is null" }
}

/// A person who signs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserRow {
    pub id: i64,
    /// As `domain::user::normal_email` makes it.
    pub email: String,
    /// As `vault::hasher` makes it; `None` until it is set.
    pub password: Option<Vec<u8>>,
    pub staff: Option<StaffRole>,
    /// Sealed.
    pub totp: Option<Vec<u8>>,
    pub totp_begun: Option<Vec<u8>>,
    pub totp_step: i64,
    /// A name of the time zone database.
    pub time_zone: String,
    pub disabled_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub version: i64,
    /// The operator added him, or a mail proved the address; of others a business alone says who they are.
    pub is_vouched: bool,
}

/// A business of which a user is a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    pub business_id: i64,
    pub business: String,
    pub role: MemberRole,
    /// The business may take real money.
    pub is_live: bool,
}

/// A user as a member of one business.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub user_id: i64,
    pub email: String,
    pub role: MemberRole,
    pub since: Timestamp,
    pub is_disabled: bool,
    /// Has set a password.
    pub has_begun: bool,
}

/// Which users a list shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    All,
    Staff,
    NotStaff,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    Welcome,
    Reset,
}

impl LinkKind {
    pub fn as_str(self) -> &'static str {
        match self {
            LinkKind::Welcome => "welcome",
            LinkKind::Reset => "reset",
        }
    }

    fn parse(word: &str) -> Option<LinkKind> {
        match word {
            "welcome" => Some(LinkKind::Welcome),
            "reset" => Some(LinkKind::Reset),
            _ => None,
        }
    }
}

/// A link to a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkRow {
    pub user_id: i64,
    pub kind: LinkKind,
    pub expires_at: Timestamp,
    pub used_at: Option<Timestamp>,
}

fn membership(r: &mut Reader) -> Result<Membership, StoreError> {
    Ok(Membership {
        business_id: r.int("business_id")?,
        business: r.text("name")?,
        role: r.word("role", MemberRole::parse)?,
        is_live: r.flag("is_live")?,
    })
}

fn decode(row: Row) -> Result<UserRow, StoreError> {
    let mut r = row.reader("users");
    Ok(UserRow {
        id: r.int("id")?,
        email: r.text("email")?,
        password: r.opt_bytes("password")?,
        staff: r.opt_word("staff_role", StaffRole::parse)?,
        totp: r.opt_bytes("totp")?,
        totp_begun: r.opt_bytes("totp_begun")?,
        totp_step: r.int("totp_step")?,
        time_zone: r.text("time_zone")?,
        disabled_at: r.opt_time("disabled_at")?,
        created_at: r.time("created_at")?,
        version: r.int("version")?,
        is_vouched: r.flag("is_vouched")?,
    })
}

/// A new user. The address may belong to somebody since it was looked for: then the Unit is refused.
pub fn add(user: &UserRow) -> Step {
    Step::insert(ADD {
        id: user.id.into(),
        email: user.email.as_str().into(),
        password: user.password.clone().into(),
        staff_role: user.staff.map(StaffRole::as_str).into(),
        totp_step: user.totp_step.into(),
        time_zone: user.time_zone.as_str().into(),
        created_at: user.created_at.into(),
        updated_at: user.created_at.into(),
        version: user.version.into(),
        is_vouched: i64::from(user.is_vouched).into(),
    })
}

/// Writes a user as he is now, if he is still as `before` was read.
pub fn set(before: &UserRow, after: &UserRow, now: Timestamp) -> Step {
    Step::one(
        &SET,
        vec![
            before.id.into(),
            before.version.into(),
            after.password.clone().into(),
            after.staff.map(StaffRole::as_str).into(),
            after.totp.clone().into(),
            after.totp_begun.clone().into(),
            after.totp_step.into(),
            after.time_zone.as_str().into(),
            after.disabled_at.into(),
            now.into(),
            i64::from(after.is_vouched).into(),
        ],
    )
}

/// Lost if the user is another one by now than he was read.
pub fn unchanged(user: &UserRow) -> Step {
    Step::one(&UNCHANGED, vec![user.id.into(), user.version.into()])
}

pub fn add_member(business_id: i64, user_id: i64, role: MemberRole, now: Timestamp) -> Step {
    Step::insert(ADD_MEMBER {
        business_id: business_id.into(),
        user_id: user_id.into(),
        role: role.as_str().into(),
        created_at: now.into(),
    })
}

/// Changes a member's role, or lost: it is another one by now.
pub fn set_member(business_id: i64, user_id: i64, (before, after): (MemberRole, MemberRole)) -> Step {
    let roles = [before.as_str().into(), after.as_str().into()];
    Step::one(&SET_MEMBER, [vec![business_id.into(), user_id.into()], roles.to_vec()].concat())
}

/// Lost if this member is no owner by now.
pub fn still_owner(business_id: i64, user_id: i64) -> Step {
    Step::one(&OWNER, vec![business_id.into(), user_id.into()])
}

/// Lost if this member has gone by now, or may not ask for payouts any more.
pub fn still_asks_payouts(business_id: i64, user_id: i64) -> Step {
    Step::one(&MAY_ASK_PAYOUT, vec![business_id.into(), user_id.into()])
}

/// Whether the statement is one of the guards of a member's rights.
pub fn is_member_guard(statement: &str) -> bool {
    [OWNER.name, MAY_ASK_PAYOUT.name].contains(&statement)
}

pub fn remove_member(business_id: i64, user_id: i64, role: MemberRole) -> Step {
    Step::one(&REMOVE_MEMBER, vec![business_id.into(), user_id.into(), role.as_str().into()])
}

pub fn add_link(hash: [u8; 32], user_id: i64, kind: LinkKind, expires_at: Timestamp) -> Step {
    Step::insert(ADD_LINK {
        hash: hash.to_vec().into(),
        user_id: user_id.into(),
        kind: kind.as_str().into(),
        expires_at: expires_at.into(),
    })
}

/// Uses a link up; lost if it was used or has expired.
pub fn use_link(hash: &[u8; 32], now: Timestamp) -> Step {
    Step::one(&USE_LINK, vec![hash.to_vec().into(), now.into()])
}

/// The link works until then; lost if it was used.
pub fn keep_link(hash: &[u8; 32], until: Timestamp) -> Step {
    Step::one(&KEEP_LINK, vec![hash.to_vec().into(), until.into()])
}

/// Ends all links of a user.
pub fn end_links(user_id: i64, now: Timestamp) -> Step {
    Step::any(&END_LINKS, vec![user_id.into(), now.into()])
}

pub fn add_code(user_id: i64, hash: [u8; 32]) -> Step {
    Step::insert(ADD_CODE { user_id: user_id.into(), hash: hash.to_vec().into() })
}

/// Uses a recovery code up; lost if there is none that is good.
pub fn use_code(user_id: i64, hash: [u8; 32], now: Timestamp) -> Step {
    Step::one(&USE_CODE, vec![user_id.into(), hash.to_vec().into(), now.into()])
}

pub fn drop_codes(user_id: i64) -> Step {
    Step::any(&DROP_CODES, vec![user_id.into()])
}

impl Store {
    pub async fn user(&self, id: i64) -> Result<Option<UserRow>, StoreError> {
        self.read_one(&USER, vec![id.into()]).await?.map(decode).transpose()
    }

    pub async fn user_by_email(&self, email: &str) -> Result<Option<UserRow>, StoreError> {
        self.read_one(&BY_EMAIL, vec![email.into()]).await?.map(decode).transpose()
    }

    /// In the order in which they were added, behind one of them.
    pub async fn users(&self, which: Which, after: i64, limit: usize) -> Result<Vec<UserRow>, StoreError> {
        let sql = match which {
            Which::All => &USERS,
            Which::Staff => &STAFF,
            Which::NotStaff => &NOT_STAFF,
        };
        self.read(sql, vec![after.into(), (limit as i64).into()]).await?.into_iter().map(decode).collect()
    }

    pub async fn memberships(&self, user_id: i64) -> Result<Vec<Membership>, StoreError> {
        let rows = self.read(&MEMBERSHIPS, vec![user_id.into(), MEMBERS_MAX.into()]).await?;
        rows.into_iter().map(|row| membership(&mut row.reader("members"))).collect()
    }

    /// The memberships of all users from the first to the last of these ids, with whose each is. `None`: they are too many
    /// for one read.
    pub async fn memberships_of(
        &self,
        first: i64,
        last: i64,
    ) -> Result<Option<Vec<(i64, Membership)>>, StoreError> {
        let params = vec![first.into(), last.into(), (PLACES_OF_PAGE + 1).into()];
        let rows = self.read(&MEMBERSHIPS_OF_SOME, params).await?;
        if rows.len() as i64 > PLACES_OF_PAGE {
            return Ok(None);
        }
        let whose = |row: Row| {
            let mut r = row.reader("members");
            Ok((r.int("user_id")?, membership(&mut r)?))
        };
        rows.into_iter().map(whose).collect::<Result<_, _>>().map(Some)
    }

    pub async fn members(&self, business_id: i64) -> Result<Vec<Member>, StoreError> {
        let rows = self.read(&MEMBERS, vec![business_id.into(), MEMBERS_MAX.into()]).await?;
        let member = |row: Row| {
            let mut r = row.reader("members");
            Ok(Member {
                user_id: r.int("user_id")?,
                email: r.text("email")?,
                role: r.word("role", MemberRole::parse)?,
                since: r.time("created_at")?,
                is_disabled: r.opt_time("disabled_at")?.is_some(),
                has_begun: r.flag("is_set")?,
            })
        };
        rows.into_iter().map(member).collect()
    }

    pub async fn user_link(&self, hash: &[u8; 32]) -> Result<Option<LinkRow>, StoreError> {
        let row = self.read_one(&LINK, vec![Value::from(hash.to_vec())]).await?;
        let link = |row: Row| {
            let mut r = row.reader("user_links");
            Ok(LinkRow {
                user_id: r.int("user_id")?,
                kind: r.word("kind", LinkKind::parse)?,
                expires_at: r.time("expires_at")?,
                used_at: r.opt_time("used_at")?,
            })
        };
        row.map(link).transpose()
    }

    pub async fn recovery_codes_left(&self, user_id: i64) -> Result<i64, StoreError> {
        let row = self.read_one(&CODES_LEFT, vec![user_id.into()]).await?;
        row.map_or(Ok(0), |row| row.single_int("recovery_codes"))
    }
}
