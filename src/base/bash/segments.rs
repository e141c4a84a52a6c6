//! Splits a text into what may be commands, without the shell's grammar: for lines that [`super::invocations`]
//! does not understand. Quotes are not interpreted; the caller removes them first, or splits at them.

/// The operators that separate commands, and the characters that begin or end one.
const SEPARATORS: [char; 7] = [';', '|', '&', '(', ')', '`', '\n'];

/// The text between two separators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Its words, without redirections.
    pub words: Vec<String>,
    /// The word after each `>`, and after each `<`.
    pub writes: Vec<String>,
    pub reads: Vec<String>,
    /// Whether no blank is between it and the separator before it.
    pub adjoins: bool,
    /// The separator after it.
    pub end: Option<char>,
}

/// Returns the segments of a text, in order. It never fails.
pub fn segments(text: &str) -> impl Iterator<Item = Segment> {
    text.split_inclusive(SEPARATORS).map(Segment::of)
}

impl Segment {
    fn of(text: &str) -> Self {
        let body = text.trim_end_matches(SEPARATORS);
        let adjoins = body.starts_with(|c: char| !c.is_whitespace());
        let end = text.chars().next_back().filter(|c| SEPARATORS.contains(c));
        let mut segment = Self { words: Vec::new(), writes: Vec::new(), reads: Vec::new(), adjoins, end };
        let spaced = body.replace('>', " > ").replace('<', " < ");
        let mut parts = spaced.split_whitespace().peekable();
        while let Some(part) = parts.next() {
            let targets = match part {
                ">" => &mut segment.writes,
                "<" => &mut segment.reads,
                word => {
                    segment.words.push(word.to_owned());
                    continue;
                }
            };
            targets.extend(parts.next_if(|next| *next != ">" && *next != "<").map(str::to_owned));
        }
        segment
    }
}
