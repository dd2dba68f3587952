//! The file of `archway apply`: its shape, its JSON Schema, and its parser.
//!
//! Editors show the field docs. Unknown words are refused with line and column: ignoring one could
//! drop a limit silently.

mod count;

use std::collections::BTreeMap;
use std::io::{self, Read};

use archway_gateway::terms::{MONTH, MOST, MOST_A_MONTH};
use archway_proto::catalog::Scope;
use archway_sync::hosts::ConnectionSettings;
use schemars::{JsonSchema, SchemaGenerator, json_schema, schema_for};
use serde::{Deserialize, Serialize};

use crate::admin::print::Answer;
use crate::admin::source_text::SourceText;
use crate::tenants::KeyRequest;

/// The largest file, in bytes: about 200,000 tenants with a project and a key each.
pub(super) const LARGEST_FILE: usize = 64 << 20;

/// The desired tenants, with their limits, projects and keys.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Archway tenants")]
pub(super) struct Document {
    /// In any order.
    pub(super) tenants: Vec<TenantEntry>,
}

impl Document {
    /// Whether one of its keys has this `from_env`.
    pub(super) fn names_key(&self, name: &str) -> bool {
        let tenants = self.tenants.iter();
        let mut keys = tenants.flat_map(|tenant| tenant.keys.iter().flatten());
        keys.any(|key| key.from_env == name)
    }
}

/// A tenant.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TenantEntry {
    /// Its name in addresses, folders and settings.
    #[schemars(regex(pattern = r"^[a-z0-9][a-z0-9-]{0,62}$"))]
    pub(super) slug: String,
    /// Its name for people; the slug if omitted.
    pub(super) name: Option<String>,
    /// Whether all its credentials are refused; unchanged if omitted.
    pub(super) disabled: Option<bool>,
    /// The worker pool that serves it; unchanged if omitted, `shared` for a new tenant.
    #[schemars(regex(pattern = r"^[a-z0-9][a-z0-9-]{0,62}$"))]
    pub(super) pool: Option<String>,
    /// Limits of it and its keys that differ from the defaults. If omitted, they stay unchanged,
    /// even with --prune.
    pub(super) limits: Option<TenantLimits>,
    /// Its projects. If omitted, they stay unchanged, even with --prune.
    pub(super) projects: Option<Vec<ProjectEntry>>,
    /// Organisations whose repositories become projects by themselves. If omitted, they stay unchanged, even with
    /// --prune.
    pub(super) connections: Option<Vec<ConnectionSettings>>,
    /// Who may use which projects. Without rules everyone may use all. If omitted, the rules stay unchanged; rules that
    /// a list leaves out are removed, without --prune, too.
    pub(super) access: Option<Vec<AccessEntry>>,
    /// Its keys. If omitted, they stay unchanged, even with --prune.
    pub(super) keys: Option<Vec<KeyEntry>>,
}

/// A project: the folder `<repos>/<tenant>/<slug>` that the workers read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ProjectEntry {
    /// Its name in arguments, and of its folder.
    #[schemars(regex(pattern = r"^[a-z0-9][a-z0-9-]{0,62}$"))]
    pub(super) slug: String,
    /// Its name for people; the slug if omitted.
    pub(super) name: Option<String>,
    /// Globs that `read_repo_file` may read; the built-in list if omitted.
    pub(super) allow: Option<Vec<String>>,
    /// Globs that allow names which are blocked by default; none if omitted.
    pub(super) open: Option<Vec<String>>,
    /// Globs that block further names, and win over `open`; none if omitted.
    pub(super) close: Option<Vec<String>>,
    /// Its repository, which `archway sync` mirrors. If omitted, somebody puts it into the folder.
    pub(super) git: Option<SourceText>,
}

/// An access rule. Rules add up, and one that denies wins.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AccessEntry {
    /// Whom it is about: `everyone`, `group:NAME`, `subject:ISSUER#SUBJECT`, `key:LABEL`.
    #[schemars(length(min = 1, max = 100))]
    pub(super) who: Vec<String>,
    /// The projects that it is about: slugs, globs of slugs, `topic:NAME`.
    #[schemars(length(min = 1, max = 200))]
    pub(super) projects: Vec<String>,
    /// The tool families that it is about; all if omitted.
    #[schemars(length(min = 1, max = 20))]
    pub(super) families: Option<Vec<String>>,
    /// Whether it denies instead of giving.
    #[serde(default)]
    pub(super) deny: bool,
}

/// An API key. Its secret is in the environment, never here.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct KeyEntry {
    /// Distinguishes it from the tenant's other keys.
    #[schemars(length(min = 1, max = 200))]
    pub(super) label: String,
    /// The environment variable that holds the key, made by `archway key generate`.
    #[schemars(length(min = 1))]
    pub(super) from_env: String,
    /// What it may do; reading and writing memory if omitted. `admin` grants nothing on the MCP
    /// endpoint.
    #[serde(default)]
    #[schemars(schema_with = "scopes_schema")]
    pub(super) scopes: Option<Vec<Scope>>,
    /// The projects it may read; all of the tenant's if omitted.
    pub(super) projects: Option<Vec<String>>,
    /// The tool families it may call; all if omitted.
    pub(super) families: Option<Vec<String>>,
    /// The project of calls that name none.
    pub(super) default_project: Option<String>,
    /// How many agents share it; 1 if omitted.
    #[schemars(range(min = 1, max = 10_000))]
    pub(super) agents: Option<u32>,
    /// Limits that differ from those of its tenant's keys; they also apply to its successors. If
    /// omitted, they stay unchanged, even with --prune.
    pub(super) limits: Option<KeyLimits>,
    /// When it ends: a day (its first moment in UTC) or a moment (RFC 3339); never if omitted.
    pub(super) expires: Option<String>,
}

/// Limits of a tenant: for each level a number per minute, by name. A name is a tool, `prompts/get`
/// or `total`; 0 is no limit at that level.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct TenantLimits {
    /// For each session; there is no total.
    pub(super) session: PerMinute,
    /// For each key, however many agents share it.
    pub(super) key: PerMinute,
    /// For all keys together. `month` is units a calendar month, in UTC.
    pub(super) tenant: PerMinute,
}

/// Limits of a key: for each level a number per minute, by name. A name is a tool, `prompts/get` or
/// `total`; 0 is no limit at that level.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct KeyLimits {
    /// For each session; there is no total.
    pub(super) session: PerMinute,
    /// For the key, however many agents share it.
    pub(super) key: PerMinute,
}

/// Numbers per minute, by name.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct PerMinute(
    #[schemars(schema_with = "per_minute_schema")]
    #[serde(deserialize_with = "count::by_name")]
    pub(super) BTreeMap<String, u32>,
);

impl Document {
    /// Reads a file as it is parsed, so its text is never in memory as a whole.
    pub(super) fn parse(source: impl Read) -> Result<Document, DocumentError> {
        let options = serde_saphyr::options! {
            // A snippet of the text may contain a secret that was put there by mistake.
            with_snippet: false,
            // The caller bounds the bytes. A value and its separator take at least two of them, and
            // the parser reports at most two events for each.
            budget: serde_saphyr::budget! {
                max_reader_input_bytes: None,
                max_nodes: LARGEST_FILE / 2,
                max_events: LARGEST_FILE,
            },
        };
        serde_saphyr::from_reader_with_options(source, options).map_err(DocumentError::of)
    }
}

/// Why a file gave no document.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// The file could not be read to its end.
    #[error("the file can't be read")]
    Unreadable(#[source] io::Error),
    /// What is wrong with its content, and where.
    #[error("{0}")]
    Invalid(String),
}

impl DocumentError {
    fn of(error: serde_saphyr::Error) -> DocumentError {
        match error {
            serde_saphyr::Error::IOError { cause } => DocumentError::Unreadable(cause),
            // Messages for the author of the file, not for users of the library.
            other => DocumentError::Invalid(
                other.render_with_formatter(&serde_saphyr::UserMessageFormatter),
            ),
        }
    }
}

/// The schema of [`Document`], as an answer.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct Schema(schemars::Schema);

impl Schema {
    pub(super) fn new() -> Self {
        Schema(schema_for!(Document))
    }

    pub(super) fn value(self) -> serde_json::Value {
        self.0.to_value()
    }
}

impl Answer for Schema {
    fn text(&self) -> String {
        format!("{:#}", self.0.as_value())
    }
}

fn scopes_schema(_: &mut SchemaGenerator) -> schemars::Schema {
    json_schema!({
        "type": "array",
        "minItems": 1,
        "items": { "enum": Scope::ALL.map(Scope::name) },
        "default": KeyRequest::default().scopes,
    })
}

fn per_minute_schema(_: &mut SchemaGenerator) -> schemars::Schema {
    json_schema!({
        "type": "object",
        "properties": { MONTH: { "type": "integer", "minimum": 0, "maximum": MOST_A_MONTH } },
        "additionalProperties": { "type": "integer", "minimum": 0, "maximum": MOST },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omitted_fields_have_their_defaults() {
        let text = "tenants:\n  - slug: acme\n    keys:\n      - {label: ci, from_env: CI}\n";
        let document = Document::parse(text.as_bytes()).unwrap();
        let tenant = &document.tenants[0];
        assert!(tenant.projects.is_none() && tenant.disabled.is_none());
        let key = &tenant.keys.as_ref().unwrap()[0];
        assert!(key.agents.is_none() && key.scopes.is_none());
    }

    #[test]
    fn an_unknown_word_is_refused_with_its_position_not_its_value() {
        let text = "tenants:\n  - slug: acme\n    bounds: awy_secret\n";
        let refusal = Document::parse(text.as_bytes()).unwrap_err().to_string();
        assert!(
            refusal.contains("bounds") && refusal.contains("line 3"),
            "{refusal}"
        );
        assert!(
            refusal.contains("column 5") && !refusal.contains("awy_"),
            "{refusal}"
        );
    }

    #[test]
    fn malformed_limits_are_refused_without_repeating_them() {
        for limits in [
            "awy_secret",
            "{key: awy_secret}",
            "{key: {hello: awy_secret}}",
            "{key: [awy_secret]}",
            "{key: {hello: [awy_secret]}}",
            "{key: {hello: {awy_secret: 1}}}",
            "{key: {hello: -1}}",
        ] {
            let text = format!("tenants:\n  - slug: acme\n    limits: {limits}\n");
            let refusal = Document::parse(text.as_bytes()).unwrap_err().to_string();
            assert!(refusal.contains("line 3"), "{refusal}");
            assert!(!refusal.contains("awy_"), "{refusal}");
        }
    }

    #[test]
    fn an_invalid_number_is_refused_with_its_range_and_position() {
        for number in [
            "-1",
            "lots",
            "1.5",
            "'5'",
            "true",
            "null",
            "1000001",
            "99999999999",
            "1e3",
        ] {
            let text =
                format!("tenants:\n  - slug: acme\n    limits: {{key: {{hello: {number}}}}}\n");
            let refusal = Document::parse(text.as_bytes()).unwrap_err().to_string();
            let words = "a whole number from 0 (no limit) to 1000000";
            assert!(refusal.contains(words), "{number}: {refusal}");
            assert!(refusal.contains("line 3"), "{number}: {refusal}");
            assert!(refusal.contains("column"), "{number}: {refusal}");
        }
    }

    #[test]
    fn a_duplicate_word_is_refused() {
        assert!(Document::parse("tenants: []\ntenants: []\n".as_bytes()).is_err());
        let limits = "{key: {hello: 1, hello: 2}}";
        let text = format!("tenants: [{{slug: acme, limits: {limits}}}]");
        assert!(Document::parse(text.as_bytes()).is_err());
        assert!(Document::parse("tenants: []\n---\ntenants: []\n".as_bytes()).is_err());
    }

    #[test]
    fn the_schema_has_every_word_and_no_others() {
        let schema = Schema::new().0.to_value();
        assert_eq!(schema["additionalProperties"], false);
        let key = &schema["$defs"]["KeyEntry"];
        assert_eq!(key["required"], serde_json::json!(["label", "from_env"]));
        assert_eq!(
            key["properties"]["scopes"]["items"]["enum"][0],
            "tools:read"
        );
    }
}
