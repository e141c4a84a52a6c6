//! The limits that a turn has left, and how long it waits between attempts. Pure arithmetic.

use std::time::Duration;

use crate::history::{Limit, Limits, UsageTotals};

/// Longest wait that is not set by the provider.
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);
/// First wait not set by the provider, doubled each retry: two retries survive an outage of three seconds.
const FIRST_BACKOFF: Duration = Duration::from_secs(2);

/// One turn's limits and usage, which includes approvals, retries and deferrals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    pub limits: Limits,
    pub used: UsageTotals,
}

/// Whether another request may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowance {
    Free,
    /// One more may be sent, and it is not the turn's first: the model should answer now.
    Last,
    Spent(Limit),
}

impl Budget {
    pub fn new(limits: Limits) -> Self {
        Self { limits, used: UsageTotals::default() }
    }

    pub fn allowance(&self) -> Allowance {
        if let Some(tokens) = self.limits.tokens
            && self.used.tokens >= tokens
        {
            return Allowance::Spent(Limit::Tokens);
        }
        match self.limits.requests {
            Some(limit) if self.used.requests >= limit => Allowance::Spent(Limit::Requests),
            Some(limit) if self.used.requests > 0 && self.used.requests + 1 == limit => Allowance::Last,
            Some(_) | None => Allowance::Free,
        }
    }
}

/// Returns the wait before retry number `retry` (from 1): 2 s, 4 s, 8 s … at most 30 s. Its second half is
/// random, drawn from `seed`.
pub fn backoff(retry: u32, seed: u64) -> Duration {
    let doubled = FIRST_BACKOFF.saturating_mul(1_u32 << retry.saturating_sub(1).min(10));
    let full = doubled.min(LONGEST_BACKOFF);
    let half_ms = u64::try_from(full.as_millis() / 2).unwrap_or(u64::MAX).max(1);
    let jitter = mix(seed ^ u64::from(retry)) % half_ms;
    full / 2 + Duration::from_millis(jitter)
}

/// Returns how many retries it takes until their waits together come closest to `whole`, at most 20.
pub fn retries_within(whole: Duration, wait: impl Fn(u32) -> Duration) -> u32 {
    let mut sum = Duration::ZERO;
    let mut fits = |retry: &u32| {
        let wait = wait(*retry);
        sum += wait;
        !whole.is_zero() && sum <= whole + wait / 2
    };
    (1..=20).take_while(|retry| fits(retry)).last().unwrap_or(0)
}

/// SplitMix64's finaliser (Steele, Lea, Flood 2014): spreads a counter over 64 bits.
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
