//! One folder as read: its entries, and everything that they depend on.
//!
//! A folder's own time changes with its names, but not with the content of its `.gitignore` or with
//! the target of a link in it. So these are checked as well.

use std::sync::Arc;
use std::time::SystemTime;

use rustix::fd::OwnedFd;
use rustix::fs::{Dir, FileType, OFlags};
use rustix::io::Errno;

use super::cancel::Cancel;
use super::error::RepoError;
use super::ignores::{Ignores, RuleFiles};
use super::jail::{Jail, file_type};
use super::listing::{Entry, EntryKind};
use super::path::RepoPath;
use super::rules::{Kind, Rules};
use super::stamp::ObservedState;

/// Maximum number of entries of a project: about 200 MB.
pub(super) const MAX_ENTRIES: usize = 2_000_000;
/// Maximum total size of the paths in a commit, in bytes: a few objects can spell out more long
/// paths than fit into memory.
pub(super) const MAX_NAMES: usize = 256 << 20;

/// Bytes read of a rule file.
pub(super) const MAX_RULE_FILE: u64 = 1 << 20;

/// A folder as read.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) path: RepoPath,
    /// Ordered by name, without hidden and ignored entries.
    pub(super) children: Vec<Child>,
    /// The ignore rules for everything beneath.
    pub(super) ignores: Arc<Ignores>,
    /// The ignore rules from above.
    above: Arc<Ignores>,
    is_repository: bool,
    state: ObservedState,
    rule_files: Vec<(RepoPath, ObservedState)>,
    links: Vec<(RepoPath, Option<EntryKind>)>,
}

/// An entry of a folder.
#[derive(Debug)]
pub(super) enum Child {
    Entry(Entry),
    Folder(RepoPath),
}

/// Reads folders under some rules.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) jail: &'a Jail,
    pub(super) rules: &'a Rules,
    pub(super) cancel: &'a Cancel,
}

impl Folder {
    /// Whether nothing that the entries depend on has changed.
    pub(super) fn is_fresh(&self, jail: &Jail, rules: &Rules) -> bool {
        self.state.still_holds(jail.stat_unchecked(&self.path))
            && self
                .rule_files
                .iter()
                .all(|(path, state)| state.still_holds(jail.stat_unchecked(path)))
            && self
                .links
                .iter()
                .all(|(path, kind)| link_kind(jail, rules, path) == *kind)
    }

    /// Whether it was read under these ignore rules from above.
    pub(super) fn is_beneath(&self, above: &Arc<Ignores>) -> bool {
        Arc::ptr_eq(&self.above, above)
    }

    pub(super) fn above(&self) -> &Arc<Ignores> {
        &self.above
    }
}

impl Reader<'_> {
    /// Reads a folder, which was read before as `old`. `None` if it no longer exists.
    pub(super) fn read(
        self,
        path: &RepoPath,
        above: &Arc<Ignores>,
        old: Option<&Folder>,
    ) -> Result<Option<Folder>, RepoError> {
        self.cancel.check()?;
        let observed_at = SystemTime::now();
        let opened = self.jail.open(path, OFlags::RDONLY | OFlags::DIRECTORY);
        let (state, names) = match opened {
            Ok(fd) => (
                ObservedState::at(observed_at, rustix::fs::fstat(&fd)),
                self.names(path, fd)?,
            ),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            // It exists but is not accessible; a change of its mode may change that.
            Err(Errno::ACCESS | Errno::PERM | Errno::XDEV) => (
                ObservedState::at(observed_at, self.jail.stat_unchecked(path)),
                Vec::new(),
            ),
            Err(errno) => return Err(failed(errno)),
        };
        let is_repository = names.iter().any(|(name, _)| name == b".git");
        let (files, rule_files) = self.rule_files(path, &names);
        let ignores = match old {
            Some(old) if old.has_same_rules(above, is_repository, &rule_files) => {
                Arc::clone(&old.ignores)
            }
            _ => Ignores::beneath(above, path, &files, is_repository),
        };
        let above = Arc::clone(above);
        let (children, links) = (Vec::with_capacity(names.len()), Vec::new());
        let path = path.clone();
        let mut folder = Folder {
            path,
            children,
            ignores,
            above,
            is_repository,
            state,
            rule_files,
            links,
        };
        for (name, kind) in names {
            self.add(&mut folder, &name, kind);
        }
        folder.children.shrink_to_fit();
        Ok(Some(folder))
    }

    /// The names in a folder, ordered, without `.` and `..`.
    fn names(self, path: &RepoPath, fd: OwnedFd) -> Result<Vec<(Vec<u8>, FileType)>, RepoError> {
        let mut names = Vec::new();
        for entry in Dir::new(fd).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            if names.len() >= MAX_ENTRIES {
                return Err(RepoError::TooManyEntries { limit: MAX_ENTRIES });
            }
            if names.len() % 1024 == 1023 {
                self.cancel.check()?;
            }
            let mut kind = entry.file_type();
            if kind == FileType::Unknown {
                // Some file systems do not report the kind. An unchecked stat suffices to choose,
                // because opening checks it.
                let stat = self.jail.stat_unchecked(&path.join(name));
                kind = stat.map_or(FileType::Unknown, |stat| file_type(&stat));
            }
            names.push((name.to_owned(), kind));
        }
        names.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Ok(names)
    }

    /// Reads the rule files of a folder, with their states from before the read.
    fn rule_files(
        self,
        folder: &RepoPath,
        names: &[(Vec<u8>, FileType)],
    ) -> (RuleFiles, Vec<(RepoPath, ObservedState)>) {
        let mut files = RuleFiles::default();
        let mut state = Vec::new();
        for (name, kind) in names {
            // Links are not followed, as in git. A new file changes the folder's time, but
            // `exclude` is in another folder.
            let (place, content) = match (name.as_slice(), kind) {
                (b".gitignore", FileType::RegularFile) => (folder.join(name), &mut files.gitignore),
                (b".git", FileType::Directory) => {
                    (folder.join(b".git/info/exclude"), &mut files.exclude)
                }
                _ => continue,
            };
            let observed_at = SystemTime::now();
            state.push((
                place.clone(),
                ObservedState::at(observed_at, self.jail.stat_unchecked(&place)),
            ));
            *content = self.rule_file(&place);
        }
        (files, state)
    }

    fn rule_file(self, path: &RepoPath) -> Option<Vec<u8>> {
        let fd = self
            .jail
            .open(path, OFlags::RDONLY | OFlags::NONBLOCK)
            .ok()?;
        let stat = rustix::fs::fstat(&fd).ok()?;
        if file_type(&stat) != FileType::RegularFile {
            return None;
        }
        let mut content = Vec::new();
        let file = std::fs::File::from(fd);
        std::io::Read::read_to_end(&mut std::io::Read::take(file, MAX_RULE_FILE), &mut content)
            .ok()?;
        Some(content)
    }

    fn add(self, folder: &mut Folder, name: &[u8], kind: FileType) {
        let path = folder.path.join(name);
        let is_directory = kind == FileType::Directory;
        if folder.ignores.ignores(&path, is_directory) {
            return;
        }
        match kind {
            FileType::Directory if self.rules.check(&path, Kind::Directory).is_ok() => {
                folder.children.push(Child::Folder(path));
            }
            FileType::RegularFile if self.rules.check(&path, Kind::File).is_ok() => {
                folder.children.push(Child::Entry(Entry {
                    path,
                    kind: EntryKind::File,
                }));
            }
            FileType::Symlink => {
                let kind = link_kind(self.jail, self.rules, &path);
                folder.links.push((path.clone(), kind));
                folder
                    .children
                    .extend(kind.map(|kind| Child::Entry(Entry { path, kind })));
            }
            _ => {}
        }
    }
}

impl Folder {
    /// Whether the rules for everything beneath are unchanged, so that it need not be read again.
    fn has_same_rules(
        &self,
        above: &Arc<Ignores>,
        is_repository: bool,
        rule_files: &[(RepoPath, ObservedState)],
    ) -> bool {
        self.is_beneath(above)
            && self.is_repository == is_repository
            && self.rule_files == rule_files
            && rule_files
                .iter()
                .all(|(_, state)| *state != ObservedState::TooRecent)
    }
}

/// How a link is listed. `None` if its target is missing, outside or hidden.
fn link_kind(jail: &Jail, rules: &Rules, path: &RepoPath) -> Option<EntryKind> {
    let target = jail.resolve(path).ok()?;
    let (entry, kind) = match file_type(&jail.stat(&target).ok()?) {
        FileType::RegularFile => (EntryKind::LinkToFile, Kind::File),
        FileType::Directory => (EntryKind::LinkToDirectory, Kind::Directory),
        _ => return None,
    };
    (rules.check(path, kind).is_ok() && rules.check(&target, kind).is_ok()).then_some(entry)
}

fn failed(errno: Errno) -> RepoError {
    RepoError::Io {
        what: "reading a folder",
        source: errno.into(),
    }
}
