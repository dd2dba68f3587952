//! Ends an agent when this process ends in whatever way.
//!
//! A helper reads from a pipe whose other end only this process has. The kernel closes that when this process
//! ends, and the helper kills the agent and removes its folder.

use std::process::Stdio;

use rustix::process::Pid;
use tokio::process::Child;

use super::SshError;
use super::folder::AgentFolder;
use crate::helper::Helper;

/// The helper.
#[derive(Debug)]
pub(super) struct Watchdog(Child);

impl Watchdog {
    /// Watches an agent that has not ended.
    pub(super) fn start(
        helper: &Helper,
        agent: Option<Pid>,
        folder: &AgentFolder,
    ) -> Result<Watchdog, SshError> {
        let Some(agent) = agent else {
            return Err(SshError::Ended("before it was watched".to_owned()));
        };
        let mut command = helper.guard(agent, folder.socket(), folder.path());
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // The terminal's Ctrl-C is not for it.
            .process_group(0)
            .kill_on_drop(true);
        let started = command.spawn().map_err(|source| SshError::Run {
            program: "archway",
            source,
        });
        started.map(Watchdog)
    }

    /// Ends the helper. This comes before the agent's end and before the pipe is closed: later the agent's number
    /// may be another process's.
    pub(super) fn stop(&mut self) {
        // It has ended by itself at most if somebody killed it.
        _ = self.0.start_kill();
    }

    /// Closes the pipe, as the kernel does when this process ends.
    #[cfg(test)]
    pub(super) fn close_pipe(&mut self) {
        drop(self.0.stdin.take());
    }
}
