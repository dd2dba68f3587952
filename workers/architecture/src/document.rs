//! A document of a project's architecture, and what it is called.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use archway_repo::RepoPath;
use gix::ObjectId;
use jiff::Timestamp;

use super::adr::{Adr, Status};
use super::alignment::Positions;
use super::markdown::{Markdown, Section};
use super::words::Words;

/// What a document is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A decision, with its reasons: an architecture decision record.
    Adr,
    /// How something is built here.
    Pattern,
    /// What holds for all that is built here.
    Guideline,
}

impl Kind {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Kind; 3] = [Kind::Adr, Kind::Pattern, Kind::Guideline];

    /// Its name in URIs.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Adr => "adr",
            Kind::Pattern => "pattern",
            Kind::Guideline => "guideline",
        }
    }

    /// Its name as a `resource_type`, and as a key of `[architecture]` in `.archway.toml`.
    pub fn resource_type(self) -> &'static str {
        match self {
            Kind::Adr => "adr",
            Kind::Pattern => "patterns",
            Kind::Guideline => "guidelines",
        }
    }

    /// The kind that URIs call so.
    pub fn of_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A document, as one snapshot of its project has it.
#[derive(Clone, Debug)]
pub struct Document {
    /// What it is about.
    pub kind: Kind,
    /// What it is called in URIs: its file's stem; of two files of one stem the second has `~2`.
    pub slug: String,
    /// Where it stands.
    pub path: RepoPath,
    /// Its first heading as it is written, else what front matter or its file calls it.
    pub title: String,
    /// In bytes.
    pub size: u64,
    /// When it was last written, where that is known without asking history.
    pub(crate) modified: Option<Timestamp>,
    /// The id of its content.
    pub blob: ObjectId,
    /// What it says. Shared by all documents of this content.
    pub content: Arc<Content>,
    /// What it is among the project's decisions, if it is one.
    pub record: Option<Record>,
}

/// What a document says.
#[derive(Debug)]
pub struct Content {
    /// The text as it is written, without a byte order mark. Bytes that are no UTF-8 are U+FFFD.
    pub(crate) text: Arc<str>,
    /// The text read as markdown.
    pub markdown: Markdown,
    /// The decision, if it is one.
    pub(crate) adr: Option<Adr>,
    /// Its words, once somebody looked for some.
    pub(super) words: OnceLock<Words>,
    /// What the decision holds, once somebody held a proposal against it.
    pub(super) positions: OnceLock<Positions>,
}

/// A decision among the others of its project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Its number as it is written (`0007`), or the file's stem.
    pub id: String,
    /// What it says of itself; `superseded` also where an accepted decision says so.
    pub status: Status,
    /// The slugs of the decisions that it supersedes, whoever of the two says so.
    pub(crate) supersedes: Vec<String>,
    /// The slugs of the decisions that supersede it, whoever of the two says so.
    pub superseded_by: Vec<String>,
}

impl Document {
    /// The text as it is written.
    pub fn text(&self) -> &Arc<str> {
        &self.content.text
    }

    /// The parts under its headings, in order.
    pub(crate) fn sections(&self) -> &[Section] {
        &self.content.markdown.sections
    }

    /// The decision taken apart, if it is one.
    pub(crate) fn adr(&self) -> Option<&Adr> {
        self.content.adr.as_ref()
    }

    /// Whether a range of a block's text tells where a decision stands, and not what it is about.
    pub(super) fn is_standing(&self, section: usize, block: usize, range: &Range<usize>) -> bool {
        let adr = self.adr();
        adr.is_some_and(|adr| adr.is_standing(section, block, range))
    }

    /// What the decision holds, if it is one.
    pub fn positions(&self) -> Option<&Positions> {
        let content = &self.content;
        let adr = content.adr.as_ref()?;
        let read = || Positions::of(&content.markdown, adr);
        Some(content.positions.get_or_init(read))
    }

    /// Its URI; `project` is the slug of its project, `None` where that is the caller's default.
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
    fn a_uri_names_the_project_only_where_it_is_not_the_default() {
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
    fn what_has_a_meaning_in_uris_is_escaped() {
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
