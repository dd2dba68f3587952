//! Ctrl-C, SIGTERM, and the terminal that is closed: all mean an orderly stop, and the second
//! one an immediate end. (Postgres stops by itself then, see `postgres::supervisor`.)

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// How a process ends that was interrupted, by custom.
const INTERRUPTED: i32 = 130;

/// The signals that ask for a stop, received from `listen` on.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Returns once a stop was asked for.
    pub(crate) async fn stop(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }

    /// From here on, one more signal ends the process.
    pub(crate) fn end_at_the_next_one(mut self) {
        tokio::spawn(async move {
            self.stop().await;
            std::process::exit(INTERRUPTED);
        });
    }
}
