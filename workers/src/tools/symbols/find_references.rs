//! `find_references`: who uses a definition.

use archway_proto::failure::Failure;
use archway_repo::text;
use archway_symbols::NameQuery;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    LATE,
    confidence::Confidence,
    find::{FoundSymbol, Wanted},
    near::{did_you_mean, near},
    references::{Asked, DefinitionPlace, FileCount, FoundReferences, Reference, references},
    sources::Sources,
};
use crate::blocking::Load;
use crate::tools::{Reply, Tool, ToolContext, paging};

/// Definitions and files that an answer names.
const MOST_NAMED: usize = 20;

/// Finds the uses of a definition.
pub(in crate::tools) struct FindReferences;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct FindReferencesArgs {
    /// A name, with or without container, or its place: `path:line` or `path:line:column`.
    #[schemars(length(min = 1, max = 4096))]
    symbol: String,
    /// Project slug; see `list_projects`.
    #[schemars(length(min = 1, max = 63))]
    project: Option<String>,
    /// Glob of files to look in.
    #[schemars(length(min = 1, max = 512))]
    path_glob: Option<String>,
    /// The least confidence: `certain`, `likely`, or `name` for the same name only.
    #[serde(default = "default_confidence")]
    confidence: Confidence,
    /// Most references to return.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 200))]
    limit: usize,
    /// The cursor of the previous page.
    cursor: Option<String>,
}

fn default_confidence() -> Confidence {
    Confidence::Name
}

fn default_limit() -> usize {
    50
}

#[derive(Serialize, JsonSchema)]
pub(in crate::tools) struct ReferenceList {
    symbol: String,
    /// At most 20.
    definitions: Vec<DefinitionPlace>,
    references: Vec<Reference>,
    /// On all pages; exact up to 10,000.
    total: usize,
    /// The 20 files with most of them.
    by_file: Vec<FileCount>,
    truncated: bool,
    /// What to do next, if there are no uses or definitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

impl Tool for FindReferences {
    const NAME: &'static str = "find_references";
    const TITLE: &'static str = "Find uses";
    const DESCRIPTION: &'static str = "Who calls, imports or uses a definition, with the function \
        around each use and how sure it is. Comments and strings do not count; for those use \
        grep_codebase.";
    const FAMILY: &'static str = "symbols";
    const PER_MINUTE: Option<u32> = Some(60);
    const WEIGHT: u32 = 2;
    const ASKS_FOR_MORE: &'static [(&'static str, u64)] = &[("limit", 50)];
    const UNTRUSTED: bool = true;
    type Args = FindReferencesArgs;
    type Output = ReferenceList;

    fn load(_: &Self::Args) -> Load {
        Load::Heavy
    }

    async fn run(
        cx: &ToolContext,
        args: FindReferencesArgs,
    ) -> Result<Reply<ReferenceList>, Failure> {
        let project = cx.project(args.project.as_deref()).await?;
        let (cache, imports) = (cx.symbols().clone(), cx.imports().clone());
        let budget = cx.max_result_bytes();
        let (limit, cursor) = (args.limit, args.cursor);
        let asked = Asked {
            symbol: args.symbol,
            glob: args.path_glob,
            least: args.confidence,
        };
        let snapshot = cx
            .read(&project, move |repo, cancel| {
                let basis = paging::basis(repo.head().as_ref());
                let skip = paging::resume(cursor.as_deref(), &basis)?;
                let sources = Sources::new(&cache, repo, cancel);
                let found = references(&sources, &imports, &asked)?;
                let is_late = found.is_late;
                let message = message(&found, || near_names(&sources, &asked.glob, &found));
                Ok((
                    page((found, message), (skip, limit), budget, &basis),
                    is_late,
                ))
            })
            .await?;
        let ((list, next), is_late) = &snapshot.value;
        let files: Vec<String> = list.references.iter().map(|it| it.path.clone()).collect();
        let (next, is_late) = (next.clone(), *is_late);
        let reply = Reply::from_snapshot(snapshot, |((list, _), _)| list);
        Ok(reply.cursor(next).incomplete(is_late).of_files(files))
    }
}

/// What to do next, if there are no definitions or no uses.
fn message(found: &FoundReferences, near: impl FnOnce() -> Vec<FoundSymbol>) -> Option<String> {
    let wider = "with any path_glob and the confidence `name` there may be uses";
    let message = match (found.definitions.is_empty(), found.references.is_empty()) {
        (false, false) => return None,
        _ if found.is_late => LATE.to_owned(),
        (true, false) => format!(
            "no definition of {} is known: these are uses of the name {}",
            text::shown(&found.asked),
            text::shown(&found.name)
        ),
        (false, true) if found.is_narrowed => format!("defined: {wider}"),
        (true, true) if found.is_narrowed => format!("no definition: {wider}"),
        (true, true) => format!(
            "no definition and no use{} call grep_codebase for the text",
            did_you_mean(&near())
        ),
        (false, true) => {
            "defined, and not used by name: call grep_codebase for other mentions".to_owned()
        }
    };
    Some(message)
}

/// Definitions with names near one that has neither a definition nor uses.
fn near_names(
    sources: &Sources<'_>,
    glob: &Option<String>,
    found: &FoundReferences,
) -> Vec<FoundSymbol> {
    // A place stands for the name there; a name may have containers.
    let asked = NameQuery::parse(&found.asked).filter(|it| it.name() == found.name);
    let name = asked.or_else(|| NameQuery::parse(&found.name));
    let wanted = name.map(|name| Wanted {
        asked: found.asked.clone(),
        name,
        kind: None,
        glob: glob.clone(),
    });
    wanted.map_or_else(Vec::new, |wanted| near(sources, &wanted))
}

/// A page of references, and its cursor.
fn page(
    (mut found, message): (FoundReferences, Option<String>),
    (skip, limit): (usize, usize),
    budget: usize,
    basis: &str,
) -> (ReferenceList, Option<String>) {
    found.definitions.truncate(MOST_NAMED);
    found.by_file.truncate(MOST_NAMED);
    let total = found.references.len();
    let rest = found.references.into_iter().skip(skip).take(limit);
    let mut references: Vec<Reference> = rest.collect();
    let around = paging::size(&found.definitions) + paging::size(&found.by_file);
    // At least one, or the cursor would not advance.
    references.truncate(paging::fit(&references, budget.saturating_sub(around)).max(1));
    let shown = skip + references.len();
    let has_more = shown < total && !references.is_empty();
    // After more files others may stand before these: a page that the time cut short has no cursor.
    let next = (has_more && !found.is_late).then(|| paging::cursor(basis, shown));
    let list = ReferenceList {
        symbol: found.name,
        definitions: found.definitions,
        references,
        total,
        by_file: found.by_file,
        truncated: has_more || found.is_incomplete,
        message,
        cursor: None,
    };
    (list, next)
}
