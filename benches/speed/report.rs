//! Figures, their medians and ratios, as lines while they are taken and as a Markdown table at the end.

/// What was measured.
#[derive(Default)]
pub struct Report {
    rows: Vec<Row>,
}

struct Row {
    name: String,
    unit: &'static str,
    ours: f64,
    floor: Option<f64>,
    goal: &'static str,
}

impl Report {
    /// A figure and its floor, each a list of runs; the goal as it stands in the README.
    pub fn add(&mut self, name: &str, unit: &'static str, ours: &[f64], floor: &[f64], goal: &'static str) {
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

    /// All rows as the README quotes them.
    pub fn print_table(&self) {
        println!("\n| figure | co | floor | ratio | goal |\n|---|---|---|---|---|");
        for row in &self.rows {
            let floor = row.floor.map_or("–".to_owned(), number);
            let ratio = row.floor.filter(|floor| *floor > 0.0);
            let ratio = ratio.map_or("–".to_owned(), |floor| format!("{:.1}×", row.ours / floor));
            println!(
                "| {}, {} | {} | {floor} | {ratio} | {} |",
                row.name,
                row.unit,
                number(row.ours),
                row.goal
            );
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
