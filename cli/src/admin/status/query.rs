//! Queries gateways on their admin ports concurrently, each with a deadline.

use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::gateway::GatewayRow;
use crate::http_get;

/// How long a gateway may take for one answer.
const LIMIT: Duration = Duration::from_secs(2);
/// How many gateways are queried at a time.
const AT_ONCE: usize = 16;

/// A gateway to query.
#[derive(Clone)]
pub(super) struct GatewayTarget {
    /// The URL of its `/readyz`.
    url: String,
    /// Its name, if its row in Postgres was the source.
    name: Option<String>,
    /// Why it must not be queried.
    pub(super) refused: Option<String>,
}

impl GatewayTarget {
    /// From `--admin-url`.
    pub(super) fn named(url: Uri) -> GatewayTarget {
        GatewayTarget {
            url: url.to_string(),
            name: None,
            refused: None,
        }
    }

    /// From its row in Postgres.
    pub(super) fn discovered(name: String, url: String, refused: Option<String>) -> GatewayTarget {
        GatewayTarget {
            url,
            name: Some(name),
            refused,
        }
    }
}

/// Queries all gateways concurrently. Rows are in the order of `gateways`.
pub(super) async fn query_all(gateways: &[GatewayTarget]) -> Vec<GatewayRow> {
    let permits = Arc::new(Semaphore::new(AT_ONCE));
    let mut queries = JoinSet::new();
    for (order, target) in gateways.iter().cloned().enumerate() {
        let permits = permits.clone();
        queries.spawn(async move {
            // The semaphore is never closed, so `acquire` cannot fail.
            let _permit = permits.acquire().await;
            (order, query(target).await)
        });
    }
    let mut answers = queries.join_all().await;
    answers.sort_by_key(|(order, _)| *order);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

async fn query(target: GatewayTarget) -> GatewayRow {
    let mut row = GatewayRow {
        url: target.url,
        name: target.name,
        reached: false,
        ready: false,
        reason: String::new(),
        status: None,
    };
    if let Some(refused) = target.refused {
        row.reason = refused;
        return row;
    }
    let Ok(url) = row.url.parse::<Uri>() else {
        row.reason = "its address is not valid".to_owned();
        return row;
    };
    match http_get::get(&url, LIMIT).await {
        Ok((status, body)) => {
            row.reached = true;
            row.ready = status.is_success();
            row.reason = body.trim().to_owned();
            row.status = reported_status(&url).await;
        }
        Err(error) => row.reason = error.to_string(),
    }
    row
}

/// The gateway's `/status`, if it has one.
async fn reported_status(url: &Uri) -> Option<Value> {
    let authority = url.authority()?.as_str();
    let url = format!("http://{authority}/status").parse().ok()?;
    let (status, body) = http_get::get(&url, LIMIT).await.ok()?;
    let said = status.is_success().then_some(body)?;
    serde_json::from_str(&said).ok().filter(Value::is_object)
}
