//! Agents over connections that stay open, each with a session of its own.

use std::{sync::Arc, time::Duration};

use archway_benches::{Client, Stack};
use rand::{SeedableRng, rngs::SmallRng};
use tokio::{task::JoinSet, time::Instant};

use crate::mix::Mix;

/// How long indexes may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// All of them.
pub(crate) struct Agents {
    mix: Arc<Mix>,
    clients: Vec<Client>,
}

/// What a phase came to.
pub(crate) struct Outcome {
    /// Of what was answered well, by the tool's number, in milliseconds.
    pub(crate) taken: Vec<Vec<f64>>,
    /// Results that are errors, and other statuses than 200.
    pub(crate) failed: usize,
    /// How long the phase was, in seconds.
    pub(crate) wall: f64,
}

impl Outcome {
    /// How many calls were answered well.
    pub(crate) fn calls(&self) -> usize {
        self.taken.iter().map(Vec::len).sum()
    }

    /// Calls a second.
    pub(crate) fn rate(&self) -> f64 {
        self.calls() as f64 / self.wall
    }
}

/// When an agent calls next.
#[derive(Clone, Copy)]
enum Pace {
    /// Once it was answered.
    Answered,
    /// By the clock.
    Every(Duration),
}

impl Agents {
    /// Spreads connections over gateways and tenants.
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

    /// Waits until every tenant's project is found by meaning.
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

    /// So many calls a second in all, by the clock: a call's time counts from when it was due.
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
            // Spread over one interval, so that they don't call all at once.
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
        // What failed was not carried.
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

/// Calls; whether a result came that is none of an error.
async fn is_well(client: &mut Client) -> bool {
    let answer = client.exchange().await.expect("the gateway answers");
    answer.status == 200 && !client.body(answer).contains("\"isError\":true")
}
