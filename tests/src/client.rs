//! An MCP client that hides nothing: it speaks either era and returns answers as they came.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::http::{Request, Response};

/// The two generations of MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// 2025-11-25, without a session handle.
    Legacy,
    /// 2026-07-28: every request states its client and revision.
    Modern,
}

/// A client with one key.
#[derive(Clone, Debug)]
pub struct Client {
    address: SocketAddr,
    key: String,
    era: Era,
}

impl Client {
    /// A client that speaks 2025-11-25.
    pub fn new(address: SocketAddr, key: &str) -> Client {
        Client {
            address,
            key: key.to_owned(),
            era: Era::Legacy,
        }
    }

    /// The same client, speaking 2026-07-28.
    #[must_use]
    pub fn modern(mut self) -> Client {
        self.era = Era::Modern;
        self
    }

    /// The API key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Calls a tool. Panics unless the answer is a tool result.
    pub async fn call(&self, tool: &str, arguments: Value) -> Reply {
        let response = self
            .rpc(
                "tools/call",
                json!({ "name": tool, "arguments": arguments }),
            )
            .await;
        let message = response.json();
        match message.get("result") {
            Some(result) => Reply {
                result: result.clone(),
            },
            None => panic!("{tool} {arguments} → {} {message}", response.status),
        }
    }

    /// Sends one request of a method and returns the response.
    pub async fn rpc(&self, method: &str, params: Value) -> Response {
        self.request(method, params).send(self.address).await
    }

    /// The request of a method, which a test may change before it sends it.
    pub fn request(&self, method: &str, mut params: Value) -> Request {
        let mut request = Request::new("POST", "/mcp")
            .header("Authorization", &format!("Bearer {}", self.key))
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream");
        match self.era {
            Era::Legacy => request = request.header("MCP-Protocol-Version", "2025-11-25"),
            Era::Modern => {
                request = request
                    .header("MCP-Protocol-Version", "2026-07-28")
                    .header("Mcp-Method", method);
                if let Some(name) = params["name"].as_str().or_else(|| params["uri"].as_str()) {
                    request = request.header("Mcp-Name", name);
                }
                for (key, value) in [
                    ("protocolVersion", json!("2026-07-28")),
                    ("clientInfo", json!({ "name": "e2e", "version": "1" })),
                    ("clientCapabilities", json!({})),
                ] {
                    params["_meta"][format!("io.modelcontextprotocol/{key}")] = value;
                }
            }
        }
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        request.body(message.to_string())
    }

    /// Where the gateway listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// A tool's result.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    result: Value,
}

impl Reply {
    /// The structured content. Panics if the tool failed.
    pub fn structured(&self) -> &Value {
        assert!(!self.is_error(), "the tool failed: {}", self.result);
        &self.result["structuredContent"]
    }

    /// The one text block.
    pub fn text(&self) -> &str {
        self.result["content"][0]["text"]
            .as_str()
            .expect("a text block")
    }

    /// Whether the tool failed.
    pub fn is_error(&self) -> bool {
        self.result["isError"] == true
    }

    /// The code of the failure. Panics if the tool succeeded.
    pub fn code(&self) -> &str {
        self.error()["code"]
            .as_str()
            .unwrap_or_else(|| panic!("no failure: {}", self.result))
    }

    /// The failure `{code, message, suggestion, details}`, or null.
    pub fn error(&self) -> &Value {
        &self.result["_meta"]["io.archway/error"]["error"]
    }

    /// The member `io.archway/<name>` of `_meta`, or null.
    pub fn meta(&self, name: &str) -> &Value {
        &self.result["_meta"][format!("io.archway/{name}")]
    }

    /// The whole result.
    pub fn value(&self) -> &Value {
        &self.result
    }
}
