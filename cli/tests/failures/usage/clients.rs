//! Clients of several keys, each with a program of its own, whose calls end in every way.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use crate::http::Connection;
use crate::role::{LOOK, Role, wait_until};

/// Concurrent clients of each key.
const CLIENTS_PER_KEY: usize = 2;
/// A client leaves before its answer once in so many calls.
const LEAVES_EVERY: usize = 97;

/// Messages that end in different ways: served, denied, refused as unknown, of other methods, of several projects.
const MESSAGES: [&str; 10] = [
    r#""tools/call","params":{"name":"hello","arguments":{}}"#,
    r#""tools/call","params":{"name":"read_file","arguments":{"path":"greeting.txt","project":"site"}}"#,
    r#""tools/call","params":{"name":"read_file","arguments":{"path":"absent.txt","project":"site"}}"#,
    r#""tools/call","params":{"name":"read_file","arguments":{"path":"passwd","project":"site"}}"#,
    r#""tools/call","params":{"name":"grep_codebase","arguments":{"pattern":"needle 7","project":"site"}}"#,
    r#""tools/call","params":{"name":"read_file","arguments":{"path":"other.txt","project":"shop"}}"#,
    r#""tools/call","params":{"name":"read_file","arguments":{"path":"x","project":"never-was"}}"#,
    r#""tools/call","params":{"name":"read_file","arguments":{"paht":"x"}}"#,
    r#""tools/call","params":{"name":"no_such_tool","arguments":{}}"#,
    r#""resources/read","params":{"uri":"repo://site/greeting.txt"}"#,
];

/// Clients that call until they have made all calls.
pub(super) struct Clients {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    gateways: Vec<String>,
    answered: AtomicU64,
    stop: AtomicBool,
}

impl Clients {
    pub(super) fn start(keys: &[String], gateways: &[&Role]) -> Clients {
        let shared = Arc::new(Shared {
            gateways: gateways.iter().map(|it| it.address.clone()).collect(),
            answered: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        });
        let threads = keys
            .iter()
            .flat_map(|key| [key; CLIENTS_PER_KEY])
            .enumerate();
        let threads = threads.map(|(number, key)| {
            let (shared, key) = (Arc::clone(&shared), key.clone());
            std::thread::spawn(move || shared.call(number, &key))
        });
        Clients {
            threads: threads.collect(),
            shared,
        }
    }

    pub(super) fn wait_for(&self, answers: u64) {
        wait_until(&format!("{answers} answers"), || {
            self.shared.answered.load(Ordering::Relaxed) >= answers
        });
    }

    /// Ends them. Returns how many messages were answered.
    pub(super) fn stop(self) -> u64 {
        self.shared.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().unwrap();
        }
        self.shared.answered.load(Ordering::Relaxed)
    }
}

impl Shared {
    fn call(&self, number: usize, key: &str) {
        let mut connection = None;
        for turn in 0.. {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let which = (turn + number) % MESSAGES.len();
            let request = request(key, number, turn, MESSAGES[which]);
            let first = self.gateways.iter().cycle().skip(number);
            let mut gateways = first.take(self.gateways.len());
            if turn % LEAVES_EVERY == LEAVES_EVERY - 1 {
                let socket = gateways.find_map(|it| TcpStream::connect(it).ok());
                if let Some(mut socket) = socket {
                    socket.write_all(request.as_bytes()).ok();
                }
                continue;
            }
            let new = || gateways.find_map(|it| Connection::open(it).ok());
            let Some(mut open) = connection.take().or_else(new) else {
                std::thread::sleep(LOOK);
                continue;
            };
            if let Ok(answer) = open.exchange(&request) {
                // Without its key confirmed, as in an outage, a message is no call.
                let is_call = answer.status == 200;
                self.answered.fetch_add(is_call.into(), Ordering::Relaxed);
                connection = Some(open);
            }
        }
    }
}

/// A message of a client with a program of its own.
fn request(key: &str, number: usize, id: usize, message: &str) -> String {
    let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{message}}}"#);
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\nUser-Agent: agent-{number}/1\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}
