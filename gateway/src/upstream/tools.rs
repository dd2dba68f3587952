//! The catalogue as a worker gives it: a call like the callers', but the gateway's own.

use std::sync::Arc;

use archway_proto::{context::TraceContext, failure::Failure, method::Method};
use bytes::Bytes;
use tokio::time::Instant;

use super::{
    Upstream,
    choice::Affinity,
    context,
    errand::Errand,
    failures::{internal, unavailable},
    pool::Pool,
    stream::CallStream,
};

/// A catalogue, as a worker gives it.
pub(crate) struct GivenTools {
    /// A `ToolList` in JSON.
    pub(crate) tools: Bytes,
    /// Whether the worker is of the default pool.
    pub(crate) by_default_pool: bool,
}

impl Upstream {
    /// The catalogue as one of the workers gives it: one of the default pool, or of another as
    /// long as that has none.
    pub(crate) async fn catalog(&self) -> Result<GivenTools, Failure> {
        let trace = TraceContext::start();
        let pass = self.minter.mint_catalog();
        let pass = pass.map_err(|error| internal(trace, &error))?;
        let until = self.until(Instant::now());
        let pool = self.asked_for_tools().ok_or_else(unavailable)?;
        let asked = CallStream::begin(Box::new(Errand {
            pool: Arc::clone(pool),
            affinity: Affinity::none(),
            method: Method::ToolsList,
            params: Bytes::from_static(b"{}"),
            context: context(trace, pass, None),
            idempotent: true,
            repeatable: true,
            until,
            patience: self.patience(until),
            suspects: self.suspects(None),
            asker: None,
            place: None,
            tried: Vec::new(),
            repeated: false,
        }));
        // Off the path, and large.
        let tools = Box::pin(async { asked.await?.result().await }).await?;
        Ok(GivenTools {
            tools,
            by_default_pool: pool.name() == self.default_pool,
        })
    }

    /// The pool that is asked: one that is ready before one that has workers at all.
    fn asked_for_tools(&self) -> Option<&Arc<Pool>> {
        let first = self.pools.get(&self.default_pool);
        let in_order = || first.into_iter().chain(self.pools.values());
        let ready = in_order().find(|pool| pool.is_ready());
        ready.or_else(|| in_order().find(|pool| pool.has_workers()))
    }
}
