//! The conditions of a text, and which tokens are in their branches.

use std::ops::Range;

use super::tokens::{Step, Tokens};

/// Conditions in conditions that are looked at; deeper ones stay.
const MAX_DEPTH: usize = 32;

/// A condition that has an end.
pub(super) struct Condition {
    /// Its lines, by their positions among those of the text: `#if`, `#else`…, `#endif`.
    pub(super) lines: Vec<usize>,
    /// The number of conditions around it, and itself.
    depth: u8,
    /// Its first branch is never compiled.
    pub(super) is_never: bool,
}

/// The conditions of a text.
pub(super) struct Conditions {
    /// For each line the condition that it begins.
    pub(super) begun: Vec<Option<Condition>>,
    /// For each token the depth of the innermost condition that has it in a branch that is not the one that
    /// counts; 0 if there is none.
    uncounted: Vec<u8>,
}

impl Condition {
    /// The tokens of each branch.
    pub(super) fn branches(&self, tokens: &Tokens) -> Vec<Range<usize>> {
        let at = |line: usize| tokens.directives[line].at;
        let pairs = self.lines.windows(2);
        pairs.map(|pair| at(pair[0])..at(pair[1])).collect()
    }

    /// From its first line to the end of its last one, in bytes.
    pub(super) fn bytes(&self, tokens: &Tokens) -> Range<usize> {
        let line = |at: Option<&usize>| at.map(|at| tokens.directives[*at].bytes.clone());
        let (first, last) = (line(self.lines.first()), line(self.lines.last()));
        first.map_or(0, |it| it.start)..last.map_or(0, |it| it.end)
    }
}

impl Conditions {
    pub(super) fn of(text: &[u8], tokens: &Tokens) -> Conditions {
        let mut conditions = Conditions {
            begun: begun(text, tokens),
            uncounted: vec![0; tokens.tokens.len()],
        };
        for condition in conditions.begun.iter().flatten() {
            let counted = usize::from(condition.is_never);
            for (at, branch) in condition.branches(tokens).into_iter().enumerate() {
                let uncounted = conditions.uncounted.get_mut(branch);
                for depth in uncounted.into_iter().flatten().filter(|_| at != counted) {
                    *depth = condition.depth.max(*depth);
                }
            }
        }
        conditions
    }

    /// Whether a token in a branch of a condition counts there. Of a condition inside of the branch only the
    /// first one does that may be compiled.
    pub(super) fn counts(&self, token: usize, condition: &Condition) -> bool {
        let depth = self.uncounted.get(token).copied().unwrap_or_default();
        depth <= condition.depth
    }
}

/// For each line the condition that it begins.
fn begun(text: &[u8], tokens: &Tokens) -> Vec<Option<Condition>> {
    let mut begun: Vec<Option<Condition>> = tokens.directives.iter().map(|_| None).collect();
    let mut open: Vec<Vec<usize>> = Vec::new();
    for (at, directive) in tokens.directives.iter().enumerate() {
        match directive.step {
            Step::If => open.push(vec![at]),
            Step::Else => {
                if let Some(lines) = open.last_mut() {
                    lines.push(at);
                }
            }
            Step::End => {
                let depth = open.len();
                if let Some(mut lines) = open.pop().filter(|_| depth <= MAX_DEPTH) {
                    lines.push(at);
                    let first = lines[0];
                    begun[first] = Some(Condition {
                        lines,
                        depth: u8::try_from(depth).unwrap_or(u8::MAX),
                        is_never: tokens.directives[first].is_never(text),
                    });
                }
            }
            Step::Other => {}
        }
    }
    begun
}
