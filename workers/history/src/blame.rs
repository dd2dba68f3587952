//! Finds the commit of each line of a file, like `git blame`.
//!
//! Lines pass from a commit to its parents as long as a parent has them, and stay where no parent
//! does. A parent with the identical file takes all lines. Otherwise a rename source is searched;
//! then each parent, in order, takes the lines that it shares. Commits are processed youngest
//! first, so that lines that reach one commit by several paths are compared once.
//!
//! Differences from `git blame --porcelain` with its default options:
//! - A path that the project's rules block does not exist: the commit that renamed a file from it
//!   has all its lines.
//! - A version of more than 64 MiB gets no lines.
//! - Where versions differ in more than 20,000 lines on both sides, [`cuts`](super::cuts) compares
//!   pieces: a line may then stay with a younger commit that also has it.
//! - Rename detection has the limits of [`renames`](super::renames), on count and time; git's is on
//!   count alone.

mod search;
mod file_version;
mod version_cache;
mod lines;
mod spans;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use archway_repo::{Cancel, Kind, Repo, RepoPath};
use gix::ObjectId;

use self::file_version::{FileVersion, Name, PathLookup};
use self::search::{BlameResult, BlameSearch};
use self::spans::Span;
use super::error::git;
use super::{AnswerKey, Cacheable, CommitInfo, History, HistoryError};

/// The largest file that is blamed, in bytes.
const MAX_SIZE: u64 = 16 << 20;
/// A NUL in the first bytes makes a file binary.
const PROBE: usize = 8 << 10;

/// A file of a commit, to be blamed.
#[derive(Debug)]
pub struct BlamedFile {
    commit: ObjectId,
    /// As the tree spells it.
    path: RepoPath,
    version: FileVersion,
    bytes: Vec<u8>,
}

/// The commits of a file's lines.
#[derive(Debug)]
pub struct Blame {
    /// The first line of the range, from 0, and the one after the last.
    first: u32,
    end: u32,
    /// In line order, without gaps.
    runs: Vec<Run>,
    commits: Vec<CommitInfo>,
}

/// Consecutive lines of one commit.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// The line after the last, from 0.
    end: u32,
    /// Index of the commit in `Blame::commits`.
    commit: usize,
}

impl BlamedFile {
    /// The path, as the commit spells it.
    pub fn path(&self) -> &RepoPath {
        &self.path
    }

    /// The file's lines, with their line ends.
    pub fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.split_inclusive(|&byte| byte == b'\n')
    }
}

impl Blame {
    /// The commit of a line. `None` for a line outside the requested range.
    pub fn of(&self, line: u32) -> Option<&CommitInfo> {
        let at = self.runs.partition_point(|run| run.end <= line);
        let run = self.runs.get(at).filter(|_| line >= self.first)?;
        self.commits.get(run.commit)
    }
}

impl Blame {
    fn add(&mut self, run: Run) {
        match self.runs.last_mut() {
            Some(last) if last.commit == run.commit => last.end = run.end,
            _ => self.runs.push(run),
        }
    }
}

impl Cacheable for Blame {
    const NAME: &'static str = "blame";

    fn bytes(&self) -> usize {
        let text = |commit_info: &CommitInfo| {
            commit_info.author.name.len()
                + commit_info.author.email.len()
                + commit_info.message.len()
        };
        self.runs.len() * size_of::<Run>()
            + self.commits.len() * size_of::<CommitInfo>()
            + self.commits.iter().map(text).sum::<usize>()
    }
}

impl History {
    /// Reads the file `path` of a commit.
    ///
    /// # Errors
    /// [`HistoryError::NotTracked`] if there is no file or link, [`HistoryError::TooLarge`],
    /// [`HistoryError::Binary`].
    pub fn blamed_file(
        &self,
        commit: ObjectId,
        path: &RepoPath,
    ) -> Result<BlamedFile, HistoryError> {
        let (path, version) = self.find(commit, path)?;
        let id = version.entry.id;
        let header = self.git.find_header(id).map_err(git("reading a file"))?;
        if header.size() > MAX_SIZE {
            let size = header.size();
            return Err(HistoryError::TooLarge { path, size });
        }
        let blob = self.git.find_blob(id).map_err(git("reading a file"))?;
        let bytes = blob.detach().data;
        if bytes.iter().take(PROBE).any(|&byte| byte == 0) {
            return Err(HistoryError::Binary { path });
        }
        Ok(BlamedFile {
            commit,
            path,
            version,
            bytes,
        })
    }

    /// Blames the lines from `first` up to `end`, counted from 0.
    ///
    /// # Errors
    /// If a commit or a file can't be read, or the call has to stop.
    pub fn blame(
        &self,
        file: &BlamedFile,
        (first, end): (u32, u32),
        cancel: &Cancel,
    ) -> Result<Arc<Blame>, HistoryError> {
        let key = AnswerKey {
            commit: file.commit,
            path: file.path.clone(),
            detail: String::new(),
        };
        let cached = self.cache().get::<Blame>(&key);
        if let Some(cached) = cached.filter(|cached| cached.first <= first && end <= cached.end) {
            return Ok(cached);
        }
        let span = Span {
            line: first,
            blamed: first,
            count: end.saturating_sub(first),
        };
        let (name, version) = (Name::new(file.path.clone()), file.version.clone());
        let result = BlameSearch::new(self, cancel).search(file.commit, name, version, span)?;
        let BlameResult { spans, renames_cut } = result;
        let blame = Arc::new(self.collect(spans, first, cancel)?);
        // With more time, more renames may be found.
        if !renames_cut {
            self.cache().insert(&key, Arc::clone(&blame));
        }
        Ok(blame)
    }

    /// Whether index or work tree differ from HEAD, of which `file` is one. Always false without a
    /// work tree.
    ///
    /// # Errors
    /// If index or work tree can't be read, or the call has to stop.
    pub fn is_modified(
        &self,
        repo: &Repo,
        file: &BlamedFile,
        cancel: &Cancel,
    ) -> Result<bool, HistoryError> {
        self.differs_from(repo, &file.path, file.version.entry, cancel)
    }

    /// Merges spans in line order, and reads their commits.
    fn collect(
        &self,
        mut found: Vec<(Span, ObjectId)>,
        first: u32,
        cancel: &Cancel,
    ) -> Result<Blame, HistoryError> {
        found.sort_unstable_by_key(|(span, _)| span.blamed);
        let mut blame = Blame {
            first,
            end: first,
            runs: Vec::new(),
            commits: Vec::new(),
        };
        let mut numbers = HashMap::new();
        for (span, id) in found {
            let next = numbers.len();
            let commit = *numbers.entry(id).or_insert(next);
            if commit == next {
                cancel.check()?;
                blame.commits.push(self.commit_info(id)?);
            }
            blame.end += span.count;
            blame.add(Run {
                end: blame.end,
                commit,
            });
        }
        Ok(blame)
    }

    /// Finds the file `path`, verbatim or with its escapes decoded.
    fn find(
        &self,
        commit: ObjectId,
        path: &RepoPath,
    ) -> Result<(RepoPath, FileVersion), HistoryError> {
        let tree = self.node(commit)?.tree;
        for path in [Some(path.clone()), path.unescaped()].into_iter().flatten() {
            if self.rules.check(&path, Kind::File).is_err() {
                continue;
            }
            if let PathLookup::File(version) = self.file_version(tree, &path, None)? {
                return Ok((path, version));
            }
        }
        let path = path.clone();
        Err(HistoryError::NotTracked {
            is_folder: self.is_folder(commit, &path)?,
            path,
            revision: None,
        })
    }
}
