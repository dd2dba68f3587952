//! `search_memory`: the entries of the memory files and the discoveries, newest first, in pages.

use std::{collections::BTreeSet, sync::Arc};

use archway_history::{SpanEnd, parse_bound};
use archway_proto::{failure::Failure, fault::Fault};
use archway_repo::text::shown;
use archway_store::memory::{
    EntryFilter, MemoryFile, StoredDiscovery, read_by, unreachable, words,
};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;
use uuid::Uuid;

use super::page::{MemoryPage, Position, page};
use crate::projects::Project;
use crate::tools::{Reply, Tool, ToolContext};

/// Searches entries and discoveries.
pub(in crate::tools) struct SearchMemory;

/// No entry is older than 1970, and Postgres rejects much earlier dates.
const EARLIEST_SECOND: i64 = 0;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct SearchMemoryArgs {
    /// Only entries of this file, and no discoveries.
    file: Option<MemoryFile>,
    /// Only those in which all these words occur, ignoring case.
    #[schemars(length(min = 1, max = 500))]
    query: Option<String>,
    /// Written then or later, by the server's clock: a date or time, or as "30 days ago".
    #[schemars(length(min = 1, max = 64))]
    since: Option<String>,
    /// Written then or before.
    #[schemars(length(min = 1, max = 64))]
    until: Option<String>,
    /// Entries and discoveries on a page.
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

impl Tool for SearchMemory {
    const NAME: &'static str = "search_memory";
    const TITLE: &'static str = "Search memory";
    const DESCRIPTION: &'static str = "Read back what was written with write_memory_entry and \
        record_discovery, newest first: all of it, or by words, file and time.";
    const FAMILY: &'static str = "memory";
    const PER_MINUTE: Option<u32> = Some(60);
    const WEIGHT: u32 = 2;
    const ASKS_FOR_MORE: &'static [(&'static str, u64)] = &[("limit", 20)];
    const UNTRUSTED: bool = true;
    type Args = SearchMemoryArgs;
    type Output = MemoryPage;

    async fn run(cx: &ToolContext, args: SearchMemoryArgs) -> Result<Reply<MemoryPage>, Failure> {
        let project = cx.project(args.project.as_deref()).await?;
        let filter = args.filter(project.id, Timestamp::now())?;
        let after = args.cursor.as_deref().map(Position::parse).transpose()?;
        let store = cx.store();
        // One more than is shown, to know whether another page follows.
        let most = i64::try_from(args.limit + 1).unwrap_or(i64::MAX);
        let finding = async {
            let entries = store.find_entries(&filter, after.map(Position::entry), most);
            let (entries_total, entries) = entries.await?;
            let after = after.map(Position::discovery);
            let (total, discoveries) = store.find_discoveries(&filter, after, most).await?;
            Ok((entries_total + total, entries, discoveries))
        };
        let found = read_by(cx.cancel().deadline, finding).await;
        let (total, entries, mut discoveries) = found.map_err(|error| unreachable(&error))?;
        hide_closed(cx, &project, &mut discoveries).await?;
        let page = page(
            entries,
            discoveries,
            (total, args.limit),
            cx.max_result_bytes(),
            args.advice(),
        );
        Ok(page.of_memory(&project.slug))
    }
}

/// Removes from discoveries the paths that rules have closed since.
async fn hide_closed(
    cx: &ToolContext,
    project: &Arc<Project>,
    discoveries: &mut [StoredDiscovery],
) -> Result<(), Failure> {
    if discoveries
        .iter()
        .all(|discovery| discovery.paths.is_empty())
    {
        return Ok(());
    }
    let rules = cx.rules(std::slice::from_ref(project)).await?;
    let rules = rules.first().unwrap_or(&project.rules);
    for discovery in discoveries {
        discovery.paths.retain(|path| rules.allows_naming(path));
    }
    Ok(())
}

impl SearchMemoryArgs {
    /// What to do if nothing is found.
    fn advice(&self) -> &'static str {
        let texts = [&self.query, &self.since, &self.until];
        match self.file.is_some() || texts.iter().any(|text| text.is_some()) {
            true => "nothing fits: use other words, or leave out query, file, since and until",
            false => "nothing was written yet: write_memory_entry and record_discovery write",
        }
    }

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
