//! This program as a helper: git and a run start it again, to give a credential, to call ssh, or to end an agent.
//!
//! git starts credential helpers and ssh commands by a shell, which the image does not have. What `GIT_ASKPASS`
//! and `GIT_SSH` name is started without one, but gets git's arguments alone. So variables say what to do.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

use rustix::process::{Pid, Signal, kill_process};

/// Which helper this process is.
const ROLE: &str = "ARCHWAY_GIT_HELPER";
/// The pipe with the credential, and the origin that it is good for.
const PIPE: &str = "ARCHWAY_GIT_HELPER_PIPE";
const ORIGIN: &str = "ARCHWAY_GIT_HELPER_ORIGIN";
/// ssh's option that names the file of known hosts.
const KNOWN_HOSTS: &str = "ARCHWAY_GIT_HELPER_KNOWN_HOSTS";

/// How git calls ssh, before the option that names the file of known hosts. Neither the user's nor the system's
/// configuration is read, nothing is asked, and nothing but git's own channel is opened.
pub(crate) const SSH_OPTIONS: [&str; 21] = [
    "-F",
    "none",
    "-a",
    "-x",
    "-T",
    "-oBatchMode=yes",
    "-oStrictHostKeyChecking=yes",
    // It has no `none` in older versions of ssh, which would read a file of that name.
    "-oGlobalKnownHostsFile=/dev/null",
    "-oUpdateHostKeys=no",
    "-oPreferredAuthentications=publickey",
    "-oPasswordAuthentication=no",
    "-oKbdInteractiveAuthentication=no",
    // The agent's keys are used though no file names them.
    "-oIdentitiesOnly=no",
    "-oIdentityFile=none",
    "-oForwardAgent=no",
    "-oPermitLocalCommand=no",
    "-oClearAllForwardings=yes",
    "-oControlPath=none",
    "-oConnectTimeout=20",
    "-oServerAliveInterval=15",
    "-oServerAliveCountMax=4",
];

/// The program that helps: this one, unless a test names another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Helper(PathBuf);

impl Default for Helper {
    /// This program. If the system does not say where it is, the one on the path.
    fn default() -> Helper {
        Helper(env::current_exe().unwrap_or_else(|_| "archway".into()))
    }
}

impl Helper {
    /// Another program, whose `main` begins with [`run`].
    pub fn at(program: PathBuf) -> Helper {
        Helper(program)
    }

    pub(crate) fn program(&self) -> &Path {
        &self.0
    }

    /// Variables by which git asks it for a user and a password.
    pub(crate) fn for_credential(
        &self,
        pipe: &Path,
        origin: &str,
    ) -> [(&'static str, OsString); 4] {
        [
            ("GIT_ASKPASS", self.0.clone().into()),
            (ROLE, "credential".into()),
            (PIPE, pipe.into()),
            (ORIGIN, origin.into()),
        ]
    }

    /// Variables by which git calls ssh through it.
    pub(crate) fn for_ssh(&self, known_hosts_option: &str) -> [(&'static str, OsString); 4] {
        [
            ("GIT_SSH", self.0.clone().into()),
            ("GIT_SSH_VARIANT", "ssh".into()),
            (ROLE, "ssh".into()),
            (KNOWN_HOSTS, known_hosts_option.into()),
        ]
    }

    /// A command that waits for the end of its standard input. Then it ends a process, and removes its socket and
    /// folder.
    pub(crate) fn guard(
        &self,
        process: Pid,
        socket: &Path,
        folder: &Path,
    ) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(&self.0);
        command
            .env_clear()
            .env(ROLE, "guard")
            .arg(process.as_raw_nonzero().to_string())
            .args([socket, folder]);
        command
    }
}

/// Does what this process was started for. `None` if it is no helper: this comes first in `main`.
pub fn run() -> Option<ExitCode> {
    let role = env::var_os(ROLE)?;
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let done = match role.to_str() {
        Some("credential") => answer(&arguments),
        Some("ssh") => ssh(&arguments).map(|never| match never {}),
        Some("guard") => guard(&arguments),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    };
    Some(match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // git repeats it. Without a standard error, the exit status tells.
            _ = writeln!(
                io::stderr(),
                "error: archway's helper failed: {}",
                error.kind()
            );
            ExitCode::FAILURE
        }
    })
}

/// Answers git's question for a user or a password.
fn answer(arguments: &[OsString]) -> io::Result<()> {
    let (pipe, origin) = (env::var_os(PIPE), env::var_os(ORIGIN));
    let origin = origin.as_deref().and_then(OsStr::to_str);
    let question = arguments.first().and_then(|question| question.to_str());
    let (Some(question), Some(pipe), Some(origin)) = (question, pipe, origin) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    // Another origin, such as a proxy, gets nothing.
    let name = asked(question, origin).ok_or(io::ErrorKind::PermissionDenied)?;
    let credential = fs::read_to_string(pipe)?;
    let mut lines = credential.lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    let value = value.ok_or(io::ErrorKind::UnexpectedEof)?;
    io::stdout().write_all(format!("{value}\n").as_bytes())
}

/// What git's question asks for, if it is about this origin.
fn asked(question: &str, origin: &str) -> Option<&'static str> {
    if question == format!("Username for '{origin}': ") {
        return Some("username");
    }
    let (scheme, host) = origin.split_once("://")?;
    let rest = question.strip_prefix(&format!("Password for '{scheme}://"))?;
    let user = rest.strip_suffix(&format!("@{host}': "))?;
    (!user.contains('/')).then_some("password")
}

/// Becomes ssh. Returns only if that fails.
fn ssh(arguments: &[OsString]) -> io::Result<Infallible> {
    let known_hosts = env::var_os(KNOWN_HOSTS).ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new("ssh");
    command
        .args(SSH_OPTIONS)
        .arg(known_hosts)
        .args(arguments)
        .env_remove(ROLE)
        .env_remove(KNOWN_HOSTS);
    Err(command.exec())
}

/// The kernel closes standard input when the process that has its other end ends in whatever way.
fn guard(arguments: &[OsString]) -> io::Result<()> {
    let [process, socket, folder] = arguments else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let process = pid(process).ok_or(io::ErrorKind::InvalidInput)?;
    io::stdin().read_to_end(&mut Vec::new())?;
    // Each of them may be gone already.
    _ = kill_process(process, Signal::KILL);
    _ = fs::remove_file(socket);
    _ = fs::remove_dir(folder);
    Ok(())
}

fn pid(text: &OsStr) -> Option<Pid> {
    Pid::from_raw(text.to_str()?.parse().ok()?)
}

/// The helper of tests, which cargo builds with them.
#[cfg(test)]
pub(crate) fn test_helper() -> Helper {
    let test = env::current_exe().unwrap();
    let built = test.parent().and_then(Path::parent).unwrap();
    let program = built.join("examples/git-helper");
    assert!(program.is_file(), "without --lib, cargo test builds it");
    Helper::at(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_questions_about_the_origin_are_answered() {
        let origin = "https://git.example.com:8443";
        for (question, name) in [
            (
                "Username for 'https://git.example.com:8443': ",
                Some("username"),
            ),
            (
                "Password for 'https://ada@git.example.com:8443': ",
                Some("password"),
            ),
            (
                "Password for 'https://a%40b@git.example.com:8443': ",
                Some("password"),
            ),
            ("Username for 'https://git.example.com': ", None),
            ("Username for 'http://git.example.com:8443': ", None),
            ("Password for 'https://ada@proxy:8443': ", None),
            ("Password for 'https://evil/@git.example.com:8443': ", None),
            ("Password for 'https://git.example.com:8443': ", None),
            ("Are you sure (yes/no)? ", None),
            ("", None),
        ] {
            assert_eq!(asked(question, origin), name, "{question}");
        }
    }
}
