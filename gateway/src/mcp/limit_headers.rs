//! What a caller is told of its limits, beside the answer: what is left, or how long to wait.

use axum::response::Response;

use super::envelope::RequestId;
use crate::{
    error::GatewayError,
    limits::{LimitRefusal, RemainingLimit},
};

/// The answer to what was paid for, which says what is left.
pub(super) fn answer(
    spent: &RemainingLimit,
    id: Option<&RequestId>,
    answer: Result<Response, GatewayError>,
) -> Response {
    let mut response = answer.unwrap_or_else(|error| error.respond(id));
    spent.write_headers(response.headers_mut());
    response
}

/// The answer to what is no call and could not be paid for.
pub(super) fn refuse(refused: &LimitRefusal, id: Option<&RequestId>) -> Response {
    let mut response = refused.error().respond(id);
    refused.write_headers(response.headers_mut());
    response
}
