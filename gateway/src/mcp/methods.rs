//! Every method but `tools/call`, through the official SDK, stateless and with JSON replies.
//!
//! What a reader would get wrong: rmcp answers `prompts/list` and such with empty lists whether
//! the capability is offered or not, and takes a method whose params don't parse for an unknown
//! one. Both are mended here. Its checks of `Host` and its sessions are off: `server` does the
//! one, and the other has no place in a gateway of several replicas.

use std::{borrow::Cow, sync::Arc};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header, request::Parts};
use http_body_util::Full;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CompleteRequestMethod, CompleteRequestParams, CompleteResult, ConstString,
        CustomRequest, CustomResult, DiscoverResult, ErrorCode, Implementation,
        ListPromptsRequestMethod, ListPromptsResult, ListResourceTemplatesRequestMethod,
        ListResourceTemplatesResult, ListResourcesRequestMethod, ListResourcesResult,
        ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
        ToolAnnotations,
    },
    service::RequestContext,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
    },
};

use super::era::Era;
use crate::{
    auth::Principal,
    catalog::{self, Catalog},
    error::{GatewayError, quoted},
};

const INSTRUCTIONS: &str = "Archway serves your organisation's repositories as tools. \
    Start with list_projects or get_repo_overview; grep_codebase and search_files find text; \
    read_file reads. Every answer names the commit it was read from in _meta.";

/// How long a client may keep a list, in milliseconds: as long as a catalogue may be stale.
const TTL_MS: u64 = 30_000;

/// An application's error code: no worker was ever seen. JSON-RPC's own range is left alone.
const NOT_READY: i32 = 50300;

/// Methods with params of which the SDK knows the type: not understood, they are not unknown.
const TYPED_METHODS: [&str; 3] = ["initialize", "server/discover", "tools/list"];

/// The methods but `tools/call`.
pub(crate) struct Methods {
    service: StreamableHttpService<Handler, NeverSessionManager>,
}

impl Methods {
    pub(crate) fn new(catalog: Arc<Catalog>) -> Self {
        let handler = Handler { catalog };
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .disable_allowed_hosts();
        let service = StreamableHttpService::new(
            move || Ok(handler.clone()),
            Arc::new(NeverSessionManager::default()),
            config,
        );
        Methods { service }
    }

    /// Answers a request whose message was read and judged. `Accept` was judged too: the SDK
    /// wants both forms named.
    pub(crate) async fn answer(
        &self,
        era: Era,
        mut parts: Parts,
        body: Bytes,
    ) -> Result<Response, GatewayError> {
        parts.extensions.insert(era);
        let both = HeaderValue::from_static("application/json, text/event-stream");
        parts.headers.insert(header::ACCEPT, both);
        let request = http::Request::from_parts(parts, Full::new(body));
        let response = self.service.handle(request).await.map(Body::new);
        if response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
            // Its media type was judged before: this is the SDK's word for a message it can't read.
            let error = "the message does not have the form of its method";
            return Err(GatewayError::InvalidRequest(error.to_owned()));
        }
        Ok(response)
    }
}

#[derive(Clone)]
struct Handler {
    catalog: Arc<Catalog>,
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let mut about = Implementation::new("archway", env!("CARGO_PKG_VERSION"));
        about.title = Some("Archway".to_owned());
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(about)
            .with_instructions(INSTRUCTIONS)
    }

    async fn discover(
        &self,
        _context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let result = DiscoverResult::from_server_info(versions, self.get_info());
        Ok(result
            .with_ttl_ms(TTL_MS)
            .with_cache_scope(CacheScope::Private))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let parts = context.extensions.get::<Parts>();
        let era = parts.and_then(|parts| parts.extensions.get::<Era>());
        let who = parts.and_then(|parts| parts.extensions.get::<Principal>());
        let who = who.ok_or_else(|| ErrorData::internal_error("no principal", None))?;
        let catalog = self.catalog.snapshot().ok_or_else(|| {
            let message = "no worker was seen yet: try again in 2 seconds";
            ErrorData::new(ErrorCode(NOT_READY), message, None)
        })?;
        let mut result = ListToolsResult::with_all_items(catalog.visible(who).map(shown).collect());
        if era == Some(&Era::Modern) {
            result.ttl_ms = Some(TTL_MS);
            result.cache_scope = Some(CacheScope::Private);
        }
        Ok(result)
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if TYPED_METHODS.contains(&request.method.as_str()) {
            return Err(ErrorData::invalid_params(
                "the params do not fit the method",
                None,
            ));
        }
        let message = format!("there is no method {}", quoted(&request.method));
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None))
    }

    // Not offered, so not found.

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(not_offered::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(not_offered::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(not_offered::<ListResourceTemplatesRequestMethod>())
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(not_offered::<CompleteRequestMethod>())
    }
}

fn not_offered<M: ConstString>() -> ErrorData {
    ErrorData::method_not_found::<M>()
}

/// A tool as the SDK writes it. The same members as `ToolEntry::shown`.
fn shown(tool: &Arc<catalog::Tool>) -> Tool {
    let entry = &tool.entry;
    let mut annotations = ToolAnnotations::default();
    annotations.title = Some(entry.title.clone());
    annotations.read_only_hint = Some(entry.read_only);
    annotations.destructive_hint = Some(false);
    annotations.idempotent_hint = Some(entry.idempotent);
    annotations.open_world_hint = Some(false);
    let mut shown = Tool::default();
    shown.name = Cow::Owned(entry.name.clone());
    shown.title = Some(entry.title.clone());
    shown.description = Some(Cow::Owned(entry.description.clone()));
    shown.input_schema = tool.input_schema.clone();
    shown.output_schema = (!tool.output_schema.is_empty()).then(|| tool.output_schema.clone());
    shown.annotations = Some(annotations);
    shown
}

#[cfg(test)]
mod tests {
    use archway_proto::catalog::Scope;

    use super::*;
    use crate::catalog::Snapshot;

    #[test]
    fn a_tool_is_shown_as_the_contract_says() {
        let catalog = Snapshot::for_tests();
        let who = Principal::for_tests(&[Scope::ToolsRead], None);
        for (name, has_output) in [("hello", true), ("plain", false)] {
            let tool = catalog.find(&who, name).unwrap();
            let shown = serde_json::to_value(shown(&tool)).unwrap();
            assert_eq!(shown, tool.entry.shown());
            assert_eq!(shown.get("outputSchema").is_some(), has_output, "{name}");
        }
    }
}
