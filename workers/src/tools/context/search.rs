//! `context_search`: search by meaning and by words.
//!
//! It ranks code, discoveries and memory entries together. Code is read from the commit that was
//! indexed, under the current path rules.

mod request;
mod content;
mod texts;
mod declaration;
mod last_commit;
mod room;
mod filter;
mod matches;
mod markdown;
mod ranked;
mod reads;
mod result;
mod scope;

use std::sync::Arc;

use archway_proto::failure::Failure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use self::matches::IndexMatches;
use self::request::{ChunkType, NoteType, ProjectScope, SearchRequest};
use self::result::{IndexState, SearchResult};
use self::scope::SearchScope;
use crate::blocking::Load;
use crate::tools::{Reply, Tool, ToolContext};

/// Searches by meaning.
pub(in crate::tools) struct ContextSearch;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct SearchArgs {
    /// What to find, in your own words or with names from the code.
    #[schemars(length(min = 3, max = 5000))]
    query: String,
    /// Only notes (`record_discovery`, decisions.jsonl) of this type, no files: for ADRs use
    /// `search_architecture`. All: code and documents, too.
    #[serde(default, rename = "type")]
    kind: NoteType,
    /// Only this module: a name from `read_file`, or a folder.
    #[schemars(length(min = 1, max = 200))]
    module: Option<String>,
    /// Most results to return.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 20))]
    limit: usize,
    /// Only this project, also those that it links to, or all that you may read.
    #[serde(default)]
    project_scope: ProjectScope,
    /// Only code of these kinds.
    #[schemars(length(min = 1, max = 5))]
    chunk_type: Option<Vec<ChunkType>>,
    /// Only code in files that match this glob, e.g. "src/**/*.ts"; after `!`, that don't: "!tests/**".
    #[schemars(length(min = 1, max = 512))]
    path_glob: Option<String>,
    /// Project slug; see `list_projects`.
    #[schemars(length(min = 1, max = 63))]
    project: Option<String>,
}

fn default_limit() -> usize {
    5
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::tools) struct SearchResults {
    results: Vec<SearchResult>,
    query: String,
    /// Number of matching chunks, at most 200.
    total_found: usize,
    search_time: u64,
    index: IndexState,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Tool for ContextSearch {
    const NAME: &'static str = "context_search";
    const TITLE: &'static str = "Search by meaning";
    const DESCRIPTION: &'static str = "Find the functions, classes, documents, discoveries and \
        decisions that are about a subject, described in your own words. For exact text or a \
        regular expression use grep_codebase, for entries by date search_memory, for decisions kept \
        as files (ADRs) search_architecture.";
    const FAMILY: &'static str = "context";
    const PER_MINUTE: Option<u32> = Some(30);
    const WEIGHT: u32 = 5;
    const ASKS_FOR_MORE: &'static [(&'static str, u64)] = &[("limit", 5)];
    const UNTRUSTED: bool = true;
    type Args = SearchArgs;
    type Output = SearchResults;

    fn load(_: &Self::Args) -> Load {
        Load::Heavy
    }

    async fn run(cx: &ToolContext, args: SearchArgs) -> Result<Reply<SearchResults>, Failure> {
        let started = Instant::now();
        let request = Arc::new(SearchRequest::of(&args)?);
        let scope = SearchScope::of(cx, &args).await?;
        let found = IndexMatches::of(cx, &scope, &request, args.limit).await?;
        let (mut page, snapshot) = content::read(cx, &scope, found).await?;
        page.advise(&request);
        let (commit, projects) = (page.index.commit.clone(), page.projects.take());
        let heading = markdown::Heading {
            query: &args.query,
            now: jiff::Timestamp::now(),
        };
        let markdown = markdown::render(&heading, &page);
        let query = args.query.clone();
        let one_project = scope.projects.len() == 1;
        let files = page.files(one_project);
        let body = SearchResults {
            results: page.results,
            query,
            total_found: page.total,
            search_time: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            index: page.index,
            note: page.note,
        };
        let reply = match snapshot {
            Some(snapshot) => Reply::from_snapshot(snapshot, |()| body),
            None => Reply::new(body),
        };
        let reply = reply.markdown(markdown).of_files(files).projects(projects);
        Ok(match one_project {
            true => reply.indexed_at(commit),
            false => reply.of_several(),
        })
    }
}
