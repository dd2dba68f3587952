//! What does not fit into the index.

use std::fs;

use super::*;

/// Projects whose indexes are about equally large.
const PROJECTS: [&str; 3] = ["one", "two", "three"];

/// The projects, each with a text that hardly compresses.
fn three_projects() -> Sandbox {
    let app = Sandbox::new();
    let noise = |seed: u32| -> String {
        let mut state = seed;
        let mut next = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from(b'a' + u8::try_from(state >> 28).unwrap())
        };
        (0..40_000).map(|_| next()).collect()
    };
    for (seed, project) in (1..).zip(PROJECTS) {
        app.file(&format!("../{project}/a"), noise(seed));
    }
    app
}

#[test]
fn the_least_recently_used_index_makes_room() {
    let app = three_projects();
    let cache = tempfile::tempdir().unwrap();
    let worker = Worker::start(&app, Some(cache.path()), 250_000);
    worker.build("one");
    worker.build("two");
    // A worker records a use of an index at most every few minutes: another one uses it now.
    let other = Worker::start(&app, Some(cache.path()), 250_000);
    search(&other.repo("one"), &query("a"));
    worker.build("three");
    let give_up = Instant::now() + PATIENCE;
    while segment_files(cache.path()).len() != 2 {
        assert!(Instant::now() < give_up);
        std::thread::yield_now();
    }
    let is_there = |project| {
        let index = worker.index(&worker.repo(project));
        !index.store.names().unwrap().is_empty()
    };
    assert_eq!(PROJECTS.map(is_there), [true, false, true]);
}

#[test]
fn indexes_in_memory_have_one_bound_together() {
    let app = three_projects();
    let roomy = Worker::start(&app, None, LIMIT);
    roomy.build("one");
    let size = roomy.index(&roomy.repo("one")).segments().bytes();
    // Room for two of them; each may take half.
    let worker = Worker::start(&app, None, size * 5 / 2);
    PROJECTS.iter().for_each(|project| worker.build(project));
    let give_up = Instant::now() + PATIENCE;
    while PROJECTS.iter().all(|project| worker.unknown(project) == 0) {
        assert!(Instant::now() < give_up, "all three are held");
        std::thread::yield_now();
    }
    for project in PROJECTS {
        assert_eq!(answers(&worker.repo(project)), scanned(&app, project));
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
