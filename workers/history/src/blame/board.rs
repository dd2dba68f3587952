//! The blame search: passes lines from each commit to its parents until no parent has them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};
use std::rc::Rc;

use archway_repo::Cancel;
use gix::ObjectId;

use super::origin::{Found, Name, Place};
use super::spans::{Span, divide, tidy};
use super::texts::Texts;
use crate::{History, HistoryError, Position};

/// One search.
pub(super) struct Board<'a> {
    history: &'a History,
    cancel: &'a Cancel,
    texts: Texts,
    /// Commits to process; every suspect commit is queued once.
    turns: BinaryHeap<Turn>,
    suspected: HashMap<ObjectId, Suspects>,
    arrived: u64,
    guilty: Guilty,
}

/// The result of a search.
#[derive(Default)]
pub(super) struct Guilty {
    /// Lines with their commits, in no order.
    pub(super) spans: Vec<(Span, ObjectId)>,
    /// Rename detection was cut short.
    pub(super) renames_cut: bool,
}

/// A commit in processing order: the youngest first, and within one second the one that was queued
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    time: i64,
    arrived: Reverse<u64>,
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
    place: Place,
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
    place: Place,
}

impl<'a> Board<'a> {
    pub(super) fn new(history: &'a History, cancel: &'a Cancel) -> Board<'a> {
        Board {
            history,
            cancel,
            texts: Texts::default(),
            turns: BinaryHeap::new(),
            suspected: HashMap::new(),
            arrived: 0,
            guilty: Guilty::default(),
        }
    }

    /// Finds the commits of the lines of `span`.
    pub(super) fn search(
        mut self,
        commit: ObjectId,
        name: Rc<Name>,
        place: Place,
        span: Span,
    ) -> Result<Guilty, HistoryError> {
        if span.count == 0 {
            return Ok(self.guilty);
        }
        let commit = self.commit(commit)?;
        let spans = vec![span];
        self.suspect(&commit, Suspect { name, place, spans });
        while let Some(turn) = self.turns.pop() {
            let Some(Suspects { commit, files }) = self.suspected.remove(&turn.id) else {
                continue;
            };
            for file in files {
                self.cancel.check()?;
                self.ask(&commit, file)?;
            }
        }
        Ok(self.guilty)
    }

    /// Passes a suspect's lines to the commit's parents as far as they have them.
    fn ask(&mut self, commit: &Rc<Commit>, mut suspect: Suspect) -> Result<(), HistoryError> {
        if let Some(parent) = self.unchanged(commit, &suspect) {
            let parent = self.commit(parent)?;
            suspect.place = suspect.place.unchanged();
            self.suspect(&parent, suspect);
            return Ok(());
        }
        let origins = match self.origins(commit, &suspect)? {
            Origins::Same(origin) => {
                self.hand(origin, suspect.spans);
                return Ok(());
            }
            Origins::Others(origins) => origins,
        };
        tidy(&mut suspect.spans);
        for origin in origins {
            self.cancel.check()?;
            let (file, was) = (suspect.place.file.id, origin.place.file.id);
            let common = self
                .texts
                .common(&self.history.git, file, was, self.cancel)?;
            let divided = divide(&suspect.spans, &common);
            suspect.spans = divided.left;
            self.hand(origin, divided.passed);
        }
        let found = suspect.spans.into_iter().map(|span| (span, commit.id));
        self.guilty.spans.extend(found);
        Ok(())
    }

    /// The first parent, if the graph proves that the file is unchanged there.
    fn unchanged(&self, commit: &Commit, suspect: &Suspect) -> Option<ObjectId> {
        let graph = self.history.graph();
        let changed = graph.maybe_changed(commit.position?, &suspect.name.asked);
        commit
            .parents
            .first()
            .copied()
            .filter(|_| changed == Some(false))
    }

    /// The parents' versions of the file, under its name or its name before a rename.
    fn origins(&mut self, commit: &Commit, suspect: &Suspect) -> Result<Origins, HistoryError> {
        let (name, place) = (&suspect.name, &suspect.place);
        let mut others = BTreeMap::new();
        let mut nameless = Vec::new();
        for (at, &id) in commit.parents.iter().enumerate() {
            let parent = self.commit(id)?;
            match self.history.place(parent.tree, &name.path, Some(place))? {
                Found::File(place) => {
                    let origin = Origin::new(parent, Rc::clone(name), place);
                    if origin.has(suspect) {
                        return Ok(Origins::Same(origin));
                    }
                    others.insert(at, origin);
                }
                Found::Nothing => nameless.push((at, parent)),
                Found::Other => {}
            }
        }
        for (at, parent) in nameless {
            let trees = (parent.tree, commit.tree);
            let renamed = self.history.renamed(trees, &name.path, self.cancel)?;
            self.guilty.renames_cut |= renamed.is_cut;
            if let Some((name, place)) = renamed.from {
                let origin = Origin::new(parent, name, place);
                if origin.has(suspect) {
                    return Ok(Origins::Same(origin));
                }
                others.insert(at, origin);
            }
        }
        Ok(Origins::each_once(others))
    }

    fn hand(&mut self, origin: Origin, spans: Vec<Span>) {
        let Origin {
            parent,
            name,
            place,
        } = origin;
        if !spans.is_empty() {
            self.suspect(&parent, Suspect { name, place, spans });
        }
    }

    fn suspect(&mut self, commit: &Rc<Commit>, suspect: Suspect) {
        if let Some(known) = self.suspected.get_mut(&commit.id) {
            return known.add(suspect);
        }
        self.turns.push(Turn {
            time: commit.time,
            arrived: Reverse(self.arrived),
            id: commit.id,
        });
        self.arrived += 1;
        let suspects = Suspects {
            commit: Rc::clone(commit),
            files: vec![suspect],
        };
        self.suspected.insert(commit.id, suspects);
    }

    fn commit(&self, id: ObjectId) -> Result<Rc<Commit>, HistoryError> {
        if let Some(known) = self.suspected.get(&id) {
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
    fn new(parent: Rc<Commit>, name: Rc<Name>, place: Place) -> Origin {
        Origin {
            parent,
            name,
            place,
        }
    }

    /// Whether the version is identical.
    fn has(&self, suspect: &Suspect) -> bool {
        self.place.file.id == suspect.place.file.id
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
        others.retain(|_, origin| seen.insert(origin.place.file.id));
        Origins::Others(others.into_values().collect())
    }
}
