//! The methods that no worker answers, through the official SDK, stateless and with JSON replies.
//!
//! What a reader would get wrong: the SDK does not see the client's request. It answers unknown
//! methods with empty lists, refuses messages that are deeper than its parser allows, and applies
//! rules of its own to headers. So only a closed list of methods reaches it, each as a message with
//! headers rebuilt from what was parsed and checked before. Its `Host` check and its sessions are
//! disabled: `server` checks hosts, and sessions do not work across several replicas.

use std::{borrow::Cow, sync::Arc};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts};
use http_body_util::Full;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CustomRequest, CustomResult, DiscoverResult, ErrorCode, Implementation,
        InitializeRequestParams, InitializeResult, JsonObject, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
    },
    service::RequestContext,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
    },
};
use serde_json::{Map, Value, json};

use super::{
    envelope::{Envelope, RequestId},
    era::{Era, METHOD_HEADER, VERSION_HEADER},
    instructions::instructions,
    method::Method,
};
use crate::{
    caller::Principal,
    catalog::{self, Catalog},
    error::GatewayError,
};

/// How long a client may cache a list, in milliseconds: as long as a catalogue may be stale.
pub(super) const TTL_MS: u64 = 30_000;

/// An application error code: no worker was seen yet. Outside JSON-RPC's own range.
const NOT_READY: i32 = crate::error::NOT_NOW;

/// Maximum depth of the params shown to the SDK, whose own parser stops at 127 levels. Nothing that
/// it reads is half as deep.
const SHOWN_LEVELS: usize = 16;

/// Maximum bytes of a list of tools, the only large answer of these methods.
const LONGEST_LIST: usize = 256 * 1024;

/// The params of a method that the SDK is shown; `None` for a method that it must not see in this
/// era. Everything else that the SDK would answer is "not found".
fn shown_params(method: Option<Method>, era: Era) -> Option<&'static [&'static str]> {
    match (method?, era) {
        (Method::Initialize, Era::Legacy) => {
            Some(&["protocolVersion", "capabilities", "clientInfo"])
        }
        (Method::Ping, Era::Legacy) => Some(&[]),
        (Method::Discover | Method::TOOLS_LIST, _) => Some(&["_meta"]),
        _ => None,
    }
}

/// Maximum size of the answer in bytes.
pub(super) fn max_answer(method: Option<Method>) -> usize {
    let is_list = method == Some(Method::TOOLS_LIST);
    if is_list { LONGEST_LIST } else { 0 }
}

/// The methods that no worker answers.
pub(crate) struct Sdk {
    service: StreamableHttpService<Handler, NeverSessionManager>,
}

impl Sdk {
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
        Sdk { service }
    }

    /// Answers a request whose message and headers were checked.
    pub(crate) async fn answer(
        &self,
        era: Era,
        parts: Parts,
        id: &RequestId,
        message: &Envelope,
    ) -> Result<Response, GatewayError> {
        let method = &message.method_name;
        let shown = shown_params(message.method, era).ok_or_else(|| not_offered(era, method))?;
        let body = json!({
            "jsonrpc": "2.0",
            "id": id,
            "method": method,
            "params": params(shown, message),
        });
        let request = rewritten(era, message.method, parts, Bytes::from(body.to_string()));
        let response = self.service.handle(request).await.map(Body::new);
        if response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
            // The media type was checked before, so this is how the SDK reports a message that it
            // cannot parse.
            let error = "the message does not have the form of its method";
            return Err(GatewayError::InvalidRequest(error.to_owned()));
        }
        Ok(response)
    }
}

/// The error for a method that does not exist in this era.
fn not_offered(era: Era, method: &str) -> GatewayError {
    GatewayError::UnknownMethod {
        method: method.to_owned(),
        modern: era == Era::Modern,
    }
}

/// The params that the method reads.
fn params(shown: &[&str], message: &Envelope) -> Map<String, Value> {
    let given = shown.iter().filter_map(|name| {
        let value = message.params.get(*name)?;
        Some(((*name).to_owned(), shallow(value, SHOWN_LEVELS)))
    });
    given.collect()
}

/// Replaces everything deeper than `levels` with null.
fn shallow(value: &Value, levels: usize) -> Value {
    let inside = |value: &Value| match levels {
        0 => Value::Null,
        _ => shallow(value, levels - 1),
    };
    match value {
        Value::Array(items) => items.iter().map(inside).collect(),
        Value::Object(members) => {
            let members = members.iter();
            Value::Object(
                members
                    .map(|(key, value)| (key.clone(), inside(value)))
                    .collect(),
            )
        }
        plain => plain.clone(),
    }
}

/// The request for the SDK: the caller, and only the headers that it reads.
fn rewritten(
    era: Era,
    method: Option<Method>,
    mut parts: Parts,
    body: Bytes,
) -> http::Request<Full<Bytes>> {
    let mut headers = HeaderMap::new();
    headers.insert(header::HOST, HeaderValue::from_static("localhost"));
    let both = HeaderValue::from_static("application/json, text/event-stream");
    headers.insert(header::ACCEPT, both);
    let json = HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, json);
    let judged: &[&str] = match (era, method) {
        // The body of `initialize` negotiates the version, whatever the header says.
        (_, Some(Method::Initialize)) => &[],
        (Era::Legacy, _) => &[VERSION_HEADER],
        (Era::Modern, _) => &[VERSION_HEADER, METHOD_HEADER],
    };
    for name in judged {
        if let Some(value) = parts.headers.remove(*name) {
            headers.insert(*name, value);
        }
    }
    parts.headers = headers;
    parts.extensions.insert(era);
    http::Request::from_parts(parts, Full::new(body))
}

#[derive(Clone)]
struct Handler {
    catalog: Arc<Catalog>,
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let mut about = Implementation::new("archway", env!("CARGO_PKG_VERSION"));
        about.title = Some("Archway".to_owned());
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .enable_completions()
            .build();
        capabilities.logging = Some(JsonObject::new());
        ServerConfig::new(capabilities).with_server_info(about)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let mut result = self.negotiate_initialize(&request)?;
        result.instructions = Some(self.instructions_for(caller(&context)?));
        Ok(result)
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let instructions = self.instructions_for(caller(&context)?);
        let info = self.get_info().with_instructions(instructions);
        let result = DiscoverResult::from_server_info(versions, info);
        Ok(result
            .with_ttl_ms(TTL_MS)
            .with_cache_scope(CacheScope::Private))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let who = caller(&context)?;
        let catalog = self.catalog.tools().ok_or_else(|| {
            let message = "no worker was seen yet: try again in 2 seconds";
            ErrorData::new(ErrorCode(NOT_READY), message, None)
        })?;
        let mut result = ListToolsResult::with_all_items(catalog.visible(who).map(shown).collect());
        if of_request::<Era>(&context) == Some(&Era::Modern) {
            result.ttl_ms = Some(TTL_MS);
            result.cache_scope = Some(CacheScope::Private);
        }
        Ok(result)
    }

    /// The SDK calls this for a known method whose params it cannot parse.
    async fn on_custom_request(
        &self,
        _request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let message = "invalid params: they do not have the form of the method";
        Err(ErrorData::invalid_params(message, None))
    }
}

impl Handler {
    fn instructions_for(&self, who: &Principal) -> String {
        instructions(self.catalog.tools().as_deref(), who)
    }
}

/// An extension of the HTTP request.
fn of_request<T: Send + Sync + 'static>(context: &RequestContext<RoleServer>) -> Option<&T> {
    context.extensions.get::<Parts>()?.extensions.get::<T>()
}

fn caller(context: &RequestContext<RoleServer>) -> Result<&Principal, ErrorData> {
    of_request(context).ok_or_else(|| ErrorData::internal_error("no principal", None))
}

/// A tool in the SDK's form. The same members as `ToolEntry::shown`.
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
    use crate::catalog::ToolSet;

    #[test]
    fn params_deeper_than_the_sdk_reads_are_cut_off() {
        let deep = (0..200).fold(json!(1), |inner, _| json!({ "a": [inner] }));
        let mut rest = &shallow(&deep, 2);
        for _ in 0..2 {
            rest = rest.get("a").or_else(|| rest.get(0)).unwrap();
        }
        assert_eq!(rest, &json!({ "a": null }));
        let flat = json!({ "a": [1, "b", null], "c": { "d": true } });
        assert_eq!(shallow(&flat, 2), flat);
    }

    #[test]
    fn a_tool_is_shown_as_the_contract_says() {
        let catalog = ToolSet::for_tests();
        let who = Principal::for_tests(&[Scope::ToolsRead], None);
        for (name, has_output) in [("hello", true), ("plain", false)] {
            let tool = catalog.callable(&who, name).unwrap();
            let shown = serde_json::to_value(shown(tool)).unwrap();
            assert_eq!(shown, tool.entry.shown());
            assert_eq!(shown.get("outputSchema").is_some(), has_output, "{name}");
        }
    }
}
