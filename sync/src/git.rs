//! Runs git's own program, which does the transport.
//!
//! Its environment is ours alone: no configuration of the system or of a user, no hooks, no prompts, no
//! protocol but the allowed ones. A secret reaches it by a pipe that only our helper opens.

mod credential_pipe;
mod hidden;
mod output;
mod process_group;
mod settings;
mod watch;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use crate::failure::{SyncFailure, SyncState};
use crate::helper::Helper;
use crate::remote::{AllowedProtocols, Protocol, RemoteUrl};
use crate::ssh::{PROGRAM_PATH, SshAgent};
use crate::volume::Volume;

use credential_pipe::CredentialPipe;
use process_group::ProcessGroup;
use settings::SETTINGS;
use watch::Watch;
pub(crate) use watch::folder_size;
pub use watch::{Progress, RunLimits};

/// The oldest git that is used.
pub const OLDEST_VERSION: (u32, u32) = (2, 39);

/// git's program.
#[derive(Clone, Debug)]
pub struct Git {
    program: PathBuf,
    /// As `GIT_ALLOW_PROTOCOL` takes them.
    protocols: String,
    /// The folder of repositories: the only one that git writes to.
    repos: PathBuf,
    volume: Arc<Volume>,
    helper: Helper,
}

/// Why git's program cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum GitProgramError {
    /// There is none.
    #[error("git is not installed: `apt-get install git openssh-client` or your system's equal")]
    Absent(#[source] std::io::Error),
    /// It is too old, or does not say its version.
    #[error("this git is `{0}`: Archway needs 2.39 or newer")]
    TooOld(String),
}

/// What a run uses to reach a remote.
pub struct Transport<'a> {
    /// The remote.
    pub remote: &'a RemoteUrl,
    /// User and password for https.
    pub https: Option<&'a crate::credentials::HttpsCredential>,
    /// The agent with the key for ssh, and ssh's option that names the known hosts.
    pub ssh: Option<(&'a SshAgent, &'a str)>,
    /// A file of certificates that are trusted instead of the system's.
    pub ca_file: Option<&'a Path>,
    /// The proxy for https.
    pub https_proxy: Option<&'a str>,
}

/// How one run is bounded.
pub struct RunBounds<'a> {
    /// Its limits.
    pub limits: RunLimits,
    /// Stops it.
    pub cancel: &'a CancellationToken,
    /// Hears how far it is.
    pub progress: &'a (dyn Fn(Progress) + Send + Sync),
}

impl Git {
    /// git's program on the path, which may use these protocols and writes below `repos`.
    pub fn new(allowed: &AllowedProtocols, repos: &Path) -> Git {
        let mut names = vec![Protocol::Https.name(), Protocol::Ssh.name()];
        names.extend(allowed.more.iter().map(|protocol| protocol.name()));
        if allowed.loopback_http {
            names.push(Protocol::Http.name());
        }
        Git {
            program: "git".into(),
            protocols: names.join(":"),
            repos: repos.to_owned(),
            volume: Arc::new(Volume::new(repos, None)),
            helper: Helper::default(),
        }
    }

    /// The program of this folder.
    #[must_use]
    pub fn in_folder(self, folder: &Path) -> Git {
        Git {
            program: folder.join("git"),
            ..self
        }
    }

    /// On a volume that may have a size of its own.
    pub(crate) fn on_volume(self, volume: &Arc<Volume>) -> Git {
        Git {
            volume: Arc::clone(volume),
            ..self
        }
    }

    /// With another helper than this program.
    #[must_use]
    pub fn with_helper(self, helper: Helper) -> Git {
        Git { helper, ..self }
    }

    /// Checks that there is a git that is new enough.
    ///
    /// # Errors
    /// [`GitProgramError`].
    pub async fn check(&self) -> Result<(), GitProgramError> {
        let mut command = Command::new(&self.program);
        command.env_clear().env("PATH", PROGRAM_PATH).arg("version");
        command.process_group(0);
        let output = command.output().await.map_err(GitProgramError::Absent)?;
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let mut numbers = version
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|number| number.parse().ok());
        match (numbers.next(), numbers.next()) {
            (Some(major), Some(minor)) if (major, minor) >= OLDEST_VERSION => Ok(()),
            _ => Err(GitProgramError::TooOld(version.chars().take(80).collect())),
        }
    }

    /// Runs a command that reaches no remote. Returns its standard output.
    ///
    /// # Errors
    /// If git fails, is stopped or exceeds its limits.
    pub async fn local(
        &self,
        folder: &Path,
        arguments: &[&str],
        input: Option<String>,
        bounds: &RunBounds<'_>,
    ) -> Result<String, SyncFailure> {
        let mut command = self.command(folder);
        command.args(arguments).env("GIT_ALLOW_PROTOCOL", "none");
        // It computes, perhaps in silence, and what was received stays if it is stopped.
        let bounds = RunBounds {
            limits: bounds.limits.of_local_work(),
            ..*bounds
        };
        self.run(command, (folder, None), input, &bounds).await
    }

    /// Runs a command that reaches a remote; `arguments` follow the settings.
    ///
    /// # Errors
    /// As for [`Git::local`]; of the remote, as its words say.
    pub async fn remote(
        &self,
        folder: &Path,
        transport: &Transport<'_>,
        arguments: &[&str],
        bounds: &RunBounds<'_>,
    ) -> Result<String, SyncFailure> {
        let mut command = self.command(folder);
        let pipe = transport.https.map(CredentialPipe::make).transpose()?;
        if let Some(pipe) = &pipe {
            let origin = transport.remote.origin();
            command.envs(self.helper.for_credential(&pipe.path(), &origin));
            // Our helper is what newer versions of git take for a person.
            setting(&mut command, "credential.interactive=true");
        }
        if let Some(file) = transport.ca_file {
            let mut value = OsString::from("http.sslCAInfo=");
            value.push(file);
            setting(&mut command, &value);
        }
        // Only if nobody watches any more: else two would end a silent run, each in words of its own.
        let silence = bounds.limits.silence.saturating_mul(2).as_secs();
        setting(&mut command, &format!("http.lowSpeedTime={silence}"));
        setting(
            &mut command,
            &format!("http.proxy={}", transport.https_proxy.unwrap_or_default()),
        );
        if let Some((agent, known_hosts)) = transport.ssh {
            command.env("SSH_AUTH_SOCK", agent.socket());
            command.envs(self.helper.for_ssh(known_hosts));
        }
        command.args(arguments);
        self.run(command, (folder, Some(transport)), None, bounds)
            .await
    }

    fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear();
        for (name, value) in [
            ("PATH", PROGRAM_PATH),
            ("LC_ALL", "C"),
            ("HOME", "/nonexistent"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_PROTOCOL_FROM_USER", "0"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_ALLOW_PROTOCOL", &self.protocols),
        ] {
            command.env(name, value);
        }
        command.env("GIT_CEILING_DIRECTORIES", &self.repos);
        command.arg("--git-dir").arg(folder).current_dir("/");
        for value in SETTINGS {
            setting(&mut command, value);
        }
        command
    }

    async fn run(
        &self,
        mut command: Command,
        (folder, transport): (&Path, Option<&Transport<'_>>),
        input: Option<String>,
        bounds: &RunBounds<'_>,
    ) -> Result<String, SyncFailure> {
        command
            .stdin(if input.is_some() {
                Stdio::piped()
            } else {
                Stdio::null()
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let spawned = command.spawn();
        let mut child = spawned.map_err(|error| {
            SyncFailure::new(
                SyncState::Failed,
                format!("git did not start: {}", error.kind()),
            )
        })?;
        // Dropped at the end of this function: whatever git started ends with it.
        let _group = ProcessGroup::of(&child);
        let watch = Watch::new(folder, &self.volume, bounds);
        let (stdin, pipes) = (
            child.stdin.take(),
            (child.stdout.take(), child.stderr.take()),
        );
        let work = async {
            let writing = async {
                if let (Some(mut stdin), Some(input)) = (stdin, input) {
                    // A git that ends early says why on its standard error.
                    _ = stdin.write_all(input.as_bytes()).await;
                }
            };
            let ((), output) = tokio::join!(writing, output::read(pipes, watch.activity()));
            (child.wait().await, output)
        };
        let (status, output) = tokio::select! {
            done = work => done,
            stopped = watch.stopped() => return Err(stopped),
        };
        match status {
            Ok(status) if status.success() => output.text.ok_or_else(|| {
                SyncFailure::new(SyncState::TooLarge, "the remote has too many refs")
            }),
            _ => {
                let hidden = self.hidden(transport);
                Err(SyncFailure::of_git(&output.words, &self.repos, &hidden))
            }
        }
    }
}

fn setting(command: &mut Command, value: &(impl AsRef<OsStr> + ?Sized)) {
    command.arg("-c").arg(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written by another process: no other test's child has it open while it is started.
    const SCRIPT: &str = r#"printf '#!/bin/sh\necho "%s"\n' "$1" > git && chmod +x git"#;

    #[tokio::test]
    async fn a_git_that_is_absent_or_too_old_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let git = Git::new(&AllowedProtocols::default(), folder.path()).in_folder(folder.path());
        let refused = git.check().await.unwrap_err();
        assert!(refused.to_string().contains("apt-get install git"));
        for (version, is_used) in [
            ("git version 2.38.5", false),
            ("git version 1.99.0", false),
            ("no version", false),
            ("git version 2.39.0", true),
            ("git version 2.50.1 (Apple Git-155)", true),
            ("git version 3.0.0", true),
        ] {
            let mut shell = std::process::Command::new("sh");
            shell.args(["-c", SCRIPT, "sh", version]);
            assert!(shell.current_dir(&folder).status().unwrap().success());
            let expected = format!("this git is `{version}`: Archway needs 2.39 or newer");
            match git.check().await {
                Ok(()) => assert!(is_used, "{version}"),
                Err(refused) => assert_eq!((refused.to_string(), is_used), (expected, false)),
            }
        }
    }
}
