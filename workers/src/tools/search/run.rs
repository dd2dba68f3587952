//! Runs one search over one project or all of them, and returns a page.

use std::sync::Arc;

use archway_proto::failure::Failure;
use archway_repo::{Glob, MatchRange, Matches, Query};
use serde::Serialize;
use tokio::time::Instant;

use super::{
    collected::{CollectedMatches, Match, MatchPage},
    every_project::EveryProjectMatches,
};
use crate::{
    context::{Snapshot, ToolContext},
    projects::Project,
    tools::{
        Reply,
        every_project::{self, as_search_timeout},
        paging,
    },
};

/// The argument that searches every project the caller may read.
const ALL: &str = "*";

/// One search, as requested.
pub(super) struct Search<Q> {
    /// Builds the query, once the project is known and the glob is parsed.
    pub(super) query: Q,
    pub(super) glob: Option<String>,
    /// Maximum number of matching lines on a page.
    pub(super) limit: usize,
    pub(super) project: Option<String>,
    pub(super) cursor: Option<String>,
}

impl<Q: FnOnce(Option<Glob>) -> Query> Search<Q> {
    /// Runs the search and builds the page of the answer.
    pub(super) async fn run<M: Match, B: Serialize>(
        self,
        cx: &ToolContext,
        body: impl FnOnce(MatchPage<M>) -> B,
    ) -> Result<Reply<B>, Failure> {
        let started = Instant::now();
        match self.project.as_deref() {
            Some(ALL) => self.run_all(cx, started, body).await,
            _ => self.run_one(cx, started, body).await,
        }
    }

    async fn run_one<M: Match, B: Serialize>(
        self,
        cx: &ToolContext,
        started: Instant,
        body: impl FnOnce(MatchPage<M>) -> B,
    ) -> Result<Reply<B>, Failure> {
        let budget = cx.max_result_bytes();
        let cursor = self.cursor.clone();
        let skip = paging::items_before(cursor.as_deref());
        let mut collected = self.search_one(cx, skip).await?;
        if !collected.totals.incomplete {
            paging::resume(cursor.as_deref(), &collected.basis)?;
        }
        let (page, next) = collected.page(skip, budget, started);
        let files = files(&page);
        let reply = match collected.snapshot {
            Some(snapshot) => Reply::from_snapshot(snapshot, |()| body(page)),
            None => Reply::new(body(page)),
        };
        let reply = reply.cursor(next).incomplete(collected.totals.incomplete);
        Ok(reply.of_files(files))
    }

    async fn run_all<M: Match, B: Serialize>(
        self,
        cx: &ToolContext,
        started: Instant,
        body: impl FnOnce(MatchPage<M>) -> B,
    ) -> Result<Reply<B>, Failure> {
        let (cursor, limit) = (self.cursor.clone(), self.limit);
        let mut page = EveryProjectMatches {
            limit,
            budget: cx.max_result_bytes(),
            query: self.query()?,
            collected: CollectedMatches::new(String::new()),
        };
        let every = every_project::collect(cx, cursor.as_deref(), &mut page).await?;
        let mut collected = page.collected;
        collected.projects = every.done;
        collected.skipped = every.skipped;
        collected.totals.incomplete = every.is_late;
        let page = collected.whole_page(every.next.is_some(), started);
        let files = files(&page);
        let reply = Reply::new(body(page)).cursor(every.next);
        let reply = reply.incomplete(every.is_late).moved(every.moved);
        Ok(reply.projects(Some(every.projects)).of_files(files))
    }

    fn query(self) -> Result<Arc<Query>, Failure> {
        let glob = self.glob.as_deref().map(Glob::parse).transpose()?;
        Ok(Arc::new((self.query)(glob)))
    }

    async fn search_one<M: Match>(
        self,
        cx: &ToolContext,
        skip: usize,
    ) -> Result<CollectedMatches<M>, Failure> {
        let project = cx.project(self.project.as_deref()).await?;
        let range = MatchRange::of(skip, self.limit);
        let query = self.query()?;
        let snapshot = search(cx, &project, &query, range).await?;
        let basis = paging::basis(snapshot.repo.head().as_ref());
        let mut collected = CollectedMatches::new(basis);
        collected.snapshot = Some(snapshot.map(|found| collected.add(found, None)));
        Ok(collected)
    }
}

/// The files of a page, without repetitions.
fn files<M: Match>(page: &MatchPage<M>) -> Vec<String> {
    let mut files: Vec<String> = page.matches.iter().map(M::file).collect();
    files.dedup();
    files
}

/// Searches one project.
///
/// # Errors
/// `search_timeout` if the time was up before the search began, and those of a read.
async fn search(
    cx: &ToolContext,
    project: &Project,
    query: &Arc<Query>,
    range: MatchRange,
) -> Result<Snapshot<Matches>, Failure> {
    let query = Arc::clone(query);
    let read = cx.read(project, move |repo, cancel| {
        Ok(repo.search(&query, range, cancel)?)
    });
    read.await.map_err(as_search_timeout)
}
