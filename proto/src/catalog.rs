//! A tool as a worker describes it to the gateway.
//!
//! What a client is shown is [`ToolEntry::shown`]; family, scope and the rest steer the gateway,
//! which therefore needs no line of code for a new tool.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// What a credential must carry to do something.
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
    /// Every scope there is.
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

/// One tool of the catalogue.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolEntry {
    /// The name clients call, snake case.
    pub name: String,
    /// A few words for people.
    pub title: String,
    /// For a model choosing between tools.
    pub description: String,
    /// JSON Schema (2020-12) of the arguments: an object, no further properties.
    pub input_schema: Map<String, Value>,
    /// JSON Schema (2020-12) of `structuredContent`; empty for a tool that gives none, which then
    /// shows none.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub output_schema: Map<String, Value>,
    /// `true` unless the tool writes.
    pub read_only: bool,
    /// Whether calling twice is the same as calling once: the gateway may retry.
    pub idempotent: bool,
    /// Whether a call is done once though it is not idempotent, by its key or by the id that all its
    /// tries have: the gateway may send it to another worker if the first one is lost.
    #[serde(default)]
    pub once: bool,
    /// The group a breaker and a narrowed key think in: `basics`, `files`, `search`, …
    pub family: String,
    /// What the caller must hold.
    pub scope: Scope,
    /// Calls a minute that a session, and a key of one agent, may make of it unless set otherwise;
    /// `None` for a tool that only the totals bound.
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
