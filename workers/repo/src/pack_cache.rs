//! A cache of decoded pack entries. Most objects are deltas of another, and gix alone would decode
//! that base again for each of them.

use std::sync::Arc;

use gix::objs::Kind;
use gix::odb::pack::cache::DecodeEntry;

use super::generational_cache::GenerationalCache;

/// Size of the cache per call, in bytes.
const CACHE_BYTES: usize = 48 << 20;

/// Objects by pack and offset, with their kind and their compressed size.
struct PackCache(GenerationalCache<(u32, u64), (Kind, usize)>);

/// Enables the cache for a repository handle: at most 48 MiB.
pub fn enable(git: &mut gix::Repository) {
    git.objects
        .set_pack_cache(|| Box::new(PackCache(GenerationalCache::new(CACHE_BYTES))));
}

impl DecodeEntry for PackCache {
    fn put(&mut self, pack: u32, offset: u64, data: &[u8], kind: Kind, packed: usize) {
        self.0.put((pack, offset), (kind, packed), Arc::from(data));
    }

    fn get(&mut self, pack: u32, offset: u64, out: &mut Vec<u8>) -> Option<(Kind, usize)> {
        let (what, data) = self.0.get((pack, offset))?;
        out.clear();
        out.extend_from_slice(&data);
        Some(what)
    }
}
