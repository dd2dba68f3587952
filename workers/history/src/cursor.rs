//! The position at the end of a log's page, as it travels in a cursor.
//!
//! The cursor pins everything that could change before the next page: the commits that names
//! resolved to, and the seconds that dates resolved to. The saved walk is too long for it and stays in
//! this worker's cache, without which the next page walks from the beginning.

use std::hash::{DefaultHasher, Hash, Hasher};

use gix::ObjectId;

use super::Cacheable;

/// Maximum length of a cursor in bytes: sealed, it has 96 characters.
const MAX_BYTES: usize = 52;
/// How many digits of a commit's id a cursor has.
const DIGITS: usize = 16;
/// The first letter of a cursor that only names a saved position.
pub(super) const SAVED_ONLY: char = 's';

/// The position at the end of a log's page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogCursor {
    /// The commits at which the walk began.
    pub(super) from: Vec<ObjectId>,
    /// The excluded commit, whose history is left out. At most one.
    pub(super) excluded: Vec<ObjectId>,
    pub(super) since: Option<i64>,
    pub(super) until: Option<i64>,
    /// The number of commits on the pages before.
    pub(super) returned: u64,
    /// Whether the path is a folder. `None` without a path, and before it is known.
    pub(super) is_folder: Option<bool>,
    /// The saved walk. Without it, the next page walks again from the beginning.
    pub(super) walk: Option<WalkState>,
    /// The followed file's name at that point.
    pub(super) name: Option<String>,
    /// The commit after which to resume. Only a worker that knows the order of commits can use it;
    /// others walk from the beginning.
    pub(super) last: Option<LastCommit>,
}

/// The last commit on a page of a followed file's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LastCommit {
    pub(super) commit: ObjectId,
    /// The file's name before that commit.
    pub(super) name: String,
}

/// A walk in progress, saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WalkState {
    /// Committer time of the commits that were visited last.
    pub(super) time: i64,
    /// All visited commits of that second.
    pub(super) visited: Vec<ObjectId>,
    /// The commits to visit next, in this order.
    pub(super) queued: Vec<ObjectId>,
}

impl LogCursor {
    /// `<d, f or -><commit>[<excluded commit>].<since>.<until>.<returned>`, numbers in hexadecimal; if it is longer than
    /// a cursor may be, or the walk began at several commits, only a name of this position.
    pub(super) fn text(&self) -> String {
        let kind = self
            .is_folder
            .map_or('-', |is_folder| if is_folder { 'd' } else { 'f' });
        let id = |id: &ObjectId| id.to_hex_with_len(DIGITS).to_string();
        let ids: String = self.from.iter().chain(&self.excluded).map(id).collect();
        let (since, until) = (seconds(self.since), seconds(self.until));
        let text = format!("{kind}{ids}.{since}.{until}.{:x}", self.returned);
        if self.from.len() == 1 && text.len() <= MAX_BYTES {
            return text;
        }
        let mut hasher = DefaultHasher::new();
        (&self.from, &text).hash(&mut hasher);
        format!("{SAVED_ONLY}{:016x}", hasher.finish())
    }

    /// Parses a cursor's text: the commits, and the rest. `None` if it is malformed.
    pub(super) fn parse(text: &str) -> Option<(Vec<String>, LogCursor)> {
        let mut parts = text.split('.');
        let mut ids = parts.next()?.chars();
        let is_folder = match ids.next()? {
            'd' => Some(true),
            'f' => Some(false),
            '-' => None,
            _ => return None,
        };
        let ids = ids.as_str();
        let is_hex = ids.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hex || (ids.len() != DIGITS && ids.len() != 2 * DIGITS) {
            return None;
        }
        let (one, other) = ids.split_at(DIGITS);
        let ids = [one, other].into_iter().filter(|id| !id.is_empty());
        let ids = ids.map(str::to_owned).collect();
        let mut number = || match parts.next()? {
            "" => Some(None),
            text => i64::from_str_radix(text, 16).ok().map(Some),
        };
        let cursor = LogCursor {
            from: Vec::new(),
            excluded: Vec::new(),
            since: number()?,
            until: number()?,
            returned: number()??.try_into().ok()?,
            is_folder,
            walk: None,
            name: None,
            last: None,
        };
        parts.next().is_none().then_some((ids, cursor))
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
}

impl Cacheable for LogCursor {
    const NAME: &'static str = "cursor";

    fn bytes(&self) -> usize {
        let walk = self.walk.as_ref();
        let walked = walk.map_or(0, |walk| walk.visited.len() + walk.queued.len());
        let name = self.name.as_ref().map_or(0, String::len);
        let last = self.last.as_ref().map_or(0, |last| last.name.len());
        let ids = self.from.len() + self.excluded.len() + walked;
        size_of::<LogCursor>() + ids * size_of::<ObjectId>() + name + last
    }
}

/// Seconds since 1970 in hexadecimal; nothing for none.
fn seconds(time: Option<i64>) -> String {
    time.map_or_else(String::new, |time| {
        let sign = if time < 0 { "-" } else { "" };
        format!("{sign}{:x}", time.unsigned_abs())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(from: usize, excluded: usize) -> LogCursor {
        let id = |digit: &str| ObjectId::from_hex(digit.repeat(40).as_bytes()).unwrap();
        LogCursor {
            from: vec![id("a"); from],
            excluded: vec![id("b"); excluded],
            since: None,
            until: Some(-1),
            returned: 70_000,
            is_folder: Some(false),
            walk: None,
            name: None,
            last: None,
        }
    }

    #[test]
    fn a_cursors_text_is_short_and_pins_what_it_can() {
        let text = cursor(1, 1).text();
        assert_eq!(
            text,
            format!("f{}{}..-1.11170", "a".repeat(16), "b".repeat(16))
        );
        let (ids, parsed) = LogCursor::parse(&text).unwrap();
        assert_eq!(ids, ["a".repeat(16), "b".repeat(16)]);
        assert_eq!((parsed.until, parsed.returned), (Some(-1), 70_000));
        let far = LogCursor {
            until: Some(i64::MAX),
            ..cursor(1, 1)
        };
        for saved in [cursor(2, 0).text(), far.text()] {
            assert!(
                saved.starts_with(SAVED_ONLY) && saved.len() <= MAX_BYTES,
                "{saved}"
            );
        }
    }

    #[test]
    fn other_texts_are_no_cursors() {
        let id = "a".repeat(16);
        for bad in [
            "",
            "x",
            "f",
            "fa..1.1",
            &format!("f{id}..1"),
            &format!("f{id}..1.1.1"),
            &format!("g{id}..1.1"),
        ] {
            assert!(LogCursor::parse(bad).is_none(), "{bad}");
        }
    }
}
