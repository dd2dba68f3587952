//! A page of `search_memory`: entries and discoveries in one order, the newest first.
//!
//! A cursor is `<microseconds>:<p or d><number>` after an entry of the progress log or the decisions, and
//! `<microseconds>:x<id>` after a discovery. Of one microsecond, entries come first.

use std::cmp::Reverse;

use archway_proto::{failure::Failure, fault::Fault};
use archway_store::memory::{
    DiscoveryPosition, EntryPosition, MemoryFile, StoredDiscovery, StoredEntry,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::rfc3339;
use crate::tools::{Reply, paging, schema::is_false};

/// The only field of an entry that the operator erased.
const ERASED_AT: &str = "erased_at";

#[derive(Serialize, JsonSchema)]
pub(in crate::tools) struct MemoryPage {
    /// Newest first.
    entries: Vec<MemoryEntry>,
    /// Newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    discoveries: Vec<Discovery>,
    /// Matching entries and discoveries, on this page and all others, each counted up to 10000.
    total: u64,
    /// There are more: continue with the cursor.
    #[serde(default, skip_serializing_if = "is_false")]
    truncated: bool,
    /// What to do next, if there is nothing. The schema has no room for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    message: Option<&'static str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct MemoryEntry {
    file: String,
    /// The file's `entry_count` when it was appended.
    number: i64,
    /// By the server's clock, RFC 3339 in UTC.
    written_at: String,
    /// As written, with the server's `timestamp` if it had none; `{erased_at}` if the operator erased it.
    entry: Map<String, Value>,
}

/// What `record_discovery` recorded.
#[derive(Serialize, JsonSchema)]
struct Discovery {
    id: String,
    /// pattern, rule, decision or issue.
    #[serde(rename = "type")]
    kind: String,
    content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    paths: Vec<String>,
    /// By the server's clock, RFC 3339 in UTC.
    created_at: String,
    /// The id of the discovery that it replaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    supersedes: Option<String>,
    /// The id of the latest discovery that replaces it.
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_by: Option<String>,
}

/// An entry or a discovery.
#[derive(Serialize)]
#[serde(untagged)]
enum Item {
    Entry(MemoryEntry),
    Discovery(Discovery),
}

/// The position of a page's last item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    Entry(EntryPosition),
    Discovery(DiscoveryPosition),
}

impl Position {
    /// Parses a cursor.
    pub(super) fn parse(cursor: &str) -> Result<Position, Failure> {
        let read = || {
            let (time, rest) = cursor.split_once(':')?;
            let written_at = time.parse().ok()?;
            let (kind, place) = rest.split_at_checked(1)?;
            let file = match kind {
                "x" => return Some(Position::Discovery((written_at, place.parse().ok()?))),
                "p" => MemoryFile::ProgressLog,
                "d" => MemoryFile::Decisions,
                _ => return None,
            };
            let number = place.parse().ok()?;
            Some(Position::Entry(EntryPosition {
                written_at,
                file,
                number,
            }))
        };
        read().ok_or_else(|| {
            Failure::new(
                Fault::InvalidArguments,
                "the cursor is not from this tool",
                "start again without a cursor",
            )
        })
    }

    fn cursor(self) -> String {
        match self {
            Position::Discovery((time, id)) => format!("{time}:x{}", id.simple()),
            Position::Entry(EntryPosition {
                written_at,
                file,
                number,
            }) => match file {
                MemoryFile::ProgressLog => format!("{written_at}:p{number}"),
                MemoryFile::Decisions => format!("{written_at}:d{number}"),
            },
        }
    }

    /// After which the entries of the next page begin.
    pub(super) fn entry(self) -> EntryPosition {
        match self {
            Position::Entry(position) => position,
            // Before the first entry of that time: those came before the discovery.
            Position::Discovery((written_at, _)) => EntryPosition {
                written_at,
                file: MemoryFile::Decisions,
                number: 0,
            },
        }
    }

    /// After which the discoveries of the next page begin.
    pub(super) fn discovery(self) -> DiscoveryPosition {
        match self {
            Position::Entry(position) => (position.written_at, Uuid::max()),
            Position::Discovery(position) => position,
        }
    }
}

/// As many as fit, at least one, and the cursor after the last of them. `total` match, and a page has `limit`. `advice`
/// is what to do if nothing matches.
pub(super) fn page(
    entries: Vec<StoredEntry>,
    discoveries: Vec<StoredDiscovery>,
    (total, limit): (u64, usize),
    budget: usize,
    advice: &'static str,
) -> Reply<MemoryPage> {
    let entries = entries.into_iter().map(|it| (it.written_at, of_entry(&it)));
    let discoveries = discoveries
        .into_iter()
        .map(|it| (it.created_at, of_discovery(it)));
    let mut found: Vec<_> = entries.chain(discoveries).collect();
    // The sort is stable: entries stay before discoveries.
    found.sort_by_key(|(time, _)| Reverse(*time));
    let count = found.len();
    let (positions, mut items): (Vec<_>, Vec<Item>) = found.into_iter().map(|(_, it)| it).unzip();
    items.truncate(limit);
    items.truncate(paging::fit(&items, budget).max(1));
    let is_cut = items.len() < count;
    let last = items.len().checked_sub(1).filter(|_| is_cut);
    let last = last.and_then(|at| positions.get(at).copied().flatten());
    let mut body = MemoryPage {
        entries: Vec::new(),
        discoveries: Vec::new(),
        total,
        truncated: is_cut,
        message: (total == 0).then_some(advice),
        cursor: None,
    };
    for item in items {
        match item {
            Item::Entry(entry) => body.entries.push(entry),
            Item::Discovery(discovery) => body.discoveries.push(discovery),
        }
    }
    Reply::new(body)
        .cursor(last.map(Position::cursor))
        .verbatim()
}

/// Its position, if its file is known, and how it is shown.
fn of_entry(stored: &StoredEntry) -> (Option<Position>, Item) {
    let written_at = rfc3339(stored.written_at);
    let mut entry: Map<String, Value> = serde_json::from_str(&stored.entry).unwrap_or_default();
    let has = |name| entry.get(name).is_some_and(|it| !it.is_null());
    if !has("timestamp") && !has(ERASED_AT) {
        entry.insert("timestamp".to_owned(), written_at.clone().into());
    }
    let position = MemoryFile::parse(&stored.file).map(|file| {
        Position::Entry(EntryPosition {
            written_at: stored.written_at,
            file,
            number: stored.number,
        })
    });
    let shown = MemoryEntry {
        file: stored.file.clone(),
        number: stored.number,
        written_at,
        entry,
    };
    (position, Item::Entry(shown))
}

fn of_discovery(stored: StoredDiscovery) -> (Option<Position>, Item) {
    let position = Position::Discovery((stored.created_at, stored.id));
    let shown = Discovery {
        id: stored.id.to_string(),
        kind: stored.kind,
        content: stored.content,
        module: stored.module,
        paths: stored.paths,
        created_at: rfc3339(stored.created_at),
        supersedes: stored.supersedes.map(|id| id.to_string()),
        superseded_by: stored.superseded_by.map(|id| id.to_string()),
    };
    (Some(position), Item::Discovery(shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: i64 = 1_767_794_400_000_000;

    fn stored(number: i64, bytes: usize) -> StoredEntry {
        StoredEntry {
            file: "decisions.jsonl".to_owned(),
            number,
            written_at: TIME + number,
            entry: format!("{{\"decision\":\"{}\"}}", "x".repeat(bytes)),
        }
    }

    fn discovery(number: i64) -> StoredDiscovery {
        StoredDiscovery {
            id: Uuid::from_u128(u128::try_from(number).unwrap()),
            kind: "rule".to_owned(),
            content: "c".to_owned(),
            module: None,
            paths: Vec::new(),
            created_at: TIME + number,
            supersedes: None,
            superseded_by: None,
        }
    }

    /// The numbers of entries and of discoveries on a page, and its cursor.
    fn paged(
        entries: &[(i64, usize)],
        discoveries: &[i64],
        limit: usize,
        budget: usize,
    ) -> (usize, usize, Option<String>) {
        let entries = entries
            .iter()
            .map(|&(number, bytes)| stored(number, bytes))
            .collect();
        let discoveries = discoveries.iter().copied().map(discovery).collect();
        let result = page(entries, discoveries, (9, limit), budget, "write")
            .into_result(true)
            .unwrap();
        let data = &result["structuredContent"];
        let count = |name: &str| data[name].as_array().map_or(0, Vec::len);
        let cursor = result["_meta"]["io.archway/cursor"].as_str();
        assert_eq!(data["truncated"] == true, cursor.is_some());
        (
            count("entries"),
            count("discoveries"),
            cursor.map(str::to_owned),
        )
    }

    #[test]
    fn a_page_ends_at_its_limit_or_size_and_returns_a_cursor() {
        let found = [(2, 400), (1, 400), (0, 400)];
        assert_eq!(paged(&found, &[], 3, 1 << 16), (3, 0, None));
        let next = Some(format!("{}:d1", TIME + 1));
        assert_eq!(paged(&found, &[], 2, 1 << 16), (2, 0, next.clone()));
        assert_eq!(paged(&found, &[], 3, 2_300), (2, 0, next));
        // An entry that fits nowhere is returned all the same, or no page would follow.
        assert_eq!(paged(&found, &[], 3, 10).0, 1);
        assert_eq!(paged(&[], &[], 3, 10), (0, 0, None));
    }

    #[test]
    fn entries_and_discoveries_share_a_page_by_their_times() {
        let (entries, discoveries) = ([(5, 1), (2, 1)], [5, 3]);
        let after_discovery = Some(format!("{}:x{:032x}", TIME + 5, 5));
        assert_eq!(
            paged(&entries, &discoveries, 2, 1 << 16),
            (1, 1, after_discovery)
        );
        let (one, other, cursor) = paged(&entries, &discoveries, 1, 1 << 16);
        assert_eq!((one, other), (1, 0), "of one time entries come first");
        let position = Position::parse(&cursor.unwrap()).unwrap();
        assert!(position.discovery() > (TIME + 5, Uuid::from_u128(5)));
        assert_eq!(paged(&entries, &discoveries, 4, 1 << 16), (2, 2, None));
    }

    #[test]
    fn an_entry_without_a_time_has_the_servers() {
        let time = |entry: &str| {
            let entry = entry.to_owned();
            match of_entry(&StoredEntry {
                entry,
                ..stored(0, 0)
            })
            .1
            {
                Item::Entry(shown) => shown.entry.get("timestamp").cloned(),
                Item::Discovery(_) => None,
            }
        };
        let servers = Some("2026-01-07T14:00:00.000000Z".into());
        assert_eq!(time(r#"{"event":"x"}"#), servers);
        assert_eq!(
            time(r#"{"event":"x","timestamp":"1999"}"#),
            Some("1999".into())
        );
        assert_eq!(time(r#"{"erased_at":"2026"}"#), None);
    }

    #[test]
    fn a_cursor_round_trips_and_other_texts_are_rejected() {
        let entry = Position::Entry(EntryPosition {
            written_at: TIME,
            file: MemoryFile::ProgressLog,
            number: 7,
        });
        for position in [entry, Position::Discovery((TIME, Uuid::max()))] {
            let cursor = position.cursor();
            assert_eq!(Position::parse(&cursor).unwrap(), position);
            assert!(cursor.len() <= 52, "{cursor}");
        }
        for bad in ["", "1", "1:", "1:d", "1:z2", "x:d2", "1:xyz", "1:é"] {
            assert!(Position::parse(bad).is_err(), "{bad}");
        }
    }
}
