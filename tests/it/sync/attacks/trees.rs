//! Trees that no git would make, and names that mean something elsewhere.

use std::fs;
use std::path::Path;

use e2e::{Client, git};
use serde_json::json;

use super::Attacked;

/// Makes a tree that no git would make, and HEAD's branch a commit of it.
fn commit_raw_tree(work: &Path, entries: &[(&str, &str, &str)]) {
    let sort_key = |(mode, name, _): &&(&str, &str, &str)| match *mode {
        "40000" => format!("{name}/"),
        _ => (*name).to_owned(),
    };
    let mut sorted: Vec<_> = entries.iter().collect();
    sorted.sort_by_key(sort_key);
    let mut tree = Vec::new();
    for (mode, name, id) in sorted {
        tree.extend_from_slice(format!("{mode} {name}\0").as_bytes());
        let digits = id.as_bytes().chunks(2);
        tree.extend(
            digits.map(|two| u8::from_str_radix(str::from_utf8(two).unwrap(), 16).unwrap()),
        );
    }
    fs::write(work.join(".git/raw"), tree).unwrap();
    let make = ["hash-object", "-t", "tree", "-w", "--literally", ".git/raw"];
    let tree = git(work, &make);
    let commit = git(work, &["commit-tree", &tree, "-p", "HEAD", "-m", "attack"]);
    git(work, &["update-ref", "refs/heads/main", &commit]);
}

/// Stores a file's content.
fn blob(work: &Path, content: &str) -> String {
    fs::write(work.join(".git/content"), content).unwrap();
    git(work, &["hash-object", "-w", ".git/content"])
}

#[tokio::test]
async fn trees_that_leave_their_folder_are_refused() {
    let attacked = Attacked::start(&[]).await;
    let hook = format!("#!/bin/sh\ntouch {}\n", attacked.canary().display());
    let option = "[submodule \"x\"]\n\tpath = x\n\turl = -u./payload\n";
    let name = "[submodule \"../../x\"]\n\tpath = x\n\turl = https://host/x\n";
    let attacks = [
        ("dot-git", "40000", ".git", ""),
        ("dot-git-upper", "40000", ".GIT", ""),
        ("dot-git-short", "40000", "git~1", ""),
        ("dot-git-hidden", "40000", ".g\u{200c}it", ""),
        ("parent", "40000", "..", ""),
        ("itself", "40000", ".", ""),
        ("parents-file", "100755", "../x", hook.as_str()),
        ("absolute", "100755", "/etc/x", hook.as_str()),
        ("module-link", "120000", ".gitmodules", "/etc/passwd"),
        ("module-option", "100644", ".gitmodules", option),
        ("module-parent", "100644", ".gitmodules", name),
    ];
    for (slug, mode, name, content) in attacks {
        let work = attacked.repository(slug);
        let below = git(&work, &["rev-parse", "HEAD^{tree}"]);
        let id = match mode {
            "40000" => below,
            _ => blob(&work, content),
        };
        commit_raw_tree(&work, &[(mode, name, &id)]);
        attacked.mirror(slug).await;
    }
    for (slug, ..) in attacks {
        let message = attacked.message(slug, "failed").await;
        assert!(message.contains("fsck error"), "{slug}: {message}");
    }
    attacked.assert_unharmed(&[]).await;
}

/// What git has of a file that Git LFS keeps elsewhere.
const LFS_POINTER: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:\
    4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";

#[tokio::test]
async fn links_modules_and_odd_names_are_stored_and_run_nothing() {
    let attacked = Attacked::start(&[]).await;
    let work = attacked.repository("odd");
    let canary = attacked.canary().display().to_string();
    let modules = format!(
        "[submodule \"a\"]\n\tpath = a\n\turl = ext::sh -c touch% {canary}\n\tupdate = none\n\
         [submodule \"b\"]\n\tpath = b\n\turl = file:///etc\n"
    );
    let (text, head) = (blob(&work, "needle\n"), git(&work, &["rev-parse", "HEAD"]));
    let submodule = head.clone();
    let entries = [
        ("120000", "passwd", blob(&work, "/etc/passwd")),
        ("120000", "up", blob(&work, "../../../../../../etc/passwd")),
        ("100644", ".gitmodules", blob(&work, &modules)),
        (
            "100644",
            ".gitattributes",
            blob(&work, "* filter=x diff=x\n"),
        ),
        ("160000", "a", head.clone()),
        ("160000", "b", head),
        ("100644", "large.psd", blob(&work, LFS_POINTER)),
        ("100644", "CASE", text.clone()),
        ("100644", "case", text.clone()),
        ("100644", "\u{1b}[31m\n\u{7}red", text.clone()),
        ("100644", "--output=x", text.clone()),
        ("100644", "C:\\x", text),
    ];
    let entries = entries
        .each_ref()
        .map(|(mode, name, id)| (*mode, *name, id.as_str()));
    commit_raw_tree(&work, &entries);
    attacked.mirror("odd").await;
    assert_eq!(attacked.message("odd", "ok").await, "");
    let client = attacked.until_found("odd", 5).await;
    for link in ["passwd", "up"] {
        let arguments = json!({ "project": "odd", "path": link });
        let read = client.call("read_file", arguments).await;
        assert!(!format!("{read:?}").contains("root:"), "{read:?}");
    }
    assert_shown_as_what_they_are(&client, &submodule).await;
    attacked.assert_unharmed(&["odd"]).await;
}

/// The pointer is a file, and the submodules `a` and `b` have this commit.
async fn assert_shown_as_what_they_are(client: &Client, submodule: &str) {
    let arguments = json!({ "project": "odd", "path": "large.psd" });
    let read = client.call("read_file", arguments).await;
    assert_eq!(read.structured()["file"]["content"], LFS_POINTER);
    let listed = client.call("list_files", json!({ "project": "odd" })).await;
    for path in ["a", "b"] {
        let files = listed.structured()["files"].as_array().unwrap();
        let entry = files.iter().find(|it| it["path"] == path).unwrap();
        assert_eq!(
            (&entry["type"], &entry["submodule"]),
            (&json!("directory"), &json!(submodule))
        );
        let arguments = json!({ "project": "odd", "path": path });
        let read = client.call("read_file", arguments).await;
        assert_eq!(read.code(), "file_not_found");
        let message =
            format!("{path} is a submodule at commit {submodule}: its files are not here");
        assert_eq!(read.error()["message"], message);
    }
}
