//! `archway sync` as a process that is killed, waits for a slow remote, and fills its volume.

use std::collections::HashMap;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, geteuid, kill_process};

use crate::git_daemon::{GitDaemon, commit, git, try_git};
use crate::role::{LOOK, Role, wait_until};
use crate::stage::Stage;

/// From the begin of a run to the end of its process, in milliseconds.
const DELAYS: [u64; 4] = [20, 90, 250, 700];
/// One more than a mirror may have before they are combined.
const PACKS: usize = 17;

/// Reads a mirror all the time, as a worker would, and remembers what was wrong.
struct Reader {
    /// How many commits each head has.
    heads: Arc<Mutex<HashMap<String, usize>>>,
    stop: Arc<AtomicBool>,
    reading: JoinHandle<Result<usize, String>>,
}

impl Reader {
    fn start(mirror: PathBuf) -> Reader {
        let heads = Arc::new(Mutex::new(HashMap::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let (known, stopped) = (Arc::clone(&heads), Arc::clone(&stop));
        let reading = spawn(move || {
            let mut reads = 0;
            while !stopped.load(Ordering::SeqCst) {
                if mirror.exists() {
                    read(&mirror, &known)?;
                    reads += 1;
                }
                sleep(LOOK);
            }
            Ok(reads)
        });
        Reader {
            heads,
            stop,
            reading,
        }
    }

    /// A commit that the remote now has.
    fn expect(&self, head: &str) {
        let mut heads = self.heads.lock();
        let commits = heads.len() + 1;
        heads.insert(head.to_owned(), commits);
    }

    fn end(self) -> Result<usize, String> {
        self.stop.store(true, Ordering::SeqCst);
        self.reading.join().unwrap()
    }
}

/// HEAD is one of the remote's, with all its commits, trees and files.
fn read(mirror: &Path, heads: &Mutex<HashMap<String, usize>>) -> Result<(), String> {
    let log = try_git(mirror, &["log", "--format=%H", "HEAD"])?;
    let head = log.lines().next().unwrap_or_default();
    let commits = heads.lock().get(head).copied();
    if commits != Some(log.lines().count()) {
        return Err(format!("{commits:?} commits were expected: {log}"));
    }
    let fsck = ["fsck", "--connectivity-only", "--no-dangling"];
    try_git(mirror, &fsck).map(drop)
}

/// The processes that a process of sync with these mirrors started.
pub(super) fn started_by_sync(repos: &Path) -> Vec<Pid> {
    let sign = format!("GIT_CEILING_DIRECTORIES={}", repos.display());
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_one = |id: &i32| {
        let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        environment
            .split(|byte| *byte == 0)
            .any(|it| it == sign.as_bytes())
    };
    ids.filter(is_one).filter_map(Pid::from_raw).collect()
}

/// Starts sync, and kills it so long after it began to run the mirror: alone, or with all that it started.
fn kill_while_it_runs(stage: &Stage, repos: &Path, delay: u64, is_alone: bool) {
    let leases = stage.mirror("big").map_or(0, |mirror| mirror.leases);
    let sync = Role::start(stage.sync(repos));
    stage.until_mirror("big", "leased", |mirror| mirror.leases > leases);
    sleep(Duration::from_millis(delay));
    sync.signal(Signal::KILL);
    if !is_alone {
        for process in started_by_sync(repos) {
            // It may have ended by itself.
            kill_process(process, Signal::KILL).ok();
        }
    }
    sync.end();
    // Its lease is good for a minute, in which git ends by itself.
    wait_until("git has ended", || started_by_sync(repos).is_empty());
    stage.make_due("big");
}

/// Fetches small commits into the mirror, each as a pack of its own.
fn fetch_packs(work: &Path, mirror: &Path, reader: &Reader) {
    for _ in 0..PACKS {
        reader.expect(&commit(work, 100));
        let refspec = "+refs/heads/main:refs/archway/heads/main";
        let fetch = ["-c", "fetch.unpackLimit=1", "fetch", "-q"];
        let work = work.to_str().unwrap();
        let arguments: Vec<&str> = fetch.into_iter().chain([work, refspec]).collect();
        git(mirror, &arguments);
    }
}

#[test]
fn a_mirror_is_whole_whenever_sync_is_killed() {
    let stage = Stage::set();
    let daemon = GitDaemon::start();
    let (repos, work) = (stage.path("repos"), daemon.add("big", 2 << 20));
    let mirror = repos.join("acme/big");
    let reader = Reader::start(mirror.clone());
    reader.expect(&git(&work, &["rev-parse", "HEAD"]));
    daemon.slow_down(0, 4 << 20);
    stage.mirror_of("big", &daemon.url("big"));
    for (number, delay) in DELAYS.into_iter().enumerate() {
        kill_while_it_runs(&stage, &repos, delay, number % 2 == 0);
        let left = std::fs::read_dir(repos.join(".sync")).map_or(0, Iterator::count);
        assert!(left <= 1, "clone {number} left {left} folders");
    }
    let sync = Role::start(stage.sync(&repos));
    stage.until("big", "ok");
    drop(sync);
    for (number, delay) in DELAYS.into_iter().enumerate() {
        reader.expect(&commit(&work, 1 << 20));
        kill_while_it_runs(&stage, &repos, delay, number % 2 == 0);
    }
    daemon.slow_down(u64::MAX, u64::MAX);
    for (number, delay) in DELAYS.into_iter().enumerate() {
        fetch_packs(&work, &mirror, &reader);
        reader.expect(&commit(&work, 100));
        kill_while_it_runs(&stage, &repos, delay, number % 2 == 1);
    }
    let head = commit(&work, 100);
    reader.expect(&head);
    let sync = Role::start(stage.sync(&repos));
    stage.until_mirror("big", "as its remote", |it| it.head == head);
    assert_eq!(stage.until("big", "ok").message, "");
    drop(sync);
    let reads = reader.end().unwrap();
    assert!(reads > 20, "{reads}");
    git(&mirror, &["fsck", "--full", "--strict"]);
    assert_eq!(git(&mirror, &["rev-parse", "HEAD"]), head);
    let left = std::fs::read_dir(repos.join(".sync")).unwrap();
    assert_eq!(left.count(), 0);
}

#[test]
fn a_remote_that_sends_a_byte_a_second_keeps_nobody_waiting() {
    let stage = Stage::set();
    let (silent, slow, fast) = (GitDaemon::start(), GitDaemon::start(), GitDaemon::start());
    let repos = stage.path("repos");
    silent.slow_down(0, 1);
    // The commit and the tree come, and then the file.
    slow.slow_down(4_000, 1);
    for (slug, daemon) in [("silent", &silent), ("slow", &slow), ("fast", &fast)] {
        daemon.add(slug, 1 << 20);
    }
    let mut sync = stage.sync(&repos);
    sync.args(["--silence", "5", "--clone-timeout", "20"]);
    let sync = Role::start(sync);
    for (slug, daemon) in [("silent", &silent), ("slow", &slow)] {
        stage.mirror_of(slug, &daemon.url(slug));
        stage.until_mirror(slug, "cloning", |mirror| mirror.state == "cloning");
    }
    stage.mirror_of("fast", &fast.url("fast"));
    stage.until("fast", "ok");
    for slug in ["silent", "slow"] {
        assert_eq!(stage.mirror(slug).unwrap().state, "cloning", "{slug}");
    }
    let ended = stage.until("silent", "backing_off");
    assert_eq!(ended.message, "no byte came for 5 s");
    let ended = stage.until("slow", "backing_off");
    assert!(
        ["no byte came for 5 s", "it took longer than 20 s"].contains(&ended.message.as_str()),
        "{ended:?}"
    );
    wait_until("git has ended", || started_by_sync(&repos).is_empty());
    assert!(!repos.join("acme/slow").exists() && !repos.join("acme/silent").exists());
    let left = std::fs::read_dir(repos.join(".sync")).unwrap();
    assert_eq!(left.count(), 0);
    sync.becomes(200, "ready");
}

/// The command, with a small volume at `repos` that only it sees.
fn on_small_volume(command: &Command, repos: &Path) -> Command {
    let mount = r#"mount -t tmpfs -o size=8m none "$0" && exec "$@""#;
    let mut unshare = Command::new("unshare");
    if !geteuid().is_root() {
        unshare.arg("--map-root-user");
    }
    unshare.args(["--mount", "sh", "-c", mount]).arg(repos);
    started_by(unshare, command)
}

/// The command, which sees the files that another process sees.
fn beside(command: &Command, process: u32) -> Command {
    let mut nsenter = Command::new("nsenter");
    nsenter.args(["--target", &process.to_string(), "--mount"]);
    if !geteuid().is_root() {
        nsenter.args(["--user", "--preserve-credentials"]);
    }
    started_by(nsenter, command)
}

/// Runs git in a mirror that another process sees.
fn git_beside(process: u32, mirror: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.arg("--git-dir").arg(mirror).args(arguments);
    let output = beside(&git, process).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn started_by(mut outer: Command, command: &Command) -> Command {
    outer.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    outer
}

/// Fills the volume to its last byte.
fn fill(file: &Path) {
    let file = std::fs::File::create(file).unwrap();
    let (mut length, block) = (0, [1; 4096]);
    while let Ok(written @ 1..) = file.write_at(&block, length) {
        length += written as u64;
    }
}

#[test]
fn a_full_volume_is_told_and_what_was_mirrored_is_served() {
    let stage = Stage::set();
    let daemon = GitDaemon::start();
    let work = daemon.add("old", 1 << 20);
    daemon.add("late", 100);
    let repos = stage.path("volume");
    std::fs::create_dir(&repos).unwrap();
    let mirror = repos.join("acme/old");
    let sync = Role::start(on_small_volume(&stage.sync(&repos), &repos));
    stage.mirror_of("old", &daemon.url("old"));
    let served = stage.until("old", "ok").head;
    // As this process sees what only that one has mounted.
    let root = format!("/proc/{}/root{}", sync.id(), repos.display());
    let volume = Path::new(&root);
    fill(&volume.join("filler"));
    let new = commit(&work, 1 << 20);
    stage.make_due("old");
    stage.mirror_of("late", &daemon.url("late"));
    for slug in ["old", "late"] {
        let full = stage.until(slug, "no_space");
        let told = full.message.to_lowercase();
        assert!(told.contains("space") || told.contains("full"), "{full:?}");
        assert!(!told.contains("/tmp"), "{full:?}");
    }
    let mut worker = stage.worker("127.0.0.1:0");
    worker.env("ARCHWAY_REPOS", &repos);
    let worker = Role::start(beside(&worker, sync.id()));
    let gateway = Role::start(stage.gateway(&worker.address));
    gateway.becomes(200, "ready");
    let recent = || {
        let arguments = r#"{"project":"old"}"#;
        stage.call(&gateway, "git_log", arguments).unwrap().body
    };
    wait_until(&format!("{served} is served: {}", recent()), || {
        recent().contains(&served)
    });
    git_beside(sync.id(), &mirror, &["fsck", "--full"]);
    std::fs::remove_file(volume.join("filler")).unwrap();
    for slug in ["old", "late"] {
        stage.make_due(slug);
        stage.until(slug, "ok");
    }
    let head = git_beside(sync.id(), &mirror, &["rev-parse", "HEAD"]);
    assert_eq!(head, new);
    wait_until("the new state is served", || recent().contains(&new));
}
