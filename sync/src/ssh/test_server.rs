//! A real `sshd` on loopback with a repository of one commit, for tests.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

const SSHD: &str = "/usr/sbin/sshd";
/// Looks at a server that starts, 10 ms apart.
const ATTEMPTS: u32 = 1000;

/// An `sshd` that admits one key, and its repository.
pub(crate) struct SshServer {
    process: Child,
    port: u16,
    folder: TempDir,
}

impl SshServer {
    /// Starts a server as the current user. It admits [`SshServer::user_key`].
    pub(crate) fn start() -> SshServer {
        assert!(
            Path::new(SSHD).is_file(),
            "this test needs {SSHD}: `apt-get install openssh-server`"
        );
        let folder = tempfile::tempdir().unwrap();
        let own = |name: &str| folder.path().join(name);
        for name in ["host", "user"] {
            make_key(&own(name), "");
        }
        make_repository(&own("site.git"));
        let config = format!(
            "ListenAddress 127.0.0.1\nHostKey {host}\nAuthorizedKeysFile {user}.pub\nStrictModes no\n\
             UsePAM no\nPidFile none\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
             PermitRootLogin prohibit-password\nSetEnv PATH=/usr/local/bin:/usr/bin:/bin\n",
            host = own("host").display(),
            user = own("user").display(),
        );
        fs::write(own("config"), config).unwrap();
        // Root's sshd wants it, and the package makes it only when the service starts.
        if rustix::process::geteuid().is_root() {
            fs::create_dir_all("/run/sshd").unwrap();
        }
        let port = free_port();
        let log = fs::File::create(own("log")).unwrap();
        let process = Command::new(SSHD)
            .args(["-D", "-e", "-p", &port.to_string(), "-f"])
            .arg(own("config"))
            .stdin(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let server = SshServer {
            process,
            port,
            folder,
        };
        server.wait_until_it_listens();
        server
    }

    fn wait_until_it_listens(&self) {
        for _ in 0..ATTEMPTS {
            if TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("sshd does not listen: {}", self.log());
    }

    /// What the server wrote.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// The private key that the server admits.
    pub(crate) fn user_key(&self) -> String {
        fs::read_to_string(self.folder.path().join("user")).unwrap()
    }

    /// The URL of its repository.
    pub(crate) fn url(&self) -> String {
        let user = Command::new("id").arg("-un").output().unwrap().stdout;
        let user = String::from_utf8(user).unwrap();
        let path = self.folder.path().join("site.git");
        format!(
            "ssh://{}@127.0.0.1:{}{}",
            user.trim(),
            self.port,
            path.display()
        )
    }

    /// A file of known hosts with the server's own key.
    pub(crate) fn known_hosts(&self) -> PathBuf {
        self.known_hosts_with(&self.folder.path().join("host"))
    }

    /// A file of known hosts that names another key for this server.
    pub(crate) fn other_known_hosts(&self) -> PathBuf {
        let other = self.folder.path().join("other");
        make_key(&other, "");
        self.known_hosts_with(&other)
    }

    fn known_hosts_with(&self, key: &Path) -> PathBuf {
        let public = fs::read_to_string(key.with_extension("pub")).unwrap();
        // Its name has what a shell and ssh would take for more than a name.
        let file = key.with_extension("it's 100% known_hosts");
        fs::write(&file, format!("[127.0.0.1]:{} {public}", self.port)).unwrap();
        file
    }
}

impl Drop for SshServer {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// Makes a pair of keys, `file` and `file.pub`.
pub(crate) fn make_key(file: &Path, passphrase: &str) {
    let status = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", passphrase, "-f"])
        .arg(file)
        .status();
    assert!(status.unwrap().success());
}

fn make_repository(folder: &Path) {
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .arg("--git-dir")
            .arg(folder)
            .args(["-c", "user.name=a", "-c", "user.email=a@example.com"])
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "--quiet", "--bare", "--initial-branch=main"]);
    let tree = git(&["hash-object", "-t", "tree", "-w", "/dev/null"]);
    let commit = git(&["commit-tree", "-m", "first", &tree]);
    git(&["update-ref", "refs/heads/main", &commit]);
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}
