//! What most pages of the desk are made of: a heading, and sections of components one below the other. So a page says
//! what it shows, and one template says how.

use std::collections::HashMap;

use askama::Template;
use askama::filters::HtmlSafe;
use axum::response::Response;
use http::StatusCode;

use super::mail::MailView;
use crate::http::pages::ask::Ask;
use crate::http::pages::field::{Filters, Form};
use crate::http::pages::layout::Frame;
use crate::http::pages::parts::{Link, Notice, Secret, Tabs, Tile, Timeline};
use crate::http::pages::rows::{Cell, Facts, Rows};
use crate::http::pages::text::Text;
use crate::http::paths::OPERATOR_BUSINESSES;
use crate::ops::OpError;
use crate::ops::merchants::names::names_of;

/// The businesses that a list's rows are of, by their names.
pub struct Names(HashMap<i64, String>);

impl Names {
    pub async fn of(ask: &Ask, ids: Vec<i64>) -> Result<Names, OpError> {
        Ok(Names(names_of(ask.app(), ids).await?))
    }

    /// The way to one of them.
    pub fn link(&self, id: i64) -> Cell {
        let name = self.0.get(&id).cloned().unwrap_or_else(|| id.to_string());
        Cell::link(format!("{OPERATOR_BUSINESSES}/{id}"), name)
    }
}

/// A part of a page.
#[derive(Template)]
#[template(path = "operator/block.html")]
pub enum Block {
    Text(Text),
    /// Each a sentence.
    List(Vec<Text>),
    Code(Text),
    Rows(Box<Rows>),
    Filters(Box<Filters>),
    Tabs(Tabs),
    Facts(Facts),
    Form(Box<Form>),
    Tiles(Vec<Tile>),
    Timeline(Timeline),
    Secret(Secret),
    Notice(Notice),
    Mail(Box<MailView>),
    /// Behind a line that opens it.
    More(Text, Vec<Block>),
}

impl HtmlSafe for Block {}

macro_rules! block_of {
    ($($from:ty => $block:expr),* $(,)?) => {
        $(impl From<$from> for Block {
            fn from(value: $from) -> Block {
                $block(value)
            }
        })*
    };
}
block_of!(
    Rows => |value| Block::Rows(Box::new(value)),
    Filters => |value| Block::Filters(Box::new(value)),
    Tabs => Block::Tabs,
    Facts => Block::Facts,
    Form => |value| Block::Form(Box::new(value)),
    Vec<Tile> => Block::Tiles,
    Timeline => Block::Timeline,
    Secret => Block::Secret,
    Notice => Block::Notice,
    MailView => |value| Block::Mail(Box::new(value)),
);

impl Block {
    pub fn text(text: impl Into<Text>) -> Block {
        Block::Text(text.into())
    }
}

/// What belongs together, under a heading of its own.
pub struct Section {
    pub id: &'static str,
    pub title: Text,
    pub blocks: Vec<Block>,
}

#[derive(Template)]
#[template(path = "operator/page.html")]
pub struct DeskView {
    frame: Frame,
    title: Text,
    /// Beside the title: a state, an act.
    acts: Vec<Cell>,
    back: Option<Link>,
    /// Before the first section.
    blocks: Vec<Block>,
    sections: Vec<Section>,
}

impl DeskView {
    pub fn new(frame: Frame, title: impl Into<Text>) -> DeskView {
        DeskView {
            frame,
            title: title.into(),
            acts: Vec::new(),
            back: None,
            blocks: Vec::new(),
            sections: Vec::new(),
        }
    }

    pub fn back(self, href: impl Into<String>, text: &str) -> DeskView {
        DeskView { back: Some(Link::new(href, text)), ..self }
    }

    pub fn act(mut self, cell: impl Into<Cell>) -> DeskView {
        self.acts.push(cell.into());
        self
    }

    /// Into the section that was begun last; before all of them if there is none.
    pub fn add(mut self, block: impl Into<Block>) -> DeskView {
        match self.sections.last_mut() {
            Some(section) => section.blocks.push(block.into()),
            None => self.blocks.push(block.into()),
        }
        self
    }

    pub fn section(mut self, id: &'static str, title: impl Into<Text>) -> DeskView {
        self.sections.push(Section { id, title: title.into(), blocks: Vec::new() });
        self
    }

    /// Why a form was refused; the page is then a 422.
    pub fn refused(mut self, why: Option<impl Into<Text>>) -> DeskView {
        if let Some(why) = why {
            self.frame = self.frame.notice(Notice::refused(why));
        }
        self
    }

    pub fn answer(self, ask: &Ask) -> Response {
        let was_refused =
            self.frame.notices.iter().any(|notice| notice.tone == crate::http::pages::parts::Tone::Bad);
        let status = if was_refused { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
        ask.html(status, &self)
    }
}
