//! The first step: files of equal id, preferring equal names.

use std::collections::{HashMap, VecDeque};

use gix::ObjectId;
use gix::objs::tree::EntryKind;

use super::super::similarity::MAX_IDENTICAL;
use super::super::{HistoryError, Side};
use super::{Pair, Search};

impl Search<'_> {
    pub(super) fn pair_identical(&mut self) -> Result<(), HistoryError> {
        let is_reversed = is_reversed(self.deleted.len());
        let mut alike: HashMap<Same, VecDeque<usize>> = HashMap::new();
        for (at, file) in self.deleted.iter().enumerate() {
            let alike = alike.entry(same(file.side)).or_default();
            match is_reversed {
                true => alike.push_front(at),
                false => alike.push_back(at),
            }
        }
        let mut pairs: Vec<Pair> = Vec::new();
        for (to, file) in self.added.iter().enumerate() {
            self.cancel.check()?;
            let Some(left) = alike.get_mut(&same(file.side)) else {
                continue;
            };
            let is_namesake = |&at: &usize| {
                let old = self.deleted.get(at);
                old.is_some_and(|old| old.path.name() == file.path.name())
            };
            let namesake = left.iter().take(MAX_IDENTICAL).position(is_namesake);
            let from = left.remove(namesake.unwrap_or(0));
            pairs.extend(from.map(|from| (from, to)));
        }
        self.add_pairs(&pairs);
        Ok(())
    }
}

/// Whether git iterates over several identical deleted files in reverse. Its hash table is sized
/// for the number of files, but for some numbers (205; 3,277; 52,429) it grows once more at the
/// last insertion, which reverses its buckets. Table sizes are 64 times a power of four, filled to
/// four fifths.
fn is_reversed(deleted: usize) -> bool {
    let (mut capacity, wanted) = (64, deleted * 5 / 4);
    while capacity < wanted {
        capacity *= 4;
    }
    deleted > capacity * 4 / 5
}

/// The properties that files of a rename share.
type Same = (ObjectId, EntryKind);

/// Regular files may differ in their mode, others may not.
fn same(side: Side) -> Same {
    let kind = match side.mode.is_blob() {
        true => EntryKind::Blob,
        false => side.mode.kind(),
    };
    (side.id, kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_reversed_at_few_numbers_of_files() {
        let turned: Vec<usize> = (0..60_000)
            .filter(|deleted| is_reversed(*deleted))
            .collect();
        assert_eq!(turned, [205, 3277, 52429]);
    }
}
