//! `search_architecture`: finds decisions, patterns and guidelines about a subject.

mod result;

use std::sync::Arc;

use archway_architecture::{
    document::Kind,
    library::{Libraries, Library},
    search::{Match, MissingVectors, Query, Vectors},
};
use archway_index::embed::Embedder;
use archway_proto::failure::Failure;
use archway_repo::{Cancel, Repo};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::result::{DocumentResult, DocumentResults};
use super::vectors;
use crate::{
    blocking::Load,
    context::Snapshot,
    projects::Project,
    tools::{Reply, Tool, ToolContext, paging},
};

/// Searches the architecture documents of a project.
pub(in crate::tools) struct SearchArchitecture;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct SearchArgs {
    /// What to find: words; a document with any of them is found. Without it all documents are listed.
    #[schemars(length(min = 1, max = 500))]
    query: Option<String>,
    /// Only documents of this kind.
    #[serde(default)]
    resource_type: ResourceType,
    /// Most results to return.
    #[serde(default = "default_results")]
    #[schemars(range(min = 1, max = 20))]
    max_results: usize,
    /// The cursor of the previous page of a list.
    cursor: Option<String>,
    /// Project slug; see `list_projects`.
    #[schemars(length(min = 1, max = 63))]
    project: Option<String>,
}

fn default_results() -> usize {
    10
}

/// The kind of documents to find.
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

/// The result of one search of a project.
struct SearchOutcome {
    documents: DocumentResults,
    /// The files of the documents that are shown.
    files: Vec<String>,
    left_out: Vec<String>,
    /// Vectors that must be computed first, if any.
    missing_vectors: Option<MissingVectors>,
    /// The cursor of the next page, if there is one.
    next: Option<String>,
}

impl Tool for SearchArchitecture {
    const NAME: &'static str = "search_architecture";
    const TITLE: &'static str = "Search architecture documents";
    const DESCRIPTION: &'static str = "Find the architecture decisions (ADRs), patterns and \
        guidelines of a project that are about a subject, or list them all; a decision says whether it still holds. \
        For code use context_search.";
    const FAMILY: &'static str = "architecture";
    const PER_MINUTE: Option<u32> = Some(30);
    const WEIGHT: u32 = 5;
    const ASKS_FOR_MORE: &'static [(&'static str, u64)] = &[("max_results", 10)];
    const UNTRUSTED: bool = true;
    type Args = SearchArgs;
    type Output = DocumentResults;

    fn load(_: &Self::Args) -> Load {
        Load::Heavy
    }

    async fn run(cx: &ToolContext, args: SearchArgs) -> Result<Reply<DocumentResults>, Failure> {
        let project = cx.project(args.project.as_deref()).await?;
        let default = cx.default_project(&cx.projects().await?);
        let is_default = default.is_some_and(|default| default.slug == project.slug);
        let until = vectors::wait_until(cx);
        let vector = match &args.query {
            Some(query) => vectors::of_text(cx, &project, query, until).await,
            None => None,
        };
        let search = Arc::new(Search {
            query: Query::new(args.query.as_deref(), args.resource_type.kind(), vector),
            is_list: args.query.is_none(),
            cursor: args.cursor,
            project: (!is_default).then(|| project.slug.clone()),
            max_results: args.max_results,
            budget: cx.max_result_bytes(),
            libraries: cx.libraries().clone(),
            vectors: cx.vectors().clone(),
            embedder: Arc::clone(cx.index().embedder()),
        });
        let mut snapshot = search.search_once(cx, &project).await?;
        if let Some(missing_vectors) = snapshot.value.missing_vectors.take()
            && search
                .vectors
                .fetch(missing_vectors, &search.embedder, until)
                .await
        {
            snapshot = search.search_once(cx, &project).await?;
        }
        let left_out = std::mem::take(&mut snapshot.value.left_out);
        let files = std::mem::take(&mut snapshot.value.files);
        let next = snapshot.value.next.take();
        let reply = Reply::from_snapshot(snapshot, |page| page.documents);
        Ok(reply.warn(left_out).of_files(files).cursor(next))
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

/// The inputs of a search.
struct Search {
    query: Query,
    /// All documents are listed, page by page.
    is_list: bool,
    cursor: Option<String>,
    /// The project's slug, if URIs must name it.
    project: Option<String>,
    max_results: usize,
    budget: usize,
    libraries: Libraries,
    vectors: Vectors,
    embedder: Arc<Embedder>,
}

impl Search {
    async fn search_once(
        self: &Arc<Self>,
        cx: &ToolContext,
        project: &Project,
    ) -> Result<Snapshot<SearchOutcome>, Failure> {
        let search = Arc::clone(self);
        cx.read(project, move |repo, cancel| search.page(repo, cancel))
            .await
    }

    fn page(&self, repo: &Repo, cancel: &Cancel) -> Result<SearchOutcome, Failure> {
        let library = self.libraries.of(repo, cancel)?;
        let vectors = match self.query.vector() {
            Some(_) => self
                .vectors
                .of(repo.key(), &library, &self.embedder, cancel),
            None => Ok(Ok(None)),
        };
        let vectors = vectors.map_err(archway_repo::RepoError::from)?;
        let (vectors, missing_vectors) = match vectors {
            Ok(vectors) => (vectors, None),
            Err(missing_vectors) => (None, Some(missing_vectors)),
        };
        let found = self.query.find(&library, vectors.as_deref(), cancel);
        let found = found.map_err(archway_repo::RepoError::from)?;
        let basis = paging::basis(repo.head().as_ref());
        let skip = paging::resume(self.cursor.as_deref(), &basis)?;
        let page = found.get(skip..).unwrap_or_default();
        let mut documents = self.shown(page);
        documents.total_matches = found.len();
        documents.note = found.is_empty().then(|| self.nothing_found(&library));
        let returned = skip + documents.results.len();
        let has_next = self.is_list && returned < found.len();
        documents.truncated |= has_next;
        let files = page.iter().take(documents.results.len());
        Ok(SearchOutcome {
            files: files.map(|found| found.document.path.display()).collect(),
            documents,
            next: has_next.then(|| paging::cursor(&basis, returned)),
            left_out: library.omitted().to_vec(),
            missing_vectors,
        })
    }

    fn shown(&self, found: &[Match<'_>]) -> DocumentResults {
        let shown = found.iter().take(self.max_results);
        let mut results: Vec<DocumentResult> = shown
            .map(|found| DocumentResult::of(found, &self.query, self.project.as_deref()))
            .collect();
        let requested = results.len();
        // At least one, or the cursor would not advance.
        results.truncate(paging::fit(&results, self.budget).max(1));
        DocumentResults {
            truncated: results.len() < requested,
            results,
            total_matches: found.len(),
            cursor: None,
            note: None,
        }
    }

    /// What to do if nothing is found.
    fn nothing_found(&self, library: &Library) -> String {
        let note = match (library.documents().is_empty(), self.is_list) {
            (true, _) => {
                "the project has no architecture documents where they are looked for (docs/adr, docs/decisions, \
                 docs/architecture/patterns, docs/architecture/guidelines, …); it can name its folders under \
                 [architecture] in .archway.toml"
            }
            (false, true) => "there are no documents of this resource_type: leave it out",
            (false, false) => {
                "no document is about it: use other words, or leave out query and resource_type for a list of all"
            }
        };
        note.to_owned()
    }
}
