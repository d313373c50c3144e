//! Lists: a table that becomes cards where it is narrow, and facts, each a label with its value.
//!
//! The first column is what a row is about. Columns of money and numbers stand on the right; the first of them is what
//! a card shows beside its title.

use askama::Template;
use askama::filters::HtmlSafe;

use super::field::{Confirm, Form};
use super::parts::{Badge, Empty, Link, Naira, Pager};
use super::text::{Text, grouped};
use super::times::Time;
use crate::domain::money::Money;

/// What stands in one place of a list.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "kit/cell.html")]
pub enum Cell {
    #[default]
    None,
    Text(Text),
    /// An id, a hash, an address: digits and letters of one width.
    Code(Text),
    Link(Link),
    Money(Naira),
    Number(Text),
    Time(Time),
    Badge(Badge),
    Form(Box<Form>),
    Confirm(Box<Confirm>),
    /// One below the other; what follows the first is smaller.
    Under(Vec<Cell>),
    /// Beside one another.
    Beside(Vec<Cell>),
    /// A box of a form that stands elsewhere: several rows are ticked and sent together.
    Tick(Tick),
}

/// A box in a row.
#[derive(Clone, Debug)]
pub struct Tick {
    pub is_ticked: bool,
    /// Id of the form.
    pub form: &'static str,
    pub name: &'static str,
    pub value: String,
    /// What is ticked, for those who listen.
    pub label: Text,
}

impl Cell {
    pub fn text(text: impl Into<Text>) -> Cell {
        Cell::Text(text.into())
    }

    pub fn code(text: impl Into<Text>) -> Cell {
        Cell::Code(text.into())
    }

    pub fn link(href: impl Into<String>, text: impl Into<Text>) -> Cell {
        Cell::Link(Link::new(href, text))
    }

    pub fn badge(tone: super::parts::Tone, text: impl Into<Text>) -> Cell {
        Cell::Badge(Badge::new(tone, text))
    }

    /// This, with that below it.
    pub fn under(self, below: Cell) -> Cell {
        Cell::Under(vec![self, below])
    }
}

macro_rules! cell_of {
    ($($from:ty => $cell:expr),* $(,)?) => {
        $(impl From<$from> for Cell {
            fn from(value: $from) -> Cell {
                $cell(value)
            }
        })*
    };
}
cell_of!(
    Money => |value| Cell::Money(Naira(value)),
    i64 => |value| Cell::Number(grouped(value).into()),
    Time => Cell::Time,
    Badge => Cell::Badge,
    Form => |value| Cell::Form(Box::new(value)),
    Confirm => |value| Cell::Confirm(Box::new(value)),
);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Left,
    /// Money and numbers.
    Right,
    /// Buttons; the head has no text for eyes.
    Acts,
    /// Boxes before the first real column; nor has theirs.
    Ticks,
}

#[derive(Clone, Debug)]
pub struct Column {
    label: Text,
    side: Side,
}

impl Column {
    pub fn new(label: impl Into<Text>) -> Column {
        Column { label: label.into(), side: Side::Left }
    }

    pub fn figure(label: impl Into<Text>) -> Column {
        Column { label: label.into(), side: Side::Right }
    }

    pub fn ticks(label: impl Into<Text>) -> Column {
        Column { label: label.into(), side: Side::Ticks }
    }

    pub fn acts(label: impl Into<Text>) -> Column {
        Column { label: label.into(), side: Side::Acts }
    }
}

#[derive(Clone, Debug, Template)]
#[template(path = "kit/rows.html")]
pub struct Rows {
    /// What the list is of, for those who listen.
    pub caption: Text,
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Cell>>,
    pub empty: Empty,
    pub pager: Option<Pager>,
}

impl Rows {
    pub fn new(caption: impl Into<Text>, columns: Vec<Column>, empty: Empty) -> Rows {
        Rows { caption: caption.into(), columns, rows: Vec::new(), empty, pager: None }
    }

    pub fn row(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.columns.len(), "a cell for each column");
        self.rows.push(cells);
    }

    /// How each column looks, and what its label is.
    fn heads(&self) -> Vec<(&'static str, &str)> {
        let sum = self.columns.iter().position(|column| column.side == Side::Right);
        let lead = self.columns.iter().position(|column| column.side != Side::Ticks);
        let class = |at: usize, side: Side| match side {
            Side::Acts => "acts",
            Side::Ticks => "ticks",
            _ if Some(at) == lead => "lead",
            Side::Right if Some(at) == sum => "figure sum",
            Side::Right => "figure",
            Side::Left => "",
        };
        let columns = self.columns.iter().enumerate();
        columns.map(|(at, column)| (class(at, column.side), column.label.as_str())).collect()
    }

    fn cells<'a>(&'a self, row: &'a [Cell]) -> Vec<((&'static str, &'a str), &'a Cell)> {
        self.heads().into_iter().zip(row).collect()
    }
}

/// What is known of one thing.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "kit/facts.html")]
pub struct Facts {
    facts: Vec<(Text, Cell)>,
}

impl Facts {
    pub fn new() -> Facts {
        Facts::default()
    }

    pub fn fact(mut self, label: impl Into<Text>, value: impl Into<Cell>) -> Facts {
        self.facts.push((label.into(), value.into()));
        self
    }
}

macro_rules! html_safe {
    ($($part:ty),*) => { $(impl HtmlSafe for $part {})* };
}
// Their templates escape every text.
html_safe!(Cell, Rows, Facts);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cell_bears_its_columns_label_and_texts_are_escaped() {
        let columns = vec![Column::new("Payment"), Column::new("Payer"), Column::figure("Amount")];
        let mut rows = Rows::new("Payments", columns, Empty::new("None", "Nothing yet."));
        assert!(rows.to_string().contains("Nothing yet."));
        rows.row(vec![
            Cell::link("/x?a=1&b=2", "p<1>"),
            Cell::text("Ada \u{202e}<i>"),
            Money(123_456).into(),
        ]);
        let html = rows.to_string();
        for part in [
            r#"data-label="Payer">Ada &#60;i&#62;</td>"#,
            r#"<a href="/x?a=1&#38;b=2">p&#60;1&#62;</a>"#,
            r#"class="figure sum""#,
            "<data class=\"naira\" value=\"1234.56\">NGN\u{a0}1,234.56</data>",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
    }
}
