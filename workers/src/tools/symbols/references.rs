//! The uses of definitions in one project.

use std::collections::{BTreeMap, HashSet};

use archway_architecture::dependencies::ImportCache;
use archway_proto::failure::Failure;
use archway_repo::{RepoError, RepoPath, Stopped};
use archway_symbols::{Local, NameQuery, Use, UseKind};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    confidence::{Bound, Confidence, Target, UsingFile},
    sources::{Source, Sources},
    targets::{Meant, meant},
};

/// Uses that are counted, at most.
const MAX_TOTAL: usize = 10_000;
/// Uses that are looked at between two looks at the deadline.
const USES_BETWEEN_CHECKS: usize = 64;
/// Longest line that is shown, in characters.
const MAX_TEXT: usize = 120;

/// What is looked for, and where.
#[derive(Clone)]
pub(super) struct Asked {
    /// A name, or `path:line` of a definition.
    pub(super) symbol: String,
    pub(super) glob: Option<String>,
    pub(super) least: Confidence,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ReferenceKind {
    Call,
    Import,
    Type,
    Write,
    Other,
}

#[derive(Clone, Serialize, JsonSchema)]
pub(in crate::tools) struct Reference {
    pub(super) path: String,
    line: u32,
    /// In characters, from 1.
    column: u32,
    text: String,
    kind: ReferenceKind,
    /// The definition around it.
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    within: Option<String>,
    confidence: Confidence,
}

#[derive(Clone, Serialize, JsonSchema)]
pub(in crate::tools) struct DefinitionPlace {
    path: String,
    line: u32,
}

#[derive(Clone, Serialize, JsonSchema)]
pub(in crate::tools) struct FileCount {
    path: String,
    count: usize,
}

/// The uses of a symbol.
pub(super) struct FoundReferences {
    /// As it was asked for.
    pub(super) asked: String,
    /// Only some files, or uses of some confidence, were asked for.
    pub(super) is_narrowed: bool,
    pub(super) name: String,
    pub(super) definitions: Vec<DefinitionPlace>,
    /// The surest first, then by path and line.
    pub(super) references: Vec<Reference>,
    /// The files with most uses first.
    pub(super) by_file: Vec<FileCount>,
    /// Some are missing: the time was up, there are more than are counted, or a file could not be parsed now.
    pub(super) is_incomplete: bool,
    /// The time was up before all files were looked at.
    pub(super) is_late: bool,
}

/// Finds the uses of a symbol.
///
/// # Errors
/// `file_not_found` for a place without a definition; if files cannot be read; if the call was cancelled.
pub(super) fn references(
    sources: &Sources<'_>,
    imports: &ImportCache,
    asked: &Asked,
) -> Result<FoundReferences, Failure> {
    let Meant {
        name,
        targets,
        mut is_incomplete,
    } = meant(sources, &asked.symbol)?;
    let (mut found, mut is_late): (Vec<(bool, Reference)>, bool) = (Vec::new(), false);
    // A glob of a name is one of its definitions' names by now.
    if let Some(query) = NameQuery::parse(&name) {
        let pattern = query.line_pattern();
        let candidates = sources.candidates(pattern, true, asked.glob.as_deref())?;
        is_incomplete |= candidates.is_incomplete;
        is_incomplete |= sources.each(&candidates.files, |source| {
            let imported = imported(sources, imports, source, &targets)?;
            let meant = (&*name, &*targets, asked.least);
            is_late = add(sources, source, meant, &imported, &mut found)?;
            Ok(!is_late && found.len() < MAX_TOTAL)
        })?;
    }
    is_incomplete |= is_late || found.len() >= MAX_TOTAL;
    // Files and lines are in order already.
    found.sort_by_key(|(is_generated, it)| (*is_generated, it.confidence));
    let references: Vec<Reference> = found.into_iter().map(|(_, it)| it).collect();
    Ok(FoundReferences {
        asked: asked.symbol.clone(),
        is_narrowed: asked.glob.is_some() || asked.least != Confidence::Name,
        name,
        definitions: targets.iter().map(DefinitionPlace::of).collect(),
        by_file: by_file(&references),
        references,
        is_incomplete,
        is_late: is_incomplete && sources.is_late()?,
    })
}

/// The files that a file imports, if a target is in another one.
fn imported(
    sources: &Sources<'_>,
    imports: &ImportCache,
    source: &Source,
    targets: &[Target],
) -> Result<HashSet<RepoPath>, Failure> {
    let is_elsewhere = |target: &Target| target.path != source.path;
    let has_imports = source
        .parsed
        .symbols
        .uses
        .iter()
        .any(|it| it.kind.is_import());
    if !has_imports || !targets.iter().any(is_elsewhere) {
        return Ok(HashSet::new());
    }
    let repo = sources.repo;
    match imports.dependencies(repo.key(), repo, &source.path, sources.cancel) {
        Ok(found) => Ok(found.files.into_iter().collect()),
        Err(RepoError::Stopped(Stopped::Cancelled)) => {
            Err(RepoError::Stopped(Stopped::Cancelled).into())
        }
        // Without imports less is certain.
        Err(_unresolved) => Ok(HashSet::new()),
    }
}

/// Adds the uses in one file. Returns whether the time was up before the last one.
///
/// # Errors
/// If the call was cancelled.
fn add(
    sources: &Sources<'_>,
    source: &Source,
    (name, targets, least): (&str, &[Target], Confidence),
    imports: &HashSet<RepoPath>,
    found: &mut Vec<(bool, Reference)>,
) -> Result<bool, RepoError> {
    let symbols = &source.parsed.symbols;
    if symbols.uses_of(name).next().is_none() {
        return Ok(false);
    }
    let locals: Vec<Local> = symbols.locals_of(name).collect();
    let file = UsingFile {
        path: &source.path,
        language: source.parsed.language,
        symbols,
        imports,
        locals: &locals,
        scopes: symbols.scopes(),
    };
    let is_generated = symbols.is_generated || archway_repo::is_generated(source.path.as_bytes());
    let others = others(source, name, targets);
    let targets: Vec<Bound<'_>> = targets.iter().map(|it| file.bound(it)).collect();
    let others: Vec<Bound<'_>> = others.iter().map(|it| file.bound(it)).collect();
    let text = sources.text(source)?;
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    for (number, used) in symbols.uses_of(name).enumerate() {
        let is_late = number % USES_BETWEEN_CHECKS == 0 && sources.is_late()?;
        if is_late || found.len() >= MAX_TOTAL {
            return Ok(is_late);
        }
        let Some(kind) = kind(used) else { continue };
        let surest = surest(&file, used, (&targets, &others));
        let Some(confidence) = surest.filter(|it| *it <= least) else {
            continue;
        };
        let line = lines
            .get(used.line as usize - 1)
            .map_or_else(String::new, |line| excerpt(line, used.column));
        let within = symbols.definition(used.within);
        let reference = Reference {
            path: source.path.display(),
            line: used.line,
            column: used.column,
            text: line,
            kind,
            within: within.map(|it| it.qualified(source.parsed.language)),
            confidence,
        };
        found.push((is_generated, reference));
    }
    Ok(false)
}

/// How sure it is that a use means one of the targets. `None` if it means none, or surely one of the others.
fn surest(
    file: &UsingFile<'_>,
    used: &Use,
    (targets, others): (&[Bound<'_>], &[Bound<'_>]),
) -> Option<Confidence> {
    let confidences = targets.iter();
    let confidence = confidences.filter_map(|it| file.confidence(used, it)).min();
    let confidence = confidence.or(targets.is_empty().then_some(Confidence::Name))?;
    let is_other = |it: &Bound<'_>| file.confidence(used, it) == Some(Confidence::Certain);
    let is_others = confidence > Confidence::Certain && others.iter().any(is_other);
    (!is_others).then_some(confidence)
}

/// Definitions of the name in the same file that are not meant.
fn others(source: &Source, name: &str, targets: &[Target]) -> Vec<Target> {
    let symbols = &source.parsed.symbols;
    let definitions = (0_u32..).zip(&symbols.definitions);
    let is_target = |at: u32| {
        targets
            .iter()
            .any(|it| it.at == at && it.path == source.path)
    };
    definitions
        .filter(|(at, it)| *it.name == *name && !is_target(*at))
        .filter_map(|(at, _)| Target::new(&source.path, source.parsed.language, symbols, at))
        .collect()
}

/// The part of a line around a column, which counts characters from 1. `…` stands for what is cut off.
fn excerpt(line: &str, column: u32) -> String {
    let characters: Vec<char> = line.trim_end().chars().collect();
    let indent = characters
        .iter()
        .take_while(|it| it.is_whitespace())
        .count();
    let (end, column) = (characters.len(), column as usize);
    let mut from = column.saturating_sub(MAX_TEXT / 2).max(indent);
    if end.saturating_sub(from) < MAX_TEXT {
        from = end.saturating_sub(MAX_TEXT).max(indent);
    }
    let shown: String = characters.iter().skip(from).take(MAX_TEXT).collect();
    let cut = |is_cut: bool| if is_cut { "…" } else { "" };
    let (before, after) = (cut(from > indent), cut(from + MAX_TEXT < end));
    format!("{before}{shown}{after}")
}

fn kind(used: &Use) -> Option<ReferenceKind> {
    Some(match used.kind {
        UseKind::Call => ReferenceKind::Call,
        UseKind::Import | UseKind::Unbound => ReferenceKind::Import,
        UseKind::Type => ReferenceKind::Type,
        UseKind::Write => ReferenceKind::Write,
        UseKind::Other => ReferenceKind::Other,
        UseKind::Local => return None,
    })
}

fn by_file(references: &[Reference]) -> Vec<FileCount> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for reference in references {
        *counts.entry(&reference.path).or_default() += 1;
    }
    let counts = counts.into_iter();
    let mut counts: Vec<FileCount> = counts
        .map(|(path, count)| FileCount {
            path: path.to_owned(),
            count,
        })
        .collect();
    counts.sort_by_key(|it| std::cmp::Reverse(it.count));
    counts
}

impl DefinitionPlace {
    fn of(target: &Target) -> DefinitionPlace {
        DefinitionPlace {
            path: target.path.display(),
            line: target.definition.name_line,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_shown_around_the_use() {
        assert_eq!(excerpt("    admit(x);  ", 5), "admit(x);");
        assert_eq!(excerpt("", 1), "");
        let line = format!("  {}admit{}", "a".repeat(300), "b".repeat(300));
        let middle = excerpt(&line, 303);
        assert!(middle.contains("admit") && middle.starts_with('…') && middle.ends_with('…'));
        assert_eq!(middle.chars().count(), MAX_TEXT + 2);
        let first = excerpt(&line, 3);
        assert!(first.starts_with("aaa") && first.ends_with('…'));
        let last = excerpt(&line, 607);
        assert!(last.starts_with('…') && last.ends_with("bbb"));
        assert_eq!(
            excerpt("é".repeat(130).as_str(), 130).chars().count(),
            MAX_TEXT + 1
        );
    }
}
