//! Agents over persistent connections, each with its own session.

use std::{sync::Arc, time::Duration};

use archway_benches::{Client, Stack};
use rand::{SeedableRng, rngs::SmallRng};
use tokio::{task::JoinSet, time::Instant};

use crate::mix::Mix;

/// How long indexing may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// All agents.
pub(crate) struct Agents {
    mix: Arc<Mix>,
    clients: Vec<Client>,
}

/// The results of a phase.
pub(crate) struct Outcome {
    /// Latencies of successful calls in milliseconds, by the tool's number.
    pub(crate) taken: Vec<Vec<f64>>,
    /// Failed results, and statuses other than 200.
    pub(crate) failed: usize,
    /// The duration of the phase, in seconds.
    pub(crate) wall: f64,
}

impl Outcome {
    /// How many calls succeeded.
    pub(crate) fn calls(&self) -> usize {
        self.taken.iter().map(Vec::len).sum()
    }

    /// Calls per second.
    pub(crate) fn rate(&self) -> f64 {
        self.calls() as f64 / self.wall
    }
}

/// When an agent calls next.
#[derive(Clone, Copy)]
enum Pace {
    /// As soon as it was answered.
    Answered,
    /// At fixed intervals.
    Every(Duration),
}

impl Agents {
    /// Distributes connections over gateways and tenants.
    pub(crate) async fn connect(
        stack: &Stack,
        tenants: [&str; 4],
        count: usize,
        mix: &Arc<Mix>,
    ) -> Agents {
        let mut clients = Vec::with_capacity(count);
        for number in 0..count {
            let gateway = &stack.gateways[number % stack.gateways.len()];
            let key = stack.key(tenants[number / stack.gateways.len() % tenants.len()]);
            let client = Client::connect(&gateway.url(), key, "").await;
            let session = Client::open_session(&gateway.url(), key).await;
            clients.push(client.header("Mcp-Session-Id", &session));
        }
        let mix = mix.clone();
        Agents { mix, clients }
    }

    /// Waits until `context_search` works for every tenant's project.
    pub(crate) async fn until_indexed(&mut self) {
        let until = Instant::now() + PATIENCE;
        for client in &mut self.clients {
            client.set_body(self.mix.of("context_search"));
            while !is_well(client).await {
                assert!(Instant::now() < until, "the index was not whole in time");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    }

    /// Every agent calls again as soon as it was answered.
    pub(crate) async fn as_fast_as_it_goes(&mut self, time: Duration) -> Outcome {
        self.run(Pace::Answered, time).await
    }

    /// Makes this many calls per second at fixed times. A call's latency counts from its due time.
    pub(crate) async fn at(&mut self, rate: f64, time: Duration) -> Outcome {
        let every = Duration::from_secs_f64(self.clients.len() as f64 / rate);
        self.run(Pace::Every(every), time).await
    }

    async fn run(&mut self, pace: Pace, time: Duration) -> Outcome {
        let started = Instant::now();
        let count = self.clients.len();
        let mut running = JoinSet::new();
        for (number, client) in self.clients.drain(..).enumerate() {
            let mix = self.mix.clone();
            // Spread over one interval, so that they don't all call at once.
            let first = match pace {
                Pace::Answered => started,
                Pace::Every(every) => started + every.mul_f64(number as f64 / count as f64),
            };
            running.spawn(converse(client, mix, pace, (first, started + time)));
        }
        let mut outcome = Outcome {
            taken: Mix::names().map(|_| Vec::new()).collect(),
            failed: 0,
            wall: 0.0,
        };
        while let Some(ended) = running.join_next().await {
            let (client, taken, failed) = ended.expect("an agent");
            self.clients.push(client);
            outcome.failed += failed;
            for (tool, time) in taken {
                outcome.taken[tool].push(time);
            }
        }
        outcome.wall = started.elapsed().as_secs_f64();
        outcome
    }
}

type Conversation = (Client, Vec<(usize, f64)>, usize);

async fn converse(
    mut client: Client,
    mix: Arc<Mix>,
    pace: Pace,
    (first, until): (Instant, Instant),
) -> Conversation {
    let mut random = SmallRng::from_rng(&mut rand::rng());
    let (mut taken, mut failed, mut due) = (Vec::new(), 0, first);
    while due < until {
        if let Pace::Every(_) = pace {
            tokio::time::sleep_until(due).await;
        }
        let (tool, body) = mix.draw(&mut random);
        client.set_body(body);
        // Failed calls don't count.
        match is_well(&mut client).await {
            true => taken.push((tool, due.elapsed().as_secs_f64() * 1e3)),
            false => failed += 1,
        }
        due = match pace {
            Pace::Answered => Instant::now(),
            Pace::Every(every) => due + every,
        };
    }
    (client, taken, failed)
}

/// Makes a call. Returns whether it succeeded.
async fn is_well(client: &mut Client) -> bool {
    let answer = client.exchange().await.expect("the gateway answers");
    answer.status == 200 && !client.body(answer).contains("\"isError\":true")
}
