//! What a session works on: the prompt it asked for last, and what the tools of that prompt
//! answered.
//!
//! It stands in Postgres, so any worker serves it, and is a comfort: a call is answered as well
//! without it, and waits for it half a second at most. What a reader would get wrong: most calls
//! belong to no workflow and must cost nothing. So each worker knows which sessions are at work,
//! by asking twice a second for those that came since; a session that it opened itself it knows at
//! once.

mod kept;

use std::time::Duration;

use archway_proto::{chain::Chain, pass::Pass};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use archway_store::{OfSession, Opening, StoreError, Stores, WorkflowRow};
use kept::Results;
pub(crate) use kept::{Ruled, Stood};

/// How long a workflow lasts after its last use; the database has the same number.
const LIFETIME: Duration = Duration::from_secs(30 * 60);
/// Sessions that are known to be at work.
const SESSIONS: u64 = 100_000;
/// How often is asked which came.
const ROUND: Duration = Duration::from_millis(500);
/// How far back that looks beyond what was seen: commits show late.
const OVERLAP: SignedDuration = SignedDuration::from_secs(5);
/// Of how many rounds one erases what ended.
const ERASING: u32 = 60;
/// How long a call waits for what is kept, unless tests say otherwise.
pub(crate) const PATIENCE: Duration = Duration::from_millis(500);

/// The workflows of all sessions. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Workflows {
    stores: Stores,
    patience: Duration,
    at_work: moka::sync::Cache<Uuid, ()>,
}

/// Whose call it is, as workflows see it.
#[derive(Clone, Copy)]
pub(crate) struct Caller<'a> {
    pub(crate) pass: &'a Pass,
    pub(crate) session: Uuid,
}

/// What a session works on, as it is stored.
pub(crate) struct Stored {
    row: WorkflowRow,
    results: Results,
}

/// What a session works on, as its caller may see it.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Workflow {
    prompt: String,
    arguments: Value,
    /// By tool.
    results: Map<String, Value>,
    /// RFC 3339 in UTC.
    since: String,
}

impl Workflow {
    /// What a tool answered last, if that was kept.
    pub(crate) fn result(&self, tool: &str) -> Option<&Value> {
        self.results.get(tool)
    }
}

impl Stored {
    /// The projects whose path rules decide what of it is still to be had.
    pub(crate) fn projects(&self) -> Vec<String> {
        self.results.projects()
    }

    /// As its caller may see it: the results of tools that it may call now, under the path rules that
    /// its projects have now.
    pub(crate) fn seen_by(
        self,
        pass: &Pass,
        may_call: impl Fn(&str) -> bool,
        rules: &Ruled,
    ) -> Workflow {
        let Stored { row, results } = self;
        Workflow {
            prompt: row.prompt,
            arguments: serde_json::from_str(&row.arguments).unwrap_or_default(),
            results: results.allowed(pass, may_call, rules),
            since: format!(
                "{:.3}",
                Timestamp::from_millisecond(row.opened_ms).unwrap_or_default()
            ),
        }
    }
}

impl Workflows {
    /// Has calls wait so long for what is kept.
    pub(crate) fn new(stores: Stores, patience: Duration) -> Self {
        Workflows {
            stores,
            patience,
            at_work: moka::sync::Cache::builder()
                .max_capacity(SESSIONS)
                .time_to_live(LIFETIME)
                .build(),
        }
    }

    /// How long a call waits for what is kept.
    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    async fn patiently<T>(
        &self,
        query: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let answer = tokio::time::timeout(self.patience, query).await;
        answer.unwrap_or(Err(StoreError::Late("what a session works on")))
    }

    /// Whether a session is known to be at work.
    pub(crate) fn is_at_work(&self, session: Uuid) -> bool {
        self.at_work.contains_key(&session)
    }

    /// Opens the workflow of a prompt. Without Postgres there is none.
    pub(crate) async fn open(&self, caller: Caller<'_>, opening: &Opening<'_>) {
        let store = self.stores.tenant(caller.pass.tenant_id);
        let opened = store.open_workflow(caller.of(), opening);
        if said(self.patiently(opened).await).is_some() {
            self.at_work.insert(caller.session, ());
        }
    }

    /// Keeps what a tool answered, if the caller's session works with it.
    pub(crate) async fn keep(
        &self,
        caller: Caller<'_>,
        tool: &str,
        stood: (Stood, Ruled),
        result: &Value,
    ) {
        let Some(data) = result.get("structuredContent") else {
            return;
        };
        let change = |tools: &[String], results: &str| {
            let is_named = tools.iter().any(|named| named == tool);
            is_named.then(|| Results::parse(results).with(tool, stood, data).to_string())
        };
        let store = self.stores.tenant(caller.pass.tenant_id);
        said(
            self.patiently(store.change_workflow(caller.of(), change))
                .await,
        );
    }

    /// What the caller's session works on.
    ///
    /// # Errors
    /// If Postgres gives no answer in time.
    pub(crate) async fn current(&self, caller: Caller<'_>) -> Result<Option<Stored>, StoreError> {
        let store = self.stores.tenant(caller.pass.tenant_id);
        let row = self.patiently(store.workflow(caller.of())).await?;
        Ok(row.map(|row| Stored {
            results: Results::parse(&row.results),
            row,
        }))
    }

    /// Learns which sessions are at work, until `stop`; erases now and then what ended.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let mut since = Timestamp::UNIX_EPOCH;
        let mut round = 0;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(ROUND) => {}
            }
            // An outage is told by calls that needed the answer.
            if let Ok(sessions) = self.patiently(self.stores.sessions_at_work(since)).await {
                for (session, touched) in sessions {
                    self.at_work.insert(session, ());
                    since = since.max(touched.saturating_sub(OVERLAP).unwrap_or(since));
                }
            }
            round = (round + 1) % ERASING;
            if round == 0 {
                said(self.patiently(self.stores.erase_ended_workflows()).await);
            }
        }
    }
}

impl<'a> Caller<'a> {
    fn of(self) -> OfSession<'a> {
        OfSession {
            principal: &self.pass.principal,
            session: self.session,
        }
    }
}

fn said<T>(answer: Result<T, StoreError>) -> Option<T> {
    let logged = |error: &StoreError| tracing::warn!(error = %Chain(error), "workflow not kept");
    answer.inspect_err(logged).ok()
}
