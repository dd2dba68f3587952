//! The files of a commit, and random choices among them.

use std::{collections::BTreeMap, sync::Arc};

use rand::{Rng, rngs::StdRng};

use super::stream::Mark;

/// A path in a tree: bytes, with `/`.
pub(super) type Name = Vec<u8>;

/// A tree entry.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) what: EntryKind,
    pub(super) executable: bool,
}

/// The kind of an entry, with its object.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum EntryKind {
    /// With its content, since later commits edit it.
    Text(Mark, Arc<[u8]>),
    Binary(Mark),
    Link(Mark),
    /// A submodule and its commit.
    Commit(String),
}

impl Entry {
    pub(super) fn plain(what: EntryKind) -> Entry {
        Entry {
            what,
            executable: false,
        }
    }

    /// The mode as git writes it.
    pub(super) fn mode(&self) -> &'static str {
        match (&self.what, self.executable) {
            (EntryKind::Text(..) | EntryKind::Binary(_), false) => "100644",
            (EntryKind::Text(..) | EntryKind::Binary(_), true) => "100755",
            (EntryKind::Link(_), _) => "120000",
            (EntryKind::Commit(_), _) => "160000",
        }
    }

    /// Its text, if it is one.
    pub(super) fn text(&self) -> Option<&Arc<[u8]>> {
        match &self.what {
            EntryKind::Text(_, text) => Some(text),
            _ => None,
        }
    }
}

/// All files of a commit. Cloning is cheap.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree(Arc<BTreeMap<Name, Entry>>);

impl Tree {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn get(&self, path: &[u8]) -> Option<&Entry> {
        self.0.get(path)
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &Name> {
        self.0.keys()
    }

    /// Whether a file fits here: no parent folder is a file, and no folder has this name.
    pub(super) fn takes(&self, path: &[u8]) -> bool {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let blocked = ends
            .map(|(at, _)| &path[..at])
            .any(|above| self.0.contains_key(above));
        let folder = [path, b"/"].concat();
        let beneath = self.0.range(folder.clone()..).next();
        !blocked && beneath.is_none_or(|(name, _)| !name.starts_with(&folder))
    }

    pub(super) fn set(&mut self, path: Name, entry: Option<Entry>) {
        let files = Arc::make_mut(&mut self.0);
        match entry {
            Some(entry) => files.insert(path, entry),
            None => files.remove(&path),
        };
    }

    /// A random file. The choice is uneven, so that some files stay untouched for long.
    pub(super) fn some(&self, random: &mut StdRng) -> Option<(Name, Entry)> {
        let end = self.len().max(1);
        let draws = [(); 3].map(|()| random.random_range(0..end));
        let at = draws.into_iter().min().unwrap_or_default();
        // Scattered by neither age nor name: otherwise the first folder would always be preferred.
        let at = at.wrapping_mul(7919) % end;
        let (path, entry) = self.0.iter().nth(at)?;
        Some((path.clone(), entry.clone()))
    }

    /// Some text file.
    pub(super) fn some_text(&self, random: &mut StdRng) -> Option<(Name, Entry)> {
        (0..10).find_map(|_| {
            self.some(random)
                .filter(|(_, entry)| entry.text().is_some())
        })
    }

    /// The files in a folder, which is given with its final `/`.
    pub(super) fn beneath(&self, folder: &[u8]) -> Vec<(Name, Entry)> {
        let from = self.0.range(folder.to_vec()..);
        from.take_while(|(path, _)| path.starts_with(folder))
            .map(|(path, entry)| (path.clone(), entry.clone()))
            .collect()
    }
}
