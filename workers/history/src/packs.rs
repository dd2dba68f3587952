//! A cache of decoded pack entries. Most objects are deltas of another, and gix alone would decode
//! that base again for each of them.

use std::sync::Arc;

use gix::objs::Kind;
use gix::odb::pack::cache::DecodeEntry;

use super::recent::Recent;

/// Size of the cache per call, in bytes.
const KEPT_BYTES: usize = 48 << 20;

/// Objects by pack and offset, with their kind and their compressed size.
struct Packs(Recent<(u32, u64), (Kind, usize)>);

/// Enables the cache for a repository handle.
pub(super) fn keep(git: &mut gix::Repository) {
    git.objects
        .set_pack_cache(|| Box::new(Packs(Recent::new(KEPT_BYTES))));
}

impl DecodeEntry for Packs {
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
