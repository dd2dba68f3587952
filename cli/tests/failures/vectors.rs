//! A service that makes vectors, and stands still half-way through a repository.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use parking_lot::{Condvar, Mutex};
use serde_json::{Value, json};

/// What the service never waits with: a request without this word is a query's.
pub(crate) const MARK: &str = "grain";

/// A service that lives as long as the test's process.
pub(crate) struct Vectors {
    pub(crate) url: String,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// Requests with the mark that are still answered.
    left: Mutex<usize>,
    may: Condvar,
    /// The texts of each request with the mark.
    asked: Mutex<Vec<Vec<String>>>,
    /// Requests that stand still.
    held: AtomicUsize,
}

impl Vectors {
    /// One that answers so many requests of the index.
    pub(crate) fn start(answers: usize) -> Vectors {
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
        Vectors { url, state }
    }

    /// How many requests of the index are answered from now on, those that wait first.
    pub(crate) fn answer(&self, requests: usize) {
        *self.state.left.lock() = requests;
        self.state.may.notify_all();
    }

    /// The texts of each request of the index, answered or not.
    pub(crate) fn asked(&self) -> Vec<Vec<String>> {
        self.state.asked.lock().clone()
    }

    /// Whether somebody waits for it.
    pub(crate) fn stands_still(&self) -> bool {
        self.state.held.load(Ordering::Relaxed) > 0
    }
}

impl State {
    /// Waits until one more request may be answered.
    fn pass(&self) {
        let mut left = self.left.lock();
        self.held.fetch_add(1, Ordering::Relaxed);
        self.may.wait_while(&mut left, |left| *left == 0);
        self.held.fetch_sub(1, Ordering::Relaxed);
        *left -= 1;
    }
}

/// Answers one request after the other, until the client is gone.
fn serve(client: &TcpStream, state: &State) {
    let mut reader = BufReader::new(client);
    while let Some(asked) = request(&mut reader) {
        let texts: Vec<String> = serde_json::from_value(asked["input"].clone()).unwrap();
        let count = texts.len();
        if texts.iter().any(|text| text.contains(MARK)) {
            state.asked.lock().push(texts);
            state.pass();
        }
        let vectors = (0..count).map(|index| json!({ "index": index, "embedding": [3, 4] }));
        let answer = json!({ "data": vectors.collect::<Vec<_>>() }).to_string();
        let length = answer.len();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
        let mut client = client;
        if client.write_all((head + &answer).as_bytes()).is_err() {
            return;
        }
    }
}

/// What was asked; `None` once the client is gone.
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
