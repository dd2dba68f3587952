//! Fetching the catalog from a worker: a call like any other, but the gateway's own.

use std::sync::Arc;

use archway_proto::{context::TraceContext, failure::Failure, method::Method};
use bytes::Bytes;
use tokio::time::Instant;

use super::{
    Upstream,
    affinity::Affinity,
    call_context,
    failures::{internal, unavailable},
    pool::Pool,
    retry::RetriedCall,
    stream::WorkerCall,
};

/// A catalog as a worker returned it.
pub(crate) struct FetchedCatalog {
    /// A `ToolList` in JSON.
    pub(crate) tools: Bytes,
    /// Whether the worker is in the default pool.
    pub(crate) from_default_pool: bool,
}

impl Upstream {
    /// Fetches the catalog from a worker of the default pool, or of another pool while that has
    /// none.
    pub(crate) async fn catalog(&self) -> Result<FetchedCatalog, Failure> {
        let trace = TraceContext::start();
        let pass = self.minter.mint_catalog();
        let pass = pass.map_err(|error| internal(trace, &error))?;
        let until = self.until(Instant::now());
        let pool = self.pool_for_catalog().ok_or_else(unavailable)?;
        let asked = WorkerCall::begin(Box::new(RetriedCall {
            pool: Arc::clone(pool),
            affinity: Affinity::none(),
            method: Method::ToolsList,
            params: Bytes::from_static(b"{}"),
            context: call_context(trace, pass, None),
            idempotent: true,
            repeatable: true,
            until,
            deadline: self.call_deadline(until),
            crash_guard: self.crash_guard(None),
            owner: None,
            bulkhead_permit: None,
            tried: Vec::new(),
            repeated: false,
        }));
        // On the heap: this future is large and off the call path.
        let tools = Box::pin(async { asked.await?.result().await }).await?;
        Ok(FetchedCatalog {
            tools,
            from_default_pool: pool.name() == self.default_pool,
        })
    }

    /// Whether any pool has a ready worker.
    pub(crate) fn has_ready_worker(&self) -> bool {
        self.pools.values().any(|pool| pool.is_ready())
    }

    /// The pool to ask: a ready one if there is one, else one that has workers.
    fn pool_for_catalog(&self) -> Option<&Arc<Pool>> {
        let first = self.pools.get(&self.default_pool);
        let in_order = || first.into_iter().chain(self.pools.values());
        let ready = in_order().find(|pool| pool.is_ready());
        ready.or_else(|| in_order().find(|pool| pool.has_workers()))
    }
}
