//! A service that makes embeddings, and stalls in the middle of a repository.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use parking_lot::{Condvar, Mutex};
use serde_json::{Value, json};

/// Requests without this word are queries, and never stall.
pub(crate) const MARK: &str = "grain";

/// A service that lives as long as the test process.
pub(crate) struct EmbeddingService {
    pub(crate) url: String,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// How many marked requests are still answered.
    left: Mutex<usize>,
    may: Condvar,
    /// The texts of each marked request.
    asked: Mutex<Vec<Vec<String>>>,
    /// Requests that are stalled.
    table_locks: AtomicUsize,
}

impl EmbeddingService {
    /// A service that answers this many requests of the index.
    pub(crate) fn start(answers: usize) -> EmbeddingService {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let state = Arc::new(State::default());
        *state.left.lock() = answers;
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                thread::spawn(move || serve(&client, &state));
            }
        });
        EmbeddingService { url, state }
    }

    /// Sets how many index requests are answered from now on, stalled ones first.
    pub(crate) fn answer(&self, requests: usize) {
        *self.state.left.lock() = requests;
        self.state.may.notify_all();
    }

    /// The texts of each index request, answered or not.
    pub(crate) fn asked(&self) -> Vec<Vec<String>> {
        self.state.asked.lock().clone()
    }

    /// Whether a request is stalled.
    pub(crate) fn stands_still(&self) -> bool {
        self.state.table_locks.load(Ordering::Relaxed) > 0
    }
}

impl State {
    /// Waits until one more request may be answered.
    fn pass(&self) {
        let mut left = self.left.lock();
        self.table_locks.fetch_add(1, Ordering::Relaxed);
        self.may.wait_while(&mut left, |left| *left == 0);
        self.table_locks.fetch_sub(1, Ordering::Relaxed);
        *left -= 1;
    }
}

/// Answers requests one by one, until the client is gone.
fn serve(client: &TcpStream, state: &State) {
    let mut reader = BufReader::new(client);
    while let Some(asked) = request(&mut reader) {
        let texts: Vec<String> = serde_json::from_value(asked["input"].clone()).unwrap();
        let count = texts.len();
        if texts.iter().any(|text| text.contains(MARK)) {
            state.asked.lock().push(texts);
            state.pass();
        }
        let embedding_service =
            (0..count).map(|index| json!({ "index": index, "embedding": [3, 4] }));
        let answer = json!({ "data": embedding_service.collect::<Vec<_>>() }).to_string();
        let length = answer.len();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
        let mut client = client;
        if client.write_all((head + &answer).as_bytes()).is_err() {
            return;
        }
    }
}

/// Reads a request; `None` once the client is gone.
fn request(reader: &mut BufReader<&TcpStream>) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim().to_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}
