//! How much may be retried: a fifth of all calls, plus a reserve of 100.
//!
//! Retries help while few calls need them. When many do, retries would multiply the load of the
//! remaining workers, and one worker's crash would take down the pool.

/// What a call earns and a retry costs, in fifths of a retry.
const EARNED: u32 = 1;
const SPENT: u32 = 5;
/// The most that is saved: 100 retries.
const FULL: u32 = 100 * SPENT;

/// The retry budget of one pool. Starts full.
#[derive(Debug)]
pub(super) struct RetryBudget {
    fifths: u32,
}

impl Default for RetryBudget {
    fn default() -> Self {
        RetryBudget { fifths: FULL }
    }
}

impl RetryBudget {
    /// Adds the 0.2 of a retry that a new call earns.
    pub(super) fn earn(&mut self) {
        self.fifths = (self.fifths + EARNED).min(FULL);
    }

    /// Takes one retry. False if less than one is left.
    pub(super) fn spend(&mut self) -> bool {
        let left = self.fifths.checked_sub(SPENT);
        self.fifths = left.unwrap_or(self.fifths);
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_budget_allows_100_retries_and_then_one_for_5_calls() {
        let mut budget = RetryBudget::default();
        budget.earn();
        assert_eq!((0..200).filter(|_| budget.spend()).count(), 100);
        for _ in 0..4 {
            budget.earn();
            assert!(!budget.spend());
        }
        budget.earn();
        assert!(budget.spend());
        assert!(!budget.spend());
    }

    #[test]
    fn the_budget_saves_100_retries_at_most() {
        let mut budget = RetryBudget::default();
        budget.spend();
        (0..10_000).for_each(|_| budget.earn());
        assert_eq!((0..200).filter(|_| budget.spend()).count(), 100);
    }
}
