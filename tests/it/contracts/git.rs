//! `git_log`, `git_blame` and `git_diff`: the git contract's markdown to the letter.
//! `history_differential` checks whether the answers are correct.

use std::{fs, path::PathBuf};

use e2e::{Client, Repo, Stack, git};
use serde_json::json;

use crate::{history::commit, serve};

const JOHN: &str = "John Doe <john@example.com>";
const JANE: &str = "Jane Smith <jane@example.com>";
const JWT: &str = "function verifyToken(token: string) {\n  return decoded;\n}\n";

/// The contract's own example: two authors and a file.
pub(super) async fn project() -> (Stack, Client, PathBuf) {
    let repo = Repo::new()
        .file("src/auth/jwt.ts", JWT)
        .file("logo.png", b"\0one");
    let (stack, client) = serve(repo).await;
    let folder = stack.folder("acme", "site");
    git(&folder, &["init", "--quiet"]);
    // Late in the evening in New York, which is the next day in UTC.
    commit(
        &folder,
        JOHN,
        "2025-10-08T22:00:00-0400",
        "feat(auth): add JWT verification\n\nWith a body.",
    );
    git(&folder, &["tag", "v1.0.0"]);
    let with_check = JWT.replace(
        "  return",
        "  if (!decoded.userId) throw new Error();\n  return",
    );
    fs::write(folder.join("src/auth/jwt.ts"), with_check).unwrap();
    fs::write(folder.join("tests.ts"), "it('works');").unwrap();
    commit(
        &folder,
        JANE,
        "2025-10-10T12:00:00Z",
        "fix(auth): add token validation",
    );
    git(&folder, &["mv", "tests.ts", "auth.test.ts"]);
    git(&folder, &["rm", "--quiet", "logo.png"]);
    commit(&folder, JANE, "2025-10-11T12:00:00Z", "tidy up");
    git(
        &folder,
        &["tag", "--annotate", "--message", "two", "v2.0.0"],
    );
    (stack, client, folder)
}

fn short(folder: &std::path::Path, revision: &str) -> String {
    git(folder, &["rev-parse", &format!("{revision}^{{commit}}")])
        .chars()
        .take(7)
        .collect()
}

#[tokio::test]
async fn a_log_reads_as_the_contract_writes_it() {
    let (_stack, client, folder) = project().await;
    let reply = client.call("git_log", json!({})).await;
    let [first, second, third] =
        ["v1.0.0", "v2.0.0~1", "v2.0.0"].map(|revision| short(&folder, revision));
    let expected = format!(
        "# Git Log\n\n\
         ## Commit: {third} (2025-10-11)\n\
         **Author**: Jane Smith <jane@example.com>  \n\
         **Message**: tidy up\n\n\
         **Files Changed** (2):\n\
         - auth.test.ts (renamed from tests.ts)\n\
         - logo.png (deleted)\n\n\
         ---\n\n\
         ## Commit: {second} (2025-10-10)\n\
         **Author**: Jane Smith <jane@example.com>  \n\
         **Message**: fix(auth): add token validation\n\n\
         **Files Changed** (2):\n\
         - src/auth/jwt.ts (modified)\n\
         - tests.ts (added)\n\n\
         ---\n\n\
         ## Commit: {first} (2025-10-08)\n\
         **Author**: John Doe <john@example.com>  \n\
         **Message**: feat(auth): add JWT verification\n\n\
         > With a body.\n\n\
         **Files Changed** (2):\n\
         - logo.png (added)\n\
         - src/auth/jwt.ts (added)\n"
    );
    assert_eq!(reply.text(), expected);
    let oldest = &reply.structured()["commits"][2];
    assert_eq!(oldest["date"], "2025-10-09T02:00:00Z", "data is in UTC");
    assert_eq!(
        oldest["message"],
        "feat(auth): add JWT verification\n\nWith a body."
    );
    assert_eq!(oldest["short_sha"], json!(first));
    assert_eq!(reply.meta("untrusted"), true);
    for (arguments, found) in [
        (json!({ "grep": "^with a" }), &first),
        (json!({ "changed": "decoded.userId" }), &second),
    ] {
        let reply = client.call("git_log", arguments).await;
        let commits = &reply.structured()["commits"];
        assert_eq!(commits[0]["short_sha"], json!(found));
        assert!(commits[1].is_null(), "{commits}");
    }
    let invalid = client.call("git_log", json!({ "grep": "(" })).await;
    assert_eq!(invalid.code(), "invalid_pattern");
    let none = client.call("git_log", json!({ "author": "nobody" })).await;
    assert!(none.text().contains("No commits found."), "{}", none.text());
    assert_eq!(none.structured()["commits"], json!([]));
}

#[tokio::test]
async fn a_blame_reads_as_the_contract_writes_it() {
    let (_stack, client, folder) = project().await;
    let arguments = json!({ "filePath": "src/auth/jwt.ts", "startLine": 1, "endLine": 2 });
    let reply = client.call("git_blame", arguments.clone()).await;
    let [first, second] = ["v1.0.0", "v2.0.0~1"].map(|revision| short(&folder, revision));
    let expected = format!(
        "# Git Blame: src/auth/jwt.ts\n\n\
         ## Lines 1-2\n\n\
         ```typescript\n\
         1  {first} (John Doe    2025-10-08) function verifyToken(token: string) {{\n\
         2  {second} (Jane Smith  2025-10-10)   if (!decoded.userId) throw new Error();\n\
         ```\n\n\
         ### Commit {first}\n\
         **Author**: John Doe <john@example.com>  \n\
         **Date**: 2025-10-08  \n\
         **Message**: feat(auth): add JWT verification\n\n\
         > With a body.\n\n\
         ### Commit {second}\n\
         **Author**: Jane Smith <jane@example.com>  \n\
         **Date**: 2025-10-10  \n\
         **Message**: fix(auth): add token validation\n"
    );
    assert_eq!(reply.text(), expected);
    assert_eq!(reply.structured()["modified"], false);

    fs::write(folder.join("src/auth/jwt.ts"), "other\n").unwrap();
    let reply = client.call("git_blame", arguments).await;
    let note = "# Git Blame: src/auth/jwt.ts\n\n⚠ File has local modifications\n";
    assert!(reply.text().starts_with(note), "{}", reply.text());
    assert_eq!(reply.structured()["modified"], true);
}

#[tokio::test]
async fn a_diff_reads_as_the_contract_writes_it() {
    let (_stack, client, _folder) = project().await;
    let reply = client
        .call("git_diff", json!({ "ref1": "v1.0.0", "ref2": "v2.0.0" }))
        .await;
    let expected = "# Git Diff: v1.0.0...v2.0.0\n\n\
         ## Summary\n\
         - **Files Changed**: 3\n\
         - **Insertions**: +2 lines\n\
         - **Deletions**: -0 lines\n\n\
         ---\n\n\
         ## File: auth.test.ts (added)\n\
         **Changes**: +1 -0\n\n\
         ```diff\n\
         @@ -0,0 +1 @@\n\
         +it('works');\n\
         \\ No newline at end of file\n\
         ```\n\n\
         ---\n\n\
         ## File: logo.png (deleted)\n\
         **Changes**: +0 -0\n\n\
         Binary file changed\n\n\
         ---\n\n\
         ## File: src/auth/jwt.ts (modified)\n\
         **Changes**: +1 -0\n\n\
         ```diff\n\
         @@ -1,3 +1,4 @@\n\
         \u{20}function verifyToken(token: string) {\n\
         +  if (!decoded.userId) throw new Error();\n\
         \u{20}  return decoded;\n\
         \u{20}}\n\
         ```\n";
    assert_eq!(reply.text(), expected);
    let none = client
        .call("git_diff", json!({ "ref1": "HEAD", "ref2": "v2.0.0" }))
        .await;
    assert!(none.text().contains("No differences."), "{}", none.text());
}

#[tokio::test]
async fn a_summary_reads_as_the_contract_writes_it() {
    let (_stack, client, _folder) = project().await;
    let arguments = json!({ "ref1": "v1.0.0", "ref2": "v2.0.0", "summary": true });
    let reply = client.call("git_diff", arguments).await;
    let expected = "# Git Diff Summary: v1.0.0...v2.0.0\n\n\
         - **Files Changed**: 3\n\
         - **Insertions**: +2 lines\n\
         - **Deletions**: -0 lines\n\n\
         ### Modified Files (1):\n\
         - src/auth/jwt.ts (+1 -0)\n\n\
         ### Added Files (1):\n\
         - auth.test.ts (+1)\n\n\
         ### Deleted Files (1):\n\
         - logo.png (binary)\n\n\
         **Binary Files**: 1 binary file changed (images)\n";
    assert_eq!(reply.text(), expected);
    let renamed = json!({ "ref1": "v2.0.0~1", "ref2": "v2.0.0", "summary": true });
    let renamed = client.call("git_diff", renamed).await;
    let section = "### Renamed Files (1):\n- auth.test.ts (from tests.ts) (+0 -0)\n";
    assert!(renamed.text().contains(section), "{}", renamed.text());
}

#[tokio::test]
async fn a_diff_of_more_than_a_thousand_lines_becomes_a_summary_and_says_so() {
    let (_stack, client, folder) = project().await;
    for (lines, is_summary) in [(1_000, false), (1_001, true)] {
        fs::write(
            folder.join("auth.test.ts"),
            "it('works');".to_owned() + &"\nline".repeat(lines - 2),
        )
        .unwrap();
        // The former last line gets a line ending, which counts as two changes.
        let reply = client.call("git_diff", json!({ "summary": false })).await;
        let data = reply.structured();
        assert_eq!(
            (&data["summary_only"], data["note"].is_string()),
            (&json!(is_summary), is_summary),
            "{lines}: {data}"
        );
        assert_eq!(
            reply
                .text()
                .starts_with("# Git Diff Summary: HEAD...working tree\n"),
            is_summary
        );
        assert_eq!(data["files"][0]["patch"].is_string(), !is_summary);
        let changed = data["insertions"].as_u64().unwrap() + data["deletions"].as_u64().unwrap();
        assert_eq!(changed, lines as u64);
    }
    let reply = client.call("git_diff", json!({})).await;
    assert!(
        reply.text().contains("+1,000 lines"),
        "thousands are parted: {}",
        reply.text()
    );
}
