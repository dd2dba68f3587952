//! `grep_codebase`: regex search, by the context contract.

use archway_proto::failure::Failure;
use archway_repo::{Excluded, MatchedLine, Query, SearchPattern};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::collected::{Match, MatchPage, SurroundingLines};
use super::run::Search;
use crate::blocking::Load;
use crate::tools::{
    Reply, Tool, ToolContext,
    every_project::SkippedProject,
    schema::{is_false, is_zero},
};

/// The contract's exclusions.
pub(super) static EXCLUDED: Excluded = Excluded {
    folders: &["node_modules", ".git", "dist", "build", ".next", ".context"],
    files: &[],
};
/// Lines shown before and after a match.
const CONTEXT_LINES: usize = 2;

/// Searches for lines that match a regular expression.
pub(in crate::tools) struct GrepCodebase;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct GrepArgs {
    /// Regular expression (Rust syntax, no look-around), matched within a line.
    #[schemars(length(min = 1, max = 200))]
    pattern: String,
    /// Project slug, or "*" for every project you may read.
    #[schemars(length(min = 1, max = 63))]
    project: Option<String>,
    /// Glob of files to search, e.g. "**/*.ts".
    #[schemars(length(min = 1, max = 512))]
    file_pattern: Option<String>,
    /// Whether case matters.
    #[serde(default)]
    case_sensitive: bool,
    /// Most matches to return.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100))]
    limit: usize,
    /// The cursor of the previous page.
    cursor: Option<String>,
}

fn default_limit() -> usize {
    50
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::tools) struct GrepMatches {
    matches: Vec<GrepMatch>,
    pattern: String,
    /// Matching lines in all files searched.
    total_matches: u64,
    files_searched: u64,
    /// Not searched wholly: over 8 MiB, or with a line over 1 MiB.
    #[serde(default, skip_serializing_if = "is_zero")]
    files_skipped: u64,
    search_time: u64,
    /// Only if nothing was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    truncated: bool,
    /// Context made room for matches.
    #[serde(default, skip_serializing_if = "is_false")]
    context_omitted: bool,
    /// Projects that could not be searched now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    skipped_projects: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct GrepMatch {
    file: String,
    line: u64,
    /// The first match's first character, from 1.
    column: u64,
    text: String,
    context: SurroundingLines,
    /// The line is longer than shown.
    #[serde(default, skip_serializing_if = "is_false")]
    line_truncated: bool,
    /// Only if several projects were searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
}

impl Match for GrepMatch {
    fn new(line: MatchedLine, project: Option<String>, context: SurroundingLines) -> Self {
        GrepMatch {
            file: line.path.display(),
            line: line.line,
            column: line.column,
            text: line.text,
            context,
            line_truncated: line.cut,
            project,
        }
    }

    fn surrounding_lines(&mut self) -> &mut SurroundingLines {
        &mut self.context
    }

    fn file(&self) -> String {
        match &self.project {
            Some(project) => format!("{project}/{}", self.file),
            None => self.file.clone(),
        }
    }
}

impl Tool for GrepCodebase {
    const NAME: &'static str = "grep_codebase";
    const TITLE: &'static str = "Search by regular expression";
    const DESCRIPTION: &'static str = "Search all text files of a repository for a regular \
        expression, fast; every matching line is counted. The tool for names, calls and exact \
        phrases. Use search_files for plain text or more context.";
    const FAMILY: &'static str = "search";
    const PER_MINUTE: Option<u32> = Some(60);
    const WEIGHT: u32 = 5;
    const ASKS_FOR_MORE: &'static [(&'static str, u64)] = &[("limit", 50)];
    const UNTRUSTED: bool = true;
    type Args = GrepArgs;
    type Output = GrepMatches;

    fn load(_: &Self::Args) -> Load {
        Load::Heavy
    }

    async fn run(cx: &ToolContext, args: GrepArgs) -> Result<Reply<GrepMatches>, Failure> {
        let pattern = args.pattern.clone();
        let search = Search {
            query: |glob| Query {
                pattern: SearchPattern::regex(args.pattern, args.case_sensitive),
                glob,
                excluded: &EXCLUDED,
                context: CONTEXT_LINES,
            },
            limit: args.limit,
            glob: args.file_pattern,
            project: args.project,
            cursor: args.cursor,
        };
        let narrowed = Narrowed {
            by_glob: search.glob.is_some(),
            by_case: args.case_sensitive,
        };
        let message = |page: &MatchPage<GrepMatch>| {
            (page.totals.matches == 0).then(|| no_match_message(page, &pattern, narrowed))
        };
        search
            .run(cx, |page| answer(pattern.clone(), message(&page), page))
            .await
    }
}

/// How many skipped projects the message explains.
const MAX_REASONS: usize = 3;

/// How the arguments narrow a search.
#[derive(Clone, Copy, Default)]
struct Narrowed {
    by_glob: bool,
    by_case: bool,
}

/// Explains why there is no match.
fn no_match_message(page: &MatchPage<GrepMatch>, pattern: &str, narrowed: Narrowed) -> String {
    let message = if page.totals.incomplete {
        let advice = if page.has_next {
            ""
        } else {
            "; narrow the search"
        };
        format!("The time was up before a match was found{advice}")
    } else if page.projects == 0 {
        "No file was searched: there is no project that you may read".to_owned()
    } else if page.skipped.len() == page.projects {
        let of = if page.has_next { " of this page" } else { "" };
        format!("No project{of} could be searched")
    } else if page.totals.files_searched > 0 && page.totals.files_skipped > 0 {
        let skipped = page.totals.files_skipped;
        format!("No matches found for pattern '{pattern}'; too large to search: {skipped}")
    } else if page.totals.files_searched > 0 {
        let advice = match (page.skipped.is_empty() && !page.has_next, narrowed) {
            (false, _) => "",
            (true, Narrowed { by_case: true, .. }) => ". Try it without case_sensitive",
            (true, Narrowed { by_glob: true, .. }) => ". Try it without file_pattern",
            (true, _) => {
                ". It is a regular expression within one line: try a shorter one, or plain text by search_files"
            }
        };
        format!("No matches found for pattern '{pattern}'{advice}")
    } else {
        let why = match (narrowed.by_glob, page.projects) {
            (true, _) => "none fits file_pattern, or all that fit are excluded",
            (false, 1) => "the project has no files yet, or all are excluded",
            (false, _) => "the projects have no files yet, or all are excluded",
        };
        format!("No file was searched: {why}")
    };
    with_rest(message, page)
}

/// Adds which projects were skipped, and that another page follows.
fn with_rest(mut message: String, page: &MatchPage<GrepMatch>) -> String {
    if !page.skipped.is_empty() {
        let is_all = page.skipped.len() == page.projects && !page.totals.incomplete;
        message += if is_all { ": " } else { "; " };
        message += &reasons(&page.skipped);
    }
    if page.has_next {
        message += "; the next page, by cursor, goes on";
    }
    message
}

/// The reasons of the first few skipped projects.
fn reasons(skipped: &[SkippedProject]) -> String {
    let listed: Vec<&str> = skipped
        .iter()
        .take(MAX_REASONS)
        .map(|it| it.why.as_str())
        .collect();
    let listed = listed.join("; ");
    match skipped.len().saturating_sub(MAX_REASONS) {
        0 => listed,
        more => format!("{listed}; and {more} more projects"),
    }
}

fn answer(pattern: String, message: Option<String>, page: MatchPage<GrepMatch>) -> GrepMatches {
    GrepMatches {
        message,
        matches: page.matches,
        pattern,
        total_matches: page.totals.matches,
        files_searched: page.totals.files_searched,
        files_skipped: page.totals.files_skipped,
        search_time: page.duration_ms,
        truncated: page.truncated,
        context_omitted: page.context_omitted,
        skipped_projects: SkippedProject::slugs(page.skipped),
        cursor: None,
    }
}

#[cfg(test)]
mod tests {
    use archway_repo::SearchTotals;

    use super::*;

    /// A page without a match: `skipped` of its `projects` were skipped.
    fn page(projects: usize, skipped: usize, has_next: bool) -> MatchPage<GrepMatch> {
        let skipped = (0..skipped).map(|nth| SkippedProject {
            slug: format!("p{nth}"),
            why: format!("p{nth} is away"),
        });
        MatchPage {
            matches: Vec::new(),
            totals: SearchTotals::default(),
            truncated: false,
            context_omitted: false,
            projects,
            has_next,
            skipped: skipped.collect(),
            duration_ms: 1,
        }
    }

    fn message(page: &MatchPage<GrepMatch>) -> String {
        no_match_message(page, "x", Narrowed::default())
    }

    #[test]
    fn a_page_of_skipped_projects_says_so_and_that_another_follows() {
        let away = "p0 is away; p1 is away; p2 is away; and 47 more projects";
        assert_eq!(
            message(&page(50, 50, true)),
            format!(
                "No project of this page could be searched: {away}; the next page, by cursor, goes on"
            )
        );
        assert_eq!(
            message(&page(1, 1, false)),
            "No project could be searched: p0 is away"
        );
    }

    #[test]
    fn a_search_is_to_be_narrowed_only_if_no_page_follows() {
        let mut late = page(0, 0, true);
        late.totals.incomplete = true;
        let up = "The time was up before a match was found";
        let next = "the next page, by cursor, goes on";
        assert_eq!(message(&late), format!("{up}; {next}"));
        late.has_next = false;
        assert_eq!(message(&late), format!("{up}; narrow the search"));
        let mut late = page(1, 1, true);
        late.totals.incomplete = true;
        assert_eq!(message(&late), format!("{up}; p0 is away; {next}"));
    }
}
