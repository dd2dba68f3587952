//! Serializes rows as a commit-graph file, in the order of `git commit-graph write`.

use archway_repo::{Cancel, Stopped};

use super::build::{Row, Rows};
use super::chunks::{HEADER, ID, Name, ROW, SHA1, SIGNATURE, VERSION};
use super::parents::{FLAG, NO_PARENT};
use super::read::PIECE_BYTES;
use super::{MAX_BYTES, MAX_COMMITS};

/// A chunk with its name.
type Chunk = (Name, Vec<u8>);

/// Serializes the file. `None` if it would be too large.
///
/// # Errors
/// If time is up.
pub(super) fn file(rows: &Rows, cancel: &Cancel) -> Result<Option<Vec<u8>>, Stopped> {
    let chunks = Sorted::of(rows).map(|sorted| sorted.chunks(cancel));
    match chunks.transpose()?.flatten() {
        Some(chunks) => assemble(&chunks, cancel),
        None => Ok(None),
    }
}

/// Header, table, chunks and checksum.
fn assemble(chunks: &[Chunk], cancel: &Cancel) -> Result<Option<Vec<u8>>, Stopped> {
    let start = HEADER + (chunks.len() + 1) * ROW;
    let size = start + chunks.iter().map(|(_, chunk)| chunk.len()).sum::<usize>() + ID;
    let Some(count) = u8::try_from(chunks.len())
        .ok()
        .filter(|_| size as u64 <= MAX_BYTES)
    else {
        return Ok(None);
    };
    let mut file = Vec::with_capacity(size);
    file.extend_from_slice(SIGNATURE);
    file.extend([VERSION, SHA1, count, 0]);
    let mut offset = start as u64;
    for (name, chunk) in chunks {
        file.extend_from_slice(name);
        file.extend_from_slice(&offset.to_be_bytes());
        offset += chunk.len() as u64;
    }
    file.extend_from_slice(&[0; 4]);
    file.extend_from_slice(&offset.to_be_bytes());
    for (_, chunk) in chunks {
        file.extend_from_slice(chunk);
    }
    Ok(checksum(&file, cancel)?.map(|checksum| {
        file.extend_from_slice(&checksum);
        file
    }))
}

/// The SHA-1 of `bytes`. `None` if it looks like a collision attack on SHA-1, which does not happen
/// by chance.
pub(crate) fn checksum(bytes: &[u8], cancel: &Cancel) -> Result<Option<[u8; ID]>, Stopped> {
    let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
    for piece in bytes.chunks(PIECE_BYTES) {
        cancel.check()?;
        hasher.update(piece);
    }
    let checksum = hasher.try_finalize().ok();
    Ok(checksum.and_then(|checksum| checksum.as_bytes().first_chunk().copied()))
}

/// Whether the checksum at a file's end matches.
///
/// # Errors
/// If the call has to stop.
pub(crate) fn has_valid_checksum(file: &[u8], cancel: &Cancel) -> Result<bool, Stopped> {
    match file.split_last_chunk::<ID>() {
        Some((content, end)) => Ok(checksum(content, cancel)?.as_ref() == Some(end)),
        None => Ok(false),
    }
}

/// Rows sorted by id, as the file has them.
struct Sorted<'a> {
    all: &'a Rows,
    rows: Vec<&'a Row>,
    /// The position of each row, by its index in `all`.
    positions: Vec<u32>,
}

impl<'a> Sorted<'a> {
    fn of(all: &'a Rows) -> Option<Self> {
        let mut order: Vec<(usize, &Row)> = all.rows.iter().enumerate().collect();
        order.sort_unstable_by_key(|(_, row)| row.id);
        let mut positions = vec![0; order.len()];
        for (position, (index, _)) in (0..MAX_COMMITS).zip(&order) {
            *positions.get_mut(*index)? = position;
        }
        Some(Sorted {
            all,
            rows: order.into_iter().map(|(_, row)| row).collect(),
            positions,
        })
    }

    /// All chunks, in git's order.
    fn chunks(&self, cancel: &Cancel) -> Result<Option<Vec<Chunk>>, Stopped> {
        cancel.check()?;
        let (commits, edges) = self.commits();
        cancel.check()?;
        let (dates, large_dates) = self.dates();
        cancel.check()?;
        let Some((ends, filters)) = self.filters() else {
            return Ok(None);
        };
        cancel.check()?;
        let chunks = [
            (*b"OIDF", self.fanout()),
            (*b"OIDL", self.ids()),
            (*b"CDAT", commits),
            (*b"GDA2", dates),
            (*b"GDO2", large_dates),
            (*b"EDGE", edges),
            (*b"BIDX", ends),
            (*b"BDAT", filters),
        ];
        // GDO2 and EDGE are left out when empty.
        let mut chunks = Vec::from(chunks);
        chunks.retain(|(_, chunk)| !chunk.is_empty());
        Ok(Some(chunks))
    }

    fn fanout(&self) -> Vec<u8> {
        let mut counts = [0_u32; 256];
        for row in &self.rows {
            let first = row.id.as_bytes().first().copied().unwrap_or(0);
            if let Some(count) = counts.get_mut(usize::from(first)) {
                *count += 1;
            }
        }
        let sums = counts.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        });
        sums.flat_map(u32::to_be_bytes).collect()
    }

    fn ids(&self) -> Vec<u8> {
        let ids = self.rows.iter().flat_map(|row| row.id.as_bytes());
        ids.copied().collect()
    }

    /// Rows of commits, and the further parents of those that have more than two.
    fn commits(&self) -> (Vec<u8>, Vec<u8>) {
        let (mut lines, mut edges) = (Vec::new(), Vec::new());
        for row in &self.rows {
            let parents = row.parents.iter();
            let mut parents = parents.filter_map(|at| self.positions.get(*at as usize).copied());
            let first = parents.next().unwrap_or(NO_PARENT);
            let rest: Vec<u32> = parents.collect();
            let second_parent = match rest.as_slice() {
                [] => NO_PARENT,
                [second] => *second,
                many => FLAG | append_edges(&mut edges, many),
            };
            let ends = u64::from(row.level) << 34 | row.time;
            lines.extend_from_slice(row.tree.as_bytes());
            lines.extend(first.to_be_bytes());
            lines.extend(second_parent.to_be_bytes());
            lines.extend(ends.to_be_bytes());
        }
        (lines, edges)
    }

    /// Offsets of corrected dates from times, and the table of offsets that overflow.
    fn dates(&self) -> (Vec<u8>, Vec<u8>) {
        let (mut offsets, mut large) = (Vec::new(), Vec::new());
        for row in &self.rows {
            let later = row.date - row.time;
            let offset = match u32::try_from(later).ok().filter(|later| *later < FLAG) {
                Some(offset) => offset,
                None => {
                    let index = index_of(&large, 8);
                    large.extend(later.to_be_bytes());
                    FLAG | index
                }
            };
            offsets.extend(offset.to_be_bytes());
        }
        (offsets, large)
    }

    /// The ends of filters, and the filters.
    fn filters(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let (mut ends, mut data) = (Vec::new(), Vec::from(self.all.settings.to_bytes()));
        let before = data.len();
        for row in &self.rows {
            let (from, size) = row.filter;
            let filters = self.all.filters.get(from as usize..)?;
            data.extend_from_slice(filters.get(..size as usize)?);
            let end = u32::try_from(data.len() - before).ok()?;
            ends.extend(end.to_be_bytes());
        }
        Some((ends, data))
    }
}

/// Appends a list of parents. Returns its first index.
fn append_edges(edges: &mut Vec<u8>, parents: &[u32]) -> u32 {
    let index = index_of(edges, 4);
    let last = parents.len().saturating_sub(1);
    for (at, parent) in parents.iter().enumerate() {
        let flag = if at == last { FLAG } else { 0 };
        edges.extend((flag | parent).to_be_bytes());
    }
    index
}

/// The index of the next row of a table.
fn index_of(table: &[u8], line: usize) -> u32 {
    u32::try_from(table.len() / line).unwrap_or(0)
}
