//! A client that calls tools, and sees of a reply what a model sees.

use std::{collections::BTreeMap, time::Duration};

use archway_benches::{Client, Dev};
use serde_json::{Value, json};
use tokio::time::Instant;

/// How long the first index of a repository may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// A client of one server.
pub(crate) struct Agent {
    url: String,
    key: String,
    /// The arguments of each tool, as `tools/list` advertises them.
    tools: BTreeMap<String, Vec<String>>,
    /// The bytes of the answer to `tools/list`.
    pub(crate) advertised_bytes: usize,
}

/// A reply.
pub(crate) struct Reply {
    /// The text of its content, or the message of an error.
    pub(crate) text: String,
    /// The cursor of the next page.
    pub(crate) cursor: Option<String>,
}

impl Agent {
    /// Reads the tools of a server.
    pub(crate) async fn connect(dev: &Dev) -> Agent {
        let mut agent = Agent {
            url: dev.url.clone(),
            key: dev.key.clone(),
            tools: BTreeMap::new(),
            advertised_bytes: 0,
        };
        let answer = agent.post("tools/list", json!({})).await;
        agent.advertised_bytes = answer.len();
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        for tool in answer["result"]["tools"].as_array().expect("tools") {
            let arguments = tool["inputSchema"]["properties"].as_object();
            let arguments = arguments.into_iter().flat_map(|it| it.keys().cloned());
            let name = tool["name"].as_str().expect("a name").to_owned();
            agent.tools.insert(name, arguments.collect());
        }
        agent
    }

    /// The arguments of a tool; `None` where the server has no such tool.
    pub(crate) fn arguments_of(&self, tool: &str) -> Option<&[String]> {
        self.tools.get(tool).map(Vec::as_slice)
    }

    /// Calls a tool.
    pub(crate) async fn call(&self, tool: &str, arguments: &Value) -> Reply {
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = self.post("tools/call", params).await;
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        let result = &answer["result"];
        let content = result["content"].as_array();
        let texts = content.into_iter().flatten();
        let texts = texts.filter_map(|block| block["text"].as_str());
        let text = texts.collect::<Vec<_>>().join("\n");
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        let cursor = ["cursor", "nextCursor", "next_cursor"];
        let cursor = cursor.map(|name| result["structuredContent"][name].as_str());
        Reply {
            text: if text.is_empty() {
                message.to_owned()
            } else {
                text
            },
            cursor: cursor.into_iter().flatten().next().map(str::to_owned),
        }
    }

    /// Waits until `context_search` searches this commit, by words and by vectors.
    pub(crate) async fn wait_for_index(&self, commit: &str) {
        let begun = Instant::now();
        let params = json!({ "name": "context_search", "arguments": { "query": "the index" } });
        loop {
            let answer = self.post("tools/call", params.clone()).await;
            let answer: Value = serde_json::from_str(&answer).expect("JSON");
            let index = &answer["result"]["structuredContent"]["index"];
            if index["commit"] == commit && index["mode"] == "hybrid" {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "not indexed: {index}");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    async fn post(&self, method: &str, params: Value) -> String {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut client = Client::connect(&self.url, &self.key, &body.to_string()).await;
        let answer = client.exchange().await.expect("an answer");
        client.body(answer).into_owned()
    }
}
