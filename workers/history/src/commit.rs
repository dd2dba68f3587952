//! What a commit says of itself.

use encoding_rs::{Encoding, UTF_8};
use gix::actor::SignatureRef;
use gix::bstr::{BStr, BString, ByteSlice as _};
use gix::{ObjectId, date::Time};

use super::commit_head::{committed_at, field};
use super::{History, HistoryError, Position, error::git};

const READING: &str = "reading a commit";

/// What a walk needs of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub(crate) id: ObjectId,
    /// Its tree.
    pub tree: ObjectId,
    /// In the commit's order; none of a root, nor of a commit at which a shallow clone ends.
    pub(crate) parents: Vec<ObjectId>,
    /// When it was committed, in seconds since 1970; 0 if it does not say.
    pub(crate) time: i64,
}

/// What a commit says to its readers.
#[derive(Clone, Debug)]
pub struct CommitInfo {
    /// The commit's id.
    pub id: ObjectId,
    /// The author, and when the change was written.
    pub author: Signature,
    /// The whole message, as it was written.
    pub message: BString,
}

/// Who did something, and when by their own clock.
#[derive(Clone, Debug)]
pub struct Signature {
    /// The name.
    pub name: BString,
    /// The email address.
    pub email: BString,
    /// When, with the offset from UTC.
    pub time: Time,
}

impl History {
    /// What a walk needs of the commit `id`.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn node(&self, id: ObjectId) -> Result<Node, HistoryError> {
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
            time: committed_at(&commit.data),
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
    pub(crate) fn commit_info(&self, id: ObjectId) -> Result<CommitInfo, HistoryError> {
        let commit = self.git.find_commit(id).map_err(git(READING))?;
        let (head, message) = commit
            .data
            .split_once_str("\n\n")
            .unwrap_or((&commit.data, b""));
        let encoding = field(head, b"encoding ").map(BStr::new);
        let in_utf8 = |text: &BStr| in_utf8(text, encoding);
        // A line that breaks git's own form is no reason to tell nothing of the commit.
        let author = field(head, b"author ").map(SignatureRef::from_bytes);
        let author = author.and_then(Result::ok).unwrap_or_default();
        let at_least = || Time::new(author.seconds(), 0);
        Ok(CommitInfo {
            id,
            author: Signature {
                name: in_utf8(author.name),
                email: in_utf8(author.email),
                time: author.time().unwrap_or_else(|_broken| at_least()),
            },
            message: in_utf8(message.as_bstr()),
        })
    }
}

/// Text in UTF-8 where the commit says in which other encoding it is; else as it stands.
fn in_utf8(text: &BStr, encoding: Option<&BStr>) -> BString {
    let named = encoding.and_then(|label| Encoding::for_label(label));
    match named.filter(|&encoding| encoding != UTF_8) {
        Some(encoding) => encoding
            .decode_without_bom_handling(text)
            .0
            .into_owned()
            .into(),
        None => text.to_owned(),
    }
}
