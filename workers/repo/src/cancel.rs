//! When a call has to stop: its deadline passed, or its caller is gone.
//!
//! Blocking work checks between pieces of a few milliseconds; nothing interrupts it from outside.

#[cfg(any(test, feature = "testing"))]
mod check_counter;

use parking_lot::{Mutex, MutexGuard};
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How long a call waits for a lock between two checks.
const CANCEL_POLL: Duration = Duration::from_millis(20);

/// The deadline and cancellation that blocking work checks between pieces.
#[derive(Clone, Debug)]
pub struct Cancel {
    /// The work's deadline.
    pub deadline: Instant,
    /// Cancelled when the caller is gone.
    pub token: CancellationToken,
    #[cfg(any(test, feature = "testing"))]
    checks: check_counter::CheckCounter,
}

/// Why work stopped early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// The deadline has passed.
    #[error("the time for this call is up")]
    Deadline,
    /// The caller is gone.
    #[error("the call was cancelled")]
    Cancelled,
}

impl Cancel {
    /// Stops work at `deadline`, or when `token` is cancelled.
    pub fn new(deadline: Instant, token: CancellationToken) -> Cancel {
        Cancel {
            deadline,
            token,
            #[cfg(any(test, feature = "testing"))]
            checks: check_counter::CheckCounter::default(),
        }
    }

    /// The same with a deadline no later than `deadline`.
    pub fn until(&self, deadline: Instant) -> Cancel {
        Cancel {
            deadline: self.deadline.min(deadline),
            ..self.clone()
        }
    }

    /// Checks whether to continue. A cancelled call is reported as cancelled even after its
    /// deadline.
    ///
    /// # Errors
    /// The reason to stop.
    pub fn check(&self) -> Result<(), Stopped> {
        #[cfg(any(test, feature = "testing"))]
        if self.checks.count(&self.token) {
            return Err(Stopped::Deadline);
        }
        if self.token.is_cancelled() {
            Err(Stopped::Cancelled)
        } else if Instant::now() >= self.deadline {
            Err(Stopped::Deadline)
        } else {
            Ok(())
        }
    }

    /// Waits for a lock that another call may hold for long, until this call is stopped.
    ///
    /// # Errors
    /// The reason to stop.
    pub fn lock<'l, T>(&self, lock: &'l Mutex<T>) -> Result<MutexGuard<'l, T>, Stopped> {
        loop {
            self.check()?;
            if let Some(guard) = lock.try_lock_for(CANCEL_POLL) {
                return Ok(guard);
            }
        }
    }
}
