//! Globs in gitignore style, as every tool accepts them.
//!
//! Without a `/`, a glob matches names at any depth; with one it has to match the whole path. A
//! leading `/` anchors, a trailing one means everything beneath, `*` stops at `/`, `**` does not,
//! `{a,b}` matches either. A leading `!` is rejected: there is nothing to negate.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use globset::{ErrorKind, GlobBuilder, GlobSet, GlobSetBuilder};

use super::path::RepoPath;

/// Maximum length of a glob, in bytes.
const MAX_BYTES: usize = 512;

/// A parsed glob. Equality compares the text.
#[derive(Clone, Debug)]
pub struct Glob {
    text: String,
    matcher: globset::Glob,
    // A set of one glob: it has fast paths for extensions and plain names that a matcher lacks.
    set: GlobSet,
    anchored: bool,
}

/// Why a text is not a valid glob.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct GlobError {
    /// The text as given. The caller that shows the error says which glob it is.
    pub glob: String,
    /// The reason.
    pub message: String,
    /// Position of the error, a 0-based character, if known.
    pub position: Option<usize>,
}

impl Glob {
    /// Parses a case-sensitive glob.
    ///
    /// # Errors
    /// If the glob does not parse, with the reason and position.
    pub fn parse(text: &str) -> Result<Glob, GlobError> {
        Glob::build(text, false)
    }

    /// Parses a glob that ignores ASCII case, for rules that hide paths.
    pub(super) fn parse_ignoring_case(text: &str) -> Result<Glob, GlobError> {
        Glob::build(text, true)
    }

    fn build(text: &str, ignoring_case: bool) -> Result<Glob, GlobError> {
        let (body, anchored) = body(text)?;
        let glob = GlobBuilder::new(&body)
            .literal_separator(true)
            .backslash_escape(true)
            .case_insensitive(ignoring_case)
            .build()
            .map_err(|error| located(text, error.kind()))?;
        let set = GlobSetBuilder::new().add(glob.clone()).build();
        let set = set.map_err(|error| located(text, error.kind()))?;
        Ok(Glob {
            text: text.to_owned(),
            matcher: glob,
            set,
            anchored,
        })
    }

    /// Whether the glob matches this path.
    pub fn matches(&self, path: &RepoPath) -> bool {
        self.matches_bytes(path.as_bytes())
    }

    pub(super) fn matches_bytes(&self, path: &[u8]) -> bool {
        self.set.is_match(OsStr::from_bytes(path))
    }

    /// Whether the glob matches everything beneath this folder.
    pub(super) fn matches_all_beneath(&self, folder: &[u8]) -> bool {
        self.is_open_ended() && self.matches_bytes(&[folder, b"/any"].concat())
    }

    /// Whether it can match everything beneath a folder.
    pub(super) fn is_open_ended(&self) -> bool {
        self.text.ends_with('/') || self.text.ends_with("/**")
    }

    /// The glob as a part of a larger set.
    pub(super) fn matcher(&self) -> &globset::Glob {
        &self.matcher
    }

    /// The glob as a set of one.
    pub(super) fn set(&self) -> &GlobSet {
        &self.set
    }

    /// Whether the glob matches whole paths, rather than names at any depth.
    pub(super) fn is_anchored(&self) -> bool {
        self.anchored
    }

    /// The glob's text.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Glob {
    fn eq(&self, other: &Glob) -> bool {
        self.text == other.text
    }
}

impl Eq for Glob {}

/// The pattern that globset matches against whole paths, and whether the glob names a whole path.
fn body(text: &str) -> Result<(String, bool), GlobError> {
    let refuse = |message: &str, position| {
        Err(GlobError {
            glob: text.to_owned(),
            message: message.to_owned(),
            position: Some(position),
        })
    };
    if text.is_empty() {
        return refuse("a glob can't be empty", 0);
    }
    if text.len() > MAX_BYTES {
        return refuse("a glob can't be longer than 512 bytes", 0);
    }
    if text.starts_with('!') {
        return refuse("a glob can't be negated; write \\! for the character", 0);
    }
    let beneath = text.ends_with('/');
    let inner = text.strip_suffix('/').unwrap_or(text);
    let anchored = inner.contains('/') || (beneath && inner.is_empty());
    let inner = inner.strip_prefix('/').unwrap_or(inner);
    let body = match (anchored, beneath, inner.is_empty()) {
        (_, true, true) => "**".to_owned(),
        (true, true, false) => format!("{inner}/**"),
        (false, true, _) => format!("**/{inner}/**"),
        (true, false, _) => inner.to_owned(),
        (false, false, _) => format!("**/{inner}"),
    };
    Ok((body, anchored))
}

fn located(text: &str, kind: &ErrorKind) -> GlobError {
    let position = match kind {
        ErrorKind::DanglingEscape => text.chars().count().checked_sub(1),
        ErrorKind::UnclosedClass => open_brackets(text).class,
        ErrorKind::UnclosedAlternates => open_brackets(text).alternates.pop(),
        ErrorKind::UnopenedAlternates => open_brackets(text).unopened,
        ErrorKind::InvalidRange(first, last) => range_position(text, *first, *last),
        _ => None,
    };
    GlobError {
        glob: text.to_owned(),
        message: kind.to_string(),
        position,
    }
}

fn range_position(text: &str, first: char, last: char) -> Option<usize> {
    let at = text.find(&format!("{first}-{last}"))?;
    Some(text.split_at_checked(at)?.0.chars().count())
}

/// Unbalanced brackets, by 0-based character.
#[derive(Default)]
struct OpenBrackets {
    class: Option<usize>,
    alternates: Vec<usize>,
    unopened: Option<usize>,
}

fn open_brackets(text: &str) -> OpenBrackets {
    let mut open = OpenBrackets::default();
    let mut characters = text.chars().enumerate().peekable();
    while let Some((at, character)) = characters.next() {
        match (open.class, character) {
            // The first character of a class may be `]` itself, also after `!` or `^`.
            (Some(start), ']') if !is_class_start(text, start, at) => open.class = None,
            (Some(_), _) => {}
            (None, '\\') => _ = characters.next(),
            (None, '[') => open.class = Some(at),
            (None, '{') => open.alternates.push(at),
            (None, '}') if open.alternates.pop().is_none() => {
                open.unopened.get_or_insert(at);
            }
            (None, _) => {}
        }
    }
    open
}

fn is_class_start(text: &str, start: usize, at: usize) -> bool {
    at == start + 1 || (at == start + 2 && matches!(text.chars().nth(start + 1), Some('!' | '^')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(glob: &str, path: &str) -> bool {
        Glob::parse(glob)
            .unwrap()
            .matches(&RepoPath::parse(path).unwrap())
    }

    #[test]
    fn a_glob_without_a_slash_matches_names_at_any_depth() {
        assert!(matches("*.rs", "a.rs") && matches("*.rs", "src/deep/a.rs"));
        assert!(matches("a?.[ch]", "x/ab.c") && matches("{a,b}.md", "b.md"));
        assert!(!matches("src", "src/a.rs") && !matches("*.rs", "a.rss"));
    }

    #[test]
    fn a_glob_with_a_slash_has_to_match_the_whole_path() {
        assert!(
            matches("src/*.rs", "src/a.rs")
                && matches("/a.rs", "a.rs")
                && matches("src/**", "src/x/y")
        );
        assert!(matches("**/b/*.c", "a/b/x.c") && matches("**/b/*.c", "b/x.c"));
        assert!(!matches("src/*.rs", "src/x/a.rs") && !matches("src/*.rs", "x/src/a.rs"));
        assert!(!matches("/a.rs", "x/a.rs"));
    }

    #[test]
    fn a_trailing_slash_means_everything_beneath() {
        assert!(
            matches("docs/", "docs/a") && matches("docs/", "x/docs/y/z") && matches("/", "a/b")
        );
        assert!(
            matches("/docs/", "docs/a")
                && !matches("/docs/", "x/docs/a")
                && !matches("docs/", "docs")
        );
        assert!(matches("a/b/", "a/b/c") && !matches("a/b/", "x/a/b/c"));
    }

    #[test]
    fn classes_can_be_negated_and_characters_escaped() {
        assert!(matches("[!a].c", "b.c") && !matches("[!a].c", "a.c") && matches(r"\!x", "!x"));
    }

    #[test]
    fn errors_report_their_position() {
        let position = |glob| Glob::parse(glob).unwrap_err().position;
        assert_eq!(position("!a"), Some(0));
        assert_eq!(position(""), Some(0));
        assert_eq!(position("ä[x"), Some(1));
        assert_eq!(position("a{b,c"), Some(1));
        assert_eq!(position("a}b"), Some(1));
        assert_eq!(position("ä[z-a]"), Some(2));
        assert_eq!(position("ab\\"), Some(2));
    }

    #[test]
    fn rules_may_ignore_case() {
        let path = RepoPath::parse("Private/X").unwrap();
        assert!(
            Glob::parse_ignoring_case("private/")
                .unwrap()
                .matches(&path)
        );
        assert!(!Glob::parse("private/").unwrap().matches(&path));
    }
}
