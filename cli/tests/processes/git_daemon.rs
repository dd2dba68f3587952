//! A host of repositories by git's own protocol: `git daemon` behind a relay, which can be slow.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{sleep, spawn};
use std::time::Duration;

use tempfile::TempDir;

/// How often the relay sends a piece of what it may send in a second.
const PIECES: u64 = 50;

/// The host. Each connection has a `git daemon` of its own, which ends with it.
pub(crate) struct GitDaemon {
    folder: TempDir,
    address: SocketAddr,
    pace: Arc<Pace>,
}

/// How fast the relay sends.
struct Pace {
    /// Bytes of a connection that are sent at once.
    at_once: AtomicU64,
    /// Bytes in a second after these.
    a_second: AtomicU64,
}

impl GitDaemon {
    pub(crate) fn start() -> GitDaemon {
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let pace = Arc::new(Pace {
            at_once: AtomicU64::new(u64::MAX),
            a_second: AtomicU64::new(u64::MAX),
        });
        let (base, shared) = (folder.path().to_owned(), Arc::clone(&pace));
        spawn(move || {
            for socket in listener.incoming() {
                relay(socket.unwrap(), daemon(&base), Arc::clone(&shared));
            }
        });
        GitDaemon {
            folder,
            address,
            pace,
        }
    }

    /// From now on each connection gets so many bytes at once, and the others at this pace.
    pub(crate) fn slow_down(&self, at_once: u64, a_second: u64) {
        self.pace.at_once.store(at_once, Ordering::SeqCst);
        self.pace.a_second.store(a_second, Ordering::SeqCst);
    }

    /// Makes a repository with one commit, of a file with so many bytes that do not compress. Returns its work
    /// tree.
    pub(crate) fn add(&self, name: &str, bytes: usize) -> PathBuf {
        let work = self.folder.path().join(name);
        std::fs::create_dir(&work).unwrap();
        git(&work, &["init", "-q", "-b", "main"]);
        commit(&work, bytes);
        work
    }

    pub(crate) fn url(&self, name: &str) -> String {
        format!("git://{}/{name}", self.address)
    }
}

/// Commits a new file with so many bytes that do not compress. Returns the commit.
pub(crate) fn commit(work: &Path, bytes: usize) -> String {
    let name = uuid::Uuid::new_v4().simple().to_string();
    let mut content = vec![0; bytes];
    let mut random = std::fs::File::open("/dev/urandom").unwrap();
    random.read_exact(&mut content).unwrap();
    std::fs::write(work.join(&name), content).unwrap();
    git(work, &["add", "-A"]);
    git(work, &["commit", "-qm", &name]);
    git(work, &["rev-parse", "HEAD"])
}

/// Runs git in a folder, without this machine's settings. Returns its trimmed output.
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
    let done = try_git(folder, arguments);
    done.unwrap_or_else(|said| panic!("git {arguments:?}: {said}"))
}

/// As [`git`], or what it said when it failed.
pub(crate) fn try_git(folder: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = clean(Command::new("git"));
    command.current_dir(folder).args(arguments);
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "Ada");
        command.env(format!("GIT_{who}_EMAIL"), "ada@example.com");
    }
    let output = command.output().unwrap();
    let said = if output.status.success() {
        &output.stdout
    } else {
        &output.stderr
    };
    let said = String::from_utf8_lossy(said).trim().to_owned();
    output.status.success().then(|| said.clone()).ok_or(said)
}

fn clean(mut command: Command) -> Command {
    command.env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.env("GIT_CONFIG_NOSYSTEM", "1");
    command.args(["-c", "safe.directory=*", "-c", "gc.auto=0"]);
    command
}

fn daemon(base: &Path) -> Child {
    let mut command = clean(Command::new("git"));
    command.args([
        "daemon",
        "--inetd",
        "--export-all",
        "--log-destination=none",
    ]);
    command.arg(format!("--base-path={}", base.display()));
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(Stdio::null()).spawn().unwrap()
}

/// Sends what both sides say to the other one, until one of them ends.
fn relay(socket: TcpStream, mut daemon: Child, pace: Arc<Pace>) {
    let mut asking = socket.try_clone().unwrap();
    let mut stdin = daemon.stdin.take().unwrap();
    spawn(move || {
        let mut buffer = [0; 64 << 10];
        while let Ok(length @ 1..) = asking.read(&mut buffer) {
            if stdin.write_all(&buffer[..length]).is_err() {
                return;
            }
        }
    });
    spawn(move || {
        let mut stdout = daemon.stdout.take().unwrap();
        // A client that was killed hangs up.
        send(&mut stdout, &socket, &pace).ok();
        socket.shutdown(std::net::Shutdown::Both).ok();
        drop(stdout);
        daemon.wait().unwrap();
    });
}

fn send(from: &mut impl Read, mut to: &TcpStream, pace: &Pace) -> std::io::Result<()> {
    let (mut buffer, mut sent) = ([0; 64 << 10], 0);
    loop {
        let at_once = pace.at_once.load(Ordering::SeqCst);
        let a_second = pace.a_second.load(Ordering::SeqCst);
        let piece = match sent < at_once {
            true => at_once - sent,
            false => a_second.div_ceil(PIECES),
        };
        let most = usize::try_from(piece).map_or(buffer.len(), |piece| piece.min(buffer.len()));
        let length = from.read(&mut buffer[..most])?;
        if length == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..length])?;
        if sent >= at_once {
            sleep(Duration::from_secs_f64(length as f64 / a_second as f64));
        }
        sent += length as u64;
    }
}
