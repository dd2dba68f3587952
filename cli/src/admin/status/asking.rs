//! Asking gateways on their admin ports: side by side, within seconds, a few at a time.

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
/// How many are asked at a time.
const AT_ONCE: usize = 16;

/// A gateway that is to be asked.
#[derive(Clone)]
pub(super) struct Asked {
    /// Its `/readyz`.
    url: String,
    /// What it is called, if its row in Postgres led to it.
    name: Option<String>,
    /// Why it is not asked.
    pub(super) refused: Option<String>,
}

impl Asked {
    /// By `--admin-url`.
    pub(super) fn named(url: Uri) -> Asked {
        Asked {
            url: url.to_string(),
            name: None,
            refused: None,
        }
    }

    /// By its row in Postgres.
    pub(super) fn found(name: String, url: String, refused: Option<String>) -> Asked {
        Asked {
            url,
            name: Some(name),
            refused,
        }
    }
}

/// Asks them side by side; answers in the order in which they were named.
pub(super) async fn ask_all(gateways: &[Asked]) -> Vec<GatewayRow> {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut asking = JoinSet::new();
    for (order, asked) in gateways.iter().cloned().enumerate() {
        let places = places.clone();
        asking.spawn(async move {
            // Nobody closes it.
            let _place = places.acquire().await;
            (order, ask(asked).await)
        });
    }
    let mut answers = asking.join_all().await;
    answers.sort_by_key(|(order, _)| *order);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

async fn ask(asked: Asked) -> GatewayRow {
    let mut row = GatewayRow {
        url: asked.url,
        name: asked.name,
        reached: false,
        ready: false,
        reason: String::new(),
        status: None,
    };
    if let Some(refused) = asked.refused {
        row.reason = refused;
        return row;
    }
    let Ok(url) = row.url.parse::<Uri>() else {
        row.reason = "it is at no address".to_owned();
        return row;
    };
    match http_get::get(&url, LIMIT).await {
        Ok((status, body)) => {
            row.reached = true;
            row.ready = status.is_success();
            row.reason = body.trim().to_owned();
            row.status = more(&url).await;
        }
        Err(error) => row.reason = error.to_string(),
    }
    row
}

/// What the gateway says at `/status`, if it says something there.
async fn more(url: &Uri) -> Option<Value> {
    let authority = url.authority()?.as_str();
    let url = format!("http://{authority}/status").parse().ok()?;
    let (status, body) = http_get::get(&url, LIMIT).await.ok()?;
    let said = status.is_success().then_some(body)?;
    serde_json::from_str(&said).ok().filter(Value::is_object)
}
