//! A request's body. It reports its end to the connection's timeouts: what arrives after it belongs
//! to the next request.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::connection::Activity;

pub(super) struct RequestBody {
    body: Incoming,
    activity: Activity,
}

impl RequestBody {
    pub(super) fn new(body: Incoming, activity: Activity) -> Self {
        let body = RequestBody { body, activity };
        body.report_end();
        body
    }

    fn report_end(&self) {
        if self.body.is_end_stream() {
            self.activity.request_read();
        }
    }
}

impl Body for RequestBody {
    type Data = <Incoming as Body>::Data;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            // Chunked bodies report their end only here.
            None => self.activity.request_read(),
            Some(_) => self.report_end(),
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
