//! Ends a program together with everything that it started.

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Child;

/// The group that a program leads. It is killed on drop.
pub(super) struct ProcessGroup(Option<Pid>);

impl ProcessGroup {
    /// The group of a program that was started as the leader of one.
    pub(super) fn of(child: &Child) -> ProcessGroup {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        ProcessGroup(id.and_then(Pid::from_raw))
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // Usually all of it has ended before.
            _ = kill_process_group(group, Signal::KILL);
        }
    }
}
