//! Reads files as documents, with a cache by content.

use std::sync::{Arc, OnceLock};

use archway_repo::{Cancel, Key, Repo, RepoError};
use gix::ObjectId;
use jiff::Timestamp;
use moka::sync::Cache;

use super::candidates::CandidateFile;
use super::omitted_files::OmittedFiles;
use crate::adr::{self, Adr};
use crate::document::{Content, Document, Kind};
use crate::markdown::Markdown;

/// Reads files as documents.
pub(super) struct DocumentReader<'a> {
    pub(super) contents: &'a Cache<(Key, ObjectId, bool), Arc<Content>>,
    pub(super) repo: &'a Repo,
    pub(super) cancel: &'a Cancel,
    pub(super) omitted: OmittedFiles,
    /// The remaining size budget, in bytes.
    pub(super) remaining_bytes: u64,
}

impl DocumentReader<'_> {
    /// Reads a file as a document; `None` if it isn't one or is left out.
    pub(super) fn document(&mut self, file: CandidateFile) -> Result<Option<Document>, RepoError> {
        self.cancel.check()?;
        let Some(name) = DocumentName::of(&file) else {
            return Ok(None);
        };
        let Some(loaded) = self.content(&file)? else {
            return Ok(None);
        };
        let size = u64::try_from(loaded.content.text.len()).unwrap_or(u64::MAX);
        let Some(remaining_bytes) = self.remaining_bytes.checked_sub(size) else {
            self.omitted
                .add(&file.path, "no room: documents have 8 MiB in all");
            return Ok(None);
        };
        let title = loaded.content.markdown.document_title();
        if !name.names_document(&loaded.content) {
            return Ok(None);
        }
        self.remaining_bytes = remaining_bytes;
        Ok(Some(Document {
            kind: file.kind,
            title: title.map_or_else(|| name.slug.replace(['-', '_'], " "), str::to_owned),
            slug: name.slug,
            path: file.path,
            size,
            modified: loaded.modified,
            blob: loaded.blob,
            content: loaded.content,
            record: None,
        }))
    }

    /// The parsed content of a file, from the cache if possible.
    fn content(&mut self, file: &CandidateFile) -> Result<Option<LoadedContent>, RepoError> {
        let is_adr = file.kind == Kind::Adr;
        let key = |blob| (self.repo.key().clone(), blob, is_adr);
        if let Some(blob) = file.blob
            && let Some(content) = self.contents.get(&key(blob))
        {
            return Ok(Some(LoadedContent {
                content,
                blob,
                modified: None,
            }));
        }
        let loaded = match file.read(self.repo)? {
            Ok(loaded) => loaded,
            Err(why) => {
                self.omitted.add(&file.path, why);
                return Ok(None);
            }
        };
        let cached = self.contents.get(&key(loaded.blob));
        let content = match cached {
            Some(content) => content,
            None => {
                let content = Arc::new(Content::read(&loaded.bytes, is_adr, self.cancel)?);
                self.contents.insert(key(loaded.blob), Arc::clone(&content));
                content
            }
        };
        Ok(Some(LoadedContent {
            content,
            blob: loaded.blob,
            modified: loaded.modified,
        }))
    }
}

/// The name of a document.
struct DocumentName {
    slug: String,
    /// Whether the file name is one for pages that list others.
    is_index_name: bool,
}

impl DocumentName {
    /// The name of a file's document: its stem, or its folder's name for a decision with its own
    /// folder.
    fn of(file: &CandidateFile) -> Option<DocumentName> {
        let stem = file.stem();
        let is_index_name = file.kind == Kind::Adr && adr::is_index(&stem);
        let slug = match is_index_name {
            true => file.subfolder_name().filter(|_| adr::is_cover(&stem))?,
            false => stem,
        };
        let is_template = file.kind == Kind::Adr && adr::is_template(&slug, "");
        (!is_template).then_some(DocumentName {
            slug,
            is_index_name,
        })
    }

    /// Whether a content is a document: neither a template nor a list of others.
    fn names_document(&self, content: &Content) -> bool {
        let Some(adr) = &content.adr else {
            return !adr::is_template(&self.slug, "");
        };
        let title = content.markdown.document_title().unwrap_or_default();
        let is_record = !self.is_index_name || adr.is_record_of(&self.slug);
        is_record && !adr::is_template(&self.slug, title) && !adr.is_record_list(&content.markdown)
    }
}

/// A parsed file.
struct LoadedContent {
    content: Arc<Content>,
    blob: ObjectId,
    modified: Option<Timestamp>,
}

impl Content {
    fn read(bytes: &[u8], is_adr: bool, cancel: &Cancel) -> Result<Content, RepoError> {
        let text = String::from_utf8_lossy(bytes);
        let text: Arc<str> = text.strip_prefix('\u{feff}').unwrap_or(&text).into();
        let markdown = Markdown::read(&text, cancel)?;
        let title = markdown.document_title().unwrap_or_default();
        let adr = is_adr.then(|| Adr::of(&markdown, title));
        Ok(Content {
            text,
            markdown,
            adr,
            words: OnceLock::new(),
            positions: OnceLock::new(),
        })
    }
}
