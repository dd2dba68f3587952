//! The text of a file, or the parts of it that can match a pattern.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::scan;

/// How much of a file's text is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// All of it.
    Whole,
    /// The lines that can match, as far as an index knows.
    Candidates,
}

/// The decoded text of a file: UTF-8.
#[derive(Debug)]
pub(super) enum FileText<'a> {
    /// The file has none.
    Binary,
    /// Cached.
    Shared(Arc<[u8]>),
    /// In the caller's buffer.
    Borrowed(&'a [u8]),
    /// Decoded from another encoding.
    Owned(Vec<u8>),
}

/// The parts of a text that can match.
#[derive(Clone, Debug)]
pub(super) struct TextParts {
    /// Whole lines, in bytes of the text, in order.
    pub(super) ranges: Vec<Range<usize>>,
    /// Whether the text has lines that are not searched.
    pub(super) is_skipped: bool,
}

impl TextParts {
    /// Their length, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.ranges.iter().map(Range::len).sum()
    }
}

/// The text of a file, as far as it is needed.
#[derive(Debug)]
pub(super) struct LoadedFile<'a> {
    text: FileText<'a>,
    /// The parts of the text that can match, as whole lines. `None` for all of it.
    parts: Option<Vec<Range<usize>>>,
    /// Whether lines are not searched in parts that were not loaded.
    pub(super) is_skipped: bool,
    /// Whether it is the text that an index has.
    pub(super) is_indexed: bool,
}

impl<'a> FileText<'a> {
    /// Decodes a file's bytes.
    pub(super) fn decode(bytes: &'a [u8]) -> FileText<'a> {
        match scan::decode(bytes) {
            None => FileText::Binary,
            Some(Cow::Borrowed(text)) => FileText::Borrowed(text.as_bytes()),
            Some(Cow::Owned(text)) => FileText::Owned(text.into_bytes()),
        }
    }

    /// The bytes of the text; `None` for a binary file.
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        match self {
            FileText::Binary => None,
            FileText::Shared(text) => Some(text),
            FileText::Borrowed(text) => Some(text),
            FileText::Owned(text) => Some(text),
        }
    }
}

impl<'a> LoadedFile<'a> {
    /// A file's text as an index has it, or some sections of it. `is_skipped` says whether the file
    /// has lines that are not searched.
    pub(super) fn indexed(text: &'a [u8], is_skipped: bool) -> LoadedFile<'a> {
        LoadedFile {
            text: FileText::Borrowed(text),
            parts: None,
            is_skipped,
            is_indexed: true,
        }
    }

    /// A file of which only these parts can match, as an index of this text knows; any part if `None`.
    pub(super) fn new(text: FileText<'a>, parts: Option<TextParts>) -> LoadedFile<'a> {
        let is_skipped = parts.as_ref().is_some_and(|parts| parts.is_skipped);
        LoadedFile {
            text,
            is_indexed: parts.is_some(),
            parts: parts.map(|parts| parts.ranges),
            is_skipped,
        }
    }

    /// The parts that can match.
    pub(super) fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let text = self.text.bytes();
        let all = text.filter(|_| self.parts.is_none());
        let parts = self.parts.iter().flatten();
        let parts = parts.filter_map(move |part| text?.get(part.clone()));
        all.into_iter().chain(parts)
    }

    /// The text; `None` for a binary file.
    pub(super) fn text(&self) -> Option<&str> {
        std::str::from_utf8(self.text.bytes()?).ok()
    }
}
