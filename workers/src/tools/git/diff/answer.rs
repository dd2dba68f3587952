//! Fits the answer into the maximum size of a result.
//!
//! Patches are dropped first, from the end, and then files. The answer counts what was dropped.

use archway_repo::text;
use schemars::JsonSchema;
use serde::Serialize;

use super::markdown;
use super::measure::{MAX_LINES, MeasuredDiff};
use crate::tools::git::markdown::RENAMES_CUT;
use crate::tools::paging;
use crate::tools::schema::is_false;

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::tools) struct GitDiffAnswer {
    /// The commit compared from; null before the first.
    pub(super) base: Option<String>,
    /// The commit compared to; null for the working tree.
    pub(super) head: Option<String>,
    pub(super) files_changed: u64,
    pub(super) insertions: u64,
    pub(super) deletions: u64,
    pub(super) binary_files: u64,
    pub(super) files: Vec<FileDiff>,
    /// Without patches.
    pub(super) summary_only: bool,
    /// Something was left out; the note says how to get it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct FileDiff {
    pub(super) path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) old_path: Option<String>,
    pub(super) status: Status,
    pub(super) insertions: u64,
    pub(super) deletions: u64,
    pub(super) binary: bool,
    /// Over 8 MiB or 250,000 lines: not compared.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) too_large: bool,
    /// Git's, if it changed or is not 100644.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mode: Option<String>,
    /// Git's mode before, if it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) old_mode: Option<String>,
    /// Unified diff from its first @@ on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) patch: Option<String>,
    /// False: the patch was escaped or is no UTF-8, and does not apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exact: Option<bool>,
    /// There is a patch, but it is not shown.
    #[serde(skip)]
    pub(super) is_patch_missing: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    Added,
    #[default]
    Modified,
    Deleted,
    Renamed,
    TypeChanged,
}

impl MeasuredDiff {
    /// Returns the answer and its markdown, each in at most `budget` bytes.
    pub(super) fn fit(self, title: &str, budget: usize) -> (GitDiffAnswer, String) {
        let mut answer = GitDiffAnswer::of(self);
        let notes = std::mem::take(&mut answer.note);
        answer.shorten(budget);
        loop {
            answer.note = answer.notes(notes.as_deref());
            let markdown = markdown::of(&answer, title);
            if text::escape(&markdown).0.len() <= budget || !answer.drop_last() {
                return (answer, markdown);
            }
        }
    }
}

impl GitDiffAnswer {
    fn of(measured: MeasuredDiff) -> GitDiffAnswer {
        let is_long = measured.lines() > MAX_LINES;
        let mut files = measured.files;
        if is_long || measured.is_summary {
            for file in &mut files {
                (file.patch, file.exact, file.is_patch_missing) = (None, None, false);
            }
        }
        let count = |is: fn(&FileDiff) -> bool| count(files.iter().filter(|file| is(file)));
        let (binary_files, too_large) = (count(|file| file.binary), count(|file| file.too_large));
        let mut notes: Vec<String> = measured.not_found_note.into_iter().collect();
        if is_long && !measured.is_summary {
            notes.push(format!(
                "{} lines changed, which is more than {}: this is the summary; name a file or \
                 folder in file_path for its patches.",
                markdown::thousands(measured.insertions + measured.deletions),
                markdown::thousands(MAX_LINES)
            ));
        }
        if measured.renames_cut {
            notes.push(RENAMES_CUT.to_owned());
        }
        if too_large > 0 {
            notes.push(format!(
                "{too_large} files are too large to be compared by lines."
            ));
        }
        GitDiffAnswer {
            base: measured.base,
            head: measured.head,
            files_changed: count(|_| true),
            insertions: measured.insertions,
            deletions: measured.deletions,
            binary_files,
            files,
            summary_only: is_long || measured.is_summary,
            truncated: false,
            note: (!notes.is_empty()).then(|| notes.join(" ")),
        }
    }

    /// The files whose patches are shown.
    pub(super) fn shown(&self) -> Vec<String> {
        let shown = self.files.iter().filter(|file| file.patch.is_some());
        shown.map(|file| file.path.clone()).collect()
    }

    /// Drops files from the end until the others fit, and then patches from the end until they fit
    /// too.
    fn shorten(&mut self, budget: usize) {
        let patches: Vec<_> = self
            .files
            .iter_mut()
            .map(|file| file.patch.take())
            .collect();
        let listed = paging::fit(&self.files, budget);
        self.truncated = listed < self.files.len();
        self.files.truncate(listed);
        let mut left = budget.checked_sub(paging::size_of_all(&self.files));
        for (file, patch) in self.files.iter_mut().zip(patches) {
            let Some(patch) = patch else { continue };
            let size = paging::size(&patch) + r#","patch":"#.len();
            left = left.and_then(|left| left.checked_sub(size));
            match left {
                Some(_) => file.patch = Some(patch),
                None => (file.exact, file.is_patch_missing) = (None, true),
            }
        }
        self.truncated |= self.files.iter().any(|file| file.is_patch_missing);
    }

    /// Drops the last patch, or else the last file. Returns false if nothing is left.
    fn drop_last(&mut self) -> bool {
        self.truncated = true;
        let last = self.files.iter_mut().rfind(|file| file.patch.is_some());
        match last {
            Some(file) => {
                (file.patch, file.exact, file.is_patch_missing) = (None, None, true);
                true
            }
            None => self.files.pop().is_some(),
        }
    }

    fn notes(&self, others: Option<&str>) -> Option<String> {
        let missing = count(self.files.iter().filter(|file| file.is_patch_missing));
        let unlisted = self.files_changed - count(self.files.iter());
        let mut notes: Vec<String> = others.map(str::to_owned).into_iter().collect();
        if missing > 0 {
            notes.push(format!(
                "The patches of {missing} files are left out: name one in file_path."
            ));
        }
        if unlisted > 0 {
            notes.push(format!(
                "{unlisted} more files are not listed: name a folder in file_path."
            ));
        }
        (!notes.is_empty()).then(|| notes.join(" "))
    }
}

fn count<T>(items: impl Iterator<Item = T>) -> u64 {
    u64::try_from(items.count()).unwrap_or(u64::MAX)
}
