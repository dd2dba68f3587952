//! A call's access to the workflow of its session.

use std::{collections::BTreeMap, sync::Arc};

use archway_proto::{chain::Chain, pass::Pass};
use archway_store::{NewWorkflow, StoreError};
use serde_json::Value;
use uuid::Uuid;

use super::{SharedState, ToolContext};
use crate::{
    access::{Families, Readable},
    projects::Project,
    workflows::{Caller, ResultProjects, RuleFingerprints, Workflow},
};

/// Maximum number of projects of a recorded result: readers ask for the path rules of each.
const MAX_PROJECTS: usize = 100;

/// Records the result of one call in its session's workflow.
pub(crate) struct WorkflowRecorder {
    shared: Arc<SharedState>,
    pass: Arc<Pass>,
    session: Uuid,
    result_projects: (ResultProjects, RuleFingerprints),
}

impl ToolContext {
    /// Sets the session of the call.
    #[must_use]
    pub(crate) fn with_session(mut self, session: Option<u128>) -> Self {
        self.session = session.map(Uuid::from_u128);
        self
    }

    /// Returns the recorder for the result of a tool with these arguments, or `None` if the session
    /// has no workflow. It must be created before the call: a path that is closed while the call
    /// runs must not pass for one that was closed before.
    pub(crate) async fn workflow_recorder(&self, arguments: &Value) -> Option<WorkflowRecorder> {
        let workflows = &self.shared.workflows;
        let session = self
            .session
            .filter(|session| workflows.has_workflow(*session))?;
        let readable = self.readable(&[]).await.ok()?;
        let result_projects = ResultProjects::of(&self.pass, &readable, arguments);
        let mut projects = readable.list();
        if let Some(slugs) = result_projects.projects() {
            projects.retain(|project| slugs.contains(&project.slug));
        }
        let few_enough = projects.len() <= MAX_PROJECTS;
        let rules = if few_enough {
            self.rule_fingerprints(projects).await
        } else {
            None
        };
        Some(WorkflowRecorder {
            shared: Arc::clone(&self.shared),
            pass: Arc::clone(&self.pass),
            session,
            result_projects: (result_projects, rules?),
        })
    }

    /// The current path rules of these projects, or `None` on timeout.
    async fn rule_fingerprints(&self, projects: Vec<Arc<Project>>) -> Option<RuleFingerprints> {
        let rules =
            tokio::time::timeout(self.shared.workflows.timeout(), self.rules(&projects)).await;
        let rules = rules.ok()?.ok()?.into_iter();
        let slugs = projects.iter().map(|project| project.slug.clone());
        Some(slugs.zip(rules.map(|rules| rules.fingerprint())).collect())
    }

    /// Returns the workflow of the caller's session, limited to tools that the caller may call, and to projects that
    /// it may read by them: `families_of` names the family of a tool that it may call. Logs the error if it can't be
    /// read.
    pub(crate) async fn workflow(
        &self,
        families_of: impl Fn(&str) -> Option<Families>,
    ) -> Result<Option<Workflow>, StoreError> {
        let Some(caller) = self.caller() else {
            return Ok(None);
        };
        let stored = self.shared.workflows.current(caller).await;
        let stored = stored.inspect_err(|error| {
            tracing::warn!(error = %Chain(error), "a workflow was not read");
        })?;
        let Some(stored) = stored else {
            return Ok(None);
        };
        let named = self.readable(&[]).await;
        let mut projects = named.as_ref().map(Readable::list).unwrap_or_default();
        // A prompt of a project that the caller has lost since names it.
        let is_readable = |slug| named.is_ok_and(|it| it.get(slug).is_some());
        if stored
            .project_of_prompt()
            .is_some_and(|slug| !is_readable(slug))
        {
            return Ok(None);
        }
        let slugs = stored.projects();
        projects.retain(|project| slugs.contains(&project.slug));
        // On timeout no rules are known, so no result is shown.
        let rules = self.rule_fingerprints(projects).await.unwrap_or_default();
        let mut readable = BTreeMap::new();
        for tool in stored.tools() {
            if let Some(families) = families_of(&tool)
                && let Ok(projects) = self.readable(families).await
            {
                readable.insert(tool, projects);
            }
        }
        Ok(Some(stored.visible_to(&readable, &rules)))
    }

    /// Opens a workflow for a prompt in the caller's session.
    pub(crate) async fn open_workflow(&self, opening: &NewWorkflow<'_>) {
        if let Some(caller) = self.caller() {
            self.shared.workflows.open(caller, opening).await;
        }
    }

    /// `None` if the gateway itself is the caller, which has no session.
    fn caller(&self) -> Option<Caller<'_>> {
        let session = self.session?;
        Some(Caller {
            pass: &self.pass,
            session,
        })
    }
}

impl WorkflowRecorder {
    /// Records the result of a tool.
    pub(crate) async fn record(self, tool: &str, result: &Value) {
        let caller = Caller {
            pass: &self.pass,
            session: self.session,
        };
        let workflows = &self.shared.workflows;
        workflows
            .record(caller, tool, self.result_projects, result)
            .await;
    }
}
