//! A bounded cache of byte strings that are likely to be read again soon.
//!
//! Two generations: hits move to the young one. When that reaches half of the bound it becomes the
//! old one, and the previous old one is dropped. Cheaper than an LRU order, and nearly as good.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// Byte strings by key.
#[derive(Debug)]
pub struct GenerationalCache<K, T> {
    young: HashMap<K, (T, Arc<[u8]>)>,
    old: HashMap<K, (T, Arc<[u8]>)>,
    /// Size of the young generation.
    bytes: usize,
    bound: usize,
}

/// Cost of an entry beyond its bytes.
const OVERHEAD: usize = 96;

impl<K: Eq + Hash + Copy, T: Copy> GenerationalCache<K, T> {
    /// A cache of about `bound` bytes at most.
    pub fn new(bound: usize) -> Self {
        GenerationalCache {
            young: HashMap::new(),
            old: HashMap::new(),
            bytes: 0,
            bound,
        }
    }

    /// The bytes of a key, which become young.
    pub fn get(&mut self, key: K) -> Option<(T, Arc<[u8]>)> {
        if let Some(found) = self.young.get(&key) {
            return Some(found.clone());
        }
        let (metadata, bytes) = self.old.remove(&key)?;
        self.put(key, metadata, Arc::clone(&bytes));
        Some((metadata, bytes))
    }

    /// Adds the bytes of a key, unless they are more than an eighth of the bound.
    pub fn put(&mut self, key: K, metadata: T, bytes: Arc<[u8]>) {
        let cost = bytes.len() + OVERHEAD;
        if cost > self.bound / 8 {
            return;
        }
        self.bytes += cost;
        if self.bytes > self.bound / 2 {
            self.old = std::mem::take(&mut self.young);
            self.bytes = cost;
        }
        self.young.insert(key, (metadata, bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn used_entries_stay_and_others_are_evicted() {
        let mut cache = GenerationalCache::new(16 << 10);
        for number in 0..1000_u32 {
            cache.put(number, (), Arc::from([0; 100]));
            assert!(cache.get(0).is_some(), "at {number}");
            let entries = cache.young.len() + cache.old.len();
            assert!(entries * (100 + OVERHEAD) <= 16 << 10, "at {number}");
        }
        assert!(cache.get(1).is_none() && cache.get(999).is_some());
    }
}
