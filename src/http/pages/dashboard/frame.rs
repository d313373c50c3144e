//! What stands around every page of a business: its name, the ways that the user's role has, live or test data.

use crate::domain::merchant::Mode;
use crate::domain::user::MemberRight;
use crate::http::pages::ask::Ask;
use crate::http::pages::here::Here;
use crate::http::pages::layout::{Frame, ModeSwitch, Place, Way, link};
use crate::http::pages::parts::{Link, Pager};
use crate::http::paths::{
    DASHBOARD, DASHBOARD_ACTIVITY, DASHBOARD_BALANCE, DASHBOARD_KEYS, DASHBOARD_PAYMENTS, DASHBOARD_PAYOUTS,
    DASHBOARD_REQUESTS, DASHBOARD_SETTINGS, DASHBOARD_TEAM, DASHBOARD_TILL, DASHBOARD_WALLET,
    DASHBOARD_WEBHOOKS, DASHBOARD_WEBSITES,
};
use crate::ops::paging::Page;

/// The ways of the dashboard: where, what it is called, who has it, and the heading of a group that it begins.
const WAYS: [(&str, &str, MemberRight, Option<&str>); 13] = [
    (DASHBOARD, "Overview", MemberRight::ReadPayments, None),
    (DASHBOARD_TILL, "Till", MemberRight::UseTill, None),
    (DASHBOARD_PAYMENTS, "Payments", MemberRight::ReadPayments, None),
    (DASHBOARD_BALANCE, "Balance", MemberRight::ReadMoney, None),
    (DASHBOARD_PAYOUTS, "Payouts", MemberRight::ReadMoney, None),
    (DASHBOARD_WALLET, "Wallet", MemberRight::ReadPayments, None),
    (DASHBOARD_WEBSITES, "Websites", MemberRight::Integrate, Some("Your programs")),
    (DASHBOARD_KEYS, "Keys", MemberRight::Integrate, Some("Your programs")),
    (DASHBOARD_WEBHOOKS, "Webhooks", MemberRight::ReadWebhooks, Some("Your programs")),
    (DASHBOARD_REQUESTS, "Refused requests", MemberRight::Integrate, Some("Your programs")),
    (DASHBOARD_TEAM, "Team", MemberRight::Manage, Some("Business")),
    (DASHBOARD_ACTIVITY, "Activity", MemberRight::Manage, Some("Business")),
    (DASHBOARD_SETTINGS, "Settings", MemberRight::Manage, Some("Business")),
];

/// The frame of a page; `at` is the way under which it stands, empty where it stands under none.
pub fn frame(ask: &Ask, here: &Here, title: &str, at: &str) -> Frame {
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
        .then_some(if at.is_empty() { DASHBOARD } else { at })
        .map(|at| ModeSwitch { is_test: here.is_test(), other: here.link_in(other, at, &[]) });
    frame
}

fn to_business(id: i64, name: &str) -> Link {
    Link::new(link(DASHBOARD, &[("business", &id.to_string())]), name)
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
    Pager::by_time(newest, older, note)
}
