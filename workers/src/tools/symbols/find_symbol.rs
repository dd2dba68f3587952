//! `find_symbol`: where a name is defined.

use archway_proto::{failure::Failure, fault::Fault};
use archway_repo::text;
use archway_symbols::NameQuery;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    LATE, SymbolKind,
    every_project::EveryProjectSymbols,
    find::{FoundSymbol, FoundSymbols, Wanted, find},
    near::{did_you_mean, near},
    place::file_alone,
    sources::Sources,
};
use crate::blocking::Load;
use crate::tools::{Reply, Tool, ToolContext, every_project, paging};

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
    /// What to do next, if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
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

    fn load(_: &Self::Args) -> Load {
        Load::Heavy
    }

    async fn run(cx: &ToolContext, args: FindSymbolArgs) -> Result<Reply<SymbolList>, Failure> {
        let wanted = Wanted {
            name: name(&args.name)?,
            asked: args.name,
            kind: args.kind,
            glob: args.path_glob,
        };
        let budget = cx.max_result_bytes();
        if args.project.as_deref() == Some("*") {
            let page = EveryProjectSymbols {
                cache: cx.symbols().clone(),
                wanted,
                limit: args.limit,
                budget,
                symbols: Vec::new(),
                elsewhere: Vec::new(),
                total: 0,
                is_incomplete: false,
            };
            return all(cx, args.cursor.as_deref(), page).await;
        }
        let project = cx.project(args.project.as_deref()).await?;
        let cache = cx.symbols().clone();
        let (cursor, limit) = (args.cursor, args.limit);
        let snapshot = cx
            .read(&project, move |repo, cancel| {
                let basis = paging::basis(repo.head().as_ref());
                let skip = paging::resume(cursor.as_deref(), &basis)?;
                let sources = Sources::new(&cache, repo, cancel);
                let found = find(&sources, &wanted, skip.saturating_add(limit))?;
                let is_late = found.is_late;
                let message = (found.total == 0).then(|| match is_late {
                    true => LATE.to_owned(),
                    false => nothing_found(&wanted, &found.elsewhere, || near(&sources, &wanted)),
                });
                let (mut body, next) = page(found, (skip, limit), budget, &basis);
                body.message = message;
                Ok(((body, next), is_late))
            })
            .await?;
        let ((body, next), is_late) = &snapshot.value;
        let files: Vec<String> = body.symbols.iter().map(|it| it.path.clone()).collect();
        let (next, is_late) = (next.clone(), *is_late);
        let reply = Reply::from_snapshot(snapshot, |((body, _), _)| body);
        Ok(reply.cursor(next).incomplete(is_late).of_files(files))
    }
}

/// Every project that the caller may read.
async fn all(
    cx: &ToolContext,
    cursor: Option<&str>,
    mut page: EveryProjectSymbols,
) -> Result<Reply<SymbolList>, Failure> {
    let every = every_project::collect(cx, cursor, &mut page).await?;
    let files: Vec<String> = page.symbols.iter().map(FoundSymbol::file).collect();
    let is_whole = every.next.is_none() && every.skipped.is_empty();
    // Later pages and skipped projects may have some.
    let has_none = page.total == 0 && is_whole && cursor.is_none();
    let message = has_none.then(|| match every.is_late {
        true => LATE.to_owned(),
        // Near names would take as long again in each project.
        false => nothing_found(&page.wanted, &page.elsewhere, Vec::new),
    });
    let body = SymbolList {
        message,
        symbols: page.symbols,
        total: page.total,
        truncated: !is_whole || every.is_late || page.is_incomplete,
        cursor: None,
    };
    let reply = Reply::new(body).cursor(every.next).moved(every.moved);
    let reply = reply
        .incomplete(every.is_late)
        .projects(Some(every.projects));
    Ok(reply.of_files(files))
}

/// A page of one project's definitions, and its cursor.
fn page(
    found: FoundSymbols,
    (skip, limit): (usize, usize),
    budget: usize,
    basis: &str,
) -> (SymbolList, Option<String>) {
    let total = found.total;
    let rest = found.symbols.into_iter().skip(skip).take(limit);
    let mut symbols: Vec<FoundSymbol> = rest.collect();
    // At least one, or the cursor would not advance.
    symbols.truncate(paging::fit(&symbols, budget).max(1));
    let shown = skip + symbols.len();
    let has_more = shown < total && !symbols.is_empty();
    // After more files others may stand before these: a page that the time cut short has no cursor.
    let next = (has_more && !found.is_late).then(|| paging::cursor(basis, shown));
    let body = SymbolList {
        symbols,
        total,
        truncated: has_more || found.is_incomplete,
        message: None,
        cursor: None,
    };
    (body, next)
}

/// What to do next, if no definition was found.
fn nothing_found(
    wanted: &Wanted,
    elsewhere: &[FoundSymbol],
    near: impl FnOnce() -> Vec<FoundSymbol>,
) -> String {
    let name = text::shown(wanted.name.name());
    if !elsewhere.is_empty() {
        let place = |it: &FoundSymbol| match &it.container {
            Some(container) => format!("`{container}` ({}:{})", it.file(), it.start_line),
            None => format!("{}:{}", it.file(), it.start_line),
        };
        let places: Vec<String> = elsewhere.iter().map(place).collect();
        let how = match wanted.kind {
            Some(_) => "as another kind, or elsewhere",
            None => "elsewhere",
        };
        return format!("{name} is defined {how}: {}", places.join(", "));
    }
    let wider = match wanted.glob {
        Some(_) => "leave out path_glob, or ",
        None => "",
    };
    format!(
        "no definition of {}{} {wider}call grep_codebase for the text, or context_search for what it does",
        text::shown(&wanted.asked),
        did_you_mean(&near())
    )
}

/// The name that is asked for.
///
/// # Errors
/// If there is none in the text, or it names a file.
pub(super) fn name(text: &str) -> Result<NameQuery, Failure> {
    if let Some(failure) = file_alone(text) {
        return Err(failure);
    }
    NameQuery::parse(text).ok_or_else(|| {
        Failure::new(
            Fault::InvalidArguments,
            format!("there is no name in {:?}", text::shown(text)),
            "give an identifier, as `admit`, `Circuit::admit` or `*Circuit*`",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_page_is_truncated_if_there_are_more_than_are_counted() {
        for is_incomplete in [false, true] {
            let found = FoundSymbols {
                symbols: Vec::new(),
                total: 10_000,
                elsewhere: Vec::new(),
                is_incomplete,
                is_late: false,
            };
            let (list, next) = page(found, (10_000, 20), 16 << 10, "basis");
            assert_eq!((list.total, list.truncated), (10_000, is_incomplete));
            assert_eq!(next, None);
        }
    }
}
