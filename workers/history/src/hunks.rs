//! The lines in which two texts differ: as git finds them, as long as that takes bounded time.
//!
//! Texts that differ in very many lines are compared in pieces, as in a blame ([`cuts`]). The
//! result is correct, but may be longer than git's.

use std::ops::Range;

use archway_repo::{Cancel, Stopped};
use gix::diff::blob::{Algorithm, Diff, Hunk, InternedInput};

use super::cuts::{self, Piece};

/// Two texts as lines.
pub(super) type Text<'t> = InternedInput<&'t [u8]>;

/// Where to place a change that several positions could show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// Anywhere: it is only counted.
    Any,
    /// Where git shows it.
    Shown,
}

/// The differences, in order.
///
/// # Errors
/// If the call has to stop.
pub(super) fn hunks(
    input: &Text<'_>,
    placement: Placement,
    cancel: &Cancel,
) -> Result<Vec<Hunk>, Stopped> {
    let (old, new) = (input.before.as_slice(), input.after.as_slice());
    let pieces = cuts::pieces(old, new, cancel)?;
    if pieces == [(0..old.len(), 0..new.len())] {
        cancel.check()?;
        let mut diff = Diff::compute(Algorithm::Myers, input);
        if placement == Placement::Shown {
            diff.postprocess_lines(input);
        }
        return Ok(diff.hunks().collect());
    }
    let mut found = HunkCollector::default();
    let mut diff = Diff::default();
    for piece in pieces {
        cancel.check()?;
        let (before, after) = (old.get(piece.0.clone()), new.get(piece.1.clone()));
        let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
        diff.compute_with(Algorithm::Myers, before, after, input.interner.num_tokens());
        found.add(&piece, diff.hunks());
    }
    found.add_gap((number(old.len()), number(new.len())));
    Ok(found.hunks)
}

/// Hunks found so far, piece by piece.
#[derive(Default)]
struct HunkCollector {
    hunks: Vec<Hunk>,
    /// Where the last piece ended in either text.
    end: (u32, u32),
}

impl HunkCollector {
    /// Adds the hunks of a piece. Lines between it and the previous piece count as changed.
    fn add(&mut self, (old, new): &Piece, hunks: impl Iterator<Item = Hunk>) {
        let start = (number(old.start), number(new.start));
        self.add_gap(start);
        let moved = |range: Range<u32>, by: u32| range.start + by..range.end + by;
        self.hunks.extend(hunks.map(|hunk| Hunk {
            before: moved(hunk.before, start.0),
            after: moved(hunk.after, start.1),
        }));
        self.end = (number(old.end), number(new.end));
    }

    fn add_gap(&mut self, (old, new): (u32, u32)) {
        let (before, after) = (self.end.0..old, self.end.1..new);
        if !before.is_empty() || !after.is_empty() {
            self.hunks.push(Hunk { before, after });
        }
    }
}

fn number(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Both texts without the lines that they share at their start and end.
pub(super) fn trim_common_ends<'t>(old: &'t [u8], new: &'t [u8]) -> (&'t [u8], &'t [u8]) {
    let common = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let head = old.get(..common).unwrap_or_default();
    let is_whole = common == old.len() && common == new.len();
    let start = match memchr::memrchr(b'\n', head) {
        _ if is_whole => common,
        Some(end) => end + 1,
        None => 0,
    };
    let (old, new) = (old.get(start..), new.get(start..));
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    let pairs = old.iter().rev().zip(new.iter().rev());
    let common = pairs.take_while(|(a, b)| a == b).count();
    let tail = old.get(old.len() - common..).unwrap_or_default();
    // A line begins after a line end, or where one of the texts begins.
    let is_start = |text: &[u8]| {
        let before = text.len().checked_sub(common + 1);
        before.is_none_or(|before| text.get(before) == Some(&b'\n'))
    };
    let shared = if is_start(old) && is_start(new) {
        common
    } else {
        memchr::memchr(b'\n', tail).map_or(0, |end| common - end - 1)
    };
    let cut = |text: &'t [u8]| text.get(..text.len() - shared).unwrap_or_default();
    (cut(old), cut(new))
}

/// The number of lines in a text.
pub(super) fn lines(text: &[u8]) -> u64 {
    let ends = memchr::memchr_iter(b'\n', text).count();
    let open = usize::from(text.last().is_some_and(|&last| last != b'\n'));
    u64::try_from(ends + open).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use archway_repo::testing::cancel;
    use gix::diff::blob::sources::byte_lines;
    use tokio::time::Duration;

    use super::*;

    #[test]
    fn texts_that_differ_everywhere_are_compared_in_bounded_time() {
        let text = |factor: u32| -> String {
            let lines = (0..100_000_u32).map(|line| line * factor % 1000);
            lines.map(|line| format!("{line}\n")).collect()
        };
        let (old, new) = (text(1), text(7));
        let input = InternedInput::new(byte_lines(old.as_bytes()), byte_lines(new.as_bytes()));
        let whole = cancel().measured();
        let found = hunks(&input, Placement::Shown, &whole).unwrap();
        // In one piece, and without optimisation, this takes ten seconds.
        assert!(whole.longest_gap() < Duration::from_secs(1));
        let (before, after) = (0..100_000, 0..100_000);
        assert_eq!(found, [Hunk { before, after }]);
    }

    #[test]
    fn a_comparison_stops_between_pieces() {
        let text = |name: &str| -> String {
            let line = |at: u32| match at % 1000 {
                0 => format!("{at}\n"),
                _ => format!("{name} {at}\n"),
            };
            (0..100_000).map(line).collect()
        };
        let (old, new) = (text("old"), text("new"));
        let input = InternedInput::new(byte_lines(old.as_bytes()), byte_lines(new.as_bytes()));
        let stopped = hunks(&input, Placement::Any, &cancel().cancel_at_check(3));
        assert_eq!(stopped, Err(Stopped::Cancelled));
        let found = hunks(&input, Placement::Any, &cancel()).unwrap();
        assert_eq!(found.len(), 100, "everything between shared lines");
    }
}
