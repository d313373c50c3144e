//! `/operator/audit`: whether the books are in order, clause by clause. An audit that is run here goes on by itself; the page
//! says how far it is, and looks again while it runs.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use super::{DeskPage, forbidden, frame, may};
use crate::domain::user::StaffRight;
use crate::http::pages::ask::Ask;
use crate::http::pages::field::Form;
use crate::http::pages::flash::Flash;
use crate::http::pages::layout::Frame;
use crate::http::pages::parts::{Empty, Notice, Tone};
use crate::http::pages::rows::{Cell, Column, Rows};
use crate::http::pages::text::Text;
use crate::http::pages::times::age;
use crate::http::paths::OPERATOR_AUDIT;
use crate::ops::OpError;
use crate::ops::ledger::audit_runs::{AuditRun, RunState, Verdict, begin, checks_of, runs, state, verdict};

#[derive(Template)]
#[template(path = "operator/audit.html")]
struct AuditPage {
    frame: Frame,
    run: Option<Form>,
    /// While one runs: clauses done, of how many.
    progress: Option<(i64, i64)>,
    told: Text,
    tone: Tone,
    /// What to do about each clause that is broken.
    advice: Vec<Text>,
    checks: Rows,
    earlier: Rows,
}

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let mut refused = None;
    if ask.is_form() {
        if let Some(forbidden) = forbidden(ask, StaffRight::Decide) {
            return Ok(forbidden);
        }
        if begin(&ask.http.app, ask.operator()).await? {
            let done = Flash::done("The audit runs. You may leave this page; it goes on.");
            return Ok(ask.see(OPERATOR_AUDIT, Some(done)));
        }
        refused = Some("An audit is running already. Wait for its end.");
    }
    let all = runs(ask.app()).await?;
    let mut frame = frame(ask, "Audit", DeskPage::Audit).await?;
    if let Some(why) = refused {
        frame = frame.notice(Notice::refused(why));
    }
    let running = all.first().filter(|run| state(ask.app(), run) == RunState::Running);
    let Standing { tone, told, .. } = standing(ask, &all);
    let checks = verdict(ask.app(), &all).answered.map(checks_of).unwrap_or_default();
    let broken = checks.iter().filter(|check| check.violations > 0);
    let page = AuditPage {
        frame,
        run: (may(ask, StaffRight::Decide) && running.is_none())
            .then(|| ask.new_form("run-audit", OPERATOR_AUDIT, "Run an audit").hidden("act", "run")),
        progress: running.map(|run| (run.steps_done, run.steps)),
        told: told.into(),
        tone,
        advice: broken
            .map(|check| {
                format!("{}: {} First rows: {}.", check.name, check.what_to_do, check.found.join(", ")).into()
            })
            .collect(),
        checks: check_rows(&checks),
        earlier: earlier(ask, &all),
    };
    let status = if refused.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    Ok(ask.html(status, &page))
}

/// How the books stand by the audits that were run here, in a word and in sentences.
pub struct Standing {
    pub tone: Tone,
    pub word: &'static str,
    pub told: String,
}

/// `all` are the newest runs, the last first.
pub fn standing(ask: &Ask, all: &[AuditRun]) -> Standing {
    let Verdict { answered, unanswered } = verdict(ask.app(), all);
    let ago = |run: &AuditRun| age(ask.app().now().since(run.finished_at.unwrap_or(run.beat_at)));
    let mut standing = match answered.map(|run| (run, run.violations.unwrap_or(0))) {
        None => Standing { tone: Tone::Muted, word: "not run yet", told: String::new() },
        Some((run, 0)) => Standing {
            tone: Tone::Good,
            word: "in order",
            told: format!("The books are in order, {} ago.", ago(run)),
        },
        Some((run, count)) => Standing {
            tone: Tone::Bad,
            word: "not in order",
            told: format!(
                "THE BOOKS ARE NOT IN ORDER: {count} rows break a rule, {} ago. Stop paying out, and keep a copy of the \
                 database.",
                ago(run)
            ),
        },
    };
    if let Some(run) = unanswered {
        let why = run.trouble.as_deref().unwrap_or("its process ended");
        let told = format!("The last audit ended without an answer, {} ago: {why}.", ago(run));
        standing.told = format!("{} {told}", standing.told).trim().to_owned();
        if standing.tone != Tone::Bad {
            (standing.tone, standing.word) = (Tone::Warn, "no answer");
        }
    } else if answered.is_none() {
        standing.told = "No audit was run here yet.".to_owned();
    }
    standing
}

fn check_rows(checks: &[crate::ops::ledger::audit_runs::KeptCheck]) -> Rows {
    let columns = vec![
        Column::new("Rule"),
        Column::figure("Rows that break it"),
        Column::figure("Rows looked at"),
        Column::new("State"),
    ];
    let empty = Empty::new("No clauses yet", "Each rule of the books will stand here with what was found.");
    let mut rows = Rows::new("Rules", columns, empty);
    for check in checks {
        let state = match check.violations {
            0 => Cell::badge(Tone::Good, "holds"),
            _ => Cell::badge(Tone::Bad, "broken"),
        };
        rows.row(vec![
            Cell::text(check.name.replace('_', " ")),
            check.violations.into(),
            check.rows.into(),
            state,
        ]);
    }
    rows
}

fn earlier(ask: &Ask, all: &[AuditRun]) -> Rows {
    let columns = vec![Column::new("Begun"), Column::new("Result"), Column::new("By"), Column::new("Took")];
    let mut rows =
        Rows::new("Audits", columns, Empty::new("None yet", "Audits that were run here will stand here."));
    for run in all {
        let (tone, word) = match state(ask.app(), run) {
            RunState::Running => (Tone::Info, "runs"),
            RunState::Good => (Tone::Good, "in order"),
            RunState::Broken(_) => (Tone::Bad, "not in order"),
            RunState::Ended => (Tone::Warn, "no answer"),
        };
        let took = run.finished_at.map_or(Cell::None, |at| Cell::text(age(at.since(run.started_at))));
        rows.row(vec![
            ask.zone().exact(run.started_at).into(),
            Cell::badge(tone, word),
            Cell::text(&run.operator),
            took,
        ]);
    }
    rows
}
