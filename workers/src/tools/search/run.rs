//! One search over one project or all of them: skip, count, page, fit.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use archway_proto::{failure::Failure, fault::Fault, log::LogLevel};
use archway_repo::{Found, Glob, Query};
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

/// What is asked, in the engine's words.
pub(super) struct Search {
    /// Without its glob, which is judged after the project.
    pub(super) query: Query,
    pub(super) glob: Option<String>,
    pub(super) project: Option<String>,
    pub(super) cursor: Option<String>,
}

impl Search {
    /// Runs the search and makes the answer's page.
    pub(super) async fn run<M: Match, B: Serialize>(
        self,
        cx: &ToolContext,
        body: impl FnOnce(Page<M>) -> B,
    ) -> Result<Reply<B>, Failure> {
        let started = Instant::now();
        let budget = cx.max_result_bytes();
        let cursor = self.cursor.clone();
        let skip = paging::given(cursor.as_deref());
        let mut hits = match self.project.as_deref() {
            Some(ALL) => self.everywhere(cx, skip).await?,
            _ => self.in_one(cx, skip).await?,
        };
        if !hits.incomplete {
            paging::resume(cursor.as_deref(), &hits.basis)?;
        }
        let (page, next) = hits.page(skip, budget, started);
        let mut files: Vec<String> = page.matches.iter().map(M::file).collect();
        files.dedup();
        let reply = match hits.snapshot {
            Some(snapshot) => Reply::from_snapshot(snapshot, |()| body(page)),
            None => Reply::new(body(page)),
        };
        let reply = reply.cursor(next).incomplete(hits.incomplete);
        Ok(reply.moved(hits.moved).of_files(files))
    }

    fn query(&self) -> Result<Query, Failure> {
        let glob = self.glob.as_deref().map(Glob::parse).transpose()?;
        Ok(Query {
            glob,
            ..self.query.clone()
        })
    }

    async fn in_one<M: Match>(self, cx: &ToolContext, skip: usize) -> Result<Hits<M>, Failure> {
        let project = cx.project(self.project.as_deref()).await?;
        let query = self.query()?;
        let query = Arc::new(Query { skip, ..query });
        let snapshot = search(cx, &project, &query).await?;
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
        let asked = self.query()?;
        let mut hits = Hits::new(String::new());
        hits.projects = projects.len();
        let mut heads = DefaultHasher::new();
        let (mut skip, mut limit) = (skip, asked.limit);
        for (done, project) in projects.iter().enumerate() {
            cx.progress(
                done as f64,
                projects.len() as f64,
                format!("searching {}", project.slug),
            );
            let query = Arc::new(Query {
                skip,
                limit,
                ..asked.clone()
            });
            project.slug.hash(&mut heads);
            let snapshot = match one_of_many(cx, project, &query).await? {
                Outcome::Found(snapshot) => snapshot,
                Outcome::Absent(why) => {
                    hits.skipped.push(skipped(cx, &project.slug, why));
                    continue;
                }
                Outcome::TimeUp => {
                    hits.incomplete = true;
                    break;
                }
            };
            let commit = snapshot.repo.head().map(|head| head.commit);
            commit.hash(&mut heads);
            hits.moved |= snapshot.moved;
            let found = snapshot.value;
            limit = limit.saturating_sub(found.lines.len());
            skip = skip.saturating_sub(usize::try_from(found.total).unwrap_or(usize::MAX));
            hits.add(found, Some(&project.slug));
            if hits.incomplete {
                break;
            }
        }
        hits.basis = format!("*{:016x}", heads.finish());
        Ok(hits)
    }
}

/// What one of several projects gave.
enum Outcome {
    Found(Snapshot<Found>),
    /// It can't be read now, for this reason; the others are searched all the same.
    Absent(String),
    /// What earlier projects gave stands.
    TimeUp,
}

async fn one_of_many(
    cx: &ToolContext,
    project: &Project,
    query: &Arc<Query>,
) -> Result<Outcome, Failure> {
    match search(cx, project, query).await {
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
) -> Result<Snapshot<Found>, Failure> {
    let query = Arc::clone(query);
    cx.read(
        project,
        move |repo, cancel| Ok(repo.search(&query, cancel)?),
    )
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
