//! One search over one project or all of them: skip, count, page, fit.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use archway_proto::{failure::Failure, fault::Fault, log::LogLevel};
use archway_repo::{Glob, MatchRange, Matches, Query};
use serde::Serialize;
use serde_json::json;
use tokio::time::Instant;

use super::hits::{Hits, Match, Page, Skipped};
use crate::{
    context::{Snapshot, ToolContext},
    projects::Project,
    tools::{Reply, paging},
};

/// Searches every project the caller may read.
const ALL: &str = "*";
/// How many projects one call searches.
const MAX_PROJECTS: usize = 50;

/// One search, as its caller asks for it.
pub(super) struct Search<Q> {
    /// Makes the query, once the project is known and the glob is parsed.
    pub(super) query: Q,
    pub(super) glob: Option<String>,
    /// Matching lines on a page, at most.
    pub(super) limit: usize,
    pub(super) project: Option<String>,
    pub(super) cursor: Option<String>,
}

impl<Q: FnOnce(Option<Glob>) -> Query> Search<Q> {
    /// Runs the search and makes the answer's page.
    pub(super) async fn run<M: Match, B: Serialize>(
        self,
        cx: &ToolContext,
        body: impl FnOnce(Page<M>) -> B,
    ) -> Result<Reply<B>, Failure> {
        let started = Instant::now();
        let budget = cx.max_result_bytes();
        let cursor = self.cursor.clone();
        let skip = paging::items_before(cursor.as_deref());
        let mut hits = match self.project.as_deref() {
            Some(ALL) => self.everywhere(cx, skip).await?,
            _ => self.in_one(cx, skip).await?,
        };
        if !hits.totals.incomplete {
            paging::resume(cursor.as_deref(), &hits.basis)?;
        }
        let (page, next) = hits.page(skip, budget, started);
        let mut files: Vec<String> = page.matches.iter().map(M::file).collect();
        files.dedup();
        let reply = match hits.snapshot {
            Some(snapshot) => Reply::from_snapshot(snapshot, |()| body(page)),
            None => Reply::new(body(page)),
        };
        let reply = reply.cursor(next).incomplete(hits.totals.incomplete);
        Ok(reply.moved(hits.moved).of_files(files))
    }

    fn query(self) -> Result<Arc<Query>, Failure> {
        let glob = self.glob.as_deref().map(Glob::parse).transpose()?;
        Ok(Arc::new((self.query)(glob)))
    }

    async fn in_one<M: Match>(self, cx: &ToolContext, skip: usize) -> Result<Hits<M>, Failure> {
        let project = cx.project(self.project.as_deref()).await?;
        let range = MatchRange {
            skip,
            limit: self.limit,
        };
        let query = self.query()?;
        let snapshot = search(cx, &project, &query, range).await?;
        let basis = paging::basis(snapshot.repo.head().as_ref());
        let Snapshot {
            value: found,
            repo,
            moved,
        } = snapshot;
        let mut hits = Hits::new(basis);
        hits.add(found, None);
        hits.snapshot = Some(Snapshot {
            value: (),
            repo,
            moved,
        });
        Ok(hits)
    }

    async fn everywhere<M: Match>(self, cx: &ToolContext, skip: usize) -> Result<Hits<M>, Failure> {
        let projects = cx.projects().await?;
        if projects.len() > MAX_PROJECTS {
            let message = format!("{} projects are too many for one search", projects.len());
            let suggestion = "name one in `project`; list_projects finds it";
            return Err(Failure::new(Fault::InvalidArguments, message, suggestion));
        }
        let mut range = MatchRange {
            skip,
            limit: self.limit,
        };
        let query = self.query()?;
        let mut hits = Hits::new(String::new());
        hits.projects = projects.len();
        let mut heads = DefaultHasher::new();
        for (done, project) in projects.iter().enumerate() {
            cx.progress(
                done as f64,
                projects.len() as f64,
                format!("searching {}", project.slug),
            );
            project.slug.hash(&mut heads);
            let snapshot = match one_of_many(cx, project, &query, range).await? {
                Outcome::Found(snapshot) => snapshot,
                Outcome::Absent(why) => {
                    hits.skipped.push(skipped(cx, &project.slug, why));
                    continue;
                }
                Outcome::TimeUp => {
                    hits.totals.incomplete = true;
                    break;
                }
            };
            let commit = snapshot.repo.head().map(|head| head.commit);
            commit.hash(&mut heads);
            hits.moved |= snapshot.moved;
            let found = snapshot.value;
            let matches = usize::try_from(found.totals.matches).unwrap_or(usize::MAX);
            range.limit = range.limit.saturating_sub(found.lines.len());
            range.skip = range.skip.saturating_sub(matches);
            hits.add(found, Some(&project.slug));
            if hits.totals.incomplete {
                break;
            }
        }
        hits.basis = format!("*{:016x}", heads.finish());
        Ok(hits)
    }
}

/// What one of several projects gave.
enum Outcome {
    Found(Snapshot<Matches>),
    /// It can't be read now, for this reason; the others are searched all the same.
    Absent(String),
    /// What earlier projects gave stands.
    TimeUp,
}

async fn one_of_many(
    cx: &ToolContext,
    project: &Project,
    query: &Arc<Query>,
    range: MatchRange,
) -> Result<Outcome, Failure> {
    match search(cx, project, query, range).await {
        Ok(snapshot) => Ok(Outcome::Found(snapshot)),
        Err(failure) => match failure.code {
            Fault::SearchTimeout => Ok(Outcome::TimeUp),
            Fault::Unavailable => Ok(Outcome::Absent(failure.message)),
            _ => Err(failure),
        },
    }
}

/// Tells at once that a project is left out; the answer says so, too.
fn skipped(cx: &ToolContext, slug: &str, why: String) -> Skipped {
    let told = json!({ "message": format!("not searched: {why}"), "project": slug });
    cx.log(LogLevel::Warning, told);
    let slug = slug.to_owned();
    Skipped { slug, why }
}

async fn search(
    cx: &ToolContext,
    project: &Project,
    query: &Arc<Query>,
    range: MatchRange,
) -> Result<Snapshot<Matches>, Failure> {
    let query = Arc::clone(query);
    cx.read(project, move |repo, cancel| {
        Ok(repo.search(&query, range, cancel)?)
    })
    .await
    .map_err(|failure| match failure.code {
        Fault::DeadlineExceeded => Failure::new(
            Fault::SearchTimeout,
            "the time was up before the search began",
            "narrow the search: one project, a glob, a rarer pattern",
        ),
        _ => failure,
    })
}
