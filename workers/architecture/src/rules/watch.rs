//! What a rule may spend: nodes, time and stack.
//!
//! Rules come with the repository, code with the call, and neither is trusted: a rule of four lines
//! can look at every node for every node, or ask for itself forever. Nothing interrupts ast-grep
//! from outside. But all it does is look at nodes, so each look is counted here; once too much was
//! spent, nodes have neither parents nor children any more (see [`watched`](super::watched)), and
//! whatever a rule was doing comes to its end at once. What it answers then means nothing.

use std::{cell::Cell, hint::black_box, ptr};

use tokio::time::Instant;

use archway_repo::{Cancel, Stopped};

/// How many nodes all rules of a call look at together.
pub(super) const MAX_NODES: u64 = 1_000_000;

/// How many copies of nodes they make together: what is bound to a rule's variables is copied, and
/// takes memory.
const MAX_COPIES: u64 = 4 * MAX_NODES;

/// How many looks at nodes there are between two at the clock.
const BETWEEN_CHECKS: u64 = 64;

/// How many bytes of text count as a look at a node.
const TEXT_OF_A_NODE: usize = 64;

/// How much stack a rule may use, in bytes.
const MAX_STACK: usize = 128 << 20;

/// The stack of a thread on which rules are run, in bytes.
pub(super) const STACK: usize = 2 * MAX_STACK;

/// Why a rule was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spent {
    Nodes,
    Time,
    Stack,
    /// The call has to stop.
    Cancelled,
}

/// What is left, on the thread that made it.
pub(super) struct Watch {
    call: Cancel,
    /// Where the stack stood.
    bottom: usize,
    nodes: Cell<u64>,
    copies: Cell<u64>,
    spent: Cell<Option<Spent>>,
    /// Until when the rule that runs may run.
    until: Cell<Instant>,
    /// How many nodes the rule that runs leaves to others.
    reserve: Cell<u64>,
}

impl Spent {
    /// The words for a reader of the rule.
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
    /// For a call that ends by `call`.
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

    /// Begins with a rule: it may spend half of what is left, so that no rule starves the rest.
    pub(super) fn begin(&self) {
        let now = Instant::now();
        let left = self.call.deadline.saturating_duration_since(now);
        self.until.set(now + left / 2);
        self.reserve.set(self.nodes.get() / 2);
        self.spent.set(None);
        self.look_at_the_clock();
    }

    /// Why the rule has to end, if it has.
    pub(super) fn spent(&self) -> Option<Spent> {
        self.spent.get()
    }

    /// Whether one more node may be looked at.
    pub(super) fn step(&self) -> bool {
        self.spend(1)
    }

    /// The same for a look that costs as much as many.
    pub(super) fn climb(&self) -> bool {
        self.look_at_the_clock();
        self.spend(1)
    }

    /// Whether a text may be looked at.
    pub(super) fn read(&self, text: &str) -> bool {
        let nodes = text.len() / TEXT_OF_A_NODE;
        if nodes > 0 {
            self.look_at_the_clock();
        }
        self.spend(nodes as u64)
    }

    /// Notes that a node was copied.
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

    /// The first reason is the one that is told.
    fn end(&self, why: Spent) {
        self.spent.set(self.spent.get().or(Some(why)));
    }
}

/// Where the stack stands, as an address.
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
