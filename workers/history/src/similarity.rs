//! Similarity of two files, measured as git measures it.
//!
//! Content is split after every line end, and after 64 bytes without one. A fingerprint counts the
//! bytes of each distinct piece. The bytes that two files share, divided by the larger one's size,
//! are their score. It is an estimate: order does not count, and pieces are identified by a small
//! hash. The hash is git's (`diffcore-delta`, in use since 2006): another one would give other
//! scores near the threshold, and so other renames than `git diff -M` finds.

use archway_repo::{Cancel, Stopped};

/// The score of identical files.
pub(super) const MAX_SCORE: u64 = 60_000;

/// The score of files that are half the same: the threshold for a rename.
pub(super) const MIN_SCORE: u64 = MAX_SCORE / 2;

/// How many files of equal content are searched for the best match. Git's number.
pub(super) const MAX_IDENTICAL: usize = 100;

/// Number of pieces that are hashed between two deadline checks.
const CHECK_INTERVAL: usize = 1 << 14;

/// The longest piece, in bytes.
const MAX_PIECE: u32 = 64;

/// The number of hash values. Git's.
const PIECES: u32 = 107_927;

/// A file's fingerprint: the bytes in each distinct piece.
#[derive(Debug)]
pub(super) struct Fingerprint {
    /// The file's size, in bytes.
    pub(super) size: u64,
    /// Hashes of pieces in ascending order, with the bytes of the file in each.
    pub(super) pieces: Vec<(u32, u32)>,
}

/// Computes fingerprints of files, one after another.
#[derive(Debug)]
pub(super) struct Fingerprinter {
    /// For each hash, the bytes of the file in it. All 0 between two files.
    bytes: Vec<u32>,
}

impl Fingerprinter {
    pub(super) fn new() -> Fingerprinter {
        let pieces = usize::try_from(PIECES).unwrap_or_default();
        Fingerprinter {
            bytes: vec![0; pieces],
        }
    }

    /// Computes the fingerprint of a file.
    ///
    /// # Errors
    /// If the call has to stop. The value can't be used again then: it holds counts of that file.
    pub(super) fn fingerprint(
        &mut self,
        content: &[u8],
        cancel: &Cancel,
    ) -> Result<Fingerprint, Stopped> {
        let mut distinct = Vec::new();
        let mut taken: usize = 0;
        let is_text = !is_binary(content);
        let mut piece = Piece::default();
        let mut rest = content.iter().peekable();
        while let Some(&byte) = rest.next() {
            // A line whose line end changed counts as the same line.
            if is_text && byte == b'\r' && rest.peek() == Some(&&b'\n') {
                continue;
            }
            piece.add(byte);
            if byte == b'\n' || piece.length == MAX_PIECE {
                self.count(std::mem::take(&mut piece), &mut distinct);
                taken += 1;
                if taken.is_multiple_of(CHECK_INTERVAL) {
                    cancel.check()?;
                }
            }
        }
        if piece.length > 0 {
            self.count(piece, &mut distinct);
        }
        distinct.sort_unstable();
        let mut bytes = |piece| (piece, self.slot(piece).map_or(0, std::mem::take));
        Ok(Fingerprint {
            size: u64::try_from(content.len()).unwrap_or(u64::MAX),
            pieces: distinct.iter().map(|&piece| bytes(piece)).collect(),
        })
    }

    fn count(&mut self, piece: Piece, distinct: &mut Vec<u32>) {
        let hash = piece.hash();
        if let Some(bytes) = self.slot(hash) {
            if *bytes == 0 {
                distinct.push(hash);
            }
            *bytes = bytes.saturating_add(piece.length);
        }
    }

    fn slot(&mut self, piece: u32) -> Option<&mut u32> {
        self.bytes.get_mut(usize::try_from(piece).ok()?)
    }
}

/// The running hash of a piece: two words that every byte shifts by seven bits.
#[derive(Debug, Default)]
struct Piece {
    low: u32,
    high: u32,
    length: u32,
}

impl Piece {
    fn add(&mut self, byte: u8) {
        let carried = self.low >> 25;
        self.low = ((self.low << 7) ^ (self.high >> 25)).wrapping_add(u32::from(byte));
        self.high = (self.high << 7) ^ carried;
        self.length += 1;
    }

    fn hash(&self) -> u32 {
        self.low.wrapping_add(self.high.wrapping_mul(0x61)) % PIECES
    }
}

/// Whether files of these sizes, in bytes, could have a score of at least `least`.
pub(super) fn sizes_allow(a: u64, b: u64, least: u64) -> bool {
    let (small, large) = (a.min(b), a.max(b));
    small > 0
        && large.saturating_mul(MAX_SCORE - least) >= (large - small).saturating_mul(MAX_SCORE)
}

/// The score of files of these sizes that share so many bytes: 0 to [`MAX_SCORE`].
pub(super) fn score(shared: u64, a: u64, b: u64) -> u64 {
    shared.saturating_mul(MAX_SCORE) / a.max(b).max(1)
}

/// The number of bytes that two files share.
pub(super) fn shared(a: &Fingerprint, b: &Fingerprint) -> u64 {
    let mut others = b.pieces.iter().peekable();
    let mut shared = 0;
    for &(piece, bytes) in &a.pieces {
        while others.next_if(|(other, _)| *other < piece).is_some() {}
        if let Some((_, other)) = others.next_if(|(other, _)| *other == piece) {
            shared += u64::from(bytes.min(*other));
        }
    }
    shared
}

/// A file's fingerprint as a table, for comparing it with many other files.
#[derive(Debug)]
pub(super) struct FingerprintTable {
    /// For each hash, the bytes of the file in it.
    bytes: Vec<u32>,
}

impl FingerprintTable {
    pub(super) fn new() -> FingerprintTable {
        let pieces = usize::try_from(PIECES).unwrap_or_default();
        FingerprintTable {
            bytes: vec![0; pieces],
        }
    }

    /// Loads a file, until [`FingerprintTable::clear`] removes it.
    pub(super) fn load(&mut self, pieces: &[(u32, u32)]) {
        for (piece, bytes) in pieces {
            if let Some(slot) = self.bytes.get_mut(*piece as usize) {
                *slot = *bytes;
            }
        }
    }

    pub(super) fn clear(&mut self, pieces: &[(u32, u32)]) {
        for (piece, _) in pieces {
            if let Some(slot) = self.bytes.get_mut(*piece as usize) {
                *slot = 0;
            }
        }
    }

    /// The number of bytes that the loaded file shares with another: [`shared`].
    pub(super) fn shared(&self, pieces: &[(u32, u32)]) -> u64 {
        let own = |piece: u32| self.bytes.get(piece as usize).copied().unwrap_or_default();
        let both = |(piece, bytes): &(u32, u32)| u64::from(own(*piece).min(*bytes));
        pieces.iter().map(both).sum()
    }
}

/// Whether git takes a file for binary: a NUL in its first 8,000 bytes.
pub(super) fn is_binary(content: &[u8]) -> bool {
    let head = content.get(..8000).unwrap_or(content);
    memchr::memchr(0, head).is_some()
}

#[cfg(test)]
mod tests {
    use archway_repo::testing::cancel;

    use super::*;

    fn fingerprint(content: &[u8]) -> Fingerprint {
        Fingerprinter::new()
            .fingerprint(content, &cancel())
            .unwrap()
    }

    fn percent(a: &[u8], b: &[u8]) -> u64 {
        let mut fingerprinter = Fingerprinter::new();
        let (a, b) = (
            fingerprinter.fingerprint(a, &cancel()),
            fingerprinter.fingerprint(b, &cancel()),
        );
        let (a, b) = (a.unwrap(), b.unwrap());
        score(shared(&a, &b), a.size, b.size) * 100 / MAX_SCORE
    }

    #[test]
    fn equal_content_scores_100_and_disjoint_content_0() {
        let long = b"x".repeat(1000);
        assert_eq!(percent(b"one\ntwo\n", b"one\ntwo\n"), 100);
        assert_eq!(percent(&long, &long), 100);
        assert_eq!(percent(b"one\n", b"two\n"), 0);
    }

    #[test]
    fn a_loaded_table_shares_as_much_as_the_fingerprint() {
        let (one, other) = (fingerprint(b"a\nb\nb\nc\n"), fingerprint(b"b\nc\nc\nd\n"));
        let mut table = FingerprintTable::new();
        table.load(&one.pieces);
        assert_eq!(table.shared(&other.pieces), shared(&one, &other));
        assert_eq!(shared(&one, &other), 4);
        table.clear(&one.pieces);
        assert_eq!(table.shared(&other.pieces), 0);
    }

    #[test]
    fn scores_ignore_order_and_relate_to_the_larger_file() {
        assert_eq!(percent(b"one\ntwo\n", b"two\none\n"), 100);
        assert_eq!(percent(b"one\n", b"one\ntwo\n"), 50);
        assert_eq!(percent(b"a\na\n", b"a\n"), 50);
    }

    #[test]
    fn carriage_returns_count_only_in_binary_files() {
        assert_eq!(fingerprint(b"a\r\n").pieces, fingerprint(b"a\n").pieces);
        assert_ne!(fingerprint(b"\0\r\n").pieces, fingerprint(b"\0\n").pieces);
    }

    #[test]
    fn a_last_line_without_an_end_counts() {
        assert_eq!(fingerprint(b"a\nb").pieces.len(), 2);
    }

    #[test]
    fn sizes_alone_can_rule_out_a_rename() {
        assert!(sizes_allow(50, 100, 30_000) && sizes_allow(100, 50, 30_000));
        assert!(!sizes_allow(49, 100, 30_000) && !sizes_allow(0, 0, 30_000));
    }
}
