//! The git tools against git itself, through the real path: random revisions, paths, ranges, authors and
//! dates on a generated history and on this project's own.
//!
//! The seed of all random choices is printed; `ARCHWAY_TEST_SEED=<seed>` repeats a run.
//! `ARCHWAY_TEST_COMMITS` is the length of the generated history, and `ARCHWAY_TEST_QUESTIONS` the number
//! of queries for each tool and history. Both are small here, so that CI takes a minute; 60000 and 500
//! take an hour. git is given the options that our tools promise: renames at 50 %, the first parent of
//! merges, `--follow` for a file. Pathspecs hide blocked names from it, so that it pairs no rename with a
//! file that our tools do not show.

// From the query to its two answers.
mod log;
mod blame;
mod diff;
mod patches;
mod subjects;
mod git;
mod output;

use std::path::PathBuf;

use e2e::{Client, GeneratedHistory, Harness, Repo, Stack, Tenant};
use rand::{SeedableRng, rngs::StdRng};

use crate::number_from;
use git::Git;

/// One project, with Archway's and git's view of it.
struct Side {
    project: &'static str,
    client: Client,
    git: Git,
}

/// The histories, the random choices, and the number of queries.
struct Comparison {
    sides: Vec<Side>,
    random: StdRng,
    questions: usize,
    /// The differences so far, each with how to reproduce it.
    differences: Vec<String>,
    /// Answers that say that their search for renames was cut short. Its bound is partly time, so a
    /// busy machine decides how many there are.
    renames_cut: usize,
    _stack: Stack,
}

impl Comparison {
    /// Creates both histories and serves them.
    async fn begin() -> Comparison {
        let seed = number_from("ARCHWAY_TEST_SEED", 0x0b1a_4e11);
        let commits = number_from("ARCHWAY_TEST_COMMITS", 1_000);
        println!("ARCHWAY_TEST_SEED={seed} ARCHWAY_TEST_COMMITS={commits}");
        let mut acme = Tenant::new("acme").project(
            "made",
            Repo::new().history(GeneratedHistory { seed, commits }),
        );
        let mut projects = vec!["made"];
        let this = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
        if has_a_past(&this) {
            acme = acme.project("own", Repo::new().clone_of(&this));
            projects.push("own");
        } else {
            println!("not tried: this tree has no history of its own");
        }
        let stack = Harness::new().tenant(acme).start().await;
        let sides = projects.into_iter().map(|project| Side {
            project,
            client: stack.client("acme"),
            git: Git::of(stack.folder("acme", project)),
        });
        Comparison {
            sides: sides.collect(),
            random: StdRng::seed_from_u64(seed),
            questions: number_from("ARCHWAY_TEST_QUESTIONS", 40),
            differences: Vec::new(),
            renames_cut: 0,
            _stack: stack,
        }
    }

    /// Panics with all differences, if there are any.
    fn end(self) {
        let (cut, all) = (self.renames_cut, self.sides.len() * self.questions);
        println!("{cut} answers say that renames were cut short");
        assert!(cut * 20 <= all, "{cut} of {all} answers lack renames");
        let (count, all) = (self.differences.len(), self.differences.join("\n\n"));
        assert!(count == 0, "{count} answers differ from git's:\n\n{all}");
    }
}

/// Whether the tree that the tests run in is a clone with enough history.
fn has_a_past(folder: &std::path::Path) -> bool {
    folder.join(".git").exists() && Git::of(folder.to_owned()).commits().len() > 20
}

/// A path as Archway shows it: bytes outside UTF-8 as `\xNN`.
fn shown(path: &[u8]) -> String {
    let mut text = String::new();
    for chunk in path.utf8_chunks() {
        text += chunk.valid();
        for byte in chunk.invalid() {
            text += &format!("\\x{byte:02x}");
        }
    }
    text
}
