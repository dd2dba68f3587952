//! Concepts, and hash maps and sets of them.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use archway_index::terms::Term;

/// The hash of a stem or of a product's main name.
pub(in crate::alignment) type Concept = Term;

/// A map by concept. Concepts are hashes already, so the hasher only spreads them.
pub(in crate::alignment) type ByConcept<V> = HashMap<Concept, V, BuildHasherDefault<ConceptHasher>>;
pub(in crate::alignment) type Concepts = HashSet<Concept, BuildHasherDefault<ConceptHasher>>;

/// Spreads a concept over 64 bits. Texts are bounded in size, which bounds the cost of collisions.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::alignment) struct ConceptHasher(u64);

impl Hasher for ConceptHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes
            .iter()
            .for_each(|byte| self.write_u32(u32::from(*byte)));
    }

    fn write_u32(&mut self, value: u32) {
        // The fraction of the golden ratio, as in multiplicative hashing.
        self.0 = (self.0 ^ u64::from(value)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
