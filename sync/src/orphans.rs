//! Waits for the programs that a container's first process inherits.
//!
//! git starts programs of its own. When a run of git is killed, the system gives them to process 1, which in a
//! container is this one, and they stay zombies until it waits for them. What this process started itself is
//! tokio's to wait for: that leads a process group, and what is inherited does not.

use std::convert::Infallible;
use std::{fs, io};

use rustix::process::{Pid, WaitOptions, getpid, waitpid};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Duration, sleep};

/// From the end of a program to the look for zombies: others of its group end at the same time.
const PAUSE: Duration = Duration::from_secs(1);

/// Waits for what is inherited, if this is process 1.
///
/// # Errors
/// If the end of programs cannot be heard of.
pub(crate) async fn wait_for_orphans() -> io::Result<Infallible> {
    let mut ends = signal(SignalKind::child())?;
    loop {
        ends.recv().await;
        if !getpid().is_init() {
            continue;
        }
        sleep(PAUSE).await;
        for orphan in ended_orphans() {
            // Nobody else waits for it.
            _ = waitpid(Some(orphan), WaitOptions::NOHANG);
        }
    }
}

/// Zombies that this process inherited.
fn ended_orphans() -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let processes = numbers.filter_map(|number: i32| {
        let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
        is_ended_orphan(&stat, number, getpid()).then(|| Pid::from_raw(number))?
    });
    processes.collect()
}

/// Reads the name in parentheses, the state, the parent and the group, as proc(5) has them.
fn is_ended_orphan(stat: &str, process: i32, parent: Pid) -> bool {
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let mut fields = after_name.split_whitespace();
    let is_zombie = fields.next() == Some("Z");
    let mut number = || fields.next()?.parse::<i32>().ok();
    let is_child = number() == Some(parent.as_raw_nonzero().get());
    is_zombie && is_child && number() != Some(process)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};

    use rustix::process::set_child_subreaper;
    use tokio::time::Instant;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    fn until(what: &str, mut holds: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !holds() {
            assert!(begun.elapsed() < PATIENCE, "{what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn only_what_was_inherited_is_waited_for() {
        // As process 1 does, this process now inherits what its children leave behind.
        set_child_subreaper(Some(getpid())).unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", "sleep 0 & echo $!"]).process_group(0);
        let output = shell.stdout(Stdio::piped()).output().unwrap();
        let orphan = String::from_utf8(output.stdout).unwrap();
        let orphan = Pid::from_raw(orphan.trim().parse().unwrap()).unwrap();
        let mut own = Command::new("true").process_group(0).spawn().unwrap();
        let own_id = own.id().cast_signed();
        until("its own child has ended", || {
            let stat = fs::read_to_string(format!("/proc/{own_id}/stat"));
            stat.unwrap().contains(") Z ")
        });
        until("the orphan is found", || ended_orphans().contains(&orphan));
        assert!(!ended_orphans().contains(&Pid::from_raw(own_id).unwrap()));
        let waited = waitpid(Some(orphan), WaitOptions::NOHANG).unwrap();
        assert!(waited.is_some());
        assert!(own.wait().unwrap().success());
    }

    #[test]
    fn a_programs_name_is_not_taken_for_its_state() {
        let parent = Pid::from_raw(1).unwrap();
        for (stat, expected) in [
            ("7 (git) Z 1 5 5 0", true),
            ("7 (a) Z 1 (b) S 1 5 5 0", false),
            ("7 (git) Z 1 7 7 0", false),
            ("7 (git) Z 2 5 5 0", false),
            ("7 (git) S 1 5 5 0", false),
            ("", false),
        ] {
            assert_eq!(is_ended_orphan(stat, 7, parent), expected, "{stat}");
        }
    }
}
