//! The search itself: who is suspected of which lines, and who was found guilty.

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
    /// Whose turn it is; every commit that is suspected stands in it once.
    turns: BinaryHeap<Turn>,
    suspected: HashMap<ObjectId, Suspects>,
    arrived: u64,
    guilty: Guilty,
}

/// What a search found.
#[derive(Default)]
pub(super) struct Guilty {
    /// Lines, and the commits they come from, in no order.
    pub(super) spans: Vec<(Span, ObjectId)>,
    /// Not all renames were looked for.
    pub(super) renames_cut: bool,
}

/// A commit in the order of asking: the youngest first, and of one second the first that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    time: i64,
    arrived: Reverse<u64>,
    id: ObjectId,
}

/// What is suspected of a commit: one or, after merges of renamed files, several of its files.
struct Suspects {
    commit: Rc<Commit>,
    files: Vec<Suspect>,
}

/// A file of a commit, and the lines that are suspected to come from there.
#[derive(Clone)]
struct Suspect {
    name: Rc<Name>,
    place: Place,
    spans: Vec<Span>,
}

/// What the search needs of a commit.
struct Commit {
    id: ObjectId,
    tree: ObjectId,
    parents: Vec<ObjectId>,
    time: i64,
    /// In the graph, if it has the commit.
    position: Option<Position>,
}

/// What a parent has of a file.
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

    /// Which commits the lines of `span` come from.
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

    /// Hands a suspect's lines to the commit's parents as far as they have them.
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

    /// The only parent that matters, if the graph is certain that the file is the same there.
    fn unchanged(&self, commit: &Commit, suspect: &Suspect) -> Option<ObjectId> {
        let graph = self.history.graph();
        let changed = graph.maybe_changed(commit.position?, &suspect.name.asked);
        commit
            .parents
            .first()
            .copied()
            .filter(|_| changed == Some(false))
    }

    /// What the parents have of the file, under its name or the one it was renamed from.
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

    /// Whether it is the file as it is.
    fn has(&self, suspect: &Suspect) -> bool {
        self.place.file.id == suspect.place.file.id
    }
}

/// What the parents of a commit have of a file.
enum Origins {
    /// One has it as it is, and takes all lines.
    Same(Origin),
    /// Other versions, in the parents' order.
    Others(Vec<Origin>),
}

impl Origins {
    /// A version that an earlier parent has, too, can take nothing that is left.
    fn each_once(mut others: BTreeMap<usize, Origin>) -> Origins {
        let mut seen = HashSet::new();
        others.retain(|_, origin| seen.insert(origin.place.file.id));
        Origins::Others(others.into_values().collect())
    }
}
