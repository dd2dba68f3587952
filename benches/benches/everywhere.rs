//! `grep_codebase` with `"project": "*"` over hundreds of bare mirrors.
//!
//! The mirrors' files are those of the folders in `--folders`, such as `~/.cargo/registry/src/*`: each of
//! its folders goes to one mirror after the other, as often as it takes for `--megabytes` of text. Each
//! copy has a line of its own, so that no two files are one blob. Calls search for words that few files
//! have. Prints the time of a call until the answer is complete, its CPU, and the worker's memory before
//! and after the indexes are built. Run: `cargo build --release && cargo bench -p archway-benches --bench
//! everywhere -- --folders PATH [--mirrors N] [--megabytes N]`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use archway_benches::{Client, Layout, Project, Stack, argument, number, quantile};
use serde_json::json;
use tempfile::TempDir;
use tokio::time::Instant;

const TENANT: &str = "bench";
/// Different words, and calls for each.
const WORDS: usize = 40;
const CALLS: usize = 10;
/// How long all indexes may take.
const PATIENCE: Duration = Duration::from_secs(1800);
const BUILDS: &str = "archway_worker_search_index_builds_total";

#[tokio::main]
async fn main() {
    let folders = argument("--folders").expect("-- --folders PATH");
    let mirrors = number("--mirrors", 300).max(1);
    let megabytes = number("--megabytes", 2_000).max(1);
    let cache = tempfile::tempdir().expect("a folder");
    let stack = serve(&cache).await;
    let slugs: Vec<String> = (0..mirrors).map(|at| format!("mirror{at:04}")).collect();
    let made = make(&stack, Path::new(&folders), &slugs, megabytes << 20);
    stack.add_projects(TENANT, &slugs, None);
    println!(
        "{mirrors} mirrors, {} files, {:.2} GB of text",
        made.files,
        made.bytes as f64 / 1e9
    );
    let memory = || stack.workers[0].usage().anonymous_mib;
    list(&stack, &slugs).await;
    let listed = memory();
    let begun = Instant::now();
    until_indexed(&stack, mirrors).await;
    println!("all indexed in {:.0} s", begun.elapsed().as_secs_f64());
    let indexed = memory();
    measure(&stack, &made.words).await;
    println!(
        "anonymous memory of the worker: {listed:.0} MiB once all is listed, {indexed:.0} once all is indexed, {:.0} after the searches",
        memory()
    );
}

async fn serve(cache: &TempDir) -> Stack {
    let folder = cache.path().display().to_string();
    let arguments = ["--cache", &folder, "--indexing", "false"];
    let stack = Stack::start(Layout {
        tenants: vec![TENANT.to_owned()],
        project: Project::Generated(1),
        worker_arguments: arguments.map(str::to_owned).into(),
        ..Layout::default()
    })
    .await;
    stack.set_limits(TENANT, 0).await;
    stack
}

/// What the mirrors have.
#[derive(Default)]
struct Made {
    files: usize,
    bytes: usize,
    /// Words that few files have.
    words: Vec<String>,
}

/// Makes the mirrors, one after the other, of at least so many bytes in all.
fn make(stack: &Stack, folders: &Path, slugs: &[String], bytes: usize) -> Made {
    let mut sources: Vec<PathBuf> = fs::read_dir(folders)
        .expect("--folders is a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .collect();
    sources.sort();
    let mut made = Made::default();
    let trees: Vec<TempDir> = slugs
        .iter()
        .map(|_| tempfile::tempdir().expect("a folder"))
        .collect();
    let mut words: BTreeMap<String, usize> = BTreeMap::new();
    let placements = (0..).flat_map(|copy| sources.iter().map(move |source| (copy, source)));
    for (place, (copy, source)) in placements.enumerate() {
        if made.bytes >= bytes && place >= slugs.len() {
            break;
        }
        let tree = &trees[place % trees.len()];
        copy_folder(source, tree.path(), copy, (&mut made, &mut words));
    }
    let is_rare = |(_, files): &(&String, &usize)| **files <= 2;
    let rare: Vec<&String> = words.iter().filter(is_rare).map(|(word, _)| word).collect();
    let step = (rare.len() / WORDS).max(1);
    made.words = rare
        .into_iter()
        .step_by(step)
        .take(WORDS)
        .cloned()
        .collect();
    for (tree, slug) in trees.iter().zip(slugs) {
        commit(tree.path(), &stack.project_named(TENANT, slug));
    }
    made
}

/// Copies the texts of a folder, and counts the files of each word in the first copy.
fn copy_folder(
    source: &Path,
    tree: &Path,
    copy: usize,
    (made, words): (&mut Made, &mut BTreeMap<String, usize>),
) {
    let target = tree
        .join(copy.to_string())
        .join(source.file_name().expect("a name"));
    fs::create_dir_all(&target).expect("a folder");
    for (name, text) in texts(source) {
        let text = format!("copy {copy} of {name}\n{text}");
        fs::write(target.join(name.replace('/', "__")), &text).expect("a file");
        made.files += 1;
        made.bytes += text.len();
        if copy == 0 {
            for word in words_of(&text) {
                *words.entry(word.to_owned()).or_default() += 1;
            }
        }
    }
}

/// The texts beneath a folder, with their paths.
fn texts(folder: &Path) -> Vec<(String, String)> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = fs::read_to_string(&path) {
                let name = path.strip_prefix(folder).expect("beneath");
                found.push((name.display().to_string(), text));
            }
        }
    }
    found
}

/// The longer words of a text, each once.
fn words_of(text: &str) -> BTreeSet<&str> {
    let is_letter = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    let words = text.split(|letter| !is_letter(letter));
    words
        .filter(|word| (10..=24).contains(&word.len()))
        .collect()
}

/// Commits a tree, and moves its repository, which becomes bare.
fn commit(tree: &Path, mirror: &Path) {
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=bench", "-c", "user.email=bench@localhost"]);
        let done = git.args(arguments).current_dir(tree).status();
        assert!(done.expect("git runs").success(), "git {arguments:?}");
    };
    git(&["init", "--quiet", "--template="]);
    git(&["add", "--force", "."]);
    git(&["commit", "--quiet", "--message", "copied"]);
    // As a clone would have them, but without the time that deltas take.
    git(&["-c", "pack.window=0", "repack", "-a", "-d", "--quiet"]);
    git(&["config", "core.bare", "true"]);
    let done = Command::new("mv")
        .arg(tree.join(".git"))
        .arg(mirror)
        .status();
    assert!(done.expect("mv runs").success());
    fs::remove_dir_all(tree).expect("the tree is removed");
}

fn call(pattern: &str) -> String {
    let arguments = json!({ "pattern": pattern, "project": "*" });
    let params = json!({ "name": "grep_codebase", "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
}

/// Lists each mirror once.
async fn list(stack: &Stack, slugs: &[String]) {
    let url = stack.gateways[0].url();
    for slug in slugs {
        let params = json!({ "name": "list_files", "arguments": { "project": slug } });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let mut client = Client::connect(&url, stack.key(TENANT), &call.to_string()).await;
        client.post().await;
    }
}

/// Searches until each mirror has an index.
async fn until_indexed(stack: &Stack, mirrors: usize) {
    let (url, begun) = (stack.gateways[0].url(), Instant::now());
    let call = call("no_such_word_anywhere");
    let mut client = Client::connect(&url, stack.key(TENANT), &call).await;
    while stack.workers[0].metric(BUILDS) < mirrors as f64 {
        assert!(begun.elapsed() < PATIENCE, "the indexes are not built");
        // An answer that ran out of time is an answer.
        client.exchange().await;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

async fn measure(stack: &Stack, words: &[String]) {
    let url = stack.gateways[0].url();
    let mut times = Vec::new();
    let before = stack.cpu();
    for word in words {
        let mut client = Client::connect(&url, stack.key(TENANT), &call(word)).await;
        client.post().await;
        times.extend(client.time(CALLS).await);
    }
    let after = stack.cpu();
    let calls = (words.len() * (CALLS + 1)) as f64;
    println!(
        "a call: p50 {:.1} ms (target 30), p95 {:.1} ms (target 100); CPU of the gateway {:.2} ms, of the worker {:.2} ms",
        quantile(&mut times, 0.5),
        quantile(&mut times, 0.95),
        (after.0 - before.0) * 1e3 / calls,
        (after.1 - before.1) * 1e3 / calls,
    );
}
