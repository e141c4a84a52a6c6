//! Recognises the fences around a top-level code block line by line, without the parser.
//!
//! Called by the streaming renderer, which treats each line of an open fence as final when it arrives.

/// The opening fence of a code block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    /// Returns the fence that this line opens. Indented fences are left to the parser, which unindents their
    /// lines.
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

    /// Whether an incomplete line may still become the closing fence.
    pub fn may_close(&self, start: &str) -> bool {
        let bare = start.trim_start_matches(' ');
        start.len() - bare.len() <= 3 && !bare.is_empty() && bare.trim_start_matches(self.mark).is_empty()
    }
}
