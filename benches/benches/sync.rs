//! `archway sync`: how soon repositories are mirrored and served, and what it costs while nothing happens.
//!
//! An organisation of small repositories is on a host on loopback, behind TLS and a credential. Prints how
//! long its first mirrors take, next to `git clone --mirror` of the same repositories, eight at once. Then: the
//! CPU of a fetch that brings nothing; the time from a push until `grep_codebase` shows its line, with a
//! webhook and without; and the cost of many quiet repositories behind a listing. Run: `cargo build --release &&
//! cargo bench -p archway-benches --bench sync [-- --repositories N] [--pushes N] [--quiet N] [--seconds N]`.

#[path = "sync/quiet.rs"]
mod quiet;

use std::{fs, path::Path, process::Command, time::Duration};

use archway_benches::{Client, Layout, Project, Running, Stack, number, quantile};
use e2e::{GitHost, Repo, credentials, git, send_hook};
use futures::{StreamExt, stream};
use serde_json::json;
use tempfile::TempDir;
use tokio::time::Instant;

const TENANT: &str = "bench";
const SECRET: &str = "hush";
/// Repositories that are pushed to at the same time, where no webhook says so.
const LISTED_AT_ONCE: usize = 8;
const PATIENCE: Duration = Duration::from_secs(600);
const POLL: Duration = Duration::from_millis(20);

#[tokio::main]
async fn main() {
    let repositories = number("--repositories", 300).max(LISTED_AT_ONCE);
    let stack = Stack::start(Layout {
        tenants: vec![TENANT.to_owned()],
        project: Project::Generated(1),
        worker_arguments: ["--indexing", "false"].map(str::to_owned).into(),
        ..Layout::default()
    })
    .await;
    stack.set_limits(TENANT, 0).await;
    let organisation = Organisation::make(repositories).await;
    let sync = organisation.sync(&stack);
    first(&stack, &organisation).await;
    empty(&stack, &sync, repositories).await;
    let pushes = number("--pushes", 40);
    let mut hooked = Vec::new();
    for push in 0..pushes {
        let id = push % repositories;
        hooked.push(organisation.served(&stack, id, Some(&sync)).await);
    }
    print("push to answer, with a webhook", &mut hooked, 3.0);
    let ids = (repositories - LISTED_AT_ONCE)..repositories;
    let (organisation, stack) = (&organisation, &stack);
    let listed = stream::iter(ids).map(|id| organisation.served(stack, id, None));
    let mut listed: Vec<f64> = listed.buffer_unordered(LISTED_AT_ONCE).collect().await;
    print("push to answer, by the listing", &mut listed, 35.0);
    drop(sync);
    quiet::measure(stack, organisation).await;
}

fn print(what: &str, seconds: &mut [f64], target: f64) {
    let (p50, p95) = (quantile(seconds, 0.5), quantile(seconds, 0.95));
    let count = seconds.len();
    println!("{what}: p50 {p50:.2} s, p95 {p95:.2} s of {count} (target p95 ≤ {target} s)");
}

/// An organisation at a host, and the folder of credentials for it.
struct Organisation {
    host: GitHost,
    credentials: TempDir,
    repositories: usize,
}

impl Organisation {
    async fn make(repositories: usize) -> Organisation {
        let organisation = Organisation {
            host: GitHost::start("ada:sesame").await,
            credentials: credentials(&[("host", "ada:sesame\n"), ("org.webhook", SECRET)]),
            repositories,
        };
        for id in 0..repositories {
            let mut repo = Repo::new();
            for file in 0..20 {
                repo = repo.file(
                    &format!("src/f{file}.rs"),
                    format!("fn f{file}_{id}() {{}}\n"),
                );
            }
            organisation.host.add(&path(id), repo.commit());
        }
        organisation.list(&[]);
        organisation
    }

    /// Lists all repositories, those of `pushed` as pushed to just now.
    fn list(&self, pushed: &[usize]) {
        let entry = |id: usize| {
            let id_there = u64::try_from(id + 1).expect("a number");
            self.host
                .entry(id_there, &path(id), u32::from(pushed.contains(&id)))
        };
        let (new, old): (Vec<_>, Vec<_>) =
            (0..self.repositories).partition(|id| pushed.contains(id));
        self.host
            .list(new.into_iter().chain(old).map(entry).collect());
    }

    /// Starts `archway sync`.
    fn sync(&self, stack: &Stack) -> Running {
        let folder = self.credentials.path().display().to_string();
        stack.sync(&["--credentials", &folder, "--volume-percent", "100"])
    }

    fn connect(&self, stack: &Stack, name: &str) {
        let certificate = self.host.certificate().display().to_string();
        let (base, max) = (self.host.base(), "100000");
        let mut arguments = vec!["connection", "add", TENANT, name, "--github", name];
        arguments.extend(["--url", &base, "--credential", "host"]);
        arguments.extend(["--ca-file", &certificate, "--max", max]);
        stack.administer(&arguments);
    }

    /// Pushes a line to a repository. Returns the seconds until `grep_codebase` shows it.
    async fn served(&self, stack: &Stack, id: usize, hook: Option<&Running>) -> f64 {
        let work = self.host.folder(&path(id));
        let word = format!("pushed_{}", uuid());
        fs::write(work.join("pushed.rs"), format!("// {word}\n")).expect("a file");
        git(&work, &["add", "-A"]);
        git(&work, &["commit", "-qm", &word]);
        let begun = Instant::now();
        match hook {
            Some(sync) => {
                let to = sync.address.parse().expect("an address");
                let id_there = u64::try_from(id + 1).expect("a number");
                let path = path(id);
                let sent = send_hook(to, "/hooks/bench/org", SECRET, ("push", id_there, &path));
                assert_eq!(sent.await, 202);
            }
            None => self
                .list(&(self.repositories - LISTED_AT_ONCE..self.repositories).collect::<Vec<_>>()),
        }
        let arguments = json!({ "project": slug(id), "pattern": word });
        let mut client = caller(stack, "grep_codebase", arguments).await;
        loop {
            let answer = client.exchange().await.expect("an answer");
            if client.body(answer).contains("\"totalMatches\":1") {
                return begun.elapsed().as_secs_f64();
            }
            assert!(begun.elapsed() < PATIENCE, "{word} is not served");
            tokio::time::sleep(POLL).await;
        }
    }
}

fn slug(id: usize) -> String {
    format!("r{id}")
}

fn path(id: usize) -> String {
    format!("org/r{id}")
}

fn uuid() -> String {
    let random: u64 = rand::random();
    format!("{random:016x}")
}

async fn caller(stack: &Stack, tool: &str, arguments: serde_json::Value) -> Client {
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": tool, "arguments": arguments },
    });
    Client::connect(
        &stack.gateways[0].url(),
        stack.key(TENANT),
        &call.to_string(),
    )
    .await
}

/// The first mirrors of all repositories, and `git clone --mirror` of the same.
async fn first(stack: &Stack, organisation: &Organisation) {
    let begun = Instant::now();
    organisation.connect(stack, "org");
    while mirrors(stack) < organisation.repositories {
        assert!(begun.elapsed() < PATIENCE, "not all is mirrored");
        tokio::time::sleep(POLL * 10).await;
    }
    let mirrored = begun.elapsed().as_secs_f64();
    let folder = tempfile::tempdir().expect("a folder");
    let begun = Instant::now();
    clone_all(organisation, folder.path()).await;
    let cloned = begun.elapsed().as_secs_f64();
    println!(
        "first mirrors of {}: {mirrored:.1} s (target ≤ 60), git clone --mirror: {cloned:.1} s, ratio {:.2}",
        organisation.repositories,
        mirrored / cloned
    );
}

/// How many mirrors are as their remotes are.
fn mirrors(stack: &Stack) -> usize {
    let status = stack.administer(&["sync", "status", TENANT]);
    let mirrors = status["mirrors"].as_array().expect("mirrors");
    mirrors
        .iter()
        .filter(|mirror| mirror["state"] == "ok")
        .count()
}

async fn clone_all(organisation: &Organisation, folder: &Path) {
    let certificate = organisation.host.certificate();
    let clones = (0..organisation.repositories).map(|id| {
        let url = organisation.host.url(&path(id));
        let url = url.replace("https://", "https://ada:sesame@");
        let mut clone = tokio::process::Command::from(Command::new("git"));
        clone
            .args(["clone", "--quiet", "--mirror", &url])
            .arg(folder.join(slug(id)))
            .env("GIT_SSL_CAINFO", &certificate);
        async move { assert!(clone.status().await.expect("git").success()) }
    });
    stream::iter(clones)
        .buffer_unordered(8)
        .collect::<()>()
        .await;
}

/// The CPU of fetches that bring nothing.
async fn empty(stack: &Stack, sync: &Running, repositories: usize) {
    // Each repository is fetched at most once in ten seconds.
    tokio::time::sleep(Duration::from_secs(12)).await;
    let before = cpu(sync);
    stack.administer(&["sync", "run", TENANT, "--wait"]);
    let each = (cpu(sync) - before) * 1e3 / repositories as f64;
    println!("CPU of a fetch that brings nothing, git's included: {each:.1} ms (target ≤ 30)");
}

fn cpu(sync: &Running) -> f64 {
    sync.usage().cpu_seconds + archway_benches::Usage::of_children(sync.pid())
}
