//! The files of a project that may have a name, and their symbols.

use std::{borrow::Cow, sync::Arc};

use archway_proto::failure::Failure;
use archway_repo::{
    Cancel, Excluded, Glob, MatchRange, Matches, Query, Repo, RepoError, RepoPath, SearchPattern,
    Stopped,
    syntax::{self, Language, SyntaxError},
};
use archway_symbols::{Parsed, SymbolCache};

/// Why a binary file has no symbols.
pub(super) const BINARY: &str = "it is a binary file";

/// Nothing is excluded: all listed files are searched.
static NOTHING: Excluded = Excluded::NONE;

/// The files of a project as one call sees them.
pub(in crate::tools) struct Sources<'a> {
    pub(super) cache: &'a SymbolCache,
    pub(super) repo: &'a Repo,
    pub(super) cancel: &'a Cancel,
}

/// A file and its symbols.
pub(super) struct Source {
    pub(super) path: RepoPath,
    pub(super) parsed: Arc<Parsed>,
    /// `None` if the symbols of its blob were known: [`Sources::text`] reads it.
    text: Option<Vec<u8>>,
}

/// Files that may have a name.
pub(super) struct Candidates {
    /// By path.
    pub(super) files: Vec<RepoPath>,
    /// The time was up before all files were looked at.
    pub(super) is_incomplete: bool,
}

/// What a file is to the parser.
pub(super) enum Content {
    Parsed(Source),
    /// Why there are no symbols.
    None(String),
    /// Why it could not be parsed now: it may have some.
    Failed(String),
}

impl<'a> Sources<'a> {
    pub(in crate::tools) fn new(
        cache: &'a SymbolCache,
        repo: &'a Repo,
        cancel: &'a Cancel,
    ) -> Sources<'a> {
        Sources {
            cache,
            repo,
            cancel,
        }
    }

    /// The files with a line that matches the pattern, in languages that have a grammar.
    ///
    /// # Errors
    /// As those of a search.
    pub(super) fn candidates(
        &self,
        pattern: String,
        is_case_sensitive: bool,
        glob: Option<&str>,
    ) -> Result<Candidates, Failure> {
        let found = self.search(pattern, is_case_sensitive, glob, MatchRange::FILES)?;
        let mut files = found.files;
        files.retain(|path| Language::of(path).is_some());
        Ok(Candidates {
            files,
            is_incomplete: found.totals.incomplete,
        })
    }

    /// The first `most` lines that match the pattern in any case, each cut around its match. Files without a
    /// grammar count, too.
    ///
    /// # Errors
    /// As those of a search.
    pub(super) fn lines(
        &self,
        pattern: String,
        glob: Option<&str>,
        most: usize,
    ) -> Result<Vec<String>, Failure> {
        let found = self.search(pattern, false, glob, MatchRange::of(0, most))?;
        Ok(found.lines.into_iter().map(|line| line.text).collect())
    }

    fn search(
        &self,
        pattern: String,
        is_case_sensitive: bool,
        glob: Option<&str>,
        range: MatchRange,
    ) -> Result<Matches, Failure> {
        let query = Query {
            pattern: SearchPattern::regex(pattern, is_case_sensitive),
            glob: glob.map(Glob::parse).transpose()?,
            excluded: &NOTHING,
            context: 0,
        };
        Ok(self.repo.search(&query, range, self.cancel)?)
    }

    /// Hands each file that can be parsed to `each`, until that returns false. Returns whether some before that
    /// were not looked at: the time was up, or they could not be parsed now.
    ///
    /// # Errors
    /// If a file's object cannot be read, or the call was cancelled.
    pub(super) fn each(
        &self,
        files: &[RepoPath],
        mut each: impl FnMut(&Source) -> Result<bool, Failure>,
    ) -> Result<bool, Failure> {
        let mut has_failed = false;
        for path in files {
            if self.is_late()? {
                return Ok(true);
            }
            match self.content(path) {
                Ok(Content::Parsed(source)) => {
                    if !each(&source)? {
                        return Ok(has_failed);
                    }
                }
                Ok(Content::None(_)) => {}
                Ok(Content::Failed(_)) => has_failed = true,
                Err(RepoError::Stopped(Stopped::Deadline)) => return Ok(true),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(has_failed)
    }

    /// Whether the time is up.
    ///
    /// # Errors
    /// If the call was cancelled.
    pub(super) fn is_late(&self) -> Result<bool, RepoError> {
        match self.cancel.check() {
            Ok(()) => Ok(false),
            Err(Stopped::Deadline) => Ok(true),
            Err(stopped) => Err(stopped.into()),
        }
    }

    /// A file's symbols, or why it has none.
    ///
    /// # Errors
    /// If its object cannot be read, or the call was stopped.
    pub(super) fn content(&self, path: &RepoPath) -> Result<Content, RepoError> {
        let Some(language) = Language::of(path) else {
            return Ok(Content::None("no grammar for this kind of file".into()));
        };
        let blob = self.repo.listed_blob(path);
        let known = blob.and_then(|blob| self.cache.known(self.repo.key(), language, blob));
        if let Some(parsed) = known {
            return Ok(Content::Parsed(Source {
                path: path.clone(),
                parsed,
                text: None,
            }));
        }
        let text = match self.read(path) {
            Ok(text) => text,
            Err(error) if is_gone(&error) => {
                return Ok(Content::None("it is gone or may not be read".into()));
            }
            Err(error) => return Err(error),
        };
        let Some(text) = text else {
            let most = syntax::MAX_BYTES;
            return Ok(Content::None(format!(
                "it has more than {most} bytes, which are not parsed"
            )));
        };
        if text.iter().take(8 << 10).any(|byte| *byte == 0) {
            return Ok(Content::None(BINARY.into()));
        }
        match self.parsed(language, &text) {
            Ok(parsed) => Ok(Content::Parsed(Source {
                path: path.clone(),
                parsed,
                text: Some(text),
            })),
            Err(SyntaxError::Stopped(stopped)) => Err(stopped.into()),
            Err(error @ (SyntaxError::TooSlow | SyntaxError::Thread(_))) => {
                Ok(Content::Failed(error.to_string()))
            }
            Err(error) => Ok(Content::None(error.to_string())),
        }
    }

    /// The text of a source.
    ///
    /// # Errors
    /// If it was not read yet, and cannot be read now.
    pub(super) fn text<'s>(&self, source: &'s Source) -> Result<Cow<'s, [u8]>, RepoError> {
        match &source.text {
            Some(text) => Ok(Cow::Borrowed(text)),
            None => Ok(Cow::Owned(self.read(&source.path)?.unwrap_or_default())),
        }
    }

    /// A file's text; `None` if it is longer than what is parsed.
    fn read(&self, path: &RepoPath) -> Result<Option<Vec<u8>>, RepoError> {
        let mut file = self.repo.open(path)?;
        let text = file.read_at_most(syntax::MAX_BYTES as u64);
        text.map_err(|source| RepoError::Io {
            what: "reading a file to find its symbols",
            source,
        })
    }

    /// Parses a text, waiting while the parser is busy: load must not change what is found.
    fn parsed(&self, language: Language, text: &[u8]) -> Result<Arc<Parsed>, SyntaxError> {
        loop {
            match self
                .cache
                .parsed(self.repo.key(), language, text, self.cancel)
            {
                Err(SyntaxError::Busy) => self.cancel.check()?,
                parsed => return parsed,
            }
        }
    }
}

/// Whether a listed file cannot be opened, though the repository is sound.
fn is_gone(error: &RepoError) -> bool {
    matches!(
        error,
        RepoError::NotFound { .. }
            | RepoError::Unreadable { .. }
            | RepoError::Blocked { .. }
            | RepoError::Outside { .. }
    )
}
