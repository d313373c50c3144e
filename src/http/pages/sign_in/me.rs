//! `/me`: one's own password, second factor, passkeys, sessions and time zone. Each form says by its hidden `act` what it is.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use super::own::{CODE, ErrorOf, Refusal, act};
use super::passkeys::{self, Passkeys};
use super::{confirm, passkey, too_many};
use crate::http::pages::ask::Ask;
use crate::http::pages::field::{Field, Form, Kind, Look};
use crate::http::pages::flash::Flash;
use crate::http::pages::layout::Frame;
use crate::http::pages::parts::{Empty, Notice, Secret, Tone};
use crate::http::pages::plain::{unknown, wait};
use crate::http::pages::qr::{Qr, code_of};
use crate::http::pages::rows::{Cell, Column, Rows};
use crate::http::pages::text::Text;
use crate::http::paths::ME;
use crate::ops::OpError;
use crate::ops::people::passkeys::own_passkeys;
use crate::ops::people::passwords::change_password;
use crate::ops::people::second_factor::{
    Begun, FactorRefused, begin_totp, begun_totp, confirm_totp, end_totp,
};
use crate::ops::people::sessions::{OpenSession, Session, end_session, open_sessions, set_time_zone};

#[derive(Template)]
#[template(path = "sign_in/me.html")]
struct Me {
    frame: Frame,
    email: Text,
    /// Nothing else may be done before.
    must_set_up: bool,
    has_totp: bool,
    recovery_codes: Vec<String>,
    /// To be confirmed.
    begun: Option<Setup>,
    totp: Option<Form>,
    passkeys: Passkeys,
    password: Form,
    sessions: Rows,
    zone: Form,
}

struct Setup {
    qr: Option<Qr>,
    address: Secret,
}

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let Some(session) = &ask.session else { return Ok(unknown(ask)) };
    if !ask.is_form() {
        return show(ask, session, None).await;
    }
    let done = match ask.field("act") {
        "change-password" => change(ask, session).await?,
        "totp-begin" => begin(ask, session).await?,
        "totp-confirm" => confirm_code(ask, session).await?,
        "totp-end" => end(ask, session).await?,
        "passkey-add" => passkeys::add(ask, session).await?,
        "end-passkey" => Ok(passkeys::end(ask, session).await?),
        passkey::BEGIN => Ok(passkeys::begin(ask, session).await?),
        "end-session" => {
            let is_over = match ask.field("id").parse() {
                Ok(id) => end_session(ask.app(), session, id).await?,
                Err(_) => false,
            };
            let told = if is_over { "That session is over." } else { "You have no such session any more." };
            Ok(ask.see(ME, Some(Flash::done(told))))
        }
        "time-zone" => match set_time_zone(ask.app(), session, ask.field("zone")).await? {
            true => Ok(ask.see(ME, Some(Flash::done("Times are shown in this time zone now.")))),
            false => {
                let why = "There is no such time zone. Write a name such as Africa/Lagos or Europe/London.";
                Err(Refusal::new("time-zone", "zone", why))
            }
        },
        _ => Err(Refusal::new("", "", "This form is not known here. Open the page again.")),
    };
    match done {
        Ok(response) => Ok(response),
        Err(refusal) => show(ask, session, Some(refusal)).await,
    }
}

async fn change(ask: &Ask, session: &Session) -> Result<Result<Response, Refusal>, OpError> {
    const FORM: &str = "change-password";
    let (old, new) = (ask.field("password"), ask.field("new_password"));
    if new != ask.field("new_password_again") {
        let why = "The two new passwords are not the same.";
        return Ok(Err(Refusal::new(FORM, "new_password_again", why)));
    }
    Ok(match change_password(ask.app(), session, (old, new), &ask.address()).await? {
        Ok(token) => {
            let told = Flash::done("Your password is changed. Everywhere else you are signed out.");
            Ok(ask.see_as(ME, Some(told), Some(&token.0)))
        }
        Err(refusal) => Err(Refusal::password(FORM, refusal)),
    })
}

async fn begin(ask: &Ask, session: &Session) -> Result<Result<Response, Refusal>, OpError> {
    if !session.is_checked(ask.app().now()) {
        return Ok(Ok(ask.see(&confirm::address(ME), None)));
    }
    begin_totp(ask.app(), session).await?;
    Ok(Ok(ask.see(ME, None)))
}

async fn confirm_code(ask: &Ask, session: &Session) -> Result<Result<Response, Refusal>, OpError> {
    const FORM: &str = "totp-confirm";
    Ok(match confirm_totp(ask.app(), session, ask.field("code"), &ask.address()).await? {
        Ok(confirmed) => {
            let told = Flash::done("Your authenticator app is set up. Keep the recovery codes now.");
            let codes = confirmed.recovery_codes.iter();
            let told = codes.fold(told, |told, code| told.once(CODE, code.as_str()));
            Ok(ask.see_as(ME, Some(told), Some(&confirmed.token.0)))
        }
        Err(FactorRefused::Wrong) => {
            let why = "This is not the code that the app shows now. Look at the clock of your phone if it happens again.";
            Err(Refusal::new(FORM, "code", why))
        }
        Err(FactorRefused::TooMany(many)) => Err(Refusal {
            status: StatusCode::TOO_MANY_REQUESTS,
            seconds: Some(many.seconds),
            ..Refusal::new(FORM, "code", too_many(many))
        }),
        Err(FactorRefused::NotBegun) => Ok(ask.see(ME, None)),
    })
}

async fn end(ask: &Ask, session: &Session) -> Result<Result<Response, Refusal>, OpError> {
    Ok(match end_totp(ask.app(), session, ask.field("password"), &ask.address()).await? {
        Ok(token) => {
            let told = Flash::done("The authenticator app is removed.");
            Ok(ask.see_as(ME, Some(told), Some(&token.0)))
        }
        Err(refusal) => Err(Refusal::password("totp-end", refusal)),
    })
}

async fn show(ask: &Ask, session: &Session, refusal: Option<Refusal>) -> Result<Response, OpError> {
    let begun = begun_totp(ask.app(), session).await?;
    let open = open_sessions(ask.app(), session).await?;
    let own = own_passkeys(ask.app(), session).await?;
    let error = |form: &str, field: &str| {
        refusal.as_ref().filter(|one| one.form == form && one.field == field).map(|one| one.why.clone())
    };
    let mut frame = ask.frame_within("Your account");
    if let Some(refusal) = &refusal {
        let why = if refusal.form.is_empty() {
            refusal.why.as_str()
        } else {
            "Nothing was changed. See below why."
        };
        frame = frame.notice(Notice::refused(why));
    } else if session.must_set_up_factor {
        let why = "The operator's staff sign in with a second factor. Set yours up to go on.";
        frame = frame.notice(Notice::new(Tone::Warn, why));
    }
    let once = ask.flash.iter().flat_map(|flash| &flash.once).filter(|(name, _)| name == CODE);
    let page = Me {
        email: (&session.email).into(),
        must_set_up: session.must_set_up_factor,
        has_totp: session.has_totp,
        recovery_codes: once.map(|(_, code)| code.clone()).collect(),
        totp: totp_form(ask, session, begun.is_some(), &error),
        begun: begun.as_ref().map(setup),
        passkeys: passkeys::part(ask, &own, &error),
        password: password_form(ask, &error),
        sessions: sessions(ask, session, &open),
        zone: zone_form(ask, session, &error),
        frame,
    };
    let status = refusal.as_ref().map_or(StatusCode::OK, |refusal| refusal.status);
    let response = ask.html(status, &page);
    Ok(match refusal.and_then(|refusal| refusal.seconds) {
        Some(seconds) => wait(response, seconds),
        None => response,
    })
}

fn setup(begun: &Begun) -> Setup {
    let text: &str = &begun.address;
    let address = Secret {
        id: "totp-address".into(),
        label: "Or copy this into the app".into(),
        value: text.to_owned(),
        hint: "Who has it can make your codes: show it to nobody.".into(),
    };
    Setup { qr: code_of(text), address }
}

fn totp_form(ask: &Ask, session: &Session, is_begun: bool, error: &ErrorOf<'_>) -> Option<Form> {
    if session.has_totp {
        let password = Field::new("totp-end", "password", "Your password", Kind::Password)
            .error(error("totp-end", "password"));
        return Some(act(ask, "totp-end", "Remove the authenticator app").look(Look::Danger).field(password));
    }
    Some(match is_begun {
        true => {
            let code = Field::new("totp-confirm", "code", "Code", Kind::Code)
                .hint("The six digits that the app shows now.")
                .error(error("totp-confirm", "code"));
            act(ask, "totp-confirm", "Confirm").field(code)
        }
        false => act(ask, "totp-begin", "Set up an authenticator app"),
    })
}

fn password_form(ask: &Ask, error: &ErrorOf<'_>) -> Form {
    const FORM: &str = "change-password";
    let field = |name, label, kind| Field::new(FORM, name, label, kind).error(error(FORM, name));
    act(ask, FORM, "Change the password")
        .look(Look::Plain)
        .field(field("password", "Password now", Kind::Password))
        .field(field("new_password", "New password", Kind::NewPassword).hint("At least 12 characters."))
        .field(field("new_password_again", "New password again", Kind::NewPassword))
}

fn zone_form(ask: &Ask, session: &Session, error: &ErrorOf<'_>) -> Form {
    let typed = if ask.field("act") == "time-zone" { ask.field("zone") } else { &session.time_zone };
    let zone = Field::new("time-zone", "zone", "Time zone", Kind::Text)
        .value(typed)
        .hint("Such as Africa/Lagos, Europe/London, America/New_York.")
        .error(error("time-zone", "zone"));
    act(ask, "time-zone", "Save").look(Look::Plain).field(zone)
}

fn sessions(ask: &Ask, session: &Session, open: &[OpenSession]) -> Rows {
    let columns = vec![
        Column::new("Browser"),
        Column::new("Address"),
        Column::new("Signed in"),
        Column::new("Last used"),
        Column::acts("End"),
    ];
    let mut rows =
        Rows::new("Where you are signed in", columns, Empty::new("Nowhere", "There is no session."));
    let zone = ask.zone();
    for (number, one) in open.iter().enumerate() {
        let last = match one.id == session.id {
            true => Cell::badge(Tone::Good, "This one"),
            false => {
                let form = ask.new_form(format!("end-session-{}", number + 1), ME, "Sign out there");
                form.hidden("act", "end-session").hidden("id", one.id.to_string()).small().into()
            }
        };
        rows.row(vec![
            Cell::text(browser(&one.agent)),
            Cell::code(&one.address),
            zone.time(one.created_at).into(),
            zone.time(one.seen_at).into(),
            last,
        ]);
    }
    rows
}

/// What a browser calls itself, in words; as it stands where none of them is known. The first of a list that fits is it,
/// because most browsers name several.
fn browser(agent: &str) -> String {
    const BROWSERS: [(&str, &str); 8] = [
        ("Edg", "Edge"),
        ("OPR/", "Opera"),
        ("SamsungBrowser", "Samsung Internet"),
        ("Firefox/", "Firefox"),
        ("FxiOS", "Firefox"),
        ("CriOS", "Chrome"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ];
    const SYSTEMS: [(&str, &str); 7] = [
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Windows", "Windows"),
        ("CrOS", "ChromeOS"),
        ("Mac OS", "Mac"),
        ("Linux", "Linux"),
    ];
    let named = |list: &[(&str, &'static str)]| {
        list.iter().find(|(mark, _)| agent.contains(mark)).map(|(_, name)| *name)
    };
    match (named(&BROWSERS), named(&SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        _ if agent.is_empty() => "Unknown".to_owned(),
        _ => agent.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::browser;

    #[test]
    fn a_session_is_told_by_its_browser_and_system() {
        let phone = "Mozilla/5.0 (Linux; Android 14; TECNO) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0 Mobile Safari/537.36";
        let mac = "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_4) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15";
        assert_eq!(browser(phone), "Chrome on Android");
        assert_eq!(browser(mac), "Safari on Mac");
        assert_eq!(browser("curl/8.5"), "curl/8.5");
        assert_eq!(browser(""), "Unknown");
    }
}
