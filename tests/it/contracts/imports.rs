//! `read_file` with `includeDeps`: the context contract.

use e2e::Repo;
use serde_json::json;

use super::both;
use crate::serve;

/// The context contract's two examples: without dependencies, and with those of level 1.
#[tokio::test]
async fn dependencies_come_on_request_in_either_spelling() {
    let repo = Repo::new()
        .file("src/index.ts", "import { a } from './auth/jwt';")
        .file("src/auth/jwt.ts", "export const a = 1;\n")
        .file("docs/guide.md", "# Guide\n");
    let (_stack, client) = serve(repo.commit()).await;
    let path = "src/index.ts";
    for asked in [
        json!({ "path": path, "includeDeps": true, "maxDepth": 1 }),
        json!({ "path": path, "include_deps": true }),
        json!({ "path": path, "include_deps": true, "encoding": "base64" }),
    ] {
        let reply = client.call("read_file", asked).await;
        let expected = json!([{
            "path": "src/auth/jwt.ts", "type": "import", "level": 1,
            "content": "export const a = 1;\n",
        }]);
        assert_eq!(both(&reply)["dependencies"], expected);
    }
    for none in [
        json!({ "path": path }),
        json!({ "path": path, "includeDeps": false }),
        json!({ "path": path, "include_deps": true, "max_depth": 0 }),
        json!({ "path": "docs/guide.md", "include_deps": true }),
    ] {
        let reply = client.call("read_file", none).await;
        assert_eq!(both(&reply)["dependencies"], json!([]));
    }
    let deeper = json!({ "path": path, "include_deps": true, "max_depth": 2 });
    let refused = client.call("read_file", deeper).await;
    assert_eq!(refused.code(), "invalid_arguments");
}

/// The contract fails such a call. Archway returns the file and reports the error.
#[tokio::test]
async fn a_syntax_error_is_said_with_its_line_beside_the_file() {
    let text = "import './b';\nlet x = ;\n";
    let repo = Repo::new().file("a.ts", text).file("b.ts", "");
    let (_stack, client) = serve(repo.commit()).await;
    let asked = json!({ "path": "a.ts", "include_deps": true });
    let reply = client.call("read_file", asked).await;
    let data = both(&reply);
    assert_eq!(data["file"]["content"], text);
    let error = data["dependencies_error"].as_str().unwrap();
    assert!(error.starts_with("syntax error at line 2"), "{error}");
}
