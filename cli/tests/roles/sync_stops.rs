//! `archway sync` as a process that is probed, found by `archway status`, and stopped in mid-clone.

use rustix::process::Signal;
use serde_json::Value;

use super::mirrors::started_by_sync;
use crate::git_daemon::GitDaemon;
use crate::http::get;
use crate::role::{Role, archway, wait_until};
use crate::stage::Stage;

#[test]
fn sync_stopped_in_mid_clone_drains_and_leaves_its_mirror_due() {
    let stage = Stage::set();
    let daemon = GitDaemon::start();
    daemon.add("slow", 1 << 20);
    daemon.slow_down(4_000, 1);
    let repos = stage.path("repos");
    let mut sync = stage.sync(&repos);
    sync.args(["--drain-delay", "5"]);
    let sync = Role::start(sync);
    let confined = sync.log.recv().unwrap();
    assert!(confined.contains("confined to the mirrors"), "{confined}");
    let is_alive = || get(&sync.admin, "/healthz").unwrap().status == 200;
    assert!(is_alive());
    stage.mirror_of("slow", &daemon.url("slow"));
    wait_until("git clones", || !started_by_sync(&repos).is_empty());
    sync.signal(Signal::TERM);
    sync.becomes(503, "draining");
    assert!(is_alive(), "probes are answered while it drains");
    let (code, log) = sync.end();
    assert_eq!(code, Some(0), "{log}");
    wait_until("git has ended", || started_by_sync(&repos).is_empty());
    assert!(!repos.join("acme/slow").exists());
    let left = std::fs::read_dir(repos.join(".sync")).unwrap();
    assert_eq!(left.count(), 0);
    let sql = "select count(*) from mirrors \
               where is_requested and next_at <= now() and leased_until = '-infinity'";
    let due = sqlx::query_scalar(sql).fetch_one(&stage.owner);
    let due: i64 = stage.runtime.block_on(due).unwrap();
    assert_eq!(due, 1, "another process need not wait for the lease");
}

#[test]
fn status_finds_a_process_of_sync_by_itself() {
    let stage = Stage::set();
    let sync = Role::start(stage.sync(&stage.path("repos")));
    let owner = stage.url(stage.database().get_username());
    let shown = || -> Value {
        let mut status = archway(&["status", "--json"]);
        let status = status.env("ARCHWAY_MIGRATE_DATABASE_URL", &owner).output();
        serde_json::from_slice(&status.unwrap().stdout).unwrap_or_default()
    };
    wait_until("it is found", || shown()["sync"][0]["ready"] == true);
    let row = &shown()["sync"][0];
    assert_eq!(row["url"], format!("http://{}/readyz", sync.admin));
    assert_eq!(row["status"]["version"], env!("CARGO_PKG_VERSION"));
}
