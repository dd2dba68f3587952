//! The URIs of resources.
//!
//! A URI is split before it is percent-decoded, and decoded once: `%2F` in a path is a slash of the
//! path and never a separator of the URI, and `%252e` is not a dot.

use archway_proto::{failure::Failure, fault::Fault};

use archway_architecture::document::{self, Kind};
use archway_repo::text;

/// Maximum length of a URI in bytes: the longest path, with each byte percent-encoded.
const MAX_BYTES: usize = 3 * 4096 + 256;

/// Maximum length in bytes of a URI for which a failure suggests another form.
const MAX_HINT_BYTES: usize = 512;

/// The workflow of the caller's session.
pub(crate) const WORKFLOW: &str = "workflow://current";

/// A parsed URI.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Address {
    /// `architecture://adr/{slug}`, and `architecture://{project}/adr/{slug}`.
    Document {
        /// The slug of its project. `None` means the caller's default.
        project: Option<String>,
        kind: Kind,
        slug: String,
    },
    /// `repo://{project}/{path}`.
    File { project: String, path: String },
    /// The workflow of the caller's session.
    Workflow,
}

impl Address {
    /// Parses a URI.
    ///
    /// # Errors
    /// If it is not the URI of a resource.
    pub(crate) fn parse(uri: &str) -> Result<Address, Failure> {
        let fits = uri.len() <= MAX_BYTES && !uri.contains(['?', '#']);
        let address = uri.split_once("://").filter(|_| fits);
        let address = address.and_then(|(scheme, rest)| match scheme {
            "architecture" => Address::document(rest),
            "repo" => Address::file(rest),
            "workflow" => (rest == "current").then_some(Address::Workflow),
            _ => None,
        });
        address.ok_or_else(|| unknown(uri, Vec::new()))
    }

    fn document(rest: &str) -> Option<Address> {
        let parts: Vec<&str> = rest.split('/').collect();
        let (project, kind, slug) = match parts.as_slice() {
            [kind, slug] => (None, kind, slug),
            [project, kind, slug] => (Some(percent_decode(project)?), kind, slug),
            _ => return None,
        };
        Some(Address::Document {
            project,
            kind: Kind::of_name(kind)?,
            slug: percent_decode(slug).filter(|slug| !slug.is_empty())?,
        })
    }

    fn file(rest: &str) -> Option<Address> {
        let (project, path) = rest.split_once('/')?;
        Some(Address::File {
            project: percent_decode(project).filter(|project| !project.is_empty())?,
            path: percent_decode(path)?,
        })
    }

    /// The URI of a document without a project.
    #[cfg(test)]
    fn of(kind: Kind, slug: &str) -> String {
        document::uri(None, kind, slug)
    }

    /// The URI of the same in the project of this slug. A path is left open.
    pub(crate) fn in_project(&self, project: &str) -> String {
        match self {
            Address::Document { kind, slug, .. } => document::uri(Some(project), *kind, slug),
            Address::File { .. } => format!("repo://{project}/{{path}}"),
            Address::Workflow => WORKFLOW.to_owned(),
        }
    }

    /// The failure for a document that does not exist, or is closed. `near` are URIs of documents that the caller may
    /// read.
    pub(crate) fn missing(&self, near: Vec<String>) -> Failure {
        self.absent(Fault::FileNotFound, near)
    }

    /// The failure for a resource of a project that does not exist, or not for this caller. The caller reads the same
    /// text as of a document that does not exist. `near` is the slug of a project that the caller may read.
    pub(crate) fn of_no_project(&self, near: Option<&str>) -> Failure {
        let near = near.map(|project| self.in_project(project));
        self.absent(Fault::ProjectNotFound, near.into_iter().collect())
    }

    fn absent(&self, code: Fault, near: Vec<String>) -> Failure {
        let uri = match self {
            Address::Document {
                project,
                kind,
                slug,
            } => document::uri(project.as_deref(), *kind, slug),
            Address::File { project, path } => format!("repo://{project}/{path}"),
            Address::Workflow => WORKFLOW.to_owned(),
        };
        Failure {
            code,
            ..unknown(&uri, near)
        }
    }
}

/// The failure for a URI of nothing. Without any URIs near it, another form of it is suggested.
fn unknown(uri: &str, mut near: Vec<String>) -> Failure {
    if near.is_empty() {
        near.extend(suggested(uri));
    }
    let near: Vec<_> = near.iter().map(|uri| text::shown(uri)).collect();
    let suggestion = match near.is_empty() {
        true => String::new(),
        false => format!("did you mean {}? ", near.join(" or ")),
    };
    Failure::new(
        Fault::InvalidArguments,
        format!("there is no resource {:?}", text::shown(uri)),
        suggestion
            + "call resources/list for the documents, or fill in a template of \
               resources/templates/list, percent-encoding what has a meaning in URIs",
    )
}

/// The well-formed URI that was probably meant. It may not exist, and existence must not be
/// revealed.
fn suggested(uri: &str) -> Option<String> {
    if uri.len() > MAX_HINT_BYTES {
        return None;
    }
    let (scheme, rest) = uri.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let mut parts: Vec<&str> = rest.split('/').filter(|part| !part.is_empty()).collect();
    let suggested = match (scheme.as_str(), parts.as_mut_slice()) {
        ("architecture", [kind] | [_, kind]) if canonical_kind(kind).is_some() => {
            *kind = canonical_kind(kind)?;
            format!("architecture://{}/{{slug}}", parts.join("/"))
        }
        ("architecture", [kind, slug] | [_, kind, slug]) => {
            (*kind, *slug) = (
                canonical_kind(kind)?,
                slug.strip_suffix(".md").unwrap_or(slug),
            );
            format!("architecture://{}", parts.join("/"))
        }
        ("adr" | "pattern" | "guideline", [slug]) => format!("architecture://{scheme}/{slug}"),
        ("file", _) => "repo://{project}/{path}".to_owned(),
        ("repo", [project]) => format!("repo://{project}/{{path}}"),
        ("repo", _) => format!("repo://{rest}"),
        ("workflow", _) => WORKFLOW.to_owned(),
        _ => return None,
    };
    (suggested != uri).then_some(suggested)
}

/// The kind's name in URIs, for a kind that goes by other names elsewhere.
fn canonical_kind(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let kind = match name.strip_suffix('s').unwrap_or(&name) {
        "adr" | "decision" => Kind::Adr,
        "pattern" => Kind::Pattern,
        "guideline" => Kind::Guideline,
        _ => return None,
    };
    Some(kind.name())
}

/// Percent-decodes a text. `None` if the result is not UTF-8.
fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => digit(rest.next()?)? * 16 + digit(rest.next()?)?,
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(project: &str, path: &str) -> Address {
        let (project, path) = (project.to_owned(), path.to_owned());
        Address::File { project, path }
    }

    #[test]
    fn a_uri_is_decoded_once() {
        let parsed = |uri| Address::parse(uri).unwrap();
        assert_eq!(parsed("repo://web/a%20b/c"), file("web", "a b/c"));
        assert_eq!(parsed("repo://web/%2e%2e%2Fx"), file("web", "../x"));
        assert_eq!(parsed("repo://web/%252e"), file("web", "%2e"));
        assert_eq!(parsed("repo://web/a%3Fb%23%c3%a4"), file("web", "a?b#ä"));
    }

    #[test]
    fn a_document_uri_names_its_project_or_means_the_default() {
        let of = |project: Option<&str>, slug: &str| Address::Document {
            project: project.map(str::to_owned),
            kind: Kind::Adr,
            slug: slug.to_owned(),
        };
        let parsed = |uri: &str| Address::parse(uri).unwrap();
        assert_eq!(parsed("architecture://adr/0001-a"), of(None, "0001-a"));
        assert_eq!(parsed("architecture://web/adr/a~2"), of(Some("web"), "a~2"));
        assert_eq!(
            parsed(&Address::of(Kind::Adr, "a b/ä%")),
            of(None, "a b/ä%")
        );
    }

    #[test]
    fn a_malformed_uri_gets_a_suggestion() {
        for (uri, suggested) in [
            ("architecture://patterns/x", "architecture://pattern/x"),
            (
                "architecture://site/adrs/0001-a",
                "architecture://site/adr/0001-a",
            ),
            ("architecture://decisions/a", "architecture://adr/a"),
            (
                "architecture://guideline/x.md",
                "architecture://guideline/x",
            ),
            ("architecture://patterns", "architecture://pattern/{slug}"),
            ("adr://0001-a", "architecture://adr/0001-a"),
            ("file:///etc/passwd", "repo://{project}/{path}"),
            ("REPO://web/a", "repo://web/a"),
            ("repo://web", "repo://web/{path}"),
            ("workflow://mine", "workflow://current"),
        ] {
            let suggestion = unknown(uri, Vec::new()).suggestion;
            assert!(
                suggestion.starts_with(&format!("did you mean {suggested}? ")),
                "{suggestion}"
            );
        }
        let plain = "call resources/list";
        for uri in [
            "architecture://adr/none",
            "repo://web/none",
            "x",
            "http://a/b",
            "repo://",
        ] {
            let suggestion = unknown(uri, Vec::new()).suggestion;
            assert!(suggestion.starts_with(plain), "{uri}");
        }
    }

    #[test]
    fn other_uris_are_rejected() {
        for uri in [
            "",
            "adr",
            "architecture://",
            "architecture://adr",
            "architecture://adr/",
            "architecture://plan/a",
            "architecture://a/b/adr/c",
            "architecture://adr/a?b",
            "repo://",
            "repo://web",
            "repo:///a",
            "repo://web/a#b",
            "repo://web/%zz",
            "repo://web/%f",
            "repo://web/%ff",
            "file:///etc/passwd",
            "REPO://web/a",
        ] {
            let refused = Address::parse(uri).unwrap_err();
            assert_eq!(refused.code, Fault::InvalidArguments, "{uri}");
        }
        let long = format!("repo://web/{}", "a".repeat(MAX_BYTES));
        assert!(Address::parse(&long).is_err());
    }
}
