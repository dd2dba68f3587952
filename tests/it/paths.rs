//! Attacks on paths, through every tool that takes a path or could show one.

mod blocked;
mod links;
mod manifest;

use e2e::{
    Client, Reply, Repo,
    sample_calls::{self, SampleCalls},
};
use serde_json::{Value, json};

use crate::serve;

/// One call of each tool that takes a path, with this path.
async fn by_every_tool(client: &Client, path: &str) -> Vec<(&'static str, Reply)> {
    replies(client, |samples| samples.at_path(path)).await
}

/// One call of each tool that opens a path in the work tree, with this path.
async fn by_every_opening_tool(client: &Client, path: &str) -> Vec<(&'static str, Reply)> {
    replies(client, |samples| samples.at_opened_path(path)).await
}

async fn replies(
    client: &Client,
    arguments: impl Fn(&SampleCalls) -> Option<Value>,
) -> Vec<(&'static str, Reply)> {
    let mut replies = Vec::new();
    for samples in sample_calls::of_listed(client).await {
        if let Some(arguments) = arguments(&samples) {
            replies.push((samples.tool, client.call(samples.tool, arguments).await));
        }
    }
    assert!(replies.len() >= 3, "{} tools take a path", replies.len());
    replies
}

#[tokio::test]
async fn every_tool_denies_a_path_that_leaves_and_rejects_a_malformed_one() {
    let (stack, client) = serve(Repo::new().file("docs/a.txt", "a\n").commit()).await;
    let host = stack.folder("acme", "site").display().to_string();
    let long = "a/".repeat(2049);
    for (path, code) in [
        ("..", "access_denied"),
        ("../", "access_denied"),
        ("../../../etc/passwd", "access_denied"),
        ("docs/../docs/a.txt", "access_denied"),
        ("docs/../../x", "access_denied"),
        ("./../x", "access_denied"),
        ("/etc/passwd", "access_denied"),
        ("//etc/passwd", "access_denied"),
        ("/", "access_denied"),
        ("/proc/self/root/etc/passwd", "access_denied"),
        (&host, "access_denied"),
        ("", "invalid_arguments"),
        ("docs/a.txt\0", "invalid_arguments"),
        ("\0", "invalid_arguments"),
        (&long, "invalid_arguments"),
    ] {
        for (tool, reply) in by_every_tool(&client, path).await {
            assert_eq!(reply.code(), code, "{tool} {path:?}: {}", reply.value());
        }
    }
}

#[tokio::test]
async fn encodings_of_a_path_are_plain_names() {
    let (_stack, client) = serve(Repo::new().file("docs/a.txt", "a\n").commit()).await;
    for path in [
        "..%2f..%2fetc%2fpasswd",
        "%2e%2e/etc/passwd",
        "docs%2fa.txt",
        "..\\..\\etc\\passwd",
        "docs\\a.txt",
        "..\u{2215}etc",
        "\u{ff0e}\u{ff0e}/etc/passwd",
        "proc/self/root/etc/passwd",
        "~/x",
        "C:/x",
        "...",
    ] {
        let read = client.call("read_file", json!({ "path": path })).await;
        assert_eq!(read.code(), "file_not_found", "{path}: {}", read.value());
        let list = client
            .call("list_files", json!({ "directory": path }))
            .await;
        assert_eq!(
            list.code(),
            "directory_not_found",
            "{path}: {}",
            list.value()
        );
    }
}

#[tokio::test]
async fn a_path_is_normalised_before_it_is_judged() {
    let (_stack, client) = serve(Repo::new().file("docs/a.txt", "a\n").commit()).await;
    for path in [
        "docs/a.txt",
        "./docs/a.txt",
        "docs//a.txt",
        "docs/./a.txt",
        "docs/a.txt/",
    ] {
        for tool in ["read_file", "read_repo_file"] {
            let reply = client.call(tool, json!({ "path": path })).await;
            assert!(!reply.is_error(), "{tool} {path}: {}", reply.value());
        }
    }
}

#[tokio::test]
async fn a_glob_does_not_lead_out_either() {
    let (_stack, client) = serve(Repo::new().file("docs/a.txt", "sesame\n").commit()).await;
    for glob in ["../**", "/etc/**", "/../*", "../../etc/passwd", "**/../**"] {
        let list = client.call("list_files", json!({ "pattern": glob })).await;
        assert!(
            list.is_error() || list.structured()["total_count"] == 0,
            "{glob}: {}",
            list.value()
        );
        let grep = json!({ "pattern": "root|sesame", "file_pattern": glob });
        let grep = client.call("grep_codebase", grep).await;
        assert!(
            grep.is_error() || grep.structured()["totalMatches"] == 0,
            "{glob}: {}",
            grep.value()
        );
    }
}
