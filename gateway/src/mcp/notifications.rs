//! The notifications of a call: what the client wants to receive before the result.
//!
//! Progress for a client that sent a token, and log messages from the requested level on; nothing
//! for a client that does not accept events. Workers' log messages are untrusted: oversized or
//! malformed ones, and those beyond the limit per call, are dropped and counted, never cut.

use std::sync::Arc;

use archway_proto::{
    log::LogLevel,
    v1::{Log, Progress},
};
use serde_json::{Value, json};

use super::{envelope::Envelope, request::RequestInfo};
use crate::{metrics::Metrics, upstream::CallUpdate};

/// Maximum size in bytes of a forwarded log message: its data and its logger's name.
const LARGEST_LOG: usize = 64 * 1024;
/// Maximum log messages of one call.
const MOST_LOGS: u32 = 1_000;

/// The notifications that the client of one call wants.
pub(crate) struct NotificationFilter {
    /// The token under which it receives progress.
    token: Option<Value>,
    /// The minimum level of log messages.
    level: Option<LogLevel>,
    /// Log messages that may still be sent.
    logs_left: u32,
    metrics: Arc<Metrics>,
}

impl NotificationFilter {
    /// The notifications that a request asks for.
    pub(crate) fn for_request(
        message: &Envelope,
        info: &RequestInfo,
        metrics: Arc<Metrics>,
    ) -> Self {
        if !info.accepts.events {
            return NotificationFilter::none(metrics);
        }
        let token = message.meta().and_then(|meta| meta.get("progressToken"));
        NotificationFilter {
            token: token.cloned(),
            level: info.log_level,
            ..NotificationFilter::none(metrics)
        }
    }

    /// No notifications.
    pub(crate) fn none(metrics: Arc<Metrics>) -> Self {
        NotificationFilter {
            token: None,
            level: None,
            logs_left: MOST_LOGS,
            metrics,
        }
    }

    /// The JSON-RPC notification for the client, if it wants this one.
    pub(crate) fn notification(&mut self, said: &CallUpdate) -> Option<Vec<u8>> {
        match said {
            CallUpdate::Progress(said) => Some(progress(self.token.as_ref()?, said)),
            CallUpdate::Log(said) => self.log(said),
        }
    }

    fn log(&mut self, said: &Log) -> Option<Vec<u8>> {
        let wanted = self.level?;
        let level = LogLevel::parse(&said.level);
        if level.is_some_and(|level| level < wanted) {
            return None;
        }
        let outcome = match level {
            None => Err("malformed"),
            Some(_) if self.logs_left == 0 => Err("excess"),
            Some(level) => message(level, said),
        };
        match outcome {
            Ok(message) => {
                self.logs_left -= 1;
                Some(message)
            }
            Err(reason) => {
                self.metrics.log_dropped(reason);
                None
            }
        }
    }
}

fn progress(token: &Value, said: &Progress) -> Vec<u8> {
    let mut params = json!({ "progressToken": token, "progress": said.progress });
    if let Some(total) = said.total {
        params["total"] = json!(total);
    }
    if let Some(message) = &said.message {
        params["message"] = json!(message);
    }
    notification("notifications/progress", &params)
}

/// The log notification, or the reason for dropping it.
fn message(level: LogLevel, said: &Log) -> Result<Vec<u8>, &'static str> {
    let logger = said.logger.as_deref();
    if said.data.len() + logger.map_or(0, str::len) > LARGEST_LOG {
        return Err("oversized");
    }
    let data: Value = serde_json::from_slice(&said.data).map_err(|_not_json| "malformed")?;
    let mut params = json!({ "level": level.name(), "data": data });
    if let Some(logger) = logger {
        params["logger"] = json!(logger);
    }
    Ok(notification("notifications/message", &params))
}

fn notification(method: &str, params: &Value) -> Vec<u8> {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
        .to_string()
        .into_bytes()
}
