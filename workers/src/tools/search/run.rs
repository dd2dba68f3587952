//! Runs one search over one project or all of them, and returns a page.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use archway_proto::{failure::Failure, fault::Fault, log::LogLevel};
use archway_repo::{Glob, MatchRange, Matches, Query};
use serde::Serialize;
use serde_json::json;
use tokio::time::Instant;

use super::collected::{CollectedMatches, Match, MatchPage, SkippedProject};
use crate::{
    context::{Snapshot, ToolContext},
    projects::Project,
    tools::{Reply, paging},
};

/// The argument that searches every project the caller may read.
const ALL: &str = "*";
/// Maximum number of projects that one call searches.
const MAX_PROJECTS: usize = 50;

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
        let budget = cx.max_result_bytes();
        let cursor = self.cursor.clone();
        let skip = paging::items_before(cursor.as_deref());
        let mut collected = match self.project.as_deref() {
            Some(ALL) => self.search_all(cx, skip).await?,
            _ => self.search_one(cx, skip).await?,
        };
        if !collected.totals.incomplete {
            paging::resume(cursor.as_deref(), &collected.basis)?;
        }
        let (page, next) = collected.page(skip, budget, started);
        let mut files: Vec<String> = page.matches.iter().map(M::file).collect();
        files.dedup();
        let reply = match collected.snapshot {
            Some(snapshot) => Reply::from_snapshot(snapshot, |()| body(page)),
            None => Reply::new(body(page)),
        };
        let reply = reply.cursor(next).incomplete(collected.totals.incomplete);
        Ok(reply.moved(collected.moved).of_files(files))
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
        let mut collected = CollectedMatches::new(basis);
        collected.add(found, None);
        collected.snapshot = Some(Snapshot {
            value: (),
            repo,
            moved,
        });
        Ok(collected)
    }

    async fn search_all<M: Match>(
        self,
        cx: &ToolContext,
        skip: usize,
    ) -> Result<CollectedMatches<M>, Failure> {
        let projects = cx.projects().await?;
        if projects.len() > MAX_PROJECTS {
            return Err(too_many(projects.len()));
        }
        let mut range = MatchRange {
            skip,
            limit: self.limit,
        };
        let query = self.query()?;
        let mut collected = CollectedMatches::new(String::new());
        collected.projects = projects.len();
        let mut heads = DefaultHasher::new();
        for (done, project) in projects.iter().enumerate() {
            cx.progress(
                done as f64,
                projects.len() as f64,
                format!("searching {}", project.slug),
            );
            project.slug.hash(&mut heads);
            let snapshot = match search_one_of_many(cx, project, &query, range).await? {
                ProjectOutcome::Found(snapshot) => snapshot,
                ProjectOutcome::Absent(why) => {
                    collected.skipped.push(skipped(cx, &project.slug, why));
                    continue;
                }
                ProjectOutcome::TimeUp => {
                    collected.totals.incomplete = true;
                    break;
                }
            };
            let commit = snapshot.repo.head().map(|head| head.commit);
            commit.hash(&mut heads);
            collected.moved |= snapshot.moved;
            let found = snapshot.value;
            let matches = usize::try_from(found.totals.matches).unwrap_or(usize::MAX);
            range.limit = range.limit.saturating_sub(found.lines.len());
            range.skip = range.skip.saturating_sub(matches);
            collected.add(found, Some(&project.slug));
            if collected.totals.incomplete {
                break;
            }
        }
        collected.basis = format!("*{:016x}", heads.finish());
        Ok(collected)
    }
}

fn too_many(projects: usize) -> Failure {
    Failure::new(
        Fault::InvalidArguments,
        format!("{projects} projects are too many for one search"),
        "name one in `project`; list_projects finds it",
    )
}

/// The outcome for one of several projects.
enum ProjectOutcome {
    Found(Snapshot<Matches>),
    /// The project can't be read now, for this reason. The others are still searched.
    Absent(String),
    /// The deadline passed. The matches of earlier projects are returned.
    TimeUp,
}

async fn search_one_of_many(
    cx: &ToolContext,
    project: &Project,
    query: &Arc<Query>,
    range: MatchRange,
) -> Result<ProjectOutcome, Failure> {
    match search(cx, project, query, range).await {
        Ok(snapshot) => Ok(ProjectOutcome::Found(snapshot)),
        Err(failure) => match failure.code {
            Fault::SearchTimeout => Ok(ProjectOutcome::TimeUp),
            Fault::Unavailable => Ok(ProjectOutcome::Absent(failure.message)),
            _ => Err(failure),
        },
    }
}

/// Logs to the caller at once that a project was skipped. The answer says so, too.
fn skipped(cx: &ToolContext, slug: &str, why: String) -> SkippedProject {
    let message = json!({ "message": format!("not searched: {why}"), "project": slug });
    cx.log(LogLevel::Warning, message);
    let slug = slug.to_owned();
    SkippedProject { slug, why }
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
