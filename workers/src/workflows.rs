//! The workflow of a session: the prompt it requested last, and the results of that prompt's tools.
//!
//! Workflows are stored in Postgres, so that any worker serves them. They are a convenience: a call
//! succeeds without them, and waits for them at most 0.5 s. Most calls belong
//! to no workflow and must cost nothing. So each worker caches which sessions have one, and queries
//! Postgres twice a second for new ones. Sessions that it opened itself are cached at once.

mod recorded;

use std::{collections::BTreeMap, time::Duration};

use archway_proto::{chain::Chain, pass::Pass};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::access::Readable;
use archway_store::{NewWorkflow, SessionKey, StoreError, Stores, WorkflowRow};
use recorded::Results;
pub(crate) use recorded::{ResultProjects, RuleFingerprints};

/// How long a workflow lasts after its last use. The database has the same number.
const LIFETIME: Duration = Duration::from_secs(30 * 60);
/// Maximum number of cached sessions with a workflow.
const MAX_SESSIONS: u64 = 100_000;
/// How often new sessions are queried.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// How far each query reaches back before the latest timestamp seen: transactions become visible
/// late.
const OVERLAP: SignedDuration = SignedDuration::from_secs(5);
/// Every n-th poll also erases workflows that ended.
const POLLS_PER_ERASE: u32 = 60;
/// How long a call waits for its session's workflow. Tests override it.
pub(crate) const TIMEOUT: Duration = Duration::from_millis(500);

/// The workflows of all sessions. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Workflows {
    stores: Stores,
    timeout: Duration,
    with_workflow: moka::sync::Cache<Uuid, ()>,
}

/// The caller of a workflow operation.
#[derive(Clone, Copy)]
pub(crate) struct Caller<'a> {
    pub(crate) pass: &'a Pass,
    pub(crate) session: Uuid,
}

/// A session's workflow, as stored.
pub(crate) struct StoredWorkflow {
    row: WorkflowRow,
    results: Results,
}

/// A session's workflow, as far as its caller may see it.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Workflow {
    prompt: String,
    arguments: Value,
    /// The results by tool.
    results: Map<String, Value>,
    /// RFC 3339 in UTC.
    since: String,
}

impl Workflow {
    /// The last recorded result of a tool.
    pub(crate) fn result(&self, tool: &str) -> Option<&Value> {
        self.results.get(tool)
    }
}

impl StoredWorkflow {
    /// The projects whose path rules decide which results may still be read.
    pub(crate) fn projects(&self) -> Vec<String> {
        self.results.projects()
    }

    /// The project that the prompt's name begins with; `None` for a built-in prompt, and for one of the default project.
    pub(crate) fn project_of_prompt(&self) -> Option<&str> {
        self.row.prompt.split_once('/').map(|(project, _)| project)
    }

    /// The tools that have a result.
    pub(crate) fn tools(&self) -> Vec<String> {
        self.results.tools()
    }

    /// The part that its caller may see: the results of tools that it may call now, each with the projects that the
    /// caller may read by it, under the current path rules of its projects.
    pub(crate) fn visible_to(
        self,
        readable: &BTreeMap<String, Readable>,
        rules: &RuleFingerprints,
    ) -> Workflow {
        let StoredWorkflow { row, results } = self;
        Workflow {
            prompt: row.prompt,
            arguments: serde_json::from_str(&row.arguments).unwrap_or_default(),
            results: results.allowed(readable, rules),
            since: format!(
                "{:.3}",
                Timestamp::from_millisecond(row.opened_ms).unwrap_or_default()
            ),
        }
    }
}

impl Workflows {
    /// Creates the cache. Calls wait at most `timeout` for a workflow.
    pub(crate) fn new(stores: Stores, timeout: Duration) -> Self {
        Workflows {
            stores,
            timeout,
            with_workflow: moka::sync::Cache::builder()
                .max_capacity(MAX_SESSIONS)
                .time_to_live(LIFETIME)
                .build(),
        }
    }

    /// How long a call waits for a workflow.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    async fn within_timeout<T>(
        &self,
        query: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let answer = tokio::time::timeout(self.timeout, query).await;
        answer.unwrap_or(Err(StoreError::TimedOut("the workflow of a session")))
    }

    /// Whether a session is known to have a workflow.
    pub(crate) fn has_workflow(&self, session: Uuid) -> bool {
        self.with_workflow.contains_key(&session)
    }

    /// Opens the workflow of a prompt. Without Postgres none is opened.
    pub(crate) async fn open(&self, caller: Caller<'_>, opening: &NewWorkflow<'_>) {
        let store = self.stores.tenant(caller.pass.tenant_id);
        let opened = store.open_workflow(caller.session_key(), opening);
        if log(self.within_timeout(opened).await).is_some() {
            self.with_workflow.insert(caller.session, ());
        }
    }

    /// Records the result of a tool, if the workflow of the caller's session uses the tool.
    pub(crate) async fn record(
        &self,
        caller: Caller<'_>,
        tool: &str,
        projects: (ResultProjects, RuleFingerprints),
        result: &Value,
    ) {
        let Some(data) = result.get("structuredContent") else {
            return;
        };
        let change = |tools: &[String], results: &str| {
            let is_named = tools.iter().any(|named| named == tool);
            is_named.then(|| {
                Results::parse(results)
                    .with(tool, projects, data)
                    .to_string()
            })
        };
        let store = self.stores.tenant(caller.pass.tenant_id);
        log(self
            .within_timeout(store.change_workflow(caller.session_key(), change))
            .await);
    }

    /// The workflow of the caller's session.
    ///
    /// # Errors
    /// If Postgres does not answer in time.
    pub(crate) async fn current(
        &self,
        caller: Caller<'_>,
    ) -> Result<Option<StoredWorkflow>, StoreError> {
        let store = self.stores.tenant(caller.pass.tenant_id);
        let row = self
            .within_timeout(store.workflow(caller.session_key()))
            .await?;
        Ok(row.map(|row| StoredWorkflow {
            results: Results::parse(&row.results),
            row,
        }))
    }

    /// Polls for sessions with workflows until `stop`. Also erases workflows that ended.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let mut since = Timestamp::UNIX_EPOCH;
        let mut poll = 0;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
            // Errors are ignored here: calls that need the workflow report them.
            if let Ok(sessions) = self
                .within_timeout(self.stores.sessions_at_work(since))
                .await
            {
                for (session, touched) in sessions {
                    self.with_workflow.insert(session, ());
                    since = since.max(touched.saturating_sub(OVERLAP).unwrap_or(since));
                }
            }
            poll = (poll + 1) % POLLS_PER_ERASE;
            if poll == 0 {
                log(self
                    .within_timeout(self.stores.erase_ended_workflows())
                    .await);
            }
        }
    }
}

impl<'a> Caller<'a> {
    fn session_key(self) -> SessionKey<'a> {
        SessionKey {
            principal: &self.pass.principal,
            session: self.session,
        }
    }
}

fn log<T>(answer: Result<T, StoreError>) -> Option<T> {
    let log = |error: &StoreError| tracing::warn!(error = %Chain(error), "workflow not stored");
    answer.inspect_err(log).ok()
}
