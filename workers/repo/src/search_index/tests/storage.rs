//! What an index leaves on disk, and what happens when that is wrong.

use std::fs;

use super::*;

/// Two files, one of them with the word.
pub(super) fn few_files() -> Sandbox {
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
fn a_restarted_worker_knows_the_unchanged_files_of_a_work_tree() {
    let app = few_files();
    app.file("changed", "original\n");
    let cache = tempfile::tempdir().unwrap();
    Worker::start(&app, Some(cache.path()), LIMIT).build("app");
    app.file("changed", "something else\n").file("new", "new\n");
    let worker = Worker::start(&app, Some(cache.path()), LIMIT);
    let repo = worker.repo("app");
    let work = repo.snapshot.project().work_tree();
    let listing = repo.listing(&cancel()).unwrap();
    let saved = |basis: &str| worker.index(&repo).saved_files("app", basis);
    assert_eq!(work.indexed(&listing, saved).unread, 1, "new");
    let found = search(&repo, &query("something else"));
    assert!(found.contains("changed") && !found.contains("original"));
}

#[test]
fn a_saved_listing_is_used_for_its_commit_and_rules_alone() {
    let app = few_files();
    mirrored(&app);
    let cache = tempfile::tempdir().unwrap();
    let first = Worker::start(&app, Some(cache.path()), LIMIT);
    first.build("mirror");
    saved_files::until_saved(&first, "mirror");
    let restored = |closed: &[String]| {
        let worker = Worker::start(&app, Some(cache.path()), LIMIT);
        let rules = Rules::new(&[], closed, None).unwrap();
        let repo = worker
            .repos
            .open("acme", ("mirror", Uuid::nil()), Arc::new(rules))
            .unwrap();
        let tree = repo.snapshot.bare.clone().unwrap();
        tree.restore(&repo.rules, |basis| {
            worker.index(&repo).saved_files("mirror", basis)
        });
        let restored = tree.cached_entries();
        (
            restored,
            tree.listing(&repo.rules, &cancel())
                .unwrap()
                .listing
                .entries
                .len(),
        )
    };
    let (saved, listed) = restored(&[]);
    assert_eq!(saved, listed);
    assert!(saved > 0);
    assert_eq!(restored(&["*.rs".to_owned()]).0, 0);
    app.file("more", "text\n").committed();
    git(
        &app.host("acme/mirror"),
        &["fetch", "-q", "../app", "+main:main"],
    );
    assert_eq!(restored(&[]), (0, listed + 1));
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
    let patterns = ["needle", "x*"];
    let expected = patterns.map(|pattern| search(&first.repo("mirror"), &query(pattern)));
    drop(first);
    let good = fs::read(&segment_files(cache.path())[0]).unwrap();
    let damages = (0..good.len()).step_by(7).map(|at| {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        // Nothing reads some of the bytes.
        (bad, 0..=1)
    });
    let truncated = (0..good.len())
        .step_by(29)
        .map(|length| (good[..length].to_vec(), 1..=1));
    for (bad, damaged) in damages.chain(truncated) {
        let [file] = &segment_files(cache.path())[..] else {
            panic!("one file");
        };
        fs::write(file, bad).unwrap();
        let worker = Worker::start(&app, Some(cache.path()), LIMIT);
        let found = || patterns.map(|pattern| search(&worker.repo("mirror"), &query(pattern)));
        assert_eq!(found(), expected, "the first searches");
        assert_eq!(found(), expected, "the next ones");
        worker.build("mirror");
        assert_eq!(found(), expected, "after the build");
        let counted = worker.metrics.index_counts().2;
        assert!(damaged.contains(&counted), "{counted} damages");
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
    let other = worker
        .repos
        .open("other", ("mirror", Uuid::nil()), rules)
        .unwrap();
    let index = worker.index(&other);
    assert!(
        index.segments().list.is_empty(),
        "the other tenant has an index of its own"
    );
    assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 1);
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
