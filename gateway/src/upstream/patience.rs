//! How long a call waits for its worker: until its deadline, or until the gateway's own end.

use archway_proto::failure::Failure;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::failures::{deadline, draining};

/// What every wait of one call is bound by.
pub(super) struct Patience {
    pub(super) until: Instant,
    /// Cancelled when the gateway ends and the calls that still run have to be answered.
    pub(super) end: CancellationToken,
}

impl Patience {
    /// What `answer` gives, or the failure that says why it was not waited for any longer.
    pub(super) async fn wait<T>(&self, answer: impl Future<Output = T>) -> Result<T, Failure> {
        tokio::select! {
            // An answer that is there is given, however late it is.
            biased;
            answered = tokio::time::timeout_at(self.until, answer) => {
                answered.map_err(|_elapsed| deadline())
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

    fn patience() -> Patience {
        Patience {
            until: Instant::now() + Duration::from_secs(10),
            end: CancellationToken::new(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_waits_until_its_deadline_or_the_end_whichever_is_first() {
        let late = patience().wait(pending::<()>()).await.unwrap_err();
        assert_eq!(late.code, Fault::DeadlineExceeded);

        let patience = patience();
        let end = patience.end.clone();
        let ending = async {
            tokio::time::sleep(Duration::from_secs(3)).await;
            end.cancel();
        };
        let begun = Instant::now();
        let (ended, ()) = tokio::join!(patience.wait(pending::<()>()), ending);
        let ended = ended.unwrap_err();
        assert_eq!(begun.elapsed().as_secs(), 3);
        assert_eq!(ended.code, Fault::Unavailable);
        assert!(ended.details.contains_key("retry_after_seconds"));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_is_there_is_given_even_at_the_end() {
        let patience = patience();
        patience.end.cancel();
        assert_eq!(patience.wait(async { 7 }).await.unwrap(), 7);
    }
}
