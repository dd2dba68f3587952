//! Limits the nodes, time and stack that a rule may use.
//!
//! Rules come from the repository and code from the call; neither is trusted. A rule of four lines
//! can visit every node for every node, or recurse forever, and ast-grep can't be interrupted from
//! outside. But it only visits nodes, so each visit is counted here. After a limit is exceeded,
//! nodes have neither parents nor children (see [`watched`](super::watched)), so the rule ends
//! quickly. Its result is then meaningless.

use std::{cell::Cell, hint::black_box, ptr};

use tokio::time::Instant;

use archway_repo::{Cancel, Stopped};

/// The maximum number of node visits by all rules of a call.
pub(super) const MAX_NODES: u64 = 1_000_000;

/// The maximum number of node copies by all rules of a call. Nodes bound to a rule's variables are
/// copied, which takes memory.
const MAX_COPIES: u64 = 4 * MAX_NODES;

/// The clock is checked once per this many node visits.
const BETWEEN_CHECKS: u64 = 64;

/// This many bytes of text count as one node visit.
const TEXT_OF_A_NODE: usize = 64;

/// The maximum stack of a rule, in bytes.
const MAX_STACK: usize = 128 << 20;

/// The stack of a thread that runs rules, in bytes.
pub(super) const STACK: usize = 2 * MAX_STACK;

/// The limit that ended a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spent {
    Nodes,
    Time,
    Stack,
    /// The call was cancelled.
    Cancelled,
}

/// The remaining budget, on the thread that created it.
pub(super) struct Watch {
    call: Cancel,
    /// The stack position at creation.
    bottom: usize,
    nodes: Cell<u64>,
    copies: Cell<u64>,
    spent: Cell<Option<Spent>>,
    /// The deadline of the current rule.
    until: Cell<Instant>,
    /// The node visits that the current rule must leave to the others.
    reserve: Cell<u64>,
}

impl Spent {
    /// The reason, for the rule's author.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Spent::Nodes => "it looks at too many parts of the code; narrow it by `kind`",
            Spent::Time => "it took too long; narrow it by `kind`, or give less code",
            Spent::Stack => "it asks for itself again and again",
            Spent::Cancelled => "the call was cancelled",
        }
    }
}

impl Watch {
    /// A full budget for a call that ends with `call`.
    pub(super) fn new(call: Cancel) -> Watch {
        Watch {
            bottom: stack_position(),
            nodes: Cell::new(MAX_NODES),
            copies: Cell::new(MAX_COPIES),
            spent: Cell::new(None),
            until: Cell::new(call.deadline),
            reserve: Cell::new(0),
            call,
        }
    }

    /// Starts a rule. It may use half of the remaining budget, so that no rule starves the others.
    pub(super) fn begin(&self) {
        let now = Instant::now();
        let left = self.call.deadline.saturating_duration_since(now);
        self.until.set(now + left / 2);
        self.reserve.set(self.nodes.get() / 2);
        self.spent.set(None);
        self.look_at_the_clock();
    }

    /// The limit that ended the rule, if one did.
    pub(super) fn spent(&self) -> Option<Spent> {
        self.spent.get()
    }

    /// Counts a node visit, and returns whether it is allowed.
    pub(super) fn step(&self) -> bool {
        self.spend(1)
    }

    /// The same for an expensive visit: the clock is always checked.
    pub(super) fn climb(&self) -> bool {
        self.look_at_the_clock();
        self.spend(1)
    }

    /// Counts a read of a text, and returns whether it is allowed.
    pub(super) fn read(&self, text: &str) -> bool {
        let nodes = text.len() / TEXT_OF_A_NODE;
        if nodes > 0 {
            self.look_at_the_clock();
        }
        self.spend(nodes as u64)
    }

    /// Counts a copy of a node.
    pub(super) fn copy(&self) {
        let left = self.copies.get().saturating_sub(1);
        self.copies.set(left);
        if left == 0 {
            self.end(Spent::Nodes);
        } else if left.is_multiple_of(BETWEEN_CHECKS) {
            self.look_at_the_clock();
        }
    }

    fn spend(&self, nodes: u64) -> bool {
        let before = self.nodes.get();
        let left = before.saturating_sub(nodes);
        self.nodes.set(left);
        if left <= self.reserve.get() {
            self.end(Spent::Nodes);
        }
        if self.bottom.abs_diff(stack_position()) > MAX_STACK {
            self.end(Spent::Stack);
        }
        if before / BETWEEN_CHECKS != left / BETWEEN_CHECKS {
            self.look_at_the_clock();
        }
        self.spent.get().is_none()
    }

    fn look_at_the_clock(&self) {
        match self.call.check() {
            Err(Stopped::Cancelled) => self.end(Spent::Cancelled),
            Err(Stopped::Deadline) => self.end(Spent::Time),
            Ok(()) if Instant::now() >= self.until.get() => self.end(Spent::Time),
            Ok(()) => {}
        }
    }

    /// The first limit is the one reported.
    fn end(&self, why: Spent) {
        self.spent.set(self.spent.get().or(Some(why)));
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
    fn a_rule_may_look_at_half_of_what_the_rules_before_it_left() {
        let watch = Watch::new(cancel());
        for left in [MAX_NODES / 2, MAX_NODES / 4] {
            watch.begin();
            let mut nodes = 0;
            while watch.step() {
                nodes += 1;
            }
            assert!(nodes + 2 >= left && nodes <= left, "{nodes} of {left}");
            assert_eq!(watch.spent(), Some(Spent::Nodes));
        }
    }

    #[test]
    fn a_cancelled_call_ends_a_rule_within_a_few_looks() {
        let call = cancel();
        let watch = Watch::new(call.clone());
        watch.begin();
        assert!(watch.step());
        call.token.cancel();
        let more = (0..=BETWEEN_CHECKS).filter(|_| watch.step()).count();
        assert!(more as u64 <= BETWEEN_CHECKS);
        assert_eq!(watch.spent(), Some(Spent::Cancelled));
        watch.begin();
        assert_eq!(watch.spent(), Some(Spent::Cancelled));
    }

    #[test]
    fn long_texts_and_copies_are_counted_too() {
        let text = "x".repeat(TEXT_OF_A_NODE * 1000);
        let watch = Watch::new(cancel());
        watch.begin();
        let texts = (0..MAX_NODES).take_while(|_| watch.read(&text)).count();
        assert!((499..=500).contains(&texts), "{texts}");
        watch.begin();
        (0..=MAX_COPIES).for_each(|_| watch.copy());
        assert_eq!(watch.spent(), Some(Spent::Nodes));
    }
}
