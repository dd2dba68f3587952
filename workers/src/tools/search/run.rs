//! One search over one project or all of them: skip, count, page, fit.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use archway_proto::{failure::Failure, fault::Fault, log::LogLevel};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use tokio::time::Instant;

use crate::{
    context::{Snapshot, ToolContext},
    projects::Project,
    repo::{Found, FoundLine, Glob, Query},
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

/// A page of found lines.
pub(super) struct Page<M> {
    pub(super) matches: Vec<M>,
    pub(super) total: u64,
    pub(super) files_searched: u64,
    pub(super) files_skipped: u64,
    pub(super) truncated: bool,
    /// The deadline came before all files were searched.
    pub(super) incomplete: bool,
    /// Context lines were left out, for want of room.
    pub(super) context_omitted: bool,
    /// Projects that could not be searched now.
    pub(super) skipped: Vec<String>,
    pub(super) duration_ms: u64,
}

/// The lines around a match.
#[derive(Serialize, JsonSchema)]
pub(super) struct Around {
    before: Vec<String>,
    after: Vec<String>,
}

/// A found line in the words of one contract.
pub(super) trait Match: Serialize {
    fn new(line: FoundLine, project: Option<String>, around: Around) -> Self;
    fn around(&mut self) -> &mut Around;
    /// The file it is in, below its project's name where several are searched.
    fn file(&self) -> String;
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
                Outcome::Absent => {
                    tell_absence(cx, &project.slug);
                    hits.skipped.push(project.slug.clone());
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
    /// It is not mounted here; the others are searched all the same.
    Absent,
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
            Fault::Unavailable => Ok(Outcome::Absent),
            _ => Err(failure),
        },
    }
}

fn tell_absence(cx: &ToolContext, slug: &str) {
    let message = "not searched: this worker does not see the project";
    let told = json!({ "message": message, "project": slug });
    cx.log(LogLevel::Warning, told);
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

/// What was found so far.
struct Hits<M> {
    basis: String,
    matches: Vec<M>,
    total: u64,
    files_searched: u64,
    files_skipped: u64,
    incomplete: bool,
    moved: bool,
    /// Projects that are not mounted where the search ran.
    skipped: Vec<String>,
    snapshot: Option<Snapshot<()>>,
}

impl<M: Match> Hits<M> {
    fn new(basis: String) -> Self {
        Hits {
            basis,
            matches: Vec::new(),
            total: 0,
            files_searched: 0,
            files_skipped: 0,
            incomplete: false,
            moved: false,
            skipped: Vec::new(),
            snapshot: None,
        }
    }

    fn add(&mut self, found: Found, project: Option<&str>) {
        self.total += found.total;
        self.files_searched += found.files_searched;
        self.files_skipped += found.files_skipped;
        self.incomplete |= found.incomplete;
        self.matches.extend(found.lines.into_iter().map(|mut line| {
            let around = Around {
                before: std::mem::take(&mut line.before),
                after: std::mem::take(&mut line.after),
            };
            M::new(line, project.map(str::to_owned), around)
        }));
    }

    /// The page that fits, and the cursor of the next. Context goes before a match does.
    fn page(&mut self, skip: usize, budget: usize, started: Instant) -> (Page<M>, Option<String>) {
        let mut matches = std::mem::take(&mut self.matches);
        let context_omitted = paging::fit(&matches, budget) < matches.len();
        if context_omitted {
            for found in &mut matches {
                *found.around() = Around {
                    before: Vec::new(),
                    after: Vec::new(),
                };
            }
            matches.truncate(paging::fit(&matches, budget).max(1));
        }
        let given = skip + matches.len();
        let more = (given as u64) < self.total;
        let page = Page {
            matches,
            total: self.total,
            files_searched: self.files_searched,
            files_skipped: self.files_skipped,
            truncated: more || self.incomplete || !self.skipped.is_empty(),
            incomplete: self.incomplete,
            context_omitted,
            skipped: std::mem::take(&mut self.skipped),
            duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        // A search that was cut off may end elsewhere the next time: there is no place to go on.
        let next = (more && !self.incomplete).then(|| paging::cursor(&self.basis, given));
        (page, next)
    }
}
