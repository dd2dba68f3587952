//! The tenant that floods: a separate process in which every connection calls again as soon as it was
//! answered.

use std::time::Duration;

use archway_benches::{Client, Usage, held};
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::Instant};

use crate::{SERVERS_CORE, call};

/// How the tenant floods.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Manner {
    Hello,
    Grep,
    /// Searches of a tenant whose limits were removed: only the permits bound them.
    Searches,
    /// New sessions on half of the connections, invalid arguments on the others.
    Sessions,
    /// Bodies of nearly 1 MiB.
    Bodies,
}

impl Manner {
    pub(crate) const ALL: [Manner; 5] = [
        Manner::Hello,
        Manner::Grep,
        Manner::Searches,
        Manner::Sessions,
        Manner::Bodies,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Manner::Hello => "hello",
            Manner::Grep => "grep",
            Manner::Searches => "searches",
            Manner::Sessions => "sessions",
            Manner::Bodies => "bodies",
        }
    }

    /// The tenant that floods this way. Each has its own limits.
    pub(crate) fn tenant(self) -> String {
        format!("loud-{}", self.name())
    }

    /// The request of a connection.
    fn body(self, connection: usize) -> String {
        match self {
            Manner::Hello => call("hello", json!({})),
            Manner::Grep | Manner::Searches => call(
                "grep_codebase",
                json!({ "pattern": "tenant_(cache|index)_token" }),
            ),
            Manner::Sessions if connection.is_multiple_of(2) => INITIALIZE.to_owned(),
            Manner::Sessions => call("hello", json!({ "no": "such" })),
            Manner::Bodies => call("hello", json!({ "long": "x".repeat((1 << 20) - 1_000) })),
        }
    }
}

const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#,
);

/// What a flooder counted.
#[derive(Default)]
pub(crate) struct Flooded {
    pub(crate) answered: f64,
    pub(crate) admitted: f64,
    pub(crate) cpu: f64,
}

pub(crate) struct Flooder<'a> {
    pub(crate) manner: Manner,
    pub(crate) connections: usize,
    pub(crate) url: &'a str,
    pub(crate) key: &'a str,
}

impl Flooder<'_> {
    /// Starts a separate process, at the lowest priority on the servers' core.
    pub(crate) fn start(&self, seconds: usize) -> tokio::process::Child {
        let bench = std::env::current_exe().expect("a bench knows where it is");
        let mut command = held(Some(SERVERS_CORE), "nice".as_ref());
        command.args(["-n", "19"]).arg(bench).args([
            "--flood",
            self.manner.name(),
            &self.connections.to_string(),
            &seconds.to_string(),
            self.url,
            self.key,
        ]);
        let mut command = tokio::process::Command::from(command);
        command
            .stdout(std::process::Stdio::piped())
            .kill_on_drop(true);
        command.spawn().expect("the flooder starts")
    }
}

/// The flooder's process. Arguments: manner, connections, seconds, URL, key. Prints its counts as JSON.
pub(crate) async fn flood(arguments: &[String]) -> Value {
    let [manner, connections, seconds, url, key] = arguments else {
        panic!("--flood MANNER CONNECTIONS SECONDS URL KEY")
    };
    let manner = Manner::ALL.into_iter().find(|known| known.name() == manner);
    let manner = manner.expect("a manner");
    let (connections, seconds): (usize, u64) = (
        connections.parse().expect("a number"),
        seconds.parse().expect("a number"),
    );
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut flooding = JoinSet::new();
    for connection in 0..connections {
        let (url, key, body) = (url.clone(), key.clone(), manner.body(connection));
        flooding.spawn(async move { call_on(&url, &key, &body, until).await });
    }
    let (mut answered, mut admitted) = (0, 0);
    while let Some(counts) = flooding.join_next().await {
        let counts = counts.expect("a connection");
        answered += counts.0;
        admitted += counts.1;
    }
    let cpu = Usage::of(std::process::id()).cpu_seconds;
    json!({ "answered": answered, "admitted": admitted, "cpu": cpu })
}

/// Calls without a pause. Returns the number of answers, and of those that were no refusals.
async fn call_on(url: &str, key: &str, body: &str, until: Instant) -> (u64, u64) {
    let (mut answered, mut admitted) = (0, 0);
    let mut connection = None;
    while Instant::now() < until {
        let mut client = match connection.take() {
            Some(client) => client,
            None => Client::connect(url, key, body).await,
        };
        let exchanged = tokio::time::timeout_at(until, client.exchange()).await;
        let Ok(Some(answer)) = exchanged else {
            continue;
        };
        answered += 1;
        let said = client.body(answer);
        let refused = ["rate_limited", r#""unavailable""#, "42900"];
        let admits = answer.status != 429 && !refused.iter().any(|word| said.contains(word));
        admitted += u64::from(admits);
        if !answer.closes {
            connection = Some(client);
        }
    }
    (answered, admitted)
}
