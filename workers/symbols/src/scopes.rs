//! In which function or block a bare name is defined, by the line of its use.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap, HashMap},
};

use crate::Definition;

/// First and last line, from 1.
type Lines = (u32, u32);

/// The functions and blocks of a text with definitions in them, by the bare names of these.
#[derive(Debug)]
pub struct Scopes<'a>(HashMap<&'a str, Vec<(u32, Option<Lines>)>>);

impl<'a> Scopes<'a> {
    pub(crate) fn of(definitions: &'a [Definition]) -> Self {
        let mut named: HashMap<&str, BTreeSet<Lines>> = HashMap::new();
        for definition in definitions {
            if let Some(lines) = definition.visible {
                named.entry(&definition.name).or_default().insert(lines);
            }
        }
        let named = named.into_iter();
        Scopes(named.map(|(name, all)| (name, innermost(all))).collect())
    }

    /// The lines of the innermost function or block around a line with a definition of the name in
    /// it, as [`Definition::visible`]; `None` if there is none.
    pub fn at(&self, name: &str, line: u32) -> Option<Lines> {
        let changes = self.0.get(name)?;
        let after = changes.partition_point(|(from, _)| *from <= line);
        changes.get(after.checked_sub(1)?)?.1
    }
}

/// The lines at which the shortest range around changes, in order, and what it is from there on. There
/// may be many ranges, so each is opened and closed once, in one pass.
fn innermost(all: BTreeSet<Lines>) -> Vec<(u32, Option<Lines>)> {
    let ends = |(first, last): &Lines| [*first, last.saturating_add(1)];
    let changes: BTreeSet<u32> = all.iter().flat_map(ends).collect();
    let (mut begins, mut open) = (all.into_iter().peekable(), BinaryHeap::new());
    let shortest = |line: u32| {
        while let Some((first, last)) = begins.next_if(|(first, _)| *first <= line) {
            open.push(Reverse((last - first, first, last)));
        }
        while open.peek().is_some_and(|Reverse((.., last))| *last < line) {
            open.pop();
        }
        let found = open.peek();
        (line, found.map(|Reverse((_, first, last))| (*first, *last)))
    };
    changes.into_iter().map(shortest).collect()
}
