//! Room for what no worker answers, and where an answer keeps its room.
//!
//! Room is an extension of the response: the server keeps it until the client has read the answer.

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

/// Room for an answer that no worker gives, if it is a large one.
async fn of(size: usize, asker: &Asker) -> Result<Option<Room>, GatewayError> {
    if size <= SMALL_ANSWER {
        return Ok(None);
    }
    let room = asker.room(size, Instant::now() + PATIENCE).await;
    let room = room.map_err(|NoRoom| GatewayError::Failed(Box::new(upstream::unread())))?;
    Ok(Some(room))
}

/// Who gets room for the answers to this request.
pub(super) fn asker(unread: &Arc<UnreadAnswers>, who: &Principal, request: &Parts) -> Asker {
    Asker {
        unread: unread.clone(),
        tenant: who.tenant_id(),
        connection: request.extensions.get().cloned().unwrap_or_default(),
    }
}

/// The answer, which is made once there is room for so much.
pub(super) async fn around(
    most: usize,
    asker: &Asker,
    answer: impl Future<Output = Result<Response, GatewayError>>,
) -> Result<Response, GatewayError> {
    let room = of(most, asker).await?;
    let answer = answer.await?;
    Ok(waiting(room, size(&answer), answer))
}

/// The answer with its room, of which it needs so much.
pub(super) fn waiting(room: Option<Room>, size: usize, mut answer: Response) -> Response {
    if let Some(mut room) = room {
        room.shrink(size);
        answer.extensions_mut().insert(Arc::new(room));
    }
    answer
}

/// The answer, if it is small, has room, or gets some now: few refusals are large.
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

/// How large the answer is, as far as that is known.
fn size(answer: &Response) -> usize {
    usize::try_from(answer.body().size_hint().lower()).unwrap_or(usize::MAX)
}
