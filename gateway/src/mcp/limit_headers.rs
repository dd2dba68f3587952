//! Response headers about limits: what is left, or how long to wait.

use axum::response::Response;

use super::envelope::RequestId;
use crate::{
    error::GatewayError,
    limits::{LimitRefusal, RemainingLimit},
};

/// The answer to a charged request, with the remaining limits.
pub(super) fn answer(
    spent: &RemainingLimit,
    id: Option<&RequestId>,
    answer: Result<Response, GatewayError>,
) -> Response {
    let mut response = answer.unwrap_or_else(|error| error.respond(id));
    spent.write_headers(response.headers_mut());
    response
}

/// The refusal of a request, other than a call, that exceeds a limit.
pub(super) fn refuse(refused: &LimitRefusal, id: Option<&RequestId>) -> Response {
    let mut response = refused.error().respond(id);
    refused.write_headers(response.headers_mut());
    response
}
