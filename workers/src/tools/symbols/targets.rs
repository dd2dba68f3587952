//! The definitions that a caller means, by a name or a place.

use archway_proto::{failure::Failure, fault::Fault};
use archway_repo::{RepoPath, text};
use archway_symbols::{Match, NameQuery};

use super::{
    confidence::Target,
    sources::{Content, Sources},
};

/// Definitions of a name that uses are compared with.
const MAX_TARGETS: usize = 200;

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
/// `file_not_found` for a place without a definition; if files cannot be read; if the call was cancelled.
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

/// `path:line`.
fn place(symbol: &str) -> Result<Option<(RepoPath, u32)>, Failure> {
    let place = symbol
        .rsplit_once(':')
        .filter(|(path, _)| !path.ends_with(':'));
    let Some((path, Ok(line))) = place.map(|(path, line)| (path, line.parse())) else {
        return Ok(None);
    };
    Ok(Some((RepoPath::parse(path)?, line)))
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
    let best = found.iter().map(|(matched, _)| *matched).min();
    let is_incomplete = candidates.is_incomplete || is_late || found.len() >= MAX_TARGETS;
    found.retain(|(matched, _)| Some(*matched) == best);
    // A glob means the first of its names.
    let first = found.first().map(|(_, it)| it.definition.name.clone());
    found.retain(|(_, it)| Some(&it.definition.name) == first.as_ref());
    found.truncate(MAX_TARGETS);
    Ok((found.into_iter().map(|(_, it)| it).collect(), is_incomplete))
}
