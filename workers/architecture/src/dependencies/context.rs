//! The files of the project that an import can resolve to.
//!
//! Nothing here accesses the disk. A blocked or ignored file is not listed, so no import resolves
//! to it; a file outside of the project has no path.

use std::io::Read;

use archway_repo::{Cancel, Entry, EntryKind, Listing, RepoError, RepoFile, RepoPath, Stopped};

use super::Files;

/// At most this many manifests (`Cargo.toml`, `go.mod`) of a project are read per call.
const MAX_MANIFESTS: usize = 256;
/// At most this many bytes of a manifest are read.
const MAX_MANIFEST: u64 = 64 << 10;

/// The importing file and its project.
#[derive(Clone, Copy)]
pub(super) struct ImportContext<'a> {
    pub(super) files: &'a dyn Files,
    pub(super) listing: &'a Listing,
    /// The importing file.
    pub(super) from: &'a RepoPath,
    pub(super) cancel: &'a Cancel,
}

impl<'a> ImportContext<'a> {
    /// The folder of the importing file.
    pub(super) fn folder(&self) -> RepoPath {
        parent(self.from)
    }

    /// That folder and its ancestors, up to the root.
    pub(super) fn folders_above(&self) -> impl Iterator<Item = RepoPath> + use<> {
        std::iter::successors(Some(self.folder()), RepoPath::parent)
    }

    /// Whether this is a file of the project.
    pub(super) fn has(&self, path: &RepoPath) -> bool {
        let entries = &self.listing.entries;
        let found = entries.binary_search_by(|entry| entry.path.cmp(path));
        found
            .ok()
            .and_then(|at| entries.get(at))
            .is_some_and(is_file)
    }

    /// The first of `candidates` that is a file.
    pub(super) fn first(&self, candidates: impl IntoIterator<Item = RepoPath>) -> Option<RepoPath> {
        candidates.into_iter().find(|path| self.has(path))
    }

    /// The files directly in `folder`, in path order.
    pub(super) fn files_in(&self, folder: &RepoPath) -> Vec<&'a RepoPath> {
        let mut rest = self.listing.beneath(folder);
        let depth = folder.components().count();
        let mut files = Vec::new();
        while let Some((entry, tail)) = rest.split_first() {
            rest = tail;
            let mut names = entry.path.components().skip(depth);
            let name = names.next().unwrap_or_default();
            if names.next().is_some() {
                // Skip the whole subfolder at once.
                let subfolder = folder.join(name);
                let past = rest.partition_point(|entry| entry.path.is_within(&subfolder));
                rest = rest.get(past..).unwrap_or_default();
            } else if is_file(entry) {
                files.push(&entry.path);
            }
        }
        files
    }

    /// The paths and texts of the files with this name in all folders, up to the limit. Files that
    /// are not text are omitted.
    pub(super) fn manifests(&self, name: &str) -> Result<Vec<(&'a RepoPath, String)>, Stopped> {
        let is_manifest = |entry: &&Entry| is_file(entry) && entry.path.name() == name.as_bytes();
        let paths = self.listing.entries.iter().filter(is_manifest);
        let mut manifests = Vec::new();
        for entry in paths.take(MAX_MANIFESTS) {
            self.cancel.check()?;
            let text = self.text(&entry.path);
            manifests.extend(text.map(|text| (&entry.path, text)));
        }
        Ok(manifests)
    }

    /// The text of a small file, if it is readable.
    fn text(&self, path: &RepoPath) -> Option<String> {
        let file: Result<RepoFile, RepoError> = self.files.open(path);
        let mut text = String::new();
        let read = file.ok()?.take(MAX_MANIFEST).read_to_string(&mut text);
        read.ok().map(|_| text)
    }
}

fn is_file(entry: &Entry) -> bool {
    entry.kind != EntryKind::LinkToDirectory
}

pub(super) fn parent(path: &RepoPath) -> RepoPath {
    path.parent().unwrap_or_else(RepoPath::root)
}

/// Resolves `text` against `folder` by names only. `None` if the result is outside of the project.
pub(super) fn relative(folder: &RepoPath, text: &str) -> Option<RepoPath> {
    let mut names: Vec<&[u8]> = folder.components().collect();
    for name in text.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()?),
            name => names.push(name.as_bytes()),
        }
    }
    Some(RepoPath::trusted(&names.join(&b'/')))
}

/// `folder` with the names appended.
pub(super) fn beneath<'n>(
    folder: &'n RepoPath,
    names: impl IntoIterator<Item = &'n String>,
) -> RepoPath {
    let names = names.into_iter().map(String::as_bytes);
    let names: Vec<&[u8]> = folder.components().chain(names).collect();
    RepoPath::trusted(&names.join(&b'/'))
}

/// The path with `suffix` after its last name.
pub(super) fn with_suffix(path: &RepoPath, suffix: &str) -> RepoPath {
    RepoPath::trusted(&[path.as_bytes(), suffix.as_bytes()].concat())
}
