//! Candidate files for documents, ordered by kind and folder.

use std::collections::HashSet;

use archway_repo::{Cancel, Folders, Repo, RepoError, RepoPath};
use gix::ObjectId;
use jiff::Timestamp;

use super::left_out::LeftOut;
use super::{MAX_BYTES, MAX_FILES};
use crate::document::Kind;

/// Default folders of documents, which the repository can override.
const ADR: [&str; 6] = [
    "docs/adr",
    "docs/adrs",
    "docs/decisions",
    "doc/adr",
    "adr",
    "mcp/resources/adr",
];
const PATTERNS: [&str; 2] = ["docs/architecture/patterns", "mcp/resources/patterns"];
const GUIDELINES: [&str; 2] = ["docs/architecture/guidelines", "mcp/resources/guidelines"];
/// The maximum depth of a document below its folder.
const MAX_DEPTH: usize = 8;

/// The folders of all kinds, and the files in them.
pub(super) struct Source {
    folders: Vec<(Kind, RepoPath)>,
    files: Vec<(RepoPath, Option<ObjectId>)>,
}

/// A candidate file.
pub(super) struct File {
    pub(super) kind: Kind,
    pub(super) path: RepoPath,
    /// Whether the file is in a subfolder of its kind's folder.
    pub(super) is_beneath: bool,
    /// The blob id of the content; `None` if it is read from a work tree.
    pub(super) blob: Option<ObjectId>,
}

/// The content of a file.
pub(super) struct Raw {
    pub(super) bytes: Vec<u8>,
    pub(super) blob: ObjectId,
    pub(super) modified: Option<Timestamp>,
}

impl Source {
    /// # Errors
    /// If the repository can't be read, or the call is cancelled.
    pub(super) fn of(repo: &Repo, named: &Folders, cancel: &Cancel) -> Result<Source, RepoError> {
        let folders: Vec<(Kind, RepoPath)> = Kind::ALL
            .into_iter()
            .flat_map(|kind| {
                folders(kind, named)
                    .into_iter()
                    .map(move |folder| (kind, folder))
            })
            .collect();
        let places: Vec<RepoPath> = folders.iter().map(|(_, folder)| folder.clone()).collect();
        let files = repo.files_within(&places, cancel)?;
        Ok(Source { folders, files })
    }

    /// The files by kind and folder, each once per kind.
    pub(super) fn files(&self, left_out: &mut LeftOut) -> Vec<File> {
        let (mut found, mut known) = (Vec::new(), HashSet::new());
        for (kind, folder) in &self.folders {
            let depth = folder.components().count() + MAX_DEPTH;
            for (path, blob) in &self.files {
                if !path.is_within(folder) || !is_markdown(path) || !known.insert((*kind, path)) {
                    continue;
                }
                if found.len() >= MAX_FILES {
                    left_out.add(path, "a project has at most 2000 documents");
                } else if path.components().count() > depth {
                    left_out.add(path, "it stands more than 8 folders deep");
                } else {
                    found.push(File {
                        kind: *kind,
                        path: path.clone(),
                        is_beneath: path.parent().is_some_and(|parent| parent != *folder),
                        blob: *blob,
                    });
                }
            }
        }
        found
    }
}

impl File {
    /// The file name without its extension.
    pub(super) fn stem(&self) -> String {
        let name = RepoPath::trusted(self.path.name()).display();
        match name.rsplit_once('.') {
            Some((stem, _)) if !stem.is_empty() => stem.to_owned(),
            _ => name,
        }
    }

    /// The name of the subfolder that contains the file, below its kind's folder.
    pub(super) fn own_folder(&self) -> Option<String> {
        let folder = self.path.parent().filter(|_| self.is_beneath)?;
        Some(RepoPath::trusted(folder.name()).display())
    }

    /// The content of the file, or the reason why it is left out.
    ///
    /// # Errors
    /// If the work tree can't be read.
    pub(super) fn raw(&self, repo: &Repo) -> Result<Result<Raw, &'static str>, RepoError> {
        const TOO_LARGE: &str = "it has more than 1 MiB, or the repository lacks it";
        let raw = match self.blob {
            Some(blob) => repo.blob(blob, MAX_BYTES).map(|bytes| Raw {
                bytes,
                blob,
                modified: None,
            }),
            None => self.standing(repo)?,
        };
        Ok(match raw {
            None => Err(TOO_LARGE),
            Some(raw) if raw.bytes.contains(&0) => Err("it is not text"),
            Some(raw) => Ok(raw),
        })
    }

    /// The content of the file in the work tree; `None` if it is too large or missing.
    fn standing(&self, repo: &Repo) -> Result<Option<Raw>, RepoError> {
        const READING: &str = "reading a document";
        let mut file = match repo.open(&self.path) {
            Ok(file) => file,
            Err(error @ (RepoError::Io { .. } | RepoError::Git { .. })) => return Err(error),
            Err(_gone_or_not_ours) => return Ok(None),
        };
        let modified = Timestamp::try_from(file.modified()).ok();
        let read = file.read_at_most(MAX_BYTES);
        let Some(bytes) = read.map_err(|source| RepoError::Io {
            what: READING,
            source,
        })?
        else {
            return Ok(None);
        };
        let (hash, kind) = (gix::hash::Kind::Sha1, gix::objs::Kind::Blob);
        let blob = gix::objs::compute_hash(hash, kind, &bytes);
        let blob = blob.map_err(|source| RepoError::Git {
            what: READING,
            source: source.into(),
        })?;
        Ok(Some(Raw {
            bytes,
            blob,
            modified,
        }))
    }
}

/// The folders of a kind, in order.
fn folders(kind: Kind, named: &Folders) -> Vec<RepoPath> {
    let (named, defaults): (_, &[&str]) = match kind {
        Kind::Adr => (&named.adr, &ADR),
        Kind::Pattern => (&named.patterns, &PATTERNS),
        Kind::Guideline => (&named.guidelines, &GUIDELINES),
    };
    let defaults = || {
        defaults
            .iter()
            .map(|folder| RepoPath::trusted(folder.as_bytes()))
    };
    named.clone().unwrap_or_else(|| defaults().collect())
}

fn is_markdown(path: &RepoPath) -> bool {
    let name = path.name().to_ascii_lowercase();
    name.ends_with(b".md") || name.ends_with(b".markdown")
}
