//! An MCP server of the official SDK with the tool `hello`.

use std::sync::Arc;

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult},
    service::RequestContext,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
    },
};
use serde_json::json;

/// The server: stateless, with JSON replies.
pub(super) fn service() -> StreamableHttpService<Hello, NeverSessionManager> {
    let mut config = StreamableHttpServerConfig::default();
    config.legacy_session_mode = false;
    config.json_response = true;
    let sessions = Arc::new(NeverSessionManager::default());
    StreamableHttpService::new(|| Ok(Hello), sessions, config)
}

pub(super) struct Hello;

impl ServerHandler for Hello {
    async fn call_tool(
        &self,
        _request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let message = json!({ "message": "Hello from a bare server!" });
        Ok(CallToolResult::structured(message).into())
    }
}
