//! The files that a file imports, as `read_file` returns them: paths, and content or signatures while
//! there is room.

use std::io::Read;

use archway_architecture::dependencies::ImportCache;
use archway_proto::failure::Failure;
use archway_repo::{Cancel, Repo, RepoError, RepoPath, text};
use archway_symbols::SymbolCache;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    open::is_binary_name,
    window::{Part, Unreadable, Window},
};
use crate::tools::symbols::{Sources, signatures};
use crate::tools::{paging, schema::is_false};

/// Maximum size in bytes of the texts of a file and of its dependencies together.
const MAX_CONTENT_BYTES: usize = 64_000;

/// A file that another imports.
#[derive(Serialize, JsonSchema)]
pub(super) struct Dependency {
    path: String,
    #[serde(rename = "type")]
    kind: DependencyKind,
    /// How many imports away it is: always 1.
    level: u8,
    /// Its beginning; absent if empty, binary or for lack of room.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    /// Instead of its text if requested: what it exports, as "LINE: SIGNATURE", members indented.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    signatures: Vec<String>,
    /// Cut for lack of room: read the file itself.
    #[serde(default, skip_serializing_if = "is_false")]
    truncated: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum DependencyKind {
    Import,
}

/// The files that a file imports, with their content.
#[derive(Default)]
pub(super) struct Imports {
    pub(super) dependencies: Vec<Dependency>,
    /// Why dependencies may be missing.
    pub(super) error: Option<String>,
}

impl Imports {
    /// The files whose text is shown.
    pub(super) fn shown(&self) -> impl Iterator<Item = &str> {
        let is_shown = |it: &&Dependency| it.content.is_some() || !it.signatures.is_empty();
        let shown = self.dependencies.iter().filter(is_shown);
        shown.map(|it| it.path.as_str())
    }
}

/// What is shown of imported files.
pub(super) enum ShownPart {
    /// The beginning of each, of so many bytes at most.
    Text(usize),
    /// What each exports.
    Signatures(SymbolCache),
}

/// Resolves the imports of one file.
pub(super) struct Importer<'a> {
    pub(super) cache: &'a ImportCache,
    pub(super) repo: &'a Repo,
    pub(super) path: &'a RepoPath,
}

impl Importer<'_> {
    /// The imported files, each with its `part` while there is room beside the file's own `content`.
    ///
    /// # Errors
    /// If the importing file can't be read, or the call was stopped.
    pub(super) fn imports(
        &self,
        content: &str,
        part: &ShownPart,
        cancel: &Cancel,
    ) -> Result<Imports, Failure> {
        let found = self
            .cache
            .dependencies(self.repo.key(), self.repo, self.path, cancel)?;
        let mut room = MAX_CONTENT_BYTES.saturating_sub(text::escape_file(content).0.len());
        let mut dependencies = Vec::with_capacity(found.files.len());
        for path in &found.files {
            cancel.check().map_err(RepoError::Stopped)?;
            let mut dependency = Dependency {
                path: path.display(),
                kind: DependencyKind::Import,
                level: 1,
                content: None,
                signatures: Vec::new(),
                truncated: false,
            };
            room -= match part {
                ShownPart::Text(max_bytes) => {
                    let read = self.read(path, *max_bytes, room, cancel)?;
                    dependency.add_text(read)
                }
                ShownPart::Signatures(cache) => {
                    let sources = Sources::new(cache, self.repo, cancel);
                    let (signatures, is_cut) = signatures(&sources, path, room)?;
                    (dependency.signatures, dependency.truncated) = (signatures, is_cut);
                    dependency
                        .signatures
                        .iter()
                        .map(|line| paging::size(line) + 1)
                        .sum()
                }
            }
            .min(room);
            dependencies.push(dependency);
        }
        let error = found.error;
        Ok(Imports {
            dependencies,
            error,
        })
    }

    fn read(
        &self,
        path: &RepoPath,
        max_bytes: usize,
        room: usize,
        cancel: &Cancel,
    ) -> Result<ReadOutcome, Failure> {
        if is_binary_name(&path.display()) {
            return Ok(ReadOutcome::NoText);
        }
        // An imported file stays in the list even if it is gone meanwhile or may not be read.
        let Ok(file) = self.repo.open(path) else {
            return Ok(ReadOutcome::NoText);
        };
        if file.size().min(max_bytes as u64) > room as u64 {
            return Ok(ReadOutcome::NoRoom);
        }
        if file.size() == 0 {
            return Ok(ReadOutcome::NoText);
        }
        // One byte more than is shown reveals whether the text continues.
        let text = file.take(max_bytes as u64 + 1);
        match Window::whole(max_bytes).read(text, cancel) {
            Ok(part) if escaped_len(&part) > room => Ok(ReadOutcome::NoRoom),
            Ok(part) => Ok(ReadOutcome::Text(part)),
            Err(Unreadable::Stopped(stopped)) => Err(RepoError::Stopped(stopped).into()),
            Err(Unreadable::Binary | Unreadable::Io(_)) => Ok(ReadOutcome::NoText),
        }
    }
}

impl Dependency {
    /// Adds what was read. Returns its size in bytes.
    fn add_text(&mut self, read: ReadOutcome) -> usize {
        match read {
            ReadOutcome::Text(part) => {
                let size = escaped_len(&part);
                (self.content, self.truncated) = (Some(part.content), part.truncated);
                size
            }
            ReadOutcome::NoText => 0,
            ReadOutcome::NoRoom => {
                self.truncated = true;
                0
            }
        }
    }
}

/// The available text of a dependency.
enum ReadOutcome {
    Text(Part),
    /// The file is empty or binary, or can't be read.
    NoText,
    NoRoom,
}

/// The length of the text in bytes once it is escaped.
fn escaped_len(part: &Part) -> usize {
    text::escape_file(&part.content).0.len()
}
