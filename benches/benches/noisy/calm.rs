//! Tenants that call at a steady rate, without waiting for answers.

use std::time::Duration;

use archway_benches::{Client, Stack};
use serde_json::json;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep_until},
};

use crate::{CALM, PACE, call};

/// The clients of the calm tenants.
pub(crate) struct Calm {
    paces: Vec<CallSeries>,
}

/// The tools that each of them calls in turn; `hello` is the first.
const CALLS: usize = 3;

impl Calm {
    pub(crate) fn new(stack: &Stack) -> Calm {
        let calls: [String; CALLS] = [
            call("hello", json!({})),
            call(
                "read_file",
                json!({ "path": "src/module000/part0/file0.rs" }),
            ),
            call("grep_codebase", json!({ "pattern": "needle_in_haystack" })),
        ];
        let pace = |tenant: &str, body: &String| CallSeries {
            url: stack.gateways[0].url(),
            key: stack.key(tenant).to_owned(),
            body: body.clone(),
            idle: Vec::new(),
            busy: JoinSet::new(),
            taken: Vec::new(),
            failed: 0,
        };
        // Tools alternate, because consecutive searches would wait for each other.
        let of = |tenant| calls.each_ref().map(|body| pace(tenant, body));
        Calm {
            paces: CALM.into_iter().flat_map(of).collect(),
        }
    }

    /// Latencies in milliseconds of all calls and of `hello`, and the number of failures.
    pub(crate) async fn round(&mut self, seconds: usize) -> (Vec<f64>, Vec<f64>, usize) {
        let calls = (Duration::from_secs(seconds as u64).as_millis() / PACE.as_millis()) as u32;
        let started = Instant::now();
        for number in 0..calls {
            sleep_until(started + number * PACE).await;
            let turn = number as usize % self.paces.len();
            self.paces[turn].send();
        }
        let (mut all, mut hello, mut failed) = (Vec::new(), Vec::new(), 0);
        for (number, pace) in self.paces.iter_mut().enumerate() {
            while let Some(done) = pace.busy.join_next().await {
                pace.settle(done.expect("a call"));
            }
            all.extend(&pace.taken);
            if number.is_multiple_of(CALLS) {
                hello.extend(&pace.taken);
            }
            failed += std::mem::take(&mut pace.failed);
            pace.taken.clear();
        }
        (all, hello, failed)
    }
}

/// One call of one tenant, repeated over as many connections as it takes.
struct CallSeries {
    url: String,
    key: String,
    body: String,
    idle: Vec<Client>,
    busy: JoinSet<Sent>,
    taken: Vec<f64>,
    failed: usize,
}

/// A connection that is free again, the latency of its call, and whether the call succeeded.
type Sent = (Client, f64, bool);

impl CallSeries {
    fn send(&mut self) {
        while let Some(done) = self.busy.try_join_next() {
            self.settle(done.expect("a call"));
        }
        let kept = self.idle.pop();
        let (url, key, body) = (self.url.clone(), self.key.clone(), self.body.clone());
        self.busy.spawn(async move {
            let mut client = match kept {
                Some(client) => client,
                None => Client::connect(&url, &key, &body).await,
            };
            let started = Instant::now();
            let well = client.exchange().await.is_some_and(|answer| {
                answer.status == 200 && !client.body(answer).contains(r#""isError":true"#)
            });
            (client, started.elapsed().as_secs_f64() * 1e3, well)
        });
    }

    fn settle(&mut self, (client, taken, well): Sent) {
        self.taken.push(taken);
        if well {
            self.idle.push(client);
        } else {
            self.failed += 1;
        }
    }
}
