//! Clients that call while parts fail.
//!
//! Each has one connection and calls without a pause. Every call is answered once before anything fails,
//! and each later answer must be the same. A complete answer to another call, or an empty list from a
//! worker that just started, counts as broken, like a cut connection.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::Instant;

use crate::http::{Connection, HttpResponse, message, tool_call};
use crate::role::{LOOK, wait_until};

/// The calls, in turn: every family, with small and large answers.
const CALLS: [(&str, &str); 6] = [
    ("hello", "{}"),
    ("read_file", r#"{"path":"greeting.txt"}"#),
    ("list_files", r#"{"max_depth":4}"#),
    ("read_file", r#"{"path":"src/part3/file33.rs"}"#),
    ("grep_codebase", r#"{"pattern":"fn \\w+_7"}"#),
    ("search_files", r#"{"pattern":"needle 7"}"#),
];
/// Fields that depend on the time, not on the arguments.
const MOMENTS: [&str; 3] = ["timestamp", "searchTime", "duration_ms"];
/// Concurrent clients.
pub(crate) const CLIENTS: usize = 12;
/// How many errors are recorded: the first ones say most.
const MOST_KEPT: usize = 20;
/// How many characters of each are recorded.
const MOST_SAID: usize = 500;

/// What the clients observed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Calls with the expected answer.
    pub(crate) good: u64,
    /// Failures that tell an agent what to do, by code.
    pub(crate) told: BTreeMap<String, u64>,
    /// Descriptions of what no client should observe.
    pub(crate) broken: Vec<String>,
    /// The longest of all calls, whatever the outcome.
    pub(crate) slowest: Duration,
}

impl Tally {
    /// Calls that failed with a reason.
    pub(crate) fn failed(&self) -> u64 {
        self.told.values().sum()
    }

    /// Asserts that every call had the expected answer.
    pub(crate) fn assert_lossless(&self) {
        let lossless = self.broken.is_empty() && self.told.is_empty() && self.good > 0;
        assert!(lossless, "{self:?}");
    }

    fn broke(&mut self, what: String) {
        if self.broken.len() < MOST_KEPT {
            self.broken.push(what.chars().take(MOST_SAID).collect());
        }
    }
}

/// Clients that call until they are stopped.
pub(crate) struct Load {
    shared: Arc<Shared>,
    clients: Vec<JoinHandle<()>>,
}

struct Shared {
    key: String,
    /// The expected answers of [`CALLS`].
    expected: Vec<Value>,
    tally: Mutex<Tally>,
    /// Since when each client has waited for an answer.
    waiting: Mutex<Vec<Instant>>,
    next_id: AtomicU64,
    stop: AtomicBool,
}

impl Load {
    /// Makes each call once at the first gateway, then starts the clients. Each uses one of the gateways,
    /// and the next one whenever it is disconnected.
    pub(crate) fn start(key: &str, gateways: &[&str]) -> Load {
        let mut first = Connection::open(gateways[0]).unwrap();
        let expected = CALLS.map(|(tool, arguments)| {
            let call = message(key, &tool_call(0, tool, arguments));
            let answer = first.exchange(&call).unwrap();
            let result = result(&answer, 0).unwrap_or_else(|wrong| panic!("{wrong}"));
            assert_ne!(result["isError"], true, "{result}");
            said(&result)
        });
        let shared = Arc::new(Shared {
            key: key.to_owned(),
            expected: expected.to_vec(),
            tally: Mutex::default(),
            waiting: Mutex::new(vec![Instant::now(); CLIENTS]),
            next_id: AtomicU64::new(1),
            stop: AtomicBool::new(false),
        });
        let client = |number: usize| {
            let shared = Arc::clone(&shared);
            let mut gateways: Vec<String> = gateways.iter().map(ToString::to_string).collect();
            let first = number % gateways.len();
            gateways.rotate_left(first);
            std::thread::spawn(move || Client::new(&shared, gateways).run(number))
        };
        Load {
            clients: (0..CLIENTS).map(client).collect(),
            shared,
        }
    }

    /// The observations so far.
    pub(crate) fn so_far(&self) -> Tally {
        self.shared.tally.lock().clone()
    }

    /// Resets the observations. Calls in flight count for the new ones.
    pub(crate) fn begin_again(&self) -> Tally {
        std::mem::take(&mut *self.shared.tally.lock())
    }

    /// Waits until `more` further calls were answered well.
    pub(crate) fn passes(&self, more: u64) {
        let goal = self.so_far().good + more;
        wait_until(&format!("{more} more good calls"), || {
            self.so_far().good >= goal
        });
    }

    /// How long the longest call in flight has waited.
    pub(crate) fn longest_wait(&self) -> Duration {
        let waiting = self.shared.waiting.lock();
        waiting
            .iter()
            .map(Instant::elapsed)
            .max()
            .unwrap_or_default()
    }

    /// Waits for the calls in flight, and ends.
    pub(crate) fn stop(mut self) -> Tally {
        self.end();
        self.so_far()
    }

    fn end(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        for client in self.clients.drain(..) {
            // A client that panicked has printed why.
            client.join().ok();
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.end();
    }
}

/// One client.
struct Client<'a> {
    shared: &'a Shared,
    /// The current one comes first.
    gateways: Vec<String>,
    connection: Option<Connection>,
}

impl Client<'_> {
    fn new(shared: &Shared, gateways: Vec<String>) -> Client<'_> {
        Client {
            shared,
            gateways,
            connection: None,
        }
    }

    fn run(mut self, first: usize) {
        for turn in first.. {
            if self.shared.stop.load(Ordering::Relaxed) {
                return;
            }
            let started = Instant::now();
            self.shared.waiting.lock()[first] = started;
            let seen = self.call(turn % CALLS.len());
            let well = matches!(seen, Ok(None));
            let mut tally = self.shared.tally.lock();
            tally.slowest = tally.slowest.max(started.elapsed());
            match seen {
                Ok(None) => tally.good += 1,
                Ok(Some(code)) => *tally.told.entry(code).or_default() += 1,
                Err(wrong) => tally.broke(wrong),
            }
            drop(tally);
            if !well {
                // Like an agent, which pauses before it retries.
                std::thread::sleep(LOOK);
            }
        }
    }

    /// Makes one call. Returns `None` if it was answered well, else the failure's code.
    fn call(&mut self, which: usize) -> Result<Option<String>, String> {
        let (tool, arguments) = CALLS[which];
        let id = self.shared.next_id.fetch_add(1, Ordering::Relaxed);
        let call = message(&self.shared.key, &tool_call(id, tool, arguments));
        let mut connection = self.connection()?;
        let answer = connection
            .exchange(&call)
            .map_err(|error| format!("{tool} was lost: {error}"))?;
        if answer.head.contains("connection: close") {
            self.gateways.rotate_left(1);
        } else {
            self.connection = Some(connection);
        }
        let result = result(&answer, id)?;
        if result["isError"] == true {
            return code(&result, &answer).map(Some);
        }
        let expected = &self.shared.expected[which];
        let same = said(&result) == *expected;
        same.then_some(None)
            .ok_or_else(|| format!("{tool} answered {result}, not {expected}"))
    }

    /// The open connection, else a new one to the first gateway that accepts it.
    fn connection(&mut self) -> Result<Connection, String> {
        if let Some(kept) = self.connection.take() {
            return Ok(kept);
        }
        for _ in 0..self.gateways.len() {
            if let Ok(connection) = Connection::open(&self.gateways[0]) {
                return Ok(connection);
            }
            self.gateways.rotate_left(1);
        }
        Err("no gateway takes connections".to_owned())
    }
}

/// The result of the call with this id.
fn result(answer: &HttpResponse, id: u64) -> Result<Value, String> {
    let mut message: Value = serde_json::from_str(&answer.body)
        .map_err(|error| format!("{} with {:?}: {error}", answer.status, answer.body))?;
    let own = answer.status == 200 && message["id"] == id && message["result"].is_object();
    own.then(|| message["result"].take())
        .ok_or_else(|| format!("{} with {message}", answer.status))
}

/// A result without what depends on the time.
fn said(result: &Value) -> Value {
    let mut said = result["structuredContent"].clone();
    if let Some(fields) = said.as_object_mut() {
        for moment in MOMENTS {
            fields.remove(moment);
        }
    }
    said
}

/// The code of a failure that says when to retry. Any other result is broken.
fn code(result: &Value, answer: &HttpResponse) -> Result<String, String> {
    let error = &result["_meta"]["io.archway/error"]["error"];
    let seconds = error["details"]["retry_after_seconds"].as_f64();
    let helps = seconds.is_some_and(|seconds| seconds > 0.0)
        && error["suggestion"]
            .as_str()
            .is_some_and(|text| !text.is_empty());
    match error["code"].as_str() {
        Some(code) if helps => Ok(code.to_owned()),
        _ => Err(format!("a failure that does not help: {}", answer.body)),
    }
}
