//! Checks the contents of a repository's folders: only files and folders, and only object stores
//! inside the boundary.
//!
//! A link could lead into another tenant's repository, and reading a pipe would block forever.

use gix::bstr::ByteSlice as _;
use gix::config::{File, file::Metadata};
use rustix::fs::{Dir, FileType, OFlags};
use rustix::io::Errno;
use uuid::Uuid;

use super::{Breach, Inspection, MAX_CONFIG, MAX_POINTER};
use crate::path::RepoPath;

/// Maximum number of object stores borrowed from, directly or indirectly.
const MAX_ALTERNATES: usize = 16;

/// Maximum number of entries checked in git's folders.
const MAX_ENTRIES: usize = 4 << 20;

const ALTERNATES: Breach = Breach {
    at: "objects/info/alternates",
};

impl Inspection<'_> {
    /// Checks the object store and those it borrows from.
    pub(super) fn objects(&mut self, store: &RepoPath) -> Result<(), Breach> {
        let mut stores = vec![store.clone()];
        let mut next = 0;
        while let Some(store) = stores.get(next).cloned() {
            next += 1;
            self.only_files(&store, "objects")?;
            let list = store.join(b"info/alternates");
            self.depend_on(&list);
            for target in self.alternates(&list)? {
                // Git resolves a relative path from the store that names it, gix from the first
                // store.
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

    /// The stores named in a list, split byte by byte as gix does. Quoted names are rejected.
    fn alternates(&self, list: &RepoPath) -> Result<Vec<Vec<u8>>, Breach> {
        let content = self.content(list, MAX_POINTER)?.unwrap_or_default();
        let lines = content.split(|&byte| byte == b'\n');
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
        let stores = lines.map(|line| (!line.starts_with(b"\"")).then(|| line.to_owned()));
        stores.collect::<Option<_>>().ok_or(ALTERNATES)
    }

    /// Checks that a folder is not a link and contains only files and such folders.
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
                    // A missing entry may have been a lock file.
                    Some(FileType::RegularFile) | None => {}
                    Some(_) => return Err(breach()),
                }
            }
        }
        Ok(())
    }

    /// Returns why a repository with this configuration is not supported, if so. Notes whose mirror it is.
    pub(super) fn format(&mut self, config: &RepoPath) -> Result<Option<&'static str>, Breach> {
        self.depend_on(config);
        let content = self.content(config, MAX_CONFIG)?.unwrap_or_default();
        let file = File::from_bytes_no_includes(&content, Metadata::api(), Default::default());
        let Ok(file) = file else {
            return Ok(Some("its configuration can't be read"));
        };
        // `archway sync` writes the project's id. Before it did, it wrote `true`.
        let mark = file.string_by("archway", None, "mirror");
        self.mirror_of = mark.and_then(|id| Uuid::try_parse_ascii(&id).ok());
        let extension = |name: &str| file.string_by("extensions", None, name);
        let differs = |name: &str, served: &[u8]| {
            extension(name).is_some_and(|value| !value.trim().eq_ignore_ascii_case(served))
        };
        Ok(if differs("objectFormat", b"sha1") {
            Some("its objects are named by SHA-256, which is not supported")
        } else if differs("refStorage", b"files") {
            Some("its references are not stored in files, which is not supported")
        } else {
            None
        })
    }
}
