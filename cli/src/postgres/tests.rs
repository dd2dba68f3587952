//! Starts real servers, in temporary folders.

use std::path::Path;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tempfile::TempDir;

use super::*;

/// A data folder that PostgreSQL's user can reach, even if the tests run as root.
fn home() -> TempDir {
    tempfile::Builder::new()
        .prefix("archway-test-")
        .tempdir_in("/tmp")
        .unwrap()
}

async fn start(data: &DataDir) -> EmbeddedPostgres {
    let bin = std::env::var_os("ARCHWAY_POSTGRES_BIN").map(PathBuf::from);
    EmbeddedPostgres::start(data, &PostgresConfig { bin })
        .await
        .unwrap()
}

async fn run(postgres: &EmbeddedPostgres, statement: &'static str) -> PgConnection {
    let mut connection = postgres.owner().connect().await.unwrap();
    sqlx::query(statement)
        .execute(&mut connection)
        .await
        .unwrap();
    connection
}

async fn count_notes(postgres: &EmbeddedPostgres) -> i64 {
    let mut connection = postgres.owner().connect().await.unwrap();
    sqlx::query_scalar("select count(*) from notes")
        .fetch_one(&mut connection)
        .await
        .unwrap()
}

fn postmaster(data: &DataDir) -> Pid {
    let text = std::fs::read_to_string(data.path().join("postgres/postmaster.pid")).unwrap();
    Pid::from_raw(text.lines().next().unwrap().parse().unwrap()).unwrap()
}

/// The server's own processes. If it is killed they end by themselves, a moment later; until then they
/// have its shared memory.
fn children(server: Pid) -> Vec<Pid> {
    let file = format!("/proc/{0}/task/{0}/children", server.as_raw_pid());
    let listed = std::fs::read_to_string(file).unwrap_or_default();
    let pids = listed.split_whitespace();
    pids.filter_map(|pid| Pid::from_raw(pid.parse().ok()?))
        .collect()
}

/// The shell and its reader.
#[cfg(target_os = "linux")]
fn supervisors(data: &DataDir) -> Vec<Pid> {
    let supervises = |pid: &Pid| {
        let line = std::fs::read(format!("/proc/{}/cmdline", pid.as_raw_pid())).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains("archway-postgres") && line.contains(data.path().to_str().unwrap())
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(Pid::from_raw).filter(supervises).collect()
}

async fn gone(pid: Pid) {
    let gone = async {
        // A zombie that was not reaped stays in the table, without a command line.
        let line = format!("/proc/{}/cmdline", pid.as_raw_pid());
        while test_kill_process(pid).is_ok() && std::fs::read(&line).is_ok_and(|l| !l.is_empty()) {
            tokio::time::sleep(POLL).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone)
        .await
        .unwrap();
}

#[tokio::test]
async fn data_survives_a_restart() {
    let home = home();
    let data = DataDir::open(home.path()).unwrap();
    let first = start(&data).await;
    drop(run(&first, "create table notes as select 1").await);
    let (server, sockets) = (postmaster(&data), first.sockets.path().to_owned());
    assert!(first.owner_url().contains("archway"));
    first.stop().await.unwrap();
    gone(server).await;
    assert!(!sockets.exists());
    assert!(!data.path().join("postgres/postmaster.pid").exists());

    let second = start(&data).await;
    assert_eq!(count_notes(&second).await, 1);
    second.stop().await.unwrap();
}

#[tokio::test]
async fn it_listens_on_a_private_socket_only() {
    let home = home();
    let data = DataDir::open(home.path()).unwrap();
    let postgres = start(&data).await;
    let mut connection = postgres.owner().connect().await.unwrap();
    let tcp: String = sqlx::query_scalar("show listen_addresses")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(tcp, "");
    assert_eq!(mode(postgres.sockets.path()), 0o700);
    assert_eq!(mode(&data.path().join("postgres")), 0o700);
    assert_eq!(mode(data.path()) & 0o007, 0);
    connection.close().await.unwrap();
    postgres.stop().await.unwrap();
}

#[tokio::test]
async fn a_dead_server_is_noticed_and_the_next_one_recovers() {
    let home = home();
    let data = DataDir::open(home.path()).unwrap();
    let mut first = start(&data).await;
    drop(run(&first, "create table notes as select 1").await);
    kill_process(postmaster(&data), Signal::KILL).unwrap();
    let end = first.ended().await.to_string();
    assert!(end.contains("ended by itself"), "{end}");
    first.stop().await.unwrap();

    let second = start(&data).await;
    assert_eq!(count_notes(&second).await, 1);
    second.stop().await.unwrap();
}

#[tokio::test]
async fn a_dead_server_is_restarted_at_the_same_socket_with_its_data() {
    let home = home();
    let data = DataDir::open(home.path()).unwrap();
    let mut postgres = start(&data).await;
    drop(run(&postgres, "create table notes as select 1").await);
    let (server, url) = (postmaster(&data), postgres.owner_url());
    for _ in 0..2 {
        kill_process(postmaster(&data), Signal::KILL).unwrap();
        postgres.ended().await;
        postgres.start_again().await.unwrap();
        assert_eq!(count_notes(&postgres).await, 1);
    }
    assert_ne!(postmaster(&data), server);
    assert_eq!(postgres.owner_url(), url);
    postgres.stop().await.unwrap();
}

#[tokio::test]
async fn a_missing_cluster_is_not_replaced_by_an_empty_one() {
    let home = home();
    let data = DataDir::open(home.path()).unwrap();
    let mut postgres = start(&data).await;
    let cluster = data.path().join("postgres");
    let aside = data.path().join("aside");
    std::fs::rename(&cluster, &aside).unwrap();
    let server = std::fs::read_to_string(aside.join("postmaster.pid")).unwrap();
    let server = server.lines().next().unwrap().parse().unwrap();
    kill_process(Pid::from_raw(server).unwrap(), Signal::KILL).unwrap();
    postgres.ended().await;
    let refusal = postgres.start_again().await.unwrap_err().in_a_line();
    assert!(refusal.contains("holds no PostgreSQL cluster"), "{refusal}");
    assert!(!cluster.exists());

    std::fs::rename(&aside, &cluster).unwrap();
    postgres.start_again().await.unwrap();
    postgres.stop().await.unwrap();
}

#[tokio::test]
async fn a_server_that_never_answers_is_waited_for_no_longer_than_a_start() {
    let home = home();
    let data = DataDir::open(home.path()).unwrap();
    let mut postgres = start(&data).await;
    let server = postmaster(&data);
    kill_process(server, Signal::STOP).unwrap();
    let refusal = postgres.first_connection(Duration::from_millis(200)).await;
    assert!(
        matches!(refusal, Err(PostgresError::NotReady(_))),
        "{refusal:?}"
    );
    kill_process(server, Signal::CONT).unwrap();
    postgres.stop().await.unwrap();
}

#[tokio::test]
async fn a_recreated_data_folder_is_left_to_its_new_owner_and_server() {
    let home = home();
    let path = home.path().join("data");
    let data = DataDir::open(&path).unwrap();
    let mut first = start(&data).await;
    kill_process(postmaster(&data), Signal::KILL).unwrap();
    first.server.ended().await;
    std::fs::remove_dir_all(&path).unwrap();

    let others = DataDir::open(&path).unwrap();
    let second = start(&others).await;
    drop(run(&second, "create table notes as select 1").await);
    let server = postmaster(&others);
    let refusal = first.start_again().await.unwrap_err();
    assert!(
        matches!(refusal, PostgresError::Unclaimed(_)),
        "{refusal:?}"
    );
    first.stop().await.unwrap();
    assert_eq!(postmaster(&others), server);
    assert_eq!(count_notes(&second).await, 1);
    second.stop().await.unwrap();
}

#[tokio::test]
async fn the_closed_pipe_stops_a_server_whose_supervisor_was_killed() {
    let home = home();
    let data = DataDir::open(home.path()).unwrap();
    let mut postgres = start(&data).await;
    let server = postmaster(&data);
    // The shell leads the process group of itself and the server.
    kill_process(
        rustix::process::getpgid(Some(server)).unwrap(),
        Signal::KILL,
    )
    .unwrap();
    postgres.ended().await;
    assert!(test_kill_process(server).is_ok());
    drop(postgres.server);
    gone(server).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_next_start_stops_a_server_without_supervisor() {
    let home = home();
    let data = DataDir::open(home.path()).unwrap();
    let mut first = start(&data).await;
    drop(run(&first, "create table notes as select 1").await);
    let server = postmaster(&data);
    let supervisors = supervisors(&data);
    assert_eq!(supervisors.len(), 2);
    for process in supervisors {
        kill_process(process, Signal::KILL).unwrap();
    }
    first.ended().await;
    drop(first);
    assert!(test_kill_process(server).is_ok());

    let second = start(&data).await;
    gone(server).await;
    assert_eq!(count_notes(&second).await, 1);
    second.stop().await.unwrap();
}

#[tokio::test]
async fn a_pid_file_of_another_program_stops_no_process() {
    let home = home();
    let data = DataDir::open(home.path()).unwrap();
    let mut first = start(&data).await;
    let server = postmaster(&data);
    let children = children(server);
    kill_process(server, Signal::KILL).unwrap();
    first.ended().await;
    drop(first);
    for child in children {
        gone(child).await;
    }
    let file = data.path().join("postgres/postmaster.pid");
    let text = std::fs::read_to_string(&file).unwrap();
    let (_, rest) = text.split_once('\n').unwrap();
    std::fs::write(&file, format!("{}\n{rest}", std::process::id())).unwrap();

    let second = start(&data).await;
    second.stop().await.unwrap();
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}
