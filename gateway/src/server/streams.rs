//! Streams of HTTP/2: each has a task of its own, and ends with the clock of its answer.
//!
//! What a reader would get wrong: hyper asks a body for nothing while the client's window is shut, so
//! a body can't end its own stream. Only who runs the stream's task can: a task that is dropped
//! resets its stream. If hyper does ask, the body's error resets it, and what of it is queued is
//! dropped at once.

use std::{
    cell::Cell,
    future::poll_fn,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};

use prometheus_client::metrics::counter::Counter;
use tokio::time::{Sleep, sleep_until};

use super::taking::{Look, Taking};

thread_local! {
    /// The answer that the stream on this thread has begun, until its task takes it.
    static BEGUN: Cell<Option<Taking>> = const { Cell::new(None) };
}

/// Tells the stream that runs on this thread which answer it has.
pub(super) fn begin(answer: &Taking) {
    BEGUN.set(Some(answer.clone()));
}

/// Runs the streams of HTTP/2.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    /// Counts the answers that were ended.
    ended: Counter,
}

impl Streams {
    pub(super) fn new(ended: Counter) -> Self {
        Streams { ended }
    }
}

impl<F: Future<Output = ()> + Send + 'static> hyper::rt::Executor<F> for Streams {
    fn execute(&self, stream: F) {
        tokio::spawn(run(stream, self.ended.clone()));
    }
}

/// Runs a stream to its end, or until its answer is overdue.
async fn run(stream: impl Future<Output = ()>, ended: Counter) {
    let mut stream = pin!(stream);
    let mut clock = None;
    poll_fn(|cx| {
        BEGUN.take();
        let ended_by_itself = stream.as_mut().poll(cx).is_ready();
        // Taken in any case: what stays would keep its room until this thread's next stream.
        let begun = BEGUN.take();
        if ended_by_itself {
            return Poll::Ready(());
        }
        if clock.is_none() {
            clock = begun.map(Clock::new);
        }
        let Some(clock) = &mut clock else {
            return Poll::Pending;
        };
        ready!(clock.poll_overdue(cx));
        ended.inc();
        clock.answer.end();
        // Whether hyper asks the body now or not: this is the stream's end.
        let _ended = stream.as_mut().poll(cx);
        Poll::Ready(())
    })
    .await;
}

/// An answer, and when it has to be looked at.
struct Clock {
    answer: Taking,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Clock {
    fn new(answer: Taking) -> Self {
        Clock {
            answer,
            timer: None,
        }
    }

    fn poll_overdue(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let until = match self.answer.look() {
                Look::Overdue => return Poll::Ready(()),
                Look::Owed => return Poll::Pending,
                Look::Until(until) => until,
            };
            let timer = self
                .timer
                .get_or_insert_with(|| Box::pin(sleep_until(until)));
            if timer.is_elapsed() || until < timer.deadline() {
                timer.as_mut().reset(until);
            }
            ready!(timer.as_mut().poll(cx));
        }
    }
}
