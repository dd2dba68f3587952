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
