//! What an index leaves on disk, and what happens when that is wrong.

use std::fs;

use super::*;

/// Two files, one of them with the word.
fn few_files() -> Sandbox {
    let app = Sandbox::new();
    app.file("a", "needle in a text that is long enough\n")
        .file("b", "no\n")
        .committed();
    app
}

#[test]
fn a_restarted_worker_knows_all_blobs_of_a_mirror() {
    let app = few_files();
    mirrored(&app);
    let cache = tempfile::tempdir().unwrap();
    Worker::start(&app, Some(cache.path()), LIMIT).build("mirror");
    let next = Worker::start(&app, Some(cache.path()), LIMIT);
    assert_eq!(next.unknown("mirror"), 0);
    assert_eq!(next.metrics.index_counts(), (0, 0, 0));
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
fn a_full_index_makes_room_for_changed_texts() {
    let app = Sandbox::new();
    let text = |round: u32, file: u32| {
        let words = (0..3_000).map(|word: u32| {
            let word = word.wrapping_mul(2_654_435_761) ^ (round * 97 + file);
            format!("{word:08x}\n")
        });
        words.collect::<String>()
    };
    let write = |round| {
        (0..8).for_each(|file| _ = app.file(&format!("f{file}"), text(round, file)));
        app.committed();
    };
    write(0);
    mirrored(&app);
    let cache = tempfile::tempdir().unwrap();
    let size = {
        let worker = Worker::start(&app, Some(cache.path()), LIMIT);
        worker.build("mirror");
        let files = segment_files(cache.path());
        files
            .iter()
            .map(|file| fs::metadata(file).unwrap().len())
            .sum::<u64>()
    };
    let cache = tempfile::tempdir().unwrap();
    let worker = Worker::start(&app, Some(cache.path()), size * 3 / 2);
    for round in 1..5 {
        write(round);
        git(
            &app.host("acme/mirror"),
            &["fetch", "-q", "../app", "+main:main"],
        );
        worker.build("mirror");
    }
}

#[test]
fn files_without_room_leave_the_others_in_the_index() {
    let app = Sandbox::new();
    app.file("a-large", "a line of text\n".repeat(200_000))
        .file("small", "needle\n");
    app.committed();
    let worker = Worker::start(&app, None, 1 << 20);
    let give_up = Instant::now() + PATIENCE;
    while worker.unknown("app") > 1 {
        search(&worker.repo("app"), &query("a"));
        assert!(Instant::now() < give_up, "the small file is not indexed");
        std::thread::yield_now();
    }
}

#[test]
fn a_repository_larger_than_the_limit_is_scanned() {
    let app = Sandbox::new();
    app.file("a", "needle\n").file("b", "x".repeat(20_000));
    let small = Worker::start(&app, None, 5_000);
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
    let held = index.store.lock().unwrap().unwrap();
    assert!(
        two.index(&two.repo("mirror"))
            .store
            .lock()
            .unwrap()
            .is_none()
    );
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
