//! What is asked of the worker: a tool, or something of a room beside them.

use std::sync::Arc;

use archway_proto::{failure::Failure, method::Method};
use serde::Deserialize;
use serde_json::Value;
use tonic::Status;

use crate::methods;
use crate::{
    context::{Keeper, ToolContext},
    tools::Registry,
};

/// What is asked of the worker.
pub(super) enum Asked {
    Tool(ToolCall),
    Room(Method, Value),
}

impl Asked {
    pub(super) fn read(method: Method, params: &[u8]) -> Result<Self, Status> {
        let asked = match method {
            Method::ToolsCall => serde_json::from_slice(params).map(Asked::Tool),
            _ => serde_json::from_slice(params).map(|params| Asked::Room(method, params)),
        };
        asked.map_err(|error| {
            Status::invalid_argument(format!("params of {}: {error}", method.name()))
        })
    }

    /// Under which it writes, if its caller gave one.
    pub(super) fn key(&self) -> Option<&str> {
        match self {
            Asked::Tool(call) => call.meta.key.as_deref(),
            Asked::Room(..) => None,
        }
    }

    /// Whoever keeps its result for what its session works on, and as which tool's.
    pub(super) async fn keeper(&self, cx: &ToolContext) -> Option<(Keeper, String)> {
        match self {
            Asked::Tool(call) => Some((cx.keeper(&call.arguments).await?, call.name.clone())),
            Asked::Room(..) => None,
        }
    }

    /// What it is counted as.
    pub(super) fn label(&self, registry: &Registry) -> &'static str {
        match self {
            Asked::Tool(call) => registry.label(&call.name),
            Asked::Room(method, _) => method.name(),
        }
    }

    pub(super) async fn answer(
        self,
        cx: ToolContext,
        registry: Arc<Registry>,
    ) -> Result<Value, Failure> {
        match self {
            Asked::Tool(call) => registry.call(cx, &call.name, call.arguments).await,
            Asked::Room(method, params) => methods::answer(cx, &registry, method, params).await,
        }
    }
}

#[derive(Deserialize)]
pub(super) struct ToolCall {
    name: String,
    #[serde(default)]
    arguments: Value,
    #[serde(default, rename = "_meta")]
    meta: CallMeta,
}

#[derive(Default, Deserialize)]
struct CallMeta {
    /// [`archway_proto::meta::IDEMPOTENCY_KEY`], of at most 128 characters.
    #[serde(default, rename = "io.archway/idempotencyKey")]
    key: Option<String>,
}
