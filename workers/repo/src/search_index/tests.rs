use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

use archway_trigrams::Requirement;
use tokio::time::Instant;

use super::*;
use crate::search::{Excluded, MatchRange, Query};
use crate::testing::{Sandbox, cancel, git, repos_at};
use crate::{CacheBytes, Mounts, Repo, Repos, Rules};

const LIMIT: u64 = 1 << 30;
const PATIENCE: Duration = Duration::from_secs(60);

/// A worker with an index.
struct Worker {
    repos: Repos,
    metrics: RepoMetrics,
}

impl Worker {
    fn start(app: &Sandbox, cache: Option<&Path>, bytes: u64) -> Worker {
        let metrics = RepoMetrics::default();
        let config = SearchIndexConfig {
            folder: cache.map(Path::to_owned),
            bytes,
        };
        let repos = Repos::new(
            Mounts::beneath(app.host(".")),
            NonZeroUsize::MIN,
            CacheBytes::default(),
            config,
            metrics.clone(),
        );
        Worker {
            repos: repos.unwrap(),
            metrics,
        }
    }

    fn repo(&self, project: &str) -> Repo {
        let rules = Rules::new(&[], &[], None).unwrap();
        self.repos.open("acme", project, Arc::new(rules)).unwrap()
    }

    fn index(&self, repo: &Repo) -> Arc<ProjectIndex> {
        let git = repo.git();
        let key = repo.key().of_index(git.as_ref());
        self.repos.0.search_index.of(&key).unwrap()
    }

    /// The number of files that a search would have to read whatever the pattern is.
    fn unknown(&self, project: &str) -> usize {
        let repo = self.repo(project);
        let (index, requirement) = (self.index(&repo), Requirement::Nothing);
        let missing = |files| Selection::of(&index, files, &requirement).missing();
        match &repo.snapshot.bare {
            Some(tree) => {
                let listing = tree.listing(&repo.rules, &cancel()).unwrap();
                missing(&listing.indexed)
            }
            None => {
                let listing = repo.listing(&cancel()).unwrap();
                let work = repo.snapshot.project().work_tree().indexed(&listing);
                missing(&work.files) + work.unread
            }
        }
    }

    /// Searches until a build has indexed all files.
    fn build(&self, project: &str) {
        let give_up = Instant::now() + PATIENCE;
        while self.unknown(project) > 0 {
            search(&self.repo(project), &query("a"));
            assert!(
                Instant::now() < give_up,
                "{} unknown",
                self.unknown(project)
            );
            std::thread::yield_now();
        }
    }
}

fn query(pattern: &str) -> Query {
    Query {
        pattern: pattern.to_owned(),
        literal: false,
        case_sensitive: true,
        glob: None,
        excluded: &Excluded::NONE,
        context: 1,
    }
}

fn search(repo: &Repo, query: &Query) -> String {
    let range = MatchRange { skip: 0, limit: 50 };
    format!("{:?}", repo.search(query, range, &cancel()).unwrap())
}

/// Files that are easy to get wrong.
fn odd_files() -> Sandbox {
    let app = Sandbox::new();
    let utf16 = |text: &str| -> Vec<u8> {
        let units = text.encode_utf16().flat_map(u16::to_le_bytes);
        [0xFF, 0xFE].into_iter().chain(units).collect()
    };
    let long = format!("needle\n{}\nneedle\n", "long needle ".repeat(100_000));
    let mut largest = "needle ".repeat(8 << 20);
    largest.truncate(8 << 20);
    app.file("utf16.txt", utf16("needle Straße\nfoobaz\n"))
        .file("bom.txt", "\u{feff}needle\n")
        .file("binary.bin", b"needle\0needle\n")
        .file(
            "late-nul.txt",
            [b"a needle\n".repeat(1000), b"\0needle\n".to_vec()].concat(),
        )
        .file("invalid.txt", b"needle \xFF\xFE caf\xE9\n")
        .file("crlf.txt", "needle\r\nfoobaz\r\nword\r\n")
        .file("one", "n")
        .file("empty", "")
        .file("long.txt", long)
        .file("largest.txt", &largest)
        .file("larger.txt", largest + "n")
        .file("fold.txt", "ſtraße STRAẞE strasse \u{212a}elvin Kelvin\n")
        .file("regex.txt", "barbaz foobaz abc_1234 a{0}b words word\n\n")
        .file("sub/deep/plain.rs", "fn needle() {}\n// no word\n")
        .file(".env", "needle secret\n")
        .link("link.rs", "sub/deep/plain.rs");
    app.committed();
    app
}

fn mirrored(app: &Sandbox) {
    git(
        &app.host("acme"),
        &["clone", "-q", "--bare", "app", "mirror"],
    );
}

fn patterns() -> Vec<Query> {
    let patterns = [
        "needle",
        "(foo|bar)baz",
        "(?i)Straße",
        "a{0}b",
        "^$",
        r"\bword\b",
        "n",
        "kelvin",
        "[a-z]+_[0-9]{4}",
        "nowhere",
        r"caf.",
        "needle$",
        "^needle",
        "long needle",
        "x*",
    ];
    let mut queries = Vec::new();
    for pattern in patterns {
        for (literal, case_sensitive) in [(false, true), (false, false), (true, false)] {
            queries.push(Query {
                literal,
                case_sensitive,
                ..query(pattern)
            });
        }
    }
    queries
}

#[test]
fn the_index_changes_no_answer() {
    let app = odd_files();
    mirrored(&app);
    let cache = tempfile::tempdir().unwrap();
    let folder = Worker::start(&app, Some(cache.path()), LIMIT);
    let memory = Worker::start(&app, None, LIMIT);
    let scan = repos_at(Mounts::beneath(app.host(".")));
    for project in ["app", "mirror"] {
        let rules = Rules::new(&[], &[], None).unwrap();
        let scanned = scan.open("acme", project, Arc::new(rules)).unwrap();
        folder.build(project);
        memory.build(project);
        for query in patterns() {
            let expected = search(&scanned, &query);
            assert_eq!(search(&folder.repo(project), &query), expected, "{query:?}");
            assert_eq!(search(&memory.repo(project), &query), expected, "{query:?}");
        }
    }
}

#[test]
fn a_commit_of_one_file_indexes_one_blob_and_is_seen_at_once() {
    let app = Sandbox::new();
    (0..100).for_each(|number| _ = app.file(&format!("f{number}"), format!("text {number}\n")));
    app.committed();
    let cache = tempfile::tempdir().unwrap();
    let worker = Worker::start(&app, Some(cache.path()), LIMIT);
    mirrored(&app);
    worker.build("mirror");
    app.file("f7", "another needle\n")
        .git(&["commit", "-qam", "two"]);
    app.git(&["push", "-q", "../mirror", "main"]);
    assert!(search(&worker.repo("mirror"), &query("another needle")).contains("f7"));
    worker.build("mirror");
    let segments = worker.index(&worker.repo("mirror")).segments();
    let sizes: Vec<u32> = segments
        .list
        .iter()
        .map(|open| open.segment.len())
        .collect();
    assert_eq!(sizes, [100, 1]);
    assert!(search(&worker.repo("mirror"), &query("another needle")).contains("f7"));
    assert!(!search(&worker.repo("mirror"), &query("text 7$")).contains("f7"));
}

#[test]
fn every_change_of_a_work_tree_is_seen_at_once() {
    let app = Sandbox::new();
    app.file("a", "one needle\n")
        .file("b", "nothing\n")
        .file("c", "needle\n");
    app.committed();
    let worker = Worker::start(&app, None, LIMIT);
    let scan = repos_at(Mounts::beneath(app.host(".")));
    let change: [&dyn Fn(); 5] = [
        &|| _ = app.file("b", "a new needle\n"),
        &|| fs::remove_file(app.root().join("c")).unwrap(),
        &|| _ = app.file("0", "needle before\n"),
        &|| fs::rename(app.root().join("a"), app.root().join("z")).unwrap(),
        &|| _ = app.git(&["checkout", "-q", "-f", "main"]),
    ];
    for change in change {
        worker.build("app");
        change();
        let rules = Rules::new(&[], &[], None).unwrap();
        let scanned = scan.open("acme", "app", Arc::new(rules)).unwrap();
        let expected = search(&scanned, &query("needle"));
        assert_eq!(search(&worker.repo("app"), &query("needle")), expected);
    }
}

#[test]
fn a_restarted_worker_knows_all_blobs_of_a_mirror() {
    let app = odd_files();
    mirrored(&app);
    let cache = tempfile::tempdir().unwrap();
    Worker::start(&app, Some(cache.path()), LIMIT).build("mirror");
    let next = Worker::start(&app, Some(cache.path()), LIMIT);
    assert_eq!(next.unknown("mirror"), 0);
    assert_eq!(next.metrics.index_counts(), (0, 0, 0));
}

fn segment_files(cache: &Path) -> Vec<PathBuf> {
    let folders = |path: PathBuf| {
        fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().path())
    };
    let repositories = folders(cache.to_owned()).flat_map(folders);
    let files = repositories.flat_map(folders);
    files
        .filter(|file| file.extension().is_some_and(|is| is == "segment"))
        .collect()
}

#[test]
fn a_damaged_index_is_removed_and_built_again() {
    let app = Sandbox::new();
    app.file("a", "needle in a text that is long enough\n")
        .file("b", "no\n")
        .committed();
    mirrored(&app);
    let cache = tempfile::tempdir().unwrap();
    let first = Worker::start(&app, Some(cache.path()), LIMIT);
    first.build("mirror");
    let expected = search(&first.repo("mirror"), &query("needle"));
    drop(first);
    let good = fs::read(&segment_files(cache.path())[0]).unwrap();
    let damages = (0..good.len()).step_by(7).map(|at| {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        bad
    });
    let truncated = (0..good.len())
        .step_by(29)
        .map(|length| good[..length].to_vec());
    for bad in damages.chain(truncated) {
        let [file] = &segment_files(cache.path())[..] else {
            panic!("one file");
        };
        fs::write(file, bad).unwrap();
        let worker = Worker::start(&app, Some(cache.path()), LIMIT);
        for query in [query("needle"), query("x*")] {
            search(&worker.repo("mirror"), &query);
        }
        assert_eq!(search(&worker.repo("mirror"), &query("needle")), expected);
        worker.build("mirror");
        assert_eq!(search(&worker.repo("mirror"), &query("needle")), expected);
    }
}

#[test]
fn rules_that_change_need_no_build() {
    let app = Sandbox::new();
    app.file("open", "needle\n")
        .file("closed", "needle in a haystack\n")
        .committed();
    let worker = Worker::start(&app, None, LIMIT);
    worker.build("app");
    let rules = Rules::new(&[], &["closed".to_owned()], None).unwrap();
    let repo = worker.repos.open("acme", "app", Arc::new(rules)).unwrap();
    let scanned = app.repo_with(Rules::new(&[], &["closed".to_owned()], None).unwrap());
    for pattern in ["needle", "haystack"] {
        assert_eq!(
            search(&repo, &query(pattern)),
            search(&scanned, &query(pattern))
        );
    }
}

#[test]
fn a_work_tree_and_its_mirror_share_an_index_and_tenants_do_not() {
    let app = Sandbox::new();
    app.file("a", "needle\n").committed();
    mirrored(&app);
    git(
        &app.host("acme/mirror"),
        &["worktree", "add", "-q", "../tree"],
    );
    fs::create_dir(app.host("other")).unwrap();
    git(
        &app.host("other"),
        &["clone", "-q", "--bare", "../acme/app", "mirror"],
    );
    let cache = tempfile::tempdir().unwrap();
    let worker = Worker::start(&app, Some(cache.path()), LIMIT);
    worker.build("mirror");
    worker.build("tree");
    assert_eq!(segment_files(cache.path()).len(), 1);
    let rules = Arc::new(Rules::new(&[], &[], None).unwrap());
    let other = worker.repos.open("other", "mirror", rules).unwrap();
    let index = worker.index(&other);
    assert!(
        index.segments().list.is_empty(),
        "the other tenant has an index of its own"
    );
    assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 1);
}

#[test]
fn the_least_recently_used_index_makes_room() {
    let app = Sandbox::new();
    let noise = |seed: u32| -> String {
        let mut state = seed;
        let mut next = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from(b'a' + u8::try_from(state >> 28).unwrap())
        };
        (0..40_000).map(|_| next()).collect()
    };
    for (seed, project) in (1..).zip(["one", "two", "three"]) {
        app.file(&format!("../{project}/a"), noise(seed));
    }
    let cache = tempfile::tempdir().unwrap();
    let worker = Worker::start(&app, Some(cache.path()), 250_000);
    for project in ["one", "two", "three"] {
        worker.build(project);
    }
    let give_up = Instant::now() + PATIENCE;
    while segment_files(cache.path()).len() != 2 {
        assert!(Instant::now() < give_up);
        std::thread::yield_now();
    }
}

#[test]
fn a_repository_larger_than_the_limit_is_scanned_and_one_without_a_limit_is_not_indexed() {
    let app = Sandbox::new();
    app.file("a", "needle\n").file("b", "x".repeat(20_000));
    let small = Worker::start(&app, None, 10_000);
    let give_up = Instant::now() + PATIENCE;
    while small.metrics.index_counts().1 == 0 {
        assert!(search(&small.repo("app"), &query("needle")).contains("matches: 1"));
        assert!(Instant::now() < give_up);
    }
    assert!(search(&small.repo("app"), &query("needle")).contains("matches: 1"));
    let none = Worker::start(&app, None, 0);
    let key = none.repo("app").key().of_index(None);
    assert!(none.repos.0.search_index.of(&key).is_none());
    assert!(search(&none.repo("app"), &query("needle")).contains("matches: 1"));
}

#[test]
fn one_worker_at_a_time_writes_and_others_use_what_it_wrote() {
    let app = Sandbox::new();
    app.file("a", "needle\n").committed();
    mirrored(&app);
    let cache = tempfile::tempdir().unwrap();
    let (one, two) = (
        Worker::start(&app, Some(cache.path()), LIMIT),
        Worker::start(&app, Some(cache.path()), LIMIT),
    );
    let index = one.index(&one.repo("mirror"));
    let held = index.lock().unwrap();
    assert!(two.index(&two.repo("mirror")).lock().is_none());
    drop(held);
    one.build("mirror");
    two.build("mirror");
    assert_eq!(segment_files(cache.path()).len(), 1);
}

#[test]
fn a_folder_that_cannot_be_used_leaves_the_scan() {
    let app = Sandbox::new();
    app.file("a", "needle\n").committed();
    let cache = tempfile::tempdir().unwrap();
    let worker = Worker::start(&app, Some(cache.path()), LIMIT);
    let key = worker.repo("app").key().tenant_fingerprint();
    fs::write(cache.path().join(key), "a file in its place").unwrap();
    for _ in 0..3 {
        assert!(search(&worker.repo("app"), &query("needle")).contains("matches: 1"));
    }
}

#[test]
fn many_small_commits_leave_few_segments() {
    let app = Sandbox::new();
    app.file("a", "0\n").committed();
    let worker = Worker::start(&app, None, LIMIT);
    for commit in 0..20 {
        app.file("a", format!("needle {commit}\n"))
            .git(&["commit", "-qam", "next"]);
        worker.build("app");
    }
    let segments = worker.index(&worker.repo("app")).segments();
    let documents: u32 = segments.list.iter().map(|open| open.segment.len()).sum();
    assert!(segments.list.len() <= 4, "{}", segments.list.len());
    assert!(
        documents <= 4,
        "texts that no file has any more are dropped: {documents}"
    );
}
