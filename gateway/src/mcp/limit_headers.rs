//! What a caller is told of its limits, beside the answer: what is left, or how long to wait.

use axum::response::Response;

use super::envelope::RequestId;
use crate::{
    error::GatewayError,
    limits::{Refused, Spent},
};

/// The answer to what was paid for, which says what is left.
pub(super) fn answer(
    spent: &Spent,
    id: Option<&RequestId>,
    answer: Result<Response, GatewayError>,
) -> Response {
    let mut response = answer.unwrap_or_else(|error| error.respond(id));
    spent.tell(response.headers_mut());
    response
}

/// The answer to what is no call and could not be paid for.
pub(super) fn refuse(refused: &Refused, id: Option<&RequestId>) -> Response {
    let mut response = refused.error().respond(id);
    refused.tell(response.headers_mut());
    response
}
