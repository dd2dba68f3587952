//! `read_file` with `include_deps`: the files that a file imports, through the real path.

use e2e::{Client, Repo};
use serde_json::{Value, json};

use crate::serve;

/// `read_file` with `include_deps`, and these arguments beside the path.
async fn read(client: &Client, path: &str, more: Value) -> Value {
    let mut arguments = json!({ "path": path, "include_deps": true });
    let more = more.as_object().unwrap().clone();
    arguments.as_object_mut().unwrap().extend(more);
    let reply = client.call("read_file", arguments).await;
    reply.structured().clone()
}

/// The paths of its dependencies. Panics if the file has an error.
async fn imports(client: &Client, path: &str) -> Vec<String> {
    let data = read(client, path, json!({})).await;
    assert_eq!(data.get("dependencies_error"), None, "{path}");
    paths(&data)
}

fn paths(data: &Value) -> Vec<String> {
    let dependencies = data["dependencies"].as_array().unwrap();
    let path = |dependency: &Value| dependency["path"].as_str().unwrap().to_owned();
    dependencies.iter().map(path).collect()
}

#[tokio::test]
async fn every_language_leads_to_the_project_s_own_files() {
    let repo = Repo::new().files([
        ("Cargo.toml", "[package]\nname = \"app\"\n"),
        ("src/lib.rs", "mod db;\nuse crate::db::pool::Pool;\n"),
        ("src/db.rs", ""),
        ("src/db/pool.rs", ""),
        (
            "web/main.js",
            "const x = require('./x'); import y from 'y';",
        ),
        ("web/x/index.js", ""),
        (
            "web/main.ts",
            "import { z } from './z.js'; export * from '../lib/q';",
        ),
        ("web/z.ts", ""),
        (
            "lib/q.tsx",
            "import type { Z } from '../web/z'; export const Q = () => <b/>;",
        ),
        (
            "py/app/main.py",
            "from . import views\nfrom app.db import Store\nimport json\n",
        ),
        ("py/app/__init__.py", ""),
        ("py/app/views.py", ""),
        ("py/app/db.py", ""),
        ("go.mod", "module acme.dev/app\n"),
        (
            "cmd/main.go",
            "package main\nimport (\n\"fmt\"\n\"acme.dev/app/net\"\n)\n",
        ),
        ("net/dial.go", "package net\n"),
        ("net/dial_test.go", "package net\n"),
        (
            "src/main/java/com/acme/A.java",
            "package com.acme;\nimport com.acme.b.*;\nclass A {}\n",
        ),
        ("src/main/java/com/acme/b/B.java", ""),
        (
            "c/main.c",
            "#include \"util.h\"\n#include <stdio.h>\nint main(void) { return 0; }\n",
        ),
        ("include/util.h", ""),
        (
            "c/main.cpp",
            "#include \"../include/util.h\"\nclass A {};\n",
        ),
    ]);
    let (_stack, client) = serve(repo.commit()).await;
    for (path, expected) in [
        ("src/lib.rs", vec!["src/db.rs", "src/db/pool.rs"]),
        ("web/main.js", vec!["web/x/index.js"]),
        ("web/main.ts", vec!["web/z.ts", "lib/q.tsx"]),
        ("lib/q.tsx", vec!["web/z.ts"]),
        ("py/app/main.py", vec!["py/app/views.py", "py/app/db.py"]),
        ("cmd/main.go", vec!["net/dial.go"]),
        (
            "src/main/java/com/acme/A.java",
            vec!["src/main/java/com/acme/b/B.java"],
        ),
        ("c/main.c", vec!["include/util.h"]),
        ("c/main.cpp", vec!["include/util.h"]),
        ("go.mod", vec![]),
    ] {
        assert_eq!(imports(&client, path).await, expected, "{path}");
    }
}

#[tokio::test]
async fn blocked_ignored_and_foreign_files_are_no_dependencies() {
    let text = "import './secrets'; import './ignored'; import './out'; import '../../up';
                import './node_modules/a'; import './kept';";
    let repo = Repo::new()
        .file("src/main.js", text)
        .file("src/secrets.js", "the sesame")
        .file("src/ignored.js", "the sesame")
        .file("src/node_modules/a.js", "the sesame")
        .file("src/kept.js", "kept")
        .file(".gitignore", "ignored.js\n")
        .link("src/out.js", "/etc/passwd");
    let (_stack, client) = serve(repo.commit()).await;
    let data = read(&client, "src/main.js", json!({})).await;
    assert_eq!(paths(&data), ["src/kept.js"]);
    assert!(!data["dependencies"].to_string().contains("sesame"));
}

#[tokio::test]
async fn content_is_cut_at_max_bytes_and_dependencies_stop_without_room() {
    let line = "0123456789abcde\n";
    let repo = Repo::new()
        .file(
            "main.js",
            "import './a'; import './b'; import './c'; import './logo.png'; import './empty';",
        )
        .file("a.js", line.repeat(2500))
        .file("b.js", line.repeat(2500))
        .file("c.js", "small\n")
        .file("logo.png", b"\x89PNG\0")
        .file("empty.js", "");
    let (_stack, client) = serve(repo.commit()).await;
    let whole = read(&client, "main.js", json!({})).await;
    let [a, b, c, logo, empty] = whole["dependencies"].as_array().unwrap().as_slice() else {
        panic!("{whole}");
    };
    assert_eq!(a["content"].as_str().unwrap().len(), 40_000);
    assert_eq!(a.get("truncated"), None);
    assert_eq!(
        (b.get("content"), &b["truncated"]),
        (None, &json!(true)),
        "over 64,000 bytes in all"
    );
    assert_eq!(c["content"], "small\n");
    assert_eq!(
        (logo.get("content"), logo.get("truncated")),
        (None, None),
        "it is binary"
    );
    assert_eq!(
        (empty.get("content"), empty.get("truncated")),
        (None, None),
        "it has no text"
    );

    let cut = read(&client, "main.js", json!({ "max_bytes": 100 })).await;
    let a = &cut["dependencies"][0];
    assert_eq!(a["content"], line.repeat(6), "at a line end");
    assert_eq!(a["truncated"], true);
}

#[tokio::test]
async fn a_large_file_names_its_dependencies_without_their_text() {
    let large = "import './a'; import './b';\n".to_owned() + &"// filler of a line\n".repeat(3_300);
    let repo = Repo::new().file("main.js", large);
    let repo = repo.file("a.js", "1;\n".repeat(1_000)).file("b.js", "1;\n");
    let (_stack, client) = serve(repo.commit()).await;
    let data = read(&client, "main.js", json!({})).await;
    assert_eq!(paths(&data), ["a.js", "b.js"]);
    let dependencies = &data["dependencies"];
    assert_eq!(dependencies[0]["truncated"], true, "no room is left for it");
    assert_eq!(dependencies[1]["content"], "1;\n");
}

#[tokio::test]
async fn an_unparsable_file_is_returned_with_its_error() {
    let repo = Repo::new()
        .file("main.py", "import a\n\ndef broken(:\n    pass\n")
        .file("a.py", "")
        .file("big.js", "// filler\n".repeat(110_000));
    let (_stack, client) = serve(repo.commit()).await;
    let broken = read(&client, "main.py", json!({})).await;
    assert_eq!(broken["file"]["lines"], 4);
    assert_eq!(paths(&broken), ["a.py"]);
    let error = broken["dependencies_error"].as_str().unwrap();
    assert!(error.starts_with("syntax error at line 3"), "{error}");
    let big = read(&client, "big.js", json!({})).await;
    assert_eq!(big["dependencies"], json!([]));
    assert!(
        big["dependencies_error"]
            .as_str()
            .unwrap()
            .contains("1048576 bytes")
    );
}

#[tokio::test]
async fn an_answer_follows_the_files_as_they_are_now() {
    let repo = Repo::new()
        .file("main.js", "import './a';")
        .file("a.js", "1");
    let (stack, client) = serve(repo.commit()).await;
    assert_eq!(imports(&client, "main.js").await, ["a.js"]);
    let folder = stack.folder("acme", "site");
    std::fs::create_dir(folder.join("a")).unwrap();
    std::fs::rename(folder.join("a.js"), folder.join("a/index.js")).unwrap();
    assert_eq!(imports(&client, "main.js").await, ["a/index.js"]);
    std::fs::write(
        folder.join("main.js"),
        "import './a/index.js'; import './b'",
    )
    .unwrap();
    std::fs::write(folder.join("b.js"), "2").unwrap();
    assert_eq!(imports(&client, "main.js").await, ["a/index.js", "b.js"]);
}

#[tokio::test]
async fn a_file_of_an_old_commit_imports_files_of_that_commit() {
    let repo = Repo::new()
        .file("main.js", "import './a'; import './b';")
        .file("a.js", "then")
        .file("b/index.js", "")
        .commit()
        .file("main.js", "import './c';")
        .file("a.js", "now")
        .file("b.js", "")
        .file("c.js", "");
    let (_stack, client) = serve(repo.commit()).await;
    let past = read(&client, "main.js", json!({ "ref": "HEAD~1" })).await;
    assert_eq!(paths(&past), ["a.js", "b/index.js"]);
    assert_eq!(past["dependencies"][0]["content"], "then");
    assert_eq!(imports(&client, "main.js").await, ["c.js"]);
}

#[tokio::test]
async fn signatures_stand_for_the_text_of_what_is_imported() {
    let repo = Repo::new().files([
        ("Cargo.toml", "[package]\nname = \"app\"\n"),
        ("src/lib.rs", "mod pool;\nmod empty;\nuse crate::pool::Pool;\n"),
        (
            "src/pool.rs",
            "/// Connections.\npub struct Pool;\nimpl Pool {\n    pub fn take(&self) -> u8 {\n        7\n    }\n    \
             fn hidden(&self) {}\n}\n",
        ),
        ("src/empty.rs", ""),
    ]);
    let (_stack, client) = serve(repo).await;
    let data = read(
        &client,
        "src/lib.rs",
        json!({ "include_deps": "signatures" }),
    )
    .await;
    let of = |path: &str| {
        let mut found = data["dependencies"].as_array().unwrap().iter();
        found.find(|it| it["path"] == path).unwrap().clone()
    };
    let pool = of("src/pool.rs");
    assert_eq!(
        pool["signatures"],
        json!(["2: pub struct Pool", "4:   pub fn take(&self) -> u8"])
    );
    assert_eq!((pool.get("content"), pool.get("truncated")), (None, None));
    assert_eq!(of("src/empty.rs").get("signatures"), None);
    let arguments = json!({ "path": "src/lib.rs", "include_deps": "outlines" });
    let refused = client.call("read_file", arguments).await;
    assert_eq!(refused.code(), "invalid_arguments");
}
