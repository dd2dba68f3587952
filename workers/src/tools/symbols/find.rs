//! Definitions of a name in one project, the best first.

use archway_proto::failure::Failure;
use archway_symbols::{Definition, Kind, Match, NameQuery};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    SymbolKind,
    sources::{Source, Sources},
};
use crate::tools::{files::role, schema::is_false};

/// Definitions that are counted, at most.
const MAX_TOTAL: usize = 10_000;
/// Definitions beyond those needed that are collected before they are sorted.
const SLACK: usize = 200;
/// Definitions in other containers, or of other kinds, that are named at most.
const MAX_ELSEWHERE: usize = 3;

/// What is looked for.
#[derive(Clone)]
pub(super) struct Wanted {
    /// The name as it was given.
    pub(super) asked: String,
    pub(super) name: NameQuery,
    pub(super) kind: Option<SymbolKind>,
    pub(super) glob: Option<String>,
}

#[derive(Clone, Serialize, JsonSchema)]
pub(in crate::tools) struct FoundSymbol {
    pub(super) name: String,
    #[schemars(with = "String")]
    pub(super) kind: SymbolKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) container: Option<String>,
    pub(super) path: String,
    pub(super) start_line: u32,
    end_line: u32,
    signature: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    doc: Option<String>,
    /// The file is generated or vendored.
    #[serde(default, skip_serializing_if = "is_false")]
    generated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) project: Option<String>,
    /// The name with its containers.
    #[serde(skip)]
    pub(super) qualified: String,
}

impl FoundSymbol {
    /// Names the project, where several are searched.
    pub(super) fn of_project(mut self, slug: &str) -> FoundSymbol {
        self.project = Some(slug.to_owned());
        self
    }

    /// Its file, with the project if it is named.
    pub(super) fn file(&self) -> String {
        match &self.project {
            Some(project) => format!("{project}/{}", self.path),
            None => self.path.clone(),
        }
    }
}

/// The place of a definition in the order: what is smaller comes first.
type Rank = (bool, Match, bool, bool, bool, u8);

/// Definitions of one project.
pub(super) struct FoundSymbols {
    /// The best first, no more than were asked for.
    pub(super) symbols: Vec<FoundSymbol>,
    /// How many there are.
    pub(super) total: usize,
    /// If there are none: the best definitions of the name in other containers and of other kinds.
    pub(super) elsewhere: Vec<FoundSymbol>,
    /// Some are missing: the time was up, there are more than are counted, or a file could not be parsed now.
    pub(super) is_incomplete: bool,
    /// The time was up before all files were looked at.
    pub(super) is_late: bool,
}

/// The best `count` of the definitions that are wanted.
///
/// # Errors
/// If files cannot be read, or the call was cancelled.
pub(super) fn find(
    sources: &Sources<'_>,
    wanted: &Wanted,
    count: usize,
) -> Result<FoundSymbols, Failure> {
    let pattern = wanted.name.line_pattern();
    let candidates = sources.candidates(pattern, false, wanted.glob.as_deref())?;
    let anywhere = wanted.name.in_any_container();
    let anywhere = anywhere.as_ref().unwrap_or(&wanted.name);
    let (mut best, mut elsewhere) = (Best::of(count), Best::of(MAX_ELSEWHERE));
    let is_partial = sources.each(&candidates.files, |source| {
        best.add(source, &wanted.name, wanted.kind);
        if best.total == 0 {
            elsewhere.add(source, anywhere, None);
        }
        Ok(best.total < MAX_TOTAL)
    })?;
    let is_incomplete = candidates.is_incomplete || is_partial || best.total >= MAX_TOTAL;
    let is_late = is_incomplete && sources.is_late()?;
    let total = best.total.min(MAX_TOTAL);
    let has_elsewhere = total == 0 && !is_late;
    Ok(FoundSymbols {
        symbols: best.into_symbols(),
        total,
        elsewhere: match has_elsewhere {
            true => elsewhere.into_symbols(),
            false => Vec::new(),
        },
        is_incomplete,
        is_late,
    })
}

/// The best definitions so far.
struct Best {
    /// In the order of files while they are added.
    found: Vec<(Rank, FoundSymbol)>,
    total: usize,
    /// As many are needed.
    count: usize,
}

impl Best {
    fn of(count: usize) -> Best {
        Best {
            found: Vec::new(),
            total: 0,
            count,
        }
    }

    /// Adds the definitions of a file that have a name, and a kind if one is asked for.
    fn add(&mut self, source: &Source, name: &NameQuery, wanted_kind: Option<SymbolKind>) {
        let path = source.path.display();
        let symbols = &source.parsed.symbols;
        let is_generated =
            symbols.is_generated || archway_repo::is_generated(source.path.as_bytes());
        let is_test_file = role(&path) == "test";
        for definition in &symbols.definitions {
            let Some(matched) = name.matches(definition, &path) else {
                continue;
            };
            let kind = SymbolKind::from(definition.kind);
            if wanted_kind.is_some_and(|wanted| wanted != kind) {
                continue;
            }
            let rank = (
                is_generated,
                matched,
                is_test_file || definition.is_test,
                !definition.is_exported,
                !definition.is_whole,
                kind_rank(definition.kind),
            );
            let symbol = FoundSymbol {
                qualified: definition.qualified(source.parsed.language),
                ..symbol(definition, &path, is_generated)
            };
            self.found.push((rank, symbol));
            self.total += 1;
        }
        if self.found.len() > self.count * 2 + SLACK {
            self.cut();
        }
    }

    /// Sorts them and drops those that are not needed.
    fn cut(&mut self) {
        // Files are in order already, and so are the definitions of each.
        self.found.sort_by_key(|(rank, _)| *rank);
        self.found.truncate(self.count);
    }

    fn into_symbols(mut self) -> Vec<FoundSymbol> {
        self.cut();
        self.found.into_iter().map(|(_, symbol)| symbol).collect()
    }
}

/// Types come first, then functions, then constants, variants of an enumeration and the rest.
fn kind_rank(kind: Kind) -> u8 {
    match kind {
        kind if kind.is_type() || kind == Kind::Type => 0,
        kind if kind.is_callable() => 1,
        _ => 2,
    }
}

fn symbol(definition: &Definition, path: &str, generated: bool) -> FoundSymbol {
    let owned = |text: &Option<Box<str>>| text.as_deref().map(str::to_owned);
    FoundSymbol {
        name: definition.name.to_string(),
        kind: definition.kind.into(),
        container: owned(&definition.container),
        path: path.to_owned(),
        start_line: definition.lines.0,
        end_line: definition.lines.1,
        signature: definition.signature.to_string(),
        doc: owned(&definition.doc),
        generated,
        project: None,
        qualified: String::new(),
    }
}
