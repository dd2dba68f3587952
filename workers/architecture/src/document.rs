//! Architecture documents of a project, and their URIs.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use archway_repo::RepoPath;
use gix::ObjectId;
use jiff::Timestamp;

use super::adr::{Adr, Status};
use super::alignment::Positions;
use super::markdown::{Markdown, Section};
use super::words::WordCounts;

/// The kind of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// An architecture decision record: a decision and its rationale.
    Adr,
    /// A recommended way to build something.
    Pattern,
    /// A rule for everything in the project.
    Guideline,
}

impl Kind {
    /// All kinds, in listing order.
    pub const ALL: [Kind; 3] = [Kind::Adr, Kind::Pattern, Kind::Guideline];

    /// The name in URIs.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Adr => "adr",
            Kind::Pattern => "pattern",
            Kind::Guideline => "guideline",
        }
    }

    /// The name as a `resource_type`, and as a key of `[architecture]` in `.archway.toml`.
    pub fn resource_type(self) -> &'static str {
        match self {
            Kind::Adr => "adr",
            Kind::Pattern => "patterns",
            Kind::Guideline => "guidelines",
        }
    }

    /// The kind with this name in URIs.
    pub fn of_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A document at one snapshot of its project.
#[derive(Clone, Debug)]
pub struct Document {
    /// The kind.
    pub kind: Kind,
    /// The name in URIs: the file's stem, with `~2` for the second file with the same stem.
    pub slug: String,
    /// The path of its file.
    pub path: RepoPath,
    /// The first heading as written, otherwise a title from front matter or the file name.
    pub title: String,
    /// Size in bytes.
    pub size: u64,
    /// The file's modification time, if it is known without reading history.
    pub(crate) modified: Option<Timestamp>,
    /// The blob id of the content.
    pub blob: ObjectId,
    /// The content, shared by all documents with the same blob.
    pub content: Arc<Content>,
    /// The decision's metadata, for a decision record.
    pub record: Option<Record>,
}

/// The parsed content of a document.
#[derive(Debug)]
pub struct Content {
    /// The text as written, without a byte order mark. Invalid UTF-8 is replaced by U+FFFD.
    pub(crate) text: Arc<str>,
    /// The text parsed as markdown.
    pub markdown: Markdown,
    /// The extracted decision, for a decision record.
    pub(crate) adr: Option<Adr>,
    /// The word counts, computed by the first search.
    pub(super) words: OnceLock<WordCounts>,
    /// The decision's positions, analysed by the first alignment.
    pub(super) positions: OnceLock<Positions>,
}

/// A decision's metadata, resolved among the decisions of its project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The number as written (`0007`), or the file's stem.
    pub id: String,
    /// The declared status; `superseded` also if another decision in effect supersedes it.
    pub status: Status,
    /// The slugs of the decisions that it supersedes, according to either record.
    pub(crate) supersedes: Vec<String>,
    /// The slugs of the decisions that supersede it, according to either record.
    pub superseded_by: Vec<String>,
}

impl Document {
    /// The text as written.
    pub fn text(&self) -> &Arc<str> {
        &self.content.text
    }

    /// The sections, in order.
    pub(crate) fn sections(&self) -> &[Section] {
        &self.content.markdown.sections
    }

    /// The extracted decision, for a decision record.
    pub(crate) fn adr(&self) -> Option<&Adr> {
        self.content.adr.as_ref()
    }

    /// Whether a range of a block's text states a decision's status rather than its subject.
    pub(super) fn is_status_line(
        &self,
        section: usize,
        block: usize,
        range: &Range<usize>,
    ) -> bool {
        let adr = self.adr();
        adr.is_some_and(|adr| adr.is_status_line(section, block, range))
    }

    /// The decision's positions, for a decision record.
    pub fn positions(&self) -> Option<&Positions> {
        let content = &self.content;
        let adr = content.adr.as_ref()?;
        let read = || Positions::of(&content.markdown, adr);
        Some(content.positions.get_or_init(read))
    }

    /// The document's URI. `project` is the project's slug, or `None` for the caller's default.
    pub fn uri(&self, project: Option<&str>) -> String {
        uri(project, self.kind, &self.slug)
    }
}

/// The URI of a document: `architecture://adr/{slug}` in the caller's default project,
/// `architecture://{project}/adr/{slug}` in any other.
pub fn uri(project: Option<&str>, kind: Kind, slug: &str) -> String {
    let mut uri = "architecture://".to_owned();
    if let Some(project) = project {
        uri.push_str(project);
        uri.push('/');
    }
    uri.push_str(kind.name());
    uri.push('/');
    for byte in slug.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(char::from(byte));
            }
            // Writing to a String can't fail.
            _ => _ = write!(uri, "%{byte:02X}"),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_names_only_a_non_default_project() {
        assert_eq!(
            uri(None, Kind::Adr, "0007-use-postgres"),
            "architecture://adr/0007-use-postgres"
        );
        assert_eq!(
            uri(Some("web"), Kind::Guideline, "logs~2"),
            "architecture://web/guideline/logs~2"
        );
    }

    #[test]
    fn reserved_characters_are_escaped_in_uris() {
        assert_eq!(
            uri(None, Kind::Pattern, "a b/c%?ä"),
            "architecture://pattern/a%20b%2Fc%25%3F%C3%A4"
        );
    }

    #[test]
    fn a_kind_is_found_by_its_name_in_uris() {
        for kind in Kind::ALL {
            assert_eq!(Kind::of_name(kind.name()), Some(kind));
        }
        assert_eq!(Kind::of_name("patterns"), None);
    }
}
