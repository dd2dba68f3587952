//! Ctrl-C, SIGTERM, and a closed terminal: each requests a graceful stop, and a second one ends the
//! process immediately. (Postgres then stops by itself, see `postgres::supervisor`.)

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The conventional exit status of an interrupted process.
const INTERRUPTED: i32 = 130;

/// The stop signals, received since `listen`.
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

    /// Returns when a stop was requested.
    pub(crate) async fn stop(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }

    /// From now on, one more signal ends the process.
    pub(crate) fn exit_on_next(mut self) {
        tokio::spawn(async move {
            self.stop().await;
            std::process::exit(INTERRUPTED);
        });
    }
}
