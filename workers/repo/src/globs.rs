//! A set of globs, matched all at once at little more than the cost of one.
//!
//! A listing matches every path, and every folder above it, against the globs that close paths.
//! Matching a hundred globs one by one takes forty times as long.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use globset::{GlobSet, GlobSetBuilder};

use super::glob::Glob;

/// A set of globs. Equal if they have the same texts in the same order.
#[derive(Clone, Debug, Default)]
pub(super) struct Globs(Arc<Sets>);

#[derive(Debug, Default)]
struct Sets {
    globs: Vec<Glob>,
    all: Vec<GlobSet>,
    /// The globs that can match everything beneath a folder.
    open_ended: Vec<GlobSet>,
}

impl Globs {
    pub(super) fn new(globs: Vec<Glob>) -> Globs {
        let all = build_sets(globs.iter());
        let open_ended = build_sets(globs.iter().filter(|glob| glob.is_open_ended()));
        Globs(Arc::new(Sets {
            globs,
            all,
            open_ended,
        }))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.globs.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Glob> {
        self.0.globs.iter()
    }

    /// Whether any glob matches this path.
    pub(super) fn matches(&self, path: &[u8]) -> bool {
        any_match(&self.0.all, path)
    }

    /// Whether any glob matches everything beneath this folder.
    pub(super) fn matches_all_beneath(&self, folder: &[u8]) -> bool {
        let sets = &self.0.open_ended;
        !sets.is_empty() && any_match(sets, &[folder, b"/any"].concat())
    }
}

impl PartialEq for Globs {
    fn eq(&self, other: &Globs) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.globs == other.0.globs
    }
}

impl Eq for Globs {}

fn any_match(sets: &[GlobSet], path: &[u8]) -> bool {
    sets.iter().any(|set| set.is_match(OsStr::from_bytes(path)))
}

/// Builds one set of all globs, or one set for each if they are too large for one. Every glob is
/// included.
fn build_sets<'a>(globs: impl Iterator<Item = &'a Glob> + Clone) -> Vec<GlobSet> {
    let mut builder = GlobSetBuilder::new();
    for glob in globs.clone() {
        builder.add(glob.matcher().clone());
    }
    match builder.build() {
        Ok(set) if set.is_empty() => Vec::new(),
        Ok(set) => vec![set],
        Err(_too_much) => globs.map(|glob| glob.set().clone()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn globs(texts: &[String]) -> Vec<Glob> {
        let globs = texts.iter().map(|text| Glob::parse_ignoring_case(text));
        globs.collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn a_hundred_of_the_longest_globs_fit_one_set() {
        let longest = |n: usize| format!("{n:03}{}", "?*".repeat(254));
        let globs = Globs::new(globs(&(0..100).map(longest).collect::<Vec<_>>()));
        assert_eq!(globs.0.all.len(), 1);
        let path = format!("a/099{}", "x".repeat(254));
        assert!(globs.matches(path.as_bytes()) && !globs.matches(b"a/100x"));
    }

    #[test]
    fn an_empty_set_matches_nothing() {
        assert!(!Globs::default().matches(b"a") && !Globs::default().matches_all_beneath(b"a"));
    }

    proptest! {
        #[test]
        fn a_set_matches_whatever_any_of_its_globs_matches(
            texts in prop::collection::vec("/?(\\*\\*/|a/|B/)?(a|b|\\*|\\*\\.c|a\\*)(/\\*\\*|/)?", 0..6),
            path in "(a|b|A)(/(a|b|x\\.C)){0,3}",
        ) {
            let single = globs(&texts);
            let all = Globs::new(single.clone());
            let path = path.as_bytes();
            prop_assert_eq!(all.matches(path), single.iter().any(|glob| glob.matches_bytes(path)));
            let beneath = single.iter().any(|glob| glob.matches_all_beneath(path));
            prop_assert_eq!(all.matches_all_beneath(path), beneath);
        }
    }
}
