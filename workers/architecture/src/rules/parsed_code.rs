//! Parses code in its language: the one that the caller names, otherwise the one that the document
//! names.

use archway_repo::{
    Cancel,
    syntax::{Syntax, SyntaxError},
};

use super::{RulesError, dialect::Dialect, rule_source::RuleSource};
use crate::markdown::Markdown;

/// At most this many languages are tried if the document names several.
const MAX_GUESSES: usize = 4;

/// Parsed code.
pub(super) struct ParsedCode<'c> {
    pub(super) code: &'c str,
    /// The language that the caller named, which may be unsupported.
    pub(super) requested: Option<&'c str>,
    pub(super) dialect: Option<Dialect>,
    /// `None` without a language, or if parsing took too long.
    pub(super) syntax: Option<Syntax<'c>>,
    /// The line of the first syntax error, else of the first code that the grammar did not get: a rule
    /// finds nothing there.
    pub(super) error_line: Option<usize>,
}

impl<'c> ParsedCode<'c> {
    /// Parses code, whose language the caller may have named.
    ///
    /// # Errors
    /// If parsing is not possible now, or the call is cancelled.
    pub(super) fn of(
        pattern: &Markdown,
        rules: &[RuleSource],
        (code, requested): (&'c str, Option<&'c str>),
        cancel: &Cancel,
    ) -> Result<ParsedCode<'c>, RulesError> {
        let dialects = match requested {
            Some(name) => Vec::from_iter(Dialect::named(name)),
            None => named_languages(pattern, rules),
        };
        let mut parsed = ParsedCode {
            code,
            requested,
            dialect: dialects.first().copied(),
            syntax: None,
            error_line: None,
        };
        for &dialect in dialects.iter().take(MAX_GUESSES) {
            let syntax = parse(dialect, code, cancel)?;
            let error_line = match &syntax {
                Some(syntax) => syntax.error_line(cancel)?.or(syntax.left_out_line()),
                None => None,
            };
            let is_sound = syntax.is_some() && error_line.is_none();
            if is_sound || parsed.syntax.is_none() {
                parsed.dialect = Some(dialect);
                parsed.syntax = syntax;
                parsed.error_line = error_line;
            }
            if is_sound {
                break;
            }
        }
        Ok(parsed)
    }

    /// Whether the code has syntax errors, or took too long to parse.
    pub(super) fn has_syntax_errors(&self) -> bool {
        self.dialect.is_some() && (self.syntax.is_none() || self.error_line.is_some())
    }
}

/// The languages that a document names: those of its rules, otherwise that of its examples if they
/// have only one.
fn named_languages(pattern: &Markdown, rules: &[RuleSource]) -> Vec<Dialect> {
    let mut dialects = Vec::new();
    for rule in rules {
        if !dialects.contains(&rule.dialect) {
            dialects.push(rule.dialect);
        }
    }
    if !dialects.is_empty() {
        return dialects;
    }
    let infos = pattern.fences.iter().map(|fence| fence.info.as_str());
    let names = infos.filter_map(|info| info.split(|c: char| !is_of_a_name(c)).next());
    let mut examples: Vec<Dialect> = names.filter_map(Dialect::named).collect();
    examples.dedup();
    if examples.len() > 1 {
        examples.clear();
    }
    examples
}

fn is_of_a_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '+' | '#')
}

/// The syntax tree of code; `None` if parsing takes too long.
fn parse<'c>(
    dialect: Dialect,
    code: &'c str,
    cancel: &Cancel,
) -> Result<Option<Syntax<'c>>, RulesError> {
    match dialect.parse(code, cancel) {
        Ok(syntax) => Ok(Some(syntax)),
        Err(SyntaxError::TooSlow) => Ok(None),
        Err(SyntaxError::Stopped(stopped)) => Err(stopped.into()),
        Err(error) => Err(RulesError::Parse(error)),
    }
}
