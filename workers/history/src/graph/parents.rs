//! A commit's parents in a commit-graph: two in its row, or more in the list EDGE.

use super::Position;
use super::chunks::number;

/// No such parent.
pub(super) const NO_PARENT: u32 = 0x7000_0000;
/// In a second parent, marks the rest as an index of EDGE; in EDGE, marks the last parent; in a
/// date, marks the rest as an index of GDO2.
pub(super) const FLAG: u32 = 0x8000_0000;

/// Iterates over a commit's parents.
#[derive(Debug)]
pub(crate) struct Parents<'a> {
    edges: &'a [u8],
    first: u32,
    /// The second parent, or the next index in `edges`.
    rest: u32,
}

impl<'a> Parents<'a> {
    /// The parents in a commit's row; `edges` is the file's list.
    pub(super) fn new(edges: &'a [u8], first: u32, rest: u32) -> Parents<'a> {
        Parents { edges, first, rest }
    }
}

impl Default for Parents<'_> {
    fn default() -> Self {
        Parents {
            edges: &[],
            first: NO_PARENT,
            rest: NO_PARENT,
        }
    }
}

impl Iterator for Parents<'_> {
    type Item = Position;

    fn next(&mut self) -> Option<Position> {
        if self.first != NO_PARENT {
            return Some(Position(std::mem::replace(&mut self.first, NO_PARENT)));
        }
        if self.rest < FLAG {
            let second = std::mem::replace(&mut self.rest, NO_PARENT);
            return (second != NO_PARENT).then_some(Position(second));
        }
        let (parent, rest) = edge(self.edges, self.rest);
        self.rest = rest;
        Some(Position(parent))
    }
}

/// A parent in EDGE, and the index of the next one.
pub(super) fn edge(edges: &[u8], rest: u32) -> (u32, u32) {
    let parent = number(edges, (rest & !FLAG) as usize);
    match parent & FLAG {
        0 => (parent, rest + 1),
        _ => (parent & !FLAG, NO_PARENT),
    }
}
