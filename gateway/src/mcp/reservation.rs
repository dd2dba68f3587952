//! Reserves space for answers that no worker gives, and attaches reservations to responses.
//!
//! A reservation is an extension of the response: the server holds it until the client has read the
//! answer.

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use http::request::Parts;
use hyper::body::Body as _;
use tokio::time::Instant;

use crate::{
    caller::Principal,
    error::GatewayError,
    unread::{AnswerOwner, NoSpace, PATIENCE, Reservation, SMALL_ANSWER, UnreadAnswers},
    upstream,
};

/// Reserves space for an answer that no worker gives, if it is large.
async fn reserve(size: usize, owner: &AnswerOwner) -> Result<Option<Reservation>, GatewayError> {
    if size <= SMALL_ANSWER {
        return Ok(None);
    }
    let reservation = owner.reserve(size, Instant::now() + PATIENCE).await;
    let reservation =
        reservation.map_err(|NoSpace| GatewayError::WorkerFailure(Box::new(upstream::unread())))?;
    Ok(Some(reservation))
}

/// The owner of the reservations for this request's answers.
pub(super) fn owner(unread: &Arc<UnreadAnswers>, who: &Principal, request: &Parts) -> AnswerOwner {
    AnswerOwner {
        unread: unread.clone(),
        tenant: who.tenant_id(),
        connection: request.extensions.get().cloned().unwrap_or_default(),
    }
}

/// Runs `answer` once space for `most` bytes is reserved.
pub(super) async fn with_reservation(
    most: usize,
    owner: &AnswerOwner,
    answer: impl Future<Output = Result<Response, GatewayError>>,
) -> Result<Response, GatewayError> {
    let reservation = reserve(most, owner).await?;
    let answer = answer.await?;
    Ok(attach(reservation, size(&answer), answer))
}

/// Attaches the reservation to the answer, reduced to its real size.
pub(super) fn attach(
    reservation: Option<Reservation>,
    size: usize,
    mut answer: Response,
) -> Response {
    if let Some(mut reservation) = reservation {
        reservation.shrink(size);
        answer.extensions_mut().insert(Arc::new(reservation));
    }
    answer
}

/// Ensures that a large answer has a reservation. Few refusals are large.
pub(super) async fn ensure(answer: Response, owner: &AnswerOwner) -> Response {
    let size = size(&answer);
    if answer.extensions().get::<Arc<Reservation>>().is_some() {
        return answer;
    }
    match reserve(size, owner).await {
        Ok(reservation) => attach(reservation, size, answer),
        Err(refused) => refused.into_response(),
    }
}

/// The size of the answer, as far as it is known.
pub(super) fn size(answer: &Response) -> usize {
    usize::try_from(answer.body().size_hint().lower()).unwrap_or(usize::MAX)
}
