//! `/operator/activity`: who did what, and from where, newest first. Nothing of it can be changed.

use axum::response::Response;

use super::page::{DeskView, Names};
use super::{DeskPage, frame};
use crate::http::pages::ask::Ask;
use crate::http::pages::export::{csv_file, is_csv};
use crate::http::pages::field::{Field, Filters, Kind};
use crate::http::pages::layout::link;
use crate::http::pages::parts::{Empty, Pager};
use crate::http::pages::rows::{Cell, Column, Rows};
use crate::http::paths::OPERATOR_ACTIVITY;
use crate::ops::OpError;
use crate::ops::activity::{OperatorAct, Search, browse_acts, find_acts};
use crate::ops::csv::CsvSource;
use crate::ops::paging::{PAGE_ROWS, Page};

const FILTER: &str = "filter-activity";

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let business = ask.query("business").unwrap_or_default();
    let subject = ask.query("subject").unwrap_or_default();
    let cursor = ask.cursor();
    let business_id = business.trim().parse().ok();
    let about = Some(subject.trim().to_owned()).filter(|subject| !subject.is_empty());
    if is_csv(ask)
        && let Ok(file) = csv_file(ask, "activity", CsvSource::ActsOfAll(business_id, about))
    {
        return Ok(file);
    }
    let page = match subject.trim() {
        "" => browse_acts(ask.app(), business_id, cursor).await?,
        subject => {
            let since = crate::domain::time::Timestamp::MIN;
            let search = Search { subject: Some(subject), business_id, since, limit: PAGE_ROWS };
            let acts = find_acts(ask.app(), &search).await?.map(|(acts, _)| acts);
            Page { rows: acts.unwrap_or_default(), ..Page::empty() }
        }
    };
    let here = |cursor: &str| {
        link(OPERATOR_ACTIVITY, &[("business", &business), ("subject", &subject), ("cursor", cursor)])
    };
    let filters = Filters {
        action: OPERATOR_ACTIVITY.to_owned(),
        hidden: Vec::new(),
        fields: vec![
            Field::new(FILTER, "subject", "What it was done to, such as alert 42", Kind::Search)
                .value(&subject),
            Field::new(FILTER, "business", "Business number", Kind::Text).optional().value(&business),
        ],
        more: Vec::new(),
        reset: (!business.is_empty() || !subject.is_empty()).then(|| OPERATOR_ACTIVITY.to_owned()),
        csv: Some(link(
            OPERATOR_ACTIVITY,
            &[("business", &business), ("subject", &subject), ("format", "csv")],
        )),
    };
    let names = Names::of(ask, page.rows.iter().filter_map(|act| act.business_id).collect()).await?;
    let mut rows = rows(ask, &page.rows, &names);
    let older = page.next.map(|cursor| here(&cursor.to_string()));
    let newest = cursor.is_some().then(|| here(""));
    rows.pager = Pager::by_time(newest, older, None);
    let view = DeskView::new(frame(ask, "Activity", DeskPage::Activity).await?, "Activity");
    Ok(view.add(filters).add(rows).answer(ask))
}

fn rows(ask: &Ask, acts: &[OperatorAct], names: &Names) -> Rows {
    let columns = vec![
        Column::new("Who"),
        Column::new("What"),
        Column::new("Why, or what changed"),
        Column::new("Business"),
        Column::new("From"),
        Column::new("When"),
    ];
    let empty = Empty::new("Nothing was done yet", "Every decision and change of a person will stand here.");
    let mut rows = Rows::new("Activity", columns, empty);
    for act in acts {
        rows.row(vec![
            Cell::text(&act.operator),
            Cell::text(&act.act).under(Cell::text(&act.subject)),
            Cell::text(&act.reason),
            act.business_id.map_or(Cell::None, |id| names.link(id)),
            from_where(act),
            ask.zone().exact(act.at).into(),
        ]);
    }
    rows
}

/// An address of before pages noted it for every act is not known; who is named by an address for mails acted on a page.
fn from_where(act: &OperatorAct) -> Cell {
    match &act.address {
        Some(address) => Cell::text(address),
        None if act.operator.contains('@') => Cell::None,
        None => Cell::text("command line"),
    }
}
