//! A result as clients get it.

use archway_index::chunk::Kind;
use archway_store::{Note, Source};
use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use super::ranked::Ranked;
use crate::tools::schema::is_false;

/// Where something that was found comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum From {
    Discovery,
    Code,
    Memory,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::tools) struct SearchResult {
    id: String,
    /// What it is: function, class, method, interface, type, section or text of code; pattern, rule,
    /// decision, issue or event of what was noted.
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) content: String,
    pub(super) module: Option<String>,
    /// Who noted it: a hash, the same for the same writer.
    session: Option<String>,
    /// When it was noted.
    date: Option<String>,
    /// From 0 to 1.
    pub(super) score: f64,
    source: From,
    pub(super) path: Option<String>,
    /// From 1.
    pub(super) start_line: Option<u32>,
    pub(super) end_line: Option<u32>,
    pub(super) symbol: Option<String>,
    pub(super) project: String,
    pub(super) ranking: Ranking,
    /// Files and folders that a discovery is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) paths: Vec<String>,
    /// It is about more of them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) paths_truncated: bool,
    /// The file differs in the work tree.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) stale: bool,
    /// The content goes on.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) content_truncated: bool,
    /// The discovery that took its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) superseded_by: Option<String>,
    /// The discovery whose place it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    supersedes: Option<String>,
    /// When the caller last read the file, in seconds since 1970.
    #[serde(skip)]
    pub(super) last_read: Option<i64>,
    #[serde(skip)]
    pub(super) times: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Ranking {
    /// Nearness in meaning, the cosine of both vectors; null where words alone found it.
    pub(super) semantic: Option<f64>,
    /// From 0 to 1: how well the words fit.
    pub(super) lexical: f64,
    pub(super) recency_boost: f64,
    pub(super) module_boost: f64,
    pub(super) frequency_boost: f64,
    #[serde(rename = "final")]
    pub(super) last: f64,
}

/// How the index stood.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct IndexState {
    /// The commit that it is of; null without git.
    pub(super) commit: Option<String>,
    pub(super) indexed_at: Option<String>,
    /// How many commits HEAD has that the index has not; at most 1000 are counted.
    pub(super) behind: Option<u64>,
    /// `hybrid`: by vectors and words; `lexical`: by words alone.
    pub(super) mode: String,
}

impl SearchResult {
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// A result whose content is still to come.
    pub(super) fn of(ranked: Ranked, project: &str) -> SearchResult {
        let (place, score) = (ranked.candidate.place, rounded(ranked.score));
        let is_code = ranked.source == Source::File;
        let note = ranked.note;
        let boosts = ranked.boosts;
        let id_of = |of: fn(&Note) -> Option<Uuid>| Some(of(note.as_ref()?)?.to_string());
        SearchResult {
            id: ranked.id,
            kind: match &note {
                Some(note) => note.kind.clone(),
                None => name(place.kind).to_owned(),
            },
            content: String::new(),
            module: ranked.module,
            session: ranked.session,
            date: note.as_ref().map(|note| note.written_at.to_string()),
            score,
            source: match ranked.source {
                Source::File => From::Code,
                Source::Discovery => From::Discovery,
                Source::Entry => From::Memory,
            },
            path: is_code.then_some(ranked.name),
            start_line: is_code.then_some(place.lines.0),
            end_line: is_code.then_some(place.lines.1),
            symbol: place.symbol,
            project: project.to_owned(),
            ranking: Ranking {
                semantic: ranked.candidate.semantic.map(rounded),
                lexical: rounded(ranked.candidate.lexical),
                recency_boost: rounded(boosts.recency),
                module_boost: rounded(boosts.module),
                frequency_boost: rounded(boosts.frequency),
                last: score,
            },
            paths: note
                .as_ref()
                .map(|note| note.paths.clone())
                .unwrap_or_default(),
            paths_truncated: false,
            stale: false,
            content_truncated: false,
            superseded_by: id_of(|note| note.superseded_by),
            supersedes: id_of(|note| note.supersedes),
            last_read: ranked.last_read,
            times: ranked.times,
        }
    }
}

/// What a piece of code is called.
fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Function => "function",
        Kind::Class => "class",
        Kind::Method => "method",
        Kind::Interface => "interface",
        Kind::Type => "type",
        Kind::Section => "section",
        Kind::Lines => "text",
        Kind::Entry => "event",
    }
}

/// Four digits say all there is to say. As JSON, an `f32` would show more: those of an `f64` near it.
fn rounded(number: f32) -> f64 {
    (f64::from(number) * 10_000.0).round() / 10_000.0
}
