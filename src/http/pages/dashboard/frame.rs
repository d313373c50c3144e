//! What stands around every page of a business: its name, the ways that the user's role has, live or test data.

use crate::domain::merchant::Mode;
use crate::domain::user::MemberRight;
use crate::http::pages::ask::Ask;
use crate::http::pages::here::Here;
use crate::http::pages::layout::{Frame, ModeSwitch, Place, Way, link};
use crate::http::pages::parts::{Link, Pager};
use crate::http::paths::{
    DASHBOARD, DASHBOARD_ACTIVITY, DASHBOARD_BALANCE, DASHBOARD_KEYS, DASHBOARD_PAYMENTS, DASHBOARD_REQUESTS,
    DASHBOARD_SETTINGS, DASHBOARD_TEAM, DASHBOARD_WALLET, DASHBOARD_WEBHOOKS, DASHBOARD_WEBSITES,
};
use crate::ops::paging::{Cursor, Page};

/// The ways of the dashboard: where, what it is called, who has it, and the heading of a group that it begins.
const WAYS: [(&str, &str, MemberRight, Option<&str>); 11] = [
    (DASHBOARD, "Overview", MemberRight::Enter, None),
    (DASHBOARD_PAYMENTS, "Payments", MemberRight::ReadPayments, None),
    (DASHBOARD_BALANCE, "Balance", MemberRight::ReadMoney, None),
    (DASHBOARD_WALLET, "Wallet", MemberRight::ReadPayments, None),
    (DASHBOARD_WEBSITES, "Websites", MemberRight::Integrate, Some("Your programs")),
    (DASHBOARD_KEYS, "Keys", MemberRight::Integrate, Some("Your programs")),
    (DASHBOARD_WEBHOOKS, "Webhooks", MemberRight::ReadWebhooks, Some("Your programs")),
    (DASHBOARD_REQUESTS, "Refused requests", MemberRight::Integrate, Some("Your programs")),
    (DASHBOARD_TEAM, "Team", MemberRight::Manage, Some("Business")),
    (DASHBOARD_ACTIVITY, "Activity", MemberRight::Manage, Some("Business")),
    (DASHBOARD_SETTINGS, "Settings", MemberRight::Manage, Some("Business")),
];

/// The frame of a page; `at` is the way under which it stands.
pub(super) fn frame(ask: &Ask, here: &Here, title: &str, at: &str) -> Frame {
    let mut frame = ask.frame(title);
    frame.home = here.link(DASHBOARD, &[]);
    frame.place = Some(Place {
        name: (&here.at.business).into(),
        others: here.others.iter().map(|one| to_business(one.business_id, &one.business)).collect(),
    });
    if let Some(user) = &mut frame.user {
        user.role = here.at.role.as_str().into();
    }
    let mut group = None;
    for (path, text, _, heading) in WAYS.into_iter().filter(|(_, _, right, _)| here.may(*right)) {
        let mut way = Way::new(here.link(path, &[]), text).current(path == at);
        if let Some(heading) = heading.filter(|_| group != heading) {
            way = way.heading(heading);
        }
        group = heading.or(group);
        frame.ways.push(way);
    }
    let other = if here.is_test() { Mode::Live } else { Mode::Test };
    frame.mode = here
        .may(MemberRight::ReadPayments)
        .then(|| ModeSwitch { is_test: here.is_test(), other: here.link_in(other, at, &[]) });
    frame
}

fn to_business(id: i64, name: &str) -> Link {
    Link::new(link(DASHBOARD, &[("business", &id.to_string())]), name)
}

/// Under what name a person acts.
pub(super) fn operator(ask: &Ask) -> String {
    ask.session.as_ref().map_or_else(String::new, |session| session.email.clone())
}

/// The way on in a list of this page, with its filters.
pub(super) fn pager<T>(
    ask: &Ask,
    here: &Here,
    path: &str,
    page: &Page<T>,
    filters: &[(&str, &str)],
) -> Option<Pager> {
    let is_on = ask.query("cursor").is_some();
    let older = page
        .next
        .map(|cursor| here.link(path, &[filters, &[("cursor", cursor.to_string().as_str())]].concat()));
    let newest = is_on.then(|| here.link(path, filters));
    let looked = page.looked_back_to.map(|at| ask.zone().time(at).text);
    let note = looked.map(|at| format!("Looked back to {at}. Older rows may fit as well.").into());
    (older.is_some() || newest.is_some()).then_some(Pager { newest, older, note })
}

/// Where a list goes on, as the address says it.
pub(super) fn cursor(ask: &Ask) -> Option<Cursor> {
    ask.query("cursor").and_then(|text| Cursor::parse(&text))
}

/// With a capital and a full stop.
pub(super) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    let rest = letters.as_str();
    let stop = if rest.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{rest}{stop}")
}

/// `99.7 %` of tenths of a percent.
pub(super) fn percent(per_mille: i64) -> String {
    format!("{}.{}\u{a0}%", per_mille / 10, per_mille % 10)
}

/// An id as one part of a path, whatever is in it.
pub(super) fn segment(id: &str) -> String {
    let mut written = String::with_capacity(id.len());
    for byte in id.bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~');
        // What the router would take for a page of its own, and what browsers take for a way up.
        let is_name = id != "new" && (is_plain || byte == b'.' && !id.starts_with('.'));
        match is_name {
            true => written.push(char::from(byte)),
            false => written.push_str(&format!("%{byte:02X}")),
        }
    }
    written
}

/// What [`segment`] wrote; `None` if it holds no text.
pub(super) fn of_segment(segment: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::with_capacity(segment.len()), segment.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|_| *first == b'%').and_then(|two| std::str::from_utf8(two).ok());
        match hex.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    // A database takes no NUL.
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_one_part_of_a_path() {
        for id in ["TXN-01", "a/b?c=1#d", "new", ".", "..", "ọ rder 7", "100%", "%41", "a+b.c"] {
            let written = segment(id);
            assert!(written.is_ascii() && !written.contains(['/', '?', '#', ' ']), "{written}");
            assert!(written != "new" && !written.starts_with('.'), "{written}");
            assert_eq!(of_segment(&written).as_deref(), Some(id));
        }
        assert_eq!(of_segment("%00"), None);
        assert_eq!(of_segment("%ff"), None);
        assert_eq!(of_segment("%zz%4").as_deref(), Some("%zz%4"));
    }

    #[test]
    fn shares_have_a_tenth_and_reasons_are_sentences() {
        assert_eq!((percent(1_000), percent(5)), ("100.0\u{a0}%".into(), "0.5\u{a0}%".into()));
        assert_eq!((sentence("it is late"), sentence("Yes?")), ("It is late.".into(), "Yes?".into()));
    }
}
