//! Hosts and repositories that attack `archway sync`: nothing of theirs runs, nothing leaves the mirrors' folder, and
//! other repositories are served meanwhile.

use std::fs;
use std::path::{Path, PathBuf};

use e2e::{GitHost, Repo, git};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Mirrored, found};

/// An installation under attack, and a file that an attack that runs something makes.
struct Attacked {
    mirrored: Mirrored,
    aside: TempDir,
    /// What was in the folder around the mirrors' one.
    around: Vec<String>,
}

impl Attacked {
    async fn start(options: &'static [&'static str]) -> Attacked {
        let mirrored = Mirrored::start_with(options).await;
        let around = names(mirrored.stack.repositories().parent().unwrap());
        Attacked {
            mirrored,
            aside: tempfile::tempdir().unwrap(),
            around,
        }
    }

    fn canary(&self) -> PathBuf {
        self.aside.path().join("canary")
    }

    /// Makes a repository, before its attack.
    fn repository(&self, slug: &str) -> PathBuf {
        let repo = Repo::new().file("a.txt", "needle\n").commit();
        self.mirrored.host.add(slug, repo)
    }

    async fn mirror(&self, slug: &str) {
        let url = self.mirrored.host.url(slug);
        self.mirrored.add(slug, &url, None, Some("host")).await;
    }

    /// The message of a run that ended in this state. It has neither a host path nor a secret nor a control
    /// character.
    async fn message(&self, slug: &str, state: &str) -> String {
        let message = self.mirrored.until(slug, state).await.message;
        let message = message.unwrap_or_default();
        for hidden in ["sesame", "/tmp", "\u{202e}"] {
            assert!(!message.contains(hidden), "{slug}: {message}");
        }
        assert!(!message.chars().any(char::is_control), "{message:?}");
        message
    }

    /// Nothing ran, nothing was written elsewhere, and another repository is mirrored and served. `mirrors` are
    /// those of the attackers.
    async fn assert_unharmed(&self, mirrors: &[&str]) {
        self.repository("harmless");
        self.mirror("harmless").await;
        self.mirrored.until("harmless", "ok").await;
        let client = self.mirrored.stack.client("acme");
        let served = async || found(&client, "harmless", "needle").await;
        assert_eq!(self.mirrored.stack.eventually(served).await, 1);
        assert!(!self.canary().exists(), "something ran");
        let repos = self.mirrored.stack.repositories();
        assert_eq!(names(repos.parent().unwrap()), self.around);
        assert_eq!(names(repos), [".sync", "acme"]);
        let mut expected: Vec<&str> = mirrors.iter().copied().chain(["harmless"]).collect();
        expected.sort_unstable();
        assert_eq!(names(&repos.join("acme")), expected);
        assert_eq!(names(&repos.join(".sync")), Vec::<String>::new());
    }
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

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
    let client = attacked.mirrored.stack.client("acme");
    let all = async || found(&client, "odd", "needle").await;
    assert_eq!(attacked.mirrored.stack.eventually(all).await, 5);
    for link in ["passwd", "up"] {
        let arguments = json!({ "project": "odd", "path": link });
        let read = client.call("read_file", arguments).await;
        assert!(!format!("{read:?}").contains("root:"), "{read:?}");
    }
    attacked.assert_unharmed(&["odd"]).await;
}

#[tokio::test]
async fn refs_named_as_options_and_commands_are_only_names() {
    let attacked = Attacked::start(&[]).await;
    let work = attacked.repository("refs");
    let canary = attacked.canary().display().to_string();
    let head = format!("refs/heads/--upload-pack=touch${{IFS}}{canary}");
    let hostile = [
        head.clone(),
        format!("refs/heads/$(touch${{IFS}}{canary})"),
        format!("refs/heads/`touch${{IFS}}{canary}`"),
        format!("refs/heads/|touch${{IFS}}{canary}"),
        "refs/heads/--exec=x".to_owned(),
        "refs/heads/-".to_owned(),
        "refs/heads/HEAD".to_owned(),
        "refs/heads/\u{9b}2J\u{202e}\u{2028}".to_owned(),
        "refs/tags/-oProxyCommand=x".to_owned(),
        "refs/tags/refs/heads/main".to_owned(),
    ];
    for name in &hostile {
        git(&work, &["update-ref", name, "HEAD"]);
    }
    git(&work, &["symbolic-ref", "HEAD", &head]);
    attacked.mirror("refs").await;
    assert_eq!(attacked.message("refs", "ok").await, "");
    let mirror = attacked.mirrored.place("refs");
    let served = git(
        &mirror,
        &[
            "for-each-ref",
            "--format=%(refname)",
            "refs/heads",
            "refs/tags",
        ],
    );
    for name in &hostile {
        assert!(served.lines().any(|line| line == name), "{name}: {served}");
    }
    assert_eq!(git(&mirror, &["symbolic-ref", "HEAD"]), head);
    let client = attacked.mirrored.stack.client("acme");
    let served = async || found(&client, "refs", "needle").await;
    assert_eq!(attacked.mirrored.stack.eventually(served).await, 1);
    attacked.assert_unharmed(&["refs"]).await;
}

/// A line of git's protocol.
fn packet(text: &str) -> String {
    format!("{:04x}{text}", text.len() + 4)
}

#[tokio::test]
async fn refs_that_git_forbids_are_ignored() {
    let attacked = Attacked::start(&[]).await;
    attacked.repository("liar");
    attacked.mirrored.host.tamper(|asked, answer| {
        let is_list = String::from_utf8_lossy(asked).contains("command=ls-refs");
        let text = String::from_utf8_lossy(answer);
        let Some(id) = text
            .get(4..44)
            .filter(|_| is_list && text.contains("refs/heads/main"))
        else {
            return answer.to_owned();
        };
        let names = [
            "refs/heads/../../../../../escaped",
            "refs/heads/../../config",
            "refs/heads/\u{1b}[2J\u{7}",
            "refs/heads/a.lock",
            "refs/heads//a",
            "refs/heads/a b",
            "refs/tags/../../../hooks/post-checkout",
            "../../escaped",
        ];
        let lines = names.map(|name| packet(&format!("{id} {name}\n"))).concat();
        let honest = text.strip_suffix("0000").unwrap();
        format!("{honest}{lines}0000").into_bytes()
    });
    attacked.mirror("liar").await;
    assert_eq!(attacked.message("liar", "ok").await, "");
    let mirror = attacked.mirrored.place("liar");
    let served = git(
        &mirror,
        &[
            "for-each-ref",
            "--format=%(refname)",
            "refs/heads",
            "refs/tags",
        ],
    );
    assert_eq!(served, "refs/heads/main");
    attacked.assert_unharmed(&["liar"]).await;
}

#[tokio::test]
async fn words_of_a_host_are_shown_without_what_misleads() {
    let attacked = Attacked::start(&[]).await;
    attacked.repository("words");
    let words = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}\r\nfatal: in /tmp/x";
    let said = packet(&format!("ERR {words}{}", "x".repeat(60_000)));
    attacked.mirrored.host.tamper(move |asked, answer| {
        let is_list = String::from_utf8_lossy(asked).contains("command=ls-refs");
        // The other repository is asked for later.
        match is_list && String::from_utf8_lossy(answer).contains("refs/heads/words") {
            true => said.clone().into_bytes(),
            false => answer.to_owned(),
        }
    });
    let work = attacked.mirrored.host.folder("words");
    git(&work, &["branch", "words"]);
    attacked.mirror("words").await;
    let row = attacked.mirrored.until("words", "failed").await;
    let message = row.message.unwrap();
    assert!(message.contains("owned"), "{message}");
    assert!(message.chars().count() <= 300, "{message}");
    let misleads = |c: char| c.is_control() || c == '\u{202e}';
    assert!(!message.chars().any(misleads), "{message:?}");
    attacked.assert_unharmed(&[]).await;
}

#[tokio::test]
async fn a_pack_over_the_bound_leaves_the_last_good_mirror() {
    let attacked = Attacked::start(&["--mirror-bytes", "3000000"]).await;
    let work = attacked.repository("bomb");
    attacked.mirror("bomb").await;
    let good = attacked.mirrored.until("bomb", "ok").await.head;
    let mut noise = vec![0; 40 << 20];
    let mut random = fs::File::open("/dev/urandom").unwrap();
    std::io::Read::read_exact(&mut random, &mut noise).unwrap();
    fs::write(work.join("noise"), noise).unwrap();
    git(&work, &["add", "-A"]);
    git(&work, &["commit", "-qm", "bomb"]);
    attacked.mirrored.run("bomb").await;
    let message = attacked.message("bomb", "too_large").await;
    assert!(message.contains("larger than 3000000 bytes"), "{message}");
    let mirror = attacked.mirrored.place("bomb");
    assert_eq!(Some(git(&mirror, &["rev-parse", "HEAD"])), good);
    git(&mirror, &["fsck", "--full"]);
    let client = attacked.mirrored.stack.client("acme");
    assert_eq!(found(&client, "bomb", "needle").await, Some(1));
    attacked.assert_unharmed(&["bomb"]).await;
}

#[tokio::test]
async fn a_listing_that_lies_adds_nothing_but_what_is_good() {
    let attacked = Attacked::start(&[]).await;
    let (mirrored, host) = (&attacked.mirrored, &attacked.mirrored.host);
    let other = GitHost::start("ada:sesame").await;
    other.add("acme/x", Repo::new().file("a.txt", "stolen\n").commit());
    attacked.repository("acme/good");
    let mut good = host.entry(1, "acme/good", 1);
    good["description"] = json!("\u{1b}[2Ja\u{202e}b");
    good["topics"] = json!(["\u{7}web"]);
    let canary = attacked.canary().display().to_string();
    let urls = [
        format!("ext::sh -c touch% {canary}"),
        format!("-oProxyCommand=touch {canary}"),
        format!("ssh://-oProxyCommand=touch${{IFS}}{canary}/x"),
        format!("{}/--upload-pack=touch", host.base()),
        other.url("acme/x"),
        "file:///etc".to_owned(),
    ];
    let mut entries: Vec<Value> = vec![good.clone()];
    for (id, url) in (2..).zip(urls) {
        let mut entry = host.entry(id, "acme/bad", 1);
        entry["clone_url"] = json!(url);
        entries.push(entry);
    }
    for (id, name) in [
        (20, "../../x"),
        (21, "\u{1b}[2J"),
        (22, ".git/hooks"),
        (23, "--x"),
    ] {
        entries.push(host.entry(id, &format!("acme/{name}"), 1));
    }
    host.list(entries);
    mirrored.connect(json!({})).await;
    mirrored.until("good", "ok").await;
    let client = mirrored.stack.client("acme");
    mirrored.until_served(&client, &["good"]).await;
    let listed = client.call("list_projects", json!({})).await;
    let listed = &listed.structured()["projects"][0];
    assert_eq!(listed["description"], "[2Ja\\u{202e}b");
    assert_eq!(listed["topics"], json!(["web"]));
    let row = mirrored.connection().await;
    assert_eq!((row.served, row.left_out, row.message), (1, 10, None));
    assert_eq!(other.requests(), Vec::<String>::new());

    // A very long one changes nothing.
    let many = (1..=5_001).map(|id| host.entry(id, &format!("acme/r{id}"), 1));
    host.list(many.collect());
    let message = mirrored.list_now(false).await.message.unwrap();
    assert!(
        message.contains("5000") && message.contains("`max`"),
        "{message}"
    );
    mirrored.until_served(&client, &["good"]).await;
    attacked.assert_unharmed(&["good"]).await;
}
