//! When a call has to stop: its time is up, or its caller is gone.
//!
//! Blocking work asks between pieces that take at most some milliseconds; nothing interrupts it
//! from outside.

#[cfg(any(test, feature = "testing"))]
mod check_counter;

use parking_lot::{Mutex, MutexGuard};
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How long a call waits for a lock between two looks at its own time.
const CANCEL_POLL: Duration = Duration::from_millis(20);

/// What blocking work asks between two pieces of it.
#[derive(Clone, Debug)]
pub struct Cancel {
    /// When the work's time is up.
    pub deadline: Instant,
    /// Set when nobody waits for the answer any longer.
    pub token: CancellationToken,
    #[cfg(any(test, feature = "testing"))]
    checks: check_counter::CheckCounter,
}

/// Why work ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// The deadline has passed.
    #[error("the time for this call is up")]
    Deadline,
    /// Nobody waits for the answer.
    #[error("the call was cancelled")]
    Cancelled,
}

impl Cancel {
    /// Work that ends at `deadline`, or when `token` is cancelled.
    pub fn new(deadline: Instant, token: CancellationToken) -> Cancel {
        Cancel {
            deadline,
            token,
            #[cfg(any(test, feature = "testing"))]
            checks: check_counter::CheckCounter::default(),
        }
    }

    /// The same work, which has no more time than until `deadline`.
    pub fn until(&self, deadline: Instant) -> Cancel {
        Cancel {
            deadline: self.deadline.min(deadline),
            ..self.clone()
        }
    }

    /// Whether to go on. A cancelled call is cancelled, also after its deadline.
    ///
    /// # Errors
    /// Says why to stop.
    pub fn check(&self) -> Result<(), Stopped> {
        #[cfg(any(test, feature = "testing"))]
        self.checks.count(&self.token);
        if self.token.is_cancelled() {
            Err(Stopped::Cancelled)
        } else if Instant::now() >= self.deadline {
            Err(Stopped::Deadline)
        } else {
            Ok(())
        }
    }

    /// Waits for a lock that another call may hold for long, while this one may go on.
    ///
    /// # Errors
    /// Says why to stop.
    pub fn lock<'l, T>(&self, lock: &'l Mutex<T>) -> Result<MutexGuard<'l, T>, Stopped> {
        loop {
            self.check()?;
            if let Some(guard) = lock.try_lock_for(CANCEL_POLL) {
                return Ok(guard);
            }
        }
    }
}
