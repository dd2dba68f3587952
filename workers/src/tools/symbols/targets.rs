//! The definitions that a caller means, by a name or a place.

use std::{cmp::Ordering, collections::BTreeSet};

use archway_proto::{failure::Failure, fault::Fault};
use archway_repo::text;
use archway_symbols::{Match, NameQuery};

use super::{
    confidence::Target,
    place::{Place, Pointed},
    sources::Sources,
};

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
    let query = match Place::parse(symbol)? {
        Some(place) => match place.resolve(sources)? {
            Pointed::Definition(target) => {
                return Ok(Meant {
                    name: target.definition.name.to_string(),
                    targets: vec![target],
                    is_incomplete: false,
                });
            }
            Pointed::Name(name) => super::find_symbol::name(&name)?,
        },
        None => super::find_symbol::name(symbol)?,
    };
    let (targets, is_incomplete) = targets(sources, &query)?;
    let first = targets.first();
    let name = first.map(|target| target.definition.name.to_string());
    Ok(Meant {
        name: name.unwrap_or_else(|| query.name().to_owned()),
        targets,
        is_incomplete,
    })
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
    let mut best: Option<Match> = None;
    let is_late = sources.each(&candidates.files, |source| {
        let path = source.path.display();
        let symbols = &source.parsed.symbols;
        for (at, definition) in (0_u32..).zip(&symbols.definitions) {
            let Some(matched) = query.matches(definition, &path) else {
                continue;
            };
            match best.map(|best| matched.cmp(&best)) {
                Some(Ordering::Less) if !query.is_glob() => found.clear(),
                Some(Ordering::Greater) if !query.is_glob() => continue,
                _ => {}
            }
            best = Some(best.map_or(matched, |best| best.min(matched)));
            let target = Target::new(&source.path, source.parsed.language, symbols, at);
            let target = target.filter(|_| found.len() < MAX_TARGETS);
            found.extend(target.map(|target| (matched, target)));
        }
        // After many in another case those in the very letters may follow.
        let is_last = query.is_glob() || best == Some(Match::Exact);
        Ok(!is_last || found.len() < MAX_TARGETS)
    })?;
    let is_incomplete = candidates.is_incomplete || is_late || found.len() >= MAX_TARGETS;
    let names: BTreeSet<&str> = found.iter().map(|(_, it)| &*it.definition.name).collect();
    if query.is_glob() && names.len() > 1 {
        return Err(several(query, &names));
    }
    found.retain(|(matched, _)| Some(*matched) == best);
    Ok((found.into_iter().map(|(_, it)| it).collect(), is_incomplete))
}
