//! `/dashboard/team`: the members of a business, their roles, and inviting another. One owner always stays.

use askama::Template;
use axum::response::Response;

use super::export::csv;
use super::form::{Acted, Forms, Refusal, done, in_row, password_first, row_of, sent};
use super::frame::{frame, pager};
use crate::domain::user::{MemberRight, MemberRole};
use crate::http::pages::ask::Ask;
use crate::http::pages::export::is_csv;
use crate::http::pages::field::{Choice, Confirm, Field, Form, Kind};
use crate::http::pages::flash::Flash;
use crate::http::pages::here::Here;
use crate::http::pages::layout::Frame;
use crate::http::pages::parts::{Empty, Pager, Secret, Tone};
use crate::http::pages::plain::unknown;
use crate::http::pages::rows::{Cell, Column, Facts, Rows};
use crate::http::pages::text::sentence;
use crate::http::paths::DASHBOARD_TEAM;
use crate::ops::OpError;
use crate::ops::csv::CsvSource;
use crate::ops::paging::{Page, page_of_whole};
use crate::ops::people::invite::invite_member;
use crate::ops::people::members::{Member, MemberRefusal, members, remove_member, set_role};
use crate::ops::people::users::UserRefusal;

const INVITE: &str = "invite";
const SET: &str = "set-role";
const REMOVE: &str = "remove-member";
/// Under this name a link is shown once.
const LINK: &str = "Link to a password";

#[derive(Template)]
#[template(path = "dashboard/team.html")]
struct Team {
    frame: Frame,
    csv: String,
    made: Vec<Secret>,
    rows: Rows,
    invite: Form,
    roles: Facts,
}

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let Some(here) = &ask.here else { return Ok(unknown(ask)) };
    if is_csv(ask)
        && let Ok(file) = csv(ask, here, "team", MemberRight::Manage, CsvSource::Members(here.id()))
    {
        return Ok(file);
    }
    let named = ask.field("user").parse().ok();
    let page = page_of_whole(members(ask.app(), here.id()).await?, ask.cursor(), named, |one| one.user_id);
    let refusal = match sent(ask, act(ask, here, &page.rows)).await? {
        Ok(refusal) => refusal,
        Err(response) => return Ok(response),
    };
    Ok(show(ask, here, &page, refusal.as_ref()))
}

async fn act(ask: &Ask, here: &Here, all: &[Member]) -> Result<Acted, OpError> {
    if ask.field("act") == INVITE {
        return invite(ask, here).await;
    }
    let id = ask.field("user").parse::<i64>().unwrap_or(0);
    let act = ask.field("act");
    let Some((number, member)) = row_of(all, |member| member.user_id == id) else {
        return Ok(if matches!(act, SET | REMOVE) { Ok(unknown(ask)) } else { Err(Refusal::unknown()) });
    };
    if let Some(first) = password_first(ask, here, DASHBOARD_TEAM, &[]) {
        return Ok(Ok(first));
    }
    let operator = ask.operator();
    let (changed, told) = match act {
        SET => {
            let Some(role) = MemberRole::parse(ask.field("role")) else {
                return Ok(Err(Refusal::new(in_row(SET, number), "role", "Choose a role of the list.")));
            };
            let told = format!("{} is {} now.", member.email, with_article(role));
            (set_role(ask.app(), operator, (here.id(), id), role).await?, told)
        }
        REMOVE => {
            let told = format!("{} is no member any more, and is signed out everywhere.", member.email);
            (remove_member(ask.app(), operator, here.id(), id).await?, told)
        }
        _ => return Ok(Err(Refusal::unknown())),
    };
    Ok(match changed {
        Ok(()) => Ok(done(ask, here, DASHBOARD_TEAM, told)),
        Err(MemberRefusal::Unknown(_)) => Ok(unknown(ask)),
        Err(why @ (MemberRefusal::LastOwner(_) | MemberRefusal::Changed)) => {
            Err(Refusal::new(in_row(act, number), "", sentence(&why.to_string())))
        }
    })
}

async fn invite(ask: &Ask, here: &Here) -> Result<Acted, OpError> {
    let refused = |field, why: &str| Ok(Err(Refusal::new(INVITE, field, why)));
    if let Some(first) = password_first(ask, here, DASHBOARD_TEAM, &["email", "role"]) {
        return Ok(Ok(first));
    }
    let Some(role) = MemberRole::parse(ask.field("role")) else {
        return refused("role", "Choose a role of the list.");
    };
    match invite_member(ask.app(), ask.operator(), here.id(), ask.field("email"), role).await? {
        Ok(added) => {
            let email = &added.user.email;
            let told = match &added.link {
                Some(link) => Flash::done(format!("{email} is a member. Send them the link below."))
                    .once(LINK, link.as_str()),
                None if added.user.password.is_none() => {
                    Flash::done(format!("{email} is a member. A mail with a link is on its way to them."))
                }
                None => {
                    Flash::done(format!("{email} is a member, and signs in with the password they have."))
                }
            };
            Ok(Ok(ask.see(&here.link(DASHBOARD_TEAM, &[]), Some(told))))
        }
        Err(UserRefusal::Email(_)) => refused("email", "Write an e-mail address such as ada@shop.example."),
        Err(UserRefusal::Already { .. }) => {
            refused("email", "This is a member already. Change the role above.")
        }
        // Whether somebody has an account elsewhere is not told more exactly.
        Err(UserRefusal::Disabled(_) | UserRefusal::Unproven(_)) => {
            refused("email", "This address cannot be invited. Ask the operator.")
        }
        Err(why) => refused("", &sentence(&why.to_string())),
    }
}

fn with_article(role: MemberRole) -> String {
    let article = if role == MemberRole::Owner { "an" } else { "a" };
    match role {
        // What one belongs to, not what one is.
        MemberRole::Finance => "of the finance people".to_owned(),
        role => format!("{article} {}", role.as_str()),
    }
}

fn show(ask: &Ask, here: &Here, page: &Page<Member>, refusal: Option<&Refusal>) -> Response {
    let forms = Forms::new(ask, here, DASHBOARD_TEAM, refusal);
    let once = ask.flash.iter().flat_map(|flash| &flash.once).filter(|(name, _)| name == LINK);
    let link = |(name, link): &(String, String)| Secret {
        hint: "With it they choose a password. It works once, for 72 hours, and is not shown again.".into(),
        ..Secret::once("new-link", name, link)
    };
    let roles = MemberRole::ALL
        .into_iter()
        .fold(Facts::new(), |facts, role| facts.fact(role.as_str(), Cell::text(what_it_may(role))));
    let invite = forms
        .making(INVITE, "Invite")
        .field(forms.field(INVITE, "email", "E-mail address", Kind::Email))
        .field(forms.field_of(INVITE, "role", "Role", Kind::Select(choices()), MemberRole::Viewer.as_str()));
    let mut rows = rows(ask, &forms, &page.rows);
    rows.pager = pager(ask, here, DASHBOARD_TEAM, page, &[]).map(Pager::not_by_time);
    let page = Team {
        csv: here.link(DASHBOARD_TEAM, &[("format", "csv")]),
        frame: forms.told(frame(ask, here, "Team", DASHBOARD_TEAM)),
        made: once.map(link).collect(),
        rows,
        invite,
        roles,
    };
    ask.html(forms.status(), &page)
}

fn what_it_may(role: MemberRole) -> &'static str {
    match role {
        MemberRole::Owner => "Everything, the team and the settings included",
        MemberRole::Developer => "Keys, websites, webhooks and test payments; looks at payments",
        MemberRole::Finance => "Payments, corrections, balance and exports; looks at webhooks",
        MemberRole::Cashier => "The till alone",
        MemberRole::Viewer => "Looks at payments, balance and webhooks, and changes nothing",
    }
}

fn choices() -> Vec<Choice> {
    MemberRole::ALL.into_iter().map(|role| Choice::new(role.as_str(), role.as_str())).collect()
}

fn rows(ask: &Ask, forms: &Forms<'_>, all: &[Member]) -> Rows {
    let columns =
        vec![Column::new("Member"), Column::new("State"), Column::new("Since"), Column::acts("Change")];
    let mut rows = Rows::new("Members", columns, Empty::new("Nobody", "Invite the first member below."));
    let zone = ask.zone();
    for (at, member) in all.iter().enumerate() {
        let state = match (member.is_disabled, member.has_begun) {
            (true, _) => Cell::badge(Tone::Muted, "Disabled by the operator"),
            (false, true) => Cell::badge(Tone::Good, "Active"),
            (false, false) => Cell::badge(Tone::Warn, "Invited"),
        };
        let (number, id) = (at + 1, member.user_id.to_string());
        let role: Field = forms.field_of(
            &in_row(SET, number),
            "role",
            "Role",
            Kind::Select(choices()),
            member.role.as_str(),
        );
        let set = forms.in_row(SET, number, "Save the role").hidden("user", &id).field(role).small();
        let question =
            format!("{} is signed out everywhere and sees nothing of this business any more.", member.email);
        let remove = forms.in_row(REMOVE, number, "Remove").hidden("user", &id);
        rows.row(vec![
            Cell::text(&member.email).under(Cell::text(member.role.as_str())),
            state,
            zone.day(member.since).into(),
            Cell::Beside(vec![set.into(), Confirm::new("Remove", question, remove).into()]),
        ]);
    }
    rows
}
