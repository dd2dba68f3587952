//! What a repository's folders hold: files and folders only, and no store that is not inside.
//!
//! A link among them could lead into somebody else's repository, and to read from a pipe would
//! never end.

use gix::bstr::ByteSlice as _;
use gix::config::{File, file::Metadata};
use rustix::fs::{Dir, FileType, OFlags};
use rustix::io::Errno;

use super::{Breach, Inspection, MAX_CONFIG, MAX_POINTER};
use crate::path::RepoPath;

/// How many object stores may be borrowed from, directly or not.
const MAX_ALTERNATES: usize = 16;

/// How many entries of git's folders are looked at; who has more has other troubles.
const MAX_ENTRIES: usize = 4 << 20;

const ALTERNATES: Breach = Breach {
    at: "objects/info/alternates",
};

impl Inspection<'_> {
    /// The object store, and those it borrows from.
    pub(super) fn objects(&mut self, store: &RepoPath) -> Result<(), Breach> {
        let mut stores = vec![store.clone()];
        let mut next = 0;
        while let Some(store) = stores.get(next).cloned() {
            next += 1;
            self.only_files(&store, "objects")?;
            let list = store.join(b"info/alternates");
            self.depend_on(&list);
            for target in self.alternates(&list)? {
                // Git takes it from the store that says so, gix from the first one.
                if next > 1 && !target.starts_with(b"/") {
                    return Err(ALTERNATES);
                }
                let other = self.boundary.within(&store, &target).ok_or(ALTERNATES)?;
                if !stores.contains(&other) {
                    stores.push(other);
                }
            }
            if stores.len() > MAX_ALTERNATES {
                return Err(ALTERNATES);
            }
        }
        Ok(())
    }

    /// The stores that a list names, byte by byte as gix reads it. Quoted names are refused.
    fn alternates(&self, list: &RepoPath) -> Result<Vec<Vec<u8>>, Breach> {
        let content = self.content(list, MAX_POINTER)?.unwrap_or_default();
        let lines = content.split(|&byte| byte == b'\n');
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
        let stores = lines.map(|line| (!line.starts_with(b"\"")).then(|| line.to_owned()));
        stores.collect::<Option<_>>().ok_or(ALTERNATES)
    }

    /// A folder that is no link, and has only files and such folders beneath it.
    pub(super) fn only_files(&self, folder: &RepoPath, at: &'static str) -> Result<(), Breach> {
        let breach = || Breach { at };
        let mut left = MAX_ENTRIES;
        let mut folders = vec![folder.clone()];
        while let Some(folder) = folders.pop() {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY;
            let fd = match self.boundary.jail.open(&folder, flags) {
                Err(Errno::NOENT) => continue,
                opened => opened.map_err(|_unreadable| breach())?,
            };
            for entry in Dir::new(fd).map_err(|_unreadable| breach())? {
                let entry = entry.map_err(|_unreadable| breach())?;
                left = left.checked_sub(1).ok_or_else(breach)?;
                let name = entry.file_name().to_bytes();
                if matches!(name, b"." | b"..") {
                    continue;
                }
                let path = folder.join(name);
                let kind = match entry.file_type() {
                    FileType::Unknown => self.boundary.kind_of(&path),
                    kind => Some(kind),
                };
                match kind {
                    Some(FileType::Directory) => folders.push(path),
                    // It may have been a lock, and be gone.
                    Some(FileType::RegularFile) | None => {}
                    Some(_) => return Err(breach()),
                }
            }
        }
        Ok(())
    }

    /// Why a repository of this configuration can't be read, if so.
    pub(super) fn format(&mut self, config: &RepoPath) -> Result<Option<&'static str>, Breach> {
        self.depend_on(config);
        let content = self.content(config, MAX_CONFIG)?.unwrap_or_default();
        let file = File::from_bytes_no_includes(&content, Metadata::api(), Default::default());
        let Ok(file) = file else {
            return Ok(Some("its configuration can't be read"));
        };
        let extension = |name: &str| file.string_by("extensions", None, name);
        let differs = |name: &str, served: &[u8]| {
            extension(name).is_some_and(|value| !value.trim().eq_ignore_ascii_case(served))
        };
        Ok(if differs("objectFormat", b"sha1") {
            Some("its objects are named by SHA-256, which is not served")
        } else if differs("refStorage", b"files") {
            Some("its references are not kept in files, which is not served")
        } else {
            None
        })
    }
}
