//! Paths beneath a project's root: normalised when parsed, checked and opened later.
//!
//! A path is the bytes of the file system; a backslash is an ordinary character. Bytes that are not
//! UTF-8 are displayed as `\xNN`. That spelling also finds the file, unless a file has this very
//! text as its name.

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use crate::text::shown;

/// Maximum length of a path, in bytes.
const MAX_BYTES: usize = 4096;

/// A normalised path relative to a project's root: no empty, `.` or `..` component, no NUL, no
/// leading or trailing `/`. The root is empty.
///
/// Ordered by component, and by bytes within a component, so that a folder's files are adjacent.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RepoPath(Arc<[u8]>);

/// Why a text is not a path beneath a project's root.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// The text is not a valid path.
    #[error("path {reason}")]
    Invalid {
        /// The reason, to be read after "path".
        reason: &'static str,
    },
    /// The path is absolute, or climbs with `..`.
    #[error("path {} leads outside the project", shown(path))]
    Outside {
        /// The text.
        path: String,
    },
}

impl RepoPath {
    /// Parses and normalises `text` (`./`, `//`, a trailing `/`); `.` is the root.
    ///
    /// # Errors
    /// - [`PathError::Invalid`]: the text is empty, too long or contains NUL.
    /// - [`PathError::Outside`]: it is absolute or has a `..` component, wherever that leads.
    pub fn parse(text: &str) -> Result<RepoPath, PathError> {
        if text.is_empty() {
            return Err(PathError::Invalid {
                reason: "is empty; the root is \".\"",
            });
        }
        if text.len() > MAX_BYTES {
            return Err(PathError::Invalid {
                reason: "is longer than 4096 bytes",
            });
        }
        if text.contains('\0') {
            return Err(PathError::Invalid {
                reason: "contains a NUL character",
            });
        }
        if text.starts_with('/') || text.split('/').any(|name| name == "..") {
            return Err(PathError::Outside {
                path: text.to_owned(),
            });
        }
        let mut bytes = Vec::with_capacity(text.len());
        for name in text.split('/').filter(|name| !matches!(*name, "" | ".")) {
            if !bytes.is_empty() {
                bytes.push(b'/');
            }
            bytes.extend_from_slice(name.as_bytes());
        }
        Ok(RepoPath(bytes.into()))
    }

    /// The project's root.
    pub fn root() -> RepoPath {
        RepoPath(Arc::default())
    }

    /// Wraps bytes that are known to be normalised, such as a path from a git tree.
    pub fn trusted(bytes: &[u8]) -> RepoPath {
        RepoPath(bytes.into())
    }

    /// This folder's entry `name`.
    pub fn join(&self, name: &[u8]) -> RepoPath {
        if self.is_root() {
            return RepoPath::trusted(name);
        }
        RepoPath([&self.0, b"/".as_slice(), name].concat().into())
    }

    /// The parent folder; `None` for the root.
    pub fn parent(&self) -> Option<RepoPath> {
        let name = self.components().next_back()?;
        let above = self.0.len() - name.len();
        Some(RepoPath::trusted(
            self.0.get(..above.saturating_sub(1)).unwrap_or_default(),
        ))
    }

    /// The path as the file system has it.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether this is the project's root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Its components from the root down; empty for the root.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.0
            .split(|&byte| byte == b'/')
            .filter(|name| !name.is_empty())
    }

    /// The last component; empty for the root.
    pub fn name(&self) -> &[u8] {
        self.components().next_back().unwrap_or_default()
    }

    /// Whether this is an entry of `folder` itself.
    pub(super) fn is_child_of(&self, folder: &RepoPath) -> bool {
        let name = match folder.is_root() {
            true => Some(&*self.0),
            false => {
                let rest = self.0.strip_prefix(folder.as_bytes());
                rest.and_then(|rest| rest.strip_prefix(b"/"))
            }
        };
        name.is_some_and(|name| !name.is_empty() && !name.contains(&b'/'))
    }

    /// Whether this path is `folder` or beneath it.
    pub fn is_within(&self, folder: &RepoPath) -> bool {
        folder.is_root()
            || self
                .0
                .strip_prefix(folder.as_bytes())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    }

    /// The path for display: UTF-8 unchanged, other bytes as `\xNN`.
    pub fn display(&self) -> String {
        self.to_string()
    }

    /// The path whose [`RepoPath::display`] is this path's text, if that is a different path.
    pub fn unescaped(&self) -> Option<RepoPath> {
        let mut bytes = Vec::with_capacity(self.0.len());
        let mut rest: &[u8] = &self.0;
        while let Some((&first, tail)) = rest.split_first() {
            if let Some((byte, tail)) = escaped_byte(rest) {
                bytes.push(byte);
                rest = tail;
            } else {
                bytes.push(first);
                rest = tail;
            }
        }
        let path = RepoPath::trusted(&bytes);
        (path != *self && path.to_string().as_bytes() == self.as_bytes()).then_some(path)
    }

    pub(super) fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// The path for system calls, which reject an empty one.
    pub(super) fn for_kernel(&self) -> &[u8] {
        if self.is_root() { b"." } else { &self.0 }
    }
}

/// Decodes `\xNN` at the start of `text`, for a byte that is not valid UTF-8 by itself.
fn escaped_byte(text: &[u8]) -> Option<(u8, &[u8])> {
    let (digits, rest) = text.strip_prefix(b"\\x")?.split_at_checked(2)?;
    let byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    (byte >= 0x80).then_some((byte, rest))
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            return f.write_str(".");
        }
        for chunk in self.0.utf8_chunks() {
            f.write_str(chunk.valid())?;
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

impl Ord for RepoPath {
    fn cmp(&self, other: &RepoPath) -> Ordering {
        // A separator sorts before every byte of a name, which gives order by component.
        let key = |&byte: &u8| if byte == b'/' { 0 } else { byte };
        self.0.iter().map(key).cmp(other.0.iter().map(key))
    }
}

impl PartialOrd for RepoPath {
    fn partial_cmp(&self, other: &RepoPath) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> String {
        RepoPath::parse(text).unwrap().display()
    }

    #[test]
    fn dots_and_doubled_slashes_are_normalised_away() {
        assert_eq!(parsed("./a//b/./c/"), "a/b/c");
        assert_eq!(parsed("."), ".");
        assert!(RepoPath::parse("./").unwrap().is_root());
    }

    #[test]
    fn climbing_and_absolute_paths_lead_outside() {
        for text in ["..", "a/..", "a/../b", "/", "/etc/passwd", "//a"] {
            assert!(
                matches!(RepoPath::parse(text), Err(PathError::Outside { .. })),
                "{text}"
            );
        }
    }

    #[test]
    fn empty_too_long_and_nul_are_invalid() {
        for text in ["", "a\0b", &"a/".repeat(2049)] {
            assert!(matches!(
                RepoPath::parse(text),
                Err(PathError::Invalid { .. })
            ));
        }
    }

    #[test]
    fn a_backslash_is_a_character() {
        assert_eq!(parsed(r"a\..\b"), r"a\..\b");
    }

    #[test]
    fn order_is_by_component() {
        let mut paths = ["a.b", "a/z", "a", "a-b/c", "b"].map(|p| RepoPath::parse(p).unwrap());
        paths.sort();
        assert_eq!(
            paths.map(|p| p.display()),
            ["a", "a/z", "a-b/c", "a.b", "b"]
        );
    }

    #[test]
    fn within_means_whole_components() {
        let within = |a: &str, b: &str| {
            RepoPath::parse(a)
                .unwrap()
                .is_within(&RepoPath::parse(b).unwrap())
        };
        assert!(within("a/b", "a") && within("a", "a") && within("a", "."));
        assert!(!within("ab", "a") && !within("a", "a/b"));
    }

    #[test]
    fn unescaping_never_makes_a_separator_or_a_dot() {
        for text in [r"a\x2e\x2e", r"a\x2fb", r"\x00", r"a\xzz", r"\x8", "a"] {
            assert_eq!(RepoPath::parse(text).unwrap().unescaped(), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_displayed_path_finds_the_name_again(name in prop::collection::vec(1u8.., 1..12)) {
            prop_assume!(!name.contains(&b'/') && name != b"." && name != b"..");
            let path = RepoPath::trusted(&name);
            let shown = RepoPath::parse(&path.display()).unwrap();
            if std::str::from_utf8(&name).is_ok() {
                prop_assert_eq!(shown, path);
            } else if !name.windows(2).any(|two| two == b"\\x") {
                prop_assert_eq!(shown.unescaped(), Some(path));
            }
        }

        #[test]
        fn a_parsed_path_is_normal(text in "[a./\\\\]{0,12}") {
            if let Ok(path) = RepoPath::parse(&text) {
                prop_assert!(path.components().all(|name| name != b"." && name != b".."));
                prop_assert_eq!(path.components().collect::<Vec<_>>().join(&b'/'), path.as_bytes());
            }
        }
    }
}
