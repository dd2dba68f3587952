//! Files made documents: read, taken apart, kept by their content.

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

/// Files made documents.
pub(super) struct Reading<'a> {
    pub(super) contents: &'a Cache<(Key, ObjectId, bool), Arc<Content>>,
    pub(super) repo: &'a Repo,
    pub(super) cancel: &'a Cancel,
    pub(super) left_out: LeftOut,
    /// How many bytes there is still room for.
    pub(super) room: u64,
}

impl Reading<'_> {
    /// A file as a document; `None` if it is none, or is left out.
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

    /// What a file says, from the cache if such a text was read before.
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

/// What a document is called, if its file is one.
struct Name {
    slug: String,
    /// Its file is called as pages are that list others.
    is_of_page: bool,
}

impl Name {
    /// The file's stem; of a decision that is kept in a folder of its own the folder's name.
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

    /// Whether a text is a document of that name: no template, and no page that lists others.
    fn is_of(&self, content: &Content) -> bool {
        let Some(adr) = &content.adr else {
            return !adr::is_template(&self.slug, "");
        };
        let title = content.markdown.called().unwrap_or_default();
        let is_record = !self.is_of_page || adr.is_record_of(&self.slug);
        is_record && !adr::is_template(&self.slug, title) && !adr.lists_others(&content.markdown)
    }
}

/// A file that was read.
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
