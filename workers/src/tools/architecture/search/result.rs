//! What `search_architecture` shows of a document.

use archway_architecture::{
    document::{Document, Kind, uri},
    search::{Match, Query},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::tools::{markdown::cut, schema::is_false};

/// Maximum length of a title in bytes.
const MAX_TITLE_BYTES: usize = 200;
/// Maximum number of listed successors of a decision.
const MAX_SUCCESSORS: usize = 5;

#[derive(Serialize, JsonSchema)]
pub(in crate::tools) struct DocumentResults {
    /// Best first; without a query in the order of their files.
    pub(super) results: Vec<DocumentResult>,
    /// Matching documents, shown or not.
    pub(super) total_matches: usize,
    /// Fewer are shown than requested, to fit the answer's size; or a list has more.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) truncated: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
    /// Where the next page of a list begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(in crate::tools) struct DocumentResult {
    uri: String,
    /// For `read_file`.
    path: String,
    title: String,
    /// adr, patterns or guidelines.
    resource_type: &'static str,
    /// Of a decision: accepted, superseded and so on.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    /// URIs of the decisions that superseded it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    superseded_by: Vec<String>,
    /// From 0 to 1; 1 without a query.
    relevance_score: f64,
    /// Sentences of it around the matches; without a query its first ones.
    excerpt: String,
}

impl DocumentResult {
    /// `project` is its slug, if URIs must name it.
    pub(super) fn of(found: &Match<'_>, query: &Query, project: Option<&str>) -> DocumentResult {
        let document = found.document;
        DocumentResult {
            uri: document.uri(project),
            path: document.path.display(),
            title: cut(&document.title, MAX_TITLE_BYTES).to_owned(),
            resource_type: document.kind.resource_type(),
            relevance_score: rounded(found.score),
            status: document.record.as_ref().map(|it| it.status.name()),
            superseded_by: successors(document, project),
            excerpt: query.excerpt(found),
        }
    }
}

/// The successors of a decision that no longer applies. Planned successors are not listed.
fn successors(document: &Document, project: Option<&str>) -> Vec<String> {
    let record = document.record.as_ref();
    let inactive = record.filter(|record| record.status.is_inactive());
    let slugs = inactive
        .into_iter()
        .flat_map(|record| &record.superseded_by);
    let slugs = slugs.take(MAX_SUCCESSORS);
    slugs.map(|slug| uri(project, Kind::Adr, slug)).collect()
}

/// Rounds to three digits. The others carry no information.
fn rounded(score: f32) -> f64 {
    (f64::from(score) * 1000.0).round() / 1000.0
}
