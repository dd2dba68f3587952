//! Writers of memory while a worker is killed: each acknowledged entry is stored exactly once.
//!
//! `ARCHWAY_TEST_ENTRIES=10000` is the long form; the default is shorter.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::http::{Connection, message};
use crate::role::{LOOK, wait_until};
use crate::scene::{Scene, served};

/// Concurrent writers, each with its own connection.
const WRITERS: usize = 64;
const FILES: [&str; 2] = ["progress_log.jsonl", "decisions.jsonl"];
/// Entries of all writers, unless the environment sets another number.
const ENTRIES: usize = 1_280;
/// How often a writer retries with one key.
const MOST_TRIES: usize = 200;

/// An acknowledged entry: file, number, text.
type Acknowledged = (String, i64, String);

/// The outcome of one writer's entries.
#[derive(Default)]
struct Written {
    acknowledged: Vec<Acknowledged>,
    /// Entries that were neither acknowledged nor retried.
    unknown: Vec<String>,
}

struct Writer {
    number: usize,
    gateway: String,
    key: String,
    done: Arc<AtomicUsize>,
    connection: Option<Connection>,
}

impl Writer {
    /// Writes `entries` entries. Every other writer sends a key and retries until it is acknowledged; the
    /// others write once and leave retrying to the gateway.
    fn run(mut self, entries: usize) -> Written {
        let mut written = Written::default();
        for number in 0..entries {
            let file = FILES[number % FILES.len()];
            let event = format!("writer{}entry{number}", self.number);
            let repeats = self.number.is_multiple_of(2);
            let tries = if repeats { MOST_TRIES } else { 1 };
            let told = (0..tries).find_map(|_| {
                let told = self.write(file, &event, repeats);
                if told.is_none() {
                    std::thread::sleep(LOOK);
                }
                told
            });
            match told {
                Some(count) => written.acknowledged.push((file.to_owned(), count, event)),
                None => written.unknown.push(event),
            }
            self.done.fetch_add(1, Ordering::Relaxed);
        }
        written
    }

    /// The acknowledged count, if any.
    fn write(&mut self, file: &str, event: &str, keyed: bool) -> Option<i64> {
        let entry = json!({ "timestamp": "2026-01-07T14:00:00Z", "event": event });
        let arguments = json!({ "file": file, "entry": entry });
        let mut params = json!({ "name": "write_memory_entry", "arguments": arguments });
        if keyed {
            params["_meta"] = json!({ "io.archway/idempotencyKey": event });
        }
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let mut connection = match self.connection.take() {
            Some(kept) => kept,
            None => Connection::open(&self.gateway).ok()?,
        };
        let answer = connection
            .exchange(&message(&self.key, &call.to_string()))
            .ok()?;
        if !answer.head.contains("connection: close") {
            self.connection = Some(connection);
        }
        let answer: Value = serde_json::from_str(&answer.body).ok()?;
        answer["result"]["structuredContent"]["entry_count"].as_i64()
    }
}

fn start(
    scene: &Scene,
    gateway: &str,
    entries: usize,
    done: &Arc<AtomicUsize>,
) -> Vec<JoinHandle<Written>> {
    let writer = |number| Writer {
        number,
        gateway: gateway.to_owned(),
        key: scene.stage.key.clone(),
        done: Arc::clone(done),
        connection: None,
    };
    (0..WRITERS)
        .map(|number| {
            let writer = writer(number);
            std::thread::spawn(move || writer.run(entries))
        })
        .collect()
}

/// The content of each file, in order: numbers and events.
fn stored(scene: &Scene) -> BTreeMap<String, Vec<(i64, String)>> {
    let rows = sqlx::query_as(
        "select file::text, number, entry::json->>'event' from memory_entries order by file, number",
    )
    .fetch_all(&scene.stage.owner);
    let rows: Vec<(String, i64, String)> = scene.stage.runtime.block_on(rows).unwrap();
    let mut files: BTreeMap<String, Vec<(i64, String)>> = BTreeMap::new();
    for (file, number, event) in rows {
        files.entry(file).or_default().push((number, event));
    }
    files
}

/// Asserts that each file is numbered without gaps and has no duplicates. Returns all events.
fn assert_numbered(files: &BTreeMap<String, Vec<(i64, String)>>) -> BTreeSet<&String> {
    let mut events = BTreeSet::new();
    for (file, entries) in files {
        let numbers: Vec<i64> = entries.iter().map(|(number, _)| *number).collect();
        let whole: Vec<i64> = (1..).take(entries.len()).collect();
        assert_eq!(numbers, whole, "{file} is numbered without a gap");
        for (_, event) in entries {
            assert!(events.insert(event), "{event} is there twice");
        }
    }
    events
}

#[test]
fn each_acknowledged_entry_is_stored_exactly_once_if_a_worker_dies() {
    let all: usize = std::env::var_os("ARCHWAY_TEST_ENTRIES")
        .map_or(ENTRIES, |given| given.to_str().unwrap().parse().unwrap());
    let scene = Scene::set();
    let (one, two) = scene.workers();
    let gateway = scene.gateway(&[&one, &two]);
    let done = Arc::new(AtomicUsize::new(0));
    let writers = start(&scene, &gateway.address, all / WRITERS, &done);
    wait_until("both workers write", || {
        served(&one) > 0 && served(&two) > 0
    });
    wait_until("a third is written", || {
        done.load(Ordering::Relaxed) > all / 3
    });
    one.signal(Signal::KILL);
    let written: Vec<Written> = writers.into_iter().map(|it| it.join().unwrap()).collect();

    let files = stored(&scene);
    let events = assert_numbered(&files);
    let mut acknowledged = 0;
    for writer in &written {
        let mut last = BTreeMap::new();
        for (file, number, event) in &writer.acknowledged {
            let database = usize::try_from(*number).unwrap() - 1;
            assert_eq!(&files[file][database].1, event, "{file} {number}");
            let before = last.insert(file, number);
            assert!(
                before < Some(number),
                "{file} counted {before:?}, then {number}"
            );
            acknowledged += 1;
        }
    }
    let unknown: Vec<&String> = written.iter().flat_map(|it| &it.unknown).collect();
    assert_eq!(acknowledged + unknown.len(), all / WRITERS * WRITERS);
    assert!(unknown.len() <= WRITERS, "{unknown:?}");
    let known: Vec<_> = unknown
        .iter()
        .filter(|event| events.contains(*event))
        .collect();
    assert_eq!(
        events.len(),
        acknowledged + known.len(),
        "nothing else is there"
    );
}
