//! `search_files`: search for plain text or a regex, by the repo contract.

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
static EXCLUDED: Excluded = Excluded {
    folders: &["node_modules", ".git", "dist", "build"],
    files: &[
        "*.min.js",
        "*.min.css",
        "package-lock.json",
        "yarn.lock",
        "*.map",
    ],
};

/// Searches for lines that contain a text or match a regular expression.
pub(in crate::tools) struct SearchFiles;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct SearchFilesArgs {
    /// Text to find, or a regular expression with `is_regex`.
    #[schemars(length(min = 1, max = 1000))]
    pattern: String,
    /// Project slug, or "*" for every project you may read.
    #[schemars(length(min = 1, max = 63))]
    project: Option<String>,
    /// Take pattern as a regular expression (Rust syntax, no look-around).
    #[serde(default)]
    is_regex: bool,
    /// Glob of files to search, e.g. "src/**/*.ts".
    #[schemars(length(min = 1, max = 512))]
    glob: Option<String>,
    /// Most matches to return.
    #[serde(default = "default_max_results")]
    #[schemars(range(min = 1, max = 1000))]
    max_results: usize,
    /// Lines shown before and after each match.
    #[serde(default = "default_context")]
    #[schemars(range(min = 0, max = 10))]
    context_lines: usize,
    /// Whether case matters.
    #[serde(default)]
    case_sensitive: bool,
    /// The cursor of the previous page.
    cursor: Option<String>,
}

fn default_max_results() -> usize {
    50
}

fn default_context() -> usize {
    2
}

#[derive(Serialize, JsonSchema)]
pub(in crate::tools) struct SearchMatches {
    matches: Vec<SearchMatch>,
    /// Matching lines in all files searched.
    total_matches: u64,
    files_searched: u64,
    /// Not searched wholly: over 8 MiB, or with a line over 1 MiB.
    #[serde(default, skip_serializing_if = "is_zero")]
    files_skipped: u64,
    truncated: bool,
    duration_ms: u64,
    /// What to do next, if nothing was found. The schema has no room for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    message: Option<String>,
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
struct SearchMatch {
    path: String,
    line_number: u64,
    line_content: String,
    context: SurroundingLines,
    /// The line is longer than shown.
    #[serde(default, rename = "lineTruncated", skip_serializing_if = "is_false")]
    line_truncated: bool,
    /// Only if several projects were searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
}

impl Match for SearchMatch {
    fn new(line: MatchedLine, project: Option<String>, context: SurroundingLines) -> Self {
        SearchMatch {
            path: line.path.display(),
            line_number: line.line,
            line_content: line.text,
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
            Some(project) => format!("{project}/{}", self.path),
            None => self.path.clone(),
        }
    }
}

impl Tool for SearchFiles {
    const NAME: &'static str = "search_files";
    const TITLE: &'static str = "Search for text";
    const DESCRIPTION: &'static str = "Search all text files of a repository for a plain text (or \
        a regular expression), with as many lines of context as you ask for; generated files are \
        skipped.";
    const FAMILY: &'static str = "search";
    const PER_MINUTE: Option<u32> = Some(60);
    const WEIGHT: u32 = 5;
    const ASKS_FOR_MORE: &'static [(&'static str, u64)] =
        &[("max_results", 50), ("context_lines", 2)];
    const UNTRUSTED: bool = true;
    type Args = SearchFilesArgs;
    type Output = SearchMatches;

    fn load(_: &Self::Args) -> Load {
        Load::Heavy
    }

    async fn run(cx: &ToolContext, args: SearchFilesArgs) -> Result<Reply<SearchMatches>, Failure> {
        let asked = AskedFor {
            pattern: args.pattern.clone(),
            glob: args.glob.as_ref().map(|_| "glob"),
            by_case: args.case_sensitive,
            advice: match args.is_regex {
                true => "It is a regular expression within one line: try a shorter one",
                false => "Try a shorter text, or context_search for what it does",
            },
        };
        let search = Search {
            query: |glob| Query {
                pattern: SearchPattern::new(args.pattern, !args.is_regex, args.case_sensitive),
                glob,
                excluded: &EXCLUDED,
                context: args.context_lines,
            },
            limit: args.max_results,
            glob: args.glob,
            project: args.project,
            cursor: args.cursor,
        };
        search.run(cx, |page| answer(&asked, page)).await
    }
}

fn answer(asked: &AskedFor, page: MatchPage<SearchMatch>) -> SearchMatches {
    SearchMatches {
        message: asked.no_match(&page),
        matches: page.matches,
        total_matches: page.totals.matches,
        files_searched: page.totals.files_searched,
        files_skipped: page.totals.files_skipped,
        truncated: page.truncated,
        duration_ms: page.duration_ms,
        context_omitted: page.context_omitted,
        skipped_projects: SkippedProject::slugs(page.skipped),
        cursor: None,
    }
}
