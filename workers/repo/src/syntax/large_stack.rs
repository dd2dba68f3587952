//! Work on texts that others wrote, which may need more stack than a thread has: on a thread of
//! its own, of which few run at once, and which nobody waits for longer than their call goes on.
//!
//! What a reader would get wrong: who was waiting may be gone while the work still runs. So it has
//! to end by itself, and holds its place until then.

use std::{
    io,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
};

use parking_lot::{Condvar, Mutex};
use tokio::time::{Duration, Instant};

use crate::{Cancel, Stopped};

/// How long a text waits for the work on others, so that somebody's hostile texts hold up nobody.
/// Tests of such texts run side by side, where each takes longer.
const MAX_WAIT: Duration = Duration::from_secs(if cfg!(test) { 60 } else { 2 });

/// How often who waits asks whether to go on waiting.
const CANCEL_POLL: Duration = Duration::from_millis(20);

/// Threads for one kind of work.
pub struct LargeStackThreads {
    name: &'static str,
    /// The stack of each, in bytes. Only what is used takes memory.
    stack: usize,
    max_threads: usize,
    running: Mutex<usize>,
    ended: Condvar,
}

/// Why work was not done.
#[derive(Debug, thiserror::Error)]
pub enum LargeStackError {
    /// As much of it runs as may at once.
    #[error("too much other work of this kind runs now; try again")]
    Busy,
    /// No thread could be started.
    #[error("a thread for the work can't be had now; try again")]
    Thread(#[source] io::Error),
    /// The call was cancelled.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl LargeStackThreads {
    /// At most `max_threads` threads with `stack` bytes each.
    pub const fn new(name: &'static str, stack: usize, max_threads: usize) -> LargeStackThreads {
        LargeStackThreads {
            name,
            stack,
            max_threads,
            running: Mutex::new(0),
            ended: Condvar::new(),
        }
    }

    /// Runs `work` there, once there is a place, and waits for it.
    ///
    /// # Errors
    /// If there is no place for long, the work panicked, or the call has to stop.
    pub fn run<T: Send + 'static>(
        &'static self,
        cancel: &Cancel,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, LargeStackError> {
        let permit = self.permit(cancel)?;
        let (done, result) = mpsc::sync_channel(1);
        let work = move || {
            let outcome = work();
            // What the work held is free by now.
            drop(permit);
            // Nobody waits for it if the call was cancelled.
            done.send(outcome).ok();
        };
        let thread = thread::Builder::new().name(self.name.to_owned());
        let spawned = thread.stack_size(self.stack).spawn(work);
        spawned.map_err(LargeStackError::Thread)?;
        loop {
            match result.recv_timeout(CANCEL_POLL) {
                Ok(outcome) => return Ok(outcome),
                // Freeing what the work had made may take longer than a cancelled call may.
                Err(RecvTimeoutError::Timeout) => cancel.check()?,
                Err(RecvTimeoutError::Disconnected) => {
                    let source = io::Error::other("the work panicked");
                    return Err(LargeStackError::Thread(source));
                }
            }
        }
    }

    fn permit(&'static self, cancel: &Cancel) -> Result<Permit, LargeStackError> {
        let last = Instant::now() + MAX_WAIT;
        let mut running = self.running.lock();
        while *running >= self.max_threads {
            cancel.check()?;
            if Instant::now() >= last {
                return Err(LargeStackError::Busy);
            }
            self.ended.wait_for(&mut running, CANCEL_POLL);
        }
        *running += 1;
        Ok(Permit(self))
    }
}

/// The right to run, given back when it is dropped.
struct Permit(&'static LargeStackThreads);

impl Drop for Permit {
    fn drop(&mut self) {
        *self.0.running.lock() -= 1;
        self.0.ended.notify_one();
    }
}
