//! Candidate files for documents, ordered by kind and folder.

use std::collections::HashSet;

use archway_repo::{Cancel, Folders, Repo, RepoError, RepoPath};
use gix::ObjectId;
use jiff::Timestamp;

use super::omitted_files::OmittedFiles;
use super::{MAX_BYTES, MAX_FILES};
use crate::document::Kind;

/// Default folders of documents, which the repository can override.
const ADR_FOLDERS: [&str; 6] = [
    "docs/adr",
    "docs/adrs",
    "docs/decisions",
    "doc/adr",
    "adr",
    "mcp/resources/adr",
];
const PATTERN_FOLDERS: [&str; 2] = ["docs/architecture/patterns", "mcp/resources/patterns"];
const GUIDELINE_FOLDERS: [&str; 2] = ["docs/architecture/guidelines", "mcp/resources/guidelines"];
/// The maximum depth of a document below its folder.
const MAX_DEPTH: usize = 8;

/// The folders of all kinds, and the files in them.
pub(super) struct Candidates {
    folders: Vec<(Kind, RepoPath)>,
    files: Vec<(RepoPath, Option<ObjectId>)>,
}

/// A candidate file.
pub(super) struct CandidateFile {
    pub(super) kind: Kind,
    pub(super) path: RepoPath,
    /// Whether the file is in a subfolder of its kind's folder.
    pub(super) is_in_subfolder: bool,
    /// The blob id of the content; `None` if it is read from a work tree.
    pub(super) blob: Option<ObjectId>,
}

/// The content of a file.
pub(super) struct FileContent {
    pub(super) bytes: Vec<u8>,
    pub(super) blob: ObjectId,
    pub(super) modified: Option<Timestamp>,
}

impl Candidates {
    /// # Errors
    /// If the repository can't be read, or the call is cancelled.
    pub(super) fn of(
        repo: &Repo,
        configured: &Folders,
        cancel: &Cancel,
    ) -> Result<Candidates, RepoError> {
        let folders: Vec<(Kind, RepoPath)> = Kind::ALL
            .into_iter()
            .flat_map(|kind| {
                folders(kind, configured)
                    .into_iter()
                    .map(move |folder| (kind, folder))
            })
            .collect();
        let folder_paths: Vec<RepoPath> =
            folders.iter().map(|(_, folder)| folder.clone()).collect();
        let files = repo.files_within(&folder_paths, cancel)?;
        Ok(Candidates { folders, files })
    }

    /// The files by kind and folder, each once per kind.
    pub(super) fn files(&self, omitted: &mut OmittedFiles) -> Vec<CandidateFile> {
        let (mut found, mut seen) = (Vec::new(), HashSet::new());
        for (kind, folder) in &self.folders {
            let depth = folder.components().count() + MAX_DEPTH;
            for (path, blob) in &self.files {
                if !path.is_within(folder) || !is_markdown(path) || !seen.insert((*kind, path)) {
                    continue;
                }
                if found.len() >= MAX_FILES {
                    omitted.add(path, "a project has at most 2000 documents");
                } else if path.components().count() > depth {
                    omitted.add(path, "it stands more than 8 folders deep");
                } else {
                    found.push(CandidateFile {
                        kind: *kind,
                        path: path.clone(),
                        is_in_subfolder: path.parent().is_some_and(|parent| parent != *folder),
                        blob: *blob,
                    });
                }
            }
        }
        found
    }
}

impl CandidateFile {
    /// The file name without its extension.
    pub(super) fn stem(&self) -> String {
        let name = RepoPath::trusted(self.path.name()).display();
        match name.rsplit_once('.') {
            Some((stem, _)) if !stem.is_empty() => stem.to_owned(),
            _ => name,
        }
    }

    /// The name of the subfolder that contains the file, below its kind's folder.
    pub(super) fn subfolder_name(&self) -> Option<String> {
        let folder = self.path.parent().filter(|_| self.is_in_subfolder)?;
        Some(RepoPath::trusted(folder.name()).display())
    }

    /// The content of the file, or the reason why it is left out.
    ///
    /// # Errors
    /// If the work tree can't be read.
    pub(super) fn read(&self, repo: &Repo) -> Result<Result<FileContent, &'static str>, RepoError> {
        const TOO_LARGE: &str = "it has more than 1 MiB, or the repository lacks it";
        let read = match self.blob {
            Some(blob) => repo.blob(blob, MAX_BYTES).map(|bytes| FileContent {
                bytes,
                blob,
                modified: None,
            }),
            None => self.read_from_work_tree(repo)?,
        };
        Ok(match read {
            None => Err(TOO_LARGE),
            Some(read) if read.bytes.contains(&0) => Err("it is not text"),
            Some(read) => Ok(read),
        })
    }

    /// The content of the file in the work tree; `None` if it is too large or missing.
    fn read_from_work_tree(&self, repo: &Repo) -> Result<Option<FileContent>, RepoError> {
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
        Ok(Some(FileContent {
            bytes,
            blob,
            modified,
        }))
    }
}

/// The folders of a kind, in order.
fn folders(kind: Kind, configured: &Folders) -> Vec<RepoPath> {
    let (configured, defaults): (_, &[&str]) = match kind {
        Kind::Adr => (&configured.adr, &ADR_FOLDERS),
        Kind::Pattern => (&configured.patterns, &PATTERN_FOLDERS),
        Kind::Guideline => (&configured.guidelines, &GUIDELINE_FOLDERS),
    };
    let defaults = || {
        defaults
            .iter()
            .map(|folder| RepoPath::trusted(folder.as_bytes()))
    };
    configured.clone().unwrap_or_else(|| defaults().collect())
}

fn is_markdown(path: &RepoPath) -> bool {
    let name = path.name().to_ascii_lowercase();
    name.ends_with(b".md") || name.ends_with(b".markdown")
}
