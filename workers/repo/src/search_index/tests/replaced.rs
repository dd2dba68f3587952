//! A repository that is replaced while its index is built: every answer is that of a scan.

use std::fs;

use super::*;
use crate::commit_tree::CommitBlobs;
use crate::worktree::WorkBlobs;

/// What happens to a project.
type Change = Box<dyn Fn() + Send + Sync>;

/// The files of a snapshot that changes while they are read for a build.
struct Changed<S> {
    source: S,
    /// Whether it changes before the files are read, or afterwards.
    is_before: bool,
    change: Change,
}

impl<S: BuildSource> BuildSource for Changed<S> {
    fn snapshot(&self) -> Option<&str> {
        self.source.snapshot()
    }

    fn read(&self, build: &mut Build<'_>) -> Result<(), BuildError> {
        if self.is_before {
            (self.change)();
        }
        let read = self.source.read(build);
        if !self.is_before {
            (self.change)();
        }
        read
    }

    fn finish(&self, index: &ProjectIndex) {
        self.source.finish(index);
    }
}

/// A repository and its mirror, and one that is to replace each of them.
fn replaceable() -> Sandbox {
    let app = Sandbox::new();
    (0..50).for_each(|file| _ = app.file(&format!("f{file}"), format!("needle one {file}\n")));
    app.committed();
    mirrored(&app);
    let folder = app.host("acme");
    git(&folder, &["clone", "-q", "app", "next-app"]);
    let next = app.host("acme/next-app");
    for file in 0..25 {
        let text = format!("needle two {}\n", file * 7);
        fs::write(next.join(format!("f{file}")), text).unwrap();
    }
    fs::remove_file(next.join("f49")).unwrap();
    fs::write(next.join("new"), "one new needle 4242\n").unwrap();
    git(&next, &["add", "-A"]);
    git(&next, &["commit", "-q", "--amend", "-m", "another one"]);
    git(
        &folder,
        &["clone", "-q", "--bare", "next-app", "next-mirror"],
    );
    app
}

/// Puts the other repository in the place of a project.
fn replace(folder: &Path, project: &str) {
    fs::rename(folder.join(project), folder.join("replaced")).unwrap();
    fs::rename(folder.join(format!("next-{project}")), folder.join(project)).unwrap();
}

/// Moves a project to the other repository's commit, and drops the objects that only the first one had.
fn rewrite(folder: &Path, project: &str) {
    let git = |arguments: &[&str]| _ = git(&folder.join(project), arguments);
    git(&["fetch", "-q", "../next-app", "+main:refs/heads/next"]);
    match project {
        "app" => git(&["reset", "-q", "--hard", "next"]),
        _ => git(&["update-ref", "refs/heads/main", "next"]),
    }
    git(&["reflog", "expire", "--expire=now", "--all"]);
    git(&["gc", "-q", "--prune=now"]);
}

/// Requests a build of a project that changes meanwhile.
fn request(worker: &Worker, repo: &Repo, is_before: bool, change: Change) {
    let (index, project) = (worker.index(repo), repo.snapshot.project().name());
    let indexes = &worker.repos.0.search_index;
    match &repo.snapshot.bare {
        Some(tree) => {
            let listing = tree.listing(&repo.rules, &cancel()).unwrap();
            let basis = tree.basis(&repo.rules).unwrap();
            let source = CommitBlobs::new(tree.git().unwrap(), &listing, (project, basis));
            let source = Changed {
                source,
                is_before,
                change,
            };
            indexes.request(&index, "acme", source);
        }
        None => {
            let listing = repo.listing(&cancel()).unwrap();
            let source = WorkBlobs::new(repo.snapshot.project().work_tree(), &listing, project);
            let source = Changed {
                source,
                is_before,
                change,
            };
            indexes.request(&index, "acme", source);
        }
    }
}

#[test]
fn a_repository_replaced_during_a_build_is_searched_as_it_is_now() {
    let ways: [fn(&Path, &str); 2] = [replace, rewrite];
    for (way, is_before, project) in ways.into_iter().flat_map(|way| {
        [true, false]
            .into_iter()
            .flat_map(move |is_before| ["app", "mirror"].map(|project| (way, is_before, project)))
    }) {
        let app = replaceable();
        let cache = tempfile::tempdir().unwrap();
        let worker = Worker::start(&app, Some(cache.path()), LIMIT);
        let before = scanned(&app, project);
        let repo = worker.repo(project);
        let folder = app.host("acme");
        request(
            &worker,
            &repo,
            is_before,
            Box::new(move || way(&folder, project)),
        );
        until_ended(&worker, 1);
        let expected = scanned(&app, project);
        assert_ne!(expected, before, "{project} was replaced");
        assert_eq!(
            answers(&worker.repo(project)),
            expected,
            "{project}, {is_before}"
        );
        worker.build(project);
        assert_eq!(
            answers(&worker.repo(project)),
            expected,
            "{project}, {is_before}"
        );
        let next = Worker::start(&app, Some(cache.path()), LIMIT);
        assert_eq!(
            answers(&next.repo(project)),
            expected,
            "{project}, {is_before}"
        );
    }
}
