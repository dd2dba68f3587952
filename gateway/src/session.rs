//! Sessions: whose state a request belongs to, within its principal. Never a credential.
//!
//! Used in the middle of `mcp`, once the message and its revision are known. An older client sends
//! a sealed handle after `initialize`, which every gateway can verify by itself. Ended sessions are
//! known from a copy of a table in Postgres. 2026-07-28 has no sessions: a label from the client's
//! settings divides a principal's calls. Calls without a label belong to the principal's own
//! session.

use std::{sync::Arc, time::Duration};

use http::{HeaderMap, HeaderName};
use serde_json::{Map, Value};
use tokio::sync::watch;
use uuid::Uuid;

use crate::{
    caller::{Agent, Principal, SessionKey},
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
/// Carries the label in the message, for clients that cannot set headers.
const LABEL_META: &str = "io.archway/session";
const LONGEST_LABEL: usize = 128;
/// How long to wait for the notification of a written change.
const NOTIFICATION_TIMEOUT: Duration = Duration::from_millis(500);
/// How much longer the other gateways may take: they batch notifications for up to 50 ms, each by
/// its own clock, and then query Postgres.
const OTHER_GATEWAYS: Duration = Duration::from_millis(100);

/// The session of one request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Session {
    /// Its key within the gateway.
    pub(crate) key: SessionKey,
    /// The handle's id, or nil for a principal's own session.
    id: Uuid,
    /// Milliseconds since 1970.
    expires: u64,
}

impl Session {
    /// The session of a request that names none.
    pub(crate) fn own(who: &Principal) -> Self {
        Session {
            key: SessionKey::own(who),
            id: Uuid::nil(),
            expires: handle::now().saturating_add(handle::LIFETIME_MS),
        }
    }
}

/// Verifies sessions.
pub(crate) struct Sessions {
    secret: Arc<RootSecret>,
    stores: Stores,
    changed: ChangedSessions,
    /// How far changes were read, in microseconds since 1970 by Postgres' clock; `None` while no
    /// notifications arrive.
    read_up_to: watch::Sender<Option<i64>>,
    labels: Labels,
}

impl Sessions {
    pub(crate) fn new(secret: Arc<RootSecret>, stores: Stores) -> Self {
        Sessions {
            secret,
            stores,
            changed: ChangedSessions::default(),
            read_up_to: watch::Sender::new(None),
            labels: Labels::new(),
        }
    }

    /// The handle of a new session that `agent` opens, for the answer to `initialize`.
    pub(crate) fn open(&self, who: &Principal, agent: Agent) -> String {
        Handle::issue().for_agent(agent).seal(&self.secret, who)
    }

    /// The session of an older client's request, and the program that opened it; without a handle, the
    /// principal's own.
    pub(crate) fn of_handle(
        &self,
        who: &Principal,
        headers: &HeaderMap,
    ) -> Result<(Session, Agent), GatewayError> {
        let Some(handle) = self.handle(who, headers)? else {
            return Ok((Session::own(who), Agent::UNKNOWN));
        };
        let session = Session {
            key: SessionKey::own(who).child(handle.id()),
            id: handle.id(),
            expires: handle.expires(),
        };
        Ok((session, handle.agent()))
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
        let handle = handle.ok_or(GatewayError::SessionHandleMissing)?;
        let written = self
            .stores
            .tenant(who.tenant_id())
            .end_session(who.name(), handle.id(), handle.issued(), handle.expires())
            .await;
        self.await_notification(written).await
    }

    /// Sets the minimum level of the log messages that the session's client receives.
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
        self.await_notification(written).await
    }

    /// The minimum level that an older client set, if any.
    pub(crate) fn log_level(&self, who: &Principal, session: Session) -> Option<LogLevel> {
        self.changed
            .log_level(who.tenant_id(), who.name(), session.id)
    }

    /// Applies changes that any gateway wrote to Postgres.
    pub(crate) fn apply(&self, changes: Vec<SessionChange>) {
        let latest = changes.iter().map(|change| change.written).max();
        self.changed.apply(changes);
        self.read_up_to
            .send_modify(|read| *read = (*read).max(latest));
    }

    /// Drops expired sessions.
    pub(crate) fn sweep(&self) {
        self.changed.sweep();
    }

    /// Records whether change notifications arrive: up to when changes were read, or `None`.
    pub(crate) fn set_read_up_to(&self, until: Option<i64>) {
        self.read_up_to.send_replace(until);
    }

    /// Number of sessions stored because they differ from their handle.
    pub(crate) fn len(&self) -> usize {
        self.changed.len()
    }

    /// Waits for the notification of a written change, and a little longer for the other gateways,
    /// since the client's next request may reach any of them.
    async fn await_notification(
        &self,
        written: Result<SessionChange, StoreError>,
    ) -> Result<(), GatewayError> {
        match written {
            Ok(change) => {
                let own = change.written;
                self.changed.apply(vec![change]);
                let mut read = self.read_up_to.subscribe();
                let notified = read.wait_for(|read| read.is_none_or(|read| own <= read));
                // The change is written, so a late notification must not fail the request.
                tokio::time::timeout(NOTIFICATION_TIMEOUT, notified)
                    .await
                    .ok();
                tokio::time::sleep(OTHER_GATEWAYS).await;
                Ok(())
            }
            Err(error) => {
                tracing::warn!(error = %Chain(&error), "session change could not be recorded");
                Err(GatewayError::SessionUnrecorded)
            }
        }
    }

    /// The handle of a request, if it has one. Fails if the handle is invalid for any reason.
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

/// The label of a request, from header or message. Both may carry it if they agree.
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
        _ => Err(GatewayError::InvalidRequestParams(format!(
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
    async fn a_handle_names_a_session_and_without_one_it_is_the_principals() {
        let (sessions, who) = (sessions(), Principal::for_tests(&[Scope::ToolsRead], None));
        let session =
            |values: &[&str]| sessions.of_handle(&who, &headers(HANDLE_HEADER.as_str(), values));
        let open = || sessions.open(&who, Agent::cleaned("cursor/1.7"));
        let (one, two) = (open(), open());
        let key = |values: &[&str]| session(values).unwrap().0.key;
        assert_eq!(session(&[&one]).unwrap().1.as_str(), "cursor/1.7");
        let (own, first) = (key(&[]), key(&[&one]));
        assert_eq!(first, key(&[&one]));
        assert!(first != own && first != key(&[&two]));
        for bad in [&["x"][..], &[""], &[&one, &one], &[&format!("{one} ")]] {
            let refused = session(bad).unwrap_err();
            assert!(matches!(refused, GatewayError::SessionUnknown), "{bad:?}");
        }
    }

    #[tokio::test]
    async fn a_session_whose_end_cannot_be_recorded_stays_open() {
        let (sessions, who) = (sessions(), Principal::for_tests(&[Scope::ToolsRead], None));
        let with = headers(
            HANDLE_HEADER.as_str(),
            &[&sessions.open(&who, Agent::UNKNOWN)],
        );
        let refused = sessions.end(&who, &with).await.unwrap_err();
        assert!(matches!(refused, GatewayError::SessionUnrecorded));
        assert!(sessions.of_handle(&who, &with).is_ok());
        let none = sessions.end(&who, &HeaderMap::new()).await.unwrap_err();
        assert!(matches!(none, GatewayError::SessionHandleMissing));
    }

    #[tokio::test]
    async fn a_label_is_one_short_text_in_header_or_message() {
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
