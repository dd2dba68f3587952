//! Test helpers for all languages: a project of files, and the imports of one of them.

use archway_repo::testing::{Sandbox, cancel, path};

use super::{Dependencies, ImportCache};

/// A project with `files` that have text, and `empty` files.
pub(super) fn project(files: &[(&str, &str)], empty: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    for (path, text) in files {
        sandbox.file(path, text);
    }
    for path in empty {
        sandbox.file(path, "");
    }
    sandbox
}

/// The imports of the file `from`.
pub(super) fn dependencies(project: &Sandbox, from: &str) -> Dependencies {
    let repo = project.repo();
    let cache = ImportCache::new();
    let dependencies = cache.dependencies(repo.key(), &repo, &path(from), &cancel());
    dependencies.unwrap()
}

/// The paths of the imported files. Panics if an error was reported.
pub(super) fn imports(project: &Sandbox, from: &str) -> Vec<String> {
    let dependencies = dependencies(project, from);
    assert_eq!(dependencies.error, None, "{from}");
    dependencies
        .files
        .iter()
        .map(|path| path.display())
        .collect()
}
