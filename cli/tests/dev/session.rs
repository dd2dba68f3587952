//! A session of an MCP client, as the revision 2025-11-25 has it: it begins once, and all calls are in it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::Dev;

/// A session that began.
pub(crate) struct Session {
    address: String,
    key: String,
    /// The headers that each message after the first has.
    headers: String,
}

impl Session {
    pub(crate) fn begin(dev: &Dev) -> Session {
        let url = dev.text("url").strip_prefix("http://").unwrap();
        let mut session = Session {
            address: url.strip_suffix("/mcp").unwrap().to_owned(),
            key: dev.text("api_key").to_owned(),
            headers: String::new(),
        };
        let begun = session.send(&json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": { "name": "look", "version": "1" },
            },
        }));
        assert!(begun.starts_with("HTTP/1.1 200"), "{begun}");
        let (head, _) = begun.split_once("\r\n\r\n").unwrap();
        let id = head
            .lines()
            .find(|line| line.to_lowercase().starts_with("mcp-session-id:"));
        session.headers = format!("MCP-Protocol-Version: 2025-11-25\r\n{}\r\n", id.unwrap());
        let ready = session.send(&json!({
            "jsonrpc": "2.0", "method": "notifications/initialized",
        }));
        assert!(ready.starts_with("HTTP/1.1 202"), "{ready}");
        session
    }

    /// Whether a search of a project finds a text; `None` while the project is not there.
    pub(crate) fn finds(&self, project: Option<&str>, pattern: &str) -> Option<bool> {
        let mut arguments = json!({ "pattern": pattern });
        if let Some(project) = project {
            arguments["project"] = project.into();
        }
        let answer = self.send(&json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "grep_codebase", "arguments": arguments },
        }));
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let result = &serde_json::from_str::<Value>(body).unwrap()["result"];
        if result["isError"] == true {
            let text = result["content"][0]["text"].as_str().unwrap();
            let is_absent = ["project_not_found", "unavailable"];
            assert!(is_absent.iter().any(|code| text.contains(code)), "{text}");
            return None;
        }
        Some(
            result["structuredContent"]["totalMatches"]
                .as_u64()
                .unwrap()
                > 0,
        )
    }

    fn send(&self, message: &Value) -> String {
        let body = message.to_string();
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let patience = Some(Duration::from_secs(30));
        stream.set_read_timeout(patience).unwrap();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n{}\
             Content-Length: {}\r\n\r\n{body}",
            self.address,
            self.key,
            self.headers,
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}
