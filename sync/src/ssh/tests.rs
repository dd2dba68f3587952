//! git over ssh against a real `sshd`, with keys in an agent.

use std::fs;
use std::future::Future;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::ExitStatusExt as _;

use rustix::process::test_kill_process;
use tempfile::TempDir;
use tokio::time::Instant;

use super::test_server::{SshServer, make_key};
use super::*;
use crate::helper::test_helper;

/// How long a test waits for something to come true.
const PATIENCE: Duration = Duration::from_secs(20);

fn programs() -> SshPrograms {
    let found = SshPrograms::find(PROGRAM_PATH).unwrap();
    found.with_helper(test_helper())
}

async fn agent_with(key: &str) -> (TempDir, Result<SshAgent, SshError>) {
    let programs = programs();
    let folder = tempfile::tempdir().unwrap();
    let key = SecretString::from(key);
    let agent = SshAgent::start(&programs, &key, folder.path()).await;
    (folder, agent)
}

fn new_key(passphrase: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    make_key(&file, passphrase);
    fs::read_to_string(file).unwrap()
}

fn git(agent: &SshAgent, known_hosts: &Path, url: &str) -> Command {
    let mut command = Command::new("git");
    command
        .env_clear()
        .env("PATH", PROGRAM_PATH)
        .env("HOME", "/nonexistent")
        .env("LC_ALL", "C")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("SSH_AUTH_SOCK", agent.socket())
        .envs(test_helper().for_ssh(&known_hosts_option(known_hosts).unwrap()))
        .args(["ls-remote", "--symref", url])
        .stdin(Stdio::null())
        .process_group(0)
        .kill_on_drop(true);
    command
}

/// What git said, and whether it succeeded.
async fn ls_remote(agent: &SshAgent, known_hosts: &Path, url: &str) -> (bool, String) {
    let output = git(agent, known_hosts, url).output().await.unwrap();
    let said = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

async fn eventually<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let begun = Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        sleep(Duration::from_millis(5)).await;
    }
}

async fn assert_gone(process: Pid) {
    let is_gone = || async move { test_kill_process(process).is_err() };
    eventually("the process has ended and was reaped", is_gone).await;
}

fn is_empty(folder: &TempDir) -> bool {
    fs::read_dir(folder.path()).unwrap().next().is_none()
}

#[tokio::test]
async fn git_reaches_a_server_by_the_agents_key() {
    let server = SshServer::start();
    for key in [
        server.user_key(),
        server.user_key().replace('\n', "\r\n"),
        server.user_key().trim_end().to_owned(),
    ] {
        let (_folder, agent) = agent_with(&key).await;
        let (agent, known_hosts) = (agent.unwrap(), server.known_hosts());
        let (succeeded, said) = ls_remote(&agent, &known_hosts, &server.url()).await;
        assert!(succeeded, "{said}{}", server.log());
        assert!(said.contains("ref: refs/heads/main\tHEAD"), "{said}");
    }
}

#[tokio::test]
async fn a_changed_or_unknown_host_and_a_wrong_key_are_refused() {
    let server = SshServer::start();
    let (_folder, agent) = agent_with(&server.user_key()).await;
    let agent = agent.unwrap();
    let changed = server.other_known_hosts();
    let (succeeded, said) = ls_remote(&agent, &changed, &server.url()).await;
    assert!(
        !succeeded && said.contains("HOST IDENTIFICATION HAS CHANGED"),
        "{said}"
    );
    let unknown = Path::new("/dev/null");
    let (succeeded, said) = ls_remote(&agent, unknown, &server.url()).await;
    assert!(
        !succeeded && said.contains("Host key verification failed"),
        "{said}"
    );
    let (_folder, other) = agent_with(&new_key("")).await;
    let known_hosts = server.known_hosts();
    let (succeeded, said) = ls_remote(&other.unwrap(), &known_hosts, &server.url()).await;
    assert!(
        !succeeded && said.contains("Permission denied (publickey)"),
        "{said}"
    );
    // The host's key was never added to what is known.
    assert_eq!(fs::read_to_string(changed).unwrap().lines().count(), 1);
}

#[tokio::test]
async fn a_key_that_cannot_be_used_is_refused_and_leaves_nothing() {
    let broken = "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n";
    let (folder, refused) = agent_with(broken).await;
    assert!(matches!(&refused, Err(SshError::Refused(words)) if words.contains("libcrypto")));
    assert!(is_empty(&folder));
    let (folder, refused) = agent_with(&new_key("open sesame")).await;
    assert!(matches!(refused, Err(SshError::Passphrase)));
    assert!(is_empty(&folder));
    let (_folder, refused) = agent_with("a token").await;
    assert!(matches!(refused, Err(SshError::NoKey)));
}

#[tokio::test]
async fn a_program_that_asks_for_a_passphrase_gets_none_at_once() {
    let programs = programs();
    let (_folder, agent) = agent_with(&new_key("")).await;
    // Past the check of the key, as a format that it does not know would be.
    let key = SecretString::from(new_key("open sesame"));
    let begun = Instant::now();
    let refused = agent.unwrap().add(&programs, &key).await;
    assert!(matches!(refused, Err(SshError::Refused(_))));
    assert!(begun.elapsed() < START_DEADLINE);
}

#[tokio::test]
async fn an_agents_socket_is_its_owners_and_no_argument_shows_the_key() {
    let key = new_key("");
    let (_folder, agent) = agent_with(&key).await;
    let agent = agent.unwrap();
    let folder = agent.socket().parent().unwrap();
    let mode = fs::metadata(folder).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let process = agent.process.id().unwrap().as_raw_nonzero();
    let secret = key.lines().nth(1).unwrap();
    for file in ["cmdline", "environ"] {
        let shown = fs::read(format!("/proc/{process}/{file}")).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&shown).contains(secret));
    }
    assert!(!format!("{agent:?}").contains(secret));
}

#[tokio::test]
async fn an_agent_and_its_folder_are_gone_after_drop() {
    let (folder, agent) = agent_with(&new_key("")).await;
    let agent = agent.unwrap();
    let process = agent.process.id().unwrap();
    assert!(agent.socket().exists() && test_kill_process(process).is_ok());
    drop(agent);
    assert!(is_empty(&folder));
    assert_gone(process).await;
}

#[tokio::test]
async fn an_agent_is_gone_after_git_was_killed() {
    let (folder, agent) = agent_with(&new_key("")).await;
    let agent = agent.unwrap();
    let process = agent.process.id().unwrap();
    // It accepts and never says a word.
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    silent.set_nonblocking(true).unwrap();
    let silent = tokio::net::TcpListener::from_std(silent).unwrap();
    let url = format!("ssh://git@{}/site.git", silent.local_addr().unwrap());
    let mut git = git(&agent, Path::new("/dev/null"), &url).spawn().unwrap();
    let (_connection, _) = timeout(PATIENCE, silent.accept()).await.unwrap().unwrap();
    let group = Pid::from_raw(git.id().unwrap().cast_signed()).unwrap();
    kill_process_group(group, Signal::KILL).unwrap();
    git.wait().await.unwrap();
    drop(agent);
    assert!(is_empty(&folder));
    assert_gone(process).await;
}

#[tokio::test]
async fn an_agent_ends_when_the_process_that_started_it_was_killed() {
    let (folder, agent) = agent_with(&new_key("")).await;
    let mut agent = agent.unwrap();
    agent.watchdog.close_pipe();
    eventually("the folder is gone", || async { is_empty(&folder) }).await;
    let status = timeout(PATIENCE, agent.process.0.wait()).await.unwrap();
    assert_eq!(status.unwrap().signal(), Some(Signal::KILL.as_raw()));
}

#[tokio::test]
async fn a_start_that_is_given_up_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let programs = SshPrograms {
        agent: "/usr/bin/yes".into(),
        ..programs()
    };
    let key = SecretString::from(new_key(""));
    let start = SshAgent::start(&programs, &key, folder.path());
    // `yes` refuses the options of ssh-agent and says so.
    let ended = start.await.unwrap_err();
    assert!(ended.to_string().contains("yes: "), "{ended}");
    let programs = SshPrograms {
        agent: folder.path().join("absent"),
        ..programs
    };
    let absent = SshAgent::start(&programs, &key, folder.path()).await;
    assert!(matches!(absent, Err(SshError::Run { .. })));
    assert!(is_empty(&folder));
}

#[tokio::test]
async fn long_folders_and_missing_programs_are_told() {
    let programs = programs();
    let folder = tempfile::tempdir().unwrap();
    let long = folder.path().join("x".repeat(80));
    fs::create_dir(&long).unwrap();
    let key = SecretString::from(new_key(""));
    let refused = SshAgent::start(&programs, &key, &long).await.unwrap_err();
    assert!(matches!(refused, SshError::SocketPath(length) if length > 107));
    let missing = SshPrograms::find("/nonexistent:/proc").unwrap_err();
    assert!(
        missing
            .to_string()
            .contains("apt-get install openssh-client")
    );
}
