//! How long a call waits for its worker: until its deadline, or until the gateway shuts down.

use archway_proto::failure::Failure;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::failures::{deadline_exceeded, draining};

/// Bounds every wait of one call.
pub(super) struct CallDeadline {
    pub(super) until: Instant,
    /// Cancelled when the gateway's shutdown must end the calls that still run.
    pub(super) end: CancellationToken,
}

impl CallDeadline {
    /// The result of `answer`, or the failure that says why the wait ended.
    pub(super) async fn wait<T>(&self, answer: impl Future<Output = T>) -> Result<T, Failure> {
        tokio::select! {
            // An answer that has arrived is delivered, however late it is.
            biased;
            answered = tokio::time::timeout_at(self.until, answer) => {
                answered.map_err(|_elapsed| deadline_exceeded())
            }
            () = self.end.cancelled() => Err(draining()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::pending, time::Duration};

    use archway_proto::fault::Fault;

    use super::*;

    fn call_deadline() -> CallDeadline {
        CallDeadline {
            until: Instant::now() + Duration::from_secs(10),
            end: CancellationToken::new(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_waits_until_its_deadline_or_the_shutdown() {
        let late = call_deadline().wait(pending::<()>()).await.unwrap_err();
        assert_eq!(late.code, Fault::DeadlineExceeded);

        let call_deadline = call_deadline();
        let end = call_deadline.end.clone();
        let ending = async {
            tokio::time::sleep(Duration::from_secs(3)).await;
            end.cancel();
        };
        let begun = Instant::now();
        let (ended, ()) = tokio::join!(call_deadline.wait(pending::<()>()), ending);
        let ended = ended.unwrap_err();
        assert_eq!(begun.elapsed().as_secs(), 3);
        assert_eq!(ended.code, Fault::Unavailable);
        assert!(ended.details.contains_key("retry_after_seconds"));
    }

    #[tokio::test(start_paused = true)]
    async fn an_available_answer_is_delivered_even_at_shutdown() {
        let call_deadline = call_deadline();
        call_deadline.end.cancel();
        assert_eq!(call_deadline.wait(async { 7 }).await.unwrap(), 7);
    }
}
