//! Answers as server-sent events.

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use http_body_util::BodyExt;

use super::content::Accepts;

/// A response of server-sent events.
pub(super) fn response(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// One message as a server-sent event. A worker's JSON may contain line breaks between its tokens
/// (inside strings they are escaped). A line break would end the event, so it becomes a space.
pub(super) fn event(message: &[u8]) -> Bytes {
    let mut text = Vec::with_capacity(message.len() + 24);
    text.extend_from_slice(b"event: message\ndata: ");
    let on_one_line = message.iter().map(|byte| match byte {
        b'\n' | b'\r' => b' ',
        byte => *byte,
    });
    text.extend(on_one_line);
    text.extend_from_slice(b"\n\n");
    text.into()
}

/// Converts a JSON answer to an event if the client accepts only events.
pub(super) async fn as_accepted(accepts: Accepts, response: Response) -> Response {
    if accepts.json {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let is_json = |value: &HeaderValue| value == "application/json";
    if parts.status != StatusCode::OK
        || !parts.headers.get(header::CONTENT_TYPE).is_some_and(is_json)
    {
        return Response::from_parts(parts, body);
    }
    let Ok(whole) = body.collect().await else {
        return Response::from_parts(parts, Body::empty());
    };
    let media_type = HeaderValue::from_static("text/event-stream");
    parts.headers.insert(header::CONTENT_TYPE, media_type);
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(event(&whole.to_bytes())))
}
