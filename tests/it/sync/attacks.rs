//! Hosts and repositories that attack `archway sync`: nothing of theirs runs, nothing leaves the mirrors' folder, and
//! other repositories are served meanwhile.

mod refs;
mod trees;

use std::fs;
use std::path::{Path, PathBuf};

use e2e::{Client, GitHost, Repo, git};
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
            // The name of a ref may have it.
            aside: tempfile::Builder::new().prefix("canary").tempdir().unwrap(),
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

    /// Waits until agents find so many lines with `needle` in a project.
    async fn until_found(&self, slug: &str, lines: u64) -> Client {
        let stack = &self.mirrored.stack;
        let client = stack.client("acme");
        let is_listed = async || {
            let listed = client.call("list_projects", json!({})).await;
            let projects = listed.structured()["projects"].as_array()?.clone();
            projects.iter().any(|it| it["slug"] == slug).then_some(())
        };
        stack.eventually(is_listed).await;
        let found = async || {
            let found = found(&client, slug, "needle").await;
            found.filter(|found| *found == lines)
        };
        stack.eventually(found).await;
        client
    }

    /// Nothing ran, nothing was written elsewhere, and another repository is mirrored and served. `mirrors` are
    /// those of the attackers.
    async fn assert_unharmed(&self, mirrors: &[&str]) {
        self.repository("harmless");
        self.mirror("harmless").await;
        self.mirrored.until("harmless", "ok").await;
        self.until_found("harmless", 1).await;
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
    attacked.until_found("bomb", 1).await;
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
    for (id, name) in [(20, "../../x"), (21, "\u{1b}[2J"), (23, "--x")] {
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
    assert_eq!((row.served, row.left_out, row.message), (1, 9, None));
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
