//! Records the outcome of a message, however it ends: one count, and one record of the audit trail.
//!
//! It exists before the message is executed, so a client that disconnects leaves a record as well.

use std::{sync::Arc, time::Duration};

use archway_proto::{failure::Failure, method::Method, refused_by::RefusedBy};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::request::RequestInfo;
use crate::{
    audit::{AnswerFacts, Audit, AuditRequest, OpenRecord},
    caller::Principal,
    catalog::RefusedTool,
    metrics::{Metrics, Outcome, UNKNOWN_TOOL},
    recent::CallTimings,
};

/// Records a message whose outcome is not known yet.
pub(super) struct OutcomeRecorder {
    metrics: Arc<Metrics>,
    /// The tool's name, or the method for other messages.
    label: Arc<str>,
    received: Instant,
    open: Option<OpenRecord>,
    marks: CallTimings,
}

/// How far a message got: each stage is reached at most once, in this order.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    /// Its limits were charged, its arguments checked, and its audit record has a place.
    Checked,
    /// It has a bulkhead permit.
    Admitted,
    /// The worker answered.
    Answered,
}

/// What a message is about: the method's name, and its label in metrics.
pub(super) struct RecordSubject {
    pub(super) method: &'static str,
    pub(super) label: Arc<str>,
}

impl RecordSubject {
    /// A call of a tool that is not known yet.
    pub(super) fn call() -> Self {
        RecordSubject {
            method: Method::ToolsCall.name(),
            label: Arc::from(UNKNOWN_TOOL),
        }
    }

    /// A method other than `tools/call`.
    pub(super) fn method(method: Method) -> Self {
        RecordSubject {
            method: method.name(),
            label: Arc::from(method.name()),
        }
    }
}

impl OutcomeRecorder {
    /// Starts a record, waiting for its place in the audit queue.
    pub(super) async fn begin(
        audit: &Audit,
        metrics: &Arc<Metrics>,
        who: &Principal,
        info: &RequestInfo,
        subject: RecordSubject,
    ) -> Self {
        let open = audit.open(who, asked(info, subject.method)).await;
        OutcomeRecorder::of(metrics, info, subject.label, open)
    }

    /// Starts a record of a message that was refused already.
    pub(super) fn for_refusal(
        audit: &Audit,
        metrics: &Arc<Metrics>,
        who: &Principal,
        info: &RequestInfo,
        subject: RecordSubject,
    ) -> Self {
        let open = audit.open_refused(who, asked(info, subject.method));
        OutcomeRecorder::of(metrics, info, subject.label, open)
    }

    fn of(metrics: &Arc<Metrics>, info: &RequestInfo, label: Arc<str>, open: OpenRecord) -> Self {
        OutcomeRecorder {
            metrics: metrics.clone(),
            label,
            received: info.received,
            open: Some(open),
            marks: CallTimings::default(),
        }
    }

    /// Sets the tool that is called.
    pub(super) fn set_tool(&mut self, tool: &Arc<str>) {
        self.label = tool.clone();
        if let Some(open) = &mut self.open {
            open.request_mut().tool = Some(tool.clone());
        }
    }

    /// Records the MAC of the arguments, as compact JSON in the given order.
    pub(super) fn set_arguments(&mut self, audit: &Audit, arguments: &Map<String, Value>) {
        if let (Some(open), Ok(written)) = (&mut self.open, serde_json::to_vec(arguments)) {
            open.request_mut().arguments = Some(audit.digest(&written));
        }
    }

    /// Sets the project of the call.
    pub(super) fn set_project(&mut self, project: Option<&str>) {
        if let Some(open) = &mut self.open {
            open.request_mut().of_project(project);
        }
    }

    /// Records a stage that the message reached.
    pub(super) fn reached(&mut self, stage: Stage) {
        let mark = match stage {
            Stage::Checked => &mut self.marks.checked,
            Stage::Admitted => &mut self.marks.admitted,
            Stage::Answered => &mut self.marks.answered,
        };
        *mark = Some(self.received.elapsed());
    }

    /// Ends with a protocol error.
    pub(super) fn refused(&mut self) {
        self.end(
            Outcome::Refused,
            self.received.elapsed(),
            AnswerFacts::default(),
        );
    }

    /// Ends with the refusal of a tool, in the project that the call names.
    pub(super) fn refused_tool(&mut self, refused: &RefusedTool, project: Option<&str>) {
        if let Some(tool) = &refused.tool {
            self.set_tool(tool);
        }
        self.set_project(project);
        if let Some(open) = &mut self.open {
            open.request_mut().set_refused_by(&refused.refused_by);
        }
        self.refused();
    }

    /// Records what refused the message, if the failure says so.
    pub(super) fn refused_by(&mut self, failure: &Failure) {
        if let Some(open) = &mut self.open {
            open.request_mut().of_refusal(failure);
        }
    }

    /// Records why a worker refused the message, if it did.
    pub(super) fn denied_by(&mut self, refused_by: Option<RefusedBy>) {
        if let (Some(open), Some(refused_by)) = (&mut self.open, refused_by) {
            open.request_mut().set_refused_by(&refused_by);
        }
    }

    /// Ends with a failure that is answered by a protocol error.
    pub(super) fn failed(&mut self, failure: &Failure) {
        self.refused_by(failure);
        let took = self.received.elapsed();
        self.end(Outcome::Failed(failure.code), took, AnswerFacts::default());
    }

    /// Ends with this outcome. Later calls have no effect.
    pub(super) fn end(&mut self, outcome: Outcome, took: Duration, facts: AnswerFacts) {
        if let Some(mut open) = self.open.take() {
            open.request_mut().timings = self.marks;
            self.metrics.tools().call(&self.label, outcome, took);
            if let Some(tenants) = self.metrics.tenants() {
                tenants.call(open.tenant(), open.size(outcome, took, &facts));
            }
            let recent = self.metrics.recent_calls();
            if recent.are_kept() {
                recent.add(open.recent(&self.label, outcome, took, self.marks));
            }
            open.end(outcome, took, facts);
        }
    }
}

/// What is known of a message before it is executed.
fn asked(info: &RequestInfo, method: &'static str) -> AuditRequest {
    let mut asked = AuditRequest::new(method, info.session.key, info.trace);
    asked.client = info.client;
    asked.agent = info.agent.clone();
    asked.units = info.units;
    asked
}

impl Drop for OutcomeRecorder {
    /// Dropped before its end: the client disconnected.
    fn drop(&mut self) {
        self.end(
            Outcome::Cancelled,
            self.received.elapsed(),
            AnswerFacts::default(),
        );
    }
}
