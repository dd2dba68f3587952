//! `outline`: what stands in a file or a folder.

use e2e::Repo;
use serde_json::json;

use super::{both, column, symbols::project};
use crate::serve;

#[tokio::test]
async fn an_outline_is_nested_and_has_no_bodies() {
    let (_stack, client) = project().await;
    let outlined = client
        .call("outline", json!({ "path": "src/circuit.rs" }))
        .await;
    let outlined = both(&outlined);
    assert_eq!(
        column(&outlined["symbols"], "signature"),
        ["pub struct Circuit", "fn admit()"]
    );
    let members = &outlined["symbols"][0]["children"];
    assert_eq!(column(members, "name"), ["open", "admit"]);
    assert_eq!(
        (&outlined["truncated"], outlined.get("reason")),
        (&json!(false), None)
    );
    let flat = client
        .call("outline", json!({ "path": "src/circuit.rs", "depth": 1 }))
        .await;
    assert_eq!(both(&flat)["symbols"][0].get("children"), None);
}

#[tokio::test]
async fn an_outline_of_a_folder_has_the_exported_symbols_of_each_file() {
    let (_stack, client) = project().await;
    let outlined = client.call("outline", json!({ "path": "." })).await;
    let outlined = both(&outlined);
    let files = column(&outlined["files"], "path");
    assert_eq!(
        files,
        ["src/breaker.py", "src/circuit.rs", "vendor/circuit.go"]
    );
    assert_eq!(
        column(&outlined["files"][1]["symbols"], "name"),
        ["Circuit"]
    );
    let big = (0..400).fold(Repo::new(), |repo, n| {
        repo.file(
            &format!("d/f{n:03}.py"),
            format!("def function_{n}(argument): pass\n"),
        )
    });
    let (_stack, client) = serve(big.commit()).await;
    let outlined = client.call("outline", json!({ "path": "d" })).await;
    let outlined = both(&outlined);
    assert_eq!(outlined["truncated"], true);
    assert!(outlined.to_string().len() < 16 << 10);
    let reason = outlined["reason"].as_str().unwrap();
    assert!(reason.contains("of 400 source files"), "{reason}");
}

#[tokio::test]
async fn a_file_without_symbols_says_why_and_a_missing_one_what_is_near() {
    let large = "# filler\n".repeat(120_000);
    let repo = Repo::new()
        .file("a.md", "x")
        .file("big.py", &large)
        .file("broken.py", "%%% ((( not python\n")
        .file("packed.py", b"def f(): pass\0")
        .file("src/main.py", "")
        .file("own/lib.rs", "fn own() {}\n");
    let (_stack, client) = serve(repo.commit()).await;
    for (path, why) in [
        ("a.md", "grammar for this kind of file: call read_file"),
        ("big.py", "1048576"),
        ("broken.py", "it could not be parsed: call read_file"),
        ("packed.py", "binary"),
        ("own", "outline a file"),
    ] {
        let outlined = client.call("outline", json!({ "path": path })).await;
        let outlined = both(&outlined);
        assert_eq!(outlined["symbols"], json!([]));
        let reason = outlined["reason"].as_str().unwrap();
        assert!(reason.contains(why), "{reason}");
    }
    let missing = client
        .call("outline", json!({ "path": "src/mian.py" }))
        .await;
    assert_eq!(missing.code(), "file_not_found");
    assert_eq!(
        missing.error()["details"]["nearest"],
        json!(["src/main.py"])
    );
    let outside = client.call("outline", json!({ "path": "../x" }));
    assert_eq!(outside.await.code(), "access_denied");
}
