//! The blame search: passes lines from each commit to its parents until no parent has them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};
use std::rc::Rc;

use archway_repo::Cancel;
use gix::ObjectId;

use super::file_version::{FileVersion, Name, PathLookup};
use super::spans::{Span, divide, sort_and_join};
use super::version_cache::VersionCache;
use crate::{History, HistoryError, Position};

/// One search.
pub(super) struct BlameSearch<'a> {
    history: &'a History,
    cancel: &'a Cancel,
    versions: VersionCache,
    /// Commits to process; every suspect commit is queued once.
    queue: BinaryHeap<QueueEntry>,
    suspects: HashMap<ObjectId, Suspects>,
    order: u64,
    result: BlameResult,
}

/// The result of a search.
#[derive(Default)]
pub(super) struct BlameResult {
    /// Lines with their commits, in no order.
    pub(super) spans: Vec<(Span, ObjectId)>,
    /// Rename detection was cut short.
    pub(super) renames_cut: bool,
}

/// A commit in processing order: the youngest first, and within one second the one that was queued
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct QueueEntry {
    time: i64,
    order: Reverse<u64>,
    id: ObjectId,
}

/// The suspect files of a commit: one or, after merges of renamed files, several.
struct Suspects {
    commit: Rc<Commit>,
    files: Vec<Suspect>,
}

/// A file of a commit, and the lines that may come from it.
#[derive(Clone)]
struct Suspect {
    name: Rc<Name>,
    file: FileVersion,
    spans: Vec<Span>,
}

/// The part of a commit that the search needs.
struct Commit {
    id: ObjectId,
    tree: ObjectId,
    parents: Vec<ObjectId>,
    time: i64,
    /// Its graph position, if the graph has it.
    position: Option<Position>,
}

/// A parent's version of a file.
struct Origin {
    parent: Rc<Commit>,
    name: Rc<Name>,
    file: FileVersion,
}

impl<'a> BlameSearch<'a> {
    pub(super) fn new(history: &'a History, cancel: &'a Cancel) -> BlameSearch<'a> {
        BlameSearch {
            history,
            cancel,
            versions: VersionCache::default(),
            queue: BinaryHeap::new(),
            suspects: HashMap::new(),
            order: 0,
            result: BlameResult::default(),
        }
    }

    /// Finds the commits of the lines of `span`.
    pub(super) fn search(
        mut self,
        commit: ObjectId,
        name: Rc<Name>,
        file: FileVersion,
        span: Span,
    ) -> Result<BlameResult, HistoryError> {
        if span.count == 0 {
            return Ok(self.result);
        }
        let commit = self.commit(commit)?;
        let spans = vec![span];
        self.enqueue(&commit, Suspect { name, file, spans });
        while let Some(entry) = self.queue.pop() {
            let Some(Suspects { commit, files }) = self.suspects.remove(&entry.id) else {
                continue;
            };
            for suspect in files {
                self.cancel.check()?;
                self.process(&commit, suspect)?;
            }
        }
        Ok(self.result)
    }

    /// Passes a suspect's lines to the commit's parents as far as they have them.
    fn process(&mut self, commit: &Rc<Commit>, mut suspect: Suspect) -> Result<(), HistoryError> {
        if let Some(parent) = self.unchanged(commit, &suspect) {
            let parent = self.commit(parent)?;
            suspect.file = suspect.file.unchanged();
            self.enqueue(&parent, suspect);
            return Ok(());
        }
        let origins = match self.origins(commit, &suspect)? {
            Origins::Same(origin) => {
                self.pass_on(origin, suspect.spans);
                return Ok(());
            }
            Origins::Others(origins) => origins,
        };
        sort_and_join(&mut suspect.spans);
        for origin in origins {
            self.cancel.check()?;
            let (new, old) = (suspect.file.entry.id, origin.file.entry.id);
            let common = self
                .versions
                .common(&self.history.git, new, old, self.cancel)?;
            let divided = divide(&suspect.spans, &common);
            suspect.spans = divided.left;
            self.pass_on(origin, divided.passed);
        }
        let found = suspect.spans.into_iter().map(|span| (span, commit.id));
        self.result.spans.extend(found);
        Ok(())
    }

    /// The first parent, if the graph proves that the file is unchanged there.
    fn unchanged(&self, commit: &Commit, suspect: &Suspect) -> Option<ObjectId> {
        let graph = self.history.graph();
        let changed = graph.maybe_changed(commit.position?, &suspect.name.filter_query);
        commit
            .parents
            .first()
            .copied()
            .filter(|_| changed == Some(false))
    }

    /// The parents' versions of the file, under its name or its name before a rename.
    fn origins(&mut self, commit: &Commit, suspect: &Suspect) -> Result<Origins, HistoryError> {
        let (name, file) = (&suspect.name, &suspect.file);
        let mut others = BTreeMap::new();
        let mut missing = Vec::new();
        for (at, &id) in commit.parents.iter().enumerate() {
            let parent = self.commit(id)?;
            match self
                .history
                .file_version(parent.tree, &name.path, Some(file))?
            {
                PathLookup::File(file) => {
                    let origin = Origin::new(parent, Rc::clone(name), file);
                    if origin.has(suspect) {
                        return Ok(Origins::Same(origin));
                    }
                    others.insert(at, origin);
                }
                PathLookup::Nothing => missing.push((at, parent)),
                PathLookup::Other => {}
            }
        }
        for (at, parent) in missing {
            let trees = (parent.tree, commit.tree);
            let renamed = self.history.renamed(trees, &name.path, self.cancel)?;
            self.result.renames_cut |= renamed.is_cut;
            if let Some((name, file)) = renamed.from {
                let origin = Origin::new(parent, name, file);
                if origin.has(suspect) {
                    return Ok(Origins::Same(origin));
                }
                others.insert(at, origin);
            }
        }
        Ok(Origins::each_once(others))
    }

    fn pass_on(&mut self, origin: Origin, spans: Vec<Span>) {
        let Origin { parent, name, file } = origin;
        if !spans.is_empty() {
            self.enqueue(&parent, Suspect { name, file, spans });
        }
    }

    fn enqueue(&mut self, commit: &Rc<Commit>, suspect: Suspect) {
        if let Some(known) = self.suspects.get_mut(&commit.id) {
            return known.add(suspect);
        }
        self.queue.push(QueueEntry {
            time: commit.time,
            order: Reverse(self.order),
            id: commit.id,
        });
        self.order += 1;
        let suspects = Suspects {
            commit: Rc::clone(commit),
            files: vec![suspect],
        };
        self.suspects.insert(commit.id, suspects);
    }

    fn commit(&self, id: ObjectId) -> Result<Rc<Commit>, HistoryError> {
        if let Some(known) = self.suspects.get(&id) {
            return Ok(Rc::clone(&known.commit));
        }
        let node = self.history.node(id)?;
        Ok(Rc::new(Commit {
            id,
            tree: node.tree,
            parents: node.parents,
            time: node.time,
            position: self.history.graph().find(&id),
        }))
    }
}

impl Suspects {
    fn add(&mut self, suspect: Suspect) {
        let mut files = self.files.iter_mut();
        match files.find(|file| file.name.path == suspect.name.path) {
            Some(file) => file.spans.extend(suspect.spans),
            None => self.files.push(suspect),
        }
    }
}

impl Origin {
    fn new(parent: Rc<Commit>, name: Rc<Name>, file: FileVersion) -> Origin {
        Origin { parent, name, file }
    }

    /// Whether the version is identical.
    fn has(&self, suspect: &Suspect) -> bool {
        self.file.entry.id == suspect.file.entry.id
    }
}

/// The parents' versions of a file.
enum Origins {
    /// One is identical, and takes all lines.
    Same(Origin),
    /// Different versions, in the parents' order.
    Others(Vec<Origin>),
}

impl Origins {
    /// Drops duplicates: a version that an earlier parent also has can take nothing more.
    fn each_once(mut others: BTreeMap<usize, Origin>) -> Origins {
        let mut seen = HashSet::new();
        others.retain(|_, origin| seen.insert(origin.file.entry.id));
        Origins::Others(others.into_values().collect())
    }
}
