//! The marks around a block of code at the top level, recognised line by line without the parser.
//!
//! Called by the streaming renderer, for which each line of an open fence is final as it comes.

/// What opened a block of code.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    /// The fence that this line opens. Indented fences are left to the parser, which unindents their lines.
    pub fn opened_by(line: &str) -> Option<Self> {
        let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let length = line.chars().take_while(|c| *c == mark).count();
        let info = line.trim_start_matches(mark);
        let fences = length >= 3 && !(mark == '`' && info.contains('`'));
        fences.then_some(Self { mark, length })
    }

    pub fn closes(&self, line: &str) -> bool {
        let bare = line.trim_start_matches(' ');
        let marks = bare.chars().take_while(|c| *c == self.mark).count();
        line.len() - bare.len() <= 3
            && marks >= self.length
            && bare.trim_start_matches(self.mark).trim_matches([' ', '\t', '\n']).is_empty()
    }

    /// Whether a line that is not whole yet may still become the closing one.
    pub fn may_close(&self, start: &str) -> bool {
        let bare = start.trim_start_matches(' ');
        start.len() - bare.len() <= 3 && !bare.is_empty() && bare.trim_start_matches(self.mark).is_empty()
    }
}
