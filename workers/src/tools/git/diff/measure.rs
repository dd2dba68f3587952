//! Measures each changed file: the number of changed lines, and the patch while the answer is
//! small.

use archway_history::{Change, ChangeKind, Comparer, Comparison, LineCounts, Measure, Side};
use archway_proto::failure::Failure;
use archway_repo::{Cancel, RepoPath, text};

use super::answer::{FileDiff, Status};

/// Maximum number of changed lines that are shown as patches. Beyond it only files and counts are.
pub(super) const MAX_LINES: u64 = 1000;

/// The options of a diff.
pub(super) struct DiffOptions {
    /// Omits patches.
    pub(super) summary: bool,
    /// Unchanged lines around each change.
    pub(super) context: u32,
    /// Maximum number of bytes of patches that can be shown.
    pub(super) budget: usize,
}

/// All files that differ, before they are fitted into an answer.
#[derive(Debug, Default)]
pub(super) struct MeasuredDiff {
    pub(super) base: Option<String>,
    pub(super) head: Option<String>,
    pub(super) files: Vec<FileDiff>,
    /// No patches were requested.
    pub(super) is_summary: bool,
    pub(super) renames_cut: bool,
    /// Why nothing was found, if that is known.
    pub(super) not_found_note: Option<String>,
    /// Lines of all files.
    pub(super) insertions: u64,
    pub(super) deletions: u64,
}

/// Measures all changes.
pub(super) fn all(
    comparison: &Comparison<'_>,
    changes: &[&Change],
    options: &DiffOptions,
    cancel: &Cancel,
) -> Result<MeasuredDiff, Failure> {
    let mut measured = MeasuredDiff {
        is_summary: options.summary,
        renames_cut: comparison.changes.renames_cut,
        ..MeasuredDiff::default()
    };
    let mut comparer = Comparer::new(cancel);
    let mut room = options.budget;
    for change in changes {
        cancel.check().map_err(archway_repo::RepoError::Stopped)?;
        // Patches are dropped from the end, so none is computed after the first that has no room.
        let is_shown = !options.summary && measured.lines() <= MAX_LINES && room > 0;
        let mut file = FileDiff::of(change);
        if is_shown {
            let (lines, patch) = comparison.patch(&mut comparer, change, options.context)?;
            room = room.saturating_sub(patch.text.len());
            let is_plain = text::escape(&patch.text).1 == 0;
            file.count(lines);
            file.exact = (!patch.is_exact || !is_plain).then_some(false);
            file.patch = Some(patch.text).filter(|text| !text.is_empty());
        } else {
            file.count(comparison.count(&mut comparer, change)?);
            file.is_patch_missing = lines_of(&file) > 0;
        }
        measured.insertions += file.insertions;
        measured.deletions += file.deletions;
        measured.files.push(file);
    }
    Ok(measured)
}

impl MeasuredDiff {
    pub(super) fn lines(&self) -> u64 {
        self.insertions + self.deletions
    }
}

fn lines_of(file: &FileDiff) -> u64 {
    file.insertions + file.deletions
}

impl FileDiff {
    fn of(change: &Change) -> FileDiff {
        let (status, old_path) = match &change.kind {
            ChangeKind::Added => (Status::Added, None),
            ChangeKind::Modified => (Status::Modified, None),
            ChangeKind::Deleted => (Status::Deleted, None),
            ChangeKind::Renamed(from) => (Status::Renamed, Some(from.display())),
            ChangeKind::TypeChanged => (Status::TypeChanged, None),
        };
        let mode = |side: Side| format!("{:06o}", side.mode.value());
        let (old, new) = (change.old.map(mode), change.new.map(mode));
        let is_plain = |mode: &String| mode == "100644";
        FileDiff {
            path: change.path.display(),
            old_path,
            status,
            old_mode: old
                .clone()
                .filter(|old| new.as_ref().is_some_and(|new| new != old)),
            mode: match new == old {
                true => None,
                false => new
                    .or(old)
                    .filter(|mode| change.old.is_some() || !is_plain(mode)),
            },
            ..FileDiff::default()
        }
    }

    fn count(&mut self, lines: LineCounts) {
        self.insertions = lines.insertions;
        self.deletions = lines.deletions;
        self.binary = lines.measure == Measure::Binary;
        self.too_large = lines.measure == Measure::TooLarge;
    }
}

/// The changes of the file with this new or old name. If there are none, those of files beneath
/// this folder.
pub(super) fn changes_of<'c>(changes: &'c [Change], path: &RepoPath) -> Vec<&'c Change> {
    let shown = path.display();
    let is_named = |change: &&Change| names(change).any(|name| name.display() == shown);
    let named: Vec<_> = changes.iter().filter(is_named).collect();
    if !named.is_empty() {
        return named;
    }
    let is_beneath = |change: &&Change| names(change).any(|name| name.is_within(path));
    changes.iter().filter(is_beneath).collect()
}

fn names(change: &Change) -> impl Iterator<Item = &RepoPath> {
    let old = match &change.kind {
        ChangeKind::Renamed(from) => Some(from),
        _ => None,
    };
    std::iter::once(&change.path).chain(old)
}
