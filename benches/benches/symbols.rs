//! Definitions compared with those of Universal Ctags, and how fast they are found.
//!
//! ctags has other kinds and, for some languages, a parser that reads less than a grammar. So each side's
//! names are looked for on the other side by path, line and name, among kinds that both have
//! (`symbols/ctags.rs` has the rules). The differences, or a draw of them, were read in their places, and
//! who is wrong was written down (`symbols/judged.tsv`). The second pair of figures leaves out where ctags is
//! wrong.
//!
//! Arguments: folders with sources, named as their repositories. Before them, `--differences` prints those
//! that are to be judged. Needs `ctags` (Universal Ctags with JSON) in PATH. Run: `cargo bench -p
//! archway-benches --bench symbols -- FOLDER…`; for the times of calls `--call FOLDER`, after `cargo build
//! --release`.

#[path = "symbols/ctags.rs"]
mod ctags;
#[path = "symbols/judged.rs"]
mod judged;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use archway_benches::{Client, Dev, median};
use archway_repo::{Cancel, RepoPath, syntax::Language};
use archway_symbols::{Definition, Kind, Symbols};
use judged::{Judged, Side};
use serde_json::json;
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Definitions that are looked up by calls.
const CALLS: usize = 200;

/// A name at a place: path with the repository, line, name.
type Place = (String, u32, String);

/// The definitions of a language's files: those that ctags has kinds for, those inside of functions, and
/// all.
#[derive(Default)]
struct Ours {
    comparable: BTreeSet<Place>,
    local: BTreeSet<Place>,
    all: BTreeSet<Place>,
}

#[tokio::main]
async fn main() {
    let mut arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|it| it != "--bench")
        .collect();
    if let [call, folder] = arguments.as_slice()
        && call == "--call"
    {
        return calls(Path::new(folder)).await;
    }
    let given = arguments.len();
    arguments.retain(|it| it != "--differences");
    let is_shown = arguments.len() < given;
    let (mut ours, mut theirs) = (BTreeMap::new(), BTreeMap::new());
    for folder in arguments.iter().map(Path::new) {
        add_all(folder, &mut ours);
        ctags::add(folder, &mut theirs);
    }
    let judged = Judged::read();
    println!(
        "language      ours  ctags | recall precision | of differences: judged, ctags, ours, open | recall precision"
    );
    for (language, ours) in &ours {
        let theirs = theirs.get(language).cloned().unwrap_or_default();
        compare(language, ours, &theirs, &judged, is_shown);
    }
}

/// Adds the definitions of all files of a folder, and says how fast they were read.
fn add_all(folder: &Path, ours: &mut BTreeMap<String, Ours>) {
    let (mut bytes, started) = (0, Instant::now());
    let paths = listed(folder);
    for path in &paths {
        let text = fs::read(folder.join(path)).unwrap_or_default();
        bytes += text.len();
        add_ours(folder, path, &text, ours);
    }
    let (megabytes, seconds) = (bytes as f64 / 1e6, started.elapsed().as_secs_f64());
    println!(
        "{}: {} files, {megabytes:.1} MB, {:.1} MB/s",
        name(folder),
        paths.len(),
        megabytes / seconds
    );
}

/// The last part of a folder's path.
fn name(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn listed(folder: &Path) -> Vec<String> {
    let listed = Command::new("git")
        .arg("-C")
        .arg(folder)
        .arg("ls-files")
        .output()
        .expect("git runs");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let is_source =
        |path: &&str| RepoPath::parse(path).is_ok_and(|path| Language::of(&path).is_some());
    listed
        .lines()
        .filter(is_source)
        .map(str::to_owned)
        .collect()
}

fn add_ours(folder: &Path, path: &str, text: &[u8], ours: &mut BTreeMap<String, Ours>) {
    let language = RepoPath::parse(path)
        .ok()
        .and_then(|path| Language::of(&path));
    let Some(language) = language else { return };
    let cancel = Cancel::new(
        Instant::now() + Duration::from_secs(60),
        CancellationToken::new(),
    );
    let Ok(symbols) = Symbols::of(language, text, &cancel) else {
        return;
    };
    let entry = ours.entry(format!("{language:?}")).or_default();
    for definition in &symbols.definitions {
        let place = (
            format!("{}/{path}", name(folder)),
            definition.name_line,
            ctags::spelled(&definition.name),
        );
        let mut around = symbols.around(definition.parent);
        if around.any(|(_, it)| it.kind.is_callable()) {
            entry.local.insert(place.clone());
        } else if is_comparable(language, definition) {
            entry.comparable.insert(place.clone());
        }
        entry.all.insert(place);
    }
}

/// Whether ctags has a kind for a definition. It lists no members of types in some languages, no
/// prototypes, and no `const` of Rust.
fn is_comparable(language: Language, definition: &Definition) -> bool {
    let is_const = definition.kind == Kind::Constant
        && definition
            .signature
            .split_whitespace()
            .any(|it| it == "const");
    let is_of_a_kind = definition.kind != Kind::Field && !(language == Language::Rust && is_const);
    is_of_a_kind && definition.is_whole
}

fn compare(language: &str, ours: &Ours, theirs: &BTreeSet<Place>, judged: &Judged, is_shown: bool) {
    // ctags reads the bodies of functions in some languages only.
    let theirs: BTreeSet<Place> = theirs.difference(&ours.local).cloned().collect();
    let missed: Vec<&Place> = theirs.difference(&ours.all).collect();
    let extra: Vec<&Place> = ours.comparable.difference(&theirs).collect();
    let part = |of: f64, all: f64| 1.0 - of / all.max(1.0);
    let (all, comparable) = (theirs.len() as f64, ours.comparable.len() as f64);
    let (missing, adding) = (
        judged.count(Side::Missed, &missed),
        judged.count(Side::Extra, &extra),
    );
    println!(
        "{language:12} {:6} {:6} | {:.3} {:.3} | {} + {}: {} | {:.3} {:.3}",
        ours.all.len(),
        theirs.len(),
        part(missed.len() as f64, all),
        part(extra.len() as f64, comparable),
        missed.len(),
        extra.len(),
        missing.plus(&adding),
        part(missing.of_ours(), all - missing.of_theirs()),
        part(adding.of_ours(), comparable),
    );
    if is_shown {
        for (side, places) in [(Side::Missed, missed), (Side::Extra, extra)] {
            judged.show(language, side, &places);
        }
    }
}

/// Times `find_symbol` and `find_references` through gateway and worker, over names of the folder.
async fn calls(folder: &Path) {
    let mut names = BTreeSet::new();
    for file in listed(folder) {
        let mut ours = BTreeMap::new();
        add_ours(
            folder,
            &file,
            &fs::read(folder.join(&file)).unwrap_or_default(),
            &mut ours,
        );
        for ours in ours.into_values() {
            names.extend(ours.all.into_iter().map(|(_, _, name)| name));
        }
    }
    let names: Vec<String> = names.into_iter().collect();
    let temporary = tempfile::tempdir().expect("a folder");
    let mirror = temporary.path().join("mirror.git");
    let mut clone = Command::new("git");
    clone.args(["clone", "--quiet", "--bare", "--no-local"]);
    let cloned = clone.arg(folder).arg(&mirror).status();
    assert!(cloned.expect("git starts").success());
    for (how, repo) in [("work tree", folder), ("mirror", &mirror)] {
        let data = temporary.path().join(how);
        fs::create_dir(&data).expect("a folder");
        let dev = Dev::start(repo, &data);
        dev.lift().await;
        for (tool, argument) in [("find_symbol", "name"), ("find_references", "symbol")] {
            print!("{how}, {tool}: ");
            times(&dev, (tool, argument), &names).await;
        }
        println!("{how}: peak memory {:.0} MiB", dev.usage().peak_mib);
        dev.stop();
    }
}

/// Prints how long the calls of a tool take for some of the names.
async fn times(dev: &Dev, (tool, argument): (&str, &str), names: &[String]) {
    let (mut first, mut warm) = (Vec::new(), Vec::new());
    for name in names.iter().step_by(1.max(names.len() / CALLS)) {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": tool, "arguments": { argument: name } } });
        let mut client = Client::connect(&dev.url, &dev.key, &call.to_string()).await;
        first.extend(client.time(1).await);
        warm.extend(client.time(3).await);
    }
    warm.sort_by(f64::total_cmp);
    let p95 = warm[warm.len() * 95 / 100];
    println!(
        "{} names, first {:.1} ms, warm p50 {:.1} ms (target ≤ 10), p95 {p95:.1} ms",
        first.len(),
        median(&mut first),
        median(&mut warm),
    );
}
