//! Limits that all gateways share: one Redis or Valkey keeps the buckets, on its own clock.
//!
//! A call waits for the store at most for the configured time, and only while the store is there:
//! after a failure it is left alone (`presence.rs`), and its calls are judged as `when_down` says.
//! What a reader would miss: what the store refused is refused here until it could pass
//! (`known_spent.rs`), so that a flood of refused calls stays with the gateways it comes to.

use std::{sync::Arc, time::Duration};

use redis::{AsyncConnectionConfig, Client, ConnectionAddr, aio::MultiplexedConnection};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Instant, timeout};

use super::{
    charge::{Bill, Debts, MOST_CHARGES, Verdict},
    config::{LimitsConfig, LimitsError},
};
use crate::metrics::Metrics;
use failure::StoreFailure;
use known_spent::KnownSpent;
use presence::{Line, Presence};
use script::Spend;

mod failure;
mod known_spent;
mod presence;
mod script;
#[cfg(test)]
mod server;

/// A connection, and the first answer on it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Calls that may stand before the connection's writer; more wait, within their own time.
const WRITE_QUEUE: usize = 1024;

/// The store.
pub(super) struct Shared {
    client: Client,
    patience: Duration,
    presence: Presence<MultiplexedConnection>,
    script: Spend,
    known_spent: KnownSpent,
    metrics: Arc<Metrics>,
}

/// The store did not judge: it is away.
#[derive(Clone, Copy, Debug)]
pub(super) struct Away;

impl Shared {
    /// The store of the configuration, if it has one. Connects to nothing yet.
    pub(super) fn new(
        config: &LimitsConfig,
        metrics: &Arc<Metrics>,
    ) -> Result<Option<Self>, LimitsError> {
        let Some(url) = config.url() else {
            return Ok(None);
        };
        Ok(Some(Shared {
            client: client(url)?,
            patience: config.timeout(),
            presence: Presence::new(config.limits_when_down.name(), metrics.clone()),
            script: Spend::new(),
            known_spent: KnownSpent::new(),
            metrics: metrics.clone(),
        }))
    }

    /// Spends all charges of the bill or none. `now` is in microseconds of this process' clock.
    pub(super) async fn spend(&self, bill: &Bill, now: u64) -> Result<Verdict, Away> {
        if bill.charges.is_empty() {
            return Ok(Verdict::Passed([0; MOST_CHARGES]));
        }
        let line = self.presence.line().ok_or(Away)?;
        if let Some(debts) = self.known_spent.check(bill, now) {
            return Ok(Verdict::Refused(debts));
        }
        let span = script::span();
        let verdict = self.ask(&line, bill).await.inspect_err(|Away| {
            span.fail(line.failure());
        })?;
        if let Verdict::Refused(debts) = &verdict {
            self.known_spent.remember(bill, debts, now);
        }
        Ok(verdict)
    }

    /// What the store says of the bill. A failure breaks the line, unless that is broken already.
    async fn ask(&self, line: &Line<MultiplexedConnection>, bill: &Bill) -> Result<Verdict, Away> {
        let begun = Instant::now();
        let mut connection = line.way.clone();
        let answer = self
            .script
            .spend(&mut connection, bill.tenant, &bill.charges);
        let answer = line.unless_broken(timeout(self.patience, answer)).await;
        let answer = match answer.ok_or(Away)? {
            Ok(answer) => answer,
            Err(_elapsed) => Err(StoreFailure::Timeout),
        };
        self.metrics.limit_store().took(begun.elapsed());
        answer.map_err(|failure| {
            line.fail(failure);
            Away
        })
    }

    /// The debts for which the store is known to refuse the bill, without a word to it; `None` if it
    /// would have to be asked.
    pub(super) fn refusal(&self, bill: &Bill, now: u64) -> Result<Option<Debts>, Away> {
        if bill.charges.is_empty() {
            return Ok(None);
        }
        self.presence.line().ok_or(Away)?;
        Ok(self.known_spent.check(bill, now))
    }

    /// Whether the store answered last, and a call would ask it.
    pub(super) fn is_there(&self) -> bool {
        self.presence.line().is_some()
    }

    /// Keeps a connection to the store, until it is dropped. `meanwhile` says, for the log, what
    /// passes while there is none.
    pub(super) async fn keep(&self, meanwhile: impl Fn() -> String) {
        let (connect, test) = (|| self.connect_in_time(), |line| self.test(line));
        self.presence.keep(connect, test, meanwhile).await;
    }

    /// Whether the store still does what calls need.
    async fn test(&self, line: Arc<Line<MultiplexedConnection>>) -> Result<(), StoreFailure> {
        let mut connection = line.way.clone();
        match timeout(self.patience, self.script.probe(&mut connection)).await {
            Ok(answered) => answered,
            Err(_elapsed) => Err(StoreFailure::Timeout),
        }
    }

    async fn connect_in_time(&self) -> Result<MultiplexedConnection, StoreFailure> {
        match timeout(CONNECT_TIMEOUT, self.connect()).await {
            Ok(connected) => connected,
            Err(_elapsed) => Err(StoreFailure::ConnectTimeout),
        }
    }

    /// A connection on which the script was run.
    async fn connect(&self) -> Result<MultiplexedConnection, StoreFailure> {
        // The time is bounded by those who wait, not once more by the crate.
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None)
            .set_pipeline_buffer_size(WRITE_QUEUE);
        let connecting = self
            .client
            .get_multiplexed_async_connection_with_config(&config);
        let mut connection = connecting.await?;
        self.script.probe(&mut connection).await?;
        self.known_spent.forget();
        Ok(connection)
    }
}

fn client(url: &SecretString) -> Result<Client, LimitsError> {
    let client = Client::open(url.expose_secret()).map_err(LimitsError::Url)?;
    let info = client.get_connection_info();
    if matches!(info.addr(), ConnectionAddr::TcpTls { insecure: true, .. }) {
        return Err(LimitsError::Insecure);
    }
    // Each call is a small packet that somebody waits for.
    let settings = info.tcp_settings().clone().set_nodelay(true);
    let info = info.clone().set_tcp_settings(settings);
    Client::open(info).map_err(LimitsError::Url)
}

#[cfg(test)]
mod tests {
    use archway_proto::chain::Chain;

    use super::{server::Server, *};
    use crate::{limits::charge::Charge, terms::Level};

    fn url(url: &str) -> SecretString {
        SecretString::from(url.to_owned())
    }

    #[test]
    fn stores_are_named_by_the_urls_that_redis_has() {
        for good in [
            "redis://limits",
            "redis://:secret@limits:6380/3",
            "rediss://user:secret@limits.example:6380",
            "redis://[fd00::1]:6379",
            "unix:///run/redis.sock?db=2&pass=secret",
            "unix:/run/redis.sock",
        ] {
            let client = client(&url(good));
            assert!(client.is_ok_and(|it| it.get_connection_info().tcp_settings().nodelay()));
        }
    }

    #[test]
    fn what_is_no_store_is_said_without_the_password() {
        for bad in [
            "",
            "limits:6379",
            "http://user:hunter2@limits",
            "redis://user:hunter2@limits/first",
            "redis://user:hunter2@:port",
            "redis://:hun/ter2@limits",
            "rediss://user:hunter2@limits#insecure",
        ] {
            let error = client(&url(bad)).unwrap_err();
            let text = format!("{} {error:?}", Chain(&error));
            assert!(
                !text.contains("hunter2") && !text.contains("ter2"),
                "{text}"
            );
        }
    }

    #[tokio::test]
    async fn a_store_that_was_to_speak_tls_and_does_not_is_away() {
        // As the binary does first of all; an error says that another test did.
        rustls::crypto::aws_lc_rs::default_provider()
            .install_default()
            .ok();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let config = LimitsConfig {
            limits_url: Some(url(&format!("rediss://{}", listener.local_addr().unwrap()))),
            ..LimitsConfig::default()
        };
        let shared = Shared::new(&config, &Arc::new(Metrics::new()))
            .unwrap()
            .unwrap();
        let closing = async { drop(listener.accept().await) };
        let (connected, ()) = tokio::join!(shared.connect_in_time(), closing);
        assert!(matches!(connected, Err(StoreFailure::Connection(_))));
    }

    #[tokio::test]
    async fn whoever_has_no_limit_needs_no_store() {
        let config = LimitsConfig {
            limits_url: Some(url("redis://limits")),
            ..LimitsConfig::default()
        };
        let shared = Shared::new(&config, &Arc::new(Metrics::new()));
        let shared = shared.unwrap().unwrap();
        let (free, limited) = (
            Bill::for_tests(&[]),
            Bill::for_tests(&[Charge::for_tests(1, Level::Key, 60, 1)]),
        );
        assert!(shared.refusal(&limited, 0).is_err(), "nothing is connected");
        assert!(matches!(shared.refusal(&free, 0), Ok(None)));
        assert!(shared.spend(&free, 0).await.is_ok());
    }

    #[tokio::test]
    async fn a_store_of_limits_spends_once_for_all_who_ask_it() {
        let server = Server::start();
        drop(server.connect().await);
        let config = LimitsConfig {
            limits_url: Some(url(&server.url())),
            // Longer than a busy machine keeps the server waiting.
            limits_timeout: 5_000,
            ..LimitsConfig::default()
        };
        let shared = || {
            let shared = Shared::new(&config, &Arc::new(Metrics::new()));
            shared.unwrap().unwrap()
        };
        let (one, other) = (shared(), shared());
        let bill = Bill::for_tests(&[Charge::for_tests(1, Level::Key, 2, 1)]);
        assert!(one.spend(&bill, 0).await.is_err(), "nothing was connected");
        assert!(one.refusal(&bill, 0).is_err(), "nothing was connected");
        let asking = async {
            while !(one.is_there() && other.is_there()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            let mut passed = Vec::new();
            assert!(matches!(one.refusal(&bill, 0), Ok(None)));
            for store in [&one, &other, &one, &other] {
                passed.push(matches!(
                    store.spend(&bill, 0).await,
                    Ok(Verdict::Passed(_))
                ));
            }
            // What was refused is known without the store.
            assert!(matches!(one.refusal(&bill, 0), Ok(Some(_))));
            passed
        };
        tokio::select! {
            passed = timeout(Duration::from_secs(20), asking) => {
                assert_eq!(passed.unwrap(), [true, true, false, false]);
            }
            _ = async { tokio::join!(one.keep(String::new), other.keep(String::new)) } => panic!("they keep on"),
        }
    }
}
