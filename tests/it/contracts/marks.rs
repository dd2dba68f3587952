//! U+FEFF: a byte order mark at the start of a file, and elsewhere an invisible character.

use std::path::Path;

use e2e::{Client, Repo, Stack};
use serde_json::{Value, json};

use super::column;
use crate::{history::commit, result, serve};

const MARK: char = '\u{feff}';
const SHOWN: &str = r"\u{feff}";

async fn project() -> (Stack, Client) {
    let importing = format!("{MARK}import {{ b }} from './b';\n{MARK}const needle = b;\n");
    let repo = Repo::new()
        .file("a.ts", importing)
        .file("b.ts", format!("{MARK}export const b = 1;\n"))
        .file("docs/a.md", format!("{MARK}# A{MARK}\n"))
        .file("x.txt", "plain\n")
        .file(&format!("{MARK}x.txt"), "marked\n");
    serve(repo.commit()).await
}

async fn ask(client: &Client, tool: &str, arguments: Value) -> Value {
    let reply = client.call(tool, arguments).await;
    reply.structured().clone()
}

#[tokio::test]
async fn a_byte_order_mark_stays_where_a_files_content_begins() {
    let (_stack, client) = project().await;
    let whole = json!({ "path": "a.ts", "include_deps": true });
    let whole = ask(&client, "read_file", whole).await;
    let first = format!("{MARK}import {{ b }} from './b';\n");
    let second = format!("{SHOWN}const needle = b;\n");
    assert_eq!(whole["file"]["content"], format!("{first}{second}"));
    let imported = &whole["dependencies"][0]["content"];
    assert_eq!(imported, &json!(format!("{MARK}export const b = 1;\n")));
    for (line, content) in [(1, &first), (2, &second)] {
        let lines = json!({ "path": "a.ts", "start_line": line, "end_line": line });
        let lines = ask(&client, "read_file", lines).await;
        assert_eq!(lines["file"]["content"], *content, "line {line}");
    }
    let document = format!("{MARK}# A{SHOWN}\n");
    let path = json!({ "path": "docs/a.md" });
    let read = ask(&client, "read_repo_file", path).await;
    assert_eq!(read["content"], document);
    let uri = json!({ "uri": "repo://site/docs/a.md" });
    let read = result(&client, "resources/read", uri).await;
    assert_eq!(read["contents"][0]["text"], document);
}

#[tokio::test]
async fn a_name_or_a_line_that_begins_with_one_shows_it() {
    let (_stack, client) = project().await;
    let listed = ask(&client, "list_files", json!({})).await;
    let paths = column(&listed["files"], "path");
    assert!(paths.contains(&"x.txt"), "{paths:?}");
    assert!(paths.contains(&r"\u{feff}x.txt"), "{paths:?}");
    for (pattern, path, line) in [
        ("marked", r"\u{feff}x.txt", "marked"),
        ("needle", "a.ts", r"\u{feff}const needle = b;"),
    ] {
        let found = ask(&client, "grep_codebase", json!({ "pattern": pattern })).await;
        let found = found.to_string();
        assert!(!found.contains(MARK), "{found}");
        for shown in [path, line] {
            let shown = json!(shown).to_string();
            assert!(found.contains(&shown), "{shown}: {found}");
        }
    }
    let marked = json!({ "path": format!("{MARK}x.txt") });
    let read = ask(&client, "read_file", marked).await;
    assert_eq!(read["file"]["path"], r"\u{feff}x.txt");
    let absent = client.call("read_file", json!({ "path": format!("{MARK}y.txt") }));
    let absent = absent.await.error().to_string();
    assert!(!absent.contains(MARK), "{absent}");
}

#[tokio::test]
async fn a_mark_in_author_or_subject_of_a_commit_is_shown() {
    let (stack, client) = project().await;
    let folder = stack.folder("acme", "site");
    std::fs::write(folder.join("x.txt"), "changed\n").unwrap();
    marked_commit(&folder);
    for (tool, arguments) in [
        ("git_log", json!({})),
        ("git_blame", json!({ "file_path": "x.txt" })),
        ("git_blame", json!({ "file_path": "a.ts" })),
    ] {
        let reply = client.call(tool, arguments).await;
        let answer = reply.value().to_string();
        assert!(!answer.contains(MARK), "{tool}: {answer}");
        let shown = json!(SHOWN).to_string();
        assert!(answer.contains(shown.trim_matches('"')), "{tool}: {answer}");
    }
    let log = ask(&client, "git_log", json!({})).await;
    let newest = log["commits"][0].to_string();
    assert!(newest.contains(r#""\\u{feff}subject"#), "{newest}");
    assert!(newest.contains(r#""\\u{feff}Ada"#), "{newest}");
}

fn marked_commit(folder: &Path) {
    let author = format!("{MARK}Ada <ada@example.com>");
    let subject = format!("{MARK}subject");
    commit(folder, &author, "2026-01-03T00:00:00Z", &subject);
}
