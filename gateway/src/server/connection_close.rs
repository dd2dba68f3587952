//! Says `Connection: close` where an answer was given before its request was read to the end.
//!
//! HTTP/1 has no other way to skip the rest of a body than to end the connection. hyper does
//! that by itself, but only if the rest is not there yet, and without a word: a client that keeps
//! connections would send its next request into a closed one. HTTP/2 resets the stream instead.

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

/// Passes the request on, and closes behind a body that nobody wanted.
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

/// Says that this answer is the connection's last, and has it end behind it.
pub(super) fn close(response: &mut Response) {
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(CONNECTION, close);
}

/// A body that tells whether it was read to its end.
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
