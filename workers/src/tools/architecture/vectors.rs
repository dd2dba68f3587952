//! The vector of a request's text, and how long a call waits for vectors.

use archway_proto::chain::Chain;
use tokio::time::{Duration, Instant};

use crate::{projects::Project, tools::ToolContext};

/// Maximum time that a call waits for vectors. It never waits longer than half of its remaining
/// time.
const VECTOR_WAIT: Duration = Duration::from_secs(3);

/// When a call stops waiting for vectors.
pub(super) fn wait_until(cx: &ToolContext) -> Instant {
    let deadline = cx.cancel().deadline;
    let left = deadline.saturating_duration_since(Instant::now());
    Instant::now() + VECTOR_WAIT.min(left / 2)
}

/// The text's vector, if an embedder computes it in time.
pub(super) async fn of_text(
    cx: &ToolContext,
    project: &Project,
    text: &str,
    until: Instant,
) -> Option<Vec<f32>> {
    let embedder = cx.index().embedder();
    match embedder.query(cx.project_key(project), text, until).await {
        Ok(vector) => vector.map(|vector| vector.to_vec()),
        Err(error) => {
            tracing::info!(error = %Chain(&error), "documents are found by their words alone");
            None
        }
    }
}
