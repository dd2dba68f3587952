//! What `read_file` gives of the files that a file imports: names, and content while there is room.

use std::io::Read;

use archway_architecture::dependencies::{Files, ImportCache};
use archway_proto::failure::Failure;
use archway_repo::{Cancel, Key, RepoError, RepoPath, text};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    open::is_binary_name,
    window::{Part, Unreadable, Window},
};
use crate::tools::schema::is_false;

/// How many bytes of content all dependencies have together.
const MAX_CONTENT: usize = 64 << 10;

/// A file that another imports.
#[derive(Serialize, JsonSchema)]
pub(super) struct Dependency {
    path: String,
    #[serde(rename = "type")]
    kind: DependencyKind,
    /// How many imports away it is: always 1.
    level: u8,
    /// Its text from the beginning; absent if it is binary or there was no room.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    /// The content was cut, or left out for want of room: read the file itself.
    #[serde(default, skip_serializing_if = "is_false")]
    truncated: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum DependencyKind {
    Import,
}

/// The files that a file imports, with what could be read of them.
#[derive(Default)]
pub(super) struct Imports {
    pub(super) dependencies: Vec<Dependency>,
    /// Why there may be more.
    pub(super) error: Option<String>,
}

impl Imports {
    /// The files whose text is shown.
    pub(super) fn shown(&self) -> impl Iterator<Item = &str> {
        let shown = self.dependencies.iter().filter(|it| it.content.is_some());
        shown.map(|it| it.path.as_str())
    }
}

/// Whose imports are asked for, and where they are looked for.
pub(super) struct Importer<'a> {
    pub(super) cache: &'a ImportCache,
    pub(super) project: &'a Key,
    pub(super) files: &'a dyn Files,
    pub(super) path: &'a RepoPath,
}

impl Importer<'_> {
    /// The files that it imports, each with at most `max_bytes` of its text.
    ///
    /// # Errors
    /// If the importing file can't be read, or the call has to stop.
    pub(super) fn imports(&self, max_bytes: usize, cancel: &Cancel) -> Result<Imports, Failure> {
        let found = self
            .cache
            .dependencies(self.project, self.files, self.path, cancel)?;
        let mut room = MAX_CONTENT;
        let mut dependencies = Vec::with_capacity(found.files.len());
        for path in &found.files {
            cancel.check().map_err(RepoError::Stopped)?;
            let (content, truncated) = match self.read(path, max_bytes, room, cancel)? {
                Content::Text(part) => {
                    room -= shown_len(&part);
                    (Some(part.content), part.truncated)
                }
                Content::None => (None, false),
                Content::NoRoom => (None, true),
            };
            dependencies.push(Dependency {
                path: path.display(),
                kind: DependencyKind::Import,
                level: 1,
                content,
                truncated,
            });
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
    ) -> Result<Content, Failure> {
        if is_binary_name(&path.display()) {
            return Ok(Content::None);
        }
        // A file that went away meanwhile, or may not be read, is still what the code names.
        let Ok(file) = self.files.open(path) else {
            return Ok(Content::None);
        };
        if file.size().min(max_bytes as u64) > room as u64 {
            return Ok(Content::NoRoom);
        }
        // One byte more than is shown tells that there is more.
        let text = file.take(max_bytes as u64 + 1);
        match Window::whole(max_bytes).read(text, cancel) {
            Ok(part) if shown_len(&part) > room => Ok(Content::NoRoom),
            Ok(part) => Ok(Content::Text(part)),
            Err(Unreadable::Stopped(stopped)) => Err(RepoError::Stopped(stopped).into()),
            Err(Unreadable::Binary | Unreadable::Io(_)) => Ok(Content::None),
        }
    }
}

/// What there is of a dependency's text.
enum Content {
    Text(Part),
    /// It is binary, or can't be read.
    None,
    NoRoom,
}

/// How many bytes the text has once it is shown.
fn shown_len(part: &Part) -> usize {
    text::escape_file(&part.content).0.len()
}
