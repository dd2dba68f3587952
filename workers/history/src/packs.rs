//! What is decoded of packs, kept for a moment: most objects are told as a difference from another,
//! and gix by itself would decode those anew for each.

use std::sync::Arc;

use gix::objs::Kind;
use gix::odb::pack::cache::DecodeEntry;

use super::recent::Recent;

/// What is kept for one call, in bytes.
const KEPT_BYTES: usize = 48 << 20;

/// Objects by pack and place, with their kind and how long they are in the pack.
struct Packs(Recent<(u32, u64), (Kind, usize)>);

/// Lets the repository keep what it decodes.
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
