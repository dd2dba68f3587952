//! `find_symbol`: where a name is defined.

use archway_proto::{failure::Failure, fault::Fault};
use archway_repo::text;
use archway_symbols::NameQuery;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    SymbolKind, every_project,
    find::{FoundSymbol, FoundSymbols, Wanted, find},
    sources::Sources,
};
use crate::tools::{Reply, Tool, ToolContext, paging};

/// Finds the definitions of a name.
pub(in crate::tools) struct FindSymbol;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct FindSymbolArgs {
    /// A name, a glob (`*Circuit*`), or a name with its container (`Circuit::admit`).
    #[schemars(length(min = 1, max = 200))]
    name: String,
    /// Only this kind.
    kind: Option<SymbolKind>,
    /// Glob of files to look in.
    #[schemars(length(min = 1, max = 512))]
    path_glob: Option<String>,
    /// Project slug, or "*" for every project you may read.
    #[schemars(length(min = 1, max = 63))]
    project: Option<String>,
    /// Most definitions to return.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100))]
    limit: usize,
    /// The cursor of the previous page.
    cursor: Option<String>,
}

fn default_limit() -> usize {
    20
}

#[derive(Serialize, JsonSchema)]
pub(in crate::tools) struct SymbolList {
    symbols: Vec<FoundSymbol>,
    /// On all pages; exact up to 10,000.
    total: usize,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

impl Tool for FindSymbol {
    const NAME: &'static str = "find_symbol";
    const TITLE: &'static str = "Find a definition";
    const DESCRIPTION: &'static str = "Where a function, type, method or constant is defined, by \
        name, with its signature. For who uses it call find_references.";
    const FAMILY: &'static str = "symbols";
    const PER_MINUTE: Option<u32> = Some(60);
    const WEIGHT: u32 = 2;
    const ASKS_FOR_MORE: &'static [(&'static str, u64)] = &[("limit", 20)];
    const UNTRUSTED: bool = true;
    type Args = FindSymbolArgs;
    type Output = SymbolList;

    async fn run(cx: &ToolContext, args: FindSymbolArgs) -> Result<Reply<SymbolList>, Failure> {
        let wanted = Wanted {
            name: name(&args.name)?,
            kind: args.kind,
            glob: args.path_glob,
        };
        let budget = cx.max_result_bytes();
        if args.project.as_deref() == Some("*") {
            let request = every_project::PageRequest {
                wanted,
                limit: args.limit,
                budget,
                cursor: args.cursor,
            };
            return all(cx, request).await;
        }
        let project = cx.project(args.project.as_deref()).await?;
        let cache = cx.symbols().clone();
        let (cursor, limit) = (args.cursor, args.limit);
        let snapshot = cx
            .read(&project, move |repo, cancel| {
                let basis = paging::basis(repo.head().as_ref());
                let skip = paging::resume(cursor.as_deref(), &basis)?;
                let cache = &cache;
                let found = find(
                    &Sources {
                        cache,
                        repo,
                        cancel,
                    },
                    &wanted,
                )?;
                Ok(page(found, (skip, limit), budget, &basis))
            })
            .await?;
        let (body, next, is_incomplete) = &snapshot.value;
        let files: Vec<String> = body.symbols.iter().map(|it| it.path.clone()).collect();
        let is_late = *is_incomplete && cx.cancel().check().is_err();
        let next = next.clone();
        let reply = Reply::from_snapshot(snapshot, |(body, ..)| body);
        Ok(reply.cursor(next).incomplete(is_late).of_files(files))
    }
}

/// Every project that the caller may read.
async fn all(
    cx: &ToolContext,
    request: every_project::PageRequest,
) -> Result<Reply<SymbolList>, Failure> {
    let page = every_project::page(cx, request).await?;
    let body = SymbolList {
        symbols: page.symbols,
        total: page.total,
        truncated: page.truncated,
        cursor: None,
    };
    let reply = Reply::new(body).cursor(page.next).moved(page.moved);
    let reply = reply.incomplete(page.is_late).projects(Some(page.projects));
    Ok(reply.of_files(page.files))
}

/// A page of one project's definitions, its cursor, and whether some were not looked at.
fn page(
    found: FoundSymbols,
    (skip, limit): (usize, usize),
    budget: usize,
    basis: &str,
) -> (SymbolList, Option<String>, bool) {
    let total = found.symbols.len();
    let rest = found.symbols.into_iter().skip(skip).take(limit);
    let mut symbols: Vec<FoundSymbol> = rest.collect();
    // At least one, or the cursor would not advance.
    symbols.truncate(paging::fit(&symbols, budget).max(1));
    let shown = skip + symbols.len();
    let next = (shown < total && !symbols.is_empty()).then(|| paging::cursor(basis, shown));
    let body = SymbolList {
        symbols,
        total,
        truncated: next.is_some() || found.is_incomplete,
        cursor: None,
    };
    (body, next, found.is_incomplete)
}

/// The name that is asked for.
///
/// # Errors
/// If there is none in the text.
pub(super) fn name(text: &str) -> Result<NameQuery, Failure> {
    NameQuery::parse(text).ok_or_else(|| {
        Failure::new(
            Fault::InvalidArguments,
            format!("there is no name in {:?}", text::shown(text)),
            "give an identifier, as `admit`, `Circuit::admit` or `*Circuit*`",
        )
    })
}
