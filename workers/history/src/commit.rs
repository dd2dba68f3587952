//! The data of one commit.

use encoding_rs::{Encoding, UTF_8};
use gix::actor::SignatureRef;
use gix::bstr::{BStr, BString, ByteSlice as _};
use gix::{ObjectId, date::Time};

use super::commit_head::{committed_at, field};
use super::{History, HistoryError, Position, error::git};

const READING: &str = "reading a commit";

/// The part of a commit that a walk needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub(crate) id: ObjectId,
    /// The root tree.
    pub tree: ObjectId,
    /// In the commit's order. Empty for a root, and for a commit where a shallow clone ends.
    pub(crate) parents: Vec<ObjectId>,
    /// Committer time in seconds since 1970; 0 if the commit has none.
    pub(crate) time: i64,
}

/// The part of a commit that is shown to readers.
#[derive(Clone, Debug)]
pub struct CommitInfo {
    /// The commit's id.
    pub id: ObjectId,
    /// The author, and when the change was written.
    pub author: Signature,
    /// The whole message, verbatim.
    pub message: BString,
}

/// A name, an address and a local time.
#[derive(Clone, Debug)]
pub struct Signature {
    /// The name.
    pub name: BString,
    /// The email address.
    pub email: BString,
    /// The time, with its offset from UTC.
    pub time: Time,
}

impl History {
    /// Reads the part of commit `id` that a walk needs.
    ///
    /// # Errors
    /// If the commit can't be read.
    pub fn node(&self, id: ObjectId) -> Result<Node, HistoryError> {
        if let Some(position) = self.graph.find(&id) {
            return Ok(self.graph_node(position));
        }
        let commit = self.git.find_commit(id).map_err(git(READING))?;
        let parents = match self.is_shallow_end(id) {
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

    /// [`History::node`] for a commit in the graph.
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

    /// Whether a shallow clone ends at this commit: its parents are missing here, whatever it says.
    pub(crate) fn is_shallow_end(&self, id: ObjectId) -> bool {
        let cut = |commits: &gix::shallow::Commits| commits.binary_search(&id).is_ok();
        self.shallow.as_ref().is_some_and(cut)
    }

    /// Reads the part of commit `id` that is shown to readers.
    ///
    /// # Errors
    /// If the commit can't be read.
    pub fn commit_info(&self, id: ObjectId) -> Result<CommitInfo, HistoryError> {
        let commit = self.git.find_commit(id).map_err(git(READING))?;
        let (head, message) = commit
            .data
            .split_once_str("\n\n")
            .unwrap_or((&commit.data, b""));
        let encoding = field(head, b"encoding ").map(BStr::new);
        let in_utf8 = |text: &BStr| in_utf8(text, encoding);
        // A malformed author line must not hide the rest of the commit.
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

/// Decodes text in the encoding that the commit declares. UTF-8 and undeclared text pass unchanged.
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
