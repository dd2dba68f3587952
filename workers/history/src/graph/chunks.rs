//! The container format of commit-graph files: the header and the table of chunks.

use std::ops::Range;

use super::GraphError;

/// The magic number of commit-graph files.
pub(super) const SIGNATURE: &[u8; 4] = b"CGPH";
/// The only version of the format.
pub(super) const VERSION: u8 = 1;
/// Ids are SHA-1.
pub(super) const SHA1: u8 = 1;
/// Bytes of an id.
pub(super) const ID: usize = 20;
/// Bytes before the table of chunks.
pub(super) const HEADER: usize = 8;
/// Bytes of a row of the table.
pub(super) const ROW: usize = 12;

/// A chunk's name.
pub(super) type Name = [u8; 4];

/// Ranges of chunks. All of them lie inside the file.
#[derive(Debug)]
pub(super) struct Chunks {
    /// The number of base files that this one depends on.
    pub(super) bases: usize,
    table: Vec<(Name, Range<usize>)>,
}

impl Chunks {
    /// Parses the header and the table.
    pub(super) fn parse(file: &[u8]) -> Result<Chunks, GraphError> {
        let [signature @ .., version, hash, chunks, bases] = *array::<HEADER>(file, 0)?;
        if signature != *SIGNATURE || version != VERSION || hash != SHA1 {
            return Err(GraphError::Malformed("not a commit-graph with SHA-1 ids"));
        }
        let rows = usize::from(chunks) + 1;
        let mut from = HEADER + rows * ROW;
        // The checksum comes last.
        let end = file.len().saturating_sub(ID);
        let mut table: Vec<(Name, Range<usize>)> = Vec::new();
        for row in 0..rows {
            let at = HEADER + row * ROW;
            let name = *array::<4>(file, at)?;
            let offset = u64::from_be_bytes(*array(file, at + 4)?);
            let offset = usize::try_from(offset).unwrap_or(usize::MAX);
            if offset < from || offset > end {
                return Err(GraphError::Malformed("invalid chunk offset"));
            }
            if let Some((_, before)) = table.last_mut() {
                before.end = offset;
            }
            from = offset;
            table.push((name, offset..offset));
        }
        // The last row only marks the end of the last chunk.
        table.pop();
        let bases = usize::from(bases);
        Ok(Chunks { bases, table })
    }

    /// The range of a chunk, if present.
    pub(super) fn find(&self, name: &Name) -> Option<Range<usize>> {
        let mut found = self.table.iter().filter(|(found, _)| found == name);
        found.next().map(|(_, range)| range.clone())
    }

    /// The range of a chunk that must have this size.
    pub(super) fn find_sized(&self, name: &Name, size: usize) -> Result<Range<usize>, GraphError> {
        self.find(name)
            .filter(|range| range.len() == size)
            .ok_or(GraphError::Malformed("invalid chunk size"))
    }
}

/// `N` bytes at an offset.
pub(super) fn array<const N: usize>(bytes: &[u8], at: usize) -> Result<&[u8; N], GraphError> {
    let rest = bytes.get(at..).and_then(<[u8]>::first_chunk);
    rest.ok_or(GraphError::Malformed("truncated"))
}

/// The big-endian `u32` at an index of a table; 0 out of bounds.
pub(crate) fn number(table: &[u8], index: usize) -> u32 {
    let bytes = index.checked_mul(4).and_then(|at| table.get(at..));
    bytes
        .and_then(<[u8]>::first_chunk)
        .map_or(0, |bytes| u32::from_be_bytes(*bytes))
}
