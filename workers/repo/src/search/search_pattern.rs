//! The pattern of a search, compiled once for all projects that it is searched in.

use std::sync::OnceLock;

use archway_trigrams::Requirement;
use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use parking_lot::Mutex;

use crate::error::RepoError;
use crate::pattern;
use crate::scan::LineCounter;

/// What to search for. It is compiled by the first search.
#[derive(Debug)]
pub struct SearchPattern {
    key: PatternKey,
    compiled: OnceLock<CompiledPattern>,
}

/// What a pattern was compiled from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PatternKey {
    pub(crate) text: String,
    pub(crate) is_literal: bool,
    pub(crate) is_case_sensitive: bool,
}

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct CompiledPattern {
    pub(super) matcher: RegexMatcher,
    /// What a text that matches has.
    pub(crate) requirement: Requirement,
    /// Unused counters: what they learn of the pattern serves the next file.
    counters: Mutex<Vec<LineCounter>>,
}

impl SearchPattern {
    /// A regular expression.
    pub fn regex(text: String, is_case_sensitive: bool) -> SearchPattern {
        SearchPattern::new(text, false, is_case_sensitive)
    }

    /// Plain text if `is_literal`, otherwise a regular expression.
    pub fn new(text: String, is_literal: bool, is_case_sensitive: bool) -> SearchPattern {
        SearchPattern {
            key: PatternKey {
                text,
                is_literal,
                is_case_sensitive,
            },
            compiled: OnceLock::new(),
        }
    }

    /// Whether it is a pattern.
    ///
    /// # Errors
    /// [`RepoError::InvalidPattern`].
    pub fn check(&self) -> Result<(), RepoError> {
        self.compiled().map(drop)
    }

    /// Whether a line of a short text matches, in memory.
    ///
    /// # Errors
    /// [`RepoError::InvalidPattern`].
    pub fn is_in(&self, text: &[u8]) -> Result<bool, RepoError> {
        // This matcher never fails.
        Ok(self.compiled()?.matcher.is_match(text).unwrap_or(false))
    }

    pub(crate) fn key(&self) -> &PatternKey {
        &self.key
    }

    /// The compiled pattern.
    ///
    /// # Errors
    /// [`RepoError::InvalidPattern`].
    pub(crate) fn compiled(&self) -> Result<&CompiledPattern, RepoError> {
        if let Some(compiled) = self.compiled.get() {
            return Ok(compiled);
        }
        let PatternKey {
            text,
            is_literal,
            is_case_sensitive,
        } = &self.key;
        let (literal, case_sensitive) = (*is_literal, *is_case_sensitive);
        let matcher = pattern::compile(text, literal, case_sensitive)?;
        // Two first searches may compile it at the same time.
        Ok(self.compiled.get_or_init(|| CompiledPattern {
            matcher,
            requirement: Requirement::of(text, literal, case_sensitive),
            counters: Mutex::default(),
        }))
    }
}

impl CompiledPattern {
    /// Counts by a counter that no other thread uses.
    pub(super) fn with_counter<T>(&self, count: impl FnOnce(&mut LineCounter) -> T) -> T {
        let unused = self.counters.lock().pop();
        let mut counter = unused.unwrap_or_else(|| LineCounter::new(&self.matcher));
        let counted = count(&mut counter);
        self.counters.lock().push(counter);
        counted
    }
}
