//! Which revision of MCP a request speaks.
//!
//! Any sign of 2026-07-28 in the body makes the request modern. Then its headers must be present
//! and match, because middleboxes route on them without reading the body. For an older request the
//! same headers are ignored: it may carry anything under these names.

use archway_proto::method::Method as WorkerMethod;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::HeaderMap;
use serde_json::Value;

use super::{envelope::Envelope, logging::META_LEVEL, method::Method};
use crate::error::{GatewayError, REVISIONS, quoted};

pub(super) const MODERN: &str = "2026-07-28";
pub(super) const VERSION_HEADER: &str = "mcp-protocol-version";
pub(super) const METHOD_HEADER: &str = "mcp-method";
const NAME_HEADER: &str = "mcp-name";
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// Name and version of the client's program.
pub(super) const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
/// The keys of `_meta` that 2026-07-28 introduced.
const MODERN_META: [&str; 4] = [META_VERSION, META_CAPABILITIES, META_CLIENT, META_LEVEL];

/// The form of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// 2024-11-05 to 2025-11-25.
    Legacy,
    /// 2026-07-28: requests are independent of each other, and every result states its type.
    Modern,
}

/// The era of a request or notification. Fails if its signs contradict each other.
pub(crate) fn judge(headers: &HeaderMap, message: &Envelope) -> Result<Era, GatewayError> {
    let version = header(headers, VERSION_HEADER)?;
    let signs = has_modern_signs(message);
    if message.method == Some(Method::Initialize) {
        // The body negotiates the version, so an older version in the header is ignored.
        return if signs || version == Some(MODERN) {
            Err(GatewayError::InitializeUnsupported)
        } else {
            Ok(Era::Legacy)
        };
    }
    match version {
        Some(unknown) if !REVISIONS.contains(&unknown) => {
            Err(GatewayError::UnsupportedVersion(unknown.to_owned()))
        }
        None if signs => Err(mismatch("the header MCP-Protocol-Version is missing")),
        Some(version) if signs || version == MODERN => modern(headers, message, version),
        _ => Ok(Era::Legacy),
    }
}

/// Whether a request without a body speaks the revision that has no sessions.
pub(crate) fn without_sessions(headers: &HeaderMap) -> Result<bool, GatewayError> {
    match header(headers, VERSION_HEADER)? {
        Some(unknown) if !REVISIONS.contains(&unknown) => {
            Err(GatewayError::UnsupportedVersion(unknown.to_owned()))
        }
        version => Ok(version == Some(MODERN)),
    }
}

/// The revision that an older client's request declares, if any.
pub(super) fn declared_by_header(headers: &HeaderMap) -> Option<&'static str> {
    let version = header(headers, VERSION_HEADER).ok().flatten()?;
    REVISIONS.into_iter().find(|known| *known == version)
}

fn modern(headers: &HeaderMap, message: &Envelope, version: &str) -> Result<Era, GatewayError> {
    let declared = if message.id.is_some() {
        Some(declared_by_request(message)?)
    } else {
        // A notification may lack the `_meta` of a request, but what it has must match.
        declared(message)
    };
    match declared {
        Some(declared) if declared != version => {
            let problem = "the header MCP-Protocol-Version is not what _meta says";
            return Err(mismatch(problem));
        }
        None if version != MODERN => {
            let problem = "the header MCP-Protocol-Version is older than what _meta holds";
            return Err(mismatch(problem));
        }
        _ => {}
    }
    method_matches(headers, message)?;
    name_matches(headers, message)?;
    // A client that names an older revision in the new form gets an answer in the older form.
    Ok(if version == MODERN {
        Era::Modern
    } else {
        Era::Legacy
    })
}

fn declared(message: &Envelope) -> Option<&str> {
    message.meta()?.get(META_VERSION)?.as_str()
}

/// The version that a request declares. Together with its capabilities it is mandatory.
fn declared_by_request(message: &Envelope) -> Result<&str, GatewayError> {
    let capabilities = message.meta().and_then(|meta| meta.get(META_CAPABILITIES));
    match (declared(message), capabilities) {
        (Some(declared), Some(Value::Object(_))) => Ok(declared),
        _ => Err(GatewayError::InvalidRequestParams(format!(
            "_meta needs {META_VERSION}, a string, and {META_CAPABILITIES}, an object"
        ))),
    }
}

fn has_modern_signs(message: &Envelope) -> bool {
    let in_meta = |meta: &serde_json::Map<String, Value>| {
        MODERN_META.iter().any(|key| meta.contains_key(*key))
    };
    message.method == Some(Method::Discover) || message.meta().is_some_and(in_meta)
}

fn method_matches(headers: &HeaderMap, message: &Envelope) -> Result<(), GatewayError> {
    match header(headers, METHOD_HEADER)? {
        None => Err(mismatch("the header Mcp-Method is missing")),
        Some(method) if method == message.method_name => Ok(()),
        Some(_) => Err(mismatch(&format!(
            "the header Mcp-Method is not {}",
            quoted(&message.method_name)
        ))),
    }
}

/// `Mcp-Name` repeats the tool, prompt or resource of the request. A body without one is refused
/// later.
fn name_matches(headers: &HeaderMap, message: &Envelope) -> Result<(), GatewayError> {
    let key = match message.method {
        Some(Method::Worker(WorkerMethod::ToolsCall | WorkerMethod::PromptsGet)) => "name",
        Some(Method::Worker(WorkerMethod::ResourcesRead)) => "uri",
        _ => return Ok(()),
    };
    let Some(name) = message.params.get(key).and_then(Value::as_str) else {
        return Ok(());
    };
    match header(headers, NAME_HEADER)?.map(decoded) {
        None => Err(mismatch("the header Mcp-Name is missing")),
        Some(Some(given)) if given == name => Ok(()),
        Some(_) => Err(mismatch(&format!(
            "the header Mcp-Name is not {}",
            quoted(name)
        ))),
    }
}

/// A name that is not a valid header value is sent as `=?base64?…?=`.
fn decoded(value: &str) -> Option<String> {
    match value
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="))
    {
        None => Some(value.to_owned()),
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
    }
}

/// The only value of a header; a second one could mislead a middlebox.
fn header<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, GatewayError> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value
            .to_str()
            .map(Some)
            .map_err(|_not_text| mismatch(&format!("the header {name} is not text"))),
        (Some(_), Some(_)) => Err(mismatch(&format!("the header {name} is there twice"))),
    }
}

fn mismatch(problem: &str) -> GatewayError {
    GatewayError::HeaderMismatch(problem.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::mcp::envelope;

    fn judged(headers: &[(&'static str, &str)], method: &str, params: Value) -> String {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let message = envelope::parse(body.to_string().as_bytes()).unwrap();
        match judge(&map, &message) {
            Ok(era) => format!("{era:?}"),
            Err(error) => {
                let response = error.respond::<()>(None);
                let text = error.to_string();
                format!(
                    "{} {}",
                    response.status().as_u16(),
                    text.split(':').next().unwrap()
                )
            }
        }
    }

    fn meta(version: &str) -> Value {
        json!({ META_VERSION: version, META_CAPABILITIES: {} })
    }

    const V: (&str, &str) = (VERSION_HEADER, MODERN);

    #[test]
    fn other_headers_never_make_an_older_request_modern() {
        let hello = json!({ "name": "hello" });
        assert_eq!(judged(&[], "tools/call", hello.clone()), "Legacy");
        for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
            let lying = [
                (VERSION_HEADER, version),
                (METHOD_HEADER, "x"),
                (NAME_HEADER, "y"),
            ];
            assert_eq!(judged(&lying, "tools/call", hello.clone()), "Legacy");
        }
        assert_eq!(
            judged(&[], "initialize", json!({ "protocolVersion": MODERN })),
            "Legacy"
        );
        let task = json!({ "_meta": { "io.modelcontextprotocol/related-task": {} } });
        assert_eq!(judged(&[], "tools/list", task), "Legacy");
    }

    #[test]
    fn a_modern_request_needs_all_its_headers_matching() {
        let call = json!({ "name": "hello", "_meta": meta(MODERN) });
        let all = [V, (METHOD_HEADER, "tools/call"), (NAME_HEADER, "hello")];
        let judged = |headers: &[_]| judged(headers, "tools/call", call.clone());
        assert_eq!(judged(&all), "Modern");
        assert_eq!(
            judged(&[all[0], all[1], (NAME_HEADER, "=?base64?aGVsbG8=?=")]),
            "Modern"
        );
        for headers in [
            &[][..],
            &all[1..],
            &[all[0], all[2]],
            &all[..2],
            &[all[0], (METHOD_HEADER, "tools/list"), all[2]],
            &[all[0], all[1], (NAME_HEADER, "other")],
            &[all[0], all[1], (NAME_HEADER, "=?base64?%%?=")],
            &[all[0], all[0], all[1], all[2]],
            &[all[0], all[1], all[2], all[2]],
            &[(VERSION_HEADER, "2025-11-25"), all[1], all[2]],
        ] {
            assert_eq!(judged(headers), "400 header mismatch", "{headers:?}");
        }
    }

    #[test]
    fn contradictory_signs_of_a_revision_are_refused() {
        let with = |meta: Value| json!({ "_meta": meta });
        let list = [V, (METHOD_HEADER, "tools/list")];
        let half = with(json!({ META_VERSION: MODERN, META_CAPABILITIES: 1 }));
        for (params, expected) in [
            (json!({}), "400 invalid params"),
            (with(json!({ META_VERSION: MODERN })), "400 invalid params"),
            (with(json!({ META_CAPABILITIES: {} })), "400 invalid params"),
            (half, "400 invalid params"),
            (with(meta("2025-11-25")), "400 header mismatch"),
            (with(meta(MODERN)), "Modern"),
        ] {
            assert_eq!(
                judged(&list, "tools/list", params.clone()),
                expected,
                "{params}"
            );
        }
        let old = [(VERSION_HEADER, "2025-11-25"), list[1]];
        assert_eq!(
            judged(&old, "tools/list", with(meta("2025-11-25"))),
            "Legacy"
        );
        assert_eq!(
            judged(&old[..1], "tools/list", with(meta("2025-11-25"))),
            "400 header mismatch"
        );
    }

    #[test]
    fn discover_is_modern_and_initialize_is_not() {
        let modern = json!({ "_meta": meta(MODERN) });
        let discover = [V, (METHOD_HEADER, "server/discover")];
        assert_eq!(
            judged(&[], "server/discover", json!({})),
            "400 header mismatch"
        );
        assert_eq!(
            judged(&discover, "server/discover", json!({})),
            "400 invalid params"
        );
        assert_eq!(
            judged(&discover, "server/discover", modern.clone()),
            "Modern"
        );
        assert_eq!(
            judged(&[V], "initialize", json!({})),
            "404 method not found"
        );
        assert_eq!(judged(&[], "initialize", modern), "404 method not found");
    }

    #[test]
    fn an_unknown_version_is_unsupported() {
        for (version, params) in [
            ("2099-01-01", json!({ "_meta": meta("2099-01-01") })),
            ("1", json!({})),
        ] {
            let refused = judged(&[(VERSION_HEADER, version)], "tools/list", params);
            assert_eq!(
                refused,
                format!("400 unsupported protocol version {version:?}")
            );
        }
    }
}
