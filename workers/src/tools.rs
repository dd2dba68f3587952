//! The tools: one trait, one registry, one list.
//!
//! A tool is a unit struct with typed arguments and output; the field docs of both are the schema
//! a model reads. Adding one touches its family's file, one line of [`registry`] and its test.

use std::{collections::BTreeMap, pin::pin};

use archway_proto::{
    catalog::{Scope, ToolEntry, ToolList},
    failure::Failure,
    fault::Fault,
    trace::Span,
};
use futures::future::BoxFuture;
use opentelemetry::{KeyValue, trace::SpanBuilder};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::metrics::UNKNOWN_TOOL;

pub use crate::context::{Snapshot, ToolContext};

// The families.
mod basics;
mod files;
mod search;
mod git;
mod context;
mod memory;
mod architecture;

// What they share.
mod markdown;
mod paging;
mod refusal;
mod reply;
mod schema;

pub(crate) use files::{Whole, whole};
pub use reply::Reply;

/// Every tool of a worker, in the order clients see.
pub fn registry() -> Result<Registry, RegistryError> {
    Registry::default()
        .with::<basics::Hello>()?
        .with::<basics::ListProjects>()?
        .with::<files::ListFiles>()?
        .with::<files::ReadFile>()?
        .with::<files::ReadRepoFile>()?
        .with::<files::GetRepoOverview>()?
        .with::<search::SearchFiles>()?
        .with::<search::GrepCodebase>()?
        .with::<git::GitLog>()?
        .with::<git::GitBlame>()?
        .with::<git::GitDiff>()?
        .with::<context::ContextSearch>()?
        .with::<memory::WriteMemoryEntry>()?
        .with::<memory::RecordDiscovery>()?
        .with::<memory::SearchMemory>()?
        .with::<architecture::SearchArchitecture>()?
        .with::<architecture::CheckAdrAlignment>()?
        .with::<architecture::ValidatePattern>()
}

/// What an agent can call.
pub trait Tool: 'static {
    /// The name clients call: snake case.
    const NAME: &'static str;
    /// A few words for people.
    const TITLE: &'static str;
    /// For a model choosing between tools: what it is for, when another is better.
    const DESCRIPTION: &'static str;
    /// The group a breaker and a narrowed key think in.
    const FAMILY: &'static str;
    /// What the caller must hold.
    const SCOPE: Scope = Scope::ToolsRead;
    /// Calls a minute that a session, and a key of one agent, may make unless set otherwise;
    /// `None`: only the totals bound them.
    const PER_MINUTE: Option<u32>;
    /// Units of the totals that a call costs, at least 1. From 5 on its work on files takes turns
    /// with that of other tenants.
    const WEIGHT: u32 = 1;
    /// Whether a call that writes is done once, however often it comes under one key: the gateway
    /// may then send it to another worker if the first one is lost.
    const ONCE: bool = false;
    /// Whether results hold text that others wrote: it is escaped visibly and marked.
    const UNTRUSTED: bool;
    /// The arguments.
    type Args: DeserializeOwned + JsonSchema + Send;
    /// `structuredContent`.
    type Output: Serialize + JsonSchema + Send;

    /// Runs one call.
    fn run(
        cx: &ToolContext,
        args: Self::Args,
    ) -> impl Future<Output = Result<Reply<Self::Output>, Failure>> + Send;
}

/// Why the registry could not be made: a mistake in the build, found at start.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// Two tools of one name.
    #[error("two tools are called {0}")]
    Duplicate(&'static str),
    /// A type whose schema is no object.
    #[error("the {which} schema of {tool} is no object")]
    Schema {
        /// The tool's name.
        tool: &'static str,
        /// `input` or `output`.
        which: &'static str,
    },
}

/// The tools by name, and their description for the gateway.
#[derive(Default)]
pub struct Registry {
    runners: BTreeMap<&'static str, Runner>,
    list: ToolList,
}

type Runner = fn(ToolContext, Value) -> BoxFuture<'static, Result<Value, Failure>>;

impl Registry {
    /// What is advertised of the tool of this name.
    pub(crate) fn entry(&self, name: &str) -> Option<&ToolEntry> {
        self.list.tools.iter().find(|tool| tool.name == name)
    }

    /// Whether there is a tool of this name that the caller may call.
    pub(crate) fn may_call(&self, cx: &ToolContext, name: &str) -> bool {
        self.entry(name)
            .is_some_and(|tool| cx.may_call(&tool.family, tool.scope))
    }

    /// Adds a tool.
    pub fn with<T: Tool>(mut self) -> Result<Self, RegistryError> {
        let schema_of = |which, schema| match schema {
            Value::Object(map) => Ok(map),
            _ => Err(RegistryError::Schema {
                tool: T::NAME,
                which,
            }),
        };
        self.list.tools.push(ToolEntry {
            name: T::NAME.to_owned(),
            title: T::TITLE.to_owned(),
            description: T::DESCRIPTION.to_owned(),
            input_schema: schema_of("input", schema::of_arguments::<T::Args>())?,
            output_schema: schema_of("output", schema::of_output::<T::Output>())?,
            read_only: T::SCOPE == Scope::ToolsRead,
            idempotent: T::SCOPE == Scope::ToolsRead,
            once: T::ONCE,
            family: T::FAMILY.to_owned(),
            scope: T::SCOPE,
            per_minute: T::PER_MINUTE,
            weight: T::WEIGHT,
        });
        match self
            .runners
            .insert(T::NAME, |cx, args| Box::pin(run::<T>(cx, args)))
        {
            None => Ok(self),
            Some(_) => Err(RegistryError::Duplicate(T::NAME)),
        }
    }

    /// The catalogue.
    pub fn list(&self) -> &ToolList {
        &self.list
    }

    /// The tool's name, for labels; the same for all names that are no tool's.
    pub(crate) fn label(&self, name: &str) -> &'static str {
        let known = self.runners.get_key_value(name);
        known.map_or(UNKNOWN_TOOL, |(name, _)| name)
    }

    /// Runs the tool `name`; its MCP result, or why there is none.
    pub(crate) async fn call(
        &self,
        cx: ToolContext,
        name: &str,
        args: Value,
    ) -> Result<Value, Failure> {
        let Some(runner) = self.runners.get(name) else {
            // The gateway's catalogue is newer or older than this worker.
            return Err(Failure::new(
                Fault::Unavailable,
                "this worker does not have the tool yet",
                "try again in a few seconds",
            ));
        };
        runner(cx, args).await
    }
}

#[tracing::instrument(name = "tool.run", skip_all, fields(mcp.tool.name = T::NAME))]
async fn run<T: Tool>(cx: ToolContext, args: Value) -> Result<Value, Failure> {
    let span = Span::child(|| {
        SpanBuilder::from_name(format!("execute_tool {}", T::NAME)).with_attributes([
            KeyValue::new("gen_ai.operation.name", "execute_tool"),
            KeyValue::new("gen_ai.tool.name", T::NAME),
        ])
    });
    let outcome = span.run(pin!(answer::<T>(cx, args))).await;
    if let Err(failure) = &outcome {
        span.fail(failure.code.code());
    }
    outcome
}

async fn answer<T: Tool>(cx: ToolContext, args: Value) -> Result<Value, Failure> {
    // A gateway asks before it calls; whoever stole a pass doesn't.
    if !cx.may_call(T::FAMILY, T::SCOPE) {
        return Err(Failure::new(
            Fault::AccessDenied,
            format!(
                "{} is not among the tools that the caller may call",
                T::NAME
            ),
            "call tools/list for those that are",
        ));
    }
    let args = serde_json::from_value(args).map_err(|error| {
        Failure::new(
            Fault::InvalidArguments,
            format!("the arguments of {} do not fit: {error}", T::NAME),
            "compare them with the tool's input schema",
        )
    })?;
    let cx = cx.of_weight(T::WEIGHT);
    T::run(&cx, args).await?.into_result(T::UNTRUSTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_stays_small_enough_for_a_model_to_read() {
        let list = registry().unwrap();
        let shown: Vec<Value> = list.list().tools.iter().map(ToolEntry::shown).collect();
        let read: usize = list
            .list()
            .tools
            .iter()
            .map(|tool| {
                let schema = serde_json::to_string(&tool.input_schema).unwrap();
                tool.name.len() + tool.description.len() + schema.len()
            })
            .sum();
        let whole = serde_json::to_string(&shown).unwrap().len();
        assert!(
            read < 20_000,
            "{read} bytes of names, descriptions and input schemas"
        );
        assert!(whole < 48_000, "{whole} bytes of tools/list");
    }

    #[test]
    fn every_tool_closes_its_arguments_and_describes_each() {
        for tool in &registry().unwrap().list().tools {
            assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
            assert_eq!(
                tool.input_schema["additionalProperties"], false,
                "{}",
                tool.name
            );
            let properties = tool
                .input_schema
                .get("properties")
                .and_then(Value::as_object);
            for (name, schema) in properties.into_iter().flatten() {
                assert!(schema.get("description").is_some(), "{}.{name}", tool.name);
                assert!(
                    schema.get("type").is_some() || schema.get("enum").is_some(),
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn two_tools_of_one_name_stop_the_start() {
        let twice = Registry::default()
            .with::<basics::Hello>()
            .and_then(|registry| registry.with::<basics::Hello>());
        assert!(matches!(twice, Err(RegistryError::Duplicate("hello"))));
    }
}
