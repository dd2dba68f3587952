//! A call's record and its stored JSON.

use std::{
    net::IpAddr,
    sync::Arc,
    time::{Duration, SystemTime},
};

use archway_proto::{
    context::TraceContext, failure::Failure, misleading::visible_json, refused_by::RefusedBy,
};
use serde::Serialize;

use crate::{
    caller::{Principal, SessionKey},
    metrics::Outcome,
    recent::CallTimings,
};

/// Bytes of file paths in one record, as JSON; further paths are only counted.
const MOST_OF_PATHS: usize = 8 * 1024;
/// The longest project name that is recorded; a longer one cannot exist.
const LONGEST_PROJECT: usize = 63;
/// The longest part of a refusal that is recorded.
const LONGEST_DETAIL: usize = 200;
/// Hexadecimal digits of git's longest object id.
const LONGEST_ID: usize = 64;

/// The request, as far as it is known.
pub(crate) struct AuditRequest {
    method: &'static str,
    session: SessionKey,
    trace: TraceContext,
    pub(crate) tool: Option<Arc<str>>,
    pub(crate) arguments: Option<[u8; 32]>,
    /// The client's address.
    pub(crate) client: Option<IpAddr>,
    /// The client's program, as it calls itself; empty if it said nothing.
    pub(crate) agent: Arc<str>,
    /// Units of the limits that it was charged.
    pub(crate) units: u32,
    /// When it reached the stops of its path.
    pub(crate) timings: CallTimings,
    project: Option<String>,
    refused_by: Option<String>,
}

/// Facts taken from the answer.
#[derive(Debug, Default)]
pub(crate) struct AnswerFacts {
    /// The commit that the answer was read from.
    pub(crate) commit: Option<String>,
    /// The files whose text is in the answer: paths in the record's project, or
    /// `repo://PROJECT/PATH` for another project's file that a prompt included.
    pub(crate) files: Vec<String>,
    /// How many more files there are.
    pub(crate) more_files: u64,
    /// Size of the message that answers the call; 0 if none does.
    pub(crate) bytes: u64,
}

/// A call that ended.
pub(super) struct Record {
    pub(super) at: SystemTime,
    pub(super) who: Principal,
    pub(super) request: AuditRequest,
    pub(super) outcome: Outcome,
    pub(super) took: Duration,
    pub(super) facts: AnswerFacts,
}

/// The stored content of a record. Its JSON is an interface: members are added, never renamed.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum RecordBody<'a> {
    /// The first record of a chain: which gateway writes it.
    Begin {
        gateway: &'a str,
        version: &'static str,
    },
    /// One call.
    Call(Box<Call<'a>>),
    /// Refusals of one kind that were too many for a record each.
    Refusals {
        principal: &'a str,
        method: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        tool: Option<&'a str>,
        outcome: &'static str,
        count: u64,
    },
    /// Calls that have no record.
    Gap { missing: u64 },
    /// The last record of a chain that was closed properly.
    End {},
}

/// The stored content of one call.
#[derive(Serialize)]
pub(super) struct Call<'a> {
    principal: &'a str,
    credential: &'a str,
    session: String,
    /// The client's address, behind trusted proxies.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<IpAddr>,
    /// The client's program, as it calls itself.
    #[serde(skip_serializing_if = "str::is_empty")]
    agent: &'a str,
    method: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<&'a str>,
    /// HMAC-SHA-256 as hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<String>,
    outcome: &'static str,
    duration_ms: f64,
    /// When its limits were charged and its arguments checked, in milliseconds after it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    checked_ms: Option<f64>,
    /// When circuits and permits admitted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    admitted_ms: Option<f64>,
    /// When the worker had answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    answered_ms: Option<f64>,
    /// What refused it: a limit, circuit, bound or path rule, access rules, its host, or what its credential lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused_by: Option<&'a str>,
    /// Units of the limits that the call was charged.
    units: u32,
    /// Size of the message that answered it: 0 for a protocol error, or if nobody waited for it.
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    files: &'a [String],
    #[serde(skip_serializing_if = "is_zero")]
    more_files: u64,
    trace: String,
}

impl AuditRequest {
    /// A message of `method` in a session.
    pub(crate) fn new(method: &'static str, session: SessionKey, trace: TraceContext) -> Self {
        AuditRequest {
            method,
            session,
            trace,
            tool: None,
            arguments: None,
            client: None,
            agent: Arc::default(),
            units: 0,
            timings: CallTimings::default(),
            project: None,
            refused_by: None,
        }
    }

    /// Sets the project that the caller named, or its default. A caller with a single project may
    /// name none. PostgreSQL, which reads this member, has no NUL.
    pub(crate) fn of_project(&mut self, project: Option<&str>) {
        let fits = |name: &&str| name.len() <= LONGEST_PROJECT && !name.contains('\0');
        self.project = project.filter(fits).map(str::to_owned);
    }

    /// Sets what refused it: `path rule: close glob *.sql`.
    pub(crate) fn set_refused_by(&mut self, refused_by: &RefusedBy) {
        self.refused_by = Some(refused_by.for_operators().to_owned());
    }

    /// Sets the limit, circuit or bound that a refusal names: `limit of key total: 1200`. Nothing if it names none.
    pub(crate) fn of_refusal(&mut self, refusal: &Failure) {
        let detail = |name| refusal.details.get(name);
        let text = |name| {
            detail(name)?
                .as_str()
                .filter(|it| it.len() <= LONGEST_DETAIL)
        };
        let named = match (text("circuit"), text("scope"), text("of"), detail("limit")) {
            (Some(circuit), ..) => Some(format!("circuit {circuit}")),
            (_, Some(scope), Some(of), Some(limit)) => {
                Some(format!("limit of {scope} {of}: {limit}"))
            }
            _ => {
                detail("calls_at_a_time").map(|most| format!("calls at a time of a tenant: {most}"))
            }
        };
        // A worker may have said it already.
        self.refused_by = named.or(self.refused_by.take());
    }

    /// The project, if one is set.
    pub(super) fn project(&self) -> Option<&str> {
        self.project.as_deref()
    }

    /// The id of its trace, sampled or not: 32 hexadecimal digits.
    pub(super) fn trace_id(&self) -> String {
        self.trace.trace_id()
    }
}

impl Record {
    /// The stored content.
    pub(super) fn body(&self) -> RecordBody<'_> {
        let Record {
            who,
            request,
            outcome,
            took,
            facts,
            ..
        } = self;
        let mut room = MOST_OF_PATHS;
        let fitting = facts.files.iter().take_while(|path| {
            let written =
                serde_json::to_string(path).map_or(MOST_OF_PATHS, |text| visible_json(&text).len());
            room = room.saturating_sub(written + 1);
            room > 0
        });
        let (files, rest) = facts.files.split_at(fitting.count());
        RecordBody::Call(Box::new(Call {
            principal: who.name(),
            credential: who.key_id(),
            session: request.session.to_string(),
            client: request.client,
            agent: &request.agent,
            method: request.method,
            tool: request.tool.as_deref(),
            project: request.project.as_deref(),
            arguments: request.arguments.map(|mac| super::chain::hex(&mac)),
            outcome: outcome.name(),
            duration_ms: millis(*took),
            checked_ms: request.timings.checked.map(millis),
            admitted_ms: request.timings.admitted.map(millis),
            answered_ms: request.timings.answered.map(millis),
            refused_by: request.refused_by.as_deref(),
            units: request.units,
            bytes: facts.bytes,
            commit: facts.commit.as_deref().filter(|id| id.len() <= LONGEST_ID),
            files,
            more_files: facts.more_files + rest.len() as u64,
            trace: request.trace_id(),
        }))
    }

    /// The method's name.
    pub(super) fn method(&self) -> &'static str {
        self.request.method
    }
}

/// Milliseconds to the microsecond, at most 71 minutes.
fn millis(time: Duration) -> f64 {
    f64::from(u32::try_from(time.as_micros()).unwrap_or(u32::MAX)) / 1000.0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
