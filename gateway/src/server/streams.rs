//! Runs HTTP/2 streams: each has a task of its own, and ends when its answer is overdue.
//!
//! What a reader would get wrong: hyper does not poll a body while the client's window is closed,
//! so a body cannot end its own stream. Only the stream's task can: dropping it resets the stream.
//! If hyper does poll, the body's error resets the stream and drops whatever is queued at once.

use std::{
    cell::Cell,
    future::poll_fn,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};

use prometheus_client::metrics::counter::Counter;
use tokio::time::{Sleep, sleep_until};

use super::read_progress::{ReadProgress, ReadStatus};

thread_local! {
    /// The answer that the stream on this thread has started, until its task takes it.
    static BEGUN: Cell<Option<ReadProgress>> = const { Cell::new(None) };
}

/// Announces the answer of the stream that runs on this thread.
pub(super) fn begin(answer: &ReadProgress) {
    BEGUN.set(Some(answer.clone()));
}

/// Runs the tasks of HTTP/2 streams.
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
        // Taken in any case: otherwise its reservation would be held until this thread's next
        // stream.
        let begun = BEGUN.take();
        if ended_by_itself {
            return Poll::Ready(());
        }
        if clock.is_none() {
            clock = begun.map(AnswerTimer::new);
        }
        let Some(clock) = &mut clock else {
            return Poll::Pending;
        };
        ready!(clock.poll_overdue(cx));
        ended.inc();
        clock.answer.end();
        // This ends the stream, whether hyper polls the body now or not.
        let _ended = stream.as_mut().poll(cx);
        Poll::Ready(())
    })
    .await;
}

/// An answer, and a timer for its next check.
struct AnswerTimer {
    answer: ReadProgress,
    timer: Option<Pin<Box<Sleep>>>,
}

impl AnswerTimer {
    fn new(answer: ReadProgress) -> Self {
        AnswerTimer {
            answer,
            timer: None,
        }
    }

    fn poll_overdue(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let until = match self.answer.status() {
                ReadStatus::Overdue => return Poll::Ready(()),
                ReadStatus::Waiting => return Poll::Pending,
                ReadStatus::CheckAt(until) => until,
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
