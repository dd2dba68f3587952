//! What a call has to do with what its session works on.

use std::sync::Arc;

use archway_proto::{chain::Chain, pass::Pass};
use serde_json::Value;
use uuid::Uuid;

use super::{Doors, ToolContext};
use crate::{
    store::{Opening, StoreError},
    tools::Registry,
    workflows::{Caller, Stood, Workflow},
};

/// Keeps the result of one call, once it is there.
pub(crate) struct Keeper {
    doors: Arc<Doors>,
    pass: Arc<Pass>,
    session: Uuid,
    stood: Stood,
}

impl ToolContext {
    /// Says which session the call belongs to.
    #[must_use]
    pub(crate) fn of_session(mut self, session: Option<u128>) -> Self {
        self.session = session.map(Uuid::from_u128);
        self
    }

    /// Whoever keeps what a tool answers to these arguments; `None` where nobody wants it.
    pub(crate) fn keeper(&self, arguments: &Value) -> Option<Keeper> {
        let workflows = &self.doors.workflows;
        let session = self
            .session
            .filter(|session| workflows.is_at_work(*session))?;
        Some(Keeper {
            doors: Arc::clone(&self.doors),
            pass: Arc::clone(&self.pass),
            session,
            stood: Stood::of(&self.pass, arguments),
        })
    }

    /// What the caller's session works on; the log has why it can't be told, if it can't.
    pub(crate) async fn workflow(
        &self,
        registry: &Registry,
    ) -> Result<Option<Workflow>, StoreError> {
        let current = self.doors.workflows.current(self.caller(), registry);
        current.await.inspect_err(|error| {
            tracing::warn!(error = %Chain(error), "a workflow was not read");
        })
    }

    /// Has the caller's session work on a prompt.
    pub(crate) async fn open_workflow(&self, opening: &Opening<'_>) {
        self.doors.workflows.open(self.caller(), opening).await;
    }

    fn caller(&self) -> Caller<'_> {
        Caller {
            pass: &self.pass,
            session: self.session,
        }
    }
}

impl Keeper {
    /// Keeps the result of a tool.
    pub(crate) async fn keep(self, tool: &str, result: &Value) {
        let caller = Caller {
            pass: &self.pass,
            session: Some(self.session),
        };
        let workflows = &self.doors.workflows;
        workflows.keep(caller, tool, self.stood, result).await;
    }
}
