//! The position at the end of a log's page, as it travels in a cursor.
//!
//! The cursor pins everything that could change before the next page: the commits that names
//! resolved to, the seconds that dates resolved to, and the name that a followed file had.

use gix::ObjectId;
use serde::{Deserialize, Serialize};

/// Maximum length of a cursor in bytes: it travels in every call.
const MAX_BYTES: usize = 2048;

/// The position at the end of a log's page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogCursor {
    /// The commits at which the walk began.
    #[serde(with = "ids")]
    pub(super) from: Vec<ObjectId>,
    /// The excluded commit, whose history is left out. At most one.
    #[serde(
        rename = "without",
        with = "ids",
        default,
        skip_serializing_if = "Vec::is_empty"
    )]
    pub(super) excluded: Vec<ObjectId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) since: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) until: Option<i64>,
    /// The number of commits on the pages before.
    #[serde(rename = "given")]
    pub(super) returned: u64,
    /// Whether the path is a folder. `None` without a path, and before it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) is_folder: Option<bool>,
    /// The saved walk. Without it, the next page walks again from the beginning.
    #[serde(rename = "stand", default, skip_serializing_if = "Option::is_none")]
    pub(super) walk: Option<WalkState>,
    /// The followed file's name at that point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    /// The commit after which to resume. Only a worker that knows the order of commits can use it;
    /// others walk from the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last: Option<LastCommit>,
}

/// The last commit on a page of a followed file's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LastCommit {
    #[serde(with = "id")]
    pub(super) commit: ObjectId,
    /// The file's name before that commit.
    pub(super) name: String,
}

/// A walk in progress, saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WalkState {
    /// Committer time of the commits that were visited last.
    pub(super) time: i64,
    /// All visited commits of that second.
    #[serde(rename = "taken", with = "ids")]
    pub(super) visited: Vec<ObjectId>,
    /// The commits to visit next, in this order.
    #[serde(rename = "waiting", with = "ids")]
    pub(super) queued: Vec<ObjectId>,
}

impl LogCursor {
    /// Serializes the cursor. A cursor over the maximum length drops the saved walk.
    pub fn into_text(mut self) -> String {
        let text = |cursor: &LogCursor| serde_json::to_string(cursor).unwrap_or_default();
        let full = text(&self);
        if full.len() <= MAX_BYTES {
            return full;
        }
        (self.walk, self.name, self.last) = (None, None, None);
        text(&self)
    }

    /// The last visited commit and the followed file's name before it, if the cursor has both.
    pub(super) fn last_visited(&self) -> Option<(ObjectId, String)> {
        let last = self.last.as_ref();
        let last = last.map(|last| (last.commit, last.name.clone()));
        last.or_else(|| {
            let walk = self.walk.as_ref()?;
            Some((*walk.visited.last()?, self.name.clone()?))
        })
    }

    /// Parses a cursor's text. `None` if it is malformed.
    pub fn parse(text: &str) -> Option<LogCursor> {
        serde_json::from_str(text).ok()
    }
}

/// An id as hexadecimal text.
mod id {
    use gix::ObjectId;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(id: &ObjectId, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&id.to_hex())
    }

    pub(super) fn deserialize<'de, D>(from: D) -> Result<ObjectId, D::Error>
    where
        D: Deserializer<'de>,
    {
        let text = String::deserialize(from)?;
        ObjectId::from_hex(text.as_bytes()).map_err(D::Error::custom)
    }
}

/// Ids as one hexadecimal text: shorter than a list of texts.
mod ids {
    use gix::ObjectId;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    const DIGITS: usize = 40;

    pub(super) fn serialize<S: Serializer>(ids: &[ObjectId], to: S) -> Result<S::Ok, S::Error> {
        let text: String = ids.iter().map(|id| id.to_hex().to_string()).collect();
        to.serialize_str(&text)
    }

    pub(super) fn deserialize<'de, D>(from: D) -> Result<Vec<ObjectId>, D::Error>
    where
        D: Deserializer<'de>,
    {
        let text = String::deserialize(from)?;
        let id = |digits: &[u8]| ObjectId::from_hex(digits).map_err(D::Error::custom);
        text.as_bytes().chunks(DIGITS).map(id).collect()
    }
}
