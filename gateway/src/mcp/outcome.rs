//! What a message leaves behind, however it ends: one count, and one record of the audit recorder.
//!
//! It is there before anything is done, so that a client that goes away leaves as much.

use std::{sync::Arc, time::Duration};

use archway_proto::method::Method;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::request::RequestInfo;
use crate::{
    audit::{AnswerFacts, Audit, AuditRequest, OpenRecord},
    caller::Principal,
    metrics::{Metrics, Outcome, UNKNOWN_TOOL},
    recent::CallTimings,
};

/// A message whose outcome is not known yet.
pub(super) struct OutcomeRecorder {
    metrics: Arc<Metrics>,
    /// The tool, or the method of what is no call.
    label: Arc<str>,
    received: Instant,
    open: Option<OpenRecord>,
    marks: CallTimings,
}

/// How far a message got: each stop once, in this order.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    /// Its limits were spent, its arguments checked, its record has a place.
    Checked,
    /// It has a place among its tenant's calls.
    Admitted,
    /// The worker answered.
    Answered,
}

/// What a message is subject: the method's name, and what metrics call it.
pub(super) struct RecordSubject {
    pub(super) method: &'static str,
    pub(super) label: Arc<str>,
}

impl RecordSubject {
    /// A call, of a tool that is not known yet.
    pub(super) fn call() -> Self {
        RecordSubject {
            method: Method::ToolsCall.name(),
            label: Arc::from(UNKNOWN_TOOL),
        }
    }

    /// What is no call.
    pub(super) fn method(method: Method) -> Self {
        RecordSubject {
            method: method.name(),
            label: Arc::from(method.name()),
        }
    }
}

impl OutcomeRecorder {
    /// Begins, once there is a place for its record.
    pub(super) async fn begin(
        audit: &Audit,
        metrics: &Arc<Metrics>,
        who: &Principal,
        info: &RequestInfo,
        subject: RecordSubject,
    ) -> Self {
        let asked = AuditRequest::new(subject.method, info.session.key, info.trace);
        let open = audit.open(who, asked).await;
        OutcomeRecorder::of(metrics, info, subject.label, open)
    }

    /// Begins for what is refused already.
    pub(super) fn for_refusal(
        audit: &Audit,
        metrics: &Arc<Metrics>,
        who: &Principal,
        info: &RequestInfo,
        subject: RecordSubject,
    ) -> Self {
        let asked = AuditRequest::new(subject.method, info.session.key, info.trace);
        let open = audit.open_refused(who, asked);
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

    /// Says which tool is called.
    pub(super) fn set_tool(&mut self, tool: &Arc<str>) {
        self.label = tool.clone();
        if let Some(open) = &mut self.open {
            open.request_mut().tool = Some(tool.clone());
        }
    }

    /// Says what for: of the arguments, as compact JSON in the order given, their MAC is kept.
    pub(super) fn set_arguments(&mut self, audit: &Audit, arguments: &Map<String, Value>) {
        if let (Some(open), Ok(written)) = (&mut self.open, serde_json::to_vec(arguments)) {
            open.request_mut().arguments = Some(audit.digest(&written));
        }
    }

    /// Says of which project.
    pub(super) fn set_project(&mut self, project: Option<&str>) {
        if let Some(open) = &mut self.open {
            open.request_mut().of_project(project);
        }
    }

    /// Says how far it got.
    pub(super) fn reached(&mut self, stage: Stage) {
        if self.metrics.recent_calls().are_kept() {
            let mark = match stage {
                Stage::Checked => &mut self.marks.checked,
                Stage::Admitted => &mut self.marks.admitted,
                Stage::Answered => &mut self.marks.answered,
            };
            *mark = Some(self.received.elapsed());
        }
    }

    /// Ends in an error of the protocol.
    pub(super) fn refused(&mut self) {
        self.end(
            Outcome::Refused,
            self.received.elapsed(),
            AnswerFacts::default(),
        );
    }

    /// Ends. What is said of a message that has ended is not heard.
    pub(super) fn end(&mut self, outcome: Outcome, took: Duration, facts: AnswerFacts) {
        if let Some(open) = self.open.take() {
            self.metrics.tools().call(&self.label, outcome, took);
            let recent = self.metrics.recent_calls();
            if recent.are_kept() {
                recent.add(open.recent(&self.label, outcome, took, self.marks));
            }
            open.end(outcome, took, facts);
        }
    }
}

impl Drop for OutcomeRecorder {
    /// Dropped before its end: the client went away.
    fn drop(&mut self) {
        self.end(
            Outcome::Cancelled,
            self.received.elapsed(),
            AnswerFacts::default(),
        );
    }
}
