//! Definitions compared with those of Universal Ctags, and how fast they are found.
//!
//! ctags has other kinds and, for some languages, a parser that reads less than a grammar. So each side's
//! names are looked for on the other side by path, line and name, among kinds that both have. Arguments:
//! folders with sources. Needs `ctags` (Universal Ctags with JSON) in PATH. Run: `cargo bench -p
//! archway-benches --bench symbols -- FOLDER…`; for the times of calls `--call FOLDER`, after `cargo build
//! --release`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use archway_benches::{Client, Dev, median};
use archway_repo::{Cancel, RepoPath, syntax::Language};
use archway_symbols::{Kind, Symbols};
use serde_json::{Value, json};
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Kinds of ctags that are no definitions here: imports, packages, headers, labels, parts of statements.
const OTHER_KINDS: [&str; 17] = [
    "package",
    "packageName",
    "import",
    "alias",
    "talias",
    "anonMember",
    "local",
    "parameter",
    "unknown",
    "implementation",
    "header",
    "label",
    "library",
    "accessor",
    "property",
    "getter",
    "setter",
];
/// Definitions that are looked up by calls.
const CALLS: usize = 200;

/// A name at a place.
type Place = (String, u32, String);

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|it| it != "--bench")
        .collect();
    if let [call, folder] = arguments.as_slice()
        && call == "--call"
    {
        return calls(Path::new(folder)).await;
    }
    let (mut ours, mut theirs) = (BTreeMap::new(), BTreeMap::new());
    let (mut bytes, mut files, started) = (0, 0, Instant::now());
    for folder in &arguments {
        for path in listed(folder) {
            let text = fs::read(Path::new(folder).join(&path)).unwrap_or_default();
            (bytes, files) = (bytes + text.len(), files + 1);
            add_ours(folder, &path, &text, &mut ours);
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{files} files, {:.1} MB, {:.1} MB/s",
        bytes as f64 / 1e6,
        bytes as f64 / 1e6 / seconds
    );
    for folder in &arguments {
        add_theirs(folder, &mut theirs);
    }
    println!("language      ours  ctags  recall precision");
    for (language, ours) in &ours {
        let theirs: BTreeSet<Place> = theirs.get(language).cloned().unwrap_or_default();
        compare(language, ours, &theirs);
    }
}

/// The definitions of a file: those that ctags has kinds for, and all.
#[derive(Default)]
struct Ours {
    comparable: BTreeSet<Place>,
    all: BTreeSet<Place>,
}

fn listed(folder: &str) -> Vec<String> {
    let listed = Command::new("git")
        .args(["-C", folder, "ls-files"])
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

fn add_ours(folder: &str, path: &str, text: &[u8], ours: &mut BTreeMap<String, Ours>) {
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
            format!("{folder}/{path}"),
            definition.name_line,
            definition.name.to_string(),
        );
        // ctags lists no members of types in some languages, and no prototypes.
        if definition.kind != Kind::Field && definition.is_whole {
            entry.comparable.insert(place.clone());
        }
        entry.all.insert(place);
    }
}

fn add_theirs(folder: &str, theirs: &mut BTreeMap<String, BTreeSet<Place>>) {
    let files = listed(folder).join("\n");
    let list = tempfile::NamedTempFile::new().expect("a file");
    fs::write(list.path(), files).expect("a list");
    let tags = Command::new("ctags")
        .current_dir(folder)
        .args([
            "--output-format=json",
            "--fields=+neK",
            "--map-C++=-.h",
            "--map-C=+.h",
            "-f",
            "-",
            "-L",
        ])
        .arg(list.path())
        .output()
        .expect("ctags runs");
    for line in String::from_utf8_lossy(&tags.stdout).lines() {
        let Ok(tag) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let text = |field: &str| tag[field].as_str().unwrap_or_default().to_owned();
        let (name, kind) = (text("name"), text("kind"));
        let path = RepoPath::parse(&text("path")).ok();
        let Some(language) = path.and_then(|path| Language::of(&path)) else {
            continue;
        };
        if OTHER_KINDS.contains(&&*kind) || name.starts_with("__anon") || name.starts_with("anon") {
            continue;
        }
        let line = tag["line"]
            .as_u64()
            .and_then(|line| u32::try_from(line).ok())
            .unwrap_or(0);
        let place = (format!("{folder}/{}", text("path")), line, name);
        theirs
            .entry(format!("{language:?}"))
            .or_default()
            .insert(place);
    }
}

fn compare(language: &str, ours: &Ours, theirs: &BTreeSet<Place>) {
    let missed: Vec<&Place> = theirs.difference(&ours.all).collect();
    let extra: Vec<&Place> = ours.comparable.difference(theirs).collect();
    let part = |of: usize, all: usize| 1.0 - of as f64 / all.max(1) as f64;
    println!(
        "{language:12} {:6} {:6}   {:.3}   {:.3}",
        ours.all.len(),
        theirs.len(),
        part(missed.len(), theirs.len()),
        part(extra.len(), ours.comparable.len()),
    );
    if std::env::var_os("SHOW").is_some() {
        for (what, places) in [("missed", missed), ("extra", extra)] {
            for (path, line, name) in places.iter().step_by(1.max(places.len() / 12)) {
                println!("    {what} {path}:{line} {name}");
            }
        }
    }
}

/// Times `find_symbol` and `find_references` through gateway and worker, over names of the folder.
async fn calls(folder: &Path) {
    let mut names = BTreeSet::new();
    let path = folder.to_str().expect("a path");
    for file in listed(path) {
        let mut ours = BTreeMap::new();
        add_ours(
            "",
            &file,
            &fs::read(folder.join(&file)).unwrap_or_default(),
            &mut ours,
        );
        for ours in ours.into_values() {
            names.extend(ours.all.into_iter().map(|(_, _, name)| name));
        }
    }
    let names: Vec<String> = names.into_iter().collect();
    let data = tempfile::tempdir().expect("a folder");
    let dev = Dev::start(folder, data.path());
    dev.lift().await;
    for (tool, argument) in [("find_symbol", "name"), ("find_references", "symbol")] {
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
            "{tool}: {} names, first {:.1} ms, warm p50 {:.1} ms (target ≤ 10), p95 {p95:.1} ms",
            first.len(),
            median(&mut first),
            median(&mut warm),
        );
    }
    println!("peak memory {:.0} MiB", dev.usage().peak_mib);
    dev.stop();
}
