//! What tests of the languages share: a project of files, and what one of them imports.

use archway_repo::testing::{Sandbox, cancel, path};

use super::{Dependencies, ImportCache};

/// A project with these files, `files` of text and `empty` ones.
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

/// What the file `from` imports.
pub(super) fn dependencies(project: &Sandbox, from: &str) -> Dependencies {
    let repo = project.repo();
    let cache = ImportCache::new();
    let found = cache.dependencies(repo.key(), &repo, &path(from), &cancel());
    found.unwrap()
}

/// Those files' paths; there must have been nothing to complain about.
pub(super) fn imports(project: &Sandbox, from: &str) -> Vec<String> {
    let found = dependencies(project, from);
    assert_eq!(found.error, None, "{from}");
    found.files.iter().map(|path| path.display()).collect()
}
