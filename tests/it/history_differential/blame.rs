//! `git_blame` against `git blame`.

use rand::{Rng, rngs::StdRng, seq::IndexedRandom};
use serde_json::{Value, json};

use super::{Comparison, Side, git::is_blocked, shown, subjects::Subjects};

/// The percentage of lines that must have git's commit.
const EQUAL: f64 = 99.5;

#[tokio::test]
async fn nearly_every_line_is_blamed_on_the_commit_that_git_blames() {
    let mut comparison = Comparison::begin().await;
    let (mut lines, mut different) = (0_usize, 0_usize);
    for side in &comparison.sides {
        let matter = Subjects::of(&side.git);
        for _ in 0..comparison.questions {
            let (revision, commit) = matter.revision(&mut comparison.random, &side.git);
            let files = side.git.files(&commit);
            let Some(path) = files.choose(&mut comparison.random) else {
                continue;
            };
            let text = side.git.content(&commit, path);
            if text.contains(&0) || was_blocked(side, &commit, path) {
                continue;
            }
            let total = text.split_inclusive(|&byte| byte == b'\n').count();
            let range = range(&mut comparison.random, total);
            let mut arguments =
                json!({ "project": side.project, "file_path": shown(path), "ref": revision });
            if let Some((start, end)) = range {
                (arguments["start_line"], arguments["end_line"]) = (json!(start), json!(end));
            }
            let theirs = side.git.blame(&commit, path, range);
            match ask(side, &arguments, &text).await {
                Err(difference) => comparison.differences.push(difference),
                Ok(ours) if ours.len() != theirs.len() => {
                    let counts = format!("{} lines instead of {}", ours.len(), theirs.len());
                    comparison
                        .differences
                        .push(format!("git_blame {arguments}\n  {counts}"));
                }
                Ok(ours) => {
                    lines += ours.len();
                    different += report(&arguments, &ours, &theirs);
                }
            }
        }
    }
    println!("{lines} lines compared, {different} differ");
    comparison.end();
    let equal = 100.0 * (lines - different) as f64 / lines as f64;
    assert!(
        equal >= EQUAL,
        "only {equal:.2} % of {lines} lines as git has them"
    );
}

/// Whether a blocked name is in the file's past, where our blame ends.
fn was_blocked(side: &Side, commit: &str, path: &[u8]) -> bool {
    let arguments =
        [b"--follow", commit.as_bytes(), b"--", path].map(std::os::unix::ffi::OsStrExt::from_bytes);
    let past = side.git.log_as_it_is(&arguments);
    past.iter()
        .flat_map(|commit| &commit.files)
        .any(|file| file.old_path.as_deref().is_some_and(is_blocked))
}

/// Two thirds of the queries are about a part of the file.
fn range(random: &mut StdRng, total: usize) -> Option<(usize, usize)> {
    (total > 0 && random.random_bool(0.66)).then(|| {
        let start = random.random_range(1..=total);
        (start, random.random_range(start..=total))
    })
}

/// Archway's blame, part by part: the commit of each line. Every line must have its own text.
async fn ask(side: &Side, arguments: &Value, text: &[u8]) -> Result<Vec<String>, String> {
    let texts: Vec<String> = text
        .split(|&byte| byte == b'\n')
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect();
    let mut arguments = arguments.clone();
    let mut shas = Vec::new();
    loop {
        let reply = side.client.call("git_blame", arguments.clone()).await;
        if reply.is_error() {
            return Err(format!("git_blame {arguments}\n  {}", reply.text()));
        }
        let data = reply.structured();
        for line in data["lines"].as_array().unwrap() {
            let number = usize::try_from(line["line"].as_u64().unwrap()).unwrap();
            let (told, real) = (
                line["text"].as_str().unwrap(),
                texts[number - 1].trim_end_matches('\r'),
            );
            if told.trim_end_matches('\r') != real {
                return Err(format!(
                    "git_blame {arguments}\n  line {number} is {told:?}, not {real:?}"
                ));
            }
            shas.push(line["sha"].as_str().unwrap().to_owned());
        }
        match data.get("next_start_line") {
            Some(next) => arguments["start_line"] = next.clone(),
            None => return Ok(shas),
        }
    }
}

/// Prints the differences and returns the number of lines that differ.
fn report(arguments: &Value, ours: &[String], theirs: &[String]) -> usize {
    let first = arguments["start_line"].as_u64().unwrap_or(1);
    let mut different = 0;
    for (number, (own, other)) in (first..).zip(ours.iter().zip(theirs)) {
        if own != other {
            println!("git_blame {arguments} line {number}: {own} instead of {other}");
            different += 1;
        }
    }
    different
}
