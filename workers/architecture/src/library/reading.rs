//! Reads files as documents, with a cache by content.

use std::sync::{Arc, OnceLock};

use archway_repo::{Cancel, Key, Repo, RepoError};
use gix::ObjectId;
use jiff::Timestamp;
use moka::sync::Cache;

use super::files::File;
use super::left_out::LeftOut;
use crate::adr::{self, Adr};
use crate::document::{Content, Document, Kind};
use crate::markdown::Markdown;

/// Reads files as documents.
pub(super) struct Reading<'a> {
    pub(super) contents: &'a Cache<(Key, ObjectId, bool), Arc<Content>>,
    pub(super) repo: &'a Repo,
    pub(super) cancel: &'a Cancel,
    pub(super) left_out: LeftOut,
    /// The remaining size budget, in bytes.
    pub(super) room: u64,
}

impl Reading<'_> {
    /// Reads a file as a document; `None` if it isn't one or is left out.
    pub(super) fn document(&mut self, file: File) -> Result<Option<Document>, RepoError> {
        self.cancel.check()?;
        let Some(name) = Name::of(&file) else {
            return Ok(None);
        };
        let Some(read) = self.content(&file)? else {
            return Ok(None);
        };
        let size = u64::try_from(read.content.text.len()).unwrap_or(u64::MAX);
        let Some(room) = self.room.checked_sub(size) else {
            self.left_out
                .add(&file.path, "no room: documents have 8 MiB in all");
            return Ok(None);
        };
        let title = read.content.markdown.called();
        if !name.is_of(&read.content) {
            return Ok(None);
        }
        self.room = room;
        Ok(Some(Document {
            kind: file.kind,
            title: title.map_or_else(|| name.slug.replace(['-', '_'], " "), str::to_owned),
            slug: name.slug,
            path: file.path,
            size,
            modified: read.modified,
            blob: read.blob,
            content: read.content,
            record: None,
        }))
    }

    /// The parsed content of a file, from the cache if possible.
    fn content(&mut self, file: &File) -> Result<Option<Read>, RepoError> {
        let is_adr = file.kind == Kind::Adr;
        let key = |blob| (self.repo.key().clone(), blob, is_adr);
        if let Some(blob) = file.blob
            && let Some(content) = self.contents.get(&key(blob))
        {
            return Ok(Some(Read {
                content,
                blob,
                modified: None,
            }));
        }
        let raw = match file.raw(self.repo)? {
            Ok(raw) => raw,
            Err(why) => {
                self.left_out.add(&file.path, why);
                return Ok(None);
            }
        };
        let known = self.contents.get(&key(raw.blob));
        let content = match known {
            Some(content) => content,
            None => {
                let content = Arc::new(Content::read(&raw.bytes, is_adr, self.cancel)?);
                self.contents.insert(key(raw.blob), Arc::clone(&content));
                content
            }
        };
        Ok(Some(Read {
            content,
            blob: raw.blob,
            modified: raw.modified,
        }))
    }
}

/// The name of a document.
struct Name {
    slug: String,
    /// Whether the file name is one for pages that list others.
    is_of_page: bool,
}

impl Name {
    /// The name of a file's document: its stem, or its folder's name for a decision with its own
    /// folder.
    fn of(file: &File) -> Option<Name> {
        let stem = file.stem();
        let is_of_page = file.kind == Kind::Adr && adr::is_index(&stem);
        let slug = match is_of_page {
            true => file.own_folder().filter(|_| adr::is_cover(&stem))?,
            false => stem,
        };
        let is_copied = file.kind == Kind::Adr && adr::is_template(&slug, "");
        (!is_copied).then_some(Name { slug, is_of_page })
    }

    /// Whether a content is a document: neither a template nor a list of others.
    fn is_of(&self, content: &Content) -> bool {
        let Some(adr) = &content.adr else {
            return !adr::is_template(&self.slug, "");
        };
        let title = content.markdown.called().unwrap_or_default();
        let is_record = !self.is_of_page || adr.is_record_of(&self.slug);
        is_record && !adr::is_template(&self.slug, title) && !adr.is_record_list(&content.markdown)
    }
}

/// A parsed file.
struct Read {
    content: Arc<Content>,
    blob: ObjectId,
    modified: Option<Timestamp>,
}

impl Content {
    fn read(bytes: &[u8], is_adr: bool, cancel: &Cancel) -> Result<Content, RepoError> {
        let text = String::from_utf8_lossy(bytes);
        let text: Arc<str> = text.strip_prefix('\u{feff}').unwrap_or(&text).into();
        let markdown = Markdown::read(&text, cancel)?;
        let title = markdown.called().unwrap_or_default();
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
