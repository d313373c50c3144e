//! The forms of one alert: approving it onto a payment, dismissing it, a note, reading its mail again. Whoever is slower
//! than somebody else is told what was decided, and by whom.

use crate::domain::alert::{AlertRow, AlertStatus};
use crate::domain::time::Timestamp;
use crate::http::pages::ask::Ask;
use crate::http::pages::text::sentence;
use crate::http::pages::times::age;
use crate::ops::OpError;
use crate::ops::activity::{Search, find_acts};
use crate::ops::alerts::approve::{Approve, ApproveRefused, approve_alert};
use crate::ops::alerts::dismiss::{DismissRefused, dismiss_alert};
use crate::ops::alerts::note::note_alert;
use crate::ops::alerts::read::{AlertDetails, OperatorAct, alert_details};
use crate::ops::alerts::reread::Reread;

/// Acts of a subject that are looked through for the last decision.
const ACTS_READ: usize = 20;

/// What a form came to.
pub enum Came {
    /// The alert is dealt with: the next one is opened.
    Decided(String),
    /// It stays open.
    Done(String),
    Refused(Refusal),
}

/// Why nothing was done.
#[derive(Default)]
pub struct Refusal {
    pub why: String,
    /// Onto which payment it was to be approved, and what speaks against it.
    pub onto: Option<(i64, String, Vec<String>)>,
    /// The field that is wrong, of which form.
    pub field: Option<(&'static str, &'static str)>,
}

fn refused(why: impl Into<String>) -> Came {
    Came::Refused(Refusal { why: why.into(), ..Refusal::default() })
}

/// Does what the form says, to the alert of the address.
pub async fn act(ask: &Ask, details: &AlertDetails) -> Result<Came, OpError> {
    let alert = &details.alert;
    let shown = ask.field("version");
    let act = ask.field("act");
    if matches!(act, "approve" | "dismiss") && !shown.is_empty() && shown != alert.version.to_string() {
        return Ok(refused(format!(
            "Nothing was done, because this alert has changed since you opened it. {}",
            standing(ask, details)
        )));
    }
    match act {
        "approve" => Box::pin(approve(ask, alert)).await,
        "dismiss" => dismiss(ask, alert).await,
        "note" => Ok(match note_alert(ask.app(), alert.id, ask.operator(), ask.field("note")).await? {
            Ok(()) => Came::Done("Your note is kept with the alert.".to_owned()),
            Err(why) => Came::Refused(Refusal {
                why: sentence(&why.to_string()),
                field: Some(("note-alert", "note")),
                ..Refusal::default()
            }),
        }),
        "reread" => Ok(match ask.http.mails.reread(ask.app(), alert.id, ask.operator()).await? {
            Ok(Reread::Same(_)) => Came::Done("The mail reads as before. Nothing was changed.".to_owned()),
            Ok(Reread::Anew(outcome)) => {
                let paid = outcome.transaction_id.map(|id| format!(" It pays {id}.")).unwrap_or_default();
                Came::Done(format!(
                    "The mail was read again. The alert is now {}.{paid}",
                    outcome.status.as_str()
                ))
            }
            Err(why) => refused(sentence(&why.to_string())),
        }),
        _ => Ok(refused("This form is not known here. Open the page again.")),
    }
}

async fn approve(ask: &Ask, alert: &AlertRow) -> Result<Came, OpError> {
    let payment = ask.field("payment").trim();
    let Ok(business) = ask.field("business").trim().parse::<i64>() else {
        return Ok(Came::Refused(Refusal {
            why: "Say which business the payment is of, by its number.".to_owned(),
            field: Some(("approve-alert", "business")),
            ..Refusal::default()
        }));
    };
    let given = given(ask.field("reason").trim(), ask.field("despite").trim());
    // What was shown counts only where somebody says that he goes on despite it.
    let seen: Vec<String> = match ask.field("despite").trim() {
        "" => Vec::new(),
        _ => ask.form.iter().flat_map(|form| form.all("seen")).map(str::to_owned).collect(),
    };
    let wanted = Approve {
        alert_id: alert.id,
        business_id: business,
        transaction_id: payment,
        operator: ask.operator(),
        despite: given.as_deref(),
        seen: Some(&seen),
    };
    Ok(match Box::pin(approve_alert(ask.app(), &wanted)).await? {
        Ok(_) => Came::Decided(format!("Alert {} pays {payment} now. The merchant is told.", alert.id)),
        Err(ApproveRefused::Obstacles(all) | ApproveRefused::Unseen(all)) => Came::Refused(Refusal {
            why: "Nothing was approved: something speaks against it. Read it at the payment, and give your reason if you \
                  approve it all the same."
                .to_owned(),
            onto: Some((business, payment.to_owned(), all)),
            field: None,
        }),
        Err(ApproveRefused::AlertStatus(..) | ApproveRefused::Changed) => {
            refused(format!("Nothing was approved. {}", standing_now(ask, alert.id).await?))
        }
        Err(why @ (ApproveRefused::PaymentStatus(..) | ApproveRefused::Reversed(_))) => {
            let by = last_act(ask, &format!("payment {payment}"), business).await?;
            refused(format!("Nothing was approved. {}{by}", sentence(&why.to_string())))
        }
        Err(why @ ApproveRefused::NoPayment(..)) => Came::Refused(Refusal {
            why: sentence(&why.to_string()),
            field: Some(("approve-alert", "payment")),
            ..Refusal::default()
        }),
        Err(why) => refused(sentence(&why.to_string())),
    })
}

/// A person's reason, of the two fields in which one may stand.
fn given(reason: &str, despite: &str) -> Option<String> {
    // A form that only ticks `despite` has the reason beside it.
    let is_tick = matches!(despite, "1" | "on" | "yes" | "true");
    match (reason, despite) {
        ("", "") => None,
        (reason, "") => Some(reason.to_owned()),
        (reason, _) if is_tick => Some(reason.to_owned()),
        ("", despite) => Some(despite.to_owned()),
        (reason, despite) => Some(format!("{despite}; {reason}")),
    }
}

async fn dismiss(ask: &Ask, alert: &AlertRow) -> Result<Came, OpError> {
    let done = dismiss_alert(ask.app(), alert.id, ask.operator(), ask.field("reason")).await?;
    Ok(match done {
        Ok(_) => Came::Decided(format!("Alert {} is dismissed. No money was moved.", alert.id)),
        Err(why @ DismissRefused::Reason) => Came::Refused(Refusal {
            why: sentence(&why.to_string()),
            field: Some(("dismiss-alert", "reason")),
            ..Refusal::default()
        }),
        Err(DismissRefused::NotWaiting(..) | DismissRefused::Changed(_) | DismissRefused::Proven(..)) => {
            refused(format!("Nothing was dismissed. {}", standing_now(ask, alert.id).await?))
        }
        Err(why) => refused(sentence(&why.to_string())),
    })
}

async fn standing_now(ask: &Ask, id: i64) -> Result<String, OpError> {
    let details = alert_details(ask.app(), id).await?;
    Ok(details.map_or_else(String::new, |details| standing(ask, &details)))
}

/// What became of an alert, by whom, and when.
pub fn standing(ask: &Ask, details: &AlertDetails) -> String {
    let alert = &details.alert;
    let of = |names: &[&str]| details.acts.iter().find(|act| names.contains(&act.act.as_str()));
    let onto = details.transaction_id.as_ref().map(|id| format!(" onto payment {id}")).unwrap_or_default();
    match (alert.status, of(&["approve"]), of(&["dismiss"])) {
        (AlertStatus::Matched, Some(act), _) => {
            format!("{} approved it{onto} {}.", act.operator, ago(ask, act.at))
        }
        (AlertStatus::Matched, None, _) => format!("It was matched{onto} without a person."),
        (AlertStatus::Dismissed, _, Some(act)) => {
            format!("{} dismissed it {}: {}", act.operator, ago(ask, act.at), sentence(&act.reason))
        }
        (status, ..) => match details.acts.first().filter(|act| act.act != "note") {
            Some(act) => {
                let (by, what) = (&act.operator, &act.act);
                format!(
                    "It is {} now. The last act was {by}'s ({what}), {}.",
                    status.as_str(),
                    ago(ask, act.at)
                )
            }
            None => format!("It is {} now.", status.as_str()),
        },
    }
}

fn ago(ask: &Ask, at: Timestamp) -> String {
    format!("{} ago", age(ask.app().now().since(at)))
}

/// Who did something last to a payment, in a sentence.
async fn last_act(ask: &Ask, subject: &str, business: i64) -> Result<String, OpError> {
    let search = Search {
        subject: Some(subject),
        business_id: Some(business),
        since: Timestamp::MIN,
        limit: ACTS_READ,
    };
    let Some((acts, _)) = find_acts(ask.app(), &search).await? else { return Ok(String::new()) };
    let told = |act: &OperatorAct| format!(" {} did it ({}), {}.", act.operator, act.act, ago(ask, act.at));
    Ok(acts.first().map(told).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::given;

    #[test]
    fn a_reason_is_taken_from_wherever_it_stands() {
        for (reason, despite, wanted) in [
            ("", "", None),
            ("paid at the till", "", Some("paid at the till")),
            ("", "she is his sister", Some("she is his sister")),
            ("she is his sister", "1", Some("she is his sister")),
            ("", "1", Some("")),
            ("paid at the till", "his sister", Some("his sister; paid at the till")),
        ] {
            assert_eq!(given(reason, despite).as_deref(), wanted, "{reason:?} {despite:?}");
        }
    }
}
