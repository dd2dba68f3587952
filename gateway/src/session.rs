//! Sessions: whose state a request belongs to, below its principal. Never a credential.
//!
//! Met in the middle of `mcp`, once the message and its revision are known. Older clients carry a
//! sealed handle from `initialize` on, which any gateway verifies by itself; that one was ended is
//! known from a copy of what Postgres keeps. In 2026-07-28 there are no sessions: a label from the
//! client's settings divides a principal's calls, and no label means the principal's own session.

use std::{sync::Arc, time::Duration};

use http::{HeaderMap, HeaderName};
use serde_json::{Map, Value};
use tokio::sync::watch;
use uuid::Uuid;

use crate::{
    caller::{Principal, SessionKey},
    error::GatewayError,
    secrets::RootSecret,
    store::{SessionChange, StoreError, Stores},
};
use archway_proto::{chain::Chain, log::LogLevel};
use changed_sessions::ChangedSessions;
use handle::Handle;
use labels::Labels;

mod changed_sessions;
mod handle;
mod labels;

/// Carries an older client's handle.
pub(crate) const HANDLE_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");
/// Carries a newer client's label.
const LABEL_HEADER: &str = "archway-session";
/// Carries it in the message, where headers can't be set.
const LABEL_META: &str = "io.archway/session";
const LONGEST_LABEL: usize = 128;
/// How long the word of a change is waited for.
const ROUND: Duration = Duration::from_millis(500);
/// How much longer the other gateways may take: they gather words for up to 50 ms, each by its own
/// clock, and then ask Postgres.
const OTHERS: Duration = Duration::from_millis(100);

/// The session of one request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Session {
    /// Its name within the gateway.
    pub(crate) key: SessionKey,
    /// The handle's id, or nil for a principal's own session.
    id: Uuid,
    /// Milliseconds since 1970.
    expires: u64,
}

impl Session {
    /// The session of whoever names none.
    pub(crate) fn own(who: &Principal) -> Self {
        Session {
            key: SessionKey::own(who),
            id: Uuid::nil(),
            expires: handle::now().saturating_add(handle::LIFETIME_MS),
        }
    }
}

/// The verifier of sessions.
pub(crate) struct Sessions {
    secret: Arc<RootSecret>,
    stores: Stores,
    changed: ChangedSessions,
    /// How far changes were read, in microseconds since 1970 by Postgres' clock; `None` while
    /// word of them is not heard.
    read: watch::Sender<Option<i64>>,
    labels: Labels,
}

impl Sessions {
    pub(crate) fn new(secret: Arc<RootSecret>, stores: Stores) -> Self {
        Sessions {
            secret,
            stores,
            changed: ChangedSessions::default(),
            read: watch::Sender::new(None),
            labels: Labels::new(),
        }
    }

    /// A new session's handle, for the answer to `initialize`.
    pub(crate) fn open(&self, who: &Principal) -> String {
        Handle::issue().seal(&self.secret, who)
    }

    /// The session of an older client's request; without a handle, the principal's own.
    pub(crate) fn of_handle(
        &self,
        who: &Principal,
        headers: &HeaderMap,
    ) -> Result<Session, GatewayError> {
        match self.handle(who, headers)? {
            Some(handle) => Ok(Session {
                key: SessionKey::own(who).child(handle.id()),
                id: handle.id(),
                expires: handle.expires(),
            }),
            None => Ok(Session::own(who)),
        }
    }

    /// The session of a request of 2026-07-28, by its label.
    pub(crate) fn of_label(
        &self,
        who: &Principal,
        headers: &HeaderMap,
        meta: Option<&Map<String, Value>>,
    ) -> Result<Session, GatewayError> {
        let mut session = Session::own(who);
        if let Some(label) = label(headers, meta)? {
            session.key = self.labels.session(session.key, label);
        }
        Ok(session)
    }

    /// Ends the session of the request's handle, on every gateway.
    pub(crate) async fn end(
        &self,
        who: &Principal,
        headers: &HeaderMap,
    ) -> Result<(), GatewayError> {
        let handle = self.handle(who, headers)?;
        let handle = handle.ok_or(GatewayError::HandleMissing)?;
        let written = self
            .stores
            .tenant(who.tenant_id())
            .end_session(who.name(), handle.id(), handle.issued(), handle.expires())
            .await;
        self.note(written).await
    }

    /// Makes `level` the least severity that the session's client is sent.
    pub(crate) async fn set_log_level(
        &self,
        who: &Principal,
        session: Session,
        level: LogLevel,
    ) -> Result<(), GatewayError> {
        let written = self
            .stores
            .tenant(who.tenant_id())
            .set_log_level(who.name(), session.id, session.expires, level)
            .await;
        self.note(written).await
    }

    /// The least severity that an older client asked for, if it asked for any.
    pub(crate) fn log_level(&self, who: &Principal, session: Session) -> Option<LogLevel> {
        self.changed
            .log_level(who.tenant_id(), who.name(), session.id)
    }

    /// Takes what other gateways, or this one, have written to Postgres.
    pub(crate) fn take(&self, changes: Vec<SessionChange>) {
        let latest = changes.iter().map(|change| change.written).max();
        self.changed.take(changes);
        self.read.send_modify(|read| *read = (*read).max(latest));
    }

    /// Forgets what has expired.
    pub(crate) fn sweep(&self) {
        self.changed.sweep();
    }

    /// Whether word of changes is heard: what was read until now, if any.
    pub(crate) fn listening(&self, until: Option<i64>) {
        self.read.send_replace(until);
    }

    /// How many sessions are kept because they differ from their handle.
    pub(crate) fn kept(&self) -> usize {
        self.changed.len()
    }

    /// Waits until the word of a change came back, and a little longer for the other gateways: the
    /// client's next request may go to any of them.
    async fn note(&self, written: Result<SessionChange, StoreError>) -> Result<(), GatewayError> {
        match written {
            Ok(change) => {
                let own = change.written;
                self.changed.take(vec![change]);
                let mut read = self.read.subscribe();
                let round = read.wait_for(|read| read.is_none_or(|read| own <= read));
                // The change is written: who hears of it late must not make it fail.
                tokio::time::timeout(ROUND, round).await.ok();
                tokio::time::sleep(OTHERS).await;
                Ok(())
            }
            Err(error) => {
                tracing::warn!(error = %Chain(&error), "a session's change was not recorded");
                Err(GatewayError::SessionUnrecorded)
            }
        }
    }

    /// The handle of a request, if it has one; an error if it is not good, for whatever reason.
    fn handle(&self, who: &Principal, headers: &HeaderMap) -> Result<Option<Handle>, GatewayError> {
        let mut values = headers.get_all(HANDLE_HEADER).iter();
        let text = match (values.next(), values.next()) {
            (None, _) => return Ok(None),
            (Some(value), None) => value.to_str().ok(),
            (Some(_), Some(_)) => None,
        };
        let handle = text.and_then(|text| Handle::open(&self.secret, who, text));
        let live = |handle: &Handle| !self.changed.is_ended(who.tenant_id(), who.name(), *handle);
        handle
            .filter(live)
            .map(Some)
            .ok_or(GatewayError::SessionUnknown)
    }
}

/// The label of a request, by header or message; both may name it, if they name the same.
fn label<'a>(
    headers: &'a HeaderMap,
    meta: Option<&'a Map<String, Value>>,
) -> Result<Option<&'a str>, GatewayError> {
    let mut labels = Vec::new();
    for value in headers.get_all(LABEL_HEADER) {
        labels.push(value.to_str().ok());
    }
    labels.extend(
        meta.and_then(|meta| meta.get(LABEL_META))
            .map(Value::as_str),
    );
    let fits = |label: &&str| {
        (1..=LONGEST_LABEL).contains(&label.len()) && !label.chars().any(char::is_control)
    };
    let Some((first, rest)) = labels.split_first() else {
        return Ok(None);
    };
    match first.filter(fits) {
        Some(label) if rest.iter().all(|other| *other == Some(label)) => Ok(Some(label)),
        _ => Err(GatewayError::InvalidParams(format!(
            "the session label ({LABEL_HEADER} or _meta[\"{LABEL_META}\"]) must be one text of 1 \
             to {LONGEST_LABEL} bytes without control characters"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use archway_proto::catalog::Scope;
    use serde_json::json;

    use super::*;

    fn sessions() -> Sessions {
        let secret = RootSecret::parse(&RootSecret::generate_line().unwrap()).unwrap();
        let nowhere = sqlx::postgres::PgConnectOptions::new().socket("/nonexistent");
        Sessions::new(Arc::new(secret), Stores::with_options(nowhere, 1))
    }

    fn headers(name: &str, values: &[&str]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for value in values {
            map.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        map
    }

    #[tokio::test]
    async fn a_handle_names_a_session_and_none_the_principals_own() {
        let (sessions, who) = (sessions(), Principal::for_tests(&[Scope::ToolsRead], None));
        let session =
            |values: &[&str]| sessions.of_handle(&who, &headers(HANDLE_HEADER.as_str(), values));
        let (one, two) = (sessions.open(&who), sessions.open(&who));
        let own = session(&[]).unwrap().key;
        let first = session(&[&one]).unwrap().key;
        assert_eq!(first, session(&[&one]).unwrap().key);
        assert!(first != own && first != session(&[&two]).unwrap().key);
        for bad in [&["x"][..], &[""], &[&one, &one], &[&format!("{one} ")]] {
            let refused = session(bad).unwrap_err();
            assert!(matches!(refused, GatewayError::SessionUnknown), "{bad:?}");
        }
    }

    #[tokio::test]
    async fn a_session_that_cannot_be_recorded_as_ended_is_not_ended() {
        let (sessions, who) = (sessions(), Principal::for_tests(&[Scope::ToolsRead], None));
        let with = headers(HANDLE_HEADER.as_str(), &[&sessions.open(&who)]);
        let refused = sessions.end(&who, &with).await.unwrap_err();
        assert!(matches!(refused, GatewayError::SessionUnrecorded));
        assert!(sessions.of_handle(&who, &with).is_ok());
        let none = sessions.end(&who, &HeaderMap::new()).await.unwrap_err();
        assert!(matches!(none, GatewayError::HandleMissing));
    }

    #[tokio::test]
    async fn a_label_comes_by_header_or_message_and_must_be_one_short_text() {
        let (sessions, who) = (sessions(), Principal::for_tests(&[Scope::ToolsRead], None));
        let session = |values: &[&str], meta: Value| {
            let headers = headers(LABEL_HEADER, values);
            let session = sessions.of_label(&who, &headers, meta.as_object());
            session.ok().map(|session| session.key)
        };
        let meta = |label: &str| json!({ LABEL_META: label });
        let own = session(&[], json!({})).unwrap();
        let a = session(&["a"], json!({})).unwrap();
        assert_ne!(a, own);
        assert_eq!(session(&[], meta("a")), Some(a));
        assert_eq!(session(&["a"], meta("a")), Some(a));
        assert_ne!(session(&["b"], json!({})), Some(a));
        assert!(session(&[&"x".repeat(LONGEST_LABEL)], json!({})).is_some());
        for (values, meta) in [
            (&["a"][..], meta("b")),
            (&["a", "b"], json!({})),
            (&[""], json!({})),
            (&[], meta("")),
            (&[], meta("a\nb")),
            (&[], json!({ LABEL_META: 1 })),
            (&[&"x".repeat(LONGEST_LABEL + 1)], json!({})),
        ] {
            assert_eq!(session(values, meta.clone()), None, "{values:?} {meta}");
        }
    }
}
