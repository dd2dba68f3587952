//! Mirrors of a machine's own: when the machine is ready, and whose repositories it has.

use std::fs;
use std::net::TcpListener;

use archway_sync::{SyncPorts, Syncer};
use e2e::{Repo, Stack, credentials, git, http::Request, send_hook};
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::connections::add;
use super::mirrored::{Arguments, Mirrored, RunningSync};

/// The machine of most of these tests.
const PLACE: &str = "worker-0";

/// A process for a folder of its own.
fn start(stack: &Stack, repos: &TempDir, credentials: &TempDir, pool: &str) -> RunningSync {
    start_at(PLACE, stack, repos, credentials, pool)
}

/// A process of this machine.
fn start_at(
    machine: &str,
    stack: &Stack,
    repos: &TempDir,
    credentials: &TempDir,
    pool: &str,
) -> RunningSync {
    let folder = credentials.path().to_str().unwrap();
    let arguments = [
        "sync",
        "--local",
        "--volume-percent=100",
        "--pool",
        pool,
        "--credentials",
        folder,
    ];
    let config = Arguments::config_of(arguments);
    let [listener, hooks_listener] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [admin, hooks] = [&listener, &hooks_listener].map(|it| it.local_addr().unwrap());
    let ports = SyncPorts {
        admin: listener,
        hooks: Some(hooks_listener),
    };
    let database = stack.database().owner().username("archway_sync");
    let syncer = Syncer::new(config, repos.path().to_owned(), database, machine);
    let stop = CancellationToken::new();
    let ending = stop.clone();
    let serving = tokio::spawn(async move { syncer.serve(ports, ending).await.unwrap() });
    RunningSync {
        stop,
        serving,
        admin,
        hooks,
    }
}

async fn stop(running: RunningSync) {
    running.stop.cancel();
    running.serving.await.unwrap();
}

async fn ready(running: &RunningSync) -> (u16, String) {
    let answer = Request::new("GET", "/readyz").send(running.admin).await;
    (answer.status, answer.text())
}

pub(super) async fn until_ready(stack: &Stack, running: &RunningSync) {
    let is_ready = async || (ready(running).await.0 == 200).then_some(());
    stack.eventually(is_ready).await;
}

/// The metrics of a process that has no mirrors.
pub(crate) async fn metrics(stack: &Stack) -> String {
    let (repos, credentials) = (tempfile::tempdir().unwrap(), credentials(&[]));
    let running = start(stack, &repos, &credentials, "shared");
    until_ready(stack, &running).await;
    let measured = async || {
        let text = Request::new("GET", "/metrics").send(running.admin).await;
        let text = text.text();
        (!text.contains("archway_sync_volume_used_ratio 0.0\n")).then_some(text)
    };
    let text = stack.eventually(measured).await;
    stop(running).await;
    text
}

#[tokio::test]
async fn a_machine_is_ready_once_each_repository_was_tried() {
    let mut mirrored = Mirrored::start().await;
    mirrored.stop_sync().await;
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/slow.git", silent.local_addr().unwrap());
    mirrored.add("slow", &url, None, None).await;
    mirrored
        .host
        .add("acme/site", Repo::new().file("a.txt", "needle\n").commit());
    let url = mirrored.host.url("acme/site");
    mirrored.add("site", &url, None, Some("host")).await;
    mirrored.add("wrong", &url, None, Some("wrong")).await;
    let repos = tempfile::tempdir().unwrap();
    let running = start(&mirrored.stack, &repos, &mirrored.credentials, "shared");
    let row = mirrored.until("site", "ok").await;
    assert_eq!(row.place, PLACE);
    mirrored.until("wrong", "credential_refused").await;
    assert!(repos.path().join("acme/site/HEAD").exists());
    let (status, reason) = ready(&running).await;
    assert_eq!(
        (status, reason.as_str()),
        (503, "some repositories were not cloned yet\n")
    );
    // The remote that said nothing ends the connection, which is an answer.
    drop(silent);
    until_ready(&mirrored.stack, &running).await;
    let metrics = Request::new("GET", "/metrics").send(running.admin).await;
    let metrics = metrics.text();
    for line in [
        "archway_sync_mirrors{state=\"ok\"} 1\n",
        "archway_sync_mirrors{state=\"credential_refused\"} 1\n",
        "archway_sync_mirrors{state=\"new\"} 0\n",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    assert!(
        !metrics.contains("acme"),
        "no metric names a tenant: {metrics}"
    );
    stop(running).await;
}

#[tokio::test]
async fn a_machine_whose_volume_was_lost_is_ready_once_it_has_cloned_again() {
    let mut mirrored = Mirrored::start().await;
    mirrored.stop_sync().await;
    mirrored
        .host
        .add("acme/site", Repo::new().file("a.txt", "needle\n").commit());
    let url = mirrored.host.url("acme/site");
    mirrored.add("site", &url, None, Some("host")).await;
    let repos = tempfile::tempdir().unwrap();
    let start = || start(&mirrored.stack, &repos, &mirrored.credentials, "shared");
    let running = start();
    until_ready(&mirrored.stack, &running).await;
    stop(running).await;
    fs::remove_dir_all(repos.path().join("acme")).unwrap();
    let running = start();
    until_ready(&mirrored.stack, &running).await;
    assert!(repos.path().join("acme/site/HEAD").exists());
    assert_eq!(mirrored.mirror("site").await.unwrap().state, "ok");
    stop(running).await;
}

#[tokio::test]
async fn a_machine_mirrors_the_repositories_of_its_pool_alone() {
    let mut mirrored = Mirrored::start().await;
    mirrored.stop_sync().await;
    mirrored
        .host
        .add("acme/site", Repo::new().file("a.txt", "needle\n").commit());
    let url = mirrored.host.url("acme/site");
    mirrored.add("site", &url, None, Some("host")).await;
    let repos = tempfile::tempdir().unwrap();
    let start = || start(&mirrored.stack, &repos, &mirrored.credentials, "gold");
    let running = start();
    until_ready(&mirrored.stack, &running).await;
    stop(running).await;
    assert_eq!(mirrored.mirror("site").await.unwrap().place, "");
    move_to(&mirrored, "gold").await;
    let running = start();
    assert_eq!(mirrored.until("site", "ok").await.place, PLACE);
    assert!(repos.path().join("acme/site/HEAD").exists());
    stop(running).await;
    move_to(&mirrored, "shared").await;
    let running = start();
    let is_gone = async || {
        let row = mirrored.mirror("site").await.unwrap();
        row.place.is_empty().then_some(())
    };
    mirrored.stack.eventually(is_gone).await;
    stop(running).await;
}

async fn move_to(mirrored: &Mirrored, pool: &str) {
    let mut tx = mirrored.stack.tenants().begin().await.unwrap();
    let tenant = tx.find_tenant("acme").await.unwrap();
    tx.set_pool(tenant, pool).await.unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn one_machine_lists_for_all_and_each_hears_of_a_webhook() {
    let mut mirrored = Mirrored::start().await;
    mirrored.stop_sync().await;
    mirrored.host.list(vec![add(&mirrored, 1, "acme/site")]);
    mirrored.connect(json!({})).await;
    let repos = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let (stack, folder) = (&mirrored.stack, &mirrored.credentials);
    let first = start_at(PLACE, stack, &repos[0], folder, "shared");
    let second = start_at("worker-1", stack, &repos[1], folder, "shared");
    let are_both = async |have: &str| {
        let both =
            format!("select count(*) = 2 from mirrors where leased_until < now() and {have}");
        let are_both = async || mirrored.ask::<bool>(&both).await.then_some(());
        stack.eventually(are_both).await;
    };
    are_both("state = 'ok'").await;
    let pages = || {
        let requests = mirrored.host.requests().into_iter();
        requests.filter(|it| it.contains("/api/")).count()
    };
    for _ in 0..3 {
        let before = pages();
        mirrored.list_now(false).await;
        assert_eq!(pages(), before + 1);
    }
    // Neither a listing nor the schedule will do it.
    for sql in [
        "update listings set next_at = now() + interval '1 hour'",
        "update mirrors set next_at = now() + interval '1 hour', tried_at = now() - interval '1 minute'",
    ] {
        mirrored.execute(sql).await;
    }
    let work = mirrored.host.folder("acme/site");
    git(&work, &["commit", "-q", "--allow-empty", "-m", "two"]);
    let event = ("push", 1, "acme/site");
    let sent = send_hook(first.hooks, "/hooks/acme/org", "hush", event).await;
    assert_eq!(sent, 202);
    let head = git(&work, &["rev-parse", "HEAD"]);
    are_both(&format!("head = '{head}'")).await;
    for repos in &repos {
        let mirror = repos.path().join("acme/site");
        assert_eq!(git(&mirror, &["rev-parse", "HEAD"]), head);
    }
    stop(first).await;
    stop(second).await;
}
