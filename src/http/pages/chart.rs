//! A chart made by the server: an SVG without a script, and the table of its figures beside it.
//!
//! Coordinates are whole numbers of a box that is stretched over the page, so it holds shapes and no text; the texts of
//! the axes are HTML around it.

use askama::Template;
use askama::filters::HtmlSafe;

use super::parts::Naira;
use super::text::{Text, grouped};
use crate::domain::money::Money;

/// The box of the drawing.
const WIDTH: i64 = 1_000;
const HEIGHT: i64 = 200;
/// The gap between two bars, in thousandths of a bar's place.
const GAP: i64 = 280;
/// The lowest bar that is not zero can be seen.
const BAR_MIN: i64 = 2;
/// More points than a screen can tell apart are not drawn.
pub const POINTS_MAX: usize = 400;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Bars,
    Line,
}

/// What the values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Kobo.
    Money,
    Count,
}

impl Unit {
    fn written(self, value: i64) -> String {
        match self {
            Unit::Money => Naira(Money(value)).text(),
            Unit::Count => grouped(value),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Point {
    pub label: Text,
    pub value: i64,
}

#[derive(Clone, Debug, Template)]
#[template(path = "kit/chart.html")]
pub struct Chart {
    title: Text,
    /// What the labels of the points are: `Day`.
    of: Text,
    shape: Shape,
    unit: Unit,
    points: Vec<Point>,
    top: i64,
}

/// One bar, and the place that shows its figure to a pointer.
struct Bar<'a> {
    x: i64,
    y: i64,
    width: i64,
    height: i64,
    label: &'a Text,
    value: String,
}

impl Chart {
    /// Values are not negative; of more than [`POINTS_MAX`] the last ones are drawn.
    pub fn new(
        title: impl Into<Text>,
        of: impl Into<Text>,
        shape: Shape,
        unit: Unit,
        mut points: Vec<Point>,
    ) -> Chart {
        points.drain(..points.len().saturating_sub(POINTS_MAX));
        let most = points.iter().map(|point| point.value).max().unwrap_or_default();
        Chart { title: title.into(), of: of.into(), shape, unit, points, top: round_top(most) }
    }

    fn count(&self) -> i64 {
        i64::try_from(self.points.len()).unwrap_or(1).max(1)
    }

    /// The height of a value above the ground.
    fn height(&self, value: i64) -> i64 {
        let exact = i128::from(value.max(0)) * i128::from(HEIGHT) / i128::from(self.top.max(1));
        let height = i64::try_from(exact).unwrap_or(HEIGHT).min(HEIGHT);
        if value > 0 { height.max(BAR_MIN) } else { height }
    }

    fn bars(&self) -> Vec<Bar<'_>> {
        let count = self.count();
        let place = |at: i64| at * WIDTH / count;
        let gap = WIDTH * GAP / 1_000 / count;
        let all = (0..count).zip(&self.points);
        all.map(|(at, point)| {
            let height = self.height(point.value);
            Bar {
                x: place(at) + gap / 2,
                y: HEIGHT - height,
                width: (place(at + 1) - place(at) - gap).max(1),
                height,
                label: &point.label,
                value: self.unit.written(point.value),
            }
        })
        .collect()
    }

    /// The corners of the line, for `points`.
    fn line(&self) -> String {
        let last = (self.count() - 1).max(1);
        let corner = |(at, point): (i64, &Point)| {
            format!("{},{}", at * WIDTH / last, HEIGHT - self.height(point.value))
        };
        (0..).zip(&self.points).map(corner).collect::<Vec<_>>().join(" ")
    }

    fn figure(&self, point: &Point) -> String {
        self.unit.written(point.value)
    }

    fn top(&self) -> String {
        self.unit.written(self.top)
    }

    fn is_line(&self) -> bool {
        // A line of one point has no length.
        self.shape == Shape::Line && self.points.len() > 1
    }

    fn is_empty(&self) -> bool {
        self.points.iter().all(|point| point.value <= 0)
    }

    fn first(&self) -> &str {
        self.points.first().map_or("", |point| point.label.as_str())
    }

    fn last(&self) -> &str {
        self.points.last().map_or("", |point| point.label.as_str())
    }

    /// The drawing in words.
    fn summary(&self) -> String {
        match self.points.iter().max_by_key(|point| point.value) {
            Some(most) if most.value > 0 => {
                format!("{}: most on {}, {}", self.title, most.label, self.unit.written(most.value))
            }
            _ => format!("{}: nothing yet", self.title),
        }
    }
}

/// The next 1, 2 or 5 with zeros, so that half of it is a round figure too.
fn round_top(most: i64) -> i64 {
    let mut step: i64 = 1;
    loop {
        for times in [1, 2, 5] {
            match step.checked_mul(times) {
                Some(top) if top >= most => return top.max(2),
                Some(_) => {}
                None => return i64::MAX,
            }
        }
        let Some(next) = step.checked_mul(10) else { return i64::MAX };
        step = next;
    }
}

impl HtmlSafe for Chart {}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(values: &[i64], shape: Shape) -> Chart {
        let point = |value: &i64| Point { label: format!("{value} <Nov>").into(), value: *value };
        Chart::new("Volume", "Day", shape, Unit::Money, values.iter().map(point).collect())
    }

    #[test]
    fn the_top_is_a_round_figure() {
        for (most, top) in [(0, 2), (1, 2), (3, 5), (5, 5), (6, 10), (1_234, 2_000), (i64::MAX, i64::MAX)] {
            assert_eq!(round_top(most), top, "{most}");
        }
    }

    #[test]
    fn bars_stand_in_the_box_and_what_is_not_zero_is_seen() {
        let chart = chart(&[0, 1, 150_000, 200_000], Shape::Bars);
        let heights: Vec<i64> = chart.bars().iter().map(|bar| bar.height).collect();
        assert_eq!(heights, [0, BAR_MIN, 150, 200]);
        assert!(chart.bars().iter().all(|bar| bar.x >= 0 && bar.x + bar.width <= WIDTH && bar.y >= 0));
        let html = chart.to_string();
        assert!(html.contains("200000 &#60;Nov&#62;: NGN\u{a0}2,000.00"), "{html}");
    }

    #[test]
    fn odd_charts_are_drawn_too() {
        assert!(chart(&[], Shape::Bars).to_string().contains("Nothing to show yet"));
        assert!(chart(&[0, 0], Shape::Line).to_string().contains("Nothing to show yet"));
        assert!(!chart(&[5], Shape::Line).to_string().contains("polyline"));
        assert_eq!(chart(&[0, 5, 10], Shape::Line).line(), "0,200 500,100 1000,0");
        assert_eq!(chart(&[3; POINTS_MAX + 9], Shape::Bars).bars().len(), POINTS_MAX);
    }
}
