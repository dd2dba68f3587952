//! The changed lines of a file: their number, or a patch.
//!
//! Hunks are those that git finds, by the same algorithm (Myers' with git's shortcuts) and the same
//! preference among equal answers, unless too many lines differ ([`hunks`]). A patch begins with
//! its first `@@`: the lines above it in git's output follow from paths, status and modes. `git
//! apply` accepts the patch after these lines (`a`, `b`: the paths before and after):
//!
//! ```text
//! diff --git a/… b/…
//! old mode …, new mode …  | new file mode … | deleted file mode …
//! rename from …, rename to …
//! --- a/…  (or /dev/null)
//! +++ b/…  (or /dev/null)
//! ```
//!
//! A change of type, such as from file to link, is two patches: the old file deleted, then the new
//! one added.

use std::fmt::Write as _;
use std::ops::Range;

use archway_repo::{Cancel, Stopped};
use gix::diff::blob::{Hunk, InternedInput, sources::byte_lines};

use super::blobs::Blobs;
use super::content::{Contents, Reader};
use super::hunks::{Placement, Text, hunks, lines, trim_common_ends};
use super::{Change, ChangeKind, HistoryError};

/// How much of a file changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// Lines that were added.
    pub insertions: u64,
    /// Lines that were removed.
    pub deletions: u64,
    /// Whether lines were compared. Both counts are 0 if not.
    pub measure: Measure,
}

/// Whether lines were compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// They were.
    #[default]
    Compared,
    /// They were not: the file is binary.
    Binary,
    /// They were not: the file has over 8 MiB or 250,000 lines.
    TooLarge,
}

/// A patch of one file, from its first `@@` on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// Empty if no line changed. Bytes that are not UTF-8 become U+FFFD.
    pub text: String,
    /// Whether `text` has all bytes of the change.
    pub is_exact: bool,
}

/// Compares files one after another, reusing its buffers.
#[derive(Debug)]
pub struct Comparer {
    reader: Reader,
    cancel: Cancel,
}

impl Comparer {
    /// A comparer for one call.
    pub fn new(cancel: &Cancel) -> Comparer {
        Comparer {
            reader: Reader::default(),
            cancel: cancel.clone(),
        }
    }

    /// How many lines changed.
    ///
    /// # Errors
    /// If a side can't be read, or the call has to stop.
    pub(super) fn count(
        &mut self,
        blobs: &Blobs<'_>,
        change: &Change,
    ) -> Result<LineCounts, HistoryError> {
        let contents = self.reader.read(blobs, change.old, change.new)?;
        Ok(match contents {
            Contents::Text(old, new) => count(old, new, &self.cancel)?,
            unread => LineCounts::unread(unread),
        })
    }

    /// How many lines changed, and the patch with `context` lines of context. The patch is empty
    /// where lines are not compared.
    ///
    /// # Errors
    /// If a side can't be read, or the call has to stop.
    pub(super) fn patch(
        &mut self,
        blobs: &Blobs<'_>,
        change: &Change,
        context: u32,
    ) -> Result<(LineCounts, Patch), HistoryError> {
        let contents = self.reader.read(blobs, change.old, change.new)?;
        let Contents::Text(old, new) = contents else {
            return Ok((LineCounts::unread(contents), Patch::of(Vec::new())));
        };
        let mut text = Vec::new();
        let lines = if change.kind == ChangeKind::TypeChanged {
            write((old, b""), context, &mut text, &self.cancel)?;
            write((b"", new), context, &mut text, &self.cancel)?;
            count(old, new, &self.cancel)?
        } else {
            write((old, new), context, &mut text, &self.cancel)?
        };
        Ok((lines, Patch::of(text)))
    }
}

impl LineCounts {
    fn unread(contents: Contents<'_>) -> LineCounts {
        let measure = match contents {
            Contents::Text(..) => Measure::Compared,
            Contents::Binary => Measure::Binary,
            Contents::TooLarge => Measure::TooLarge,
        };
        LineCounts {
            measure,
            ..LineCounts::default()
        }
    }

    fn of(hunks: &[Hunk]) -> LineCounts {
        let count = |lines: fn(&Hunk) -> &Range<u32>| -> u64 {
            let lengths = hunks.iter().map(|hunk| lines(hunk).len() as u64);
            lengths.sum()
        };
        LineCounts {
            insertions: count(|hunk| &hunk.after),
            deletions: count(|hunk| &hunk.before),
            measure: Measure::Compared,
        }
    }
}

impl Patch {
    fn of(text: Vec<u8>) -> Patch {
        match String::from_utf8(text) {
            Ok(text) => Patch {
                text,
                is_exact: true,
            },
            Err(error) => Patch {
                text: String::from_utf8_lossy(error.as_bytes()).into_owned(),
                is_exact: false,
            },
        }
    }
}

fn count(old: &[u8], new: &[u8], cancel: &Cancel) -> Result<LineCounts, Stopped> {
    let (old_rest, new_rest) = trim_common_ends(old, new);
    // If one side has nothing left, the lines of the other are the whole change.
    if old_rest.is_empty() || new_rest.is_empty() {
        return Ok(LineCounts {
            insertions: lines(new_rest),
            deletions: lines(old_rest),
            measure: Measure::Compared,
        });
    }
    let input = InternedInput::new(byte_lines(old), byte_lines(new));
    Ok(LineCounts::of(&hunks(&input, Placement::Any, cancel)?))
}

/// Writes the patch from `old` to `new`.
fn write(
    (old, new): (&[u8], &[u8]),
    context: u32,
    patch: &mut Vec<u8>,
    cancel: &Cancel,
) -> Result<LineCounts, Stopped> {
    let input = InternedInput::new(byte_lines(old), byte_lines(new));
    let found = hunks(&input, Placement::Shown, cancel)?;
    let mut hunks = found.iter().cloned().peekable();
    while let Some(first) = hunks.next() {
        let mut group = vec![first];
        let mut end = group.first().map_or(0, |hunk| hunk.before.end);
        // Hunks whose contexts meet are merged.
        let reach = context.saturating_mul(2);
        while let Some(next) = hunks.next_if(|next| next.before.start - end <= reach) {
            end = next.before.end;
            group.push(next);
        }
        Group::of(&group, context, &input).write(&group, &input, patch);
    }
    Ok(LineCounts::of(&found))
}

/// The lines beneath one `@@`.
struct Group {
    before: Range<u32>,
    after: Range<u32>,
}

impl Group {
    fn of(hunks: &[Hunk], context: u32, input: &Text<'_>) -> Group {
        let around = |first: Option<u32>, last: Option<u32>, length: usize| {
            let length = u32::try_from(length).unwrap_or(u32::MAX);
            let start = first.unwrap_or(0).saturating_sub(context);
            start..last.unwrap_or(0).saturating_add(context).min(length)
        };
        let (first, last) = (hunks.first(), hunks.last());
        Group {
            before: around(
                first.map(|hunk| hunk.before.start),
                last.map(|hunk| hunk.before.end),
                input.before.len(),
            ),
            after: around(
                first.map(|hunk| hunk.after.start),
                last.map(|hunk| hunk.after.end),
                input.after.len(),
            ),
        }
    }

    fn write(&self, hunks: &[Hunk], input: &Text<'_>, patch: &mut Vec<u8>) {
        let (before, after) = (line_range(&self.before), line_range(&self.after));
        patch.extend_from_slice(format!("@@ -{before} +{after} @@\n").as_bytes());
        let mut at = self.before.start;
        for hunk in hunks {
            write_lines(b' ', at..hunk.before.start, &input.before, input, patch);
            write_lines(b'-', hunk.before.clone(), &input.before, input, patch);
            write_lines(b'+', hunk.after.clone(), &input.after, input, patch);
            at = hunk.before.end;
        }
        write_lines(b' ', at..self.before.end, &input.before, input, patch);
    }
}

/// A range in an `@@` line: the first line, from 1, and the count. For an empty range, the line
/// before it.
fn line_range(lines: &Range<u32>) -> String {
    let mut text = match lines.len() {
        0 => lines.start,
        _ => lines.start + 1,
    }
    .to_string();
    if lines.len() != 1 {
        // Writing to a String can't fail.
        _ = write!(text, ",{}", lines.len());
    }
    text
}

fn write_lines(
    mark: u8,
    range: Range<u32>,
    side: &[gix::diff::blob::Token],
    input: &Text<'_>,
    patch: &mut Vec<u8>,
) {
    let index = |at: u32| usize::try_from(at).unwrap_or(usize::MAX);
    let tokens = side.get(index(range.start)..index(range.end));
    for token in tokens.unwrap_or_default() {
        let line = input.interner[*token];
        patch.push(mark);
        patch.extend_from_slice(line);
        if line.last() != Some(&b'\n') {
            patch.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}
