//! Which entries of a listing are shown, and how deep.

use archway_repo::{Entry, EntryKind, Glob, Listing, RepoPath, Submodule};

/// How many levels are listed without a pattern and without `max_depth`, if they fit into a default reply.
const DEFAULT_DEPTH: usize = 3;
/// The size of an entry besides its path, in bytes.
const ENTRY_BYTES: usize = 90;

/// The requested part of a listing.
pub(super) struct View<'a> {
    /// The requested directory. Paths in the answer keep this name.
    pub(super) requested: &'a RepoPath,
    /// The directory it resolves to.
    pub(super) directory: &'a RepoPath,
    pub(super) pattern: Option<&'a Glob>,
    /// In path order. Shown without a pattern, as folders are.
    pub(super) submodules: &'a [Submodule],
    pub(super) include_hidden: bool,
}

/// An entry of the answer, before its size and time are read.
pub(super) struct MatchedEntry {
    pub(super) shown: RepoPath,
    pub(super) source: Source,
    /// How many files are beneath a folder that is not opened.
    pub(super) beneath: usize,
}

/// All entries of an answer.
#[derive(Default)]
pub(super) struct Found {
    pub(super) entries: Vec<MatchedEntry>,
    /// How many folders of the last level have more in them.
    pub(super) not_opened: usize,
}

/// The source of an entry.
pub(super) enum Source {
    /// A folder, which the listing does not contain.
    Folder(RepoPath),
    Listed(Entry),
    Submodule(Submodule),
}

/// What is at a path that is listed.
enum Place<'a> {
    Entry(&'a Entry),
    Submodule(&'a Submodule),
}

impl View<'_> {
    /// The entries down to `max_depth`, or by default as many levels as fit into `budget` bytes.
    pub(super) fn found(
        &self,
        listing: &Listing,
        max_depth: Option<usize>,
        budget: usize,
    ) -> Found {
        if let Some(depth) = max_depth {
            return self.entries(listing, depth);
        }
        if self.pattern.is_some() {
            return self.entries(listing, usize::MAX);
        }
        for depth in (2..=DEFAULT_DEPTH).rev() {
            let found = self.entries(listing, depth);
            if found.bytes() <= budget {
                return found;
            }
        }
        self.entries(listing, 1)
    }

    /// All matching entries in path order, each folder before its content.
    fn entries(&self, listing: &Listing, max_depth: usize) -> Found {
        let mut found = Found::default();
        // The folders of the previous entry. Only folders that differ from them are new.
        let mut open_folders: Vec<&[u8]> = Vec::new();
        let root_depth = self.directory.components().count();
        for place in self.places(listing) {
            let names: Vec<&[u8]> = place.path().components().skip(root_depth).collect();
            let hidden = names.iter().any(|name| name.starts_with(b"."));
            let Some((_, folders)) = names
                .split_last()
                .filter(|_| self.include_hidden || !hidden)
            else {
                continue;
            };
            let common = open_folders.iter().zip(folders).take_while(|(a, b)| a == b);
            let common = common.count();
            if self.pattern.is_none() {
                for depth in common + 1..=folders.len().min(max_depth) {
                    found.entries.push(self.folder(folders, depth));
                }
            }
            if folders.len() >= max_depth {
                found.not_opened += usize::from(common < max_depth);
                let last = found.entries.last_mut().filter(|_| self.pattern.is_none());
                last.into_iter().for_each(|folder| folder.beneath += 1);
            }
            open_folders = folders.to_vec();
            let shown = self.shown(&names);
            if names.len() <= max_depth && self.matches(&place, &shown) {
                found.entries.push(MatchedEntry {
                    shown,
                    source: place.source(),
                    beneath: 0,
                });
            }
        }
        found
    }

    /// The entries and, where folders are shown, the submodules beneath the directory, in path order.
    fn places<'a>(&'a self, listing: &'a Listing) -> impl Iterator<Item = Place<'a>> {
        let (directory, has_folders) = (self.directory, self.pattern.is_none());
        let submodules = self.submodules.iter();
        let submodules = submodules.filter(move |it| has_folders && it.path.is_within(directory));
        let mut submodules = submodules.peekable();
        let mut entries = listing.beneath(directory).iter().peekable();
        std::iter::from_fn(move || {
            let is_submodule = match (entries.peek(), submodules.peek()) {
                (Some(entry), Some(submodule)) => submodule.path < entry.path,
                (entry, _) => entry.is_none(),
            };
            match is_submodule {
                true => submodules.next().map(Place::Submodule),
                false => entries.next().map(Place::Entry),
            }
        })
    }

    /// The folder at this depth above an entry.
    fn folder(&self, folders: &[&[u8]], depth: usize) -> MatchedEntry {
        let names = folders.get(..depth).unwrap_or_default();
        MatchedEntry {
            shown: self.shown(names),
            source: Source::Folder(self.directory.join(&names.join(&b'/'))),
            beneath: 0,
        }
    }

    fn shown(&self, names: &[&[u8]]) -> RepoPath {
        self.requested.join(&names.join(&b'/'))
    }

    fn matches(&self, place: &Place<'_>, shown: &RepoPath) -> bool {
        let is_file =
            matches!(place, Place::Entry(entry) if entry.kind != EntryKind::LinkToDirectory);
        self.pattern
            .is_none_or(|pattern| is_file && pattern.matches(shown))
    }
}

impl<'a> Place<'a> {
    fn path(&self) -> &'a RepoPath {
        match self {
            Place::Entry(entry) => &entry.path,
            Place::Submodule(submodule) => &submodule.path,
        }
    }

    fn source(&self) -> Source {
        match self {
            Place::Entry(entry) => Source::Listed((*entry).clone()),
            Place::Submodule(submodule) => Source::Submodule((*submodule).clone()),
        }
    }
}

impl Found {
    /// About how long the answer is.
    fn bytes(&self) -> usize {
        let path = |entry: &MatchedEntry| entry.shown.as_bytes().len() + ENTRY_BYTES;
        self.entries.iter().map(path).sum()
    }
}
