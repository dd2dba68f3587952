//! The first step: files of the same id, those of the same name preferred.

use std::collections::{HashMap, VecDeque};

use gix::ObjectId;
use gix::objs::tree::EntryKind;

use super::super::similarity::MAX_ALIKE;
use super::super::{HistoryError, Side};
use super::{Pair, Search};

impl Search<'_> {
    pub(super) fn pair_identical(&mut self) -> Result<(), HistoryError> {
        let mut alike: HashMap<Same, VecDeque<usize>> = HashMap::new();
        for (at, file) in self.deleted.iter().enumerate() {
            alike.entry(same(file.side)).or_default().push_back(at);
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
            let namesake = left.iter().take(MAX_ALIKE).position(is_namesake);
            let from = left.remove(namesake.unwrap_or(0));
            pairs.extend(from.map(|from| (from, to)));
        }
        self.keep(&pairs);
        Ok(())
    }
}

/// What files that can be one have in common.
type Same = (ObjectId, EntryKind);

/// Regular files may differ in their mode, all else may not.
fn same(side: Side) -> Same {
    let kind = match side.mode.is_blob() {
        true => EntryKind::Blob,
        false => side.mode.kind(),
    };
    (side.id, kind)
}
