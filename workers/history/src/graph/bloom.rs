//! Changed-path filters: Bloom filters that tell whether a commit may have changed a path.
//!
//! A filter holds every path that differs from the first parent, and every folder above one. An
//! absent path is certainly unchanged; a present one may have changed. A path is hashed by murmur3
//! (A. Appleby, public domain) under two seeds, and double hashing selects the bits: see
//! gitformat-commit-graph(5), "BDAT".

use std::collections::HashSet;
use std::ops::{BitOr, BitXor};

use archway_repo::RepoPath;
use gix::bstr::BString;

use super::chunks::array;

/// More hashes than any writer uses: a file with more is hostile.
const MAX_HASHES: u32 = 64;
/// A filter of this many paths or more would be too large. Git has the same limit.
pub(super) const MAX_PATHS: usize = 512;
const SEEDS: (u32, u32) = (0x293a_e76f, 0x7e64_6e2c);

/// The parameters of a file's filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    version: Version,
    hashes: u32,
    bits_per_path: u32,
}

/// How bytes above 127 are hashed: git's first version took them for negative numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    Signed,
    Unsigned,
}

/// The paths that a commit changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filter<'a> {
    pub(super) bits: &'a [u8],
    pub(super) settings: Settings,
}

/// The hashes of a path, to query the filters of many commits.
#[derive(Clone, Debug)]
pub(crate) struct FilterQuery {
    /// Hashes of the path and of each folder above it.
    path_hashes: Vec<PathHash>,
}

#[derive(Clone, Copy, Debug)]
struct PathHash {
    signed: (u32, u32),
    unsigned: (u32, u32),
}

impl FilterQuery {
    /// A query for a file or a folder. Every commit may have changed the root.
    pub(crate) fn of(path: &RepoPath) -> FilterQuery {
        let bytes = path.as_bytes();
        let ends = bytes.iter().enumerate();
        let above = ends.filter_map(|(at, byte)| (*byte == b'/').then(|| bytes.get(..at))?);
        let whole = Some(bytes).filter(|bytes| !bytes.is_empty());
        let path_hash = |path: &[u8]| PathHash {
            signed: Version::Signed.hashes(path),
            unsigned: Version::Unsigned.hashes(path),
        };
        FilterQuery {
            // The longest path first: it is absent most often.
            path_hashes: whole.into_iter().chain(above).map(path_hash).collect(),
        }
    }

    /// Whether the filter may contain the path.
    pub(super) fn may_be_in(&self, filter: &Filter<'_>) -> bool {
        self.path_hashes.iter().all(|path_hash| {
            filter.has(match filter.settings.version {
                Version::Signed => path_hash.signed,
                Version::Unsigned => path_hash.unsigned,
            })
        })
    }
}

impl Settings {
    /// Size of the header before the filters, in bytes.
    pub(super) const BYTES: usize = 12;
    /// The settings that git writes as version 2.
    pub(super) const DEFAULT: Settings = Settings {
        version: Version::Unsigned,
        hashes: 7,
        bits_per_path: 10,
    };

    /// Parses the header before the filters. `None` for an unknown version.
    pub(super) fn parse(data: &[u8]) -> Option<Settings> {
        let number = |at| array(data, at).map(|bytes| u32::from_be_bytes(*bytes)).ok();
        let version = match number(0)? {
            1 => Version::Signed,
            2 => Version::Unsigned,
            _ => return None,
        };
        let hashes = number(4).filter(|hashes| (1..=MAX_HASHES).contains(hashes))?;
        Some(Settings {
            version,
            hashes,
            bits_per_path: number(8)?,
        })
    }

    pub(super) fn to_bytes(self) -> [u8; Settings::BYTES] {
        let version = match self.version {
            Version::Signed => 1_u32,
            Version::Unsigned => 2,
        };
        let mut bytes = [0; Settings::BYTES];
        let numbers = [version, self.hashes, self.bits_per_path];
        for (at, number) in bytes.chunks_exact_mut(4).zip(numbers) {
            at.copy_from_slice(&number.to_be_bytes());
        }
        bytes
    }

    /// Whether filters with these settings are as good as new ones, and can be reused.
    pub(super) fn match_default(self) -> bool {
        let version = Settings::DEFAULT.version;
        Settings { version, ..self } == Settings::DEFAULT
    }

    /// Appends the filter of these paths, which must include their folders. For `None`, too many
    /// paths, appends a filter that contains every path.
    pub(super) fn append(self, paths: Option<&HashSet<BString>>, to: &mut Vec<u8>) {
        let Some(paths) = paths else {
            to.push(u8::MAX);
            return;
        };
        let bits = paths.len() * self.bits_per_path as usize;
        let start = to.len();
        // At least one byte: an empty filter means "unknown".
        to.resize(start + bits.div_ceil(8).max(1), 0);
        let filter = to.get_mut(start..).unwrap_or_default();
        for path in paths {
            for bit in self.bits(self.version.hashes(path), filter.len()) {
                if let Some(byte) = filter.get_mut(bit / 8) {
                    *byte |= 1 << (bit % 8);
                }
            }
        }
    }

    /// The bits that a path's hashes select in a filter of so many bytes.
    fn bits(self, (first, step): (u32, u32), bytes: usize) -> impl Iterator<Item = usize> {
        let bits = bytes as u64 * 8;
        (0..self.hashes).map(move |times| {
            let hash = first.wrapping_add(times.wrapping_mul(step));
            usize::try_from(u64::from(hash) % bits.max(1)).unwrap_or(0)
        })
    }
}

impl Filter<'_> {
    fn has(&self, hashes: (u32, u32)) -> bool {
        let has = |bit: usize| {
            let byte = self.bits.get(bit / 8).copied();
            byte.is_some_and(|byte| byte & (1 << (bit % 8)) != 0)
        };
        self.settings.bits(hashes, self.bits.len()).all(has)
    }
}

impl Version {
    fn hashes(self, path: &[u8]) -> (u32, u32) {
        (self.murmur3(SEEDS.0, path), self.murmur3(SEEDS.1, path))
    }

    fn murmur3(self, seed: u32, bytes: &[u8]) -> u32 {
        const MIX: (u32, u32) = (0xcc9e_2d51, 0x1b87_3593);
        let widened = |bytes: &[u8], put: fn(u32, u32) -> u32| {
            let shifted = |(at, byte): (usize, &u8)| self.widen(*byte) << (8 * at);
            bytes.iter().enumerate().map(shifted).fold(0, put)
        };
        let scramble = |block: u32| {
            let block = block.wrapping_mul(MIX.0).rotate_left(15);
            block.wrapping_mul(MIX.1)
        };
        let (blocks, rest) = bytes.as_chunks::<4>();
        let mut hash = seed;
        for block in blocks {
            hash = (hash ^ scramble(widened(block, BitOr::bitor))).rotate_left(13);
            hash = hash.wrapping_mul(5).wrapping_add(0xe654_6b64);
        }
        if !rest.is_empty() {
            // XOR instead of OR matters only where bytes were taken for negative numbers.
            hash ^= scramble(widened(rest, BitXor::bitxor));
        }
        hash ^= u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
        hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
        hash ^ (hash >> 16)
    }

    fn widen(self, byte: u8) -> u32 {
        match self {
            Version::Signed => i32::from(byte.cast_signed()).cast_unsigned(),
            Version::Unsigned => u32::from(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_murmur3_with_signed_bytes_in_version_1() {
        // The vectors of git's own tests: t0095.
        for (text, hash) in [
            (&b""[..], 0),
            (b"Hello world!", 0x627b_0c2c),
            (b"The quick brown fox jumps over the lazy dog", 0x2e4f_f723),
        ] {
            assert_eq!(Version::Unsigned.murmur3(0, text), hash);
            assert_eq!(Version::Signed.murmur3(0, text), hash);
        }
        let high = b"\x99\xaa\xbb\xcc\xdd\xee\xff";
        assert_eq!(Version::Unsigned.murmur3(0, high), 0xa183_ccfd);
        assert_ne!(Version::Signed.murmur3(0, high), 0xa183_ccfd);
    }

    #[test]
    fn a_filter_contains_its_paths_and_few_others() {
        let paths: HashSet<BString> = ["a", "a/b", "a/b/c.rs"].map(BString::from).into();
        let mut bits = Vec::new();
        Settings::DEFAULT.append(Some(&paths), &mut bits);
        assert_eq!(bits.len(), 4, "ten bits per path");
        let settings = Settings::DEFAULT;
        let has = |bits: &[u8], path: &str| {
            FilterQuery::of(&RepoPath::parse(path).unwrap()).may_be_in(&Filter { bits, settings })
        };
        assert!(has(&bits, "a/b/c.rs") && has(&bits, "a/b") && has(&bits, "a"));
        let others = (0..1000).filter(|n| has(&bits, &format!("a/b/{n}.rs")));
        assert!(others.count() < 50);
        let (mut none, mut all) = (Vec::new(), Vec::new());
        settings.append(Some(&HashSet::new()), &mut none);
        settings.append(None, &mut all);
        assert!(!has(&none, "a") && has(&all, "a"));
    }
}
