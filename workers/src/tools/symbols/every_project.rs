//! `find_symbol` over every project that the caller may read, page by page.
//!
//! The default project comes first, then the others by slug, as for searches. The cursor names the
//! project and how many of its definitions earlier pages have.

use std::sync::Arc;

use archway_proto::{failure::Failure, fault::Fault};
use archway_repo::{Cancel, Repo};
use serde_json::{Value, json};

use super::{
    find::{FoundSymbol, FoundSymbols, Wanted, find},
    sources::Sources,
};
use crate::{
    context::{Snapshot, ToolContext},
    projects::Project,
    tools::{is_of_the_project, paging, search::Place},
};

/// Projects that one thread looks in, one after the other.
const BATCH: usize = 8;
/// Projects that one answer names as skipped.
const MAX_SKIPPED: usize = 50;

/// What a page is to have.
pub(super) struct PageRequest {
    pub(super) wanted: Wanted,
    pub(super) limit: usize,
    /// Bytes.
    pub(super) budget: usize,
    pub(super) cursor: Option<String>,
}

/// A page.
#[derive(Default)]
pub(super) struct Page {
    pub(super) symbols: Vec<FoundSymbol>,
    /// Definitions in the projects of this page.
    pub(super) total: usize,
    pub(super) truncated: bool,
    pub(super) is_late: bool,
    pub(super) moved: bool,
    pub(super) next: Option<String>,
    pub(super) projects: Value,
    /// As `PROJECT/PATH`.
    pub(super) files: Vec<String>,
    searched: usize,
    skipped: Vec<Value>,
}

/// Looks in the projects of a page.
///
/// # Errors
/// `invalid_arguments` for a cursor of another state, and failures that are of no one project.
pub(super) async fn page(cx: &ToolContext, request: PageRequest) -> Result<Page, Failure> {
    let readable = cx.projects().await?;
    let slugs = readable.iter().map(|project| project.slug.as_str());
    let start = request.cursor.as_deref();
    let start = start
        .map(|cursor| Place::parse(cursor, slugs))
        .transpose()?;
    let default = match &start {
        Some(start) => start.default.clone(),
        None => cx
            .default_project(&readable)
            .map(|it| paging::hash(&it.slug)),
    };
    let readable = Place::order(readable, default.as_deref(), start.as_ref());
    let mut page = Page::default();
    'pages: for batch in readable.chunks(BATCH) {
        for (project, found) in batch.iter().zip(read(cx, batch, &request.wanted).await?) {
            let start = start.as_ref().filter(|it| it.project == project.slug);
            let Some((commit, skip)) = page.add(&request, project, start, found)? else {
                continue;
            };
            let place = Place {
                default: default.clone(),
                project: project.slug.clone(),
                commit: commit.filter(|_| skip > 0),
                skip,
            };
            page.next = Some(place.cursor());
            break 'pages;
        }
    }
    let done = page.searched + page.skipped.len();
    page.truncated |= page.next.is_some();
    page.projects = json!({
        "searched": page.searched,
        "remaining": readable.len().saturating_sub(done),
        "skipped": page.skipped,
    });
    Ok(page)
}

/// What each project of a batch has.
async fn read(
    cx: &ToolContext,
    batch: &[Arc<Project>],
    wanted: &Wanted,
) -> Result<Vec<Result<Snapshot<FoundSymbols>, Failure>>, Failure> {
    let (cache, wanted) = (cx.symbols().clone(), wanted.clone());
    let look = move |repo: &Repo, cancel: &Cancel, _: &[_]| {
        let cache = &cache;
        find(
            &Sources {
                cache,
                repo,
                cancel,
            },
            &wanted,
        )
    };
    cx.read_each(batch, look).await
}

/// Where in a project the next page begins: the commit in which its definitions were counted, and how
/// many earlier pages have.
type Rest = (Option<String>, usize);

impl Page {
    /// Adds the definitions of a project. Returns where the next page begins if this one is full.
    fn add(
        &mut self,
        request: &PageRequest,
        project: &Project,
        start: Option<&Place>,
        found: Result<Snapshot<FoundSymbols>, Failure>,
    ) -> Result<Option<Rest>, Failure> {
        let snapshot = match found {
            Ok(snapshot) => snapshot,
            Err(failure) if is_of_the_project(failure.code) => {
                self.skipped
                    .push(json!({ "project": project.slug, "code": failure.code }));
                let is_full = self.skipped.len() >= MAX_SKIPPED;
                return Ok(is_full.then_some((None, 0)));
            }
            Err(failure) if failure.code == Fault::DeadlineExceeded && self.searched > 0 => {
                self.is_late = true;
                return Ok(Some((None, 0)));
            }
            Err(failure) => return Err(failure),
        };
        let commit = snapshot.repo.head().map(|head| head.commit);
        let commit = commit
            .as_deref()
            .map(|commit| paging::short_commit(commit).to_owned());
        let skip = start.map_or(0, |start| start.skip);
        if skip > 0 && start.is_some_and(|start| start.commit != commit) {
            return Err(paging::other_state());
        }
        self.searched += 1;
        self.moved |= snapshot.moved;
        self.truncated |= snapshot.value.is_incomplete;
        let symbols = snapshot.value.symbols;
        self.total += symbols.len();
        let shown = self.show(
            request,
            &project.slug,
            symbols.get(skip..).unwrap_or_default(),
        );
        let is_whole = skip + shown >= symbols.len();
        Ok((!is_whole).then_some((commit, skip + shown)))
    }

    /// Adds as many definitions as there is room for. Returns how many.
    fn show(&mut self, request: &PageRequest, slug: &str, symbols: &[FoundSymbol]) -> usize {
        let room = request.limit.saturating_sub(self.symbols.len());
        let symbols = symbols.iter().take(room).cloned();
        let named: Vec<FoundSymbol> = symbols
            .map(|mut symbol| {
                symbol.project = Some(slug.to_owned());
                symbol
            })
            .collect();
        let used = paging::size_of_all(&self.symbols);
        let fits = paging::fit_within(&named, request.budget.saturating_sub(used));
        let least = usize::from(self.symbols.is_empty()).min(named.len());
        let shown = fits.max(least);
        for symbol in named.into_iter().take(shown) {
            self.files.push(format!("{slug}/{}", symbol.path));
            self.symbols.push(symbol);
        }
        shown
    }
}
