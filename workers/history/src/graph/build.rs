//! Builds a graph of everything that a repository's branches and tags reach, extending the previous
//! one.
//!
//! Commits of the previous graph are copied. Others are read and compared with their first parent
//! for their filters, youngest first. That is most of the work, minutes in a large repository, so
//! it runs on a background thread. Commits without a filter when time is up get one from a later
//! build.

use archway_repo::{Cancel, RepoError};
use gix::ObjectId;
use gix::hashtable::HashMap;
use gix::objs::{CommitRefIter, Find as _, Kind};
use tokio::time::{Duration, Instant};

use super::super::commit_head::committed_at;
use super::super::error::{HistoryError, git};
use super::super::{revision, tips};
use super::bloom::Settings;
use super::changed_paths::TreeReader;
use super::{CHECK_INTERVAL, Graph, MAX_BYTES, Position, write};

const READING: &str = "reading a commit";
/// The latest time that the format holds, in seconds since 1970: 34 bits.
const MAX_TIME: u64 = (1 << 34) - 1;
/// The highest level that the format holds.
const MAX_LEVEL: u32 = (1 << 30) - 1;
/// Time reserved for writing the result.
pub(super) const WRITE_TIME: Duration = Duration::from_secs(30);
/// Number of commits that fit into the largest graph, with small filters.
const MAX_COMMITS: usize = (MAX_BYTES / 128) as usize;

/// A commit of the graph that is being built.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) id: ObjectId,
    pub(super) tree: ObjectId,
    /// Indexes of rows.
    pub(super) parents: Vec<u32>,
    /// Seconds since 1970, clamped to the format's range.
    pub(super) time: u64,
    /// One more than the highest level of its parents.
    pub(super) level: u32,
    /// The corrected date: its time, or a second after the latest date of its parents.
    pub(super) date: u64,
    /// Offset and length of its filter.
    pub(super) filter: (u32, u32),
    /// Its position in the previous graph.
    previous: Option<Position>,
}

/// The content of a graph file.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) rows: Vec<Row>,
    pub(super) settings: Settings,
    /// All filters, in the order in which they were computed.
    pub(super) filters: Vec<u8>,
}

/// Builds a graph file of all commits that HEAD, branches, remote branches and tags reach, with
/// filters. Returns it with the number of commits that `before` lacked. `None` if there are no
/// commits, or too many.
///
/// # Errors
/// If an object can't be read, or time is up.
pub(crate) fn build(
    git: &gix::Repository,
    before: &Graph,
    cancel: &Cancel,
) -> Result<Option<(Vec<u8>, usize)>, HistoryError> {
    let mut commits = CommitCollector::new(git, before);
    for tip in tips(git, cancel)? {
        commits.row_index(tip);
    }
    commits.fill_rows(cancel)?;
    if commits.rows.is_empty() || commits.rows.len() > MAX_COMMITS {
        return Ok(None);
    }
    let reused = before
        .settings()
        .filter(|settings| settings.match_default());
    let mut rows = Rows {
        rows: commits.rows,
        settings: reused.unwrap_or(Settings::DEFAULT),
        filters: Vec::new(),
    };
    let order = rows.set_levels(cancel)?;
    let new = rows
        .rows
        .iter()
        .filter(|row| row.previous.is_none())
        .count();
    rows.set_filters(&order, git, reused.map(|_| before), cancel)?;
    Ok(write::file(&rows, cancel)?.map(|file| (file, new)))
}

/// The commits at which histories begin.
fn tips(git: &gix::Repository, cancel: &Cancel) -> Result<Vec<ObjectId>, HistoryError> {
    let (named, _) = tips::read_targets(git, cancel)?;
    let mut tips = Vec::new();
    for id in named
        .into_iter()
        .chain(archway_repo::head(git).ok().flatten())
    {
        match revision::peel(git, id, cancel) {
            Err(stopped @ HistoryError::Repo(RepoError::Stopped(_))) => return Err(stopped),
            // A reference to a missing object adds no commits.
            peeled => tips.extend(peeled.ok().flatten()),
        }
    }
    Ok(tips)
}

/// Commits found so far.
struct CommitCollector<'a> {
    git: &'a gix::Repository,
    before: &'a Graph,
    rows: Vec<Row>,
    by_id: HashMap<ObjectId, u32>,
    buffer: Vec<u8>,
}

impl<'a> CommitCollector<'a> {
    fn new(git: &'a gix::Repository, before: &'a Graph) -> Self {
        CommitCollector {
            git,
            before,
            rows: Vec::new(),
            by_id: HashMap::default(),
            buffer: Vec::new(),
        }
    }

    /// The index of a commit's row. A new row still has to be filled.
    fn row_index(&mut self, id: ObjectId) -> u32 {
        let next = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        let index = *self.by_id.entry(id).or_insert(next);
        if index == next {
            self.rows.push(Row {
                id,
                tree: ObjectId::null(gix::hash::Kind::Sha1),
                parents: Vec::new(),
                time: 0,
                level: 0,
                date: 0,
                filter: (0, 0),
                previous: self.before.find(&id),
            });
        }
        index
    }

    /// Fills all rows, and adds those of their ancestors.
    fn fill_rows(&mut self, cancel: &Cancel) -> Result<(), HistoryError> {
        let mut next = 0;
        while let Some(row) = self.rows.get(next) {
            if next % 64 == 0 {
                cancel.check()?;
            }
            let (tree, time, parents) = match row.previous {
                Some(position) => self.copy(position),
                None => self.read(row.id)?,
            };
            let parents = parents.into_iter().map(|id| self.row_index(id)).collect();
            if self.rows.len() > MAX_COMMITS {
                break;
            }
            if let Some(row) = self.rows.get_mut(next) {
                (row.tree, row.time, row.parents) = (tree, time, parents);
            }
            next += 1;
        }
        Ok(())
    }

    fn copy(&self, position: Position) -> (ObjectId, u64, Vec<ObjectId>) {
        let parents = self.before.parents(position);
        let parents = parents.map(|parent| self.before.id(parent)).collect();
        let time = self.before.time(position).unsigned_abs();
        (self.before.tree(position), time, parents)
    }

    fn read(&mut self, id: ObjectId) -> Result<(ObjectId, u64, Vec<ObjectId>), HistoryError> {
        let found = self.git.objects.try_find(&id, &mut self.buffer);
        let found = found.map_err(git(READING))?;
        let commit = found.filter(|object| object.kind == Kind::Commit);
        let commit = commit.ok_or_else(|| git(READING)("the commit is missing"))?;
        let mut tokens = CommitRefIter::from_bytes(commit.data, gix::hash::Kind::Sha1);
        let tree = tokens.tree_id().map_err(git(READING))?;
        let time = u64::try_from(committed_at(commit.data)).unwrap_or(0);
        Ok((tree, time.min(MAX_TIME), tokens.parent_ids().collect()))
    }
}

impl Rows {
    fn row(&self, index: u32) -> Option<&Row> {
        self.rows.get(index as usize)
    }

    /// Sets each row's level and date. Returns the rows in an order in which parents come first.
    ///
    /// # Errors
    /// If a commit descends from itself, or time is up.
    fn set_levels(&mut self, cancel: &Cancel) -> Result<Vec<u32>, HistoryError> {
        let mut order = Vec::with_capacity(self.rows.len());
        for start in (0..).take(self.rows.len()) {
            // Each row with the number of its parents that are done.
            let mut stack = vec![(start, 0)];
            while let Some((index, done)) = stack.pop() {
                let Some(row) = self.row(index).filter(|row| row.level == 0) else {
                    continue;
                };
                if let Some(parent) = row.parents.get(done) {
                    stack.extend([(index, done + 1), (*parent, 0)]);
                    // gix does not verify objects against their ids: a forged commit can be its own
                    // parent.
                    if stack.len() > self.rows.len() {
                        return Err(git(READING)("the commit descends from itself"));
                    }
                } else {
                    if order.len().is_multiple_of(CHECK_INTERVAL as usize) {
                        cancel.check()?;
                    }
                    self.set_level(index);
                    order.push(index);
                }
            }
        }
        Ok(order)
    }

    /// Sets the level and date of a row whose parents have theirs.
    fn set_level(&mut self, index: u32) {
        let Some(row) = self.row(index) else { return };
        let parents = || row.parents.iter().filter_map(|parent| self.row(*parent));
        let level = parents().map(|parent| parent.level).max().unwrap_or(0);
        let date = parents().map(|parent| parent.date + 1).max().unwrap_or(0);
        let date = date.max(row.time);
        if let Some(row) = self.rows.get_mut(index as usize) {
            (row.level, row.date) = ((level + 1).min(MAX_LEVEL), date);
        }
    }

    /// Computes the filters, or copies those of `before`. Rows that come after the time limit get
    /// none.
    fn set_filters(
        &mut self,
        order: &[u32],
        git: &gix::Repository,
        before: Option<&Graph>,
        cancel: &Cancel,
    ) -> Result<(), HistoryError> {
        let mut trees = TreeReader::new(git);
        let last = cancel.deadline.checked_sub(WRITE_TIME);
        let last = last.unwrap_or(cancel.deadline);
        for index in order.iter().rev() {
            cancel.check()?;
            let Some(row) = self.row(*index) else {
                continue;
            };
            let previous = before.zip(row.previous);
            let previous = previous.and_then(|(before, position)| before.filter_bits(position));
            let from = self.filters.len();
            if let Some(bits) = previous {
                self.filters.extend_from_slice(bits);
            } else if Instant::now() < last {
                let parent = row.parents.first().and_then(|parent| self.row(*parent));
                let old = parent.map(|parent| parent.tree);
                let paths = trees.changed_paths(old, row.tree, cancel)?;
                self.settings.append(paths.as_ref(), &mut self.filters);
            }
            let number = |size| u32::try_from(size).unwrap_or(u32::MAX);
            let filter = (number(from), number(self.filters.len() - from));
            if let Some(row) = self.rows.get_mut(*index as usize) {
                row.filter = filter;
            }
        }
        Ok(())
    }
}
