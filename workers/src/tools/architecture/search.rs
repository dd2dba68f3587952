//! `search_architecture`: the decisions, patterns and guidelines that are about a subject.

use std::sync::Arc;

use archway_architecture::{
    document::{Document, Kind, uri},
    library::{Libraries, Library},
    search::{Lacking, Match, Query, Vectors},
};
use archway_index::embed::Embedder;
use archway_proto::chain::Chain;
use archway_proto::failure::Failure;
use archway_repo::{Cancel, Repo};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::{Duration, Instant};

use crate::{
    context::Snapshot,
    projects::Project,
    tools::{Reply, Tool, ToolContext, markdown::cut, paging, schema::is_false},
};

/// How long a call waits for vectors, and never longer than half of the time that it has.
const VECTORS: Duration = Duration::from_secs(3);
/// How much of a title is shown, in bytes.
const MAX_TITLE: usize = 200;
/// How many decisions are named that took the place of one.
const MAX_SUCCESSORS: usize = 5;

/// Searches what a project says of its architecture.
pub(in crate::tools) struct SearchArchitecture;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct SearchArgs {
    /// What to find: words; a document with any of them is found.
    #[schemars(length(min = 1, max = 500))]
    query: String,
    /// Only documents of this kind.
    #[serde(default)]
    resource_type: ResourceType,
    /// Most results to return.
    #[serde(default = "default_results")]
    #[schemars(range(min = 1, max = 20))]
    max_results: usize,
    /// Project slug; see `list_projects`.
    #[schemars(length(min = 1, max = 63))]
    project: Option<String>,
}

fn default_results() -> usize {
    10
}

/// Which documents are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum ResourceType {
    Guidelines,
    Patterns,
    Adr,
    #[default]
    All,
}

#[derive(Serialize, JsonSchema)]
pub(in crate::tools) struct FoundDocuments {
    /// Best first.
    results: Vec<FoundDocument>,
    /// Documents that fit, also those that are not shown.
    total_matches: usize,
    /// Fewer are shown than were asked for, to fit the answer's size.
    #[serde(default, skip_serializing_if = "is_false")]
    truncated: bool,
    /// What else is to be known of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct FoundDocument {
    uri: String,
    title: String,
    /// adr, patterns or guidelines.
    resource_type: &'static str,
    /// Of a decision: proposed, accepted, rejected, deprecated, superseded or unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    /// URIs of the decisions that took its place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    superseded_by: Vec<String>,
    /// From 0 to 1.
    relevance_score: f64,
    /// Sentences of it, around what was looked for.
    excerpt: String,
}

/// What one look at a project found.
struct Page {
    documents: FoundDocuments,
    /// The files of those that are shown.
    files: Vec<String>,
    left_out: Vec<String>,
    /// Of these vectors are still to be asked for.
    lacking: Option<Lacking>,
}

impl Tool for SearchArchitecture {
    const NAME: &'static str = "search_architecture";
    const TITLE: &'static str = "Search architecture documents";
    const DESCRIPTION: &'static str = "Find the architecture decisions (ADRs), patterns and \
        guidelines of a project that are about a subject; a decision says whether it still holds. For code use context_search.";
    const FAMILY: &'static str = "architecture";
    const PER_MINUTE: Option<u32> = Some(30);
    const WEIGHT: u32 = 5;
    const UNTRUSTED: bool = true;
    type Args = SearchArgs;
    type Output = FoundDocuments;

    async fn run(cx: &ToolContext, args: SearchArgs) -> Result<Reply<FoundDocuments>, Failure> {
        let project = cx.project(args.project.as_deref()).await?;
        let default = cx.default_project(&cx.projects().await?);
        let is_default = default.is_some_and(|default| default.slug == project.slug);
        let until = Instant::now() + VECTORS.min(time_left(cx) / 2);
        let vector = vector(cx, &project, &args.query, until).await;
        let search = Arc::new(Search {
            query: Query::new(&args.query, args.resource_type.kind(), vector),
            project: (!is_default).then(|| project.slug.clone()),
            max_results: args.max_results,
            budget: cx.max_result_bytes(),
            libraries: cx.libraries().clone(),
            vectors: cx.vectors().clone(),
            embedder: Arc::clone(cx.meaning().embedder()),
        });
        let mut snapshot = search.look(cx, &project).await?;
        if let Some(lacking) = snapshot.value.lacking.take()
            && search.vectors.fetch(lacking, &search.embedder, until).await
        {
            snapshot = search.look(cx, &project).await?;
        }
        let left_out = std::mem::take(&mut snapshot.value.left_out);
        let files = std::mem::take(&mut snapshot.value.files);
        let reply = Reply::from_snapshot(snapshot, |page| page.documents);
        Ok(reply.warn(left_out).of_files(files))
    }
}

impl ResourceType {
    fn kind(self) -> Option<Kind> {
        match self {
            ResourceType::Guidelines => Some(Kind::Guideline),
            ResourceType::Patterns => Some(Kind::Pattern),
            ResourceType::Adr => Some(Kind::Adr),
            ResourceType::All => None,
        }
    }
}

/// All that a look at a project needs.
struct Search {
    query: Query,
    /// The project's slug, where URIs name it.
    project: Option<String>,
    max_results: usize,
    budget: usize,
    libraries: Libraries,
    vectors: Vectors,
    embedder: Arc<Embedder>,
}

impl Search {
    async fn look(
        self: &Arc<Self>,
        cx: &ToolContext,
        project: &Project,
    ) -> Result<Snapshot<Page>, Failure> {
        let search = Arc::clone(self);
        cx.read(project, move |repo, cancel| search.page(repo, cancel))
            .await
    }

    fn page(&self, repo: &Repo, cancel: &Cancel) -> Result<Page, Failure> {
        let library = self.libraries.of(repo, cancel)?;
        let vectors = match self.query.vector() {
            Some(_) => self
                .vectors
                .of(repo.key(), &library, &self.embedder, cancel),
            None => Ok(Ok(None)),
        };
        let vectors = vectors.map_err(archway_repo::RepoError::from)?;
        let (vectors, lacking) = match vectors {
            Ok(vectors) => (vectors, None),
            Err(lacking) => (None, Some(lacking)),
        };
        let found = self.query.find(&library, vectors.as_deref(), cancel);
        let found = found.map_err(archway_repo::RepoError::from)?;
        let documents = self.shown(&found, &library);
        let files = found.iter().take(documents.results.len());
        Ok(Page {
            files: files.map(|found| found.document.path.display()).collect(),
            documents,
            left_out: library.left_out().to_vec(),
            lacking,
        })
    }

    fn shown(&self, found: &[Match<'_>], library: &Library) -> FoundDocuments {
        let shown = found.iter().take(self.max_results);
        let mut results: Vec<FoundDocument> = shown.map(|found| self.result(found)).collect();
        let wanted = results.len();
        results.truncate(paging::fit(&results, self.budget));
        FoundDocuments {
            truncated: results.len() < wanted,
            results,
            total_matches: found.len(),
            note: library.documents().is_empty().then(nothing_there),
        }
    }

    fn result(&self, found: &Match<'_>) -> FoundDocument {
        let (document, project) = (found.document, self.project.as_deref());
        FoundDocument {
            uri: document.uri(project),
            title: cut(&document.title, MAX_TITLE).to_owned(),
            resource_type: document.kind.resource_type(),
            relevance_score: rounded(found.score),
            status: document.record.as_ref().map(|it| it.status.name()),
            superseded_by: successors(document, project),
            excerpt: self.query.excerpt(found),
        }
    }
}

/// What took the place of a decision that holds no longer: what is merely meant to is not told.
fn successors(document: &Document, project: Option<&str>) -> Vec<String> {
    let record = document.record.as_ref();
    let over = record.filter(|record| record.status.is_inactive());
    let slugs = over.into_iter().flat_map(|record| &record.superseded_by);
    let slugs = slugs.take(MAX_SUCCESSORS);
    slugs.map(|slug| uri(project, Kind::Adr, slug)).collect()
}

/// Three digits: what is behind them tells nobody anything.
fn rounded(score: f32) -> f64 {
    (f64::from(score) * 1000.0).round() / 1000.0
}

fn nothing_there() -> String {
    "the project has no architecture documents where they are looked for (docs/adr, docs/decisions, \
     docs/architecture/patterns, docs/architecture/guidelines, …); it can name its folders under \
     [architecture] in .archway.toml"
        .to_owned()
}

fn time_left(cx: &ToolContext) -> Duration {
    cx.cancel()
        .deadline
        .saturating_duration_since(Instant::now())
}

/// The query's vector, if there is an embedder that makes one in time.
async fn vector(
    cx: &ToolContext,
    project: &Project,
    query: &str,
    until: Instant,
) -> Option<Vec<f32>> {
    let embedder = cx.meaning().embedder();
    match embedder.query(cx.shelf(project), query, until).await {
        Ok(vector) => vector.map(|vector| vector.to_vec()),
        Err(error) => {
            tracing::info!(error = %Chain(&error), "documents are found by their words alone");
            None
        }
    }
}
