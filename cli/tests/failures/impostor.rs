//! Listeners at a worker's address that are not workers.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How an impostor treats connections.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Manner {
    /// Answers with something other than HTTP/2.
    Babbles,
    /// Reads everything and writes nothing.
    IsSilent,
    /// Closes the connection at once.
    HangsUp,
}

impl Manner {
    pub(crate) const ALL: [Manner; 3] = [Manner::Babbles, Manner::IsSilent, Manner::HangsUp];

    fn treat(self, mut caller: TcpStream) {
        match self {
            Manner::Babbles => {
                caller.write_all(&[0x5a; 4096]).ok();
            }
            Manner::IsSilent => {
                std::io::copy(&mut caller, &mut std::io::sink()).ok();
            }
            Manner::HangsUp => {
                // The preface is read, so that closing ends the connection rather than resetting it.
                caller.read_exact(&mut [0; 24]).ok();
            }
        }
    }
}

/// A listener that lives as long as the test process.
#[derive(Debug)]
pub(crate) struct Impostor {
    address: String,
    #[expect(dead_code, reason = "names it where a test fails")]
    manner: Manner,
    met: Arc<AtomicU64>,
}

impl Impostor {
    pub(crate) fn start(manner: Manner) -> Impostor {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let met = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&met);
        std::thread::spawn(move || {
            for caller in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::Relaxed);
                std::thread::spawn(move || manner.treat(caller));
            }
        });
        Impostor {
            address,
            manner,
            met,
        }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// How many connections were made to it.
    pub(crate) fn met(&self) -> u64 {
        self.met.load(Ordering::Relaxed)
    }
}
