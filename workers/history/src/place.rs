//! Where a page of a log ended, in words that travel in a cursor.
//!
//! Everything that could be another thing on the next page is written down as what it was: the
//! commits that names meant, the seconds that dates meant, and the name that a followed file had.

use gix::ObjectId;
use serde::{Deserialize, Serialize};

/// What a cursor may hold, in bytes: it travels in every call.
const MAX_BYTES: usize = 2048;

/// Where a page of a log ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogCursor {
    /// Where the walk began.
    #[serde(with = "ids")]
    pub(super) from: Vec<ObjectId>,
    /// Whose history is left out: at most one commit's.
    #[serde(with = "ids", default, skip_serializing_if = "Vec::is_empty")]
    pub(super) without: Vec<ObjectId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) since: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) until: Option<i64>,
    /// How many commits the pages before gave.
    pub(super) given: u64,
    /// Whether the path is a folder's, where there is one and it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) is_folder: Option<bool>,
    /// From where to go on. Without it, the next page walks from the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stand: Option<Stand>,
    /// What a followed file was called there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    /// Behind which commit to go on instead, for who knows in which order commits come; who
    /// doesn't has to do without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last: Option<Last>,
}

/// The commit that a log of a file told last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Last {
    #[serde(with = "id")]
    pub(super) commit: ObjectId,
    /// What the file was called before it.
    pub(super) name: String,
}

/// Where a walk stood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stand {
    /// When the commits were made that were taken last.
    pub(super) time: i64,
    /// All commits of that second that were taken.
    #[serde(with = "ids")]
    pub(super) taken: Vec<ObjectId>,
    /// What is taken next, in this order.
    #[serde(with = "ids")]
    pub(super) waiting: Vec<ObjectId>,
}

impl LogCursor {
    /// The place as a cursor's text.
    pub fn into_text(mut self) -> String {
        let text = |place: &LogCursor| serde_json::to_string(place).unwrap_or_default();
        let whole = text(&self);
        if whole.len() <= MAX_BYTES {
            return whole;
        }
        (self.stand, self.name, self.last) = (None, None, None);
        text(&self)
    }

    /// The commit that was taken last, and what a followed file was called before it, if the place
    /// tells that.
    pub(super) fn end(&self) -> Option<(ObjectId, String)> {
        let told = self.last.as_ref();
        let told = told.map(|last| (last.commit, last.name.clone()));
        told.or_else(|| {
            let stand = self.stand.as_ref()?;
            Some((*stand.taken.last()?, self.name.clone()?))
        })
    }

    /// The place that a cursor's text tells; `None` if it tells none.
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

/// Ids as one hexadecimal text, since a list of texts takes more room.
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
