//! The lists of files that an index saves, for a worker that starts again.

use std::fs;

use super::storage::few_files;
use super::*;
use crate::testing::shown;

/// Waits until the index has saved the project's files.
pub(super) fn until_saved(worker: &Worker, project: &str) {
    let give_up = Instant::now() + PATIENCE;
    let index = worker.index(&worker.repo(project));
    while index.store.load(project).is_none() {
        assert!(Instant::now() < give_up, "the files are not saved");
        std::thread::yield_now();
    }
}

/// Waits until no build of the project waits or runs. Only a search requests another one.
fn until_idle(worker: &Worker, project: &str) {
    let give_up = Instant::now() + PATIENCE;
    let index = worker.index(&worker.repo(project));
    while index.schedule.lock().is_queued {
        assert!(Instant::now() < give_up, "the build does not end");
        std::thread::yield_now();
    }
}

/// The file in which the index has saved the files of a project.
fn saved_file(cache: &Path, project: &str) -> PathBuf {
    let [segment] = &segment_files(cache)[..] else {
        panic!("one file");
    };
    segment.with_file_name(format!("{project}.files"))
}

#[test]
fn a_restarted_worker_lists_a_mirror_from_its_index() {
    let app = few_files();
    mirrored(&app);
    let cache = tempfile::tempdir().unwrap();
    let first = Worker::start(&app, Some(cache.path()), LIMIT);
    first.build("mirror");
    until_saved(&first, "mirror");
    let listed = |repo: &Repo| shown(&repo.listing(&cancel()).unwrap());
    let expected = listed(&first.repo("mirror"));
    let next = Worker::start(&app, Some(cache.path()), LIMIT);
    let repo = next.repo("mirror");
    assert_eq!(listed(&repo), expected);
    let tree = repo.snapshot.bare.clone().unwrap();
    let listing = tree.listing(&repo.rules, &cancel()).unwrap();
    assert!(listing.is_saved(), "it was not read from git");
}

#[test]
fn a_damaged_list_of_files_is_counted_removed_and_saved_again() {
    let app = few_files();
    mirrored(&app);
    git(
        &app.host("acme/mirror"),
        &["worktree", "add", "-q", "../tree"],
    );
    for project in ["mirror", "tree"] {
        let cache = tempfile::tempdir().unwrap();
        let first = Worker::start(&app, Some(cache.path()), LIMIT);
        first.build(project);
        until_saved(&first, project);
        let expected = search(&first.repo(project), &query("needle"));
        until_idle(&first, project);
        drop(first);
        let saved = saved_file(cache.path(), project);
        let good = fs::read(&saved).unwrap();
        let mut flipped = good.clone();
        flipped[good.len() / 2] ^= 1;
        for bad in [flipped, good[..good.len() - 1].to_vec(), Vec::new()] {
            fs::write(&saved, &bad).unwrap();
            let worker = Worker::start(&app, Some(cache.path()), LIMIT);
            assert_eq!(search(&worker.repo(project), &query("needle")), expected);
            assert_eq!(worker.metrics.index_counts().2, 1, "{project}");
            let give_up = Instant::now() + PATIENCE;
            while fs::read(&saved).is_ok_and(|now| now == bad) || !saved.exists() {
                assert_eq!(search(&worker.repo(project), &query("needle")), expected);
                assert!(Instant::now() < give_up, "{project}: not saved again");
                std::thread::yield_now();
            }
            assert_eq!(worker.metrics.index_counts().2, 1, "{project}");
            until_idle(&worker, project);
        }
    }
}

#[test]
fn the_files_of_a_commit_whose_texts_are_all_known_are_saved_too() {
    let app = few_files();
    mirrored(&app);
    let cache = tempfile::tempdir().unwrap();
    let first = Worker::start(&app, Some(cache.path()), LIMIT);
    first.build("mirror");
    until_saved(&first, "mirror");
    until_idle(&first, "mirror");
    drop(first);
    let saved = saved_file(cache.path(), "mirror");
    let before = fs::read(&saved).unwrap();
    app.git(&["mv", "b", "c"])
        .git(&["commit", "-qm", "renamed"]);
    let fetch = ["fetch", "-q", "../app", "+main:main"];
    git(&app.host("acme/mirror"), &fetch);
    let worker = Worker::start(&app, Some(cache.path()), LIMIT);
    let give_up = Instant::now() + PATIENCE;
    while fs::read(&saved).unwrap() == before {
        search(&worker.repo("mirror"), &query("needle"));
        assert!(Instant::now() < give_up, "the new files are not saved");
        std::thread::yield_now();
    }
}
