//! The search engine against ripgrep 15.1, on this repository and on generated trees, and on bare mirrors of
//! them: 240 random patterns, literal and regex, with and without case, with globs. Files, lines, texts and
//! counts must be equal. Each is searched twice: by its index, and by a scan.
//!
//! A failure prints the seed of all random choices; `ARCHWAY_TEST_SEED=<seed>` repeats it. ripgrep gets
//! the options that our tools promise: only the repository's .gitignore, hidden files included, `$`
//! before `\r\n`. Its matches in files that our contracts exclude are dropped.

mod patterns;
mod ripgrep;
mod trees;

use std::{env, path::PathBuf};

use e2e::{Client, Harness, Repo, Stack, Tenant};
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};

use crate::number_from;
use patterns::SearchQuery;
use ripgrep::{Line, Ripgrep};

const QUESTIONS: usize = 240;
const PROJECTS: [&str; 3] = ["this", "wild", "deep"];
/// More than the index of all trees needs.
const CACHE_BYTES: u64 = 1 << 30;
/// The most pages to compare. Further pages would repeat what the count shows.
const PAGES: usize = 6;

/// The names by which the two tools call one thing.
struct Tool {
    name: &'static str,
    limit: (&'static str, usize),
    glob: &'static str,
    place: [&'static str; 3],
    total: &'static str,
    searched: &'static str,
}

const SEARCH: Tool = Tool {
    name: "search_files",
    limit: ("max_results", 1000),
    glob: "glob",
    place: ["path", "line_number", "line_content"],
    total: "total_matches",
    searched: "files_searched",
};

const GREP: Tool = Tool {
    name: "grep_codebase",
    limit: ("limit", 100),
    glob: "file_pattern",
    place: ["file", "line", "text"],
    total: "totalMatches",
    searched: "filesSearched",
};

#[tokio::test]
async fn the_engine_finds_exactly_what_ripgrep_finds() {
    let Some(rg) = rg() else { return };
    let seed = number_from("ARCHWAY_TEST_SEED", 0x00a1_2c4e);
    println!("ARCHWAY_TEST_SEED={seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let this_repository = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let trees = [
        Repo::new().copy_of(&this_repository).commit(),
        trees::wild(&mut random),
        trees::deep(&mut random),
    ];
    let (indexing, scanning) = (start(&trees, CACHE_BYTES).await, start(&trees, 0).await);
    let files = PROJECTS.map(|project| ripgrep_in(&indexing, &rg, project).files().len());
    let of_mirrors = PROJECTS.map(mirror_of);
    let names = PROJECTS
        .into_iter()
        .chain(of_mirrors.iter().map(String::as_str));
    let projects: Vec<_> = names.zip(files.into_iter().cycle()).collect();
    indexing.until_indexed(&["acme"], &projects).await;
    let clients = [
        ("by the index", indexing.client("acme")),
        ("by a scan", scanning.client("acme")),
    ];
    let mut found = 0;
    for number in 0..QUESTIONS {
        let project = PROJECTS[number % PROJECTS.len()];
        let ripgrep = ripgrep_in(&indexing, &rg, project);
        let query = SearchQuery::random(&mut random, &ripgrep.files());
        let tool = if random.random_bool(0.5) && query.fits_grep() {
            &GREP
        } else {
            &SEARCH
        };
        let searched = match random.random_bool(0.5) {
            true => project.to_owned(),
            false => mirror_of(project),
        };
        found += compare(&clients, tool, &searched, &query, &ripgrep).await;
    }
    println!("{found} lines compared");
    assert!(found > 10_000, "too few to mean anything: {found}");
}

fn mirror_of(project: &str) -> String {
    format!("{project}-mirror")
}

/// A stack with the trees and their mirrors, whose search index has at most this many bytes.
async fn start(trees: &[Repo; 3], cache_bytes: u64) -> Stack {
    let mut acme = Tenant::new("acme");
    for (project, tree) in PROJECTS.into_iter().zip(trees) {
        let mirror = Repo::new().file("a", "").commit();
        acme = acme
            .project(project, tree.clone())
            .project(&mirror_of(project), mirror);
    }
    let harness = Harness::new().search_cache(cache_bytes).tenant(acme);
    let stack = harness.start().await;
    for project in PROJECTS {
        stack.make_mirror("acme", project, &mirror_of(project));
    }
    stack
}

fn rg() -> Option<PathBuf> {
    let rg = env::var_os("ARCHWAY_TEST_RG").map(PathBuf::from);
    if rg.is_none() {
        assert!(env::var_os("CI").is_none(), "ARCHWAY_TEST_RG is not set");
        println!("not tried: ARCHWAY_TEST_RG is not set; use tests/run");
    }
    rg
}

fn ripgrep_in(stack: &Stack, rg: &std::path::Path, project: &str) -> Ripgrep {
    Ripgrep {
        program: rg.to_owned(),
        folder: stack.folder("acme", project),
    }
}

/// Queries ripgrep and all clients and compares. Returns the number of lines.
async fn compare(
    clients: &[(&str, Client)],
    tool: &Tool,
    project: &str,
    query: &SearchQuery,
    ripgrep: &Ripgrep,
) -> usize {
    let excluded = if tool.name == GREP.name {
        ripgrep::excluded_by_grep
    } else {
        ripgrep::excluded_by_search
    };
    let expected = ripgrep.search(query, excluded);
    let searched = ripgrep.searched(query, excluded);
    let mut arguments = query.arguments(tool.glob, tool.name == SEARCH.name);
    arguments["project"] = json!(project);
    arguments[tool.limit.0] = json!(tool.limit.1);
    let mut compared = 0;
    for (how, client) in clients {
        let asked = format!("{} in {project}, {how}: {query:?}", tool.name);
        let lines = pages(
            client,
            tool,
            arguments.clone(),
            (expected.len(), searched),
            &asked,
        )
        .await;
        same_lines(&lines, &expected, &asked);
        compared += lines.len();
    }
    compared
}

/// The lines of the first pages. Each page has the expected numbers of lines and of files searched.
async fn pages(
    client: &Client,
    tool: &Tool,
    mut arguments: Value,
    (total, searched): (usize, usize),
    asked: &str,
) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for _ in 0..PAGES {
        let reply = client.call(tool.name, arguments.clone()).await;
        assert!(!reply.is_error(), "{asked}: {}", reply.value());
        let data = reply.structured();
        assert_eq!(data[tool.total], total, "{asked}: lines in all");
        assert_eq!(data[tool.searched], searched, "{asked}: files searched");
        let matches = data["matches"].as_array().unwrap();
        lines.extend(matches.iter().map(|found| line(found, tool)));
        match data.get("cursor") {
            Some(cursor) => arguments["cursor"] = cursor.clone(),
            None => {
                assert_eq!(lines.len(), total, "{asked}: lines on all pages");
                break;
            }
        }
    }
    lines
}

fn same_lines(lines: &[Line], expected: &[Line], asked: &str) {
    for (own, other) in lines.iter().zip(expected) {
        assert_eq!(
            (&own.path, own.number),
            (&other.path, other.number),
            "{asked}"
        );
        // A truncated or escaped line is compared by its location only.
        if other.is_plain() {
            assert_eq!(own.text, other.text, "{asked}: {}:{}", own.path, own.number);
        }
    }
}

fn line(found: &Value, tool: &Tool) -> Line {
    let [path, number, text] = tool.place;
    Line {
        path: found[path].as_str().unwrap().to_owned(),
        number: found[number].as_u64().unwrap(),
        text: found[text].as_str().unwrap().to_owned(),
    }
}
