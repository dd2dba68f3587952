//! The search itself: who is suspected of which lines, and who was found guilty.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::rc::Rc;

use gix::ObjectId;

use super::origin::{Found, Name, Place};
use super::spans::{Span, divide, tidy};
use super::texts::Texts;
use crate::history::{History, HistoryError, Position};
use crate::repo::Cancel;

/// One search.
pub(super) struct Board<'a> {
    history: &'a History,
    cancel: &'a Cancel,
    texts: Texts,
    /// Whose turn it is; every commit that is suspected stands in it once.
    turns: BinaryHeap<Turn>,
    suspected: HashMap<ObjectId, Suspects>,
    arrived: u64,
    guilty: Vec<(Span, ObjectId)>,
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
            guilty: Vec::new(),
        }
    }

    /// Which commits the lines of `span` come from, in no order.
    pub(super) fn search(
        mut self,
        commit: ObjectId,
        name: Rc<Name>,
        place: Place,
        span: Span,
    ) -> Result<Vec<(Span, ObjectId)>, HistoryError> {
        if span.count == 0 {
            return Ok(Vec::new());
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
        let Some(origins) = self.origins(commit, &mut suspect)? else {
            return Ok(());
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
        self.guilty.extend(found);
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

    /// What the parents have of the file, in their order and each version once; `None` if one has
    /// the same, which takes all.
    fn origins(
        &mut self,
        commit: &Commit,
        suspect: &mut Suspect,
    ) -> Result<Option<Vec<Origin>>, HistoryError> {
        let mut origins = Origins::new(suspect);
        let mut nameless = Vec::new();
        for (at, &id) in commit.parents.iter().enumerate() {
            let parent = self.commit(id)?;
            let path = &suspect.name.path;
            match self
                .history
                .place(parent.tree, path, Some(&suspect.place))?
            {
                Found::File(place) => {
                    let name = Rc::clone(&suspect.name);
                    origins.add(
                        at,
                        Origin {
                            parent,
                            name,
                            place,
                        },
                    );
                }
                Found::Nothing => nameless.push((at, parent)),
                Found::Other => {}
            }
            if let Some(same) = origins.same.take() {
                self.hand(same, std::mem::take(&mut suspect.spans));
                return Ok(None);
            }
        }
        for (at, parent) in nameless {
            let trees = (parent.tree, commit.tree);
            let path = &suspect.name.path;
            if let Some((name, place)) = self.history.renamed(trees, path, self.cancel)? {
                origins.add(
                    at,
                    Origin {
                        parent,
                        name,
                        place,
                    },
                );
            }
            if let Some(same) = origins.same.take() {
                self.hand(same, std::mem::take(&mut suspect.spans));
                return Ok(None);
            }
        }
        Ok(Some(origins.in_order()))
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

/// What parents have of a file, gathered by their number.
struct Origins {
    file: ObjectId,
    /// The first parent that has the file as it is.
    same: Option<Origin>,
    others: BTreeMap<usize, Origin>,
}

impl Origins {
    fn new(suspect: &Suspect) -> Origins {
        Origins {
            file: suspect.place.file.id,
            same: None,
            others: BTreeMap::new(),
        }
    }

    /// A version that an earlier parent has, too, can take nothing that is left.
    fn add(&mut self, at: usize, origin: Origin) {
        let id = origin.place.file.id;
        let mut earlier = self.others.range(..at);
        if id == self.file {
            self.same = Some(origin);
        } else if earlier.all(|(_, other)| other.place.file.id != id) {
            self.others.insert(at, origin);
        }
    }

    fn in_order(self) -> Vec<Origin> {
        self.others.into_values().collect()
    }
}
