//! Twelve tasks of an agent on two public repositories: how many calls each takes, and how many bytes.
//!
//! A scripted client stands in for the agent. Each task has a goal, the texts that its answer consists of,
//! and a ladder of calls. The client makes one call after the other until the replies have shown every text
//! of the answer, or the ladder ends. It uses only tools and arguments that `tools/list` advertises, so an
//! older build is asked by its own means. Paths, lines and commits come from the goal or from earlier
//! replies of the task, or are guessed from a name as an agent would.
//!
//! `--repo PATH` twice: clones of `tokio-rs/axum` and `alphagov/content-publisher` in folders of these
//! names; the answers are those of the commits in `tasks/twelve.rs`. `--binary PATH` is the archway to
//! measure, by default the one built beside this bench. `--transcript FILE` gets each request, and the
//! first 300 bytes of each reply.
//!
//! Run: `cargo bench -p archway-benches --bench tasks -- --repo PATH --repo PATH`.

#[path = "tasks/agent.rs"]
mod agent;
#[path = "tasks/ladder.rs"]
mod ladder;
#[path = "tasks/twelve.rs"]
mod twelve;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use agent::Agent;
use archway_benches::Dev;
use ladder::{Played, play};
use twelve::{REPOSITORIES, Repository, tasks};

/// What is measured, and where the transcript goes.
#[derive(Default)]
struct Arguments {
    repos: Vec<PathBuf>,
    binary: Option<PathBuf>,
    transcript: Option<PathBuf>,
}

#[tokio::main]
async fn main() {
    let arguments = arguments();
    let mut transcript = String::new();
    let (mut rows, mut advertised) = (Vec::new(), 0);
    for repository in &REPOSITORIES {
        let folder = folder_of(repository, &arguments.repos);
        let data = tempfile::tempdir().expect("a folder");
        let dev = match &arguments.binary {
            Some(binary) => Dev::start_of(binary, folder, data.path()),
            None => Dev::start(folder, data.path()),
        };
        let agent = Agent::connect(&dev).await;
        agent.wait_for_index(repository.commit).await;
        advertised = agent.advertised_bytes;
        for task in tasks().iter().filter(|it| it.repository == repository.name) {
            transcript.push_str(&format!("\n## {}: {}\n\n", task.repository, task.goal));
            rows.push((task.goal, play(task, &agent, &mut transcript).await));
        }
        dev.stop();
    }
    print(&rows, advertised);
    if let Some(file) = arguments.transcript {
        fs::write(file, transcript).expect("the transcript is written");
    }
}

fn print(rows: &[(&str, Played)], advertised: usize) {
    println!("| task | calls | bytes | found |\n|---|---|---|---|");
    for (goal, played) in rows {
        let found = if played.is_found { "yes" } else { "no" };
        println!("| {goal} | {} | {} | {found} |", played.calls, played.bytes);
    }
    let sum = |of: fn(&Played) -> usize| rows.iter().map(|(_, it)| of(it)).sum::<usize>();
    println!(
        "| all | {} | {} | {} of {} |",
        sum(|it| it.calls),
        sum(|it| it.bytes),
        sum(|it| it.is_found.into()),
        rows.len(),
    );
    println!("tools/list: {advertised} bytes");
}

/// The clone of a repository, checked to be at the commit that the answers are for.
fn folder_of<'a>(repository: &Repository, folders: &'a [PathBuf]) -> &'a Path {
    let is_named = |folder: &&PathBuf| folder.ends_with(repository.name);
    let folder = folders.iter().find(is_named);
    let folder = folder.unwrap_or_else(|| panic!("--repo …/{}", repository.name));
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).args(["rev-parse", "HEAD"]);
    let head = git.output().expect("git runs").stdout;
    let head = String::from_utf8_lossy(&head);
    let name = repository.name;
    assert_eq!(head.trim(), repository.commit, "the commit of {name}");
    folder
}

fn arguments() -> Arguments {
    let mut all = std::env::args().skip(1);
    let mut arguments = Arguments::default();
    while let Some(argument) = all.next() {
        let mut value = || all.next().expect("a value");
        match argument.as_str() {
            "--bench" => {}
            "--repo" => arguments.repos.push(value().into()),
            "--binary" => arguments.binary = Some(value().into()),
            "--transcript" => arguments.transcript = Some(value().into()),
            other => panic!("unknown argument {other}"),
        }
    }
    arguments
}
