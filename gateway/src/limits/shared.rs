//! Limits shared by all gateways: one Redis or Valkey keeps the buckets, on its own clock.
//!
//! A call waits for the store no longer than the configured timeout, and only while the store is
//! up. After a failure the store gets no calls for a second (`reconnect.rs`), and `when_down`
//! decides about the calls meanwhile. What a reader would miss: a bucket that the store refused is
//! refused locally until it could admit the call (`spent_cache.rs`), so a flood of refused calls
//! never reaches the store.

use std::{sync::Arc, time::Duration};

use redis::{AsyncConnectionConfig, Client, ConnectionAddr, aio::MultiplexedConnection};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Instant, timeout};

use super::{
    config::{LimitsConfig, LimitsError},
    cost::{Bill, Debts, MOST_CHARGES, Verdict},
};
use crate::metrics::Metrics;
use failure::StoreFailure;
use reconnect::{LiveConnection, Reconnecting};
use script::SpendScript;
use spent_cache::SpentCache;

mod failure;
mod spent_cache;
mod reconnect;
mod script;
#[cfg(test)]
mod test_server;

/// Time to connect and get a first answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Calls queued for the connection's writer. Further calls wait, within their own timeout.
const WRITE_QUEUE: usize = 1024;

/// The shared store.
pub(super) struct SharedStore {
    client: Client,
    timeout: Duration,
    connection: Reconnecting<MultiplexedConnection>,
    script: SpendScript,
    spent_cache: SpentCache,
    metrics: Arc<Metrics>,
}

/// The store is down and decided nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoreDown;

impl SharedStore {
    /// The store, if the configuration names one. Opens no connection yet.
    pub(super) fn new(
        config: &LimitsConfig,
        metrics: &Arc<Metrics>,
    ) -> Result<Option<Self>, LimitsError> {
        let Some(url) = config.url() else {
            return Ok(None);
        };
        Ok(Some(SharedStore {
            client: client(url)?,
            timeout: config.timeout(),
            connection: Reconnecting::new(config.limits_when_down.name(), metrics.clone()),
            script: SpendScript::new(),
            spent_cache: SpentCache::new(),
            metrics: metrics.clone(),
        }))
    }

    /// Applies all charges of the bill or none. `now` is in microseconds of this process's clock.
    pub(super) async fn spend(&self, bill: &Bill, now: u64) -> Result<Verdict, StoreDown> {
        if bill.charges.is_empty() {
            return Ok(Verdict::Passed([0; MOST_CHARGES]));
        }
        let live = self.connection.live().ok_or(StoreDown)?;
        if let Some(debts) = self.spent_cache.check(bill, now) {
            return Ok(Verdict::Refused(debts));
        }
        let span = script::span();
        let verdict = self.request(&live, bill).await.inspect_err(|StoreDown| {
            span.fail(live.failure());
        })?;
        if let Verdict::Refused(debts) = &verdict {
            self.spent_cache.insert(bill, debts, now);
        }
        Ok(verdict)
    }

    /// Sends the bill to the store. A failure breaks the connection, unless it is broken already.
    async fn request(
        &self,
        live: &LiveConnection<MultiplexedConnection>,
        bill: &Bill,
    ) -> Result<Verdict, StoreDown> {
        let begun = Instant::now();
        let mut connection = live.connection.clone();
        let answer = self
            .script
            .spend(&mut connection, bill.tenant, &bill.charges);
        let answer = live.unless_broken(timeout(self.timeout, answer)).await;
        let answer = match answer.ok_or(StoreDown)? {
            Ok(answer) => answer,
            Err(_elapsed) => Err(StoreFailure::Timeout),
        };
        self.metrics.limit_store().took(begun.elapsed());
        answer.map_err(|failure| {
            live.fail(failure);
            StoreDown
        })
    }

    /// The debts for which the store is known to refuse the bill, without contacting it. `None` if
    /// only the store can decide.
    pub(super) fn refusal(&self, bill: &Bill, now: u64) -> Result<Option<Debts>, StoreDown> {
        if bill.charges.is_empty() {
            return Ok(None);
        }
        self.connection.live().ok_or(StoreDown)?;
        Ok(self.spent_cache.check(bill, now))
    }

    /// Whether a connection to the store is up, so that calls use it.
    pub(super) fn is_up(&self) -> bool {
        self.connection.live().is_some()
    }

    /// Maintains the connection to the store until dropped. `meanwhile` describes, for the log,
    /// what passes during an outage.
    pub(super) async fn run(&self, meanwhile: impl Fn() -> String) {
        let (connect, test) = (|| self.connect_in_time(), |live| self.test(live));
        self.connection.run(connect, test, meanwhile).await;
    }

    /// Whether the store can still do what calls need.
    async fn test(
        &self,
        live: Arc<LiveConnection<MultiplexedConnection>>,
    ) -> Result<(), StoreFailure> {
        let mut connection = live.connection.clone();
        match timeout(self.timeout, self.script.probe(&mut connection)).await {
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

    /// A connection on which the script ran once.
    async fn connect(&self) -> Result<MultiplexedConnection, StoreFailure> {
        // Callers of this function set the timeouts; the crate's own would only add to them.
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None)
            .set_pipeline_buffer_size(WRITE_QUEUE);
        let connecting = self
            .client
            .get_multiplexed_async_connection_with_config(&config);
        let mut connection = connecting.await?;
        self.script.probe(&mut connection).await?;
        self.spent_cache.clear();
        Ok(connection)
    }
}

fn client(url: &SecretString) -> Result<Client, LimitsError> {
    let client = Client::open(url.expose_secret()).map_err(LimitsError::Url)?;
    let info = client.get_connection_info();
    if matches!(info.addr(), ConnectionAddr::TcpTls { insecure: true, .. }) {
        return Err(LimitsError::Insecure);
    }
    // Each call is one small packet with a caller waiting for it.
    let settings = info.tcp_settings().clone().set_nodelay(true);
    let info = info.clone().set_tcp_settings(settings);
    Client::open(info).map_err(LimitsError::Url)
}

#[cfg(test)]
mod tests {
    use archway_proto::chain::Chain;

    use super::{test_server::RedisServer, *};
    use crate::{limits::cost::Charge, terms::Level};

    fn url(url: &str) -> SecretString {
        SecretString::from(url.to_owned())
    }

    #[test]
    fn redis_urls_of_every_form_are_accepted() {
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
    fn an_invalid_url_is_reported_without_its_password() {
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
    async fn a_store_that_does_not_speak_tls_is_down() {
        // The binary installs this provider at start-up. An error means that another test did.
        rustls::crypto::aws_lc_rs::default_provider()
            .install_default()
            .ok();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let config = LimitsConfig {
            limits_url: Some(url(&format!("rediss://{}", listener.local_addr().unwrap()))),
            ..LimitsConfig::default()
        };
        let shared = SharedStore::new(&config, &Arc::new(Metrics::new()))
            .unwrap()
            .unwrap();
        let closing = async { drop(listener.accept().await) };
        let (connected, ()) = tokio::join!(shared.connect_in_time(), closing);
        assert!(matches!(connected, Err(StoreFailure::Connection(_))));
    }

    #[tokio::test]
    async fn a_caller_without_limits_needs_no_store() {
        let config = LimitsConfig {
            limits_url: Some(url("redis://limits")),
            ..LimitsConfig::default()
        };
        let shared = SharedStore::new(&config, &Arc::new(Metrics::new()));
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
    async fn two_gateways_share_the_buckets_of_one_store() {
        let server = RedisServer::start();
        drop(server.connect().await);
        let config = LimitsConfig {
            limits_url: Some(url(&server.url())),
            // Long enough for a busy machine.
            limits_timeout: 5_000,
            ..LimitsConfig::default()
        };
        let shared = || {
            let shared = SharedStore::new(&config, &Arc::new(Metrics::new()));
            shared.unwrap().unwrap()
        };
        let (one, other) = (shared(), shared());
        let bill = Bill::for_tests(&[Charge::for_tests(1, Level::Key, 2, 1)]);
        assert!(one.spend(&bill, 0).await.is_err(), "nothing was connected");
        assert!(one.refusal(&bill, 0).is_err(), "nothing was connected");
        let asking = async {
            while !(one.is_up() && other.is_up()) {
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
            // The refused bucket is now known locally.
            assert!(matches!(one.refusal(&bill, 0), Ok(Some(_))));
            passed
        };
        tokio::select! {
            passed = timeout(Duration::from_secs(20), asking) => {
                assert_eq!(passed.unwrap(), [true, true, false, false]);
            }
            _ = async { tokio::join!(one.run(String::new), other.run(String::new)) } => panic!("they never return"),
        }
    }
}
