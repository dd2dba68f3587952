//! Mirrors that are damaged, too large or another project's, and remotes whose HEAD names nothing.

use std::fs::File;

use super::*;
use crate::mirror::anew::{LEAST_LIFE, TRIED};

impl Sandbox {
    fn place(&self) -> PathBuf {
        self.mirrors.place("acme", "site")
    }

    /// Makes the mirror look as old.
    fn made_ago(&self, age: Duration) {
        self.written_ago("config", age);
    }

    fn written_ago(&self, file: &str, age: Duration) {
        let file = File::open(self.place().join(file)).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }

    /// Commits what does not become smaller by compression.
    fn commit_noise(&self, file: &str, bytes: usize) -> String {
        let noise: Vec<u8> = std::iter::repeat_with(|| *Uuid::new_v4().as_bytes())
            .take(bytes / 16)
            .flatten()
            .collect();
        fs::write(self.remote().join(file), noise).unwrap();
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", file]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Cuts the mirror's packs short.
    fn damage(&self) {
        let packs = fs::read_dir(self.place().join("objects/pack"))
            .unwrap()
            .flatten();
        for pack in packs
            .map(|file| file.path())
            .filter(|path| path.extension().is_some_and(|end| end == "pack"))
        {
            let mut permissions = fs::metadata(&pack).unwrap().permissions();
            #[expect(
                clippy::permissions_set_readonly_false,
                reason = "a file of the test's own folder"
            )]
            permissions.set_readonly(false);
            fs::set_permissions(&pack, permissions).unwrap();
            fs::write(&pack, "PACK").unwrap();
        }
    }
}

#[tokio::test]
async fn a_corrupt_mirror_is_cloned_anew_once_an_hour() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    sandbox.sync(None).await.unwrap();
    sandbox.damage();
    let second = sandbox.commit("second");
    let failure = sandbox.sync(None).await.unwrap_err();
    assert!(failure.is_corruption(), "{failure}");
    sandbox.made_ago(LEAST_LIFE);
    let synced = sandbox.sync(None).await.unwrap();
    assert_eq!((synced.head, synced.changed), (Some(second), true));
    sandbox.mirror(&["fsck", "--full", "--strict"]);
    let left = fs::read_dir(sandbox.mirrors.repos.join(BESIDE)).unwrap();
    assert_eq!(left.count(), 0, "the corrupt one is removed");
    sandbox.damage();
    sandbox.commit("third");
    sandbox.sync(None).await.unwrap_err();
}

#[tokio::test]
async fn a_fault_of_the_remote_replaces_no_mirror() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    sandbox.sync(None).await.unwrap();
    sandbox.made_ago(2 * LEAST_LIFE);
    let made = fs::metadata(sandbox.place()).unwrap();
    let commit = sandbox.commit("second");
    let (folder, file) = commit.split_at(2);
    let object = sandbox
        .remote()
        .join(".git/objects")
        .join(folder)
        .join(file);
    fs::remove_file(object).unwrap();
    let failure = sandbox.sync(None).await.unwrap_err();
    assert!(!failure.is_corruption(), "{failure}");
    let now = fs::metadata(sandbox.place()).unwrap();
    assert_eq!(made.created().unwrap(), now.created().unwrap());
}

#[tokio::test]
async fn an_old_repository_with_a_harmless_flaw_is_mirrored() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    let tree = sandbox.git(&["rev-parse", "HEAD^{tree}"]);
    let text = format!("tree {tree}\nauthor A <a@b> 1 +051800\ncommitter A<a> 1 +0000\n\nold\n");
    fs::write(sandbox.remote().join(".git/old"), text).unwrap();
    let old = sandbox.git(&[
        "hash-object",
        "-t",
        "commit",
        "--literally",
        "-w",
        ".git/old",
    ]);
    sandbox.git(&["update-ref", "refs/heads/main", &old]);
    assert_eq!(sandbox.sync(None).await.unwrap().head, Some(old));
}

#[tokio::test]
async fn another_projects_mirror_is_never_taken_over() {
    let mut sandbox = Sandbox::new();
    sandbox.commit("first");
    sandbox.sync(None).await.unwrap();
    sandbox.mirror(&["update-ref", "refs/heads/erased", "HEAD"]);
    sandbox.project_id = Uuid::new_v4();
    assert!(sandbox.sync(None).await.unwrap().changed);
    assert_eq!(sandbox.state().1, "refs/heads/main");
}

#[tokio::test]
async fn a_mirror_that_named_no_project_is_kept() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    sandbox.sync(None).await.unwrap();
    sandbox.mirror(&["config", "archway.mirror", "true"]);
    assert!(!sandbox.sync(None).await.unwrap().changed);
    assert_eq!(sandbox.mirrors.list().unwrap().len(), 1);
}

#[tokio::test]
async fn a_remote_whose_head_names_nothing_serves_a_usual_branch() {
    let sandbox = Sandbox::new();
    let first = sandbox.commit("first");
    sandbox.git(&["branch", "a-topic"]);
    sandbox.git(&["branch", "master"]);
    sandbox.git(&["symbolic-ref", "HEAD", "refs/heads/gone"]);
    sandbox.git(&["branch", "-D", "main"]);
    let synced = sandbox.sync(None).await.unwrap();
    assert_eq!((synced.head, synced.ref_gone), (Some(first.clone()), false));
    assert_eq!(sandbox.state().0, "ref: refs/heads/master");
    sandbox.git(&["branch", "main", "master"]);
    sandbox.sync(None).await.unwrap();
    assert_eq!(
        sandbox.state().0,
        "ref: refs/heads/master",
        "the served branch stays"
    );
    sandbox.git(&["symbolic-ref", "HEAD", "refs/heads/a-topic"]);
    sandbox.commit("second");
    sandbox.sync(None).await.unwrap();
    assert_eq!(sandbox.state().0, "ref: refs/heads/a-topic");
}

#[tokio::test]
async fn what_is_too_large_is_removed_though_it_came_at_once() {
    let mut sandbox = Sandbox::new();
    let first = sandbox.commit("first");
    sandbox.sync(None).await.unwrap();
    let before = git::folder_size(&sandbox.place()).unwrap();
    sandbox.limits.bytes = before + 100_000;
    let second = sandbox.commit_noise("noise", 320_000);
    for _ in 0..2 {
        let failure = sandbox.sync(None).await.unwrap_err();
        assert_eq!(failure.state, SyncState::TooLarge);
        assert_eq!(sandbox.mirror(&["rev-parse", "HEAD"]), first);
        let size = git::folder_size(&sandbox.place()).unwrap();
        assert!(size <= sandbox.limits.bytes, "{size} of {before}");
    }
    sandbox.mirror(&["fsck", "--full", "--strict"]);
    sandbox.limits.bytes = 1 << 30;
    let synced = sandbox.sync(None).await.unwrap();
    assert_eq!(synced.head, Some(second));
}

#[tokio::test]
async fn a_corrupt_mirror_is_not_cloned_again_right_after_a_clone_that_died() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    sandbox.sync(None).await.unwrap();
    sandbox.damage();
    let second = sandbox.commit("second");
    sandbox.made_ago(LEAST_LIFE);
    // A clone cannot be made where a file is.
    let beside = sandbox.mirrors.repos.join(BESIDE);
    fs::remove_dir(&beside).unwrap();
    fs::write(&beside, "").unwrap();
    sandbox.sync(None).await.unwrap_err();
    fs::remove_file(&beside).unwrap();
    let failure = sandbox.sync(None).await.unwrap_err();
    assert!(failure.is_corruption(), "{failure}");
    sandbox.written_ago(TRIED, LEAST_LIFE);
    assert_eq!(sandbox.sync(None).await.unwrap().head, Some(second));
}

#[tokio::test]
async fn a_mirror_that_force_pushes_made_too_large_is_cloned_anew() {
    let mut sandbox = Sandbox::new();
    sandbox.commit("first");
    sandbox.commit_noise("noise", 320_000);
    sandbox.sync(None).await.unwrap();
    sandbox.limits.bytes = git::folder_size(&sandbox.place()).unwrap() + 100_000;
    sandbox.git(&["reset", "-q", "--hard", "HEAD^"]);
    let second = sandbox.commit_noise("other", 320_000);
    let failure = sandbox.sync(None).await.unwrap_err();
    assert_eq!(failure.state, SyncState::TooLarge, "it is too young");
    sandbox.made_ago(LEAST_LIFE);
    let synced = sandbox.sync(None).await.unwrap();
    assert_eq!((synced.head, synced.changed), (Some(second), true));
    assert!(synced.bytes <= sandbox.limits.bytes);

    // What the remote has is itself too large: that is tried once.
    let third = sandbox.commit_noise("more", 320_000);
    sandbox.made_ago(LEAST_LIFE);
    for _ in 0..2 {
        let failure = sandbox.sync(None).await.unwrap_err();
        assert_eq!(failure.state, SyncState::TooLarge);
    }
    let tried = fs::metadata(sandbox.place().join(TRIED)).unwrap();
    sandbox.written_ago(TRIED, LEAST_LIFE);
    sandbox.sync(None).await.unwrap_err();
    let now = fs::metadata(sandbox.place().join(TRIED)).unwrap();
    assert!(now.modified().unwrap() < tried.modified().unwrap());
    sandbox.limits.bytes = 1 << 30;
    assert_eq!(sandbox.sync(None).await.unwrap().head, Some(third));
}

#[tokio::test]
async fn a_large_file_is_received_in_little_memory() {
    let mut sandbox = Sandbox::new();
    let large = File::create(sandbox.remote().join("large")).unwrap();
    large.set_len(256 << 20).unwrap();
    sandbox.git(&["config", "core.bigFileThreshold", "1m"]);
    let commit = sandbox.commit("small");
    // Written by another process: no other test's child has it open while it is started.
    let folder = sandbox.temp.path().join("bin");
    fs::create_dir(&folder).unwrap();
    let script = "printf '#!/bin/sh\\nulimit -v 240000\\nexec git \"$@\"\\n' > git && chmod +x git";
    let mut shell = Command::new("sh");
    let made = shell.args(["-c", script]).current_dir(&folder).status();
    assert!(made.unwrap().success());
    let repos = sandbox.mirrors.repos.clone();
    let git = sandbox.mirrors.git.clone().in_folder(&folder);
    sandbox.mirrors = Mirrors::new(repos, git);
    assert_eq!(sandbox.sync(None).await.unwrap().head, Some(commit));
}

#[tokio::test]
async fn a_mirror_that_a_killed_exchange_left_aside_is_put_back() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    sandbox.sync(None).await.unwrap();
    let inode = || {
        use std::os::unix::fs::MetadataExt as _;
        fs::metadata(sandbox.place().join("config")).unwrap().ino()
    };
    let before = inode();
    let beside = sandbox.mirrors.repos.join(".sync");
    fs::create_dir_all(&beside).unwrap();
    fs::rename(sandbox.place(), beside.join("acme+site+1+old")).unwrap();
    assert!(!sandbox.sync(None).await.unwrap().changed);
    assert_eq!(inode(), before, "it was not cloned again");
}
