//! Lets git's `ssh` use a private key that no argument, URL, environment or file shows it.
//!
//! Owns OpenSSH's `ssh-agent` for one run of git. The key reaches it through a pipe, and git's ssh asks it
//! on a socket in a folder of its own. [`crate::helper`] is how git calls ssh.
//!
//! What a reader would get wrong: an agent outlives the process that started it. So a helper waits for the
//! end of this process and then ends the agent, even after `kill -9`. Both are direct children, which are
//! reaped; a helper between them would leave the agent a zombie.

mod command;
mod folder;
mod key;
mod watchdog;

#[cfg(test)]
pub(crate) mod test_server;
#[cfg(test)]
mod tests;

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use archway_proto::misleading;
use rustix::process::{Pid, Signal, kill_process_group};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::time::error::Elapsed;
use tokio::time::{sleep, timeout};

pub use command::known_hosts_option;
use folder::AgentFolder;
use watchdog::Watchdog;

use crate::helper::Helper;

/// Where programs are looked for.
pub const PROGRAM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// How long an agent may take until it has its key.
const START_DEADLINE: Duration = Duration::from_secs(10);
/// Between two looks at an agent that starts: it takes a few milliseconds.
const PAUSE: Duration = Duration::from_millis(2);
/// How much is repeated of what a program said, in characters.
const MAX_WORDS: usize = 300;

/// OpenSSH's programs, and the helper that ends an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshPrograms {
    agent: PathBuf,
    add: PathBuf,
    helper: Helper,
}

/// An agent with one key. On drop its process is killed and its folder removed.
#[derive(Debug)]
pub struct SshAgent {
    watchdog: Watchdog,
    // Ends before its folder is removed.
    process: AgentProcess,
    folder: AgentFolder,
}

/// Why a key cannot be used. Never carries the key.
#[derive(Debug, thiserror::Error)]
pub enum SshError {
    /// A program is not installed.
    #[error("{0} is not installed: `apt-get install openssh-client`, or your system's equal")]
    Absent(&'static str),
    /// The file is no private key.
    #[error(
        "the ssh credential is no private key: it must begin with `-----BEGIN … PRIVATE KEY-----`"
    )]
    NoKey,
    /// The key has a passphrase, which nobody could enter.
    #[error("the ssh key has a passphrase: remove it by `ssh-keygen -p -N '' -f FILE`")]
    Passphrase,
    /// `ssh-add` did not take the key.
    #[error("ssh-add refused the ssh key: {0}")]
    Refused(String),
    /// The agent ended by itself.
    #[error("ssh-agent ended: {0}")]
    Ended(String),
    /// The agent did not have the key in time.
    #[error("ssh-agent was not ready in time")]
    Late(#[source] Elapsed),
    /// A program could not be run.
    #[error("running {program}")]
    Run {
        /// Its name.
        program: &'static str,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The agent's folder could not be made.
    #[error("making the folder of an ssh agent")]
    Folder(#[source] io::Error),
    /// The folder's path is too long for a socket in it.
    #[error(
        "the path of the agent's socket has {0} bytes, a socket's can have 107: use a shorter folder"
    )]
    SocketPath(usize),
    /// The path of the known hosts cannot be written for ssh.
    #[error(
        "the path of the file of known hosts must be absolute, in UTF-8, and without quotes, backslashes, \
         `$` and control characters"
    )]
    KnownHosts,
}

impl SshPrograms {
    /// Finds the programs in the folders of `path`, such as [`PROGRAM_PATH`]. git needs `ssh` itself.
    ///
    /// # Errors
    /// [`SshError::Absent`] for the first that is missing.
    pub fn find(path: &str) -> Result<SshPrograms, SshError> {
        find(path, "ssh")?;
        Ok(SshPrograms {
            agent: find(path, "ssh-agent")?,
            add: find(path, "ssh-add")?,
            helper: Helper::default(),
        })
    }

    /// With another helper than this program.
    #[must_use]
    pub fn with_helper(self, helper: Helper) -> SshPrograms {
        SshPrograms { helper, ..self }
    }
}

fn find(path: &str, program: &'static str) -> Result<PathBuf, SshError> {
    let is_program = |file: &PathBuf| {
        file.metadata()
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    path.split(':')
        .map(|folder| Path::new(folder).join(program))
        .find(is_program)
        .ok_or(SshError::Absent(program))
}

impl SshAgent {
    /// Starts an agent with a key: a PEM text without a passphrase. Its own folder, of mode 0700, is made
    /// below `folder`.
    ///
    /// # Errors
    /// If the key is none or has a passphrase, or the agent does not have it within 10 s.
    pub async fn start(
        programs: &SshPrograms,
        key: &SecretString,
        folder: &Path,
    ) -> Result<SshAgent, SshError> {
        let key = key::prepare(key)?;
        let mut agent = SshAgent::spawn(programs, AgentFolder::make(folder)?)?;
        let ready = timeout(START_DEADLINE, async {
            agent.wait_until_it_listens().await?;
            agent.add(programs, &key).await
        });
        ready.await.map_err(SshError::Late)??;
        Ok(agent)
    }

    /// The agent's socket, for `SSH_AUTH_SOCK`.
    pub fn socket(&self) -> &Path {
        self.folder.socket()
    }

    fn spawn(programs: &SshPrograms, folder: AgentFolder) -> Result<SshAgent, SshError> {
        let program = "ssh-agent";
        let mut command = Command::new(&programs.agent);
        command
            .env_clear()
            .arg("-D")
            .arg("-a")
            .arg(folder.socket())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let child = command
            .spawn()
            .map_err(|source| SshError::Run { program, source })?;
        let process = AgentProcess(child);
        let watchdog = Watchdog::start(&programs.helper, process.id(), &folder)?;
        Ok(SshAgent {
            watchdog,
            process,
            folder,
        })
    }

    async fn wait_until_it_listens(&mut self) -> Result<(), SshError> {
        while UnixStream::connect(self.socket()).await.is_err() {
            self.process.check().await?;
            sleep(PAUSE).await;
        }
        Ok(())
    }

    async fn add(&self, programs: &SshPrograms, key: &SecretString) -> Result<(), SshError> {
        let mut command = Command::new(&programs.add);
        command
            .env_clear()
            .env("SSH_AUTH_SOCK", self.socket())
            // It must not ask on a terminal for a passphrase.
            .env("SSH_ASKPASS", "/bin/false")
            .env("SSH_ASKPASS_REQUIRE", "force")
            .args(["-q", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let output = feed(command, key).await.map_err(|source| SshError::Run {
            program: "ssh-add",
            source,
        })?;
        match output.status.success() {
            true => Ok(()),
            false => Err(SshError::Refused(words(&output.stderr))),
        }
    }
}

impl Drop for SshAgent {
    fn drop(&mut self) {
        self.watchdog.stop();
    }
}

async fn feed(mut command: Command, input: &SecretString) -> io::Result<Output> {
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ends early says why itself.
        _ = stdin.write_all(input.expose_secret().as_bytes()).await;
    }
    child.wait_with_output().await
}

/// What a program said, on one line without anything misleading.
fn words(said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    let said = misleading::on_one_line(said.trim()).into_owned();
    said.chars().take(MAX_WORDS).collect()
}

/// The agent's process, which leads a group. The group is killed on drop, and reaped by tokio.
#[derive(Debug)]
struct AgentProcess(Child);

impl AgentProcess {
    /// `None` once it was reaped.
    fn id(&self) -> Option<Pid> {
        let id = self.0.id().and_then(|id| i32::try_from(id).ok());
        id.and_then(Pid::from_raw)
    }

    /// Fails if it has ended.
    async fn check(&mut self) -> Result<(), SshError> {
        let program = "ssh-agent";
        let status = self.0.try_wait();
        let status = status.map_err(|source| SshError::Run { program, source })?;
        let Some(status) = status else { return Ok(()) };
        let mut said = Vec::new();
        if let Some(mut stderr) = self.0.stderr.take() {
            // Without its words, its status is told.
            _ = tokio::io::AsyncReadExt::read_to_end(&mut stderr, &mut said).await;
        }
        Err(SshError::Ended(format!("{} ({status})", words(&said))))
    }
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        if let Some(group) = self.id() {
            // It may have ended by itself.
            _ = kill_process_group(group, Signal::KILL);
        }
    }
}
