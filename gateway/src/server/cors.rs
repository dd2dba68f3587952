//! What a web page may do: pages of listed origins get preflights answered and may read answers.
//!
//! This layer runs directly below the check of `Origin` and above everything that can refuse: a
//! page can read a 401 or 413 only if that answer names its origin as well. Unlisted origins never
//! reach it. There is no credentials mode: a key travels in a header that the page sets, never in a
//! cookie.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use http::{
    HeaderName, Method, StatusCode,
    header::{
        ACCEPT, ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION, CONTENT_TYPE, ORIGIN, RETRY_AFTER,
        WWW_AUTHENTICATE,
    },
};
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::guard::{ENDPOINT, Guard};
use crate::{auth::Auth, error::GatewayError};

/// How long a browser may cache the answer to a preflight.
const MAX_AGE: Duration = Duration::from_secs(600);
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// Adds the origin to every answer below it, and answers preflights with 200.
pub(crate) fn layer(guard: Arc<Guard>) -> CorsLayer {
    let name = HeaderName::from_static;
    CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(move |origin, _| guard.lists(origin)))
        // GET needs no permission (Fetch, CORS-safelisted methods).
        .allow_methods([Method::POST, Method::DELETE])
        .allow_headers([
            AUTHORIZATION,
            CONTENT_TYPE,
            ACCEPT,
            SESSION,
            name("mcp-protocol-version"),
            name("mcp-method"),
            name("mcp-name"),
            name("archway-session"),
            name("traceparent"),
            name("last-event-id"),
        ])
        .expose_headers([
            SESSION,
            WWW_AUTHENTICATE,
            RETRY_AFTER,
            name("ratelimit"),
            name("ratelimit-policy"),
        ])
        .max_age(MAX_AGE)
}

/// Passes an `OPTIONS` request to the CORS layer only if it is a preflight of the endpoint or of an
/// existing document, because that layer would answer any. The answer becomes 204: it has no
/// content.
pub(crate) async fn admit_preflight(
    State(auth): State<Arc<Auth>>,
    request: Request,
    next: Next,
) -> Result<Response, GatewayError> {
    if request.method() != Method::OPTIONS {
        return Ok(next.run(request).await);
    }
    let path = request.uri().path();
    let is_document = || auth.metadata().is_some_and(|all| all.at(path).is_some());
    if path != ENDPOINT && !is_document() {
        return Err(GatewayError::NotFound);
    }
    let headers = request.headers();
    if !headers.contains_key(ORIGIN) || !headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD) {
        return Err(GatewayError::MethodNotAllowed);
    }
    let mut answer = next.run(request).await;
    *answer.status_mut() = StatusCode::NO_CONTENT;
    Ok(answer)
}
