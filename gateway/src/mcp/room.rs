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
    unread::{Asker, NoRoom, PATIENCE, Room, SMALL_ANSWER, UnreadAnswers},
    upstream,
};

/// Reserves space for an answer that no worker gives, if it is large.
async fn of(size: usize, asker: &Asker) -> Result<Option<Room>, GatewayError> {
    if size <= SMALL_ANSWER {
        return Ok(None);
    }
    let room = asker.room(size, Instant::now() + PATIENCE).await;
    let room = room.map_err(|NoRoom| GatewayError::Failed(Box::new(upstream::unread())))?;
    Ok(Some(room))
}

/// The owner of the reservations for this request's answers.
pub(super) fn asker(unread: &Arc<UnreadAnswers>, who: &Principal, request: &Parts) -> Asker {
    Asker {
        unread: unread.clone(),
        tenant: who.tenant_id(),
        connection: request.extensions.get().cloned().unwrap_or_default(),
    }
}

/// Runs `answer` once space for `most` bytes is reserved.
pub(super) async fn around(
    most: usize,
    asker: &Asker,
    answer: impl Future<Output = Result<Response, GatewayError>>,
) -> Result<Response, GatewayError> {
    let room = of(most, asker).await?;
    let answer = answer.await?;
    Ok(waiting(room, size(&answer), answer))
}

/// Attaches the reservation to the answer, reduced to its real size.
pub(super) fn waiting(room: Option<Room>, size: usize, mut answer: Response) -> Response {
    if let Some(mut room) = room {
        room.shrink(size);
        answer.extensions_mut().insert(Arc::new(room));
    }
    answer
}

/// Ensures that a large answer has a reservation. Few refusals are large.
pub(super) async fn checked(answer: Response, asker: &Asker) -> Response {
    let size = size(&answer);
    if answer.extensions().get::<Arc<Room>>().is_some() {
        return answer;
    }
    match of(size, asker).await {
        Ok(room) => waiting(room, size, answer),
        Err(refused) => refused.into_response(),
    }
}

/// The size of the answer, as far as it is known.
fn size(answer: &Response) -> usize {
    usize::try_from(answer.body().size_hint().lower()).unwrap_or(usize::MAX)
}
