//! `search_memory`: the entries of the memory files, newest first, in pages.
//!
//! A cursor is `<microseconds>:<file>:<number>`, the position of the page's last entry.

use std::collections::BTreeSet;

use archway_history::{SpanEnd, parse_bound};
use archway_proto::{failure::Failure, fault::Fault};
use archway_repo::text::shown;
use archway_store::memory::unreachable;
use archway_store::memory::{EntryFilter, EntryPosition, MemoryFile, StoredEntry, read_by, words};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::rfc3339;
use crate::tools::{Reply, Tool, ToolContext, paging, schema::is_false};

/// Searches the entries of memory files.
pub(in crate::tools) struct SearchMemory;

/// The only field of an entry that the operator erased.
const ERASED_AT: &str = "erased_at";
/// No entry is older than 1970, and Postgres rejects much earlier dates.
const EARLIEST_SECOND: i64 = 0;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct SearchMemoryArgs {
    /// Only entries of this file.
    file: Option<MemoryFile>,
    /// Only entries in which all these words occur, ignoring case.
    #[schemars(length(min = 1, max = 500))]
    query: Option<String>,
    /// Written then or later, by the server's clock: a date or time, or as "30 days ago".
    #[schemars(length(min = 1, max = 64))]
    since: Option<String>,
    /// Written then or before.
    #[schemars(length(min = 1, max = 64))]
    until: Option<String>,
    /// Entries on a page.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100))]
    limit: usize,
    /// The cursor of the previous page.
    cursor: Option<String>,
    /// Project slug; see `list_projects`.
    #[schemars(length(min = 1, max = 63))]
    project: Option<String>,
}

fn default_limit() -> usize {
    20
}

#[derive(Serialize, JsonSchema)]
pub(in crate::tools) struct MemoryEntries {
    /// Newest first.
    entries: Vec<MemoryEntry>,
    /// Matching entries, on this page and all others, counted up to 10000.
    total: u64,
    /// There are more: continue with the cursor.
    #[serde(default, skip_serializing_if = "is_false")]
    truncated: bool,
    /// Where the next page begins.
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

impl Tool for SearchMemory {
    const NAME: &'static str = "search_memory";
    const TITLE: &'static str = "Search memory";
    const DESCRIPTION: &'static str = "Read back what was written with write_memory_entry, newest \
        first: all of it, or by words, file and time.";
    const FAMILY: &'static str = "memory";
    const PER_MINUTE: Option<u32> = Some(60);
    const WEIGHT: u32 = 2;
    const UNTRUSTED: bool = true;
    type Args = SearchMemoryArgs;
    type Output = MemoryEntries;

    async fn run(
        cx: &ToolContext,
        args: SearchMemoryArgs,
    ) -> Result<Reply<MemoryEntries>, Failure> {
        let project = cx.project(args.project.as_deref()).await?;
        let filter = args.filter(project.id, Timestamp::now())?;
        let after = args.cursor.as_deref().map(parse_cursor).transpose()?;
        let store = cx.store();
        // One more than is shown, to know whether another page follows.
        let most = i64::try_from(args.limit + 1).unwrap_or(i64::MAX);
        let finding = store.find_entries(&filter, after, most);
        let found = read_by(cx.cancel().deadline, finding).await;
        let (total, stored) = found.map_err(|error| unreachable(&error))?;
        let entries: Vec<MemoryEntry> = stored.iter().take(args.limit).map(memory_entry).collect();
        let page = page(entries, &stored, total, cx.max_result_bytes());
        Ok(page.of_memory(&project.slug))
    }
}

impl SearchMemoryArgs {
    fn filter(&self, project: Uuid, now: Timestamp) -> Result<EntryFilter, Failure> {
        let time = |argument, text: &Option<String>, end| {
            let second = text.as_deref().map(|text| {
                let second = parse_bound(text, end, now).ok_or_else(|| no_date(argument, text))?;
                Ok::<_, Failure>(second.max(EARLIEST_SECOND))
            });
            second.transpose()
        };
        Ok(EntryFilter {
            project,
            file: self.file,
            words: self.query.as_deref().map_or(Ok(Vec::new()), words_of)?,
            since: time("since", &self.since, SpanEnd::Since)?,
            until: time("until", &self.until, SpanEnd::Until)?,
        })
    }
}

fn words_of(query: &str) -> Result<Vec<String>, Failure> {
    let mut found = BTreeSet::new();
    words(query, &mut found);
    if found.is_empty() {
        return Err(Failure::new(
            Fault::InvalidArguments,
            format!("there is no word in the query {:?}", shown(query)),
            "give words of letters or digits, or leave query out to read all entries",
        ));
    }
    Ok(found.into_iter().collect())
}

fn no_date(argument: &str, text: &str) -> Failure {
    Failure::new(
        Fault::InvalidArguments,
        format!("{argument} {:?} is no date", shown(text)),
        "give a date or time, such as \"2026-01-07\", \"2026-01-07T14:00:00Z\", \"30 days ago\" or \
         \"yesterday\"",
    )
}

fn memory_entry(stored: &StoredEntry) -> MemoryEntry {
    let written_at = rfc3339(stored.written_at);
    let mut entry: Map<String, Value> = serde_json::from_str(&stored.entry).unwrap_or_default();
    let has_time = ["timestamp", ERASED_AT].iter().any(|name| entry.get(*name).is_some_and(|it| !it.is_null()));
    if !has_time {
        entry.insert("timestamp".to_owned(), written_at.clone().into());
    }
    MemoryEntry {
        file: stored.file.clone(),
        number: stored.number,
        written_at,
        entry,
    }
}

/// As many entries as fit, at least one, and the cursor after the last of them.
fn page(
    mut entries: Vec<MemoryEntry>,
    stored: &[StoredEntry],
    total: u64,
    budget: usize,
) -> Reply<MemoryEntries> {
    entries.truncate(paging::fit(&entries, budget).max(1));
    let is_cut = entries.len() < stored.len();
    let last = entries.len().checked_sub(1).and_then(|at| stored.get(at));
    let cursor = last.filter(|_| is_cut).map(cursor);
    let body = MemoryEntries {
        entries,
        total,
        truncated: is_cut,
        cursor: None,
    };
    Reply::new(body).cursor(cursor).verbatim()
}

fn cursor(last: &StoredEntry) -> String {
    format!("{}:{}:{}", last.written_at, last.file, last.number)
}

/// Parses a cursor.
fn parse_cursor(cursor: &str) -> Result<EntryPosition, Failure> {
    let read = || {
        let (written_at, rest) = cursor.split_once(':')?;
        let (file, number) = rest.split_once(':')?;
        Some(EntryPosition {
            written_at: written_at.parse().ok()?,
            file: MemoryFile::parse(file)?,
            number: number.parse().ok()?,
        })
    };
    read().ok_or_else(|| {
        Failure::new(
            Fault::InvalidArguments,
            "the cursor is not from this tool",
            "start again without a cursor",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(number: i64, bytes: usize) -> StoredEntry {
        StoredEntry {
            file: "decisions.jsonl".to_owned(),
            number,
            written_at: 1_767_794_400_000_000 + number,
            entry: format!("{{\"decision\":\"{}\"}}", "x".repeat(bytes)),
        }
    }

    fn paged(stored: &[StoredEntry], limit: usize, budget: usize) -> (usize, bool, bool) {
        let entries = stored.iter().take(limit).map(memory_entry).collect();
        let reply = page(entries, stored, 9, budget);
        let result = reply.into_result(true).unwrap();
        let data = &result["structuredContent"];
        let count = data["entries"].as_array().unwrap().len();
        let is_cut = data["truncated"] == true;
        (
            count,
            is_cut,
            result["_meta"].get("io.archway/cursor").is_some(),
        )
    }

    #[test]
    fn a_page_ends_at_its_limit_or_size_and_returns_a_cursor() {
        let found: Vec<_> = (0..3).map(|number| stored(number, 400)).collect();
        assert_eq!(paged(&found, 3, 1 << 16), (3, false, false));
        assert_eq!(paged(&found, 2, 1 << 16), (2, true, true));
        assert_eq!(paged(&found, 3, 2_100), (2, true, true));
        // An entry that fits nowhere is returned all the same, or no page would follow.
        assert_eq!(paged(&found, 3, 10), (1, true, true));
        assert_eq!(paged(&[], 3, 10), (0, false, false));
    }

    #[test]
    fn an_entry_without_a_time_has_the_servers() {
        let time = |entry: &str| {
            let entry = entry.to_owned();
            let shown = memory_entry(&StoredEntry { entry, ..stored(0, 0) });
            shown.entry.get("timestamp").cloned()
        };
        assert_eq!(time(r#"{"event":"x"}"#), Some("2026-01-07T14:00:00Z".into()));
        assert_eq!(time(r#"{"event":"x","timestamp":"1999"}"#), Some("1999".into()));
        assert_eq!(time(r#"{"erased_at":"2026"}"#), None);
    }

    #[test]
    fn a_cursor_round_trips_and_other_texts_are_rejected() {
        let last = stored(7, 1);
        let found = parse_cursor(&cursor(&last)).unwrap();
        assert_eq!((found.written_at, found.number), (last.written_at, 7));
        for bad in [
            "",
            "1",
            "1:decisions.jsonl",
            "1:x.jsonl:2",
            "x:decisions.jsonl:2",
        ] {
            assert!(parse_cursor(bad).is_err(), "{bad}");
        }
    }
}
