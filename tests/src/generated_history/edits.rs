//! What one commit does to the files: every kind of change, at random.

use std::{collections::BTreeSet, io::Write};

use rand::{Rng, rngs::StdRng, seq::IndexedRandom};

use super::{
    stream::Stream,
    text,
    tree::{Entry, EntryKind, Name, Tree},
};

const NAMES: [&[u8]; 10] = [
    b"reader.rs",
    b"writer.rs",
    b"mod.rs",
    b"lib.ts",
    b"util.go",
    b"notes.md",
    b"with space.txt",
    b"na\xc3\xafve.txt",
    b"caf\xe9.txt",
    b"quote\"s\\and\ttab.txt",
];
/// The first names are common, the rest rare.
const COMMON_NAMES: usize = 6;
/// How many deleted files are remembered.
const MOST_DELETED: usize = 500;

/// A commit under construction: a tree and the paths that it touched.
pub(super) struct Edit<'a, W: Write> {
    pub(super) random: &'a mut StdRng,
    pub(super) stream: &'a mut Stream<W>,
    pub(super) tree: &'a mut Tree,
    /// The size at which no more files are added.
    pub(super) files: usize,
    /// Deleted files, which may be restored later.
    pub(super) deleted: &'a mut Vec<(Name, Entry)>,
    pub(super) touched: BTreeSet<Name>,
}

impl<W: Write> Edit<'_, W> {
    /// Adds the first files of a root.
    pub(super) fn found(&mut self, files: usize, top: &str) {
        while self.touched.len() < files {
            let path = self.new_path(top);
            self.add(path);
        }
    }

    /// Makes some change, which sometimes has no effect.
    pub(super) fn anything(&mut self) {
        if self.tree.len() > self.files * 5 / 4 {
            self.delete();
        }
        match self.random.random_range(0..1000) {
            0..600 => self.edit(),
            600..720 => {
                let path = self.new_path("src");
                self.add(path);
            }
            720..770 => self.delete(),
            770..800 => self.bring_back(),
            800..880 => self.rename(),
            880..890 => self.rename_folder(),
            890..910 => self.swap(),
            910..930 => self.copy(),
            930..950 => self.change_mode(),
            950..965 => self.binary(),
            965..980 => self.link(),
            980..990 => self.submodule(),
            _ => self.become_link(),
        }
    }

    /// Puts an entry at a path, or removes what is there.
    pub(super) fn put(&mut self, path: Name, entry: Option<Entry>) {
        if entry.is_none() || self.tree.takes(&path) {
            self.touched.insert(path.clone());
            self.tree.set(path, entry);
        }
    }

    /// A text as an entry of a tree.
    pub(super) fn text(&mut self, content: Vec<u8>) -> EntryKind {
        EntryKind::Text(self.stream.blob(&content), content.into())
    }

    fn edit(&mut self) {
        if let Some((path, mut entry)) = self.tree.some_text(self.random) {
            entry.what = self.edited(&entry);
            self.put(path, Some(entry));
        }
    }

    fn edited(&mut self, entry: &Entry) -> EntryKind {
        let Some(old) = entry.text() else {
            return entry.what.clone();
        };
        let new = text::edited(self.random, old);
        self.text(new)
    }

    fn add(&mut self, path: Name) {
        let lines = match self.random.random_range(0..50) {
            0 => 0,
            1..40 => self.random.random_range(5..60),
            _ => self.random.random_range(60..400),
        };
        let content = text::new(self.random, lines);
        let what = self.text(content);
        self.put(path, Some(Entry::plain(what)));
    }

    fn delete(&mut self) {
        if let Some((path, entry)) = self.tree.some(self.random) {
            self.put(path.clone(), None);
            self.deleted.push((path, entry));
            if self.deleted.len() > MOST_DELETED {
                self.deleted.swap_remove(0);
            }
        }
    }

    fn bring_back(&mut self) {
        if self.deleted.is_empty() {
            return;
        }
        let at = self.random.random_range(0..self.deleted.len());
        let (path, entry) = self.deleted.swap_remove(at);
        if self.tree.get(&path).is_none() {
            self.put(path, Some(entry));
        }
    }

    fn rename(&mut self) {
        let Some((from, mut entry)) = self.tree.some(self.random) else {
            return;
        };
        let to = match self.random.random_bool(0.5) {
            true => self.new_path("src"),
            // To another folder, under the same name.
            false => [self.new_folder("src").as_slice(), name_of(&from)].concat(),
        };
        if self.tree.get(&to).is_none() && self.tree.takes(&to) {
            if self.random.random_bool(0.5) {
                entry.what = self.edited(&entry);
            }
            self.put(from, None);
            self.put(to, Some(entry));
        }
    }

    fn rename_folder(&mut self) {
        let Some((path, _)) = self.tree.some(self.random) else {
            return;
        };
        let from = &path[..path.len() - name_of(&path).len()];
        let to = self.new_folder("lib");
        let files = self.tree.beneath(from);
        // Whole folders, but small ones only: otherwise renames would dominate the history.
        if from.is_empty() || files.len() > 40 || to.starts_with(from) {
            return;
        }
        for (path, mut entry) in files {
            let target = [to.as_slice(), &path[from.len()..]].concat();
            if self.tree.get(&target).is_none() && self.tree.takes(&target) {
                if self.random.random_bool(0.2) {
                    entry.what = self.edited(&entry);
                }
                self.put(path, None);
                self.put(target, Some(entry));
            }
        }
    }

    fn swap(&mut self) {
        let (one, other) = (
            self.tree.some_text(self.random),
            self.tree.some_text(self.random),
        );
        if let (Some((one, first)), Some((other, second))) = (one, other) {
            self.put(one, Some(second));
            self.put(other, Some(first));
        }
    }

    fn copy(&mut self) {
        if let Some((from, entry)) = self.tree.some(self.random) {
            let to = [self.new_folder("src").as_slice(), name_of(&from)].concat();
            self.put(to, Some(entry));
        }
    }

    fn change_mode(&mut self) {
        if let Some((path, mut entry)) = self.tree.some_text(self.random) {
            entry.executable = !entry.executable;
            self.put(path, Some(entry));
        }
    }

    fn binary(&mut self) {
        let mut content = vec![0; self.random.random_range(1..3000)];
        self.random.fill(content.as_mut_slice());
        content.insert(0, 0);
        let what = EntryKind::Binary(self.stream.blob(&content));
        let number = self.random.random_range(0..12);
        self.put(
            format!("assets/{number}.bin").into(),
            Some(Entry::plain(what)),
        );
    }

    fn link(&mut self) {
        let target = self.new_path("../src");
        let what = EntryKind::Link(self.stream.blob(&target));
        let number = self.random.random_range(0..8);
        self.put(format!("links/{number}").into(), Some(Entry::plain(what)));
    }

    fn submodule(&mut self) {
        let id = format!("{:040x}", self.random.random::<u128>());
        let number = self.random.random_range(0..4);
        let path = format!("vendor/sub{number}").into();
        self.put(path, Some(Entry::plain(EntryKind::Commit(id))));
    }

    fn become_link(&mut self) {
        if let Some((path, _)) = self.tree.some_text(self.random) {
            let what = EntryKind::Link(self.stream.blob(b"elsewhere"));
            self.put(path, Some(Entry::plain(what)));
        }
    }

    /// A path that may be taken already.
    fn new_path(&mut self, top: &str) -> Name {
        let mut path = self.new_folder(top);
        let names = if self.random.random_bool(0.03) {
            &NAMES[COMMON_NAMES..]
        } else {
            &NAMES[..COMMON_NAMES]
        };
        // Most names occur once, some in many folders.
        if self.random.random_bool(0.7) {
            path.extend(format!("f{}_", self.random.random_range(0..100)).bytes());
        }
        path.extend_from_slice(names.choose(self.random).expect("names"));
        path
    }

    /// A folder, with its final `/`.
    fn new_folder(&mut self, top: &str) -> Name {
        let wide = (self.tree.len() / 12).max(6);
        let mut folder = format!("{top}/m{:02}/", self.random.random_range(0..wide));
        if self.random.random_bool(0.4) {
            folder += ["deep/", "deep/er/", "a/b/c/"]
                .choose(self.random)
                .expect("folders");
        }
        folder.into_bytes()
    }
}

/// The last part of a path.
fn name_of(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}
