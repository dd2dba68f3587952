//! One folder as it was read: its entries, and what has to be unchanged for them to be right.
//!
//! A folder's own time changes with its names, but not with the contents of its `.gitignore`, nor
//! with what stands where a link leads. So these are looked at as well.

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

/// How many entries a project may have: about 200 MB of them.
pub(super) const MAX_ENTRIES: usize = 2_000_000;
/// What the paths of a commit's files may take, in bytes: a few objects can spell out more long
/// ones than fit into memory.
pub(super) const MAX_NAMES: usize = 256 << 20;

/// How much of a rule file is read, in bytes.
pub(super) const MAX_RULE_FILE: u64 = 1 << 20;

/// A folder as it was read.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) path: RepoPath,
    /// Ordered by name; what is hidden or ignored is not among them.
    pub(super) children: Vec<Child>,
    /// The rules for what is beneath.
    pub(super) ignores: Arc<Ignores>,
    /// The rules under which it was read.
    above: Arc<Ignores>,
    is_repository: bool,
    seen: ObservedState,
    rule_files: Vec<(RepoPath, ObservedState)>,
    links: Vec<(RepoPath, Option<EntryKind>)>,
}

/// What stands in a folder.
#[derive(Debug)]
pub(super) enum Child {
    Entry(Entry),
    Folder(RepoPath),
}

/// What reading folders needs.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) jail: &'a Jail,
    pub(super) rules: &'a Rules,
    pub(super) cancel: &'a Cancel,
}

impl Folder {
    /// Whether what was read still holds.
    pub(super) fn is_fresh(&self, jail: &Jail, rules: &Rules) -> bool {
        self.seen.still_holds(jail.stat_unchecked(&self.path))
            && self
                .rule_files
                .iter()
                .all(|(path, seen)| seen.still_holds(jail.stat_unchecked(path)))
            && self
                .links
                .iter()
                .all(|(path, kind)| link_kind(jail, rules, path) == *kind)
    }

    /// Whether it was read under these rules of the folders above.
    pub(super) fn is_beneath(&self, above: &Arc<Ignores>) -> bool {
        Arc::ptr_eq(&self.above, above)
    }

    pub(super) fn above(&self) -> &Arc<Ignores> {
        &self.above
    }
}

impl Reader<'_> {
    /// Reads a folder, whose names were read before as `old`. `None` if it is no longer there.
    pub(super) fn read(
        self,
        path: &RepoPath,
        above: &Arc<Ignores>,
        old: Option<&Folder>,
    ) -> Result<Option<Folder>, RepoError> {
        self.cancel.check()?;
        let observed_at = SystemTime::now();
        let opened = self.jail.open(path, OFlags::RDONLY | OFlags::DIRECTORY);
        let (seen, names) = match opened {
            Ok(fd) => (
                ObservedState::at(observed_at, rustix::fs::fstat(&fd)),
                self.names(path, fd)?,
            ),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            // It is there, but not for us; that may change with its mode.
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
            seen,
            rule_files,
            links,
        };
        for (name, kind) in names {
            self.add(&mut folder, &name, kind);
        }
        folder.children.shrink_to_fit();
        Ok(Some(folder))
    }

    /// The names in a folder, ordered, `.` and `..` left out.
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
                // Some file systems don't tell; a glance says what to try, opening what it is.
                let stat = self.jail.stat_unchecked(&path.join(name));
                kind = stat.map_or(FileType::Unknown, |stat| file_type(&stat));
            }
            names.push((name.to_owned(), kind));
        }
        names.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Ok(names)
    }

    /// The rule files of a folder, and what was seen of them before they were read.
    fn rule_files(
        self,
        folder: &RepoPath,
        names: &[(Vec<u8>, FileType)],
    ) -> (RuleFiles, Vec<(RepoPath, ObservedState)>) {
        let mut files = RuleFiles::default();
        let mut seen = Vec::new();
        for (name, kind) in names {
            // A link is not followed here: git doesn't either. A file that appears later
            // changes the folder's time, but `exclude` stands in another folder.
            let (place, content) = match (name.as_slice(), kind) {
                (b".gitignore", FileType::RegularFile) => (folder.join(name), &mut files.gitignore),
                (b".git", FileType::Directory) => {
                    (folder.join(b".git/info/exclude"), &mut files.exclude)
                }
                _ => continue,
            };
            let observed_at = SystemTime::now();
            seen.push((
                place.clone(),
                ObservedState::at(observed_at, self.jail.stat_unchecked(&place)),
            ));
            *content = self.rule_file(&place);
        }
        (files, seen)
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
    /// Whether the rules for what is beneath are the old ones, so that it needn't be read again.
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
                .all(|(_, seen)| *seen != ObservedState::TooRecent)
    }
}

/// What a link is listed as: `None` if it leads nowhere that a reader may see.
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
