//! The search index of two tenants with equal slugs, of work trees and bare mirrors: a search for a word of the
//! other tenant, or for an own closed word, is answered as one for a word that nobody has. A misspelt path is
//! never answered with a foreign or a closed name.

use std::fs;

use e2e::{
    Client, Harness, Repo, Stack, git,
    sample_calls::{self, SampleCalls},
};
use rand::{SeedableRng, rngs::StdRng};
use serde_json::{Value, json};

use super::interleaved::planted::{Kind, Planted};
use crate::number_from;

const TENANTS: [&str; 2] = ["acme", "zeta"];
/// Where a word is searched: a work tree, a bare mirror of it, and everything.
const PLACES: [&str; 3] = ["site", "mirror", "*"];
/// More than any of these trees needs.
const CACHE_BYTES: u64 = 64 << 20;
/// The files of `site` that a search reads.
const FILES: usize = 9;

/// What one tenant may not see.
struct Closed {
    /// Words in files of the other tenant, and in own files that are closed or were taken back.
    words: Vec<String>,
    /// Paths of such files.
    paths: Vec<String>,
}

impl Closed {
    fn of(own: &Planted, other: &Planted) -> Closed {
        // Each tenant's settings name the other's slug.
        let foreign = other.words.iter().filter(|word| word.kind != Kind::Name);
        let shut = own.words.iter().filter(|word| word.kind == Kind::Shut);
        let at = |place| other.at(place);
        let foreign_paths = [
            format!("{}/{}.rs", at("folder"), at("file")),
            format!("docs/adr/0001-{}.md", at("decision")),
            format!("docs/architecture/patterns/{}.md", at("pattern")),
        ];
        Closed {
            words: foreign.chain(shut).map(|word| word.text.clone()).collect(),
            paths: foreign_paths.into_iter().chain(closed_paths(own)).collect(),
        }
    }
}

/// Files of a tenant that its own keys may not read.
fn closed_paths(own: &Planted) -> [String; 3] {
    let word = own.at("environment");
    [
        format!("docs/{word}.pem"),
        format!("secrets-{word}/plan.md"),
        format!("src/{word}.env"),
    ]
}

/// Two tenants with a work tree and a mirror each, after all of them were indexed.
async fn indexed(random: &mut StdRng) -> (Stack, [Planted; 2]) {
    let planted = TENANTS.map(|tenant| Planted::new(tenant, random));
    let [acme, zeta] = &planted;
    let mirror = || Repo::new().file("a", "").commit();
    let stack = Harness::new()
        .search_cache(CACHE_BYTES)
        .tenant(acme.tenant(zeta).project("mirror", mirror()))
        .tenant(zeta.tenant(acme).project("mirror", mirror()))
        .start()
        .await;
    for own in &planted {
        own.plant(&stack).await;
        let folder = stack.folder(own.tenant, "site");
        for path in closed_paths(own) {
            let file = folder.join(&path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, own.at("environment")).unwrap();
            git(&folder, &["add", &path]);
        }
        git(&folder, &["commit", "--quiet", "--message", "closed files"]);
        stack.make_mirror(own.tenant, "site", "mirror");
    }
    let projects = [("site", FILES), ("mirror", FILES)];
    stack.until_indexed(&TENANTS, &projects).await;
    (stack, planted)
}

/// The answer to a search, without the word and the time that it took.
async fn search(client: &Client, tool: &str, project: &str, word: &str) -> Value {
    let arguments = json!({ "pattern": word, "project": project });
    let reply = client.call(tool, arguments).await;
    assert!(!reply.is_error(), "{tool} in {project}: {}", reply.value());
    let parts = [reply.structured().to_string(), reply.text().to_owned()];
    let parts = parts.map(|part| {
        let part = part.replace(word, "WORD");
        match serde_json::from_str(&part) {
            Ok(Value::Object(mut fields)) => {
                for time in ["duration_ms", "searchTime"] {
                    fields.remove(time);
                }
                Value::Object(fields)
            }
            _ => Value::String(part),
        }
    });
    json!(parts)
}

fn total(tool: &str, answer: &Value) -> u64 {
    let name = match tool {
        "grep_codebase" => "totalMatches",
        _ => "total_matches",
    };
    answer[0][name].as_u64().unwrap()
}

#[tokio::test]
async fn a_foreign_or_closed_word_is_searched_for_as_one_that_nobody_has() {
    let seed = number_from("ARCHWAY_TEST_SEED", 30);
    println!("ARCHWAY_TEST_SEED={seed}");
    let random = &mut StdRng::seed_from_u64(seed);
    let (stack, [acme, zeta]) = indexed(random).await;
    let nobodys = Planted::new("nobody", random);
    for (own, other) in [(&acme, &zeta), (&zeta, &acme)] {
        let client = stack.client(own.tenant);
        let closed = Closed::of(own, other);
        for (tool, project) in ["search_files", "grep_codebase"]
            .into_iter()
            .flat_map(|tool| PLACES.map(|project| (tool, project)))
        {
            let nowhere = search(&client, tool, project, nobodys.at("content")).await;
            assert_eq!(total(tool, &nowhere), 0);
            let found = search(&client, tool, project, own.at("content")).await;
            assert!(total(tool, &found) > 0, "{tool} in {project}: an own word");
            for word in &closed.words {
                let answer = search(&client, tool, project, word).await;
                let asked = format!("{} asks {tool} in {project} for {word}", own.tenant);
                assert_eq!(answer, nowhere, "{asked}");
            }
        }
    }
}

/// Paths near this one: a letter of each of these words in it is missing, or is another one.
fn misspelt(path: &str, words: &[String]) -> [String; 2] {
    let spell = |change: fn(&str) -> String| {
        words.iter().fold(path.to_owned(), |path, word| {
            path.replace(word, &change(word))
        })
    };
    [
        spell(|word| word.chars().skip(1).collect()),
        spell(|word| {
            let begin: String = word.chars().take(13).collect();
            begin + if word.ends_with('q') { "k" } else { "q" }
        }),
    ]
}

/// All calls of tools that take a path, and the request of a resource.
fn requests(project: &str, path: &str, samples: &[SampleCalls]) -> Vec<(&'static str, Value)> {
    let by_path = samples
        .iter()
        .filter_map(|samples| Some((samples.tool, samples.at_path(path)?)));
    let in_past = ("read_file", json!({ "path": path, "ref": "main" }));
    let call = |(tool, mut arguments): (&str, Value)| {
        arguments["project"] = json!(project);
        let params = json!({ "name": tool, "arguments": arguments });
        ("tools/call", params)
    };
    let uri = format!("repo://{project}/{path}");
    let resource = ("resources/read", json!({ "uri": uri }));
    by_path
        .chain([in_past])
        .map(call)
        .chain([resource])
        .collect()
}

#[tokio::test]
async fn a_misspelt_path_is_never_answered_with_a_foreign_or_closed_name() {
    let random = &mut StdRng::seed_from_u64(31);
    let (stack, [acme, zeta]) = indexed(random).await;
    for (own, other) in [(&acme, &zeta), (&zeta, &acme)] {
        let client = stack.client(own.tenant);
        let samples = sample_calls::of_listed(&client).await;
        let closed = Closed::of(own, other);
        let paths = closed.paths.iter();
        for path in paths.flat_map(|path| misspelt(path, &closed.words)) {
            for project in ["site", "mirror"] {
                for (method, params) in requests(project, &path, &samples) {
                    let answer = client.rpc(method, params.clone()).await.text();
                    let told = closed.words.iter().find(|word| answer.contains(*word));
                    assert_eq!(told, None, "{params} → {answer}");
                }
            }
        }
    }
}
