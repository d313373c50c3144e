//! Figures and how people read them: medians, and one table of ours, the yardstick's, their ratio
//! and the goal. Only collects and prints; what is measured is the other modules' business.

/// What a figure has to be.
#[derive(Clone, Copy)]
pub enum Goal {
    /// Ours is at least this many times the yardstick.
    AtLeastTimes(f64),
    /// Ours is at most this many times the yardstick.
    AtMostTimes(f64),
    /// Ours is at least the yardstick, a fixed number.
    AtLeast,
    /// Ours is below the yardstick, a fixed number.
    Below,
    /// Shown for comparison.
    None,
}

struct Line {
    name: String,
    unit: &'static str,
    ours: f64,
    yardstick: f64,
    goal: Goal,
    notes: String,
}

#[derive(Default)]
pub struct Report {
    lines: Vec<Line>,
}

impl Report {
    pub fn add(
        &mut self,
        name: &str,
        unit: &'static str,
        ours: f64,
        yardstick: f64,
        goal: Goal,
        notes: &str,
    ) {
        let line = Line { name: name.into(), unit, ours, yardstick, goal, notes: notes.into() };
        println!("  {}", line.text());
        self.lines.push(line);
    }

    pub fn print(&self) {
        println!("\n{}", Line::head());
        println!("{}", "-".repeat(Line::head().len()));
        for line in &self.lines {
            println!("{}", line.text());
        }
        println!("\nours and yardstick are medians of runs in turn, on this machine, in this run:");
        for line in self.lines.iter().filter(|line| !line.notes.is_empty()) {
            println!("  {}: {}", line.name, line.notes);
        }
        let missed = self.lines.iter().filter(|line| line.reached() == Some(false)).count();
        println!("{}", if missed == 0 { "all goals reached" } else { "some goals are NOT reached" });
    }
}

impl Report {
    /// Each line for machines.
    pub fn lines(&self) -> Vec<serde_json::Value> {
        let line = |line: &Line| {
            serde_json::json!({
                "what": line.name,
                "unit": line.unit,
                "ours": line.ours,
                "yardstick": line.yardstick,
                "ratio": line.ratio().is_finite().then(|| line.ratio()),
                "goal": line.goal_in_words(),
                "reached": line.reached(),
                "notes": line.notes,
            })
        };
        self.lines.iter().map(line).collect()
    }
}

impl Line {
    fn head() -> String {
        format!(
            "{:<52} {:>12} {:>12} {:<8} {:>7} {:>10}  reached",
            "what", "ours", "yardstick", "unit", "ratio", "goal"
        )
    }

    fn ratio(&self) -> f64 {
        if self.yardstick > 0.0 { self.ours / self.yardstick } else { f64::NAN }
    }

    fn reached(&self) -> Option<bool> {
        match self.goal {
            Goal::AtLeastTimes(times) => Some(self.ratio() >= times),
            Goal::AtMostTimes(times) => Some(self.ratio() <= times),
            Goal::AtLeast => Some(self.ours >= self.yardstick),
            Goal::Below => Some(self.ours < self.yardstick),
            Goal::None => None,
        }
    }

    fn goal_in_words(&self) -> String {
        match self.goal {
            Goal::AtLeastTimes(times) => format!(">= {times:.1} x"),
            Goal::AtMostTimes(times) => format!("<= {times:.1} x"),
            Goal::AtLeast => ">= it".into(),
            Goal::Below => "< it".into(),
            Goal::None => "-".into(),
        }
    }

    fn text(&self) -> String {
        let goal = self.goal_in_words();
        let reached = match self.reached() {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "-",
        };
        format!(
            "{:<52} {:>12} {:>12} {:<8} {:>7.2} {:>10}  {reached}",
            self.name,
            number(self.ours),
            number(self.yardstick),
            self.unit,
            self.ratio(),
            goal
        )
    }
}

fn number(n: f64) -> String {
    if n < 100.0 { format!("{n:.2}") } else { format!("{n:.0}") }
}

/// The middle one; of an even number the lower of the two.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}
