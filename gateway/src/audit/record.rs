//! A record: what is told of a call, and the JSON that it is kept as.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use archway_proto::{context::TraceContext, misleading::visible_json};
use serde::Serialize;

use crate::{
    caller::{Principal, SessionKey},
    metrics::Outcome,
};

/// Bytes of paths that a record names, as JSON: what is more is counted.
const MOST_OF_PATHS: usize = 8 * 1024;
/// Characters of a project's name: what is longer is none.
const LONGEST_PROJECT: usize = 63;

/// Hexadecimal digits of the longest id that git has.
const LONGEST_ID: usize = 64;

/// What is asked, as far as it is known.
pub(crate) struct Asked {
    method: &'static str,
    session: SessionKey,
    trace: TraceContext,
    pub(crate) tool: Option<Arc<str>>,
    pub(crate) arguments: Option<[u8; 32]>,
    project: Option<String>,
}

/// What is learnt from the answer.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// The commit that was read.
    pub(crate) commit: Option<String>,
    /// The files whose text is in the answer: paths of the record's project, `repo://PROJECT/PATH` of another's
    /// that a prompt put in.
    pub(crate) files: Vec<String>,
    /// How many more there are.
    pub(crate) more_files: u64,
}

/// A call that ended.
pub(super) struct Record {
    pub(super) at: SystemTime,
    pub(super) who: Principal,
    pub(super) asked: Asked,
    pub(super) outcome: Outcome,
    pub(super) took: Duration,
    pub(super) facts: Facts,
}

/// What a record says. Its JSON is an interface: members are added, not renamed.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Told<'a> {
    /// The first of a chain: which gateway makes it.
    Begin {
        gateway: &'a str,
        version: &'static str,
    },
    /// One call.
    Call(Box<Call<'a>>),
    /// Refusals that were too many to be told one by one.
    Refusals {
        principal: &'a str,
        method: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        tool: Option<&'a str>,
        outcome: &'static str,
        count: u64,
    },
    /// Calls that are not here.
    Gap { missing: u64 },
    /// The last of a chain that ended as it should.
    End {},
}

/// What is told of one call.
#[derive(Serialize)]
pub(super) struct Call<'a> {
    principal: &'a str,
    credential: &'a str,
    session: String,
    method: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<&'a str>,
    /// HMAC-SHA-256, in hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<String>,
    outcome: &'static str,
    duration_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    files: &'a [String],
    #[serde(skip_serializing_if = "is_zero")]
    more_files: u64,
    trace: String,
}

impl Asked {
    /// A message of a method, by a session.
    pub(crate) fn new(method: &'static str, session: SessionKey, trace: TraceContext) -> Self {
        Asked {
            method,
            session,
            trace,
            tool: None,
            arguments: None,
            project: None,
        }
    }

    /// Says of which project, as the caller named it, or by its default. A caller that has only one
    /// may name none.
    pub(crate) fn of_project(&mut self, project: Option<&str>) {
        let fits = |name: &&str| name.len() <= LONGEST_PROJECT;
        self.project = project.filter(fits).map(str::to_owned);
    }

    /// Of which project, if its caller named one.
    pub(super) fn project(&self) -> Option<&str> {
        self.project.as_deref()
    }

    /// Its trace, recorded or not: 32 hexadecimal digits.
    pub(super) fn trace_id(&self) -> String {
        self.trace.trace_id()
    }
}

impl Record {
    /// What it says.
    pub(super) fn told(&self) -> Told<'_> {
        let Record {
            who,
            asked,
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
        let micros = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
        Told::Call(Box::new(Call {
            principal: who.name(),
            credential: who.key_id(),
            session: asked.session.to_string(),
            method: asked.method,
            tool: asked.tool.as_deref(),
            project: asked.project.as_deref(),
            arguments: asked.arguments.map(|mac| super::chain::hex(&mac)),
            outcome: outcome.name(),
            duration_ms: f64::from(micros) / 1000.0,
            commit: facts.commit.as_deref().filter(|id| id.len() <= LONGEST_ID),
            files,
            more_files: facts.more_files + rest.len() as u64,
            trace: asked.trace_id(),
        }))
    }

    /// What is asked, in the record's words.
    pub(super) fn method(&self) -> &'static str {
        self.asked.method
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
