//! A tool as a worker describes it to the gateway.
//!
//! Clients see [`ToolEntry::shown`]. Family, scope and the other fields control the gateway, so a new
//! tool needs no change there.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A permission of a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Scope {
    /// Every reading tool, resource and prompt.
    #[serde(rename = "tools:read")]
    ToolsRead,
    /// The tools that write memory.
    #[serde(rename = "memory:write")]
    MemoryWrite,
    /// Administration; grants nothing on the MCP endpoint.
    #[serde(rename = "admin")]
    Admin,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Scope; 3] = [Scope::ToolsRead, Scope::MemoryWrite, Scope::Admin];

    /// The name in credentials and challenges.
    pub fn name(self) -> &'static str {
        match self {
            Scope::ToolsRead => "tools:read",
            Scope::MemoryWrite => "memory:write",
            Scope::Admin => "admin",
        }
    }

    /// The scope of a name, or `None`.
    pub fn parse(name: &str) -> Option<Scope> {
        Scope::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

/// A tool of the catalogue.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolEntry {
    /// Its name for clients, in snake case.
    pub name: String,
    /// A short title for people.
    pub title: String,
    /// For a model that chooses between tools.
    pub description: String,
    /// JSON Schema (2020-12) of the arguments: an object, no further properties.
    pub input_schema: Map<String, Value>,
    /// JSON Schema (2020-12) of `structuredContent`. Empty if the tool returns none; then none is
    /// shown.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub output_schema: Map<String, Value>,
    /// `true` unless the tool writes.
    pub read_only: bool,
    /// Whether the call is idempotent: the gateway may retry it.
    pub idempotent: bool,
    /// Whether a call that is not idempotent is executed at most once, by its key or by the id that all
    /// its attempts share. Then the gateway may send it to another worker if the first one is lost.
    #[serde(default)]
    pub once: bool,
    /// The group that circuits and restricted keys refer to: `basics`, `files`, `search`, …
    pub family: String,
    /// The scope that the caller needs.
    pub scope: Scope,
    /// Calls per minute of a session, and of a key of one agent, unless set otherwise; `None` if only the
    /// totals apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_minute: Option<u32>,
    /// Units of the totals that a call costs, at least 1.
    #[serde(default = "one")]
    pub weight: u32,
}

fn one() -> u32 {
    1
}

impl ToolEntry {
    /// The tool as `tools/list` shows it.
    pub fn shown(&self) -> Value {
        let mut shown = json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input_schema,
            "annotations": {
                "title": self.title,
                "readOnlyHint": self.read_only,
                "destructiveHint": false,
                "idempotentHint": self.idempotent,
                "openWorldHint": false,
            },
        });
        if !self.output_schema.is_empty() {
            shown["outputSchema"] = json!(self.output_schema);
        }
        shown
    }
}

/// A worker's answer to `tools/list`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ToolList {
    /// In the worker's fixed order.
    pub tools: Vec<ToolEntry>,
}
