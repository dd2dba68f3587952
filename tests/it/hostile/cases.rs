//! Honest messages of both eras, from which the cases are made.

use e2e::{Client, http::Request};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A request: its body, and headers in addition to or instead of the usual ones.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) modern: bool,
    pub(super) method: String,
    pub(super) name: Option<String>,
    pub(super) body: Vec<u8>,
    /// A value with a control character removes the usual header and adds none.
    pub(super) headers: Vec<(&'static str, String)>,
}

impl Case {
    pub(super) fn of(modern: bool, message: &Value) -> Case {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Case {
            modern,
            method: text(&message["method"]).unwrap_or_default(),
            name: text(&message["params"]["name"]),
            body: message.to_string().into_bytes(),
            headers: Vec::new(),
        }
    }

    pub(super) fn request(&self, client: &Client) -> Request {
        let mut headers = vec![
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        if self.modern {
            headers.push(("MCP-Protocol-Version", "2026-07-28"));
            headers.push(("Mcp-Method", &self.method));
            headers.extend(self.name.as_deref().map(|name| ("Mcp-Name", name)));
        }
        headers.retain(|(name, _)| self.headers.iter().all(|(own, _)| own != name));
        let own = self
            .headers
            .iter()
            .map(|(name, value)| (*name, value.as_str()));
        let request = Request::new("POST", "/mcp")
            .header("Authorization", &format!("Bearer {}", client.key()))
            .body(&self.body);
        headers
            .into_iter()
            .chain(own)
            .filter(|(_, value)| !value.contains(char::is_control))
            .fold(request, |request, (name, value)| {
                request.header(name, value)
            })
    }
}

/// Every kind of message that an honest client sends.
pub(super) fn message(modern: bool, kind: usize) -> Value {
    let (method, mut params) = match kind {
        0 => (
            "initialize",
            json!({
                "protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": { "name": "e2e", "version": "1" },
            }),
        ),
        1 => ("ping", json!({})),
        2 => ("server/discover", json!({})),
        3 => ("tools/list", json!({ "cursor": null })),
        4 => ("tools/call", json!({ "name": "hello", "arguments": {} })),
        5 => (
            "tools/call",
            json!({
                "name": "grep_codebase", "arguments": { "pattern": "sesame", "max_results": 5 },
            }),
        ),
        6 => (
            "tools/call",
            json!({ "name": "read_file", "arguments": { "path": "a.txt" } }),
        ),
        7 => ("prompts/get", json!({ "name": "x", "arguments": {} })),
        8 => ("logging/setLevel", json!({ "level": "info" })),
        _ => (
            "notifications/cancelled",
            json!({ "requestId": 1, "reason": "x" }),
        ),
    };
    if modern {
        params["_meta"] = modern_meta();
    }
    let mut message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
    if !method.starts_with("notifications/") {
        message["id"] = json!(1);
    }
    message
}

/// What a message of the modern era has in `_meta`.
pub(super) fn modern_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "e2e", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": 1,
    })
}

pub(super) fn honest() -> impl Strategy<Value = Case> {
    let messages = (any::<bool>(), 0..10_usize);
    messages.prop_map(|(modern, kind)| Case::of(modern, &message(modern, kind)))
}
