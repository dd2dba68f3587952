//! The search engine against ripgrep 15.1, on this repository and on generated trees, and on bare mirrors of
//! them: 240 random patterns, literal and regex, with and without case, with globs. Files, lines, texts and
//! counts must be equal. All are searched by their index; the unit tests of `archway-repo` compare that with
//! the scan.
//!
//! A failure prints the seed of all random choices; `ARCHWAY_TEST_SEED=<seed>` repeats it. ripgrep gets
//! the options that our tools promise: only the repository's .gitignore, hidden files included, `$`
//! before `\r\n`. Its matches in files that our contracts exclude are dropped.

mod patterns;
mod ripgrep;
mod trees;

use std::{env, path::PathBuf};

use e2e::{Client, Harness, Repo, Stack, Tenant, git, http::Request};
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};

use crate::number_from;
use patterns::SearchQuery;
use ripgrep::{Line, Ripgrep};

const QUESTIONS: usize = 240;
const PROJECTS: [&str; 3] = ["this", "wild", "deep"];
const BUILDS: &str = "archway_worker_search_index_builds_total ";
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
    let mut acme = Tenant::new("acme");
    for (project, tree) in PROJECTS.into_iter().zip(trees) {
        let mirror = Repo::new().file("a", "").commit();
        acme = acme
            .project(project, tree)
            .project(&mirror_of(project), mirror);
    }
    let stack = Harness::new().tenant(acme).start().await;
    let client = stack.client("acme");
    PROJECTS
        .iter()
        .for_each(|project| make_mirror(&stack, project));
    until_indexed(&stack, &client).await;
    let mut found = 0;
    for number in 0..QUESTIONS {
        let project = PROJECTS[number % PROJECTS.len()];
        let ripgrep = ripgrep_in(&stack, &rg, project);
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
        found += compare(&client, tool, &searched, &query, &ripgrep).await;
    }
    println!("{found} lines compared");
    assert!(found > 5_000, "too few to mean anything: {found}");
}

fn mirror_of(project: &str) -> String {
    format!("{project}-mirror")
}

/// Replaces the mirror's folder by a bare clone of the project's.
fn make_mirror(stack: &Stack, project: &str) {
    let folder = |project: &str| stack.folder("acme", project);
    let (from, to) = (folder(project), folder(&mirror_of(project)));
    std::fs::remove_dir_all(&to).unwrap();
    let [source, target] = [&from, &to].map(|path| path.to_str().unwrap());
    git(&from, &["clone", "--quiet", "--bare", source, target]);
}

/// Searches every project until each has an index.
async fn until_indexed(stack: &Stack, client: &Client) {
    let indexed = async || {
        let arguments = json!({ "pattern": "no_such_word_anywhere", "project": "*" });
        client.call("grep_codebase", arguments).await;
        let metrics = Request::new("GET", "/metrics");
        let metrics = metrics.send(stack.worker_admins()[0]).await.text();
        let builds = |line: &str| Some(line.strip_prefix(BUILDS)?.trim().parse::<usize>().unwrap());
        let builds = metrics.lines().find_map(builds).unwrap_or(0);
        (builds >= 2 * PROJECTS.len()).then_some(())
    };
    stack.eventually(indexed).await;
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

/// Queries both and compares. Returns the number of lines.
async fn compare(
    client: &Client,
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
    let asked = format!("{} in {project}: {query:?}", tool.name);
    let expected = ripgrep.search(query, excluded);
    let searched = ripgrep.searched(query, excluded);

    let mut arguments = query.arguments(tool.glob, tool.name == SEARCH.name);
    arguments["project"] = json!(project);
    arguments[tool.limit.0] = json!(tool.limit.1);
    let mut lines: Vec<Line> = Vec::new();
    for _ in 0..PAGES {
        let reply = client.call(tool.name, arguments.clone()).await;
        assert!(!reply.is_error(), "{asked}: {}", reply.value());
        let data = reply.structured();
        assert_eq!(data[tool.total], expected.len(), "{asked}: lines in all");
        assert_eq!(data[tool.searched], searched, "{asked}: files searched");
        lines.extend(
            data["matches"]
                .as_array()
                .unwrap()
                .iter()
                .map(|found| line(found, tool)),
        );
        match data.get("cursor") {
            Some(cursor) => arguments["cursor"] = cursor.clone(),
            None => {
                assert_eq!(lines.len(), expected.len(), "{asked}: lines on all pages");
                break;
            }
        }
    }
    for (own, other) in lines.iter().zip(&expected) {
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
    lines.len()
}

fn line(found: &Value, tool: &Tool) -> Line {
    let [path, number, text] = tool.place;
    Line {
        path: found[path].as_str().unwrap().to_owned(),
        number: found[number].as_u64().unwrap(),
        text: found[text].as_str().unwrap().to_owned(),
    }
}
