//! Limits the nodes, time and stack that a rule may use.
//!
//! Rules come from the repository and code from the call; neither is trusted. A rule of four lines
//! can visit every node for every node, or recurse forever, and ast-grep can't be interrupted from
//! outside. But it only visits nodes, so each visit is counted here. After a limit is exceeded,
//! nodes have neither parents nor children (see [`counted`](super::counted)), so the rule ends
//! quickly. Its result is then meaningless.

use std::{cell::Cell, hint::black_box, ptr};

use tokio::time::Instant;

use archway_repo::{Cancel, Stopped};

/// The maximum number of node visits by all rules of a call.
pub(super) const MAX_VISITS: u64 = 1_000_000;

/// The maximum number of node copies by all rules of a call. Nodes bound to a rule's variables are
/// copied, which takes memory.
const MAX_COPIES: u64 = 4 * MAX_VISITS;

/// The clock is checked once per this many node visits.
const BETWEEN_CHECKS: u64 = 64;

/// This many bytes of text count as one node visit.
const BYTES_PER_VISIT: usize = 64;

/// The maximum stack of a rule, in bytes.
const MAX_STACK: usize = 128 << 20;

/// The stack of a thread that runs rules, in bytes.
pub(super) const STACK: usize = 2 * MAX_STACK;

/// The limit that ended a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    Nodes,
    Time,
    Stack,
    /// The call was cancelled.
    Cancelled,
}

/// The remaining budget, on the thread that created it.
pub(super) struct Budget {
    call: Cancel,
    /// The stack position at creation.
    stack_start: usize,
    visits: Cell<u64>,
    copies: Cell<u64>,
    exceeded: Cell<Option<Limit>>,
    /// The deadline of the current rule.
    deadline: Cell<Instant>,
    /// The node visits that the current rule must leave to the others.
    reserve: Cell<u64>,
}

impl Limit {
    /// The reason, for the rule's author.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Limit::Nodes => "it visits too many nodes of the code; narrow it by `kind`",
            Limit::Time => "it took too long; narrow it by `kind`, or give less code",
            Limit::Stack => "it refers to itself without end",
            Limit::Cancelled => "the call was cancelled",
        }
    }
}

impl Budget {
    /// A full budget for a call that ends with `call`.
    pub(super) fn new(call: Cancel) -> Budget {
        Budget {
            stack_start: stack_position(),
            visits: Cell::new(MAX_VISITS),
            copies: Cell::new(MAX_COPIES),
            exceeded: Cell::new(None),
            deadline: Cell::new(call.deadline),
            reserve: Cell::new(0),
            call,
        }
    }

    /// Starts a rule. It may use half of the remaining budget, so that no rule starves the others.
    pub(super) fn start_rule(&self) {
        let now = Instant::now();
        let left = self.call.deadline.saturating_duration_since(now);
        self.deadline.set(now + left / 2);
        self.reserve.set(self.visits.get() / 2);
        self.exceeded.set(None);
        self.check_clock();
    }

    /// The limit that ended the rule, if one did.
    pub(super) fn exceeded(&self) -> Option<Limit> {
        self.exceeded.get()
    }

    /// Counts a node visit, and returns whether it is allowed.
    pub(super) fn visit(&self) -> bool {
        self.charge(1)
    }

    /// The same for an expensive visit: the clock is always checked.
    pub(super) fn visit_expensive(&self) -> bool {
        self.check_clock();
        self.charge(1)
    }

    /// Counts a read of a text, and returns whether it is allowed.
    pub(super) fn read(&self, text: &str) -> bool {
        let visits = text.len() / BYTES_PER_VISIT;
        if visits > 0 {
            self.check_clock();
        }
        self.charge(visits as u64)
    }

    /// Counts a copy of a node.
    pub(super) fn copy(&self) {
        let left = self.copies.get().saturating_sub(1);
        self.copies.set(left);
        if left == 0 {
            self.exceed(Limit::Nodes);
        } else if left.is_multiple_of(BETWEEN_CHECKS) {
            self.check_clock();
        }
    }

    fn charge(&self, visits: u64) -> bool {
        let before = self.visits.get();
        let left = before.saturating_sub(visits);
        self.visits.set(left);
        if left <= self.reserve.get() {
            self.exceed(Limit::Nodes);
        }
        if self.stack_start.abs_diff(stack_position()) > MAX_STACK {
            self.exceed(Limit::Stack);
        }
        if before / BETWEEN_CHECKS != left / BETWEEN_CHECKS {
            self.check_clock();
        }
        self.exceeded.get().is_none()
    }

    fn check_clock(&self) {
        match self.call.check() {
            Err(Stopped::Cancelled) => self.exceed(Limit::Cancelled),
            Err(Stopped::Deadline) => self.exceed(Limit::Time),
            Ok(()) if Instant::now() >= self.deadline.get() => self.exceed(Limit::Time),
            Ok(()) => {}
        }
    }

    /// The first limit is the one reported.
    fn exceed(&self, why: Limit) {
        self.exceeded.set(self.exceeded.get().or(Some(why)));
    }
}

/// The current stack position, as an address.
#[inline(never)]
fn stack_position() -> usize {
    let here = 0_u8;
    ptr::from_ref(black_box(&here)).addr()
}

#[cfg(test)]
mod tests {
    use archway_repo::testing::cancel;

    use super::*;

    #[test]
    fn a_rule_may_use_half_of_the_remaining_visits() {
        let budget = Budget::new(cancel());
        for left in [MAX_VISITS / 2, MAX_VISITS / 4] {
            budget.start_rule();
            let mut nodes = 0;
            while budget.visit() {
                nodes += 1;
            }
            assert!(nodes + 2 >= left && nodes <= left, "{nodes} of {left}");
            assert_eq!(budget.exceeded(), Some(Limit::Nodes));
        }
    }

    #[test]
    fn a_cancelled_call_ends_a_rule_within_64_visits() {
        let call = cancel();
        let budget = Budget::new(call.clone());
        budget.start_rule();
        assert!(budget.visit());
        call.token.cancel();
        let more = (0..=BETWEEN_CHECKS).filter(|_| budget.visit()).count();
        assert!(more as u64 <= BETWEEN_CHECKS);
        assert_eq!(budget.exceeded(), Some(Limit::Cancelled));
        budget.start_rule();
        assert_eq!(budget.exceeded(), Some(Limit::Cancelled));
    }

    #[test]
    fn long_texts_and_copies_are_counted() {
        let text = "x".repeat(BYTES_PER_VISIT * 1000);
        let budget = Budget::new(cancel());
        budget.start_rule();
        let texts = (0..MAX_VISITS).take_while(|_| budget.read(&text)).count();
        assert!((499..=500).contains(&texts), "{texts}");
        budget.start_rule();
        (0..=MAX_COPIES).for_each(|_| budget.copy());
        assert_eq!(budget.exceeded(), Some(Limit::Nodes));
    }
}
