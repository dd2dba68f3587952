//! Adds the metrics of another component in the same process to the gateway's admin port.
//!
//! Above the path: `archway dev` runs its worker in the gateway's process. Prometheus reads one
//! exposition per address, which ends with an end marker, so the other exposition replaces that
//! marker.

use std::{fmt, sync::Arc};

use axum::{
    body::{Body, to_bytes},
    extract::{Request, State},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
};
use http::{Method, StatusCode, header::CONTENT_LENGTH};
use tower::{ServiceBuilder, util::BoxCloneSyncService};

use crate::server::Stack;

/// The end marker of an exposition.
const END: &str = "# EOF\n";
/// Maximum size of the gateway's own exposition in bytes: far above its real size.
const LARGEST: usize = 64 << 20;

/// Writes the metrics of another component in `OpenMetrics` format.
#[derive(Clone)]
pub(crate) struct ExtraMetrics(Arc<dyn Fn() -> Result<String, fmt::Error> + Send + Sync>);

impl ExtraMetrics {
    pub(crate) fn new(
        write: impl Fn() -> Result<String, fmt::Error> + Send + Sync + 'static,
    ) -> Self {
        ExtraMetrics(Arc::new(write))
    }

    /// The admin port with these metrics added to its own.
    pub(crate) fn join_into(&self, admin: Stack) -> Stack {
        let layer = from_fn_with_state(self.clone(), join);
        BoxCloneSyncService::new(ServiceBuilder::new().layer(layer).service(admin))
    }
}

async fn join(State(extra): State<ExtraMetrics>, request: Request, next: Next) -> Response {
    let is_metrics = request.method() == Method::GET && request.uri().path() == "/metrics";
    let answer = next.run(request).await;
    if !is_metrics || answer.status() != StatusCode::OK {
        return answer;
    }
    let (mut parts, body) = answer.into_parts();
    let own = to_bytes(body, LARGEST).await.ok();
    let own = own.and_then(|own| String::from_utf8(own.into()).ok());
    let both = own.and_then(|own| exposition(&own, &(extra.0)().ok()?));
    let Some(both) = both else {
        tracing::error!("metrics could not be written");
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    parts.headers.remove(CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(both))
}

/// Joins two expositions. `None` if the first one lacks its end marker.
fn exposition(own: &str, other: &str) -> Option<String> {
    Some([own.strip_suffix(END)?, other].concat())
}

#[cfg(test)]
mod tests {
    use axum::{Router, routing::get};
    use tower::ServiceExt;

    use super::*;

    async fn asked(path: &str, other: Result<String, fmt::Error>) -> (StatusCode, String) {
        let admin = Router::new()
            .route("/metrics", get(async || "a 1\n# EOF\n"))
            .route("/healthz", get(async || "ok\n"));
        let extra = ExtraMetrics::new(move || other.clone());
        let joined = extra.join_into(BoxCloneSyncService::new(admin));
        let request = Request::get(path).body(Body::empty()).unwrap();
        let answer = joined.oneshot(request).await.unwrap();
        let status = answer.status();
        let text = to_bytes(answer.into_body(), LARGEST).await.unwrap();
        (status, String::from_utf8(text.into()).unwrap())
    }

    #[tokio::test]
    async fn expositions_join_under_one_end_marker_and_a_cut_one_is_refused() {
        let other = Ok("b 2\n# EOF\n".to_owned());
        let (status, both) = asked("/metrics", other.clone()).await;
        assert_eq!((status.as_u16(), both.as_str()), (200, "a 1\nb 2\n# EOF\n"));
        assert_eq!(asked("/healthz", other).await.1, "ok\n");
        let (status, none) = asked("/metrics", Err(fmt::Error)).await;
        assert_eq!((status.as_u16(), none.as_str()), (500, ""));
    }
}
