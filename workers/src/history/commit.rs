//! What a commit says of itself.

use gix::{ObjectId, bstr::BString};

use super::{History, HistoryError, Position, error::git};

const READING: &str = "reading a commit";

/// What a walk needs of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) id: ObjectId,
    pub(crate) tree: ObjectId,
    /// In the commit's order; none of a root, nor of a commit at which a shallow clone ends.
    pub(crate) parents: Vec<ObjectId>,
    /// When it was committed, in seconds since 1970.
    pub(crate) time: i64,
}

/// What a commit says to its readers.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) id: ObjectId,
    pub(crate) author: Signature,
    /// The whole message, without white space around it.
    pub(crate) message: BString,
}

/// Who did something, and when by their own clock.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    pub(crate) name: BString,
    pub(crate) email: BString,
    pub(crate) time: gix::date::Time,
}

impl History {
    /// What a walk needs of the commit `id`.
    ///
    /// # Errors
    /// If it can't be read.
    pub(crate) fn node(&self, id: ObjectId) -> Result<Node, HistoryError> {
        if let Some(position) = self.graph.find(&id) {
            return Ok(self.graph_node(position));
        }
        let commit = self.git.find_commit(id).map_err(git(READING))?;
        let parents = match self.is_cut(id) {
            true => Vec::new(),
            false => commit.parent_ids().map(gix::Id::detach).collect(),
        };
        Ok(Node {
            id,
            tree: commit.tree_id().map_err(git(READING))?.detach(),
            parents,
            time: commit.time().map_err(git(READING))?.seconds,
        })
    }

    /// [`History::node`] of a commit in the graph.
    fn graph_node(&self, position: Position) -> Node {
        let graph = &self.graph;
        let parents = graph.parents(position);
        Node {
            id: graph.id(position),
            tree: graph.tree(position),
            parents: parents.map(|parent| graph.id(parent)).collect(),
            time: graph.time(position),
        }
    }

    /// Whether a shallow clone ends at this commit: it has no parents here, whatever it says.
    pub(crate) fn is_cut(&self, id: ObjectId) -> bool {
        let cut = |commits: &gix::shallow::Commits| commits.binary_search(&id).is_ok();
        self.shallow.as_ref().is_some_and(cut)
    }

    /// What the commit `id` says to its readers.
    ///
    /// # Errors
    /// If it can't be read.
    pub(crate) fn facts(&self, id: ObjectId) -> Result<Facts, HistoryError> {
        let commit = self.git.find_commit(id).map_err(git(READING))?;
        let author = commit.author().map_err(git(READING))?;
        let time = author.time().map_err(git(READING))?;
        let message = commit.message_raw_sloppy();
        Ok(Facts {
            id,
            author: Signature {
                name: author.name.to_owned(),
                email: author.email.to_owned(),
                time,
            },
            message: message.to_vec().into(),
        })
    }
}
