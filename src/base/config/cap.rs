//! Caps: the amounts of tokens and money at which a turn asks the user before it goes on.
//!
//! Defines the caps, their settings keys, and how amounts are written. A cap is stored as the limit that
//! ended a turn, so names may only be added. Nothing is counted here; `agent::caps` does that.

use serde::{Deserialize, Serialize};

use crate::message::Usd;
use crate::stdx::names::names;
use crate::stdx::text::group_digits;

/// A cap: what is counted, and over which scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cap {
    TurnTokens,
    TurnUsd,
    SessionTokens,
    SessionUsd,
    DayTokens,
    DayUsd,
}

/// The period that a cap counts over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Turn,
    Session,
    /// A day of the local time zone, over all sessions of all processes.
    Day,
}

/// The unit of a cap. An amount is a number of tokens, or a number of billionths of a dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Tokens,
    Usd,
}

names! {
    Cap, all {
        TurnTokens = "cap.turn_tokens",
        TurnUsd = "cap.turn_usd",
        SessionTokens = "cap.session_tokens",
        SessionUsd = "cap.session_usd",
        DayTokens = "cap.day_tokens",
        DayUsd = "cap.day_usd",
    }
}

impl Cap {
    pub fn scope(self) -> Scope {
        match self {
            Self::TurnTokens | Self::TurnUsd => Scope::Turn,
            Self::SessionTokens | Self::SessionUsd => Scope::Session,
            Self::DayTokens | Self::DayUsd => Scope::Day,
        }
    }

    pub fn unit(self) -> Unit {
        match self {
            Self::TurnTokens | Self::SessionTokens | Self::DayTokens => Unit::Tokens,
            Self::TurnUsd | Self::SessionUsd | Self::DayUsd => Unit::Usd,
        }
    }

    /// Returns the key of its setting.
    pub fn setting(self) -> &'static str {
        self.word()
    }

    /// Returns an amount as shown to the user, e.g. `$1.25`, `12,000 tokens`.
    pub fn amount_text(self, amount: u64) -> String {
        match self.unit() {
            Unit::Tokens => format!("{} tokens", group_digits(amount)),
            Unit::Usd => Usd(amount).to_string(),
        }
    }

    /// Returns an amount as written in a setting, e.g. `1.25`, `12000`.
    pub fn setting_text(self, amount: u64) -> String {
        match self.unit() {
            Unit::Tokens => amount.to_string(),
            Unit::Usd => {
                let exact = format!("{}.{:09}", amount / 1_000_000_000, amount % 1_000_000_000);
                exact.trim_end_matches('0').trim_end_matches('.').to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_and_written() {
        for (cap, amount, words, written) in [
            (Cap::DayUsd, 2_000_000_000, "$2.00", "2"),
            (Cap::TurnUsd, 4_200_000, "$0.0042", "0.0042"),
            (Cap::TurnTokens, 999, "999 tokens", "999"),
            (Cap::SessionTokens, 1_234_567, "1,234,567 tokens", "1234567"),
        ] {
            assert_eq!(
                (cap.amount_text(amount), cap.setting_text(amount)),
                (words.to_owned(), written.to_owned())
            );
        }
    }
}
