//! Detects from the environment which terminal this is and what it supports beyond drawing.
//!
//! Called by the code that starts the screen; pure.

/// The multiplexer between the program and the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Multiplexer {
    #[default]
    Nothing,
    Tmux,
    /// GNU screen.
    Screen,
}

/// How the user is notified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Call {
    /// The sequence of iTerm2, which several others adopted.
    Osc9,
    /// The sequence of urxvt.
    Osc777,
    #[default]
    Bell,
    Never,
}

/// The terminal, or the multiplexer in front of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Host {
    pub multiplexer: Multiplexer,
    pub call: Call,
}

impl Host {
    /// Detects the terminal from environment variables read with `lookup`. Unknown ones get the bell, which
    /// all support.
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| lookup(name).is_some_and(|value| !value.is_empty());
        let term = lookup("TERM").unwrap_or_default();
        if set("TMUX") {
            return Self { multiplexer: Multiplexer::Tmux, call: Call::Bell };
        }
        if set("STY") || term.starts_with("screen") {
            return Self { multiplexer: Multiplexer::Screen, call: Call::Bell };
        }
        let program = lookup("TERM_PROGRAM").unwrap_or_default();
        let osc_9 = matches!(program.as_str(), "iTerm.app" | "WezTerm" | "ghostty")
            || matches!(term.as_str(), "xterm-kitty" | "xterm-ghostty" | "wezterm")
            || set("KITTY_WINDOW_ID")
            || set("WT_SESSION");
        let osc_777 = term.starts_with("foot") || term.starts_with("rxvt");
        let call = match (osc_9, osc_777) {
            (true, _) => Call::Osc9,
            (false, true) => Call::Osc777,
            (false, false) => Call::Bell,
        };
        Self { multiplexer: Multiplexer::Nothing, call }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_known_by_its_environment() {
        type Env = &'static [(&'static str, &'static str)];
        let cases: &[(Env, Multiplexer, Call)] = &[
            (&[("TERM", "xterm-256color")], Multiplexer::Nothing, Call::Bell),
            (&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "iTerm.app")], Multiplexer::Nothing, Call::Osc9),
            (&[("TERM", "xterm-kitty")], Multiplexer::Nothing, Call::Osc9),
            (&[("TERM", "foot-extra")], Multiplexer::Nothing, Call::Osc777),
            (
                &[("TERM", "tmux-256color"), ("TMUX", "/t,1,0"), ("WT_SESSION", "x")],
                Multiplexer::Tmux,
                Call::Bell,
            ),
            (&[("TERM", "screen-256color")], Multiplexer::Screen, Call::Bell),
            (&[], Multiplexer::Nothing, Call::Bell),
        ];
        for (env, multiplexer, call) in cases {
            let lookup =
                |name: &str| env.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
            assert_eq!(Host::from_lookup(lookup), Host { multiplexer: *multiplexer, call: *call }, "{env:?}");
        }
    }
}
