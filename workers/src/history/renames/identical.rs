//! The first step: files of the same id, those of the same name preferred.

use std::collections::{HashMap, VecDeque};

use gix::ObjectId;

use super::super::similarity::MAX_ALIKE;
use super::super::{HistoryError, Side};
use super::{Pair, Search};

impl Search<'_> {
    pub(super) fn pair_identical(&mut self) -> Result<(), HistoryError> {
        let mut by_id: HashMap<ObjectId, VecDeque<usize>> = HashMap::new();
        for (at, file) in self.deleted.iter().enumerate() {
            by_id.entry(file.side.id).or_default().push_back(at);
        }
        let mut pairs: Vec<Pair> = Vec::new();
        for (to, file) in self.added.iter().enumerate() {
            self.cancel.check()?;
            let Some(alike) = by_id.get_mut(&file.side.id) else {
                continue;
            };
            let candidates = || {
                let files = alike.iter().enumerate();
                let files = files.filter_map(|(place, &at)| Some((place, self.deleted.get(at)?)));
                let files = files.filter(|(_, old)| can_be_one(old.side, file.side));
                files.take(MAX_ALIKE)
            };
            let namesake = candidates().find(|(_, old)| old.path.name() == file.path.name());
            let best = namesake.or_else(|| candidates().next());
            let best = best.map(|(place, _)| place);
            let from = best.and_then(|place| alike.remove(place));
            pairs.extend(from.map(|from| (from, to)));
        }
        self.keep(&pairs);
        Ok(())
    }
}

/// Regular files may differ in their mode, all else may not.
fn can_be_one(old: Side, new: Side) -> bool {
    old.mode == new.mode || (old.mode.is_blob() && new.mode.is_blob())
}
