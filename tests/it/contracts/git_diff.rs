//! `git_diff`: the contract's text, and diffs that are long or not plain text.

use std::{fs, path::Path};

use e2e::{Client, Reply, Repo, git};
use serde_json::{Value, json};

use crate::serve;

pub(super) async fn diff(client: &Client, arguments: Value) -> Reply {
    let reply = client.call("git_diff", arguments).await;
    assert!(!reply.is_error(), "{}", reply.value());
    reply
}

fn commit(folder: &Path, tag: &str) {
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "-qm", tag]);
    git(folder, &["tag", tag]);
}

/// `path (old path) status insertions deletions` of each file.
pub(super) fn files(reply: &Reply) -> Vec<String> {
    let files = reply.structured()["files"].as_array().unwrap();
    let shown = |file: &Value| {
        let text = |name: &str| file[name].as_str().unwrap_or_default().to_owned();
        let counts = (&file["insertions"], &file["deletions"]);
        let (path, old, status) = (text("path"), text("old_path"), text("status"));
        format!("{path} ({old}) {status} +{} -{}", counts.0, counts.1)
    };
    files.iter().map(shown).collect()
}

/// Two states of a project, tagged `v1` and `v2`.
pub(super) fn build(folder: &Path) {
    let file = |path: &str, content: &str| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    git(folder, &["init", "-q"]);
    file(
        "src/a.rs",
        "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n",
    );
    file("src/gone.rs", "fn gone() {}\n");
    file("src/old.rs", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n");
    file("run.sh", "echo\n");
    file("logo.png", "\0one");
    commit(folder, "v1");
    file("src/a.rs", "one\ntwo\nthree\nfour\nFIVE\nsix\nseven\neight");
    fs::remove_file(folder.join("src/gone.rs")).unwrap();
    fs::rename(folder.join("src/old.rs"), folder.join("src/new.rs")).unwrap();
    file("src/new.rs", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n");
    file("docs/x.md", "# Title\n\n```sh\nls\n```\n");
    file("logo.png", "\0two");
    git(folder, &["add", "-A"]);
    git(folder, &["update-index", "--chmod=+x", "run.sh"]);
    git(folder, &["commit", "-qm", "v2"]);
    git(folder, &["tag", "v2"]);
    git(folder, &["checkout", "-qf", "v2"]);
}

#[tokio::test]
async fn the_text_is_the_contracts() {
    let (stack, client) = serve(Repo::new()).await;
    build(&stack.folder("acme", "site"));
    let reply = diff(&client, json!({ "ref1": "v1", "ref2": "v2" })).await;
    let expected = "\
# Git Diff: v1...v2

## Summary
- **Files Changed**: 6
- **Insertions**: +8 lines
- **Deletions**: -3 lines

---

## File: docs/x.md (added)
**Changes**: +5 -0

````diff
@@ -0,0 +1,5 @@
+# Title
+
+```sh
+ls
+```
````

---

## File: logo.png (modified)
**Changes**: +0 -0

Binary file changed

---

## File: run.sh (modified)
**Changes**: +0 -0

Mode changed: 100644 to 100755

---

## File: src/a.rs (modified)
**Changes**: +2 -2

```diff
@@ -2,7 +2,7 @@ one
 two
 three
 four
-five
+FIVE
 six
 seven
-eight
+eight
\\ No newline at end of file
```

---

## File: src/gone.rs (deleted)
**Changes**: +0 -1

```diff
@@ -1 +0,0 @@
-fn gone() {}
```

---

## File: src/new.rs (renamed from src/old.rs)
**Changes**: +1 -0

```diff
@@ -8,3 +8,4 @@
 8
 9
 10
+11
```
"
    .replace("@@ one\n", "@@\n");
    assert_eq!(reply.text(), expected);
    let data = reply.structured();
    assert_eq!(data["binary_files"], 1);
    assert_eq!(
        (&data["files_changed"], &data["summary_only"]),
        (&json!(6), &json!(false))
    );
    let folder = stack.folder("acme", "site");
    for (side, tag) in [("base", "v1"), ("head", "v2")] {
        assert_eq!(data[side], git(&folder, &["rev-parse", tag]));
    }
    assert_eq!(data["files"][2]["mode"], "100755");
    assert!(data["files"][2].get("patch").is_none());
}

#[tokio::test]
async fn the_summary_is_the_contracts() {
    let (stack, client) = serve(Repo::new()).await;
    build(&stack.folder("acme", "site"));
    let asked = json!({ "ref1": "v1", "ref2": "v2", "summary": true });
    let reply = diff(&client, asked).await;
    let expected = "\
# Git Diff Summary: v1...v2

- **Files Changed**: 6
- **Insertions**: +8 lines
- **Deletions**: -3 lines

### Modified Files (3):
- logo.png (binary)
- run.sh (+0 -0)
- src/a.rs (+2 -2)

### Added Files (1):
- docs/x.md (+5)

### Deleted Files (1):
- src/gone.rs (-1)

### Renamed Files (1):
- src/new.rs (from src/old.rs) (+1 -0)

**Binary Files**: 1 binary file changed (images)
";
    assert_eq!(reply.text(), expected);
    assert!(reply.structured()["files"][0].get("patch").is_none());
}

#[tokio::test]
async fn over_a_thousand_lines_it_is_a_summary_and_a_path_narrows_it_first() {
    let lines = |count: usize| (0..count).map(|at| format!("{at}\n")).collect::<String>();
    let repo = Repo::new().file("a.txt", "a\n").commit();
    let repo = repo
        .file("big.txt", lines(1234))
        .file("dir/small.txt", lines(2))
        .commit();
    let (_stack, client) = serve(repo).await;
    let both = json!({ "ref1": "HEAD~1", "ref2": "HEAD", "summary": false });
    let reply = diff(&client, both).await;
    assert!(
        reply.text().contains("- **Insertions**: +1,236 lines\n"),
        "{}",
        reply.text()
    );
    assert!(
        reply.text().contains("1,236 lines changed"),
        "{}",
        reply.text()
    );
    assert_eq!(reply.structured()["summary_only"], true);
    assert!(
        reply.structured()["note"]
            .as_str()
            .unwrap()
            .contains("file_path")
    );
    for path in ["dir/small.txt", "dir"] {
        let one = json!({ "ref1": "HEAD~1", "ref2": "HEAD", "file_path": path });
        let reply = diff(&client, one).await;
        assert_eq!(files(&reply), ["dir/small.txt () added +2 -0"]);
        assert_eq!(
            reply.structured()["files"][0]["patch"],
            "@@ -0,0 +1,2 @@\n+0\n+1\n"
        );
    }
}

#[tokio::test]
async fn a_diff_that_does_not_fit_is_cut_at_the_end_and_says_so() {
    let line = "x".repeat(200);
    let text = format!("{line}\n").repeat(20);
    let mut repo = Repo::new().file("z", "z\n").commit();
    for at in 0..9 {
        repo = repo.file(&format!("f{at}.txt"), &text);
    }
    let (_stack, client) = serve(repo.commit()).await;
    let reply = diff(&client, json!({ "ref1": "HEAD~1", "ref2": "HEAD" })).await;
    let data = reply.structured();
    let shown: Vec<bool> = data["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file.get("patch").is_some())
        .collect();
    assert_eq!(
        shown,
        [true, true, true, false, false, false, false, false, false]
    );
    assert_eq!(
        (&data["truncated"], &data["insertions"]),
        (&json!(true), &json!(180))
    );
    assert!(
        data["note"]
            .as_str()
            .unwrap()
            .contains("6 files are left out"),
        "{}",
        data["note"]
    );
    assert!(reply.text().len() <= 16_000 && data.to_string().len() <= 16_000);
}

#[tokio::test]
async fn a_patch_that_was_escaped_or_is_no_utf_8_says_so() {
    let repo = Repo::new().file("a", "1\n").commit();
    let repo = repo
        .file("bidi", "x\u{202e}y\n")
        .file("latin", b"\xe4\n")
        .file("plain", "ä\n")
        .commit();
    let (_stack, client) = serve(repo).await;
    let reply = diff(&client, json!({ "ref1": "HEAD~1", "ref2": "HEAD" })).await;
    let files = reply.structured()["files"].as_array().unwrap();
    let exact: Vec<&Value> = files.iter().map(|file| &file["exact"]).collect();
    assert_eq!(exact, [&json!(false), &json!(false), &Value::Null]);
    assert!(reply.text().contains("+x\\u{202e}y\n"), "{}", reply.text());
}
