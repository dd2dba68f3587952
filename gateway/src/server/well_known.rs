//! The documents that tell clients where to get tokens. They need no credential.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{
    HeaderValue, Method,
    header::{CACHE_CONTROL, CONTENT_TYPE},
};

use crate::{auth::Auth, error::GatewayError};

/// Answers requests for these documents; without issuers there are none.
pub(crate) async fn answer(
    State(auth): State<Arc<Auth>>,
    request: Request,
    next: Next,
) -> Result<Response, GatewayError> {
    let Some(document) = auth.metadata().and_then(|all| all.at(request.uri().path())) else {
        return Ok(next.run(request).await);
    };
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Err(GatewayError::GetOnly);
    }
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (CACHE_CONTROL, HeaderValue::from_static("max-age=300")),
    ];
    Ok((headers, Body::from(document.clone())).into_response())
}
