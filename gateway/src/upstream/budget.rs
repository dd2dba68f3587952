//! How much may be tried again: a fifth of what is called, and a reserve of a hundred.
//!
//! Retries help while few calls need them. When many do, the workers that are left would carry
//! the load several times over, which is how one worker's end becomes everyone's.

/// What a call adds, and what a retry takes, in fifths of a retry.
const EARNED: u32 = 1;
const SPENT: u32 = 5;
/// The most that is kept: 100 retries.
const FULL: u32 = 100 * SPENT;

/// The retries that the calls of one pool have earned. Starts full.
#[derive(Debug)]
pub(super) struct Budget {
    fifths: u32,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { fifths: FULL }
    }
}

impl Budget {
    /// A call begins: 0.2 of a retry is earned.
    pub(super) fn earn(&mut self) {
        self.fifths = (self.fifths + EARNED).min(FULL);
    }

    /// Takes a retry out, if one is left.
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
        let mut budget = Budget::default();
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
    fn no_more_than_100_are_kept() {
        let mut budget = Budget::default();
        budget.spend();
        (0..10_000).for_each(|_| budget.earn());
        assert_eq!((0..200).filter(|_| budget.spend()).count(), 100);
    }
}
