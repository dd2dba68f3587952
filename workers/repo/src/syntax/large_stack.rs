//! Runs work on untrusted text that may need more stack than a usual thread has. Each run has a
//! thread of its own; few run at once, and a caller waits no longer than its call lasts.
//!
//! The caller may be gone while the work still runs. So the work has to end by itself, and holds
//! its permit until then.

use std::{
    io,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
};

use parking_lot::{Condvar, Mutex};
use tokio::time::{Duration, Instant};

use crate::{Cancel, Stopped};

/// How long a caller waits for a permit, so that hostile texts of one do not delay others. Tests of
/// such texts run concurrently, where each takes longer.
const MAX_WAIT: Duration = Duration::from_secs(if cfg!(test) { 60 } else { 2 });

/// How often a waiting caller checks whether its call was stopped.
const CANCEL_POLL: Duration = Duration::from_millis(20);

/// Threads for one kind of work.
pub struct LargeStackThreads {
    name: &'static str,
    /// Stack size of each thread, in bytes. Only the used part takes memory.
    stack: usize,
    max_threads: usize,
    running: Mutex<usize>,
    ended: Condvar,
}

/// Why work did not run.
#[derive(Debug, thiserror::Error)]
pub enum LargeStackError {
    /// The maximum number of threads is running.
    #[error("too much other work of this kind runs now; try again")]
    Busy,
    /// No thread could be started.
    #[error("no thread for the work can be started now; try again")]
    Thread(#[source] io::Error),
    /// The call was stopped.
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

    /// Runs `work` on a thread of its own once a permit is free, and waits for the result.
    ///
    /// # Errors
    /// If no permit becomes free in time, the work panicked, or the call was stopped.
    pub fn run<T: Send + 'static>(
        &'static self,
        cancel: &Cancel,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, LargeStackError> {
        let permit = self.permit(cancel)?;
        let (done, result) = mpsc::sync_channel(1);
        let work = move || {
            let outcome = work();
            // The work has freed its memory by now.
            drop(permit);
            // Sending fails if the call was cancelled.
            done.send(outcome).ok();
        };
        let thread = thread::Builder::new().name(self.name.to_owned());
        let spawned = thread.stack_size(self.stack).spawn(work);
        spawned.map_err(LargeStackError::Thread)?;
        loop {
            match result.recv_timeout(CANCEL_POLL) {
                Ok(outcome) => return Ok(outcome),
                // Check here as well: freeing the work's memory may outlast a cancelled call.
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

/// The permit to run, released on drop.
struct Permit(&'static LargeStackThreads);

impl Drop for Permit {
    fn drop(&mut self) {
        *self.0.running.lock() -= 1;
        self.0.ended.notify_one();
    }
}
