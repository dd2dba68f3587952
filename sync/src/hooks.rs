//! Webhooks: what a host says has changed is due at once.
//!
//! Owns `POST /hooks/{tenant}/{connection}` on the port of `archway sync`: who may speak, how much of it
//! is read, and what it means. What is then done is [`HookConnections`]'.
//!
//! What a reader would get wrong: a body is hashed as it comes, and only its beginning is kept. A name
//! that no connection has takes the same way, with a key that nobody knows. So its answer takes as long
//! as that of a wrong signature. What has no signature at all is refused before its name is looked up, and a
//! name is looked up once in 5 s. Only what was verified spends a connection's rate or is remembered:
//! nobody without the secret can use up either.

// In the order a delivery meets them.
mod refusal;
mod turns;
mod body;
mod signature;
mod seen;
mod payload;
mod event;

#[cfg(test)]
mod tests;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use archway_proto::chain::Chain;
use archway_resilience::LogLimit;
use axum::Router;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::routing::post;
use http::{HeaderMap, StatusCode};
use moka::sync::Cache;
use secrecy::SecretString;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use uuid::Uuid;

use body::PrefixRoom;
use refusal::HookRefusal;
use seen::{Delivery, HookRates, SeenDeliveries};
use signature::Verifier;
use turns::Turns;

/// Connections that are looked up at once; further ones wait within the same deadline.
const MAX_LOOK_UPS: usize = 64;
/// Names whose look-ups are kept, and for how long.
const MAX_TARGETS: u64 = 10_000;
const TARGET_LIFE: Duration = Duration::from_secs(5);
/// How long the database has for each of its two answers.
const STORE_DEADLINE: Duration = Duration::from_secs(2);
/// At most one log line about the database in this time.
const LOG_INTERVAL: Duration = Duration::from_secs(10);
/// The longest slug of a tenant or name of a connection.
const MAX_NAME: usize = 63;

/// The kind of a host, which decides how it signs and what it calls its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HookHost {
    /// GitHub, and GitHub Enterprise.
    GitHub,
    /// GitLab.
    GitLab,
    /// Gitea and Forgejo.
    Gitea,
}

/// A connection that a delivery may name.
#[derive(Clone, Copy, Debug)]
pub struct HookTarget {
    /// Its id.
    pub id: Uuid,
    /// Its host.
    pub host: HookHost,
}

/// A connection, as far as its webhooks need it.
struct HookConnection {
    id: Uuid,
    host: HookHost,
    /// The secret that its host signs with. Without one, every delivery is refused.
    secret: Option<SecretString>,
}

/// What an accepted delivery makes due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HookEventKind {
    /// A fetch of the named repository.
    Fetch,
    /// A listing of the whole connection; and who may read the named repository, or any if none is named.
    List,
}

/// What a host said. It is the host's word: the names are checked for their form alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookEvent {
    /// What is due.
    pub kind: HookEventKind,
    /// The host's id of the repository, in decimal digits. A fetch has it or the name, or both.
    pub repository: Option<String>,
    /// Its name with its owner or group, such as `acme/site`; at most 512 bytes.
    pub full_name: Option<String>,
    /// Whether the named repository is private now.
    pub is_private: bool,
}

/// The connections, and what is done for them.
pub trait HookConnections: Send + Sync + 'static {
    /// The connection of a tenant. Both names match `[a-z0-9][a-z0-9-]{0,62}`.
    ///
    /// # Errors
    /// If the database does not answer.
    fn find(
        &self,
        tenant: &str,
        connection: &str,
    ) -> impl Future<Output = Result<Option<HookTarget>, HookStoreError>> + Send;

    /// The secret of the connection of this name, whether or not there is one.
    fn secret(&self, tenant: &str, connection: &str) -> Option<SecretString>;

    /// Makes due what an event names. Called once for each accepted event, and again if it failed and
    /// the host sends that again. It may be ended after 2 s.
    ///
    /// # Errors
    /// If the database does not answer.
    fn due(
        &self,
        connection: Uuid,
        event: HookEvent,
    ) -> impl Future<Output = Result<(), HookStoreError>> + Send;
}

/// The database did not answer.
#[derive(Debug, thiserror::Error)]
#[error("asking the database about a webhook")]
pub struct HookStoreError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// The route of webhooks.
pub fn router(connections: impl HookConnections) -> Router {
    let receiver = Receiver {
        connections,
        look_ups: Semaphore::new(MAX_LOOK_UPS),
        targets: Cache::builder()
            .max_capacity(MAX_TARGETS)
            .time_to_live(TARGET_LIFE)
            .build(),
        turns: Turns::default(),
        room: PrefixRoom::default(),
        verifier: Verifier::default(),
        rates: HookRates::default(),
        seen: SeenDeliveries::default(),
        log_limit: LogLimit::every(LOG_INTERVAL),
    };
    Router::new()
        .route("/hooks/{tenant}/{connection}", post(receive))
        .with_state(Arc::new(receiver))
}

struct Receiver<C> {
    connections: C,
    look_ups: Semaphore,
    /// What the database said of a name, so that nobody can make it answer again and again.
    targets: Cache<(String, String), Option<HookTarget>>,
    turns: Turns,
    room: PrefixRoom,
    verifier: Verifier,
    rates: HookRates,
    seen: SeenDeliveries,
    log_limit: LogLimit,
}

async fn receive<C: HookConnections>(
    State(receiver): State<Arc<Receiver<C>>>,
    name: Result<Path<(String, String)>, PathRejection>,
    request: Request,
) -> StatusCode {
    let (head, body) = request.into_parts();
    let name = name.ok().map(|Path(name)| name);
    match receiver.accept(name, &head.headers, body).await {
        Ok(()) => StatusCode::ACCEPTED,
        Err(refusal) => {
            receiver.log(&refusal);
            refusal.status()
        }
    }
}

impl<C: HookConnections> Receiver<C> {
    async fn accept(
        &self,
        name: Option<(String, String)>,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<(), HookRefusal> {
        if !signature::is_given(headers) {
            return Err(HookRefusal::Unsigned);
        }
        let found = self.find(name).await?;
        let _turn = self
            .turns
            .take(found.as_ref().map(|found| found.id))
            .await?;
        let hash = self.verifier.hash(found.as_ref());
        let read = body::read(body, hash, &self.room).await?;
        let is_genuine = self.verifier.is_genuine(found.as_ref(), headers, &read.tag);
        let connection = found.ok_or(HookRefusal::NoConnection)?;
        if !is_genuine {
            return Err(HookRefusal::Signature(connection.id));
        }
        let delivery = Delivery::of(&connection, headers, &read.tag);
        if self.seen.contains(delivery.as_ref()) {
            return Ok(());
        }
        if !self.rates.admit(connection.id) {
            return Err(HookRefusal::TooMany(connection.id));
        }
        if let Some(event) = event::of(connection.host, headers, &read.prefix) {
            self.make_due(connection.id, event).await?;
        }
        // Last: what failed is done when the host sends it again.
        self.seen.remember(delivery);
        Ok(())
    }

    /// A name that no connection can have is not looked up.
    async fn find(
        &self,
        name: Option<(String, String)>,
    ) -> Result<Option<HookConnection>, HookRefusal> {
        let Some(name) = name.filter(|(a, b)| is_name(a) && is_name(b)) else {
            return Ok(None);
        };
        let target = self.target(&name).await?;
        // Read for a name that no connection has, too: the time tells nothing.
        let secret = self.connections.secret(&name.0, &name.1);
        Ok(target.map(|HookTarget { id, host }| HookConnection { id, host, secret }))
    }

    async fn target(&self, name: &(String, String)) -> Result<Option<HookTarget>, HookRefusal> {
        if let Some(known) = self.targets.get(name) {
            return Ok(known);
        }
        let (tenant, connection) = name;
        let found = in_time(async {
            let _permit = self.look_ups.acquire().await;
            self.connections.find(tenant, connection).await
        });
        let found = found.await?;
        self.targets.insert(name.clone(), found);
        Ok(found)
    }

    async fn make_due(&self, connection: Uuid, event: HookEvent) -> Result<(), HookRefusal> {
        tracing::debug!(
            connection.id = %connection,
            kind = ?event.kind,
            repository.id = event.repository.as_deref(),
            "webhook"
        );
        in_time(self.connections.due(connection, event)).await
    }

    fn log(&self, refusal: &HookRefusal) {
        if refusal.is_of_the_store() {
            if let Some(suppressed) = self.log_limit.allow() {
                tracing::warn!(error = %Chain(refusal), suppressed, "webhook not handled");
            }
        } else {
            // Anybody can cause these.
            tracing::debug!(%refusal, "webhook refused");
        }
    }
}

async fn in_time<T>(
    answer: impl Future<Output = Result<T, HookStoreError>>,
) -> Result<T, HookRefusal> {
    let answer = timeout(STORE_DEADLINE, answer).await;
    Ok(answer.map_err(HookRefusal::StoreLate)??)
}

fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.len() <= MAX_NAME
        && text.bytes().next().is_some_and(is_plain)
        && text.bytes().all(|byte| is_plain(byte) || byte == b'-')
}
