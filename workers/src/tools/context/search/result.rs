//! A result in the form that clients receive.

use archway_index::chunk::Kind;
use archway_index::vector_store::ChunkLocation;
use archway_store::{Note, Source};
use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use super::declaration::Declaration;
use super::last_commit::LastCommit;
use super::ranked::Ranked;
use crate::tools::schema::is_false;

// The source of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum ResultSource {
    Discovery,
    Code,
    Memory,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::tools) struct SearchResult {
    id: String,
    /// Of code function, class and so on; of notes rule, decision and so on.
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) content: String,
    pub(super) module: Option<String>,
    /// Its author, as a hash.
    session: Option<String>,
    date: Option<String>,
    /// From 0 to 1.
    pub(super) score: f64,
    source: ResultSource,
    pub(super) path: Option<String>,
    pub(super) start_line: Option<u32>,
    pub(super) end_line: Option<u32>,
    pub(super) symbol: Option<String>,
    pub(super) project: String,
    pub(super) ranking: Ranking,
    /// Files and folders that a discovery is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) paths: Vec<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) paths_truncated: bool,
    /// The file differs in the work tree.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) stale: bool,
    /// The whole, if this is a part of a long declaration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) part_of: Option<Declaration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) last_commit: Option<LastCommit>,
    /// Other matches in the same file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) more: Vec<Passage>,
    /// Its test files that match, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) tested_by: Vec<String>,
    /// The content continues.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) content_truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) superseded_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    supersedes: Option<String>,
    /// When the caller last read the file, in seconds since 1970.
    #[serde(skip)]
    pub(super) last_read: Option<i64>,
    #[serde(skip)]
    pub(super) times: u32,
}

/// A match that is only named.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Passage {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) symbol: Option<String>,
    pub(super) start_line: u32,
    pub(super) end_line: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Ranking {
    /// Cosine of meaning; null if found by words alone.
    pub(super) semantic: Option<f64>,
    /// From 0 to 1: how well the words match.
    pub(super) lexical: f64,
    pub(super) recency_boost: f64,
    pub(super) module_boost: f64,
    pub(super) frequency_boost: f64,
    #[serde(rename = "final")]
    pub(super) last: f64,
}

// The state of the index.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct IndexState {
    /// The indexed commit; null without git.
    pub(super) commit: Option<String>,
    pub(super) indexed_at: Option<String>,
    /// Commits of HEAD that the index lacks, up to 1000.
    pub(super) behind: Option<u64>,
    /// `hybrid`: by vectors and words; `lexical`: by words alone.
    pub(super) mode: String,
    /// Files of a large repository that are not in the index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) left_out: Option<u64>,
}

impl SearchResult {
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// A result without its content.
    pub(super) fn of(ranked: Ranked, project: &str) -> SearchResult {
        let (location, score) = (ranked.candidate.location, rounded(ranked.score));
        let is_code = ranked.source == Source::File;
        let note = ranked.note;
        let boosts = ranked.boosts;
        let id_of = |of: fn(&Note) -> Option<Uuid>| Some(of(note.as_ref()?)?.to_string());
        SearchResult {
            id: ranked.id,
            kind: match &note {
                Some(note) => note.kind.clone(),
                None => name(location.kind).to_owned(),
            },
            content: String::new(),
            module: ranked.module,
            session: ranked.session,
            date: note.as_ref().map(|note| note.written_at.to_string()),
            score,
            source: match ranked.source {
                Source::File => ResultSource::Code,
                Source::Discovery => ResultSource::Discovery,
                Source::Entry => ResultSource::Memory,
            },
            path: is_code.then_some(ranked.name),
            start_line: is_code.then_some(location.lines.0),
            end_line: is_code.then_some(location.lines.1),
            symbol: location.symbol,
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
            more: ranked.more.into_iter().map(Passage::of).collect(),
            tested_by: ranked.tested_by,
            stale: false,
            part_of: None,
            last_commit: None,
            content_truncated: false,
            superseded_by: id_of(|note| note.superseded_by),
            supersedes: id_of(|note| note.supersedes),
            last_read: ranked.last_read,
            times: ranked.times,
        }
    }
}

impl Passage {
    fn of(location: ChunkLocation) -> Passage {
        Passage {
            symbol: location.symbol,
            start_line: location.lines.0,
            end_line: location.lines.1,
        }
    }
}

/// The name of a kind in results.
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

/// Rounds to four digits. As JSON an `f32` would show the digits of the nearest `f64`.
fn rounded(number: f32) -> f64 {
    (f64::from(number) * 10_000.0).round() / 10_000.0
}
