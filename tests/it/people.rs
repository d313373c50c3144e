//! People who sign in, by the ops that pages and commands call: links, passwords, codes, tries, sessions and members.
//! What a browser sees of it is `pages`' to test.

use tillbell::domain::time::{Span, Timestamp};
use tillbell::domain::totp;
use tillbell::domain::user::{MemberRole, PasswordProblem, StaffRole};
use tillbell::ops::people::links::{
    LinkRefused, LinkView, forgot, make_reset_link, set_password, view_password_link,
};
use tillbell::ops::people::members::{MemberRefusal, members, remove_member, set_role};
use tillbell::ops::people::passwords::{PasswordRefusal, change_password, confirm_password};
use tillbell::ops::people::second_factor::{FactorRefused, begin_totp, confirm_totp, end_totp};
use tillbell::ops::people::sessions::{
    NewToken, Session, businesses_of, end_session, open_sessions, session_of, set_time_zone, sign_out,
};
use tillbell::ops::people::sign_in::{From, SignInRefused, SignedIn, enter_code, sign_in};
use tillbell::ops::people::users::{
    Added, Listed, Place, UserRefusal, Which, add_user, browse_users, disable_user, reset_user,
};

use crate::harness::app::{TestApp, world};

pub const PASSWORD: &str = "seventeen goats walk";
pub const OTHER: &str = "a lagoon of kites";
const HOME: From<'static> = From { address: "198.51.100.7", agent: "Firefox\u{202e} on a phone" };
pub const EMAIL: &str = "ife@till.example";

pub async fn added(t: &TestApp, email: &str, place: Place) -> Added {
    add_user(&t.app, "ada", email, place, None).await.unwrap().unwrap()
}

async fn everybody(t: &TestApp) -> Vec<Listed> {
    browse_users(&t.app, Which::All, None, 10).await.unwrap().rows
}

/// Somebody with a password.
async fn begun(t: &TestApp, email: &str, place: Place) -> i64 {
    add_user(&t.app, "ada", email, place, Some(PASSWORD)).await.unwrap().unwrap().user.id
}

pub fn token_of(added: &Added) -> String {
    added.link.as_ref().unwrap().rsplit('/').next().unwrap().to_owned()
}

/// Somebody of the staff with a password.
async fn staff(t: &TestApp, role: StaffRole) -> i64 {
    let place = Place::Staff(role);
    add_user(&t.app, "ada", EMAIL, place, Some(PASSWORD)).await.unwrap().unwrap().user.id
}

pub async fn signed_in(t: &TestApp, email: &str, password: &str) -> NewToken {
    match sign_in(&t.app, email, password, HOME).await.unwrap() {
        Ok(SignedIn::Whole(token)) => token,
        other => panic!("{other:?}"),
    }
}

pub async fn session(t: &TestApp, token: &NewToken) -> Option<Session> {
    session_of(&t.app, &token.0).await.unwrap()
}

pub async fn refused(t: &TestApp, email: &str, password: &str) -> SignInRefused {
    sign_in(&t.app, email, password, HOME).await.unwrap().unwrap_err()
}

pub fn code(secret: &[u8], now: Timestamp) -> String {
    (0..1_000_000)
        .map(|n| format!("{n:06}"))
        .find(|code| totp::step_of(secret, code, now) == Some(now.0 / 30_000_000))
        .unwrap()
}

/// The secret of an `otpauth://` address.
pub fn secret_of(address: &str) -> Vec<u8> {
    let text = address.split("secret=").nth(1).unwrap().split('&').next().unwrap();
    let value = |c: u8| u64::from(if c.is_ascii_uppercase() { c - b'A' } else { c - b'2' + 26 });
    let bits: String = text.bytes().map(|c| format!("{:05b}", value(c))).collect();
    bits.as_bytes()
        .chunks_exact(8)
        .map(|byte| u8::from_str_radix(std::str::from_utf8(byte).unwrap(), 2).unwrap())
        .collect()
}

/// A second factor for whoever holds this token: secret, recovery codes, and the token that goes on.
async fn with_factor(t: &TestApp, token: &NewToken) -> (Vec<u8>, Vec<String>, NewToken) {
    let one = session(t, token).await.unwrap();
    let secret = secret_of(&begin_totp(&t.app, &one).await.unwrap().unwrap().address);
    let now = code(&secret, t.app.now());
    let confirmed = confirm_totp(&t.app, &one, &now, "198.51.100.7").await.unwrap().unwrap();
    let codes = confirmed.recovery_codes.iter().map(|code| code.to_string()).collect();
    (secret, codes, confirmed.token)
}

async fn code_needed(t: &TestApp) -> NewToken {
    match sign_in(&t.app, EMAIL, PASSWORD, HOME).await.unwrap() {
        Ok(SignedIn::CodeNeeded(token)) => token,
        other => panic!("{other:?}"),
    }
}

on_both! {
    async fn a_link_sets_a_password_once(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let one = added(&t, " Halima@Kudu.Example ", Place::Member(shop.id, MemberRole::Owner)).await;
        assert_eq!(one.user.email, "halima@kudu.example");
        let token = token_of(&one);
        let view = view_password_link(&t.app, &token).await.unwrap();
        assert_eq!(view, LinkView::Good { email: "halima@kudu.example".into(), is_first: true });
        for (password, problem) in [("short", PasswordProblem::Short), ("halima@kudu.example", PasswordProblem::Email)] {
            let refused = set_password(&t.app, &token, password).await.unwrap();
            assert_eq!(refused, Err(LinkRefused::Unfit(problem)));
        }
        assert_eq!(refused(&t, "halima@kudu.example", PASSWORD).await, SignInRefused::Wrong);
        set_password(&t.app, &token, PASSWORD).await.unwrap().unwrap();
        assert_eq!(set_password(&t.app, &token, OTHER).await.unwrap(), Err(LinkRefused::Over));
        assert_eq!(view_password_link(&t.app, &token).await.unwrap(), LinkView::Over);
        assert_eq!(view_password_link(&t.app, "x").await.unwrap(), LinkView::Unknown);
        let token = signed_in(&t, "HALIMA@kudu.example", PASSWORD).await;
        let whose = session(&t, &token).await.unwrap();
        assert_eq!((whose.email.as_str(), whose.staff), ("halima@kudu.example", None));
        let at = businesses_of(&t.app, &whose).await.unwrap();
        assert_eq!((at.len(), at[0].business_id, at[0].role), (1, shop.id, MemberRole::Owner));
        let told = t.app.store.acts(Some(&format!("user {}", whose.user_id)), None, Timestamp(0), 10).await.unwrap();
        let told: Vec<&str> = told.iter().map(|act| act.act.as_str()).collect();
        assert_eq!(told, ["sign in", "password set", "user add"]);
    }

    async fn a_link_is_good_for_72_hours(db: TestDatabase) {
        let (t, _) = world(db).await;
        let token = token_of(&added(&t, EMAIL, Place::Staff(StaffRole::Admin)).await);
        t.advance(Span::seconds(72 * 3_600 - 1));
        assert!(matches!(view_password_link(&t.app, &token).await.unwrap(), LinkView::Good { .. }));
        t.advance(Span::seconds(1));
        assert_eq!(set_password(&t.app, &token, PASSWORD).await.unwrap(), Err(LinkRefused::Over));
    }

    async fn of_two_who_use_one_link_one_sets_the_password(db: TestDatabase) {
        let (t, _) = world(db).await;
        let token = token_of(&added(&t, EMAIL, Place::Staff(StaffRole::Admin)).await);
        let node = t.another_node().await;
        let (a, b) =
            tokio::join!(set_password(&t.app, &token, PASSWORD), set_password(&node, &token, OTHER));
        let (a, b) = (a.unwrap(), b.unwrap());
        assert!(a.is_ok() != b.is_ok(), "{a:?} {b:?}");
        let (right, wrong) = if a.is_ok() { (PASSWORD, OTHER) } else { (OTHER, PASSWORD) };
        signed_in(&t, EMAIL, right).await;
        assert_eq!(refused(&t, EMAIL, wrong).await, SignInRefused::Wrong);
    }

    async fn unknown_and_wrong_and_disabled_look_alike_and_all_count(db: TestDatabase) {
        let (t, _) = world(db).await;
        let id = staff(&t, StaffRole::Admin).await;
        for email in [EMAIL, "nobody@till.example", "no address at all"] {
            for _ in 0..5 {
                assert_eq!(refused(&t, email, "not the password").await, SignInRefused::Wrong, "{email}");
            }
            // The sixth waits, and so does the right one.
            for password in ["not the password", PASSWORD] {
                let SignInRefused::TooMany(many) = refused(&t, email, password).await else { panic!("{email}") };
                assert_eq!(many.seconds, 1, "{email}");
            }
        }
        t.advance(Span::seconds(1));
        signed_in(&t, EMAIL, PASSWORD).await;
        // A right one forgives the others.
        for _ in 0..4 {
            assert_eq!(refused(&t, EMAIL, "not the password").await, SignInRefused::Wrong);
        }
        signed_in(&t, EMAIL, PASSWORD).await;
        disable_user(&t.app, "ada", id).await.unwrap().unwrap();
        assert_eq!(refused(&t, EMAIL, PASSWORD).await, SignInRefused::Wrong);
    }

    async fn each_wrong_try_waits_longer_up_to_a_minute(db: TestDatabase) {
        let (t, _) = world(db).await;
        staff(&t, StaffRole::Admin).await;
        for _ in 0..5 {
            refused(&t, EMAIL, "not the password").await;
        }
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            let SignInRefused::TooMany(many) = refused(&t, EMAIL, PASSWORD).await else { panic!("{seconds}") };
            assert_eq!(many.seconds, seconds);
            t.advance(Span::seconds(seconds));
            assert_eq!(refused(&t, EMAIL, "not the password").await, SignInRefused::Wrong, "{seconds}");
        }
        t.advance(Span::minutes(15));
        for _ in 0..5 {
            assert_eq!(refused(&t, EMAIL, "not the password").await, SignInRefused::Wrong);
        }
    }

    async fn an_address_is_refused_after_a_hundred_wrong_ones(db: TestDatabase) {
        let (t, _) = world(db).await;
        staff(&t, StaffRole::Admin).await;
        signed_in(&t, EMAIL, PASSWORD).await;
        for n in 0..100 {
            assert_eq!(refused(&t, &format!("n{n}@till.example"), "guess").await, SignInRefused::Wrong, "{n}");
        }
        let SignInRefused::TooMany(many) = refused(&t, EMAIL, PASSWORD).await else { panic!() };
        assert_eq!(many.seconds, 15 * 60);
        let elsewhere = From { address: "203.0.113.9", ..HOME };
        assert!(sign_in(&t.app, EMAIL, PASSWORD, elsewhere).await.unwrap().is_ok());
        t.advance(Span::minutes(15));
        signed_in(&t, EMAIL, PASSWORD).await;
    }

    async fn many_tries_at_one_moment_get_no_more(db: TestDatabase) {
        let (t, _) = world(db).await;
        staff(&t, StaffRole::Admin).await;
        let node = t.another_node().await;
        let tries = (0..24).map(|n| {
            let app = if n % 2 == 0 { &t.app } else { &node };
            sign_in(app, EMAIL, "not the password", HOME)
        });
        let all = futures_util::future::join_all(tries).await;
        let judged = all.into_iter().filter(|one| matches!(one, Ok(Err(SignInRefused::Wrong)))).count();
        assert_eq!(judged, 5);
    }

    async fn a_session_ends_after_idling_and_after_twelve_hours(db: TestDatabase) {
        let (t, _) = world(db).await;
        staff(&t, StaffRole::Viewer).await;
        let idle = signed_in(&t, EMAIL, PASSWORD).await;
        t.advance(Span::seconds(30 * 60 - 1));
        assert!(session(&t, &idle).await.is_some(), "used at last");
        t.advance(Span::minutes(30));
        assert!(session(&t, &idle).await.is_none());
        let busy = signed_in(&t, EMAIL, PASSWORD).await;
        for _ in 0..(12 * 60 / 20) - 1 {
            t.advance(Span::minutes(20));
            assert!(session(&t, &busy).await.is_some());
        }
        t.advance(Span::minutes(20));
        assert!(session(&t, &busy).await.is_none(), "twelve hours");
        assert!(session_of(&t.app, "no token").await.unwrap().is_none());
    }

    async fn who_signs_out_is_out_on_every_node(db: TestDatabase) {
        let (t, _) = world(db).await;
        staff(&t, StaffRole::Viewer).await;
        let (one, two, three) =
            (signed_in(&t, EMAIL, PASSWORD).await, signed_in(&t, EMAIL, PASSWORD).await, signed_in(&t, EMAIL, PASSWORD).await);
        let node = t.another_node().await;
        sign_out(&node, &one.0).await.unwrap();
        assert!(session(&t, &one).await.is_none());
        let own = session(&t, &two).await.unwrap();
        let open = open_sessions(&t.app, &own).await.unwrap();
        assert_eq!((open.len(), open[0].agent.as_str()), (2, "Firefox on a phone"));
        let other = session(&t, &three).await.unwrap();
        end_session(&t.app, &own, other.id).await.unwrap();
        assert!(session(&t, &three).await.is_none() && session(&t, &two).await.is_some());
    }

    async fn a_new_password_ends_all_other_sessions(db: TestDatabase) {
        let (t, _) = world(db).await;
        staff(&t, StaffRole::Viewer).await;
        let (here, there) = (signed_in(&t, EMAIL, PASSWORD).await, signed_in(&t, EMAIL, PASSWORD).await);
        let own = session(&t, &here).await.unwrap();
        let change = async |old, new| change_password(&t.app, &own, (old, new), HOME.address).await.unwrap();
        assert_eq!(change("wrong", OTHER).await.unwrap_err(), PasswordRefusal::Wrong);
        assert_eq!(change(PASSWORD, "short").await.unwrap_err(), PasswordRefusal::Unfit(PasswordProblem::Short));
        let renewed = change(PASSWORD, OTHER).await.unwrap();
        assert!(session(&t, &there).await.is_none() && session(&t, &here).await.is_none());
        assert!(session(&t, &renewed).await.is_some());
        assert_eq!(refused(&t, EMAIL, PASSWORD).await, SignInRefused::Wrong);
        signed_in(&t, EMAIL, OTHER).await;
        // The token of before is nobody's: it changes nothing.
        assert_eq!(change(OTHER, PASSWORD).await.unwrap_err(), PasswordRefusal::SignedOut);
    }

    async fn what_matters_asks_for_the_password_after_ten_minutes(db: TestDatabase) {
        let (t, _) = world(db).await;
        staff(&t, StaffRole::Admin).await;
        let token = signed_in(&t, EMAIL, PASSWORD).await;
        let own = session(&t, &token).await.unwrap();
        assert!(own.is_checked(t.app.now()));
        t.advance(Span::minutes(10));
        assert!(!own.is_checked(t.app.now()));
        let wrong = confirm_password(&t.app, &own, "wrong", HOME.address).await.unwrap();
        assert_eq!(wrong.unwrap_err(), PasswordRefusal::Wrong);
        let renewed = confirm_password(&t.app, &own, PASSWORD, HOME.address).await.unwrap().unwrap();
        assert!(session(&t, &token).await.is_none());
        assert!(session(&t, &renewed).await.unwrap().is_checked(t.app.now()));
    }

    async fn a_code_counts_once(db: TestDatabase) {
        let (t, _) = world(db).await;
        staff(&t, StaffRole::Admin).await;
        let first = signed_in(&t, EMAIL, PASSWORD).await;
        let (secret, codes, token) = with_factor(&t, &first).await;
        let own = session(&t, &token).await.unwrap();
        assert!(!own.must_set_up_factor && own.has_totp && codes.len() == 10);
        assert!(session(&t, &first).await.is_none());

        let half = code_needed(&t).await;
        assert!(session(&t, &half).await.is_none(), "the password alone opens nothing");
        // The one by which it was set up counted then.
        let used = code(&secret, t.app.now());
        assert_eq!(enter_code(&t.app, &half.0, &used, HOME).await.unwrap().unwrap_err(), SignInRefused::Wrong);
        t.advance(Span::seconds(30));
        let next = code(&secret, t.app.now());
        let other = code_needed(&t).await;
        let node = t.another_node().await;
        let (a, b) = tokio::join!(
            enter_code(&t.app, &half.0, &next, HOME),
            enter_code(&node, &other.0, &next, HOME)
        );
        let (a, b) = (a.unwrap(), b.unwrap());
        assert!(a.is_ok() != b.is_ok(), "{a:?} {b:?}");
        let whole = a.or(b).unwrap();
        assert!(session(&t, &whole).await.is_some());
    }

    async fn staff_without_a_second_factor_must_set_one_up_where_it_is_demanded(db: TestDatabase) {
        let t = TestApp::start_with(db, "[users]\nstaff_totp = true\n").await;
        staff(&t, StaffRole::Viewer).await;
        let token = signed_in(&t, EMAIL, PASSWORD).await;
        assert!(session(&t, &token).await.unwrap().must_set_up_factor);
        let (_, _, token) = with_factor(&t, &token).await;
        assert!(!session(&t, &token).await.unwrap().must_set_up_factor);
    }

    async fn a_recovery_code_counts_once(db: TestDatabase) {
        let (t, _) = world(db).await;
        staff(&t, StaffRole::Admin).await;
        let (_, codes, _) = with_factor(&t, &signed_in(&t, EMAIL, PASSWORD).await).await;
        let half = code_needed(&t).await;
        assert_eq!(enter_code(&t.app, &half.0, "abcde-fghjk", HOME).await.unwrap().unwrap_err(), SignInRefused::Wrong);
        let typed = codes[3].to_uppercase().replace('-', " ");
        let whole = enter_code(&t.app, &half.0, &typed, HOME).await.unwrap().unwrap();
        assert!(session(&t, &whole).await.is_some());
        assert_eq!(enter_code(&t.app, &half.0, &codes[4], HOME).await.unwrap().unwrap_err(), SignInRefused::Over);
        let half = code_needed(&t).await;
        assert_eq!(enter_code(&t.app, &half.0, &codes[3], HOME).await.unwrap().unwrap_err(), SignInRefused::Wrong);
        t.advance(Span::minutes(10));
        assert_eq!(enter_code(&t.app, &half.0, &codes[5], HOME).await.unwrap().unwrap_err(), SignInRefused::Over);
    }

    async fn codes_are_guessed_no_faster_than_passwords(db: TestDatabase) {
        let (t, _) = world(db).await;
        staff(&t, StaffRole::Admin).await;
        with_factor(&t, &signed_in(&t, EMAIL, PASSWORD).await).await;
        let half = code_needed(&t).await;
        let mut judged = 0;
        for n in 0..20 {
            match enter_code(&t.app, &half.0, &format!("{n:06}"), HOME).await.unwrap().unwrap_err() {
                SignInRefused::Wrong => judged += 1,
                SignInRefused::TooMany(_) => break,
                other => panic!("{other:?}"),
            }
        }
        // The right password before them gave nothing back: its sign-in was not whole.
        assert_eq!(judged, 4);
    }

    async fn the_second_factor_ends_with_the_password(db: TestDatabase) {
        let (t, _) = world(db).await;
        staff(&t, StaffRole::Admin).await;
        let first = signed_in(&t, EMAIL, PASSWORD).await;
        let own = session(&t, &first).await.unwrap();
        let early = confirm_totp(&t.app, &own, "000000", HOME.address).await.unwrap();
        assert_eq!(early.unwrap_err(), FactorRefused::NotBegun);
        let (_, codes, token) = with_factor(&t, &first).await;
        let own = session(&t, &token).await.unwrap();
        assert!(begin_totp(&t.app, &own).await.unwrap().is_none(), "there is one");
        let wrong = end_totp(&t.app, &own, "wrong", HOME.address).await.unwrap();
        assert_eq!(wrong.unwrap_err(), PasswordRefusal::Wrong);
        let token = end_totp(&t.app, &own, PASSWORD, HOME.address).await.unwrap().unwrap();
        assert!(!session(&t, &token).await.unwrap().has_totp);
        signed_in(&t, EMAIL, PASSWORD).await;
        let row = t.app.store.user(own.user_id).await.unwrap().unwrap();
        assert_eq!((row.totp, t.app.store.recovery_codes_left(own.user_id).await.unwrap()), (None, 0));
        assert_eq!(codes.len(), 10);
    }

    async fn a_disabled_user_is_out_at_once(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let one = added(&t, EMAIL, Place::Member(shop.id, MemberRole::Finance)).await;
        let link = token_of(&one);
        set_password(&t.app, &link, PASSWORD).await.unwrap().unwrap();
        let token = signed_in(&t, EMAIL, PASSWORD).await;
        let again = make_reset_link(&t.app, EMAIL, (1, b"n")).await.unwrap().unwrap();
        disable_user(&t.app, "ada", one.user.id).await.unwrap().unwrap();
        assert!(session(&t, &token).await.is_none());
        let again = again.rsplit('/').next().unwrap();
        assert_eq!(set_password(&t.app, again, OTHER).await.unwrap(), Err(LinkRefused::Over));
        assert!(make_reset_link(&t.app, EMAIL, (1, b"n")).await.unwrap().is_none());
        let refused = reset_user(&t.app, "ada", one.user.id).await.unwrap().unwrap_err();
        assert_eq!(refused, UserRefusal::Disabled(one.user.id));
    }

    async fn a_reset_begins_anew(db: TestDatabase) {
        let (t, _) = world(db).await;
        let id = staff(&t, StaffRole::Admin).await;
        let (_, codes, token) = with_factor(&t, &signed_in(&t, EMAIL, PASSWORD).await).await;
        let added = reset_user(&t.app, "ada", id).await.unwrap().unwrap();
        assert!(session(&t, &token).await.is_none());
        assert_eq!(refused(&t, EMAIL, PASSWORD).await, SignInRefused::Wrong, "the password of before is gone");
        set_password(&t.app, &token_of(&added), OTHER).await.unwrap().unwrap();
        let token = signed_in(&t, EMAIL, OTHER).await;
        assert!(!session(&t, &token).await.unwrap().has_totp, "and so is the app that was lost");
        assert_eq!((codes.len(), t.app.store.recovery_codes_left(id).await.unwrap()), (10, 0));
    }

    async fn one_address_is_one_user_in_several_places(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let first = added(&t, EMAIL, Place::Member(shop.id, MemberRole::Cashier)).await;
        let twice = add_user(&t.app, "ada", EMAIL, Place::Member(shop.id, MemberRole::Owner), None).await.unwrap();
        assert!(twice.unwrap_err().to_string().contains("is already cashier of business"));
        set_password(&t.app, &token_of(&first), PASSWORD).await.unwrap().unwrap();
        let second = added(&t, EMAIL, Place::Member(other.id, MemberRole::Viewer)).await;
        assert_eq!((second.user.id, second.link.is_none()), (first.user.id, true), "who has a password needs no link");
        let with = add_user(&t.app, "ada", EMAIL, Place::Staff(StaffRole::Viewer), Some(OTHER)).await.unwrap();
        assert_eq!(with.unwrap_err(), UserRefusal::HasPassword(EMAIL.into()));
        added(&t, EMAIL, Place::Staff(StaffRole::Viewer)).await;
        let listed = everybody(&t).await;
        assert_eq!((listed.len(), listed[0].memberships.len(), listed[0].user.staff), (1, 2, Some(StaffRole::Viewer)));
        let unknown = add_user(&t.app, "ada", EMAIL, Place::Member(999, MemberRole::Owner), None).await.unwrap();
        assert_eq!(unknown.unwrap_err(), UserRefusal::UnknownBusiness(999));
        let wrong = add_user(&t.app, "ada", "nobody", Place::Staff(StaffRole::Viewer), None).await.unwrap();
        assert_eq!(wrong.unwrap_err(), UserRefusal::Email("nobody".into()));
    }

    async fn of_two_who_add_one_address_at_one_moment_there_is_one_user(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let node = t.another_node().await;
        let (a, b) = tokio::join!(
            add_user(&t.app, "ada", EMAIL, Place::Member(shop.id, MemberRole::Owner), None),
            add_user(&node, "ife", EMAIL, Place::Member(other.id, MemberRole::Owner), None)
        );
        let (a, b) = (a.unwrap().unwrap(), b.unwrap().unwrap());
        assert_eq!(a.user.id, b.user.id);
        assert_eq!(everybody(&t).await[0].memberships.len(), 2);
    }

    async fn a_business_keeps_an_owner(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let owner = begun(&t, EMAIL, Place::Member(shop.id, MemberRole::Owner)).await;
        let only = set_role(&t.app, "ada", (shop.id, owner), MemberRole::Viewer).await.unwrap();
        assert_eq!(only, Err(MemberRefusal::LastOwner(EMAIL.into())));
        // Who was invited and never came keeps no business.
        let invited = added(&t, "nkem@till.example", Place::Member(shop.id, MemberRole::Owner)).await.user.id;
        let only = remove_member(&t.app, "ada", shop.id, owner).await.unwrap();
        assert_eq!(only, Err(MemberRefusal::LastOwner(EMAIL.into())));
        remove_member(&t.app, "ada", shop.id, invited).await.unwrap().unwrap();
        let second = begun(&t, "bem@till.example", Place::Member(shop.id, MemberRole::Owner)).await;
        let node = t.another_node().await;
        let (a, b) = tokio::join!(
            remove_member(&t.app, "ada", shop.id, owner),
            remove_member(&node, "bem", shop.id, second)
        );
        let (a, b) = (a.unwrap(), b.unwrap());
        let left: Vec<i64> = members(&t.app, shop.id).await.unwrap().iter().map(|member| member.user_id).collect();
        assert_eq!(left.len(), 1, "{a:?} {b:?}");
        let stranger = remove_member(&t.app, "ada", shop.id + 1, left[0]).await.unwrap();
        assert_eq!(stranger, Err(MemberRefusal::Unknown(left[0])));
    }

    async fn another_role_ends_the_sessions_of_before(db: TestDatabase) {
        let (t, shop) = world(db).await;
        added(&t, EMAIL, Place::Member(shop.id, MemberRole::Owner)).await;
        let one = added(&t, "bem@till.example", Place::Member(shop.id, MemberRole::Finance)).await;
        set_password(&t.app, &token_of(&one), PASSWORD).await.unwrap().unwrap();
        let token = signed_in(&t, "bem@till.example", PASSWORD).await;
        set_role(&t.app, "ada", (shop.id, one.user.id), MemberRole::Cashier).await.unwrap().unwrap();
        assert!(session(&t, &token).await.is_none());
        let token = signed_in(&t, "bem@till.example", PASSWORD).await;
        let own = session(&t, &token).await.unwrap();
        assert_eq!(businesses_of(&t.app, &own).await.unwrap()[0].role, MemberRole::Cashier);
        assert!(set_time_zone(&t.app, &own, "Europe/London").await.unwrap());
        assert!(!set_time_zone(&t.app, &own, "Mars/Base").await.unwrap());
        assert_eq!(session(&t, &token).await.unwrap().time_zone, "Europe/London");
    }

    async fn a_forgotten_password_has_a_link_of_an_hour(db: TestDatabase) {
        let (t, _) = world(db).await;
        staff(&t, StaffRole::Admin).await;
        assert!(make_reset_link(&t.app, "nobody@till.example", (1, b"n")).await.unwrap().is_none());
        let link = make_reset_link(&t.app, EMAIL, (1, b"n")).await.unwrap().unwrap();
        let token = link.rsplit('/').next().unwrap();
        assert_eq!(view_password_link(&t.app, token).await.unwrap(), LinkView::Good { email: EMAIL.into(), is_first: false });
        signed_in(&t, EMAIL, PASSWORD).await;
        t.advance(Span::hours(1));
        assert_eq!(set_password(&t.app, token, OTHER).await.unwrap(), Err(LinkRefused::Over));
        for _ in 0..4 {
            forgot(&t.app, EMAIL, HOME.address).await.unwrap().unwrap();
        }
        forgot(&t.app, EMAIL, HOME.address).await.unwrap().unwrap();
        assert!(forgot(&t.app, EMAIL, HOME.address).await.unwrap().is_err(), "nobody is flooded with mails");
    }
}
