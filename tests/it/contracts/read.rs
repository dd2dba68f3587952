//! `read_file` and `read_repo_file`: the context, repo and learning contracts.

use e2e::{Client, Repo, Stack};
use serde_json::{Value, json};

use super::both;
use crate::serve;

async fn project() -> (Stack, Client) {
    let repo = Repo::new()
        .file(
            "src/auth/jwt.ts",
            "export const a = 1;\nexport const b = 2;\n",
        )
        .file("src/index.ts", "import { a } from './auth/jwt';")
        .file("docs/guide.md", "# Guide\n")
        .file("docs/logo.png", b"\x89PNG\r\n\x1a\n\0\0")
        .file("docs/odd", b"text\0more")
        .file("latin.txt", b"caf\xe9\n")
        .file("crlf.txt", "a\r\nb\r\n")
        .file("bidi.txt", "if\u{202e} access\u{200b}\n")
        .file("empty.txt", "")
        .file("examples/one.rs", "fn main() {}\n");
    serve(repo.commit()).await
}

async fn read(client: &Client, arguments: Value) -> Value {
    client
        .call("read_file", arguments)
        .await
        .structured()
        .clone()
}

#[tokio::test]
async fn a_file_comes_with_its_facts() {
    let (_stack, client) = project().await;
    let reply = client
        .call("read_file", json!({ "path": "src/auth/jwt.ts" }))
        .await;
    let data = both(&reply);
    let file = &data["file"];
    assert_eq!(file["path"], "src/auth/jwt.ts");
    assert_eq!(
        file["content"],
        "export const a = 1;\nexport const b = 2;\n"
    );
    assert_eq!((&file["size"], &file["lines"]), (&json!(40), &json!(2)));
    assert_eq!(
        (&file["language"], &file["encoding"]),
        (&json!("typescript"), &json!("utf-8"))
    );
    assert_eq!(file["truncated"], false);
    assert!(file["modified_at"].as_str().unwrap().ends_with('Z'));
    assert_eq!(data["dependencies"], json!([]));
    assert_eq!(data["metadata"]["module"], "auth");
    assert_eq!(data["metadata"]["role"], "core");
    assert_eq!(data["metadata"]["lastModified"], file["modified_at"]);
    assert_eq!(reply.meta("untrusted"), true);
}

#[tokio::test]
async fn a_folder_given_as_file_is_not_found() {
    let (_stack, client) = project().await;
    for path in ["nope.ts", "src", "src/index.ts/x", ".", "docs/nope/x"] {
        let reply = client.call("read_file", json!({ "path": path })).await;
        assert_eq!(reply.code(), "file_not_found", "{path}: {}", reply.value());
    }
    let folder = client.call("read_file", json!({ "path": "src" })).await;
    assert!(
        folder.error()["suggestion"]
            .as_str()
            .unwrap()
            .contains("list_files")
    );
    let traversal = client
        .call("read_file", json!({ "path": "../../../etc/passwd" }))
        .await;
    assert_eq!(traversal.code(), "access_denied");
}

#[tokio::test]
async fn binary_files_need_base64_by_extension_or_by_content() {
    let (_stack, client) = project().await;
    for path in ["docs/logo.png", "docs/odd"] {
        let reply = client.call("read_file", json!({ "path": path })).await;
        assert_eq!(reply.code(), "binary_file", "{path}: {}", reply.value());
        assert!(
            reply.error()["suggestion"]
                .as_str()
                .unwrap()
                .contains("base64")
        );
    }
    let png = read(
        &client,
        json!({ "path": "docs/logo.png", "encoding": "base64" }),
    )
    .await;
    assert_eq!(png["file"]["content"], "iVBORw0KGgoAAA==");
    assert_eq!(
        (&png["file"]["encoding"], &png["file"]["size"]),
        (&json!("base64"), &json!(10))
    );
    let over = json!({ "path": "docs/logo.png", "encoding": "base64", "max_bytes": 9 });
    assert_eq!(
        client.call("read_file", over).await.code(),
        "file_too_large"
    );
}

#[tokio::test]
async fn bytes_that_are_no_text_are_replaced_and_said_to_be() {
    let (_stack, client) = project().await;
    let latin = read(&client, json!({ "path": "latin.txt" })).await;
    assert_eq!(latin["file"]["content"], "caf\u{fffd}\n");
    assert_eq!(latin["file"]["lossy"], true);
    let crlf = read(&client, json!({ "path": "crlf.txt" })).await;
    assert_eq!(
        crlf["file"]["content"], "a\r\nb\r\n",
        "line endings are unchanged"
    );
    assert!(crlf["file"].get("lossy").is_none());
}

#[tokio::test]
async fn characters_that_deceive_are_escaped_and_counted() {
    let (_stack, client) = project().await;
    let reply = client
        .call("read_file", json!({ "path": "bidi.txt" }))
        .await;
    let data = both(&reply);
    assert_eq!(data["file"]["content"], "if\\u{202e} access\\u{200b}\n");
    assert_eq!(reply.meta("escaped"), 2);
    let plain = client
        .call("read_file", json!({ "path": "docs/guide.md" }))
        .await;
    assert!(plain.meta("escaped").is_null(), "absent at 0");
}

#[tokio::test]
async fn lines_are_counted_by_their_ends() {
    let (_stack, client) = project().await;
    for (path, lines) in [
        ("empty.txt", 0),
        ("docs/guide.md", 1),
        ("src/index.ts", 1),
        ("src/auth/jwt.ts", 2),
    ] {
        assert_eq!(
            read(&client, json!({ "path": path })).await["file"]["lines"],
            lines,
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_range_of_lines_is_clamped_at_the_end_and_refused_past_it() {
    let text: String = (1..=10).map(|n| format!("line {n}\n")).collect();
    let (_stack, client) = serve(Repo::new().file("ten.txt", text).commit()).await;
    let part = read(
        &client,
        json!({ "path": "ten.txt", "start_line": 9, "end_line": 99 }),
    )
    .await;
    assert_eq!(part["file"]["content"], "line 9\nline 10\n");
    assert_eq!(
        (&part["file"]["start_line"], &part["file"]["end_line"]),
        (&json!(9), &json!(10))
    );
    assert_eq!(part["file"]["lines"], 10, "the file's, not the range's");
    assert_eq!(part["file"]["truncated"], false);
    let head = read(&client, json!({ "path": "ten.txt", "end_line": 1 })).await;
    assert_eq!(head["file"]["content"], "line 1\n");
    for (start, end) in [(11, 12), (5, 4)] {
        let range = json!({ "path": "ten.txt", "start_line": start, "end_line": end });
        assert_eq!(
            client.call("read_file", range).await.code(),
            "invalid_line_range"
        );
    }
    let base64 = json!({ "path": "ten.txt", "start_line": 1, "encoding": "base64" });
    assert_eq!(
        client.call("read_file", base64).await.code(),
        "invalid_arguments"
    );
}

#[tokio::test]
async fn the_parts_of_a_long_file_join_to_the_whole() {
    let whole: String = (0..5000).map(|n| format!("line {n} é\n")).collect();
    let (_stack, client) = serve(Repo::new().file("long.txt", &whole).commit()).await;
    let (mut joined, mut arguments) = (
        String::new(),
        json!({ "path": "long.txt", "max_bytes": 7001 }),
    );
    loop {
        let file = &read(&client, arguments.clone()).await["file"];
        let content = file["content"].as_str().unwrap();
        assert!(content.len() <= 7001 && content.ends_with('\n'));
        joined.push_str(content);
        assert_eq!(file["lines"], 5000);
        let Some(next) = file.get("next_start_line") else {
            assert_eq!(file["truncated"], false);
            break;
        };
        assert_eq!(file["truncated"], true);
        arguments["start_line"] = next.clone();
    }
    assert!(joined == whole, "the parts do not join to the whole");
}

#[tokio::test]
async fn an_overlong_line_is_cut_at_a_character_and_says_so() {
    let long = format!("{}\nnext\n", "é".repeat(1000));
    let (_stack, client) = serve(Repo::new().file("wide.txt", long).commit()).await;
    let file = &read(&client, json!({ "path": "wide.txt", "max_bytes": 101 })).await["file"];
    assert_eq!(file["content"], "é".repeat(50));
    assert_eq!(
        (&file["truncated"], &file["line_truncated"]),
        (&json!(true), &json!(true))
    );
}

#[tokio::test]
async fn an_ignored_file_is_read_by_its_exact_path() {
    let repo = Repo::new()
        .file(".gitignore", "*.log\n")
        .file("a.log", "log\n")
        .commit();
    let (_stack, client) = serve(repo).await;
    assert_eq!(
        read(&client, json!({ "path": "a.log" })).await["file"]["content"],
        "log\n"
    );
}

#[tokio::test]
async fn read_repo_file_reads_only_allowed_paths() {
    let (_stack, client) = project().await;
    let reply = client
        .call("read_repo_file", json!({ "path": "docs/guide.md" }))
        .await;
    assert_eq!(
        both(&reply),
        &json!({ "content": "# Guide\n", "path": "docs/guide.md", "size_bytes": 8 })
    );
    let example = client
        .call("read_repo_file", json!({ "path": "examples/one.rs" }))
        .await;
    assert!(!example.is_error());
    for path in ["src/index.ts", "src/nope.ts", "empty.txt", "nope"] {
        let reply = client.call("read_repo_file", json!({ "path": path })).await;
        assert_eq!(reply.code(), "access_denied", "{path}: {}", reply.value());
    }
    let missing = client
        .call("read_repo_file", json!({ "path": "docs/nope.md" }))
        .await;
    assert_eq!(missing.code(), "file_not_found");
    let binary = client
        .call("read_repo_file", json!({ "path": "docs/logo.png" }))
        .await;
    assert_eq!(binary.code(), "binary_file");
}

#[tokio::test]
async fn read_repo_file_takes_a_mebibyte() {
    let repo = Repo::new()
        .file("docs/fits.txt", "x".repeat(1 << 20))
        .file("docs/over.txt", "x".repeat((1 << 20) + 1));
    let (_stack, client) = serve(repo.commit()).await;
    let fits = client
        .call("read_repo_file", json!({ "path": "docs/fits.txt" }))
        .await;
    assert_eq!(fits.structured()["size_bytes"], 1 << 20);
    let over = client
        .call("read_repo_file", json!({ "path": "docs/over.txt" }))
        .await;
    assert_eq!(over.code(), "file_too_large");
}
