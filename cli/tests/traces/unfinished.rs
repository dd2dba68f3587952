//! Spans of unfinished calls: those that are late, ended with their worker, or retried.

use std::sync::mpsc::{Receiver, channel};

use rustix::process::Signal;

use super::{CALLER, Exported, READ, new_trace, one};
use crate::http::{Connection, get, message, tool_call};
use crate::role::{Role, wait_until};
use crate::stage::Stage;

const CALL: &str = "archway.v1.Worker/Call";
const IN_FLIGHT: &str = "archway_worker_tool_calls_in_flight 1\n";

impl Stage {
    /// A verbose worker and gateway, which export everything that they record.
    fn recorded(&self, url: &str, worker: &[(&str, &str)], gateway: &[&str]) -> (Role, Role) {
        let worker = self.recorded_worker(url, worker);
        let gateway = self.recorded_gateway(url, &worker, gateway);
        (worker, gateway)
    }

    fn recorded_worker(&self, url: &str, more: &[(&str, &str)]) -> Role {
        let mut worker = self.worker("127.0.0.1:0");
        worker.args(["--otlp-endpoint", url]);
        worker.envs(more.iter().copied());
        Role::start(worker)
    }

    fn recorded_gateway(&self, url: &str, worker: &Role, more: &[&str]) -> Role {
        let mut gateway = self.gateway(&worker.address);
        gateway.args(["--otlp-endpoint", url, "--trace-rate", "10000"]);
        gateway.args(more);
        let gateway = Role::start(gateway);
        gateway.becomes(200, "ready");
        gateway
    }

    /// The text of the result of a call in this trace.
    fn begun(&self, gateway: &Role, trace: &str) -> Receiver<String> {
        let (send, answer) = channel();
        let request = message(&self.key, &tool_call(1, "read_file", READ));
        let parent = format!("traceparent: 00-{trace}-{CALLER}-01\r\nHost:");
        let request = request.replacen("Host:", &parent, 1);
        let address = gateway.address.clone();
        std::thread::spawn(move || {
            let answer = Connection::open(&address).unwrap().exchange(&request);
            send.send(answer.unwrap().body).ok();
        });
        answer
    }

    /// Keeps calls from ending while it lives.
    fn locked(&self) -> sqlx::Transaction<'static, sqlx::Postgres> {
        self.runtime.block_on(async {
            let mut tx = self.owner.begin().await.unwrap();
            let lock = sqlx::query("lock table projects in access exclusive mode");
            lock.execute(&mut *tx).await.unwrap();
            tx
        })
    }

    fn unlock(&self, locked: sqlx::Transaction<'static, sqlx::Postgres>) {
        self.runtime.block_on(locked.rollback()).unwrap();
    }
}

fn has_the_call(worker: &Role) -> bool {
    let metrics = get(&worker.admin, "/metrics").unwrap();
    metrics.body.contains(IN_FLIGHT)
}

fn is_whole(spans: &[Exported]) -> bool {
    ["POST /mcp", CALL].into_iter().all(|name| {
        let mut spans = spans.iter();
        spans.any(|span| span.name == name && span.kind == "server")
    })
}

fn assert_ended(span: &Exported, status: &str) {
    assert_eq!(span.attribute("rpc.response.status_code"), status);
    assert_eq!(span.attribute("error.type"), status);
    assert!(span.failed, "{span:?}");
}

#[test]
fn a_call_that_its_worker_gave_up_says_so_in_the_workers_span() {
    let stage = Stage::set();
    let collector = stage.runtime.block_on(super::Collector::start());
    let url = collector.url();
    let (_worker, gateway) = stage.recorded(&url, &[], &["--call-deadline", "1"]);
    let locked = stage.locked();
    let late = new_trace();
    let answer = stage.begun(&gateway, &late).recv().unwrap();
    assert!(answer.contains("deadline_exceeded"), "{answer}");
    let spans = stage.runtime.block_on(collector.once(&late, is_whole));
    assert_ended(one(&spans, CALL, "server"), "DEADLINE_EXCEEDED");
    let sent = one(&spans, CALL, "client");
    assert_eq!(sent.attribute("rpc.response.status_code"), "OK");

    let (worker, gateway) = stage.recorded(&url, &[("ARCHWAY_DRAIN_TIMEOUT", "1")], &[]);
    let ended = new_trace();
    let answer = stage.begun(&gateway, &ended);
    wait_until("the worker has the call", || has_the_call(&worker));
    worker.signal(Signal::TERM);
    let answer = answer.recv().unwrap();
    assert!(answer.contains("shutting down"), "{answer}");
    let spans = stage.runtime.block_on(collector.once(&ended, is_whole));
    assert_ended(one(&spans, CALL, "server"), "UNAVAILABLE");
    stage.unlock(locked);
}

#[test]
fn a_try_on_a_worker_that_froze_was_late_and_not_cancelled() {
    let stage = Stage::set();
    let collector = stage.runtime.block_on(super::Collector::start());
    let (worker, gateway) = stage.recorded(&collector.url(), &[], &["--call-deadline", "1"]);
    worker.signal(Signal::STOP);
    let trace = new_trace();
    let answer = stage.begun(&gateway, &trace).recv().unwrap();
    assert!(answer.contains("deadline_exceeded"), "{answer}");
    let ended = |spans: &[Exported]| spans.iter().any(|it| it.name == "POST /mcp");
    let spans = stage.runtime.block_on(collector.once(&trace, ended));
    assert_ended(one(&spans, CALL, "client"), "DEADLINE_EXCEEDED");
}

#[test]
fn a_try_that_failed_ends_before_the_next_begins() {
    let stage = Stage::set();
    let collector = stage.runtime.block_on(super::Collector::start());
    let url = collector.url();
    let workers = [(); 2].map(|()| stage.recorded_worker(&url, &[]));
    let second = format!("http://{}", workers[1].address);
    let gateway = stage.recorded_gateway(&url, &workers[0], &["--worker", &second]);
    let locked = stage.locked();
    let trace = new_trace();
    let answer = stage.begun(&gateway, &trace);
    wait_until("a worker has the call", || workers.iter().any(has_the_call));
    let [one, other] = workers;
    let (dies, lives) = match has_the_call(&one) {
        true => (one, other),
        false => (other, one),
    };
    dies.signal(Signal::KILL);
    wait_until("the other has it", || has_the_call(&lives));
    stage.unlock(locked);
    let answer = answer.recv().unwrap();
    assert!(answer.contains("sesame"), "{answer}");
    let spans = stage.runtime.block_on(collector.once(&trace, is_whole));
    let mut tries = spans
        .iter()
        .filter(|it| it.name == CALL && it.kind == "client");
    let (first, next) = (tries.next().unwrap(), tries.next().unwrap());
    assert!(first.failed && !next.failed, "{first:?} {next:?}");
    assert!(first.end <= next.start, "{first:?} {next:?}");
}
