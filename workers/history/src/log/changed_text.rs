//! Commits that add or remove a text: those with another number of its occurrences in some file than before, as
//! `git log -S` counts them. A renamed file is compared with its source. Merges are left out.

use std::collections::HashMap;

use archway_repo::Cancel;
use gix::ObjectId;
use memchr::memmem::Finder;

use super::{Log, Match, View};
use crate::blobs::Blobs;
use crate::change::{Change, Changes};
use crate::path_limiter::{PathLimiter, Sides};
use crate::trees::{self, Difference};
use crate::{History, HistoryError, Side};

/// The largest file that is read, in bytes. Larger ones count as without the text.
const MAX_FILE: u64 = 16 << 20;
/// How many counts are remembered: the old side of a commit's file is the new side of an earlier commit's.
const MAX_COUNTS: usize = 1 << 16;

/// A text, and how often files have it.
pub(super) struct ChangedText {
    finder: Finder<'static>,
    counts: HashMap<ObjectId, usize>,
    buffer: Vec<u8>,
}

impl ChangedText {
    /// `text` is literal and not empty.
    pub(super) fn of(text: &str) -> ChangedText {
        ChangedText {
            finder: Finder::new(text).into_owned(),
            counts: HashMap::new(),
            buffer: Vec::new(),
        }
    }

    /// Whether a file with these sides gained or lost the text.
    ///
    /// # Errors
    /// If a side can't be read, or the call has to stop.
    pub(super) fn differs(
        &mut self,
        history: &History,
        (old, new): (Option<Side>, Option<Side>),
        cancel: &Cancel,
    ) -> Result<bool, HistoryError> {
        let blobs = Blobs::new(&history.git);
        Ok(self.count(&blobs, old, cancel)? != self.count(&blobs, new, cancel)?)
    }

    /// Whether any of these files did; `found` is in git's order.
    ///
    /// # Errors
    /// As [`ChangedText::differs`].
    pub(super) fn differs_in(
        &mut self,
        history: &History,
        found: Vec<Difference>,
        cancel: &Cancel,
    ) -> Result<bool, HistoryError> {
        let blobs = Blobs::new(&history.git);
        let (mut is_added, mut is_deleted) = (false, false);
        let may_be_renamed = found.iter().any(|file| file.new.is_none());
        for Difference { old, new, .. } in &found {
            let counts = (
                self.count(&blobs, *old, cancel)?,
                self.count(&blobs, *new, cancel)?,
            );
            match (old, new) {
                (Some(_), Some(_)) if counts.0 != counts.1 => return Ok(true),
                (Some(_), Some(_)) => {}
                (None, _) if counts.1 > 0 && !may_be_renamed => return Ok(true),
                (None, _) => is_added |= counts.1 > 0,
                (_, None) => is_deleted |= counts.0 > 0,
            }
        }
        if !(is_added && is_deleted) {
            return Ok(is_added || is_deleted);
        }
        // The text may have moved with a file.
        let changes = Changes::of(&blobs, found, cancel)?;
        for Change { old, new, .. } in changes.files {
            if self.count(&blobs, old, cancel)? != self.count(&blobs, new, cancel)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// How often a file has the text. A submodule has none.
    fn count(
        &mut self,
        blobs: &Blobs<'_>,
        side: Option<Side>,
        cancel: &Cancel,
    ) -> Result<usize, HistoryError> {
        let Some(side) = side.filter(|side| !side.mode.is_commit()) else {
            return Ok(0);
        };
        if let Some(count) = self.counts.get(&side.id) {
            return Ok(*count);
        }
        cancel.check()?;
        let mut count = 0;
        if blobs.size(side.id)? <= MAX_FILE && blobs.read(side.id, &mut self.buffer)? {
            count = self.finder.find_iter(&self.buffer).count();
        }
        if self.counts.len() >= MAX_COUNTS {
            self.counts.clear();
        }
        self.counts.insert(side.id, count);
        Ok(count)
    }
}

impl Log<'_> {
    /// Whether the commit adds or removes the text of the query, if there is one.
    pub(super) fn changes_text(
        &mut self,
        Match { node, file, .. }: &Match,
        sides: Option<Sides>,
        cancel: &Cancel,
    ) -> Result<bool, HistoryError> {
        let (history, Some(text)) = (self.history, &mut self.filter.changed) else {
            return Ok(true);
        };
        if node.parents.len() > 1 {
            return Ok(false);
        }
        let old_tree = history.first_parent_tree(node)?;
        let new_tree = Some(node.tree);
        let found = match (&mut self.view, sides) {
            (View::File(_), Some((mut old, new))) => {
                if let Some(from) = file.as_ref().and_then(|file| file.old_path.clone()) {
                    (old, _) = PathLimiter::of(from).sides(history, old_tree, None)?;
                }
                return text.differs(history, (old, new), cancel);
            }
            (View::Folder(limiter), _) => {
                limiter.differences(history, old_tree, new_tree, cancel)?
            }
            _ => trees::differences(&history.git, &history.rules, (old_tree, new_tree), cancel)?,
        };
        text.differs_in(history, found, cancel)
    }
}
