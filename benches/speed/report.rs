//! Figures, their medians and ratios: lines while they are taken, a Markdown table at the end, and the verdict of a check.

/// A measured figure.
#[derive(Default)]
pub struct Report {
    rows: Vec<Row>,
}

struct Row {
    name: String,
    unit: &'static str,
    ours: f64,
    floor: Option<f64>,
    goal: Goal,
}

/// The goal of a figure.
#[derive(Clone, Copy, PartialEq)]
pub enum Goal {
    /// At most so many times its floor.
    Times(f64),
    /// At most so much, in the figure's unit.
    Most(f64),
    /// It is reported and has no goal.
    Open,
}

impl std::fmt::Display for Goal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Times(times) => write!(f, "≤ {times}×"),
            Self::Most(most) => write!(f, "≤ {most}"),
            Self::Open => f.write_str("–"),
        }
    }
}

/// Which rows a check judges, and how far beyond its goal a figure may be.
#[derive(Clone, Copy)]
pub enum Check {
    /// Every goal, with a quarter of slack: on a quiet machine.
    Whole,
    /// Ratios to floors above a millisecond, with a bound of three times the goal: on any machine.
    Coarse,
}

impl Check {
    fn slack(self) -> f64 {
        match self {
            Self::Whole => 1.25,
            Self::Coarse => 3.0,
        }
    }
}

impl Report {
    /// A figure and its floor, each a list of runs.
    pub fn add(&mut self, name: &str, unit: &'static str, ours: &[f64], floor: &[f64], goal: Goal) {
        let spread = |values: &[f64]| {
            let sorted = sorted(values);
            format!(
                "{} ({} … {}, n {})",
                number(median(values)),
                number(sorted[0]),
                number(sorted[sorted.len() - 1]),
                sorted.len()
            )
        };
        let beside = if floor.is_empty() { String::new() } else { format!("   floor {}", spread(floor)) };
        println!("{name:<58} {} {unit}{beside}", spread(ours));
        let floor = (!floor.is_empty()).then(|| median(floor));
        self.rows.push(Row { name: name.to_owned(), unit, ours: median(ours), floor, goal });
    }

    /// All rows as a Markdown table.
    pub fn table(&self) -> String {
        let mut table = "| figure | co | floor | ratio | goal |\n|---|---|---|---|---|\n".to_owned();
        for row in &self.rows {
            let floor = row.floor.map_or("–".to_owned(), number);
            let ratio = row.floor.filter(|floor| *floor > 0.0);
            let ratio = ratio.map_or("–".to_owned(), |floor| format!("{:.1}×", row.ours / floor));
            let (name, unit, ours) = (&row.name, row.unit, number(row.ours));
            table.push_str(&format!("| {name}, {unit} | {ours} | {floor} | {ratio} | {} |\n", row.goal));
        }
        table
    }
}

impl Report {
    /// Whether every judged figure is within its bound; says which are not.
    pub fn passes(&self, check: Check) -> bool {
        let excess = |row: &Row| row.excess(check).is_some_and(|excess| excess > check.slack());
        let missed: Vec<&Row> = self.rows.iter().filter(|row| excess(row)).collect();
        let judged = self.rows.iter().filter(|row| row.excess(check).is_some()).count();
        println!("\n{judged} figures judged, {} beyond {} times their goal", missed.len(), check.slack());
        for row in &missed {
            println!("  {}: {} {}, goal {}", row.name, number(row.ours), row.unit, row.goal);
        }
        missed.is_empty()
    }
}

impl Row {
    /// How many times its goal the figure is; `None` where nothing is judged.
    fn excess(&self, check: Check) -> Option<f64> {
        let is_noise = self.name.ends_with("p99");
        match (self.goal, self.floor, check) {
            (Goal::Times(_), Some(floor), Check::Coarse) if floor < 1.0 || self.unit != "ms" => None,
            (Goal::Times(_), Some(_), Check::Coarse) if is_noise => None,
            (Goal::Times(times), Some(floor), _) if floor > 0.0 => Some(self.ours / floor / times),
            (Goal::Most(most), _, Check::Whole) if most > 0.0 => Some(self.ours / most),
            // A millisecond of rounding.
            (Goal::Most(_), _, Check::Whole) => Some(if self.ours <= 1.0 { 0.0 } else { f64::INFINITY }),
            (Goal::Most(_), _, Check::Coarse) | (Goal::Times(_) | Goal::Open, _, _) => None,
        }
    }
}

fn number(value: f64) -> String {
    match value.abs() {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

pub fn median(values: &[f64]) -> f64 {
    percentile(values, 50)
}

/// The value below which `percent` of 100 lie; 0 of nothing.
pub fn percentile(values: &[f64], percent: usize) -> f64 {
    let sorted = sorted(values);
    let last = sorted.len().saturating_sub(1);
    sorted.get(last * percent / 100).copied().unwrap_or(0.0)
}
