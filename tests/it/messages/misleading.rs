//! Text of a request that a refusal repeats never hides anything from its reader.

use archway_proto::misleading::misleads;
use e2e::http::Request;
use serde_json::json;

use super::gateway;

/// Reverses text, shows nothing, carries hidden bytes, clears a terminal.
const NAME: &str = "p\u{202e}q\u{200b}r\u{e0041}s\u{1b}[2J";

#[tokio::test]
async fn whatever_a_refusal_repeats_is_shown() {
    let (_stack, client) = gateway().await;
    let call = |tool: &str, arguments| {
        (
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )
    };
    for (method, params) in [
        (NAME, json!({})),
        call(NAME, json!({})),
        call("read_file", json!({ NAME: 1 })),
        call("read_file", json!({ "path": NAME })),
        call("read_file", json!({ "path": "a.txt", "project": NAME })),
        call("read_file", json!({ "path": "a.txt", "encoding": NAME })),
        call("read_file", json!({ "path": "a.txt", "ref": NAME })),
        call("list_files", json!({ "directory": NAME })),
        call("list_files", json!({ "pattern": format!("[{NAME}") })),
        call("list_files", json!({ "cursor": NAME })),
        call("grep_codebase", json!({ "pattern": format!("({NAME}") })),
        call(
            "search_files",
            json!({ "pattern": "a", "file_pattern": format!("[{NAME}") }),
        ),
        call("git_log", json!({ "since": NAME })),
        call("git_log", json!({ "author": NAME })),
        call("git_blame", json!({ "file_path": NAME })),
        call("git_diff", json!({ "ref1": NAME })),
        call(
            "write_memory_entry",
            json!({ "file": NAME, "entry": { NAME: 1 } }),
        ),
        call("context_search", json!({ "query": "a", "type": NAME })),
        call(
            "context_search",
            json!({ "query": "a", "path_glob": format!("[{NAME}") }),
        ),
        call(
            "validate_pattern",
            json!({ "pattern_name": NAME, "code": "a" }),
        ),
        ("resources/read", json!({ "uri": NAME })),
        (
            "resources/read",
            json!({ "uri": format!("architecture://adr/{NAME}") }),
        ),
        ("prompts/get", json!({ "name": NAME })),
        (
            "prompts/get",
            json!({ "name": "review", "arguments": { NAME: "a" } }),
        ),
        ("logging/setLevel", json!({ "level": NAME })),
        (
            "completion/complete",
            json!({
                "ref": { "type": "ref/prompt", "name": NAME },
                "argument": { "name": NAME, "value": NAME },
            }),
        ),
    ] {
        let answer = client.rpc(method, params.clone()).await.text();
        assert!(!misleads(&answer), "{method} {params}: {answer}");
    }
    // Refused before any method is known.
    let bodies = [
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"a","{NAME}":1,"{NAME}":2}}"#),
        format!(r#"{{"jsonrpc":"{NAME}","id":1,"method":"a"}}"#),
        NAME.to_owned(),
    ];
    for body in bodies {
        let posted = super::posting(&client, body.replace('\u{1b}', "\\u001b"));
        let answer = posted.send(client.address()).await.text();
        assert!(!misleads(&answer), "{body}: {answer}");
    }
    let nowhere = Request::new("GET", "/nowhere").send(client.address()).await;
    assert_eq!(nowhere.status, 404);
}
