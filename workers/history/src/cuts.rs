//! Cuts two long texts into pieces that can be compared one by one.
//!
//! Comparing two texts with little in common takes more than linear time, and can't be interrupted:
//! half a million lines against as many take ten seconds. So texts in which more than
//! [`MAX_DIFFERING`] lines differ are cut at lines that occur once in both, in the same order. A
//! piece that is still too long counts as changed. Nearly all texts differ in fewer lines and are
//! compared in one piece, as git does.

use std::ops::Range;

use gix::diff::blob::Token;

use archway_repo::{Cancel, Stopped};

/// Maximum number of differing lines for one comparison, which takes some 50 ms at worst.
const MAX_DIFFERING: usize = 20_000;

/// Number of lines that are processed between two deadline checks.
const CHECK_INTERVAL: usize = 1 << 14;

/// Lines of the old text and lines of the new one, to be compared with each other.
pub(super) type Piece = (Range<usize>, Range<usize>);

/// The pieces of two texts, in order. Lines outside of all pieces count as changed.
///
/// # Errors
/// If the call has to stop.
pub(super) fn pieces(old: &[Token], new: &[Token], cancel: &Cancel) -> Result<Vec<Piece>, Stopped> {
    let head = common_length(old.iter().zip(new));
    let tail = common_length(old.iter().rev().zip(new.iter().rev()));
    let whole = (0..old.len(), 0..new.len());
    let differing = old.len().min(new.len()).saturating_sub(head + tail);
    if differing <= MAX_DIFFERING {
        return Ok(vec![whole]);
    }
    let mut pieces = Vec::new();
    let mut last = (0, 0);
    for (old, new) in longest_increasing(&unique_lines(old, new, cancel)?, cancel)? {
        if old - last.0 > MAX_DIFFERING || new - last.1 > MAX_DIFFERING {
            pieces.push((last.0..old, last.1..new));
            last = (old, new);
        }
    }
    pieces.push((last.0..whole.0.end, last.1..whole.1.end));
    pieces.retain(|(old, new)| old.len().min(new.len()) <= 2 * MAX_DIFFERING);
    Ok(pieces)
}

fn common_length<'a>(lines: impl Iterator<Item = (&'a Token, &'a Token)>) -> usize {
    lines.take_while(|(a, b)| a == b).count()
}

/// The positions of lines that occur once in both texts, in the order of the new one.
fn unique_lines(
    old: &[Token],
    new: &[Token],
    cancel: &Cancel,
) -> Result<Vec<(usize, usize)>, Stopped> {
    let max_token = old.iter().chain(new).map(|line| line.0).max();
    let mut occurrences =
        vec![Occurrences::default(); max_token.map_or(0, |max_token| max_token as usize + 1)];
    let mut count = |lines: &[Token], side: fn(&mut Occurrences) -> &mut Times| {
        for (at, line) in lines.iter().enumerate() {
            check_deadline(at, cancel)?;
            if let Some(occurrences) = occurrences.get_mut(line.0 as usize) {
                let times = side(occurrences);
                *times = times.and(at);
            }
        }
        Ok(())
    };
    count(old, |occurrences| &mut occurrences.old)?;
    count(new, |occurrences| &mut occurrences.new)?;
    let mut found = Vec::new();
    for (at, line) in new.iter().enumerate() {
        check_deadline(at, cancel)?;
        if let Some(Occurrences {
            old: Times::Once(old),
            new: Times::Once(new),
        }) = occurrences.get(line.0 as usize)
        {
            found.push((*old, *new));
        }
    }
    Ok(found)
}

/// How often a line occurs in either text.
#[derive(Clone, Copy, Default)]
struct Occurrences {
    old: Times,
    new: Times,
}

#[derive(Clone, Copy, Default)]
enum Times {
    #[default]
    Never,
    Once(usize),
    Often,
}

impl Times {
    fn and(self, at: usize) -> Times {
        match self {
            Times::Never => Times::Once(at),
            Times::Once(_) | Times::Often => Times::Often,
        }
    }
}

/// The longest increasing subsequence of `positions` by their first number; the second increases
/// already.
fn longest_increasing(
    positions: &[(usize, usize)],
    cancel: &Cancel,
) -> Result<Vec<(usize, usize)>, Stopped> {
    // By length, minus 1: the index of the lowest end of an increasing subsequence of that length.
    let mut ends: Vec<usize> = Vec::new();
    let mut before = Vec::with_capacity(positions.len());
    let old = |at: usize| positions.get(at).map_or(0, |position| position.0);
    for (at, position) in positions.iter().enumerate() {
        check_deadline(at, cancel)?;
        let length = ends.partition_point(|&end| old(end) < position.0);
        before.push(
            length
                .checked_sub(1)
                .and_then(|shorter| ends.get(shorter).copied()),
        );
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut chosen = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(at) = next {
        chosen.extend(positions.get(at).copied());
        next = before.get(at).copied().flatten();
    }
    chosen.reverse();
    Ok(chosen)
}

/// Checks the deadline every `CHECK_INTERVAL` lines.
fn check_deadline(at: usize, cancel: &Cancel) -> Result<(), Stopped> {
    match at.is_multiple_of(CHECK_INTERVAL) {
        true => cancel.check(),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use archway_repo::testing::cancel;

    use super::*;

    fn pieces(old: &[Token], new: &[Token]) -> Vec<Piece> {
        super::pieces(old, new, &cancel()).unwrap()
    }

    fn tokens(lines: impl IntoIterator<Item = usize>) -> Vec<Token> {
        let token = |line| Token(u32::try_from(line).unwrap());
        lines.into_iter().map(token).collect()
    }

    #[test]
    fn short_texts_and_similar_long_ones_stay_in_one_piece() {
        let old = tokens(0..100_000);
        let mut new = old.clone();
        new.splice(50_000..50_100, tokens(200_000..200_300));
        assert_eq!(pieces(&old, &new), [(0..100_000, 0..100_200)]);
        assert_eq!(pieces(&[], &old), [(0..0, 0..100_000)]);
    }

    #[test]
    fn long_texts_are_cut_at_shared_lines() {
        let old = tokens((0..100_000).map(|line| if line % 3 == 0 { 1 } else { line }));
        let new = tokens((0..100_000).map(|line| if line % 7 == 0 { 2 } else { line }));
        let cut = pieces(&old, &new);
        assert!(cut.len() > 3, "{cut:?}");
        for (a, b) in &cut {
            assert!(a == b && a.len() <= 2 * MAX_DIFFERING, "{cut:?}");
        }
        assert_eq!(cut.iter().map(|(a, _)| a.len()).sum::<usize>(), 100_000);
    }

    #[test]
    fn texts_without_unique_shared_lines_are_not_compared() {
        let old = tokens((0..100_000).map(|line| line % 1000));
        let new = tokens((0..100_000).map(|line| line * 7 % 1000));
        assert_eq!(pieces(&old, &new), []);
    }

    #[test]
    fn the_longest_increasing_subsequence_is_found() {
        let positions = [(5, 0), (1, 1), (2, 2), (9, 3), (3, 4), (4, 5)];
        assert_eq!(
            longest_increasing(&positions, &cancel()).unwrap(),
            [(1, 1), (2, 2), (3, 4), (4, 5)]
        );
        assert_eq!(longest_increasing(&[], &cancel()).unwrap(), []);
    }
}
