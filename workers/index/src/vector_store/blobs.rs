//! Which blobs may match, in the shorter of two ways to say it.

use std::collections::HashSet;
use std::sync::Arc;

use archway_store::Blob;

/// Blobs that one request to the store names, at most; each has 45 bytes there.
pub(super) const BLOBS_PER_REQUEST: usize = 8192;

/// Which blobs may match.
#[derive(Clone, Debug)]
pub enum AllowedBlobs {
    /// Only these.
    Only(Arc<HashSet<Blob>>),
    /// All others.
    Except(Arc<HashSet<Blob>>),
}

impl AllowedBlobs {
    /// Of all blobs, those `allowed`; one that is in both sets is allowed. `None` if all are.
    pub fn of(allowed: HashSet<Blob>, mut refused: HashSet<Blob>) -> Option<AllowedBlobs> {
        refused.retain(|blob| !allowed.contains(blob));
        if refused.is_empty() {
            return None;
        }
        let is_short = refused.len() <= BLOBS_PER_REQUEST && refused.len() < allowed.len();
        Some(match is_short {
            true => AllowedBlobs::Except(Arc::new(refused)),
            false => AllowedBlobs::Only(Arc::new(allowed)),
        })
    }

    /// Whether a blob may match.
    pub fn allows(&self, blob: &Blob) -> bool {
        match self {
            AllowedBlobs::Only(only) => only.contains(blob),
            AllowedBlobs::Except(refused) => !refused.contains(blob),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blobs(numbers: std::ops::Range<u8>) -> HashSet<Blob> {
        numbers.map(|number| [number; 20]).collect()
    }

    #[test]
    fn a_filter_names_the_fewer_blobs_and_allows_what_it_should() {
        let cases = [(0..90, 80..100, "Except"), (0..20, 10..100, "Only")];
        for (allowed, refused, expected) in cases {
            let filter = AllowedBlobs::of(blobs(allowed.clone()), blobs(refused)).unwrap();
            assert!(format!("{filter:?}").starts_with(expected));
            for number in 0..100 {
                assert_eq!(filter.allows(&[number; 20]), allowed.contains(&number));
            }
        }
        assert!(AllowedBlobs::of(blobs(0..9), blobs(3..5)).is_none());
    }
}
