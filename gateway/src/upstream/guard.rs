//! What a call holds while a worker may still work for it.

use std::sync::Arc;

/// Whatever a call holds until its streams have ended, such as its bulkhead permit. Opaque, so that
/// this module need not know the stops before it. Released when all clones are dropped.
#[derive(Clone)]
pub(crate) struct CallGuard(
    #[expect(dead_code, reason = "held until it is dropped")] Arc<dyn Send + Sync>,
);

impl CallGuard {
    pub(crate) fn new(held: impl Send + Sync + 'static) -> Self {
        CallGuard(Arc::new(held))
    }
}
