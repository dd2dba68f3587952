//! `grep_codebase`: regex search, by the context contract.

use archway_proto::failure::Failure;
use archway_repo::{Excluded, MatchedLine, Query, SearchPattern};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::collected::{Match, MatchPage, SurroundingLines};
use super::no_match::AskedFor;
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
        let asked = AskedFor {
            glob: search.glob.as_ref().map(|_| "file_pattern"),
            by_case: args.case_sensitive,
            advice: "It is a regular expression within one line: try a shorter one, or plain text by search_files",
            pattern,
        };
        search.run(cx, |page| answer(asked, page)).await
    }
}

fn answer(asked: AskedFor, page: MatchPage<GrepMatch>) -> GrepMatches {
    GrepMatches {
        message: asked.no_match(&page),
        matches: page.matches,
        pattern: asked.pattern,
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
