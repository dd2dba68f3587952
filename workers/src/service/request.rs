//! The request to a worker: a tool call, or another method of MCP.

use std::sync::Arc;

use archway_proto::{failure::Failure, method::Method};
use serde::Deserialize;
use serde_json::Value;
use tonic::Status;

use crate::methods;
use crate::{
    context::{ToolContext, WorkflowRecorder},
    tools::Registry,
};

/// A request to the worker.
pub(super) enum MethodRequest {
    Tool(ToolCall),
    Other(Method, Value),
}

impl MethodRequest {
    pub(super) fn parse(method: Method, params: &[u8]) -> Result<Self, Status> {
        let request = match method {
            Method::ToolsCall => serde_json::from_slice(params).map(MethodRequest::Tool),
            _ => serde_json::from_slice(params).map(|params| MethodRequest::Other(method, params)),
        };
        request.map_err(|error| {
            Status::invalid_argument(format!("params of {}: {error}", method.name()))
        })
    }

    /// The idempotency key of its writes, if the caller gave one.
    pub(super) fn idempotency_key(&self) -> Option<&str> {
        match self {
            MethodRequest::Tool(call) => call.meta.idempotency_key.as_deref(),
            MethodRequest::Other(..) => None,
        }
    }

    /// Returns the recorder that adds this call's result to its session's workflow, and the tool's
    /// name.
    pub(super) async fn workflow_recorder(
        &self,
        cx: &ToolContext,
    ) -> Option<(WorkflowRecorder, String)> {
        match self {
            MethodRequest::Tool(call) => Some((
                cx.workflow_recorder(&call.arguments).await?,
                call.name.clone(),
            )),
            MethodRequest::Other(..) => None,
        }
    }

    /// Its label in metrics.
    pub(super) fn label(&self, registry: &Registry) -> &'static str {
        match self {
            MethodRequest::Tool(call) => registry.label(&call.name),
            MethodRequest::Other(method, _) => method.name(),
        }
    }

    pub(super) async fn answer(
        self,
        cx: ToolContext,
        registry: Arc<Registry>,
    ) -> Result<Value, Failure> {
        match self {
            MethodRequest::Tool(call) => registry.call(cx, &call.name, call.arguments).await,
            MethodRequest::Other(method, params) => {
                methods::answer(cx, &registry, method, params).await
            }
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
    idempotency_key: Option<String>,
}
