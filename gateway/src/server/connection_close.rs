//! Adds `Connection: close` when an answer was given before the request body was read to its end.
//!
//! HTTP/1 can skip the rest of a body only by ending the connection. hyper does so by itself, but
//! only if the rest has not arrived yet, and without announcing it. A client that reuses
//! connections would then send its next request into a closed one. HTTP/2 resets the stream
//! instead.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use axum::{
    body::{Body, Bytes},
    extract::Request,
    middleware::Next,
    response::Response,
};
use http::{HeaderValue, Version, header::CONNECTION};
use hyper::body::{Body as _, Frame, SizeHint};

/// Passes the request on, and closes the connection if its body was not read to the end.
pub(super) async fn close_if_unread(request: Request, next: Next) -> Response {
    if request.version() > Version::HTTP_11 || request.body().is_end_stream() {
        return next.run(request).await;
    }
    let read = Arc::new(AtomicBool::new(false));
    let request = request.map(|body| {
        Body::new(TrackedBody {
            body,
            read: read.clone(),
        })
    });
    let mut response = next.run(request).await;
    if !read.load(Ordering::Relaxed) {
        close(&mut response);
    }
    response
}

/// Marks the answer as the last of its connection, which makes hyper end the connection after it.
pub(super) fn close(response: &mut Response) {
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(CONNECTION, close);
}

/// A body that records whether it was read to its end.
struct TrackedBody {
    body: Body,
    read: Arc<AtomicBool>,
}

impl hyper::body::Body for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if frame.is_none() || self.body.is_end_stream() {
            self.read.store(true, Ordering::Relaxed);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
