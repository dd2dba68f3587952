//! Messages and clients that no honest party would send.
//!
//! Every input gets a well-formed answer: a result, or a JSON-RPC error with the protocol's status; never
//! a panic, a 5xx or a dropped connection. All cases of a test share one connection, and after each case
//! an honest request is answered on it.

mod arguments;
mod cases;
mod mutations;
mod slow;

use std::{cell::RefCell, collections::BTreeSet};

use e2e::{
    Client, Stack,
    http::{Request, Response},
    sample_calls,
};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use serde_json::{Value, json};
use tokio::{
    io::AsyncWriteExt,
    net::TcpStream,
    runtime::Runtime,
    time::{Duration, timeout},
};

use crate::serve;
use arguments::arguments;
use cases::Case;
use mutations::{garbage, headers, members, mutated, nested};

/// Cases of each property. All together take some seconds.
const CASES: u32 = 250;
/// Cases of each argument of each tool.
const CASES_OF_ARGUMENT: u32 = 4;
const PATIENCE: Duration = Duration::from_secs(30);
/// Every permitted error code, with its permitted statuses.
const CODES: [(i64, &[u16]); 6] = [
    (-32700, &[400]),
    (-32600, &[400, 404]),
    (-32601, &[200, 404]),
    (-32602, &[200, 400]),
    (-32020, &[400]),
    (-32022, &[400]),
];

/// A client's connection, reopened only after the gateway announced that it closes it.
struct Line {
    client: Client,
    /// The folder of all repositories on the host, which no answer names.
    mount: String,
    socket: Option<TcpStream>,
    /// The statuses and codes of the answers so far; 0 for answers without an error.
    seen: BTreeSet<(u16, i64)>,
}

impl Line {
    async fn send(&mut self, request: Request) -> Response {
        let to = self.client.address();
        let mut socket = match self.socket.take() {
            Some(socket) => socket,
            None => TcpStream::connect(to).await.unwrap(),
        };
        let bytes = request.header("Connection", "keep-alive").bytes(to);
        let answer = timeout(PATIENCE, async {
            socket
                .write_all(&bytes)
                .await
                .expect("the connection holds");
            Response::read(&mut socket).await
        });
        let answer = answer.await.expect("an answer in time");
        if answer.header("connection") != Some("close") {
            self.socket = Some(socket);
        }
        answer
    }

    /// Sends a case, judges its answer, and checks that the connection still works.
    async fn try_case(&mut self, case: &Case) -> Result<(), TestCaseError> {
        let answer = self.send(case.request(&self.client)).await;
        self.seen.insert((answer.status, judge(&answer)?));
        let names_host = answer.text().contains(&self.mount);
        prop_assert!(!names_host, "{}", answer.text());
        let ping = self.client.request("ping", json!({}));
        let ping = self.send(ping).await;
        prop_assert_eq!(ping.status, 200, "an honest ping: {}", ping.text());
        Ok(())
    }
}

/// Checks an answer against the protocol. Returns its error code, or 0.
fn judge(answer: &Response) -> Result<i64, TestCaseError> {
    let (status, text) = (answer.status, answer.text());
    let media_type = answer.header("content-type").unwrap_or_default();
    if media_type.starts_with("text/plain") {
        let known = [404, 406, 413, 415].contains(&status);
        prop_assert!(known, "{}: {}", status, text);
        return Ok(0);
    }
    if text.is_empty() {
        prop_assert_eq!(status, 202);
        return Ok(0);
    }
    let message = answer.json();
    prop_assert_eq!(&message["jsonrpc"], "2.0", "{}", text);
    match (message.get("result"), message.get("error")) {
        (Some(result), None) => {
            prop_assert_eq!(status, 200, "{}", text);
            let code = &result["_meta"]["io.archway/error"]["error"]["code"];
            prop_assert_ne!(code, "internal_error", "{}", text);
            Ok(0)
        }
        (None, Some(error)) => judge_error(status, error),
        _ => Err(TestCaseError::fail(format!(
            "neither result nor error, or both: {text}"
        ))),
    }
}

fn judge_error(status: u16, error: &Value) -> Result<i64, TestCaseError> {
    let code = error["code"].as_i64().unwrap_or_default();
    let known = CODES.iter().find(|(known, _)| *known == code);
    let statuses = known.map_or(&[][..], |(_, statuses)| *statuses);
    prop_assert!(statuses.contains(&status), "{}: {}", status, error);
    let message = error["message"].as_str().unwrap_or_default();
    let short = !message.is_empty() && message.len() < 1_000;
    prop_assert!(short, "{}", error);
    prop_assert!(!message.contains(char::is_control), "{}", error);
    Ok(code)
}

#[test]
fn garbage_gets_a_well_formed_answer_and_the_connection_stays_usable() {
    let runtime = Runtime::new().unwrap();
    let (stack, client) =
        runtime.block_on(serve(e2e::Repo::new().file("a.txt", "sesame\n").commit()));
    let line = RefCell::new(Line {
        client,
        mount: stack.repositories().display().to_string(),
        socket: None,
        seen: BTreeSet::new(),
    });
    let properties = [
        ("random bytes", garbage()),
        ("mutated messages", mutated()),
        ("any value for a member", members()),
        ("nested and repeated bodies", nested()),
        ("any headers", headers()),
    ];
    for (name, cases) in properties {
        try_cases(&runtime, &line, (name, CASES), &cases);
    }
    assert_met(&line.borrow().seen);
    assert_no_failure(&runtime, &stack);
}

#[test]
fn any_value_of_any_argument_gets_a_well_formed_answer() {
    let runtime = Runtime::new().unwrap();
    let repo = sample_calls::fixture(e2e::Repo::new());
    let (stack, client) = runtime.block_on(serve(repo));
    let line = RefCell::new(Line {
        client,
        mount: stack.repositories().display().to_string(),
        socket: None,
        seen: BTreeSet::new(),
    });
    let arguments = arguments();
    assert!(arguments.len() > 80, "{}", arguments.len());
    for (name, cases) in &arguments {
        try_cases(&runtime, &line, (name, CASES_OF_ARGUMENT), cases);
    }
    assert_no_failure(&runtime, &stack);
}

fn try_cases(
    runtime: &Runtime,
    line: &RefCell<Line>,
    (name, cases): (&str, u32),
    strategy: &BoxedStrategy<Case>,
) {
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 500,
        ..Config::default()
    });
    let tried = runner.run(strategy, |case| {
        // A case that panics leaves no connection behind.
        runtime.block_on(line.borrow_mut().try_case(&case))
    });
    tried.unwrap_or_else(|failed| panic!("{name}: {failed}"));
}

fn assert_no_failure(runtime: &Runtime, stack: &Stack) {
    let metrics = Request::new("GET", "/metrics");
    let metrics = runtime.block_on(metrics.send(stack.admin())).text();
    for bad in [r#"status="5"#, r#"outcome="internal_error""#] {
        assert!(!metrics.contains(bad), "{metrics}");
    }
}

/// Panics unless the cases reached what they aim at.
fn assert_met(seen: &BTreeSet<(u16, i64)>) {
    for met in [
        (200, 0),
        (202, 0),
        (200, -32602),
        (400, -32700),
        (400, -32600),
        (400, -32602),
        (400, -32020),
        (404, -32601),
        (406, 0),
        (415, 0),
    ] {
        assert!(seen.contains(&met), "{met:?} is not in {seen:?}");
    }
}
