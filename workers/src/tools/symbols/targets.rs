//! The definitions that a caller means, by a name or a place.

use std::collections::BTreeSet;

use archway_proto::{failure::Failure, fault::Fault};
use archway_repo::{RepoPath, text};
use archway_symbols::{Match, NameQuery};

use super::{
    confidence::Target,
    sources::{Content, Sources},
};
use crate::tools::files::open_file;

/// Definitions of a name that uses are compared with.
const MAX_TARGETS: usize = 200;
/// Names that a refused glob is said to match.
const MAX_NAMED: usize = 5;

/// What is meant.
pub(super) struct Meant {
    /// The name of all targets.
    pub(super) name: String,
    pub(super) targets: Vec<Target>,
    /// The time was up before all files were looked at.
    pub(super) is_incomplete: bool,
}

/// The definitions of a name, or the one at `path:line`.
///
/// # Errors
/// `file_not_found` for a place without a definition, and what reading its file fails with;
/// `invalid_arguments` for a glob of several names; if files cannot be read; if the call was cancelled.
pub(super) fn meant(sources: &Sources<'_>, symbol: &str) -> Result<Meant, Failure> {
    if let Some((path, line)) = place(symbol)? {
        let target = target_at(sources, &path, line)?;
        return Ok(Meant {
            name: target.definition.name.to_string(),
            targets: vec![target],
            is_incomplete: false,
        });
    }
    let query = super::find_symbol::name(symbol)?;
    let (targets, is_incomplete) = targets(sources, &query)?;
    let first = targets.first();
    let name = first.map(|target| target.definition.name.to_string());
    Ok(Meant {
        name: name.unwrap_or_else(|| query.name().to_owned()),
        targets,
        is_incomplete,
    })
}

/// `path:line`, or `path:line:column`, as compilers and editors write a place.
fn place(symbol: &str) -> Result<Option<(RepoPath, u32)>, Failure> {
    let numbered = |text: &'_ str| {
        let (before, number) = text.rsplit_once(':')?;
        let number: u32 = number.parse().ok()?;
        (!before.is_empty() && !before.ends_with(':')).then(|| (before.to_owned(), number))
    };
    let Some((path, number)) = numbered(symbol) else {
        return Ok(None);
    };
    let (path, line) = numbered(&path).unwrap_or((path, number));
    Ok(Some((RepoPath::parse(&path)?, line)))
}

/// The definition at a line of a file: the one whose name stands there, else the innermost around it.
fn target_at(sources: &Sources<'_>, path: &RepoPath, line: u32) -> Result<Target, Failure> {
    let none = |why: &str| {
        Failure::new(
            Fault::FileNotFound,
            format!(
                "no definition at {}:{line}: {why}",
                text::shown(&path.display())
            ),
            "call outline for the definitions of a file, or give a name",
        )
    };
    // A path of no file, or one that may not be read, fails as read_file does.
    open_file(sources.repo, path, sources.cancel)?;
    let source = match sources.content(path)? {
        Content::Parsed(source) => source,
        Content::None(why) | Content::Failed(why) => return Err(none(&why)),
    };
    let symbols = &source.parsed.symbols;
    let numbered = || symbols.definitions.iter().enumerate();
    let named = numbered().find(|(_, it)| it.name_line == line);
    let around = || numbered().rfind(|(_, it)| it.lines.0 <= line && line <= it.lines.1);
    let at = named
        .or_else(around)
        .and_then(|(at, _)| u32::try_from(at).ok());
    let target = Target::new(
        path,
        source.parsed.language,
        symbols,
        at.unwrap_or(u32::MAX),
    );
    target.ok_or_else(|| none("nothing is defined there"))
}

/// The failure for a glob that matches several names.
fn several(query: &NameQuery, names: &BTreeSet<&str>) -> Failure {
    let some: Vec<_> = names
        .iter()
        .take(MAX_NAMED)
        .map(|it| text::shown(it))
        .collect();
    Failure::new(
        Fault::InvalidArguments,
        format!(
            "{} matches {} names, such as {}",
            text::shown(query.name()),
            names.len(),
            some.join(", ")
        ),
        "give one name; find_symbol lists those of a glob",
    )
}

/// All definitions of a name: those in its very letters, or if there are none, in any case.
fn targets(sources: &Sources<'_>, query: &NameQuery) -> Result<(Vec<Target>, bool), Failure> {
    let candidates = sources.candidates(query.line_pattern(), false, None)?;
    let mut found: Vec<(Match, Target)> = Vec::new();
    let is_late = sources.each(&candidates.files, |source| {
        let path = source.path.display();
        let symbols = &source.parsed.symbols;
        for (at, definition) in (0_u32..).zip(&symbols.definitions) {
            if let Some(matched) = query.matches(definition, &path) {
                let target = Target::new(&source.path, source.parsed.language, symbols, at);
                found.extend(target.map(|target| (matched, target)));
            }
        }
        Ok(found.len() < MAX_TARGETS)
    })?;
    let is_incomplete = candidates.is_incomplete || is_late || found.len() >= MAX_TARGETS;
    let names: BTreeSet<&str> = found.iter().map(|(_, it)| &*it.definition.name).collect();
    if query.is_glob() && names.len() > 1 {
        return Err(several(query, &names));
    }
    let best = found.iter().map(|(matched, _)| *matched).min();
    found.retain(|(matched, _)| Some(*matched) == best);
    found.truncate(MAX_TARGETS);
    Ok((found.into_iter().map(|(_, it)| it).collect(), is_incomplete))
}
