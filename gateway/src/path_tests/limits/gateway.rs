//! A gateway without a worker, called through its stack.

use std::sync::Arc;

use axum::{body::Body, extract::Request};
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::JSON;
use crate::{
    catalog::Catalog, metrics::Metrics, path_tests::stacks::build_workerless_stack_with,
    server::Stack,
};

/// A gateway that knows two tools of a worker that is gone.
pub(super) struct Gateway {
    pub(super) stack: Stack,
    pub(super) key: String,
    pub(super) metrics: Arc<Metrics>,
}

/// An answer: status, headers, message.
pub(super) struct StackAnswer(
    pub(super) StatusCode,
    pub(super) HeaderMap,
    pub(super) Value,
);

impl Gateway {
    pub(super) async fn start() -> Gateway {
        let entry = |name: &str, scope: &str, per_minute: u32| {
            json!({
                "name": name, "title": name, "description": name, "readOnly": true,
                "idempotent": true, "family": "basics", "scope": scope,
                "inputSchema": { "type": "object", "additionalProperties": false },
                "outputSchema": {}, "perMinute": per_minute, "weight": 5,
            })
        };
        let catalog = Catalog::for_tests(&[
            entry("grep", "tools:read", 60),
            entry("read_file", "tools:read", 100),
            entry("write", "memory:write", 1),
        ]);
        let (stack, key, metrics) = build_workerless_stack_with(catalog).await;
        Gateway {
            stack,
            key,
            metrics,
        }
    }

    pub(super) async fn send(
        &self,
        method: &str,
        headers: &[(&str, &str)],
        body: impl ToString,
    ) -> StackAnswer {
        let mut request = Request::builder()
            .method(method)
            .uri("/mcp")
            .header("host", "localhost")
            .header("authorization", format!("Bearer {}", self.key));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body.to_string())).unwrap();
        let answer = self.stack.clone().oneshot(request).await.unwrap();
        let (parts, body) = answer.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let text = std::str::from_utf8(&body).unwrap();
        let message = text.trim().rsplit("data: ").next().unwrap();
        let message = serde_json::from_str(message).unwrap_or(Value::Null);
        StackAnswer(parts.status, parts.headers, message)
    }

    pub(super) async fn post(&self, body: impl ToString) -> StackAnswer {
        self.send("POST", &[("content-type", JSON)], body).await
    }

    /// A call with invalid arguments.
    pub(super) async fn call(&self, tool: &str) -> StackAnswer {
        let params = json!({ "name": tool, "arguments": { "none": 1 } });
        self.post(request("tools/call", &params)).await
    }

    /// Uses up the key's total limit.
    pub(super) async fn exhaust(&self) {
        let ping = request("ping", &json!({}));
        for _ in 0..10_000 {
            if self.post(&ping).await.0 == StatusCode::TOO_MANY_REQUESTS {
                return;
            }
        }
        panic!("nothing was refused");
    }
}

impl StackAnswer {
    pub(super) fn header(&self, name: &str) -> &str {
        self.1.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The code of a failed call.
    pub(super) fn code(&self) -> &str {
        let error = &self.2["result"]["_meta"]["io.archway/error"]["error"];
        error["code"].as_str().unwrap_or_default()
    }

    pub(super) fn details(&self) -> &Value {
        &self.2["result"]["_meta"]["io.archway/error"]["error"]["details"]
    }
}

pub(super) fn request(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params })
}
