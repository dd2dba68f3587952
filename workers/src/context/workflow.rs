//! What a call has to do with what its session works on.

use std::sync::Arc;

use archway_proto::{chain::Chain, pass::Pass};
use archway_store::{Opening, StoreError};
use serde_json::Value;
use uuid::Uuid;

use super::{Doors, ToolContext};
use crate::{
    projects::Project,
    workflows::{Caller, Ruled, Stood, Workflow},
};

/// Projects that a result may stand on to be kept: at reading, the path rules of each are asked for.
const MAX_PROJECTS: usize = 100;

/// Keeps the result of one call, once it is there.
pub(crate) struct Keeper {
    doors: Arc<Doors>,
    pass: Arc<Pass>,
    session: Uuid,
    stood: (Stood, Ruled),
}

impl ToolContext {
    /// Says which session the call belongs to.
    #[must_use]
    pub(crate) fn of_session(mut self, session: Option<u128>) -> Self {
        self.session = session.map(Uuid::from_u128);
        self
    }

    /// Whoever keeps what a tool answers to these arguments; `None` where nobody wants it. Asked for
    /// before the call: what is closed while it runs must not pass for what was closed before.
    pub(crate) async fn keeper(&self, arguments: &Value) -> Option<Keeper> {
        let workflows = &self.doors.workflows;
        let session = self
            .session
            .filter(|session| workflows.is_at_work(*session))?;
        let stood = Stood::of(&self.pass, arguments);
        let mut projects = self.projects().await.ok()?;
        if let Some(slugs) = stood.projects() {
            projects.retain(|project| slugs.contains(&project.slug));
        }
        let is_few = projects.len() <= MAX_PROJECTS;
        let rules = if is_few {
            self.ruled(projects).await
        } else {
            None
        };
        Some(Keeper {
            doors: Arc::clone(&self.doors),
            pass: Arc::clone(&self.pass),
            session,
            stood: (stood, rules?),
        })
    }

    /// Which path rules these projects have now; `None` if that takes too long.
    async fn ruled(&self, projects: Vec<Arc<Project>>) -> Option<Ruled> {
        let rules =
            tokio::time::timeout(self.doors.workflows.patience(), self.rules(&projects)).await;
        let rules = rules.ok()?.ok()?.into_iter();
        let slugs = projects.iter().map(|project| project.slug.clone());
        Some(slugs.zip(rules.map(|rules| rules.fingerprint())).collect())
    }

    /// What the caller's session works on, of the tools that it may call; the log has why it can't be
    /// told, if it can't.
    pub(crate) async fn workflow(
        &self,
        may_call: impl Fn(&str) -> bool,
    ) -> Result<Option<Workflow>, StoreError> {
        let Some(caller) = self.caller() else {
            return Ok(None);
        };
        let stored = self.doors.workflows.current(caller).await;
        let stored = stored.inspect_err(|error| {
            tracing::warn!(error = %Chain(error), "a workflow was not read");
        })?;
        let Some(stored) = stored else {
            return Ok(None);
        };
        let slugs = stored.projects();
        let mut projects = self.projects().await.unwrap_or_default();
        projects.retain(|project| slugs.contains(&project.slug));
        // What can't be asked gives no result away.
        let rules = self.ruled(projects).await.unwrap_or_default();
        Ok(Some(stored.seen_by(&self.pass, may_call, &rules)))
    }

    /// Has the caller's session work on a prompt.
    pub(crate) async fn open_workflow(&self, opening: &Opening<'_>) {
        if let Some(caller) = self.caller() {
            self.doors.workflows.open(caller, opening).await;
        }
    }

    /// `None` where the gateway asks for itself, which is no session's call.
    fn caller(&self) -> Option<Caller<'_>> {
        let session = self.session?;
        Some(Caller {
            pass: &self.pass,
            session,
        })
    }
}

impl Keeper {
    /// Keeps the result of a tool.
    pub(crate) async fn keep(self, tool: &str, result: &Value) {
        let caller = Caller {
            pass: &self.pass,
            session: self.session,
        };
        let workflows = &self.doors.workflows;
        workflows.keep(caller, tool, self.stood, result).await;
    }
}
