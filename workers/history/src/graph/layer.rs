//! One commit-graph file.
//!
//! Indexes count its own commits; positions also count those of the base files before it.

use std::ops::Range;

use gix::{ObjectId, oid};

use super::bloom::{Filter, Settings};
use super::chunks::{Chunks, ID, array, number};
use super::parents::{FLAG, NO_PARENT, Parents, edge};
use super::{GraphError, MAX_COMMITS};

/// Bytes of a commit's row: tree, two parents, level and time.
pub(super) const COMMIT_ROW: usize = ID + 16;

/// A parsed commit-graph file. Everything is validated except references into other files.
#[derive(Debug)]
pub(super) struct Layer {
    file: Vec<u8>,
    /// The number of commits in the base layers.
    base: u32,
    count: u32,
    fanout: Range<usize>,
    ids: Range<usize>,
    commits: Range<usize>,
    edges: Range<usize>,
    /// Offsets of corrected dates, and the table of offsets that overflow.
    dates: Option<(Range<usize>, Range<usize>)>,
    filters: Option<Filters>,
}

#[derive(Debug)]
struct Filters {
    /// Where each filter ends.
    ends: Range<usize>,
    data: Range<usize>,
    settings: Settings,
    /// Whether every commit has a filter.
    is_complete: bool,
}

impl Layer {
    /// Parses a file on top of the base layers `below`.
    pub(super) fn parse(file: Vec<u8>, below: &[Layer]) -> Result<Layer, GraphError> {
        let chunks = Chunks::parse(&file)?;
        check_base(&file, &chunks, below)?;
        let base = below.last().map_or(0, Layer::end);
        let fanout = chunks.find_sized(b"OIDF", 256 * 4)?;
        let table = file.get(fanout.clone()).unwrap_or_default();
        let count = number(table, 255);
        let rises = (1..256).all(|byte| number(table, byte - 1) <= number(table, byte));
        if !rises || base.checked_add(count).is_none_or(|end| end > MAX_COMMITS) {
            return Err(GraphError::Malformed("invalid fanout"));
        }
        let size = count as usize;
        let commits = chunks.find_sized(b"CDAT", size.saturating_mul(COMMIT_ROW))?;
        let dates = match chunks.find(b"GDA2") {
            Some(dates) if dates.len() == size.saturating_mul(4) => {
                Some((dates, chunks.find(b"GDO2").unwrap_or(0..0)))
            }
            _ => None,
        };
        let layer = Layer {
            base,
            count,
            fanout,
            ids: chunks.find_sized(b"OIDL", size.saturating_mul(ID))?,
            commits,
            edges: chunks.find(b"EDGE").unwrap_or(0..0),
            dates,
            filters: Filters::parse(&file, &chunks, size),
            file,
        };
        layer.check_edges()?;
        Ok(layer)
    }

    /// The position after its last commit.
    pub(super) fn end(&self) -> u32 {
        self.base + self.count
    }

    /// The index of a position.
    pub(super) fn index(&self, position: u32) -> u32 {
        position.saturating_sub(self.base)
    }

    pub(super) fn bytes(&self) -> usize {
        self.file.len()
    }

    pub(super) fn has_dates(&self) -> bool {
        self.dates.is_some()
    }

    pub(super) fn has_filters(&self) -> bool {
        self.filters.is_some()
    }

    /// Whether each of its commits has a filter.
    pub(super) fn has_all_filters(&self) -> bool {
        self.filters
            .as_ref()
            .is_some_and(|filters| filters.is_complete)
    }

    /// The settings of its filters.
    pub(super) fn settings(&self) -> Option<Settings> {
        self.filters.as_ref().map(|filters| filters.settings)
    }

    /// The position of a commit.
    pub(super) fn find(&self, id: &oid) -> Option<u32> {
        let first = usize::from(*id.as_bytes().first()?);
        let fanout = self.at(&self.fanout);
        let mut from = first.checked_sub(1).map_or(0, |byte| number(fanout, byte));
        let mut to = number(fanout, first);
        let ids = self.at(&self.ids);
        while from < to {
            let middle = from + (to - from) / 2;
            match row::<ID>(ids, middle).as_slice().cmp(id.as_bytes()) {
                std::cmp::Ordering::Less => from = middle + 1,
                std::cmp::Ordering::Greater => to = middle,
                std::cmp::Ordering::Equal => return Some(self.base + middle),
            }
        }
        None
    }

    pub(super) fn id(&self, index: u32) -> ObjectId {
        ObjectId::from(*row::<ID>(self.at(&self.ids), index))
    }

    pub(super) fn tree(&self, index: u32) -> ObjectId {
        let tree = self.commit(index).first_chunk::<ID>();
        tree.map_or(ObjectId::null(gix::hash::Kind::Sha1), |tree| {
            ObjectId::from(*tree)
        })
    }

    /// Seconds since 1970: the lower 34 bits at the row's end.
    pub(super) fn time(&self, index: u32) -> i64 {
        let high = number(self.row_end(index), 2) & 3;
        i64::from(high) << 32 | i64::from(number(self.row_end(index), 3))
    }

    /// One more than the highest level of its parents: the upper 30 bits at the row's end.
    pub(super) fn level(&self, index: u32) -> u32 {
        number(self.row_end(index), 2) >> 2
    }

    /// The corrected date: its own time, or a second after the latest date of its parents.
    pub(super) fn date(&self, index: u32) -> u64 {
        let time = self.time(index).unsigned_abs();
        let Some((offsets, large)) = &self.dates else {
            return time;
        };
        let offset = number(self.at(offsets), index as usize);
        let offset = if offset & FLAG == 0 {
            u64::from(offset)
        } else {
            let at = (offset & !FLAG) as usize * 8;
            array(self.at(large), at).map_or(0, |bytes| u64::from_be_bytes(*bytes))
        };
        time.saturating_add(offset)
    }

    pub(super) fn parents(&self, index: u32) -> Parents<'_> {
        let ends = self.row_end(index);
        Parents::new(self.at(&self.edges), number(ends, 0), number(ends, 1))
    }

    /// The paths that the commit changed. `None` if unknown.
    pub(super) fn filter(&self, index: u32) -> Option<Filter<'_>> {
        let filters = self.filters.as_ref()?;
        let ends = self.at(&filters.ends);
        let index = index as usize;
        let from = index
            .checked_sub(1)
            .map_or(0, |before| number(ends, before));
        let range = from as usize..number(ends, index) as usize;
        let bits = self.at(&filters.data).get(range)?;
        (!bits.is_empty()).then_some(Filter {
            bits,
            settings: filters.settings,
        })
    }

    /// The checksum, which names this layer in layers on top of it.
    fn checksum(&self) -> &[u8] {
        self.file.last_chunk::<ID>().map_or(&[], |id| id)
    }

    fn at(&self, range: &Range<usize>) -> &[u8] {
        self.file.get(range.clone()).unwrap_or_default()
    }

    fn commit(&self, index: u32) -> &[u8] {
        row::<COMMIT_ROW>(self.at(&self.commits), index)
    }

    /// A commit's row after the tree.
    fn row_end(&self, index: u32) -> &[u8] {
        self.commit(index).get(ID..).unwrap_or_default()
    }

    /// Checks that each list of further parents ends, and that no two commits share one. Otherwise
    /// a small file could describe an enormous graph.
    fn check_edges(&self) -> Result<(), GraphError> {
        let mut left = self.edges.len() / 4;
        let no_end = GraphError::Malformed("unterminated list of parents");
        for index in 0..self.count {
            let mut rest = number(self.row_end(index), 1);
            if rest < FLAG {
                continue;
            }
            while rest != NO_PARENT {
                left = match left.checked_sub(1) {
                    Some(left) => left,
                    None => return Err(no_end),
                };
                (_, rest) = edge(self.at(&self.edges), rest);
            }
        }
        Ok(())
    }
}

impl Filters {
    /// `None` if filters are missing or invalid: answers are the same without them.
    fn parse(file: &[u8], chunks: &Chunks, count: usize) -> Option<Filters> {
        let ends = chunks.find(b"BIDX")?;
        let data = chunks.find(b"BDAT")?;
        let settings = Settings::parse(file.get(data.clone())?)?;
        let data = data.start + Settings::BYTES..data.end;
        let table = file.get(ends.clone())?;
        let before = |at: usize| at.checked_sub(1).map_or(0, |before| number(table, before));
        let rises = (0..count).all(|at| before(at) <= number(table, at));
        let is_complete = (0..count).all(|at| before(at) < number(table, at));
        let last = count.checked_sub(1).map_or(0, |last| number(table, last));
        let fits = ends.len() == count * 4 && last as usize <= data.len();
        (rises && fits).then_some(Filters {
            ends,
            data,
            settings,
            is_complete,
        })
    }
}

/// Checks that the file names exactly these base layers.
fn check_base(file: &[u8], chunks: &Chunks, below: &[Layer]) -> Result<(), GraphError> {
    let named = chunks.find(b"BASE").unwrap_or(0..0);
    let named = file.get(named).unwrap_or_default().chunks(ID);
    let below = below.iter().map(Layer::checksum);
    if chunks.bases == below.len() && named.eq(below) {
        Ok(())
    } else {
        Err(GraphError::Malformed("unexpected base layers"))
    }
}

/// A row of a table; zeroes out of bounds.
fn row<const N: usize>(table: &[u8], index: u32) -> &[u8; N] {
    array(table, index as usize * N).unwrap_or(&[0; N])
}
