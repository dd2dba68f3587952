//! A network between a gateway and its worker that can be delayed. Data keeps its order.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use tokio::time::Instant;

/// A relay that lives as long as the test process.
pub(crate) struct Relay {
    pub(crate) address: String,
    /// The delay of the worker's data, in milliseconds.
    delay: Arc<AtomicU64>,
}

impl Relay {
    /// Starts a relay to the worker at this address.
    pub(crate) fn start(worker: &str) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let delay = Arc::new(AtomicU64::new(0));
        let (worker, late) = (worker.to_owned(), Arc::clone(&delay));
        thread::spawn(move || {
            for gateway in listener.incoming().flatten() {
                if let Ok(worker) = TcpStream::connect(&worker) {
                    join(gateway, worker, &late);
                }
            }
        });
        Relay { address, delay }
    }

    /// Delays the worker's data by this much from now on.
    pub(crate) fn delay(&self, by: Duration) {
        let milliseconds = u64::try_from(by.as_millis()).unwrap();
        self.delay.store(milliseconds, Ordering::Relaxed);
    }
}

/// Forwards both directions; the worker's data is delayed.
fn join(gateway: TcpStream, worker: TcpStream, delay: &Arc<AtomicU64>) {
    let prompt = Arc::new(AtomicU64::new(0));
    let back = (worker.try_clone().unwrap(), gateway.try_clone().unwrap());
    pass(gateway, worker, prompt);
    pass(back.0, back.1, Arc::clone(delay));
}

fn pass(from: TcpStream, to: TcpStream, delay: Arc<AtomicU64>) {
    let (say, said) = channel();
    thread::spawn(move || hear(from, &say, &delay));
    thread::spawn(move || tell(to, &said));
}

fn hear(mut from: TcpStream, say: &Sender<(Instant, Vec<u8>)>, delay: &AtomicU64) {
    let mut piece = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut piece) {
        let due = Instant::now() + Duration::from_millis(delay.load(Ordering::Relaxed));
        if say.send((due, piece[..length].to_vec())).is_err() {
            return;
        }
    }
}

fn tell(mut to: TcpStream, said: &Receiver<(Instant, Vec<u8>)>) {
    for (due, piece) in said {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        if to.write_all(&piece).is_err() {
            break;
        }
    }
    to.shutdown(Shutdown::Both).ok();
}
