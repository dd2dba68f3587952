//! A project's files as an index folder has them: read once by a worker that starts again.
//!
//! The files of a bare repository are those of a tree under some path rules, which its basis names. Those of a
//! work tree have the states that prove their blobs. A file that has another basis is ignored.

use archway_trigrams::BlobId;

use crate::listing::{Entry, EntryKind};
use crate::path::RepoPath;
use crate::stamp::Stamp;

/// The format and its version.
const MAGIC: &[u8] = b"ARCHFIL1";
/// Flags of a file, above the two bits of its kind.
const HAS_BLOB: u8 = 4;
const HAS_STAMP: u8 = 8;

/// A file, as it was listed and read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SavedFile {
    pub(crate) entry: Entry,
    pub(crate) blob: Option<BlobId>,
    pub(crate) stamp: Option<Stamp>,
}

/// Encodes a file's entry, blob and stamp. `None` if a path is too long.
pub(crate) fn encode<'a>(
    basis: &str,
    files: impl Iterator<Item = (&'a Entry, Option<BlobId>, Option<Stamp>)>,
) -> Option<Vec<u8>> {
    let mut out = MAGIC.to_vec();
    let mut put = |bytes: &[u8]| {
        out.extend_from_slice(&u16::try_from(bytes.len()).ok()?.to_le_bytes());
        out.extend_from_slice(bytes);
        Some(())
    };
    put(basis.as_bytes())?;
    for (entry, blob, stamp) in files {
        let kind = match entry.kind {
            EntryKind::File => 0,
            EntryKind::LinkToFile => 1,
            EntryKind::LinkToDirectory => 2,
        };
        let has = |is: bool, flag: u8| if is { flag } else { 0 };
        let flags = kind | has(blob.is_some(), HAS_BLOB) | has(stamp.is_some(), HAS_STAMP);
        let stamp = stamp.map(Stamp::to_bytes);
        put(&[
            &[flags][..],
            blob.as_ref().map_or(&[][..], |blob| &blob[..]),
            stamp.as_ref().map_or(&[][..], |stamp| &stamp[..]),
            entry.path.as_bytes(),
        ]
        .concat())?;
    }
    let sum = crc32fast::hash(&out);
    out.extend_from_slice(&sum.to_le_bytes());
    Some(out)
}

/// What was saved is damaged, or of another version.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Damaged;

/// The files, in the order in which they were encoded. `None` if they have another basis.
pub(super) fn decode(bytes: &[u8], basis: &str) -> Result<Option<Vec<SavedFile>>, Damaged> {
    let (saved, mut rest) = content(bytes).ok_or(Damaged)?;
    if saved != basis.as_bytes() {
        return Ok(None);
    }
    let mut files = Vec::new();
    while !rest.is_empty() {
        let saved = next(&mut rest).and_then(file);
        files.push(saved.ok_or(Damaged)?);
    }
    Ok(Some(files))
}

/// The basis and the encoded files.
fn content(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (content, sum) = bytes.split_last_chunk::<4>()?;
    if crc32fast::hash(content) != u32::from_le_bytes(*sum) {
        return None;
    }
    let mut rest = content.strip_prefix(MAGIC)?;
    let basis = next(&mut rest)?;
    Some((basis, rest))
}

/// Takes the bytes whose length comes first.
fn next<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk::<2>()?;
    let (bytes, after) = after.split_at_checked(u16::from_le_bytes(*length).into())?;
    *rest = after;
    Some(bytes)
}

fn file(bytes: &[u8]) -> Option<SavedFile> {
    let (flags, mut rest) = bytes.split_first()?;
    let kind = match flags & 3 {
        0 => EntryKind::File,
        1 => EntryKind::LinkToFile,
        2 => EntryKind::LinkToDirectory,
        _ => return None,
    };
    let mut blob = None;
    if flags & HAS_BLOB != 0 {
        let (id, after) = rest.split_first_chunk()?;
        (blob, rest) = (Some(*id), after);
    }
    let mut stamp = None;
    if flags & HAS_STAMP != 0 {
        let (found, after) = rest.split_first_chunk()?;
        (stamp, rest) = (Some(Stamp::from_bytes(found)?), after);
    }
    let path = RepoPath::trusted(rest);
    Some(SavedFile {
        entry: Entry { path, kind },
        blob,
        stamp,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> Vec<SavedFile> {
        let stamp = Stamp::of(&rustix::fs::stat("/").unwrap());
        let file = |path: &str, kind, blob, stamp| SavedFile {
            entry: Entry {
                path: RepoPath::parse(path).unwrap(),
                kind,
            },
            blob,
            stamp,
        };
        vec![
            file("a", EntryKind::File, Some([7; 20]), Some(stamp)),
            file("b/c d", EntryKind::File, None, Some(stamp)),
            file("link", EntryKind::LinkToFile, None, None),
            file("ünï", EntryKind::LinkToDirectory, Some([9; 20]), None),
        ]
    }

    fn encoded() -> Vec<u8> {
        let files = files();
        let files = files.iter().map(|it| (&it.entry, it.blob, it.stamp));
        encode("tree rules", files).unwrap()
    }

    #[test]
    fn files_come_back_for_their_basis_alone() {
        assert_eq!(decode(&encoded(), "tree rules"), Ok(Some(files())));
        assert_eq!(decode(&encoded(), "tree other"), Ok(None));
    }

    #[test]
    fn every_damage_is_found() {
        let good = encoded();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            assert_eq!(decode(&bad, "tree rules"), Err(Damaged), "{at}");
            let cut = good.get(..at).unwrap();
            assert_eq!(decode(cut, "tree rules"), Err(Damaged), "{at}");
        }
    }
}
